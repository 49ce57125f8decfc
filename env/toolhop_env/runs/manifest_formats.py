"""How manifests of older runs become manifests of the newest format. See `toolhop_env.formats`."""

from __future__ import annotations

from pydantic import BaseModel

from toolhop_env.formats import Document, FormatUpgrade
from toolhop_sandbox.outcome import JSON


def m001_sittings(manifest: Document) -> Document:
    """Format 2 has a list of sessions, then called sittings: a run may be stopped and resumed.

    In format 1 a run had one. What limit stopped it is nothing: there were none for a run.
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
    """Format 3 names things as the field does: sessions, call format, perturbation."""
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
    """A run's settings under the names of format 3."""
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
    """What every reader may go by: a part that is there is of its type. Others may be there."""

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
"""Version of the manifest. Readers upgrade older ones and refuse newer ones."""
