"""The columns of the exported tables: name, type, meaning, unit, and where the value comes from.

One list for the files, their metadata, the data set's card and docs/export.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from agents.export.played import Played
from env.messages import AssistantMessage, Message, ToolMessage
from env.score import Score
from env.trace import Called
from env.verdicts import Call, Rejected
from sandbox.outcome import Raised, Returned

Row = TypeVar("Row")


class Kind(StrEnum):
    """Types of columns; any of them may be null."""

    TEXT = "text"
    TEXTS = "texts"
    """A list of texts."""
    BOOL = "bool"
    INT = "int"
    """64 bits."""
    FLOAT = "float"
    """64 bits."""
    TIME = "time"
    """Milliseconds, UTC."""
    MESSAGES = "messages"
    """A list of chat messages (`MESSAGE`)."""


MESSAGE = ("role", "content", "name", "call_id", "calls")
"""Fields of a message: `name` and `call_id` are a tool message's, `calls` an assistant's."""
CALL = ("id", "name", "arguments")
"""Fields of a call in a message, all text."""


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column of a table."""

    name: str
    kind: Kind
    about: str
    value: Callable[[Row], Any]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class OneCall:
    """A call and the attempt that it was made in."""

    played: Played
    number: int
    """From 1, within the attempt."""
    called: Called


def calls_of(one: Played) -> Iterator[OneCall]:
    """The rows of the table of calls that an attempt makes."""
    for number, called in enumerate(one.trace.calls, start=1):
        yield OneCall(one, number, called)


def _scored(get: Callable[[Score], object]) -> Callable[[Played], object]:
    return lambda one: None if one.score is None else get(one.score)


def _ending(one: Played) -> str | None:
    ended = one.trace.ended
    return ended.ending.value if ended else None


def _messages(one: Played) -> list[dict[str, object]]:
    return [_message(message) for message in one.trace.conversation()]


def _message(message: Message) -> dict[str, object]:
    tool = message if isinstance(message, ToolMessage) else None
    calls = message.calls if isinstance(message, AssistantMessage) else ()
    return {
        "role": message.role,
        "content": message.content,
        "name": tool.name if tool else None,
        "call_id": tool.call_id if tool else None,
        "calls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in calls],
    }


def _hop(row: OneCall) -> int | None:
    return None if row.called.hop is None else row.called.hop + 1


def _problems(row: OneCall) -> list[str]:
    verdict = row.called.verdict
    if isinstance(verdict, Call):
        return []
    return [f"{one.code.value}: {one.path}" if one.path else one.code for one in verdict.problems]


def _read(row: OneCall) -> str | None:
    verdict = row.called.verdict
    return json.dumps(verdict.arguments, ensure_ascii=False) if isinstance(verdict, Call) else None


def _repair_steps(row: OneCall) -> list[str] | None:
    verdict = row.called.verdict
    if not isinstance(verdict, Rejected) or verdict.repair is None:
        return None
    return list(verdict.repair.steps)


def _result(row: OneCall) -> str | None:
    outcome = row.called.outcome
    return outcome.json_text if isinstance(outcome, Returned) else None


def _raised(row: OneCall) -> str | None:
    outcome = row.called.outcome
    return outcome.error if isinstance(outcome, Raised) else None


_RUN = "the run: its folder's name, its path where names are shared"
T, B, I, F = Kind.TEXT, Kind.BOOL, Kind.INT, Kind.FLOAT  # noqa: E741 -- one letter keeps the table of columns below on one line a column

