"""What the Tab key offers. Pure: from the text left of the cursor to candidates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolhop_agents.play.commands import COMMANDS, parts
from toolhop_agents.play.form import Parameter, parameters
from toolhop_env.feedback import Level
from toolhop_tools.model import ToolSchema


@dataclass(frozen=True, slots=True)
class Continuation:
    """A way to go on."""

    text: str
    """Replaces the last `replaces` characters before the cursor."""
    replaces: int
    about: str = ""


def candidates(text: str, tools: Mapping[str, ToolSchema]) -> list[Continuation]:
    """How a line that begins with `text` may go on, given the tools on offer."""
    text = text.lstrip()
    if text.startswith(":"):
        found = _of_command(text[1:], tools)
    else:
        found = _of_call(parts(text)[-1].lstrip(), tools)
    return list(found)


def _of_command(text: str, tools: Mapping[str, ToolSchema]) -> Iterator[Continuation]:
    word, space, rest = text.partition(" ")
    if not space:
        for name, (argument, about) in COMMANDS.items():
            if name.startswith(word):
                yield Continuation(f":{name}{' ' if argument else ''}", len(word) + 1, about)
    elif word == "tool":
        yield from _names(rest.lstrip(), tools, "")
    elif word in {"feedback", "retry"}:
        options = (level.value for level in Level)
        yield from (Continuation(o, len(rest)) for o in options if o.startswith(rest))


def _names(start: str, tools: Mapping[str, ToolSchema], end: str) -> Iterator[Continuation]:
    for name, document in tools.items():
        if name.startswith(start):
            about = next(iter(document.description.splitlines()), "")
            yield Continuation(name + end, len(start), about)


_PAIR_START = re.compile(r"([^\s=]+)=(\"?[^\s\"]*)")
_KEY = re.compile(r'[{,]\s*"([^"]*)')
_ENUM = re.compile(r'"([^"]+)"\s*:\s*("[^"]*|\w*)')


def _of_call(text: str, tools: Mapping[str, ToolSchema]) -> Iterator[Continuation]:
    name, space, rest = text.partition(" ")
    if not space:
        yield from _names(name, tools, " ")
        return
    if name not in tools:
        return
    known = {parameter.name: parameter for parameter in parameters(tools[name])}
    if rest.lstrip().startswith("{"):
        yield from _in_object(rest, known)
        return
    word = rest.split(" ")[-1]
    if pair := _PAIR_START.fullmatch(word):
        if pair[1] in known:
            yield from _values(known[pair[1]], pair[2])
        return
    for key, parameter in known.items():
        if key.startswith(word) and not re.search(rf"(?<!\S){re.escape(key)}=", rest):
            yield Continuation(f"{key}=", len(word), parameter.kind)


def _in_object(text: str, known: Mapping[str, Parameter]) -> Iterator[Continuation]:
    """Names and enum values within a JSON object that is being typed."""
    tail = text[max(text.rfind("{"), text.rfind(",")) :]
    if (value := _ENUM.search(tail)) and value.end() == len(tail):
        if value[1] in known:
            yield from _values(known[value[1]], value[2], quoted=True)
    elif (key := _KEY.fullmatch(tail)) or not tail[1:].strip():
        start = key[1] if key else ""
        for name, parameter in known.items():
            if name.startswith(start) and f'"{name}"' not in text:
                head = "" if key else '"'
                yield Continuation(f'{head}{name}": ', len(start), parameter.kind)


def _values(parameter: Parameter, start: str, *, quoted: bool = False) -> Iterator[Continuation]:
    """Choices that begin with `start`, in quotes where the form of the call wants them."""
    texts = "string" in parameter.types
    for choice in parameter.choices:
        if choice.startswith(start.lstrip('"')):
            bare = not texts or (not quoted and " " not in choice and not start.startswith('"'))
            yield Continuation(choice if bare else f'"{choice}"', len(start))


def choices(parameter: Parameter, text: str) -> list[Continuation]:
    """How a value typed into a form may go on."""
    start = text.lstrip()
    fitting = (choice for choice in parameter.choices if choice.startswith(start))
    return [Continuation(choice, len(start)) for choice in fitting]
