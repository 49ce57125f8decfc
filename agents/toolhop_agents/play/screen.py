"""The display of a game.

All text from items and tools is untrusted: it is shown literally, never as markup or control
sequences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from toolhop_agents.data_view import parameter_rows
from toolhop_agents.play.branches import EpisodeProgress
from toolhop_agents.play.commands import COMMANDS
from toolhop_agents.play.form import BACK, CANCEL, Parameter
from toolhop_agents.table import value_text
from toolhop_agents.terminal import plain
from toolhop_env.benchmark import Benchmark
from toolhop_env.feedback import Level
from toolhop_env.measures import Measure
from toolhop_env.messages import SystemMessage, UserMessage
from toolhop_env.score import Errored, Score, Verdict
from toolhop_env.trace import Called, Ending, Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item, RecordedTable, Simulated, Tool, ToolSchema

SHOWN_CHARS = 4_000
"""Maximum characters shown of a result; the trace has the whole result."""
HISTORY_CHARS = 300
LABEL = 26
"""Width of a label on the result screen, in characters."""

MODE_LINES = {
    "mandatory": "Take every step with a tool, then answer.",
    "free": "Use the tools where they help, then answer.",
    "direct": "There are no tools in this mode: answer from what you know.",
}
ENDINGS = {
    Ending.ANSWERED: "You answered.",
    Ending.GAVE_UP: "You gave up.",
    Ending.OUT_OF_TURNS: "That was the last turn, and it was not an answer.",
    Ending.OUT_OF_CALLS: "That was the last call allowed, and there is no answer.",
    Ending.STOPPED: "You left without an answer.",
}


def foreign(text: str, style: str = "", *, most: int = SHOWN_CHARS) -> Text:
    """Make untrusted text safe; if it is cut, note how many characters are missing."""
    left = len(text) - most
    body = plain(text[:most], style)
    if left > 0:
        body.append(f" … {left:,} more characters", "dim")
    return body


class Screen:
    """Writes to a console; it has no knowledge of the game's state."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, part: RenderableType = "", *, indent: int = 0) -> None:
        """Write a part; long lines are not wrapped if the output is not a terminal."""
        wraps = self._console.is_terminal
        if wraps and indent:
            part = Padding(part, (0, 0, 0, indent))
        elif indent and isinstance(part, Text):
            space = " " * indent
            part = Text("\n").join(Text(space) + line for line in part.split("\n"))
        self._console.print(part, soft_wrap=not wraps, markup=False, highlight=False, emoji=False)

    def note(self, text: str) -> None:
        """Write a message from the game."""
        self.write(foreign(text, "yellow"))

    def echo(self, text: str) -> None:
        """Write a prompt and the line that answered it."""
        self.write(foreign(text, "bold"))

    def item(self, item: Item, tools: Sequence[ToolSchema], mode: str, place: str) -> None:
        """Write the first screen of a game."""
        self.write(Rule(foreign(f"{item.id} · {item.domain}"), align="left"))
        self.question(item)
        self.write()
        if tools:
            names = Text(", ").join(foreign(tool.name, "bold cyan") for tool in tools)
            self.write(Text.assemble("Tools: ", names))
            self.write()
        self.write(Text(f"{MODE_LINES.get(mode, f'Mode: {mode}.')} {place}"))
        for line in _HOW[bool(tools)]:
            self.write(Text(line, "dim"))

    def question(self, item: Item) -> None:
        """Write the question."""
        self.write(foreign(item.question, "bold"))

    def prompt(self, messages: Sequence[SystemMessage | UserMessage]) -> None:
        """Write the messages sent to a model, if the mode allows only one reply."""
        for message in messages:
            self.write(foreign(message.content), indent=2)

    def tools(self, tools: Sequence[ToolSchema]) -> None:
        """Write all tools; a star marks a required argument."""
        for tool in tools:
            self.tool(tool)
        if not tools:
            self.note("There are no tools in this mode.")

    def tool(self, tool: ToolSchema) -> None:
        """Write the description of one tool."""
        self.write(foreign(tool.name, "bold cyan"))
        self.write(foreign(tool.description.strip()), indent=2)
        rows = list(parameter_rows(tool.parameters))
        for name, kind, about in rows:
            required = ", required" if name.endswith("*") else ""
            self._row(name.removesuffix("*"), kind, required, about, indent=4)
        if not rows:
            self.write(Text("takes no arguments", "dim"), indent=4)
        self.write()

    def parameter(self, parameter: Parameter) -> None:
        """Write the parameter that a form asks for next."""
        for name, kind, about in parameter_rows(
            {"properties": {parameter.name: dict(parameter.schema)}}
        ):
            need = ", required" if parameter.required else ", optional: Enter leaves it out"
            self._row(name, kind, need, about, indent=2)

    def _row(self, name: str, kind: str, need: str, about: str, indent: int) -> None:
        parts = (foreign(name, "cyan"), "  ", foreign(kind), f"{need}  ", foreign(about, "dim"))
        self.write(Text.assemble(*parts), indent=indent)

    def form(self, tool: str) -> None:
        """Write the head of a form."""
        ways = f"{BACK} goes to the one before, {CANCEL} or Ctrl-C leaves"
        self.write(Text(f"Arguments of {tool}, one by one; {ways}.", "dim"))

    def called(self, call: Called, most: int = SHOWN_CHARS) -> None:
        """Write a call and its feedback; for a failed call, only the feedback is shown."""
        head = Text.assemble(
            foreign(call.raw.name, "cyan"), " ", foreign(call.raw.arguments, most=most)
        )
        self.write(head, indent=2)
        mark = Text("ok  ", "green") if call.error is None else Text("failed  ", "red")
        if call.error is not None and call.level is Level.DETAILED:
            mark = Text(f"failed, {call.error.value}  ", "red")
        self.write(Text.assemble(mark, foreign(call.feedback, most=most)), indent=2)

    def stand_in(self, tool: Tool, arguments: Mapping[str, JSON]) -> None:
        """Write a call that the player has to answer."""
        simulated = isinstance(tool.body, Simulated | RecordedTable)
        place = "this tool, which is simulated" if simulated else "the user, who is asked"
        text = json.dumps(dict(arguments), ensure_ascii=False)
        self.write(Text.assemble(foreign(tool.name, "cyan"), " ", foreign(text)), indent=2)
        self.write(Text(f"You answer in the place of {place}."), indent=2)
        if isinstance(tool.body, Simulated | RecordedTable):
            self.write(foreign(tool.body.instruction, "dim"), indent=2)

    def history(self, trace: Trace) -> None:
        """Write all turns so far."""
        for reply in trace.replies:
            self.write(Text(f"turn {reply.turn}", "bold"))
            for call in trace.calls:
                if call.turn == reply.turn:
                    self.called(call, HISTORY_CHARS)
        if not trace.replies:
            self.note("No turn has been taken yet.")

    def progress(self, now: EpisodeProgress, milestone: str | None, gold: str | None) -> None:
        """Write the agent's progress, with milestones if they have a name, and answers if `gold`
        is given.
        """
        if milestone and now.milestones:
            self.write(Text(f"{milestone}s reached: {now.reached} of {len(now.milestones)}"))
        self.write(Text(f"calls: {now.calls}, failed: {now.failed}; turn {now.place} is next"))
        if gold is None:
            return
        for one in now.milestones:
            line = Text.assemble("reached  " if one.reached else "open     ")
            line.append_text(foreign(one.label, "cyan"))
            if one.expected:
                line.append(" → ").append_text(foreign(one.expected))
            self.write(line, indent=2)
        self.write(Text.assemble("answer: ", foreign(gold, "green")))

    def help(self) -> None:
        """Write the syntax of calls, and the commands."""
        for line in _CALLS:
            self.write(Text(line))
        self.write()
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(style="cyan", overflow="fold")
        table.add_column(overflow="fold")
        for name, (argument, about) in COMMANDS.items():
            table.add_row(Text(f":{name} {argument}".rstrip()), Text(about))
        self.write(table)

    def end(
        self, benchmark: Benchmark, verdict: Verdict, ending: Ending | None, gold: str | None
    ) -> None:
        """Write the result."""
        self.write(Rule())
        self.write(Text(ENDINGS.get(ending, "The game is over.") if ending else "", "bold"))
        if isinstance(verdict, Errored):
            self.note(f"Not scored: {verdict.reason}")
            return
        for label, text in _result(benchmark, verdict):
            self.write(Text.assemble((f"{label:<{LABEL - 1}} ", "dim"), text))
        if gold is not None:
            self.write(Text.assemble((f"{'gold answer':<{LABEL}}", "dim"), foreign(gold, "green")))

    def left(self, resume: str) -> None:
        """Write the command that resumes an unfinished game."""
        self.write(Text.assemble((f"{'resume with':<{LABEL}}", "dim"), foreign(resume)))

    def saved(self, path: Path, branches: int) -> None:
        """Write the location of the trace."""
        self.write(Text.assemble((f"{'trace':<{LABEL}}", "dim"), foreign(str(path))))
        if branches > 1:
            others = "the branch" if branches == 2 else f"the {branches - 1} branches"
            self.write(Text(f"{'':<{LABEL}}({others} you went back from: beside it)", "dim"))