EPISODES: tuple[Column[Played], ...] = (
    Column("run", T, _RUN, lambda p: p.run),
    Column("episode", T, "the attempt's name, unique in the run",
           lambda p: p.trace.started.episode),
    Column("item", T, "the item's id", lambda p: p.trace.started.item),
    Column("item_digest", T, "SHA-256 of the item", lambda p: p.trace.started.item_digest),
    Column("player", T, "model or scripted player", lambda p: p.trace.started.player),
    Column("mode", T, "mandatory, free or direct", lambda p: p.trace.started.mode),
    Column("dialect", T, "how calls are written", lambda p: p.trace.started.dialect.value),
    Column("feedback", T, "level of feedback at the start",
           lambda p: p.trace.started.feedback.value),
    Column("epoch", I, "from 1", lambda p: p.trace.started.epoch),
    Column("seed", I, "of the player", lambda p: p.trace.started.seed),
    Column("attempt", I, "from 1", lambda p: p.trace.started.attempt),
    Column("counts", B, "the attempt that the run's figures count", lambda p: p.counts),
    Column("parent", T, "episode that it goes on from; empty for none",
           lambda p: p.trace.started.parent),
    Column("kept_turns", I, "turns taken over from it", lambda p: p.trace.started.kept_turns),
    Column("started_at", Kind.TIME, "when it began",
           lambda p: datetime.fromisoformat(p.trace.started.at)),
    Column("question", T, "the item's question", lambda p: p.trace.started.question),
    Column("answer", T, "gold answer", lambda p: p.trace.started.answer),
    Column("tools", Kind.TEXTS, "names of the tools on offer",
           lambda p: list(p.trace.started.tools)),
    Column("messages", Kind.MESSAGES, "the whole conversation", _messages),
    Column("final_text", T, "the answer as written; null where there is none",
           lambda p: p.trace.final_text),
    Column("ending", T, "why it ended; null where it was cut off", _ending),
    Column("void", T, "why it cannot be judged; null where it can", lambda p: p.void or None),
    Column("official", B, "ToolHop's answer rule; null where it is unset",
           _scored(lambda s: s.official)),
    Column("strict", B, "the strict answer rule", _scored(lambda s: s.strict)),
    Column("in_last_feedback", B, "the gold was in the last tool result",
           _scored(lambda s: s.in_last_feedback)),
    Column("turns", I, "replies", _scored(lambda s: s.turns)),
    Column("calls", I, "tool calls", _scored(lambda s: s.calls)),
    Column("failed_calls", I, "of these, the failed ones", _scored(lambda s: s.failed_calls)),
    Column("repairable", I, "of these, rejected ones that a lenient reader would have run",
           _scored(lambda s: s.repairable)),
    Column("hops", I, "hops of the item", _scored(lambda s: s.hops)),
    Column("hops_solved", I, "hops whose tool returned the hop's answer",
           _scored(lambda s: s.hops_solved)),
    Column("chain", I, "hops solved from the first on without a gap", _scored(lambda s: s.chain)),
    Column("input_tokens", I, "sent to the model", _scored(lambda s: s.input_tokens), "tokens"),
    Column("output_tokens", I, "got from it", _scored(lambda s: s.output_tokens), "tokens"),
    Column("cost_usd", F, "null where a price is not known", _scored(lambda s: s.cost_usd),
           "US dollars"),
    Column("wall_s", F, "from start to end", _scored(lambda s: s.wall_s), "seconds"),
    Column("tool_s", F, "of these, in tools", _scored(lambda s: s.tool_s), "seconds"),
    Column("retries", I, "requests sent again", _scored(lambda s: s.retries)),
)  # fmt: skip
"""A row an attempt. Columns from `official` on are null for void attempts."""

CALLS: tuple[Column[OneCall], ...] = (
    Column("run", T, _RUN, lambda c: c.played.run),
    Column("episode", T, "the attempt's name", lambda c: c.played.trace.started.episode),
    Column("item", T, "the item's id", lambda c: c.played.trace.started.item),
    Column("player", T, "model or scripted player", lambda c: c.played.trace.started.player),
    Column("mode", T, "mandatory, free or direct", lambda c: c.played.trace.started.mode),
    Column("counts", B, "made in an attempt that counts", lambda c: c.played.counts),
    Column("turn", I, "from 1", lambda c: c.called.turn),
    Column("call", I, "from 1, within the attempt", lambda c: c.number),
    Column("call_id", T, "as the provider gave it", lambda c: c.called.raw.id),
    Column("tool", T, "the name called", lambda c: c.called.raw.name),
    Column("arguments", T, "their text as written", lambda c: c.called.raw.arguments),
    Column("read", T, "the arguments as read, JSON; null where rejected", _read),
    Column("hop", I, "hop whose tool this is, from 1; null for none", _hop),
    Column("level", T, "how much feedback tells", lambda c: c.called.level.value),
    Column("ok", B, "the call succeeded", lambda c: c.called.error is None),
    Column("error", T, "error code; null where it succeeded",
           lambda c: c.called.error.value if c.called.error else None),
    Column("problems", Kind.TEXTS, "of a rejected call: code and argument", _problems),
    Column("repair", Kind.TEXTS, "what a lenient reader would have done; null where nothing helps",
           _repair_steps),
    Column("outcome", T, "what came of running; null where nothing ran",
           lambda c: c.called.outcome.kind if c.called.outcome else None),
    Column("result", T, "what the tool returned, JSON", _result),
    Column("raised", T, "name of the exception raised", _raised),
    Column("feedback", T, "the text that the player got", lambda c: c.called.feedback),
    Column("wall_s", F, "in the sandbox", lambda c: c.called.wall_s, "seconds"),
)  # fmt: skip
"""A row a call, rejected ones included."""


def row(columns: tuple[Column[Row], ...], one: Row) -> dict[str, Any]:
    """A row's values by column."""
    return {column.name: column.value(one) for column in columns}
