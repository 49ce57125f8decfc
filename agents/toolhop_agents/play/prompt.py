"""Where typed lines come from: a terminal with completion and history, or any other stream."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeAlias

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from toolhop_agents.play.commands import COMMANDS, parts
from toolhop_agents.play.form import Parameter, parameters
from toolhop_env.feedback import Level
from toolhop_tools.model import ToolSchema


class PipedLines:
    """Lines of a file or pipe, echoed so that the output reads as a transcript."""

    live = False
    """Whether somebody can be asked back."""

    def __init__(self, stream: TextIO, echo: Callable[[str], None]) -> None:
        """`echo` is given each prompt together with the line that answered it."""
        self._stream = stream
        self._echo = echo

    def line(self, prompt: str, status: str = "") -> str:
        """A line of the game; Ctrl-C ends the input.

        Raises:
            EOFError: there are no more.
        """
        try:
            text = self._stream.readline()
        except KeyboardInterrupt:
            raise EOFError from None
        if not text:
            raise EOFError
        text = text.rstrip("\r\n")
        self._echo(prompt + text)
        return text

    def value(self, prompt: str, parameter: Parameter) -> str:
        """A value of a form; raises as `line` does."""
        return self.line(prompt)


class TerminalLines:
    """Lines from the keyboard."""

    live = True

    def __init__(self, tools: Callable[[], Mapping[str, ToolSchema]]) -> None:
        """For the tools on offer by name, which may change."""
        self._lines: PromptSession[str] = PromptSession(
            history=open_history(history_file()),
            completer=_Tab(lambda text: candidates(text, tools())),
            complete_while_typing=False,
        )
        self._values: PromptSession[str] = PromptSession(complete_while_typing=False)

    def line(self, prompt: str, status: str = "") -> str:
        """A line of the game, `status` above it.

        Raises:
            EOFError: there are no more.
            KeyboardInterrupt: Ctrl-C; the line is dropped.
        """
        # A toolbar of the library's is shown by terminals alone that tell where the cursor is.
        return self._lines.prompt(f"{status}\n{prompt}" if status else prompt)

    def value(self, prompt: str, parameter: Parameter) -> str:
        """A value of a form, which is kept in no history; raises as `line` does."""
        tab = _Tab(lambda text: choices(parameter, text))
        return self._values.prompt(prompt, completer=tab)


Lines: TypeAlias = PipedLines | TerminalLines
"""Whoever types."""


class _Tab(Completer):
    """Candidates of ours in prompt_toolkit's form."""

    def __init__(self, source: Callable[[str], list[Continuation]]) -> None:
        self._source = source

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        for found in self._source(document.text_before_cursor):
            yield Completion(
                found.text,
                start_position=-found.replaces,
                display=found.text.rstrip(),
                display_meta=found.about,
            )


class _SafeHistory(FileHistory):
    """A history that is kept as far as the disk allows."""

    def load_history_strings(self) -> list[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string.encode("utf-8", "replace").decode())
        except OSError:
            return  # a full disk must not end the game: the trace is what counts


def history_file() -> Path:
    """Where typed lines are kept from game to game: the user's state folder (XDG)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    root = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return root / "toolhop" / "play_history"


def open_history(path: Path) -> History:
    """The history in `path`, made readable to its owner alone; in memory where it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return _SafeHistory(str(path))


# -- what the Tab key offers: from the text left of the cursor to candidates -----------------------


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
