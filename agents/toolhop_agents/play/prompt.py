"""Where typed lines come from: a terminal with completion and history, or any other stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TextIO, TypeAlias

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from toolhop_agents.play.complete import Continuation, candidates, choices
from toolhop_agents.play.form import Parameter
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
