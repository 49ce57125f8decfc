"""What the player sees. All text of items and tools is foreign: shown as letters, never as markup
or control sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from agents.data_view import parameter_rows
from agents.play.commands import COMMANDS
from agents.play.form import CANCEL, Parameter
from agents.play.state import Standing, Taken
from agents.terminal import plain
from env.feedback import Level
from env.score import Score, Verdict, Void
from env.trace import Called, Ending, Hops
from toolhop_tools.model import Item, ToolDocument

SHOWN_CHARS = 4_000
"""Letters of a result that are shown; the trace has them all."""
HISTORY_CHARS = 300

MODE_LINES = {
    "mandatory": "Take every step with a tool, then answer.",
    "free": "Use the tools where they help, then answer.",
    "direct": "There are no tools in this mode: answer from what you know.",
}
ENDINGS = {
    Ending.ANSWERED: "You answered.",
    Ending.OUT_OF_TURNS: "That was the last turn, and it was no answer.",
    Ending.OUT_OF_CALLS: "That was the last call allowed, and there is no answer.",
    Ending.STOPPED: "You left without an answer.",
}


def foreign(text: str, style: str = "", *, most: int = SHOWN_CHARS) -> Text:
    """Text of others, made harmless, and cut with a note of how much is left out."""
    left = len(text) - most
    body = plain(text[:most], style)
    if left > 0:
        body.append(f" … {left:,} more characters", "dim")
    return body


class Screen:
    """Writes to a console; knows nothing of the game's course."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, part: RenderableType = "", *, indent: int = 0) -> None:
        """A part; long lines are left to whoever reads where the output is no terminal."""
        wraps = self._console.is_terminal
        if wraps and indent:
            part = Padding(part, (0, 0, 0, indent))
        elif indent and isinstance(part, Text):
            space = " " * indent
            part = Text("\n").join(Text(space) + line for line in part.split("\n"))
        self._console.print(part, soft_wrap=not wraps, markup=False, highlight=False, emoji=False)

    def note(self, text: str) -> None:
        """A word from the game."""
        self.write(foreign(text, "yellow"))

    def echo(self, text: str) -> None:
        """A prompt and the line that answered it."""
        self.write(foreign(text, "bold"))

    def item(self, item: Item, tools: Sequence[ToolDocument], mode: str, place: str) -> None:
        """The start of a game."""
        self.write(Rule(foreign(f"{item.id} · {item.domain}"), align="left"))
        self.question(item)
        self.write()
        if tools:
            self.tools(tools)
        self.write(Text(f"{MODE_LINES[mode]} {place}"))
        for line in _HOW[bool(tools)]:
            self.write(Text(line, "dim"))

    def question(self, item: Item) -> None:
        """The question."""
        self.write(foreign(item.question, "bold"))

    def tools(self, tools: Sequence[ToolDocument]) -> None:
        """All tools; a star marks a required argument."""
        for tool in tools:
            self.tool(tool)
        if not tools:
            self.note("There are no tools in direct mode.")

    def tool(self, tool: ToolDocument) -> None:
        """One tool."""
        self.write(foreign(tool.name, "bold cyan"))
        self.write(foreign(tool.description.strip()), indent=2)
        rows = list(parameter_rows(tool.parameters))
        for name, kind, about in rows:
            required = ", required" if name.endswith("*") else ""
            head = foreign(name.removesuffix("*"), "cyan")
            self.write(
                Text.assemble(head, "  ", foreign(kind), f"{required}  ", foreign(about, "dim")),
                indent=4,
            )
        if not rows:
            self.write(Text("takes no arguments", "dim"), indent=4)
        self.write()

    def parameter(self, parameter: Parameter) -> None:
        """What a form asks for next."""
        for name, kind, about in parameter_rows(
            {"properties": {parameter.name: dict(parameter.schema)}}
        ):
            need = "required" if parameter.required else "optional: Enter leaves it out"
            head = foreign(name, "cyan")
            self.write(
                Text.assemble(head, "  ", foreign(kind), f", {need}  ", foreign(about, "dim")),
                indent=2,
            )

    def form(self, tool: str) -> None:
        """The head of a form."""
        self.write(Text(f"Arguments of {tool}, one by one; {CANCEL} or Ctrl-C leaves.", "dim"))

    def called(self, call: Called) -> None:
        """A call and its feedback; of a failure no more than the feedback itself tells."""
        self._call(call, SHOWN_CHARS)

    def _call(self, call: Called, most: int) -> None:
        head = Text.assemble(
            foreign(call.raw.name, "cyan"), " ", foreign(call.raw.arguments, most=most)
        )
        self.write(head, indent=2)
        mark = Text("ok  ", "green") if call.error is None else Text("failed  ", "red")
        if call.error is not None and call.level is Level.DETAILED:
            mark = Text(f"failed, {call.error.value}  ", "red")
        self.write(Text.assemble(mark, foreign(call.feedback, most=most)), indent=2)

    def history(self, turns: Sequence[Taken]) -> None:
        """All turns so far."""
        for turn in turns:
            self.write(Text(f"turn {turn.turn}", "bold"))
            for call in turn.calls:
                self._call(call, HISTORY_CHARS)
        if not turns:
            self.note("No turn has been taken yet.")

    def standing(self, now: Standing, hops: Hops, gold: str | None) -> None:
        """How far the player is; with `gold`, the answers too."""
        self.write(Text(f"hops solved: {sum(now.solved)} of {len(now.solved)}"))
        self.write(Text(f"calls: {now.calls}, failed: {now.failed}; turn {now.place} is next"))
        if gold is None:
            return
        for done, tool, answer in zip(now.solved, hops.tools, hops.answers, strict=True):
            mark = "solved" if done else "open  "
            self.write(
                Text.assemble(f"{mark}  ", foreign(tool, "cyan"), " → ", foreign(answer)), indent=2
            )
        self.write(Text.assemble("answer: ", foreign(gold, "green")))

    def help(self) -> None:
        """How calls are written, and the commands."""
        for line in _CALLS:
            self.write(Text(line))
        self.write()
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(style="cyan", overflow="fold")
        table.add_column(overflow="fold")
        for name, (argument, about) in COMMANDS.items():
            table.add_row(Text(f":{name} {argument}".rstrip()), Text(about))
        self.write(table)

    def end(self, verdict: Verdict, ending: Ending | None, gold: str | None) -> None:
        """The result."""
        self.write(Rule())
        self.write(Text(ENDINGS.get(ending, "The game is over.") if ending else "", "bold"))
        if isinstance(verdict, Void):
            self.note(f"Not scored: {verdict.reason}")
            return
        for label, text in _result(verdict):
            self.write(Text.assemble((f"{label:<18}", "dim"), text))
        if gold is not None:
            self.write(Text.assemble((f"{'gold answer':<18}", "dim"), foreign(gold, "green")))

    def saved(self, path: Path, branches: int) -> None:
        """Where the trace is."""
        self.write(Text.assemble(("trace             ", "dim"), foreign(str(path))))
        if branches > 1:
            others = "the branch" if branches == 2 else f"the {branches - 1} branches"
            self.write(Text(f"                  ({others} you went back from: beside it)", "dim"))


