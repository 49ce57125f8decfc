"""Parse typed lines. Pure, and nothing is repaired: a call's JSON is passed on as typed.

    tool {"a": 1}            passes the text after the name unchanged
    tool a=1 b="some text"   reads values as JSON, bare words and 'quoted text' as strings
    tool(a=1, b="text")      the same, as written in the examples of tool descriptions
    tool                     asks for each argument
    one … && two …           makes parallel calls in one turn
    :command …               does anything else, see `COMMANDS`

An obvious mistake (a sentence, a mistyped tool name) is reported and takes no turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn, TypeAlias

COMMANDS: Mapping[str, tuple[str, str]] = {
    "answer": ("TEXT", "give the final answer; the game ends"),
    "check": ("CALL", "say what is wrong with a call; it is not made, and takes no turn"),
    "tools": ("", "the tools and their arguments"),
    "tool": ("NAME", "one tool and its arguments"),
    "question": ("", "the question again"),
    "history": ("", "your calls so far and what came of them"),
    "score": ("", "how far you are"),
    "feedback": ("detailed|minimal", "how much feedback says of failed calls, from here on"),
    "back": ("[N]", "take back the last turn, or the last N"),
    "retry": ("detailed|minimal", "go back to the first failed call, with feedback of this level"),
    "save": ("[PATH]", "write a copy of the trace; without PATH, say where it is kept"),
    "help": ("", "this list"),
    "quit": ("", "leave without an answer"),
}
"""Argument and description of each command, by name."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line that begins with a colon."""

    name: str
    argument: str
    """The rest of the line, trimmed."""


@dataclass(frozen=True, slots=True)
class TypedCall:
    """A call, as typed."""

    name: str
    arguments: str | None
    """The text of the arguments; None if the player is to be asked for each."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Calls to be made together."""

    calls: tuple[TypedCall, ...]


@dataclass(frozen=True, slots=True)
class Misread:
    """A line that cannot be understood. The message says why, and what to type instead."""

    message: str


Input: TypeAlias = Command | Turn | Misread | None
"""A parsed line; None for an empty one."""


class _Slip(ValueError):
    """Raised with the message of a `Misread`."""


def parse(line: str, tools: Collection[str]) -> Input:
    """Parse a line; `tools` are the names of the available tools."""
    line = line.strip()
    if not line:
        return None
    try:
        if line.startswith(":"):
            return _command(line[1:])
        return Turn(tuple(_call(part.strip(), tools) for part in parts(line)))
    except _Slip as slip:
        return Misread(str(slip))


def _command(text: str) -> Command:
    word, _, rest = text.strip().partition(" ")
    matches = [name for name in COMMANDS if name == word] or [
        name for name in COMMANDS if word and name.startswith(word)
    ]
    if len(matches) == 1:
        return Command(matches[0], rest.strip())
    if matches:
        raise _Slip(f":{word} could be :{' or :'.join(matches)}")
    near = get_close_matches(word, COMMANDS, n=1)
    hint = f"did you mean :{near[0]}?" if near else ":help lists the commands"
    raise _Slip(f"there is no command :{word}; {hint}")


_QUOTED_OR_JOINT = re.compile(r"""("(?:\\.|[^"\\])*"|(?<==)'[^']*')|(?:^|(?<=\s))&&(?=\s|$)""")


def parts(line: str) -> list[str]:
    """Split the line at each ``&&`` that has spaces around it and is not within quotes."""
    cuts = [match.span() for match in _QUOTED_OR_JOINT.finditer(line) if match[1] is None]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(line)]
    return [line[start:end] for start, end in zip(starts, ends, strict=True)]


_HEAD = re.compile(r"([^\s{(\[\"]+)\s*(.*)", re.DOTALL)
_PAIR = re.compile(r"[^\s=]+=(?!=)")


