"""Upgrade steps for the manifests of older runs. See `toolhop_env.formats`."""

from __future__ import annotations

from pydantic import BaseModel

from toolhop_env.formats import Document, FormatUpgrade
from toolhop_sandbox.outcome import JSON


def m001_sittings(manifest: Document) -> Document:
    """Upgrade to format 2, which lists sessions, then called sittings, as a run can be resumed.

    A run in format 1 had a single session, and no limit that could stop it.
    """
    session: Document = {
        "started_at": manifest.get("started_at"),
        "ended_at": manifest.get("ended_at"),
        "status": manifest.get("status"),
        "fault": manifest.get("fault", ""),
        "stopped_by": "",
        "changed": {},
    }
    return {**manifest, "format": 2, "stopped_by": "", "sittings": [session]}


_RENAMED_SETTINGS = {"dialect": "call_format", "presentation": "perturbation"}


def m002_words_of_the_field(manifest: Document) -> Document:
    """Upgrade to format 3, which uses the field's terms: sessions, call format, perturbation."""
    renamed = {"sessions" if name == "sittings" else name: v for name, v in manifest.items()}
    settings = manifest.get("settings")
    if isinstance(settings, dict):
        renamed["settings"] = renamed_settings(settings)
    sessions = renamed.get("sessions")
    if isinstance(sessions, list):
        renamed["sessions"] = [_session(one) for one in sessions]
    return {**renamed, "format": 3}


def _session(session: JSON) -> JSON:
    if not isinstance(session, dict) or not isinstance(changed := session.get("changed"), dict):
        return session
    return {**session, "changed": renamed_settings(changed)}


def renamed_settings(settings: Document) -> Document:
    """Rename a run's settings to their names in format 3."""
    return {_RENAMED_SETTINGS.get(name, name): value for name, value in settings.items()}


class _Data(BaseModel):
    name: str | None = None
    origin: str | None = None
    digest: str | None = None
    items: int | None = None
    played: list[str] | None = None
    played_digest: str | None = None
    tool_order: str | None = None


class _Settings(BaseModel):
    modes: list[str] = []
    into: list[str] = []


class _Session(BaseModel):
    changed: dict[str, object] = {}


class Shape(BaseModel):
    """The parts that every reader may rely on, with their types. Other parts are allowed."""

    status: str = ""
    fault: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    benchmark: str | None = None
    prompt: str | None = None
    settings: _Settings = _Settings()
    data: _Data = _Data()
    sandbox: dict[str, object] = {}
    versions: dict[str, str | None] = {}
    spent: dict[str, object] = {}
    sessions: list[_Session] = []
    model_file: dict[str, object] | None = None


STEPS: tuple[FormatUpgrade, ...] = (m001_sittings, m002_words_of_the_field)
FORMAT = len(STEPS) + 1
"""Version of the manifest format. Readers upgrade older manifests and reject newer ones."""
