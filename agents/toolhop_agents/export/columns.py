"""The columns of the exported tables: name, type, meaning, unit and source of the value.

This one list serves the files, their metadata, the data set's card and the manual. A benchmark's
measures are columns in the benchmark's order; runs of several benchmarks have the columns of all.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from toolhop_agents.export.episodes import Exported
from toolhop_env.benchmark import Benchmark
from toolhop_env.measures import Measure, Unit
from toolhop_env.messages import AssistantMessage, Message, ToolMessage
from toolhop_env.score import Conduct, Parts
from toolhop_env.trace import Called
from toolhop_env.verdicts import Call, Rejected
from toolhop_sandbox.outcome import Raised, Returned

Row = TypeVar("Row")


class ColumnKind(StrEnum):
    """Types of columns; values of any type may be null."""

    TEXT = "text"
    TEXTS = "texts"
    """A list of strings."""
    BOOL = "bool"
    INT = "int"
    """64-bit integer."""
    FLOAT = "float"
    """64-bit float."""
    TIME = "time"
    """UTC timestamp in milliseconds."""
    MESSAGES = "messages"
    """A list of chat messages (`MESSAGE`)."""


MESSAGE = ("role", "content", "name", "call_id", "calls", "thoughts")
"""Fields of a message. Tool messages have `name` and `call_id`, assistant messages `calls` and
`thoughts`; `thoughts` is null if the provider returns none as text."""
CALL = ("id", "name", "arguments")
"""Fields of a call in a message, all strings."""


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column of a table."""

    name: str
    kind: ColumnKind
    about: str
    value: Callable[[Row], Any]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class OneCall:
    """A call, and the attempt in which it was made."""

    episode: Exported
    number: int
    """Number of the call within the attempt, from 1."""
    called: Called


def calls_of(one: Exported) -> Iterator[OneCall]:
    """Yield an attempt's rows for the table of calls."""
    for number, called in enumerate(one.trace.calls, start=1):
        yield OneCall(one, number, called)


def _conduct(get: Callable[[Conduct], object]) -> Callable[[Exported], object]:
    def value(one: Exported) -> object:
        score = one.attempt.score
        return None if score is None else get(score.conduct)

    return value


def _message(message: Message) -> dict[str, object]:
    tool = message if isinstance(message, ToolMessage) else None
    said = message if isinstance(message, AssistantMessage) else None
    calls = said.calls if said else ()
    thoughts = said.thoughts if said else None
    return {
        "role": message.role,
        "content": message.content,
        "name": tool.name if tool else None,
        "call_id": tool.call_id if tool else None,
        "calls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in calls],
        "thoughts": (thoughts.text or None) if thoughts else None,
    }


def _problems(row: OneCall) -> list[str]:
    verdict = row.called.verdict
    if isinstance(verdict, Call):
        return []
    return [f"{one.code.value}: {one.path}" if one.path else one.code for one in verdict.problems]


def _repair_steps(row: OneCall) -> list[str] | None:
    verdict = row.called.verdict
    if not isinstance(verdict, Rejected) or verdict.repair is None:
        return None
    return list(verdict.repair.steps)


_RUN = "the run: its folder's name, its path where names are shared"
T, B, I, F = ColumnKind.TEXT, ColumnKind.BOOL, ColumnKind.INT, ColumnKind.FLOAT  # noqa: E741 -- one letter keeps the table of columns below on one line a column

