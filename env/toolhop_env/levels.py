"""Verbosity of the feedback to failed calls: built-in levels, and templates.

ToolHop compares detailed and minimal. The other levels are minimal feedback and a line for each of
their parts (`PARTS`), so that the effect of a part is the difference of two levels.

A template is a text with placeholders in braces, such as ``{tool} failed: {code}``. `PLACES` lists
the placeholders; any other word in braces is an error. Other braces are left alone, so a template
may be JSON, and inserted values are not expanded again. If the first line is ``[rejected]``, the
text up to a line ``[failed]`` is for calls that were not run, and the text after it for calls that
were; without these lines the whole text serves both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from toolhop_tools.errors import why


class Level(StrEnum):
    """The built-in levels; `PARTS` has what each says."""

    DETAILED = "detailed"
    MINIMAL = "minimal"
    CODE = "code"
    LOCATION = "location"
    ALLOWED = "allowed"
    SUGGESTION = "suggestion"
    SHORTENED = "shortened"
    COMPLETE = "complete"
    PLACEBO = "placebo"


class Part(StrEnum):
    """What a level says of a failed call beyond that it failed."""

    CODE = "the code"
    LOCATION = "the argument"
    ALLOWED = "what is allowed"
    SUGGESTION = "a repaired call"
    OPENING = "the opening of the message"
    REST = "the rest of the message"
    PROSE = "the message in sentences alone"
    LENGTH = "length without content"


_ALLOWED = (Part.CODE, Part.LOCATION, Part.ALLOWED)
PARTS: Mapping[Level, tuple[Part, ...]] = {
    Level.MINIMAL: (),
    Level.PLACEBO: (Part.LENGTH,),
    Level.CODE: _ALLOWED[:1],
    Level.LOCATION: _ALLOWED[:2],
    Level.ALLOWED: _ALLOWED,
    Level.SUGGESTION: (*_ALLOWED, Part.SUGGESTION),
    Level.SHORTENED: (*_ALLOWED, Part.OPENING),
    Level.COMPLETE: (*_ALLOWED, Part.OPENING, Part.REST),
    Level.DETAILED: (Part.PROSE,),
}
"""The parts of each built-in level, each level after those that it contains."""
LINES: Mapping[Part, tuple[str, str]] = {
    Part.CODE: ("\nCode: ", "fault"),
    Part.LOCATION: ("\nArgument: ", "path"),
    Part.ALLOWED: ("\nAllowed: ", "allowed"),
    Part.SUGGESTION: ("\nSuggestion: ", "suggestion"),
    Part.OPENING: ("\nMessage: ", "opening"),
    Part.REST: ("", "rest"),
    Part.LENGTH: (" ", "padding"),
}
"""What a part adds to minimal feedback: a label and a value; nothing if the value is empty."""
MINIMAL_TEXT = "The call failed."
"""The whole text of minimal feedback, whatever failed."""
OPENING_CHARS = 60
"""Maximum length of a message's opening in characters; it ends with a whole word if it can."""
_PADDING = (
    "Every call of this episode is recorded in order. Records hold names and times. They are kept "
    "with all others for later use. "
)
"""Without words of one letter, which are some items' answers."""


def partial_text(level: Level, values: Mapping[str, str]) -> str:
    """Return what a built-in level says of a failed call; `values` are those of `PLACES`."""
    if Part.PROSE in PARTS[level]:
        return values["detailed"]
    message, start = values["detailed"], values["opening"]
    length = max(0, len(message) - len(MINIMAL_TEXT) - 1)
    shown = {**values, "rest": message.removeprefix(start), "padding": padding(length)}
    lines = (LINES[part] for part in PARTS[level])
    return MINIMAL_TEXT + "".join(f"{label}{shown[at]}" for label, at in lines if shown[at])


