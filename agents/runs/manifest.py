"""The manifest: everything that identifies a run, and what became of it, sitting by sitting."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeAlias

from agents.models.rate import Rates
from agents.runs.ledger import as_json
from agents.runs.manifest_formats import FORMAT
from agents.runs.settings import RunSettings
from env.spending import Spent
from sandbox.outcome import JSON
from sandbox.pool import PooledSandbox
from toolhop_tools.errors import Problem
from toolhop_tools.model import DataSet, Item

PACKAGES = ("toolhop-env", "RestrictedPython", "docker", "litellm", "openai", "pydantic")
Status: TypeAlias = Literal["started", "success", "error", "cancelled", "limited", "sampled"]
"""How a run, or a sitting of it, ended. ``started`` is under way, or was killed; ``limited`` was
stopped by a limit of the run; ``sampled`` has played a sample for an estimate. All but ``success``
can be gone on with."""


def folder_name(settings: RunSettings) -> str:
    """A run folder's name: when, and who plays."""
    player = "".join(c if c.isalnum() or c in "-._" else "-" for c in settings.player)[:60]
    return f"{datetime.now(UTC).strftime('%Y-%m-%dT%H-%M-%S')}_{player}"


def manifest(
    settings: RunSettings,
    data: DataSet,
    items: Sequence[Item],
    sandbox: PooledSandbox,
    left_out: Sequence[Problem] = (),
) -> dict[str, JSON]:
    """A new run's, with the status it begins with."""
    began = now()
    return {
        "format": FORMAT,
        "status": "started",
        "stopped_by": "",
        "fault": "",
        "started_at": began,
        "ended_at": None,
        "settings": settings.model_dump(mode="json"),
        "data": {
            "name": data.name,
            "origin": data.origin,
            "digest": data.digest,
            "items": len(data.items),
            "played": [item.id for item in items],
            "played_digest": digest(items),
            "left_out": [{"where": one.where, "why": str(one)} for one in left_out],
        },
        "sandbox": dict(sandbox.description),
        "versions": versions(),
        "spent": as_json(Spent()),
        "sittings": [sitting(began, {})],
    }


def digest(items: Sequence[Item]) -> str:
    """The digest of the items that are played."""
    return DataSet("run", "", tuple(items)).digest


def versions() -> dict[str, JSON]:
    """What plays: interpreter, platform, packages."""
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        **{name: _version(name) for name in PACKAGES},
    }


def sitting(began: str, changed: Mapping[str, JSON]) -> dict[str, JSON]:
    """One more sitting; `changed` holds the settings that differ from the run's own."""
    return {
        "started_at": began,
        "ended_at": None,
        "status": "started",
        "fault": "",
        "stopped_by": "",
        "changed": dict(changed),
    }


def begun_again(facts: Mapping[str, Any], changed: Mapping[str, JSON]) -> dict[str, JSON]:
    """The manifest of a run that is gone on with.

    Other versions of what plays go into the sitting: the run's own stay those it began with.
    """
    one = sitting(now(), changed)
    if facts.get("versions") != versions():
        one["versions"] = versions()
    return {
        **facts,
        "status": "started",
        "stopped_by": "",
        "fault": "",
        "ended_at": None,
        "sittings": [*facts.get("sittings", []), one],
    }


def ended(
    facts: Mapping[str, Any],
    *,
    status: Status,
    fault: str,
    stopped_by: str,
    spent: Spent,
    rates: Rates | None,
    sandbox: Mapping[str, JSON],
) -> dict[str, JSON]:
    """The manifest of a run whose sitting has ended."""
    at = now()
    end: dict[str, JSON] = {
        "ended_at": at,
        "status": status,
        "fault": fault,
        "stopped_by": stopped_by,
    }
    *before, last = facts["sittings"]
    connections = {"connections": asdict(rates)} if rates else {}
    return {
        **facts,
        **end,
        "sandbox": dict(sandbox),
        "spent": as_json(spent),
        "sittings": [*before, {**last, **end, **connections}],
    }


def now() -> str:
    """UTC time, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