PLAYED: tuple[Column[Exported], ...] = (
    Column("run", T, _RUN, lambda p: p.run),
    Column("episode", T, "the attempt's name, unique in the run",
           lambda p: p.trace.started.episode),
    Column("item", T, "the item's id", lambda p: p.trace.started.item),
    Column("item_digest", T, "SHA-256 of the item", lambda p: p.trace.started.item_digest),
    Column("benchmark", T, "whose measures the scores are", lambda p: p.attempt.benchmark),
    Column("agent", T, "model or scripted agent", lambda p: p.trace.started.agent),
    Column("mode", T, "the benchmark's way to ask", lambda p: p.trace.started.mode),
    Column("call_format", T, "how calls are written", lambda p: p.trace.started.call_format.value),
    Column("feedback", T, "level of feedback at the start",
           lambda p: p.trace.started.feedback.value),
    Column("epoch", I, "from 1", lambda p: p.trace.started.epoch),
    Column("seed", I, "of the agent", lambda p: p.trace.started.seed),
    Column("attempt", I, "from 1", lambda p: p.trace.started.attempt),
    Column("counts", B, "the attempt that the run's figures count", lambda p: p.counts),
    Column("parent", T, "episode that it resumes; empty for none",
           lambda p: p.trace.started.parent),
    Column("prefix_turns", I, "turns taken over from it", lambda p: p.trace.started.prefix_turns),
    Column("started_at", ColumnKind.TIME, "when it began",
           lambda p: datetime.fromisoformat(p.trace.started.at)),
    Column("question", T, "the item's question", lambda p: p.trace.started.question),
    Column("answer", T, "gold answer; empty where the benchmark has none in one text",
           lambda p: p.benchmark.presentation.expected(p.trace.started.gold)),
    Column("tools", ColumnKind.TEXTS, "names of the tools on offer",
           lambda p: list(p.trace.started.tools)),
    Column("messages", ColumnKind.MESSAGES, "the whole conversation",
           lambda p: [_message(message) for message in p.trace.conversation()]),
    Column("final_text", T, "the answer as written; null where there is none",
           lambda p: p.trace.final_text),
    Column("ending", T, "why it ended; null where it was cut off",
           lambda p: p.trace.ended.ending.value if p.trace.ended else None),
    Column("judge", T, "who answered the benchmark's questions; empty for nobody",
           lambda p: p.attempt.judge),
    Column("errored", T, "why it cannot be judged; null where it can",
           lambda p: p.attempt.errored or None),
)  # fmt: skip
"""Columns that identify an attempt, for any benchmark."""

CONDUCT: tuple[Column[Exported], ...] = (
    Column("turns", I, "replies", _conduct(lambda s: s.turns)),
    Column("calls", I, "tool calls", _conduct(lambda s: s.calls)),
    Column("failed_calls", I, "of these, the failed ones", _conduct(lambda s: s.failed_calls)),
    Column("repairable", I, "of these, rejected ones that a lenient parser would have run",
           _conduct(lambda s: s.repairable)),
    Column("repeated_failures", I, "of the failed ones, those of which an equal one failed before",
           _conduct(lambda s: s.repeated_failures)),
    Column("divergence", T, "the first divergence from the item's chain; null for none",
           _conduct(lambda s: next(iter(s.divergences), None))),
    Column("input_tokens", I, "sent to the model", _conduct(lambda s: s.input_tokens), "tokens"),
    Column("output_tokens", I, "got from it", _conduct(lambda s: s.output_tokens), "tokens"),
    Column("cost_usd", F, "null where a price is not known", _conduct(lambda s: s.cost_usd),
           "US dollars"),
    Column("wall_s", F, "from start to end", _conduct(lambda s: s.wall_s), "seconds"),
    Column("tool_s", F, "of these, in tools", _conduct(lambda s: s.tool_s), "seconds"),
    Column("retries", I, "requests sent again", _conduct(lambda s: s.retries)),
)  # fmt: skip
"""Columns on turns, calls and costs, for any benchmark."""