def _call(text: str, tools: Collection[str]) -> TypedCall:
    if not text:
        raise _Slip("a call is missing beside `&&`")
    head = _HEAD.fullmatch(text)
    if head is None:
        raise _Slip(f"a call begins with a tool's name{_one_of(tools)}; an answer with :answer")
    name, rest = head[1], head[2].strip()
    if rest[:1] in ("{", "[", '"') and rest:
        return TypedCall(name, rest)
    if rest.startswith("(") and rest.endswith(")"):
        return TypedCall(name, arguments_text(rest[1:-1].strip(), commas=True))
    if _PAIR.match(rest):
        return TypedCall(name, arguments_text(rest))
    if name not in tools:
        raise _Slip(_no_tool(name, tools))
    if not rest:
        return TypedCall(name, None)
    raise _Slip(
        f'give arguments as JSON ({name} {{"name": value}}) or as pairs ({name} name=value); '
        f"{name} alone asks for each"
    )


def _no_tool(name: str, tools: Collection[str]) -> str:
    if name in COMMANDS:
        return f"commands begin with a colon: :{name}"
    near = get_close_matches(name, tools, n=1)
    hint = f"; did you mean {near[0]}?" if near else _one_of(tools)
    return f"{name!r} is not a tool{hint}. An answer is given with :answer TEXT"


def _one_of(tools: Collection[str]) -> str:
    return f" ({', '.join(tools)})" if tools else " (there are none in this mode)"


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_TO_SPACE = (re.compile(r"'([^']*)'(?=\s|$)"), re.compile(r"\S+"), re.compile(r"\s*"))
_TO_COMMA = (
    re.compile(r"'([^']*)'(?=\s*(?:,|$))"),
    re.compile(r"[^\s,]+"),
    re.compile(r"\s*,?\s*"),
)
_PYTHON = {"True": "true", "False": "false", "None": "null"}
"""JSON for Python's literals, which are read only within parentheses."""
_Forms: TypeAlias = tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]
"""Patterns of a single-quoted text, of a bare word, and of the separator between pairs."""


def arguments_text(text: str, *, commas: bool = False) -> str:
    """Convert ``name=value`` pairs to the text of a JSON object; JSON values are copied as typed.

    Raises:
        ValueError: the text is not such a list; the message says where.
    """
    forms = _TO_COMMA if commas else _TO_SPACE
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        pair = _PAIR.match(text, place)
        if pair is None:
            last = next(reversed(found), "name")
            raise _Slip(
                f"`{text[place:].split()[0]}` is not a name=value; put text with spaces in quotes, "
                f'as in {last}="two words"'
            )
        name = pair[0][:-1]
        if name in found:
            raise _Slip(f"{name} is given twice")
        found[name], place = _value(name, text, pair.end(), forms)
        if between := forms[2].match(text, place):
            place = between.end()
    pairs = (f"{json.dumps(key, ensure_ascii=False)}: {value}" for key, value in found.items())
    return "{" + ", ".join(pairs) + "}"


def _value(name: str, text: str, place: int, forms: _Forms) -> tuple[str, int]:
    """Return the JSON text of the value at `place`, and the position of its end."""
    quotes, bare, _ = forms
    comma = "," if forms is _TO_COMMA else ""
    try:
        _, end = _DECODER.raw_decode(text, place)
        if end == len(text) or text[end].isspace() or text[end] == comma:
            return text[place:end], end
    except (ValueError, RecursionError):
        pass
    if quoted := quotes.match(text, place):
        return json.dumps(quoted[1], ensure_ascii=False), quoted.end()
    word = bare.match(text, place)
    if word is None:
        raise _Slip(f'{name}= has no value; {name}="" is the empty text')
    if word[0][0] in "\"'[{":
        raise _Slip(f"the value of {name} is not complete JSON: a quote or bracket is open")
    literal = _PYTHON.get(word[0]) if forms is _TO_COMMA else None
    return literal or json.dumps(word[0], ensure_ascii=False), word.end()