def padding(chars: int) -> str:
    """Return a text of this length that says nothing of use."""
    text = (_PADDING * (chars // len(_PADDING) + 1))[:chars]
    return text.rpartition(" ")[0].ljust(chars, ".")


def opening(message: str) -> str:
    """Return the beginning of a message, at most `OPENING_CHARS` long."""
    cut = message[:OPENING_CHARS]
    return message if len(message) <= OPENING_CHARS else cut.rpartition(" ")[0] or cut


def added(first: str, second: str) -> tuple[Part, ...]:
    """Return the parts that `second` adds to `first`; empty if it does not contain `first`, or if
    a level is not built in.
    """
    if not {first, second} <= set(Level):
        return ()
    less, more = PARTS[Level(first)], PARTS[Level(second)]
    return tuple(part for part in more if part not in less) if set(less) < set(more) else ()


PLACES: Mapping[str, str] = {
    "code": "the call's error code, such as missing_argument",
    "fault": "the code, the tool's own type of error, and outage or no match if these tell",
    "tool": "the name that was called",
    "problems": "what was wrong with a call that was not run, in sentences; else empty",
    "problem": "the first of these sentences",
    "path": "the argument that the first problem, or the tool's report, is about; may be empty",
    "given": "what was given there; may be empty",
    "allowed": "what would have been accepted there",
    "suggestion": "a call that was not run, repaired to fit its schema, as JSON; may be empty",
    "message": "what came of a call that was run; else empty",
    "opening": "the beginning of what detailed feedback says",
    "detailed": "all that detailed feedback says",
}
"""Placeholders of a template, with their meaning."""
MOST_CHARS = 4000
"""Maximum length of a template in characters; it is part of every trace played under it."""
_TAKEN = "the level {!r} is built in; give the template another name"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")
_SECTIONS = re.compile(r"\[rejected\]\n(.*?)\n\[failed\]\n(.*)", re.DOTALL)


class LevelError(ValueError):
    """An unusable feedback level; the message says why and what is allowed."""


@dataclass(frozen=True, slots=True)
class Template:
    """A custom level for a study: a name for its tables, and the text.

    Raises:
        LevelError: the name or the text cannot be used.
    """

    name: str
    text: str

    def __post_init__(self) -> None:
        # Stored templates may have the name of a newer level.
        if self.name in {Level.DETAILED, Level.MINIMAL}:
            raise LevelError(_TAKEN.format(self.name))
        if not _NAME.fullmatch(self.name):
            raise LevelError(
                f"{self.name!r} cannot name a level: give up to 40 letters, digits, - _ and ."
            )
        if not 0 < len(self.text) <= MOST_CHARS or not self.text.strip():
            raise LevelError(
                f"the template of level {self.name!r} has {len(self.text):,} characters; "
                f"give 1 to {MOST_CHARS:,}, not all of them blank"
            )
        unknown = sorted(set(_PLACE.findall(self.text)) - PLACES.keys())
        if unknown:
            named = ", ".join(f"{{{name}}}" for name in unknown)
            allowed = ", ".join(f"{{{name}}}" for name in PLACES)
            raise LevelError(
                f"the template of level {self.name!r} holds {named}; the places are {allowed}"
            )

    @property
    def value(self) -> str:
        """The name, under the same attribute as in built-in levels."""
        return self.name

    def __str__(self) -> str:
        return self.name

    def fill(self, values: Mapping[str, str], *, rejected: bool) -> str:
        """Return the text with its placeholders replaced by `values`, one for each of `PLACES`.

        The result may be empty.
        """
        found = _SECTIONS.fullmatch(self.text)
        text = (found[1] if rejected else found[2]) if found else self.text
        return _PLACE.sub(lambda place: values[place[1]], text).strip()


Verbosity: TypeAlias = Level | Template
"""Any feedback level. Both kinds have a `value`, their name."""


def read_template(path: Path, name: str | None = None) -> Template:
    """Read a level from a file; the file's name is the default for its name.

    Raises:
        LevelError: the file cannot be read or used, or nothing shows that it is a template.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LevelError(f"the feedback template {path} cannot be read: {why(error)}") from error
    if text.strip() and not _PLACE.search(text) and not _SECTIONS.search(text):
        raise LevelError(
            f"{path} is no feedback template: it holds none of the places "
            f"{', '.join(f'{{{name}}}' for name in PLACES)}; to say the same of each failed call, "
            "write it under a line [rejected] and again under a line [failed]"
        )
    if (name or path.stem) in list(Level):
        raise LevelError(_TAKEN.format(name or path.stem))
    return Template(name or path.stem, text.replace("\r\n", "\n").rstrip("\n"))


def level_of(text: str) -> Verbosity:
    """Parse a level given on the command line: a name, or ``[NAME=]FILE``.

    Raises:
        LevelError: the level does not exist, or the file cannot be read or used.
    """
    if text in list(Level):
        return Level(text)
    name, equals, file = text.partition("=")
    if not equals and not Path(text).exists():
        return named(text)
    return read_template(Path(file), name) if equals else read_template(Path(text))


def named(text: str) -> Level:
    """Return the built-in level of this name.

    Raises:
        LevelError: no built-in level has this name.
    """
    try:
        return Level(text)
    except ValueError:
        raise LevelError(
            f"there is no feedback level {text!r}; the levels are {', '.join(Level)}, "
            "and a template file makes another"
        ) from None
