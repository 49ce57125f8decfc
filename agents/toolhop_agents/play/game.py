"""The dialogue: read a line, act on it and show the result, until the episode is over."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolhop_agents.play.branches import Branches, NoWayBack, TakenBack
from toolhop_agents.play.commands import Command, Misread, Turn, TypedCall, parse
from toolhop_agents.play.form import Cancelled, fill
from toolhop_agents.play.prompt import Lines
from toolhop_agents.play.screen import Screen
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.episode import Episode, Step
from toolhop_env.feedback import Level, problems_text
from toolhop_env.messages import RawCall, Reply
from toolhop_env.reading import tagged_answer
from toolhop_env.trace import Ending, Trace, to_line
from toolhop_env.validation import Validator
from toolhop_env.verdicts import Rejected
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Tool, ToolSchema

TAG = "<answer>"


def target_turn(trace: Trace, steps: str) -> int:
    """Return the number of the next turn after going back `steps` turns (typed text; empty means
    1).

    Raises:
        NoWayBack: `steps` is not a number, or exceeds the turns taken.
    """
    done = len(trace.replies)
    steps = steps or "1"
    if not (steps.isascii() and steps.isdigit() and 0 < len(steps) < 10 and int(steps) > 0):
        raise NoWayBack(f"`:back {steps}`: say how many turns, as in :back 2")
    if int(steps) > done:
        have = {0: "no turn has been taken yet", 1: "only one turn has been taken"}
        raise NoWayBack(have.get(done, f"only {done} turns have been taken"))
    return done + 1 - int(steps)


def answer_reply(trace: Trace, text: str, wall_s: float = 0.0) -> Reply:
    """Return the final reply, with the answer tag added if the prompt asks for it."""
    asked = any(TAG in message.content for message in trace.started.messages)
    bare = asked and tagged_answer(text) is None
    return Reply(f"{TAG}{text}</answer>" if bare else text, wall_s=wall_s)


class Game:
    """One item, played by a person."""

    def __init__(
        self,
        branches: Branches,
        screen: Screen,
        lines: Lines,
        shown: frozenset[str] = frozenset(),
    ) -> None:
        """Start a game over open branches.

        If `shown` contains ``hops``, each prompt and `:score` show the progress along the chain; if
        it contains ``gold``, `:score` and the final screen show the gold answers. No model sees
        either.
        """
        self._branches = branches
        self._screen = screen
        self._lines = lines
        self._shown = shown
        self._asked_at = 0.0
        self._commands: dict[str, Callable[[str], None]] = {
            "answer": self._answer,
            "check": self._check,
            "tools": lambda _: screen.tools(list(self._tools.values())),
            "tool": self._tool,
            "question": lambda _: screen.question(self._episode.item),
            "history": lambda _: screen.history(self._episode.trace),
            "score": lambda _: screen.progress(branches.progress, self._milestone, self._gold),
            "feedback": self._feedback,
            "back": self._back,
            "retry": self._retry,
            "save": self._save,
            "help": lambda _: screen.help(),
            "quit": lambda _: self._stop(),
        }

    @property
    def _episode(self) -> Episode:
        return self._branches.episode

    @property
    def _benchmark(self) -> Benchmark:
        return named(self._episode.item.benchmark)

    @property
    def _milestone(self) -> str | None:
        return self._benchmark.presentation.milestone if self._shown else None

    @property
    def _tools(self) -> dict[str, ToolSchema]:
        return {tool.name: tool.schema for tool in self._episode.tools}

    @property
    def _gold(self) -> str | None:
        started = self._episode.trace.started
        return (
            self._benchmark.presentation.expected(started.gold) if "gold" in self._shown else None
        )

    def play(self) -> None:
        """Play until an answer, a limit, `:quit` or the end of the input.

        Raises:
            SandboxError: the sandbox can run no more calls; the turns so far are stored.
            StoreError: the trace cannot be written.
        """
        setting, limit = self._episode.setting, self._branches.progress.turn_limit
        if setting.single_reply:
            place = "You have one turn: what you type is your answer, and no call is run."
        else:
            allowed = "There is no limit of turns."
            if limit is not None:
                allowed = f"You have {limit} turn{'s' * (limit > 1)}, the answer included."
            place = f"{allowed} Feedback: {self._episode.feedback_level}."
        self._screen.item(self._episode.item, list(self._tools.values()), setting.mode, place)
        if setting.single_reply:
            self._screen.prompt(setting.messages)
        while self._episode.ending is None:
            self._round()
        self._screen.end(self._benchmark, self._branches.score(), self._episode.ending, self._gold)
        self._screen.saved(self._branches.path, self._branches.count)
        if self._episode.ending is Ending.STOPPED:
            folder = shlex.quote(str(self._branches.path.parents[1]))
            self._screen.left(f"toolhop play --resume {folder}")

    def _round(self) -> None:
        now = self._branches.progress
        if now.last and self._tools:
            self._screen.note("This is the last turn: only an answer can end the game well.")
        self._asked_at = time.monotonic()
        try:
            line = self._lines.line(f"turn {now.place}> ", now.status(self._milestone))
        except KeyboardInterrupt:
            self._screen.note(":quit leaves, and so does Ctrl-D.")
        except EOFError:
            self._stop()
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

    def _check(self, text: str) -> None:
        match parse(text, self._tools):
            case Turn(calls) if all(call.arguments is not None for call in calls):
                wrong = self._wrong([(call.name, call.arguments or "") for call in calls])
                self._screen.note(wrong or "Nothing is wrong with it. It was not made: type it.")
            case Misread(message):
                self._screen.note(message)
            case _:
                self._screen.note('say which call, with its arguments: :check tool {"a": 1}')

    def _wrong(self, calls: Sequence[tuple[str, str]]) -> str:
        """Describe why calls would be rejected, in the same detail as the feedback on failed
        calls.
        """
        validator = Validator(list(self._tools.values()))
        found = [(name, validator.check(name, text)) for name, text in calls]
        rejected = [(name, one) for name, one in found if isinstance(one, Rejected)]
        if not rejected:
            return ""
        if self._episode.feedback_level is not Level.DETAILED:
            return "The call would fail."
        reasons = " ".join(problems_text(name, one) for name, one in rejected)
        return f"The call would not be run. {reasons}"

    def _sends(self, calls: Sequence[RawCall]) -> bool:
        """Whether to make the calls; if they would be rejected, a player at a terminal is asked."""
        wrong = self._wrong([(call.name, call.arguments) for call in calls])
        if not wrong or not self._lines.live:
            return True
        self._screen.note(f"{wrong} No turn is taken yet.")
        try:
            said = self._lines.line("make it all the same? [y/N] ").strip().casefold()
        except (KeyboardInterrupt, EOFError):
            return False
        return said in {"y", "yes"}

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
        if not self._sends(calls):
            self._screen.note("No call was made.")
            return
        self._take(Reply(calls=tuple(calls), wall_s=self._elapsed()))

    def _fill(self, tool: str) -> str:
        """Ask for the arguments of a call and return them as text."""
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
        self._show(lambda: self._branches.step(reply, self._stand_in))

    def _show(self, take: Callable[[], Step | None]) -> None:
        before = self._tools
        try:
            step = take()
        except TakenBack as reason:
            self._screen.note(f"The turn was taken back: {reason}.")
            return
        for call in step.calls if step else ():
            self._screen.called(call)
        if new := [tool for name, tool in self._tools.items() if name not in before]:
            self._screen.note("From the next turn on these tools are on offer too:")
            self._screen.tools(new)

    def _stand_in(self, tool: Tool, arguments: Mapping[str, JSON]) -> str:
        """Ask the player to answer in place of the user or of a simulated tool."""
        self._screen.stand_in(tool, arguments)
        return self._lines.line("you answer> ")

    def _answer(self, text: str) -> None:
        if text:
            self._take(answer_reply(self._episode.trace, text, self._elapsed()))
        else:
            self._screen.note("say what you answer: :answer TEXT")

    def _tool(self, name: str) -> None:
        if name in self._tools:
            self._screen.tool(self._tools[name])
        else:
            names = ", ".join(self._tools) or "none in this mode"
            self._screen.note(f"name a tool after :tool; the tools are: {names}")

    def _stop(self) -> None:
        self._episode.end(Ending.STOPPED)

    def _feedback(self, text: str) -> None:
        if text in list(Level):
            self._episode.set_feedback(Level(text))
            self._screen.note(f"Feedback is {text} from here on.")
        else:
            level = self._episode.feedback_level
            self._screen.note(f"Feedback is {level}; :feedback {', '.join(Level)} sets it.")

    def _back(self, steps: str) -> None:
        try:
            turn = target_turn(self._episode.trace, steps)
        except NoWayBack as trouble:
            self._screen.note(str(trouble))
            return
        self._branches.back_to(turn)
        self._screen.note(f"Back before turn {turn}. What you took back is kept as another trace.")

    def _retry(self, level: str) -> None:
        if level not in list(Level):
            self._screen.note(f"name a feedback level: :retry {', '.join(Level)}")
            return
        try:
            self._show(lambda: self._branches.fork(Level(level)))
        except NoWayBack as trouble:
            self._screen.note(str(trouble))
            return
        self._screen.history(self._episode.trace)
        self._screen.note(f"Back after the first failed call. Feedback is {level} from here on.")

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
