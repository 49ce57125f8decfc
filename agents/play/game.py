"""The dialogue: a line is read, acted upon, and shown, until the episode is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from agents.play.branches import Branches, TakenBack
from agents.play.commands import Command, Misread, Turn, TypedCall, parse
from agents.play.form import Cancelled, fill
from agents.play.prompt import Lines
from agents.play.screen import Screen
from agents.play.state import (
    NoSuchTurn,
    Standing,
    answer_reply,
    standing,
    taken,
    target_turn,
)
from env.episode import Episode
from env.feedback import Level
from env.messages import RawCall, Reply
from env.score import score
from env.trace import Ending, to_line
from toolhop_tools.model import ToolDocument


class Game:
    """One item, played by whoever types."""

    def __init__(
        self, branches: Branches, screen: Screen, lines: Lines, *, show_gold: bool = False
    ) -> None:
        """Over open branches; `show_gold` lets `:score` and the end tell the gold answers."""
        self._branches = branches
        self._screen = screen
        self._lines = lines
        self._show_gold = show_gold
        self._asked_at = 0.0
        self._commands: dict[str, Callable[[str], None]] = {
            "answer": self._answer,
            "tools": lambda _: screen.tools(list(self._tools.values())),
            "tool": self._tool,
            "question": lambda _: screen.question(self._episode.item),
            "history": lambda _: screen.history(taken(self._episode.trace)),
            "score": lambda _: self._score(),
            "feedback": self._feedback,
            "back": self._back,
            "save": self._save,
            "help": lambda _: screen.help(),
            "quit": lambda _: self._episode.end(Ending.STOPPED),
        }

    @property
    def _episode(self) -> Episode:
        return self._branches.episode

    @property
    def _tools(self) -> dict[str, ToolDocument]:
        return {tool.name: tool.document for tool in self._episode.tools}

    @property
    def _gold(self) -> str | None:
        return self._episode.item.answer if self._show_gold else None

    def play(self) -> None:
        """Until an answer, a limit, `:quit` or the end of the input.

        Raises:
            SandboxError: the sandbox can run nothing any more. What was played is kept.
            StoreError: the trace cannot be written.
        """
        limit = self._standing().turn_limit
        turns = (
            "There is no limit of turns."
            if limit is None
            else f"You have {limit} turns, the answer included."
        )
        place = f"{turns} Feedback: {self._episode.feedback_level}."
        mode = self._episode.setting.mode
        self._screen.item(self._episode.item, list(self._tools.values()), mode, place)
        while self._episode.ending is None:
            self._round()
        trace = self._episode.trace
        self._screen.end(score(trace), self._episode.ending, self._gold)
        self._screen.saved(self._branches.path, self._branches.count)

    def _standing(self) -> Standing:
        return standing(self._episode.trace, self._episode.setting.limits)

    def _round(self) -> None:
        now = self._standing()
        if now.last and self._tools:
            self._screen.note("This is the last turn: only :answer TEXT can end the game well.")
        self._asked_at = time.monotonic()
        try:
            line = self._lines.line(f"turn {now.place}> ")
        except KeyboardInterrupt:
            self._screen.note(":quit leaves, and so does Ctrl-D.")
        except EOFError:
            self._episode.end(Ending.STOPPED)
        else:
            self._act(line)

    def _act(self, line: str) -> None:
        match parse(line, self._tools):
            case Command(name, argument):
                self._commands[name](argument)
            case Turn(calls):
                self._call(calls)
            case Misread(message):
                self._screen.note(message)
            case None:
                pass

    def _call(self, typed: tuple[TypedCall, ...]) -> None:
        turn = len(self._episode.trace.replies) + 1
        calls: list[RawCall] = []
        for index, call in enumerate(typed, start=1):
            try:
                text = self._fill(call.name) if call.arguments is None else call.arguments
            except (Cancelled, KeyboardInterrupt, EOFError):
                self._screen.note("Left; no call was made.")
                return
            calls.append(RawCall(f"call_{turn}_{index}", call.name, text))
        self._take(Reply(calls=tuple(calls), wall_s=self._elapsed()))

    def _fill(self, tool: str) -> str:
        """Ask for the arguments of a call; their text."""
        form = fill(self._tools[tool])
        asked = None
        try:
            ask = next(form)
            self._screen.form(tool)
            while True:
                if ask.parameter is not asked:
                    asked = ask.parameter
                    self._screen.parameter(asked)
                if ask.trouble:
                    self._screen.note(ask.trouble)
                ask = form.send(self._lines.value(f"  {asked.name}: ", asked))
        except StopIteration as done:
            return str(done.value)

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._asked_at, 3)

    def _take(self, reply: Reply) -> None:
        try:
            step = self._branches.step(reply)
        except TakenBack as reason:
            self._screen.note(f"The turn was taken back: {reason}.")
            return
        for call in step.calls:
            self._screen.called(call)

    def _answer(self, text: str) -> None:
        if text:
            self._take(answer_reply(text, self._elapsed()))
        else:
            self._screen.note("say what you answer: :answer TEXT")

    def _tool(self, name: str) -> None:
        if name in self._tools:
            self._screen.tool(self._tools[name])
        else:
            names = ", ".join(self._tools) or "none in this mode"
            self._screen.note(f"name a tool after :tool; the tools are: {names}")

    def _score(self) -> None:
        episode = self._episode
        self._screen.standing(self._standing(), episode.trace.started.hops, self._gold)

    def _feedback(self, text: str) -> None:
        if text in list(Level):
            self._episode.set_feedback(Level(text))
            self._screen.note(f"Feedback is {text} from here on.")
        else:
            level = self._episode.feedback_level
            self._screen.note(f"Feedback is {level}; :feedback {' or '.join(Level)} sets it.")

    def _back(self, steps: str) -> None:
        try:
            turn = target_turn(self._episode.trace, steps)
        except NoSuchTurn as trouble:
            self._screen.note(str(trouble))
            return
        self._branches.back_to(turn, "the player went back")
        self._screen.note(f"Back before turn {turn}. What you took back is kept as another trace.")

    def _save(self, path: str) -> None:
        if not path:
            self._screen.note(f"Every step is already in {self._branches.path}")
            return
        try:
            target = Path(path).expanduser()
            with target.open("xb") as file:
                file.writelines(to_line(event) for event in self._episode.trace.events)
        except FileExistsError:
            self._screen.note(f"{path} is there already; name another file")
        except (OSError, ValueError, RuntimeError) as error:
            self._screen.note(f"{path} cannot be written: {error}")
        else:
            self._screen.note(f"Saved the game so far to {target}")
