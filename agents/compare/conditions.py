"""In what two runs differ: the one factor that is compared, and what else would blur it.

Every setting is taken to matter unless it is listed as one that changes no result, so a setting
that is added later is told rather than passed over.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from agents.compare.sides import Side
from agents.runs.settings import OPERATIONAL
from sandbox.outcome import JSON

PLAYER = ("agent", "model", "base_url")
"""Settings that are one factor: who plays, and where it is reached."""
PAIRED = frozenset({"data", "limit", "sample_ids", "skip_broken", "modes", "epochs"})
"""Settings that say what is played: the items themselves, modes and epochs are compared."""
NO_RESULT = OPERATIONAL | {"sandbox", "transport", "price"}
"""Settings that change no result. The sandbox that was used in the end is told by `remarks`."""
FORKED_FROM = "forked_from"
"""The setting that names the run whose episodes are gone on with."""
SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Factor:
    """A setting that differs."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name}: {self.before} / {self.after}"


def factors(before: Side, after: Side) -> list[Factor]:
    """The settings that differ and may change a result."""
    found = []
    if _player(before) != _player(after):
        found.append(Factor("player", _player(before), _player(after)))
    if not set(before.modes) & set(after.modes):
        found.append(Factor("mode", ", ".join(before.modes), ", ".join(after.modes)))
    for name in dict.fromkeys((*before.settings, *after.settings)):
        one, other = before.settings.get(name), after.settings.get(name)
        if name in PLAYER or name in PAIRED or name in NO_RESULT or one == other:
            continue
        if name == FORKED_FROM and (is_fork_of(before, after) or is_fork_of(after, before)):
            continue
        found.append(Factor(name, _shown(one), _shown(other)))
    return found


def is_fork_of(one: Side, other: Side) -> bool:
    """Whether a run goes on from another's episodes, beside which it stands in an ablation."""
    origin = one.settings.get(FORKED_FROM)
    if not isinstance(origin, str):
        return False
    return one.folder.resolve().parent / origin == other.folder.resolve()


def remarks(before: Side, after: Side) -> list[Factor]:
    """What differs in how the runs were made: told, and allowed."""
    found = []
    for part in ("sandbox", "versions"):
        one, other = before.facts.get(part), after.facts.get(part)
        if not isinstance(one, dict) or not isinstance(other, dict):
            continue
        names = ("kind",) if part == "sandbox" else tuple(dict.fromkeys((*one, *other)))
        for name in names:
            if one.get(name) != other.get(name):
                label = part if part == "sandbox" else name
                found.append(Factor(label, _shown(one.get(name)), _shown(other.get(name))))
    if before.facts.get("status") != after.facts.get("status"):
        states = (_shown(side.facts.get("status")) for side in (before, after))
        found.append(Factor("status", *states))
    return found


def _player(side: Side) -> str:
    address = side.settings.get("base_url")
    return f"{side.player} at {address}" if address else side.player


def _shown(value: JSON) -> str:
    """A setting's value for reading; a long one by its name or length, and its digest."""
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    name = value.get("name") if isinstance(value, dict) else None
    if len(text) <= SHOWN_CHARS and name is None:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    return f"{name} ({digest})" if name else f"{len(text)} characters ({digest})"