CALLS: tuple[Column[OneCall], ...] = (
    Column("run", T, _RUN, lambda c: c.episode.run),
    Column("episode", T, "the attempt's name", lambda c: c.episode.trace.started.episode),
    Column("item", T, "the item's id", lambda c: c.episode.trace.started.item),
    Column("agent", T, "model or scripted agent", lambda c: c.episode.trace.started.agent),
    Column("mode", T, "the benchmark's way to ask", lambda c: c.episode.trace.started.mode),
    Column("counts", B, "made in an attempt that counts", lambda c: c.episode.counts),
    Column("turn", I, "from 1", lambda c: c.called.turn),
    Column("call", I, "from 1, within the attempt", lambda c: c.number),
    Column("call_id", T, "as the provider gave it", lambda c: c.called.raw.id),
    Column("tool", T, "the name called", lambda c: c.called.raw.name),
    Column("arguments", T, "their text as written", lambda c: c.called.raw.arguments),
    Column("read", T, "the arguments as read, JSON; null where rejected",
           lambda c: json.dumps(c.called.verdict.arguments, ensure_ascii=False)
           if isinstance(c.called.verdict, Call) else None),
    Column("hop", I, "hop whose tool this is, from 1; null for none",
           lambda c: None if c.called.hop is None else c.called.hop + 1),
    Column("action", T, "the episode's action that it is, no call of a tool; null for none",
           lambda c: c.called.action),
    Column("level", T, "how much feedback tells", lambda c: c.called.level.value),
    Column("ok", B, "the call succeeded", lambda c: c.called.error is None),
    Column("error", T, "error code; null where it succeeded",
           lambda c: c.called.error.value if c.called.error else None),
    Column("problems", ColumnKind.TEXTS, "of a rejected call: code and argument", _problems),
    Column("repair", ColumnKind.TEXTS,
           "what a lenient parser would have done; null where nothing helps",
           _repair_steps),
    Column("outcome", T, "what came of running; null where nothing ran",
           lambda c: c.called.outcome.kind if c.called.outcome else None),
    Column("result", T, "what the tool returned, JSON",
           lambda c: c.called.outcome.json_text
           if isinstance(c.called.outcome, Returned) else None),
    Column("raised", T, "name of the exception raised",
           lambda c: c.called.outcome.error if isinstance(c.called.outcome, Raised) else None),
    Column("feedback", T, "the text that the agent got", lambda c: c.called.feedback),
    Column("wall_s", F, "in the sandbox", lambda c: c.called.wall_s, "seconds"),
)  # fmt: skip
"""Columns of the table of calls, which has a row per call, rejected ones included."""


def episode_columns(benchmarks: Iterable[Benchmark]) -> tuple[Column[Exported], ...]:
    """Return the columns of the table of attempts; scores are null for errored attempts.

    Args:
        benchmarks: benchmarks of the episodes; the table has the measures of all of them.
    """
    return (*PLAYED, *_measures(benchmarks), *CONDUCT)


def _measures(benchmarks: Iterable[Benchmark]) -> Iterator[Column[Exported]]:
    """Yield a column for each measure name, or two if the measure is not yes or no."""
    found: dict[str, list[tuple[Benchmark, Measure]]] = defaultdict(list)
    for benchmark in benchmarks:
        for measure in (one for one in benchmark.measures if not one.mean_of):
            found[measure.name].append((benchmark, measure))
    taken = {column.name for column in (*PLAYED, *CONDUCT)}
    for name, these in found.items():
        title, about = f"measure_{name}" if name in taken else name, _about(these)
        if all(measure.binary for _, measure in these):
            yield Column(title, B, about, _part(name, lambda parts: parts[0] > 0))
            continue
        unit = {m.unit for _, m in these} - {Unit.SHARE}
        yield Column(title, F, about, _part(name, lambda parts: parts[0]), ", ".join(sorted(unit)))
        yield Column(f"{title}_of", F, f"what `{title}` is out of", _part(name, lambda p: p[1]))


def _about(these: Sequence[tuple[Benchmark, Measure]]) -> str:
    """Describe the measures of one name, by benchmark if their descriptions differ."""
    said = {benchmark.title: measure.says.rstrip(".") for benchmark, measure in these}
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{title}: {says}" for title, says in said.items())


def _part(name: str, read: Callable[[Parts], object]) -> Callable[[Exported], object]:
    def value(one: Exported) -> object:
        score = one.attempt.score
        measure = next((m for m in one.benchmark.measures if m.name == name), None)
        parts = measure.of(score) if measure and score else None
        return None if parts is None else read(parts)

    return value


def row(columns: Sequence[Column[Row]], one: Row) -> dict[str, Any]:
    """Return a row's values by column name."""
    return {column.name: column.value(one) for column in columns}
