"""The manifest: what identifies a run, and how each of its sessions ended."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeAlias

from toolhop_agents.benchmarks.predictions import file_digest
from toolhop_agents.models import gguf
from toolhop_agents.models.rate import Rates
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.runs.manifest_formats import FORMAT
from toolhop_env.spending import Spent
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataProblem
from toolhop_tools.model import DataSet, Item, ItemsOnDemand
from toolhop_tools.perturb.order import tool_order

PACKAGES = (
    "toolhop-env", "RestrictedPython", "docker", "litellm", "openai", "pydantic", "xllamacpp",
)  # fmt: skip
Status: TypeAlias = Literal["started", "success", "error", "cancelled", "limited", "sampled"]
"""How a run or a session ended. ``started`` is under way or was killed; ``limited`` reached a
limit of the run; ``sampled`` played a sample for an estimate. All but ``success`` can be
resumed."""


def folder_name(settings: RunSettings) -> str:
    """Return the name of a run's folder: the time and the agent."""
    agent = "".join(c if c.isalnum() or c in "-._" else "-" for c in settings.agent_name)[:60]
    return f"{datetime.now(UTC).strftime('%Y-%m-%dT%H-%M-%S')}_{agent}"


def manifest(
    settings: RunSettings,
    data: DataSet,
    items: Sequence[Item],
    sandbox: Mapping[str, JSON],
    left_out: Sequence[DataProblem] = (),
    scenarios: Mapping[str, JSON] | None = None,
) -> dict[str, JSON]:
    """Return the manifest of a new run. `scenarios` has the counts of scenarios made from the
    items.
    """
    began = now()
    return {
        "format": FORMAT,
        "status": "started",
        "stopped_by": "",
        "fault": "",
        "started_at": began,
        "ended_at": None,
        "benchmark": items[0].benchmark,
        "settings": settings.model_dump(mode="json"),
        "prompt": "the user's template" if settings.template else "ours",
        "predictions_digest": file_digest(settings.agent_name),
        "model_file": _model_file(settings),
        "data": {
            "name": data.name,
            "origin": data.origin,
            "digest": data.digest,
            "items": len(data.items),
            **(
                {"generator": made.generator}
                if isinstance(made := data.items, ItemsOnDemand)
                else {}
            ),
            "played": [item.id for item in items],
            "played_digest": digest(items),
            "tool_order": tool_order(settings.perturbation),
            "fewest_tools": min(len(item.tools) for item in items),
            "left_out": [{"where": one.where, "why": str(one)} for one in left_out],
            **({"scenarios": dict(scenarios)} if scenarios is not None else {}),
        },
        "sandbox": dict(sandbox),
        "versions": versions(),
        "spent": asdict(Spent()),
        "sessions": [session(began, {})],
    }


def _model_file(settings: RunSettings) -> JSON:
    if settings.gguf is None:
        return None
    return {"name": settings.gguf.name, "digest": gguf.digest(settings.gguf)}


def digest(items: Sequence[Item]) -> str:
    """Return the digest of the items played."""
    return DataSet("run", "", tuple(items)).digest


def versions() -> dict[str, JSON]:
    """Return the versions of interpreter, platform and packages."""
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        **{name: version_of(name) for name in PACKAGES},
    }


def session(began: str, changed: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the entry of a new session; `changed` has the settings that differ from the run's
    own.
    """
    return {
        "started_at": began,
        "ended_at": None,
        "status": "started",
        "fault": "",
        "stopped_by": "",
        "changed": dict(changed),
    }


def begun_again(facts: Mapping[str, Any], changed: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the manifest of a resumed run, with a new session.

    Changed package versions are recorded in the session; the run's own versions stay.
    """
    one = session(now(), changed)
    if facts.get("versions") != versions():
        one["versions"] = versions()
    return {
        **facts,
        "status": "started",
        "stopped_by": "",
        "fault": "",
        "ended_at": None,
        "sessions": [*facts.get("sessions", []), one],
    }


def ended(
    facts: Mapping[str, Any],
    *,
    status: Status,
    sandbox: Mapping[str, JSON],
    spent: Spent,
    fault: str = "",
    stopped_by: str = "",
    rates: Rates | None = None,
    nodes: Mapping[str, JSON] | None = None,
) -> dict[str, JSON]:
    """Return the manifest of a run whose session has ended."""
    at = now()
    end: dict[str, JSON] = {
        "ended_at": at,
        "status": status,
        "fault": fault,
        "stopped_by": stopped_by,
    }
    *before, last = facts["sessions"]
    connections = {"connections": asdict(rates)} if rates else {}
    used = {"nodes": dict(nodes)} if nodes else {}
    return {
        **facts,
        **end,
        "sandbox": dict(sandbox),
        "spent": asdict(spent),
        "sessions": [*before, {**last, **end, **connections, **used}],
    }


def now() -> str:
    """Return the UTC time in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def version_of(package: str) -> str | None:
    """Return the installed version of a package, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