_HOW = {
    True: (
        ":tools shows what the tools take; a tool's name alone asks for its arguments.",
        ":check CALL says what is wrong with a call and takes no turn. :answer TEXT answers,",
        ":help tells more. On a terminal the Tab key completes.",
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


def _result(benchmark: Benchmark, score: Score) -> list[tuple[str, Text]]:
    """Return labelled rows: each scorer's verdict, other measures with a value, and conduct."""
    conduct, answers = score.conduct, benchmark.answer_measures
    failed = ", ".join(f"{code.value} {count}" for code, count in conduct.errors.items())
    known = [m for m in benchmark.measures if m.in_tables and m.of(score) is not None]
    others = [m for m in known if m not in answers and (not m.binary or m.holds(score))]
    calls = f"{conduct.calls}, {conduct.failed_calls} failed{f' ({failed})' if failed else ''}"
    return [
        *((measure.heading, _said(measure, score)) for measure in answers),
        *((measure.heading, Text(value_text(measure, score))) for measure in others),
        ("turns", Text(str(conduct.turns))),
        ("calls", Text(calls)),
    ]


def _said(measure: Measure, score: Score) -> Text:
    if not measure.binary or measure.of(score) is None:
        return Text(value_text(measure, score))
    if measure.holds(score):
        return Text("right", "green")
    return Text("wrong" if score.conduct.ending is Ending.ANSWERED else "no answer", "red")
