"""Sources of typed lines: a terminal with completion and history, or any other stream."""

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
    """Whether a person can answer questions."""

    def __init__(self, stream: TextIO, echo: Callable[[str], None]) -> None:
        """Read from `stream`; `echo` receives each prompt together with its line."""
        self._stream = stream
        self._echo = echo

    def line(self, prompt: str, status: str = "") -> str:
        """Read a line of the game; Ctrl-C ends the input.

        Raises:
            EOFError: the input has ended.
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
        """Read a value for a form; raises as `line` does."""
        return self.line(prompt)


class TerminalLines:
    """Lines from the keyboard."""

    live = True

    def __init__(self, tools: Callable[[], Mapping[str, ToolSchema]]) -> None:
        """Read from the terminal; `tools` returns the tools currently available, by name."""
        self._lines: PromptSession[str] = PromptSession(
            history=open_history(history_file()),
            completer=_Tab(lambda text: candidates(text, tools())),
            complete_while_typing=False,
        )
        self._values: PromptSession[str] = PromptSession(complete_while_typing=False)

    def line(self, prompt: str, status: str = "") -> str:
        """Read a line of the game, with `status` above it.

        Raises:
            EOFError: the input has ended.
            KeyboardInterrupt: Ctrl-C was pressed; the line is dropped.
        """
        # Not a toolbar: only terminals that report the cursor position show one.
        return self._lines.prompt(f"{status}\n{prompt}" if status else prompt)

    def value(self, prompt: str, parameter: Parameter) -> str:
        """Read a value for a form, without storing it in the history; raises as `line` does."""
        tab = _Tab(lambda text: choices(parameter, text))
        return self._values.prompt(prompt, completer=tab)


Lines: TypeAlias = PipedLines | TerminalLines
"""A source of typed lines."""


class _Tab(Completer):
    """A completer that converts our candidates to prompt_toolkit's type."""

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
    """A file history that ignores write errors."""

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
    """Return the file for the history of typed lines, in the user's state folder (XDG)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    root = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return root / "toolhop" / "play_history"


def open_history(path: Path) -> History:
    """Open the history in `path`, readable only by its owner; in memory if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return _SafeHistory(str(path))


# -- Tab completion: candidates for the text before the cursor -------------------------------------


@dataclass(frozen=True, slots=True)
class Continuation:
    """One possible completion of the typed text."""

    text: str
    """Text that replaces the last `replaces` characters before the cursor."""
    replaces: int
    about: str = ""


def candidates(text: str, tools: Mapping[str, ToolSchema]) -> list[Continuation]:
    """Return the completions of a line that begins with `text`; `tools` are the available tools."""
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
    """Yield the names and enum values that complete an unfinished JSON object."""
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
    """Yield choices that begin with `start`, in quotes if `quoted`."""
    texts = "string" in parameter.types
    for choice in parameter.choices:
        if choice.startswith(start.lstrip('"')):
            bare = not texts or (not quoted and " " not in choice and not start.startswith('"'))
            yield Continuation(choice if bare else f'"{choice}"', len(start))


def choices(parameter: Parameter, text: str) -> list[Continuation]:
    """Return the completions of a value typed into a form."""
    start = text.lstrip()
    fitting = (choice for choice in parameter.choices if choice.startswith(start))
    return [Continuation(choice, len(start)) for choice in fitting]