_HOW = {
    True: (
        "A tool's name alone asks for its arguments; :answer TEXT answers; :help tells more.",
        "On a terminal the Tab key completes. :question shows the question again.",
    ),
    False: (":answer TEXT answers; :help tells more.",),
}
_CALLS = (
    'tool {"a": 1, "b": "text"}   calls it with exactly this JSON',
    'tool a=1 b="some text"       the same with less typing; a bare word is text',
    'tool(a=1, b="some text")     the same again',
    "tool                         asks for each argument",
    "one a=1 && two b=2           two calls in one turn",
)


def _result(score: Score) -> list[tuple[str, Text]]:
    failed = ", ".join(f"{code.value} {count}" for code, count in score.errors.items())
    return [
        ("strict rule", _right(score.strict, score.ending)),
        ("official rule", _right(bool(score.official), score.ending)),
        ("hops solved", Text(f"{score.hops_solved} of {score.hops}")),
        ("turns", Text(str(score.turns))),
        (
            "calls",
            Text(f"{score.calls}, {score.failed_calls} failed{f' ({failed})' if failed else ''}"),
        ),
    ]


def _right(yes: bool, ending: Ending) -> Text:
    if ending is not Ending.ANSWERED:
        return Text("no answer", "red")
    return Text("right", "green") if yes else Text("wrong", "red")
