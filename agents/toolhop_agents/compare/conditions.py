"""Differences between two runs: the setting that is compared, and any that confound it.

Every setting counts unless it is listed as one that changes no result, so a setting that is added
later is reported rather than overlooked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from toolhop_agents.runs.settings import OPERATIONAL, RunSettings
from toolhop_env.runs.sides import Side
from toolhop_sandbox.outcome import JSON

DEFAULTS: Mapping[str, JSON] = RunSettings(max_tokens=None).model_dump(mode="json")
"""Values assumed for settings that older runs did not record."""
OF_MODELS = frozenset(
    {
        "max_tokens", "temperature", "stop", "request_options", "reasoning_effort",
        "thinking_budget", "reasoning_history", "api", "strict_tools", "tool_choice",
        "parallel_tool_calls", "keep_thoughts",
    }
)  # fmt: skip
"""Settings that affect only agents that are models. Official scores read replies with
thoughts removed."""
AGENT = ("agent", "model")
"""Settings that together form one factor, the agent."""
PAIRED = frozenset(
    {"data", "limit", "sample_ids", "skip_broken", "into", "siblings", "modes", "epochs"}
)
"""Settings that select what is played; items, modes and epochs are compared directly instead."""
NO_RESULT = (OPERATIONAL - {"judge"}) | {"sandbox", "transport", "price", "stream", "base_url"}
"""Settings that change no result. `judge` is not among them, as it changes judged measures.
`remarks` reports the sandbox in use and the model's address."""
FORKED_FROM = "forked_from"
"""The setting that names the run whose episodes are resumed."""
SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that differs."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name}: {self.before} / {self.after}"


def differences(before: Side, after: Side) -> list[SettingDifference]:
    """Return the differing settings that may change a result."""
    found = []
    models = any(side.settings.get("model") for side in (before, after))
    if _agent(before) != _agent(after):
        found.append(SettingDifference("agent", _agent(before), _agent(after)))
    if not set(before.modes) & set(after.modes):
        found.append(SettingDifference("mode", ", ".join(before.modes), ", ".join(after.modes)))
    for name in dict.fromkeys((*before.settings, *after.settings)):
        one, other = before.settings.get(name), after.settings.get(name)
        if name in AGENT or name in PAIRED or name in NO_RESULT or one == other:
            continue
        if name in OF_MODELS and not models:
            continue
        if name == FORKED_FROM and (is_fork_of(before, after) or is_fork_of(after, before)):
            continue
        found.append(SettingDifference(name, _shown(one), _shown(other)))
    return found


def is_fork_of(one: Side, other: Side) -> bool:
    """Whether `one` resumes episodes of `other`, an arm of the same ablation."""
    origin = one.settings.get(FORKED_FROM)
    if not isinstance(origin, str):
        return False
    return one.folder.resolve().parent / origin == other.folder.resolve()


def remarks(before: Side, after: Side) -> list[SettingDifference]:
    """Return the differences in how the runs were made that are allowed but reported."""
    found = []
    for part in ("sandbox", "versions"):
        one, other = before.facts.get(part), after.facts.get(part)
        if not isinstance(one, dict) or not isinstance(other, dict):
            continue
        names = ("kind",) if part == "sandbox" else tuple(dict.fromkeys((*one, *other)))
        for name in names:
            if one.get(name) != other.get(name):
                label = part if part == "sandbox" else name
                found.append(
                    SettingDifference(label, _shown(one.get(name)), _shown(other.get(name)))
                )
    one, other = (side.settings.get("base_url") for side in (before, after))
    if one != other:
        found.append(SettingDifference("base_url", _shown(one), _shown(other)))
    if before.facts.get("status") != after.facts.get("status"):
        states = (_shown(side.facts.get("status")) for side in (before, after))
        found.append(SettingDifference("status", *states))
    return found


def _agent(side: Side) -> str:
    file = side.facts.get("model_file")
    return f"{side.agent} ({str(file.get('digest'))[:8]})" if isinstance(file, dict) else side.agent


def _shown(value: JSON) -> str:
    """Format a setting's value; a long one as its name or length, with its digest."""
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    name = value.get("name") if isinstance(value, dict) else None
    if len(text) <= SHOWN_CHARS and name is None:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    return f"{name} ({digest})" if name else f"{len(text)} characters ({digest})"
