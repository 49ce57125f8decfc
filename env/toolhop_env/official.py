"""The settings behind a benchmark's published figures, and how a run differs from them.

A benchmark states its official settings as conditions, each of which reads one fact from a run's
manifest. So the manifest alone is enough to explain a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

Manifest: TypeAlias = Mapping[str, Any]
OURS = "ours"
"""Value in a manifest for the shipped prompts."""
OF_A_FILE = "as whoever made the file of answers had it"
FILE = "predictions:"
"""Prefix of the name of an agent that replays a file of answers."""


class State(StrEnum):
    """Whether a run meets an official condition."""

    DIFFERS = "differs"
    UNKNOWN = "not known"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Condition:
    """One official setting."""

    name: str
    wanted: tuple[str, ...]
    """The official values, as text; several if several were used."""
    of: Callable[[Manifest], str | None]
    """Returns the run's value from its manifest; None if the condition does not apply."""
    unknown: tuple[str, ...] = (OF_A_FILE,)
    """Values of a run that leave the comparison undecided."""
    why: str = ""
    """Why a difference matters."""


@dataclass(frozen=True, slots=True)
class Reported:
    """A run's value for a condition."""

    condition: Condition
    had: str

    @property
    def state(self) -> State:
        """Whether the run's value is an official one."""
        if self.had in self.condition.wanted:
            return State.SAME
        return State.UNKNOWN if self.had in self.condition.unknown else State.DIFFERS


def reported(conditions: Sequence[Condition], manifest: Manifest) -> list[Reported]:
    """Return a run's value for each condition that applies to it, in order."""
    found = ((one, one.of(manifest)) for one in conditions)
    return [Reported(one, had) for one, had in found if had is not None]


def settings_of(manifest: Manifest) -> Mapping[str, Any]:
    """Return the settings of a run; empty if the manifest has none."""
    found = manifest.get("settings")
    return found if isinstance(found, dict) else {}


def text_of(value: object) -> str:
    """Return a setting's value as text."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:g}" if abs(value) < 1e15 else str(value)
        case dict():
            return str(value.get("name", "of one's own"))
        case list() | tuple():
            return ", ".join(map(text_of, value))
        case _:
            return str(value)


def setting(name: str, *wanted: object, title: str = "", why: str = "") -> Condition:
    """Return the condition that a setting of the run has one of these values."""

    def of(manifest: Manifest) -> str:
        settings = settings_of(manifest)
        return text_of(settings[name]) if name in settings else "not stated"

    official = tuple(map(text_of, wanted))
    return Condition(title or name.replace("_", " "), official, of, ("not stated",), why)


def of_model(name: str, *wanted: object, why: str = "") -> Condition:
    """Return the condition that a model setting of the run has one of these values."""
    one = setting(name, *wanted, why=why)
    return Condition(one.name, one.wanted, _played_by_model(one.of), (*one.unknown, OF_A_FILE), why)


def prompt(wanted: str) -> Condition:
    """Return the condition on the model's prompt."""

    def of(manifest: Manifest) -> str:
        found = manifest.get("prompt")
        return "in our words" if found == OURS else str(found or "not stated")

    unknown = ("the user's template", "not stated", OF_A_FILE)
    why = "another wording moves figures by points"
    return Condition("prompt", (wanted,), _played_by_model(of), unknown, why)


def _played_by_model(
    of: Callable[[Manifest], str | None],
) -> Callable[[Manifest], str | None]:
    """Restrict a condition to runs by a model; nothing is known about a file of answers."""

    def found(manifest: Manifest) -> str | None:
        settings = settings_of(manifest)
        if settings.get("model"):
            return of(manifest)
        return OF_A_FILE if str(settings.get("agent")).startswith(FILE) else None

    return found


def items(*counts: int) -> Condition:
    """Return the condition on the number of items; each of these counts is the whole benchmark."""

    def of(manifest: Manifest) -> str:
        data = manifest.get("data")
        played = data.get("played") if isinstance(data, dict) else None
        return str(len(played)) if isinstance(played, list) else "not stated"

    why = "figures over a part are not those over all"
    return Condition("items", tuple(map(str, counts)), of, ("not stated",), why)


def judge(*wanted: str, asked: str = "", why: str = "") -> Condition:
    """Return the condition on the judge; for a resumed run, that of the last session.

    Args:
        wanted: names as for ``--judge``.
        asked: prefix of the modes that have questions; all modes if empty.
        why: why a difference matters.
    """

    def of(manifest: Manifest) -> str | None:
        settings = settings_of(manifest)
        if asked and not any(mode.startswith(asked) for mode in settings.get("modes") or ()):
            return None
        changed = [one.get("changed") or {} for one in manifest.get("sessions") or ()]
        given = [one["judge"] for one in changed if "judge" in one]
        return str((given[-1] if given else settings.get("judge")) or "nobody")

    return Condition("judge", wanted, of, why=why)


def modes(*wanted: str) -> Condition:
    """Return the condition that the run uses only modes of the paper."""

    def of(manifest: Manifest) -> str:
        played = settings_of(manifest).get("modes") or ()
        others = [mode for mode in played if mode not in wanted]
        return ", ".join(others) if others else ", ".join(wanted)

    return Condition("mode", (", ".join(wanted),), of, why="the paper has no such figures")


def tool_order(wanted: str) -> Condition:
    """Return the condition on the order in which an item's tools are listed."""

    def of(manifest: Manifest) -> str:
        data = manifest.get("data")
        found = data.get("tool_order") if isinstance(data, dict) else None
        return str(found or "not stated")

    return Condition("tool order", (wanted,), of, ("not stated",), "the order may tell the plan")


def always(name: str, ours: str, wanted: str, *, why: str = "") -> Condition:
    """Return a condition that no run of this package meets."""
    return Condition(name, (wanted,), lambda _: ours, why=why)


def apart(found: Sequence[Reported]) -> Iterator[tuple[State, list[Reported]]]:
    """Yield the values by state: different, unknown, the same."""
    for state in State:
        yield state, [one for one in found if one.state is state]
