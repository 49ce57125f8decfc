"""What a benchmark's published figures were made with, and in what a run differs from that.

A benchmark states its official set-up as conditions; each reads one thing in a run's manifest. So
a run is explained from its manifest alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

Manifest: TypeAlias = Mapping[str, Any]
OURS = "ours"
"""What a manifest says of the shipped prompts."""
OF_A_FILE = "as whoever made the file of answers had it"
FILE = "predictions:"
"""What the name of an agent that answers out of a file begins with."""


class State(StrEnum):
    """Whether a run has what the official set-up has."""

    DIFFERS = "differs"
    UNKNOWN = "not known"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing of the official set-up."""

    name: str
    wanted: tuple[str, ...]
    """What it was, in words; several where several were used."""
    of: Callable[[Manifest], str | None]
    """What a run had, from its manifest; None where that does not apply to the run."""
    unknown: tuple[str, ...] = (OF_A_FILE,)
    """What a run may have that tells nothing."""
    why: str = ""
    """What comes of a difference."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What a run had of a condition."""

    condition: Condition
    had: str

    @property
    def state(self) -> State:
        """Whether it is as in the official set-up."""
        if self.had in self.condition.wanted:
            return State.SAME
        return State.UNKNOWN if self.had in self.condition.unknown else State.DIFFERS


def reported(conditions: Sequence[Condition], manifest: Manifest) -> list[Reported]:
    """What a run had of each condition that applies to it, in their order."""
    found = ((one, one.of(manifest)) for one in conditions)
    return [Reported(one, had) for one, had in found if had is not None]


def settings_of(manifest: Manifest) -> Mapping[str, Any]:
    """The settings that a run was played with; empty where the manifest has none."""
    found = manifest.get("settings")
    return found if isinstance(found, dict) else {}


def text_of(value: object) -> str:
    """A setting's value in words."""
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
    """A setting of a run that has one of these values."""

    def of(manifest: Manifest) -> str:
        settings = settings_of(manifest)
        return text_of(settings[name]) if name in settings else "not stated"

    official = tuple(map(text_of, wanted))
    return Condition(title or name.replace("_", " "), official, of, ("not stated",), why)


def of_model(name: str, *wanted: object, why: str = "") -> Condition:
    """The same of a setting that only a model has."""
    one = setting(name, *wanted, why=why)
    return Condition(one.name, one.wanted, _played_by_model(one.of), (*one.unknown, OF_A_FILE), why)


def prompt(wanted: str) -> Condition:
    """The text that a model is asked with."""

    def of(manifest: Manifest) -> str:
        found = manifest.get("prompt")
        return "in our words" if found == OURS else str(found or "not stated")

    unknown = ("the user's template", "not stated", OF_A_FILE)
    why = "another wording moves figures by points"
    return Condition("prompt", (wanted,), _played_by_model(of), unknown, why)


def _played_by_model(
    of: Callable[[Manifest], str | None],
) -> Callable[[Manifest], str | None]:
    """The same of a run by a model; of answers out of a file nothing is known."""

    def found(manifest: Manifest) -> str | None:
        settings = settings_of(manifest)
        if settings.get("model"):
            return of(manifest)
        return OF_A_FILE if str(settings.get("agent")).startswith(FILE) else None

    return found


def items(*counts: int) -> Condition:
    """How many items are played; one of these numbers is the whole benchmark."""

    def of(manifest: Manifest) -> str:
        data = manifest.get("data")
        played = data.get("played") if isinstance(data, dict) else None
        return str(len(played)) if isinstance(played, list) else "not stated"

    why = "figures over a part are not those over all"
    return Condition("items", tuple(map(str, counts)), of, ("not stated",), why)


def judge(*wanted: str, asked: str = "", why: str = "") -> Condition:
    """Who answers the benchmark's questions: a resumed run's is that of the last session.

    Args:
        wanted: names as ``--judge`` takes them.
        asked: the mode that has questions; those of every mode if empty.
        why: what comes of a difference.
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
    """Ways to ask that the paper has."""

    def of(manifest: Manifest) -> str:
        played = settings_of(manifest).get("modes") or ()
        others = [mode for mode in played if mode not in wanted]
        return ", ".join(others) if others else ", ".join(wanted)

    return Condition("mode", (", ".join(wanted),), of, why="the paper has no such figures")


def tool_order(wanted: str) -> Condition:
    """The order in which an item's tools are listed."""

    def of(manifest: Manifest) -> str:
        data = manifest.get("data")
        found = data.get("tool_order") if isinstance(data, dict) else None
        return str(found or "not stated")

    return Condition("tool order", (wanted,), of, ("not stated",), "the order may tell the plan")


def always(name: str, ours: str, wanted: str, *, why: str = "") -> Condition:
    """What no run here has."""
    return Condition(name, (wanted,), lambda _: ours, why=why)


def apart(found: Sequence[Reported]) -> Iterator[tuple[State, list[Reported]]]:
    """The conditions by state: what differs, what is not known, what is the same."""
    for state in State:
        yield state, [one for one in found if one.state is state]
