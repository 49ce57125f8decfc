"""The complete record of an episode, as an append-only list of events.

A trace is enough to score the episode again, to rebuild the conversation, to run its calls again
and to continue from any point, without calling an agent or reading the data set. Its file has one
JSON object per line; the first is `started`, and the episode is finished if the last is `ended`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from toolhop_env import formats
from toolhop_env.levels import Verbosity
from toolhop_env.messages import (
    Amount,
    AssistantMessage,
    Count,
    Message,
    RawCall,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolhop_env.reading import CallFormat, thoughts_forgotten
from toolhop_env.trace_formats import STEPS
from toolhop_env.verdicts import Call, ErrorCode, Rejected
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_tools.errors import why
from toolhop_tools.model import EpisodeAction
from toolhop_tools.notebook_table import table

FORMAT = len(STEPS) + 1
"""Version of the trace file format. Readers upgrade older traces and reject newer ones."""


class Ending(StrEnum):
    """Why an episode ended."""

    ANSWERED = "answered"
    """The agent replied without a call, or called the finish action."""
    MALFORMED_CALL = "malformed_call"
    """The last reply has a malformed call (`toolhop_env.malformed`). It is not an answer,
    although the published evaluators take it for one."""
    CUT_IN_THOUGHT = "cut_in_thought"
    """The last reply reached its token limit before the model said anything but thoughts."""
    GAVE_UP = "gave_up"
    """The agent called the give-up action."""
    OUT_OF_TURNS = "out_of_turns"
    OUT_OF_CALLS = "out_of_calls"
    OUT_OF_TOKENS = "out_of_tokens"
    OUT_OF_TIME = "out_of_time"
    OUT_OF_COST = "out_of_cost"
    OUT_OF_CONTEXT = "out_of_context"
    """The conversation no longer fits the model's context."""
    STOPPED = "stopped"
    """The code that drives the episode ended it."""
    ERRORED = "errored"
    """The episode failed through our fault: it is not scored, and may be played again."""


class ResultOrigin(StrEnum):
    """Origin of a result that no program returned.

    The first six are for recorded and described tools (`toolhop_tools.model.Body`), the others for
    questions to the user.
    """

    RECORDED = "recorded"
    """Recorded for these arguments."""
    EARLIER = "earlier"
    """Made up by a model for the same call, earlier in the run."""
    SIMULATED = "simulated"
    """Made up by a model."""
    TEMPLATE = "template"
    """Made up in the form of the tool's results."""
    DEFAULT = "default"
    """The tool's default result for any other arguments."""
    FILE = "file"
    """Taken from the file of answers being replayed."""
    RULE = "rule"
    """The user simulator's rule, in its own words (`toolhop_env.user`)."""
    WORDED = "worded"
    """The user simulator's rule, reworded by a model."""


@dataclass(frozen=True, slots=True)
class Injection:
    """An instruction injected into a result: to call a tool with a marker as an argument."""

    tool: str
    argument: str
    marker: str
    """Text that occurs nowhere else in the episode."""


@dataclass(frozen=True, slots=True)
class Results:
    """Treatment of successful results before the agent reads them (`toolhop_env.results`)."""

    padded_tokens: Count = 0
    """Approximate length of the text added to each result, in tokens."""
    injection: Injection | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The first event."""

    episode: str
    """Name of the episode, unique in the run."""
    item: str
    item_digest: str
    question: str
    gold: JSON
    """What the benchmark's scorer needs from the item, in the benchmark's own form. Stored in the
    trace; neither the agent nor the sandbox sees it."""
    agent: str
    mode: str
    call_format: CallFormat
    feedback: Verbosity
    epoch: Count
    seed: int
    messages: tuple[SystemMessage | UserMessage, ...]
    """The prompt."""
    tools: tuple[str, ...]
    """Names of the tools on offer in the first turn."""
    at: str
    """UTC time in ISO 8601."""
    attempt: Count = 1
    parent: str = ""
    """Episode whose first turns this one adopted (`Episode`, `resume_from`); empty if none."""
    prefix_turns: Count = 0
    """Number of turns that were played in `parent`. They are recorded here unchanged except for the
    feedback level: a branch of an ablation shows their feedback at its own level
    (`toolhop_env.fork`)."""
    perturbation: str = "as-is"
    """How the item's tools were altered (`toolhop_tools.perturb`)."""
    benchmark: str = "toolhop"
    """Benchmark whose scorer the gold is for."""
    answer_malformed: bool = False
    """Whether a malformed call gets feedback instead of ending the episode."""
    single_shot: bool = False
    """Whether each action ends the episode, unanswered, as in RelyToolBench's released runs."""
    tool_chars: Count = 0
    """Minimum number of characters of the tools' schemas in any form that a model may see
    (`toolhop_env.offered`); 0 if no schemas are sent with the messages, and in older traces."""
    results: Results = Results()
    format: int = FORMAT
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class Replied:
    """An agent's turn, as received."""

    turn: Count
    reply: Reply
    kind: Literal["replied"] = "replied"


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a turn: as written, as read, as run, as answered."""

    turn: Count
    raw: RawCall
    verdict: Annotated[Call | Rejected, Field(union_mode="left_to_right")]
    outcome: Annotated[Outcome, Field(discriminator="kind")] | None
    """Outcome of the call; None if it was rejected, unless a replayed file of answers has a
    response to it."""
    level: Verbosity
    feedback: str
    error: ErrorCode | None
    hop: Count | None
    """Index, from 0, of the first hop with this tool; None if no hop uses it."""
    wall_s: Amount
    """Seconds until the call was answered; 0 if nothing ran."""
    action: EpisodeAction | None = None
    """The action on the episode, if the tool is one; else None."""
    origin: ResultOrigin | None = None
    """Origin of the result of a recorded or described tool, or of the user simulator; None for
    other tools, if someone else answers for the user, and if the call was rejected."""
    kind: Literal["called"] = "called"

    @property
    def ends(self) -> Ending | None:
        """The ending, if the call is an action that ends the episode; else None."""
        match self.action:
            case EpisodeAction.FINISH:
                return Ending.ANSWERED
            case EpisodeAction.GIVE_UP:
                return Ending.GAVE_UP
            case _:
                return None


@dataclass(frozen=True, slots=True)
class FeedbackSet:
    """The feedback level changes from here on."""

    level: Verbosity
    kind: Literal["feedback_set"] = "feedback_set"


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """The tools on offer change from the next turn on."""

    tools: tuple[str, ...]
    """Names of all tools on offer, in the order shown."""
    kind: Literal["tools_changed"] = "tools_changed"


@dataclass(frozen=True, slots=True)
class Ended:
    """The last event."""

    ending: Ending
    wall_s: Amount
    """Seconds from start to end."""
    reason: str = ""
    """What failed, for an errored episode; how the call is written, for a malformed one."""
    kind: Literal["ended"] = "ended"


Event: TypeAlias = Started | Replied | Called | FeedbackSet | ToolsChanged | Ended
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


class TraceError(Exception):
    """A trace cannot be read; the message gives the line and the fault."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Events in order. Immutable: adding an event makes a new trace."""

    events: tuple[Event, ...] = field(default=())

    def __repr__(self) -> str:
        """Return the item, the agent and the outcome; `events` has everything."""
        return f"<Trace {', '.join(f'{name} {value}' for name, value in self._shown)}>"

    def _repr_html_(self) -> str:
        return table("Trace", self._shown)

    @property
    def _shown(self) -> list[tuple[str, object]]:
        if not self.events:
            return [("events", 0)]
        ending = self.ended.ending.value if self.ended else "not ended"
        return [
            ("item", self.started.item), ("agent", self.started.agent),
            ("turns", len(self.replies)), ("calls", len(self.calls)), ("ending", ending),
        ]  # fmt: skip

    @property
    def started(self) -> Started:
        """The first event.

        Raises:
            TraceError: the trace is empty.
        """
        if not self.events or not isinstance(self.events[0], Started):
            raise TraceError("the trace does not begin with `started`")
        return self.events[0]

    @property
    def ended(self) -> Ended | None:
        """The last event of a finished episode; None if it has not ended."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, Ended) else None

    @property
    def calls(self) -> tuple[Called, ...]:
        """All calls in order, including actions on the episode."""
        return tuple(event for event in self.events if isinstance(event, Called))

    @property
    def tool_calls(self) -> tuple[Called, ...]:
        """All tool calls in order, without actions on the episode."""
        return tuple(call for call in self.calls if call.action is None)

    @property
    def replies(self) -> tuple[Replied, ...]:
        """All turns in order."""
        return tuple(event for event in self.events if isinstance(event, Replied))

    @property
    def level(self) -> Verbosity:
        """The feedback level after the last event."""
        changes = [event.level for event in self.events if isinstance(event, FeedbackSet)]
        return changes[-1] if changes else self.started.feedback

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools on offer after the last event."""
        changes = [event.tools for event in self.events if isinstance(event, ToolsChanged)]
        return changes[-1] if changes else self.started.tools

    @property
    def final_text(self) -> str | None:
        """The reply or finish action that ended an answered episode; None for other endings."""
        ended = self.ended
        if ended is None or ended.ending is not Ending.ANSWERED or not self.replies:
            return None
        last = self.events[-2]
        if isinstance(last, Called) and isinstance(last.verdict, Call):
            given = last.verdict.arguments
            return str(given.get("answer", given.get("final_answer", "")))
        return self.replies[-1].reply.content

    @property
    def lacks_thoughts(self) -> bool:
        """Whether thoughts were not stored, so that a model could not continue unaffected."""
        return any(event.reply.thoughts and event.reply.thoughts.digest for event in self.replies)

    def after(self, *events: Event) -> Trace:
        """Return a trace with `events` added."""
        return Trace((*self.events, *events))

    def before_turn(self, turn: int) -> Trace:
        """Return the trace as it was before `turn` (from 1).

        The number of turns plus one removes only the end. The result has not ended; `Episode(...,
        resume_from=...)` continues from it.

        Raises:
            ValueError: the trace does not reach that turn.
        """
        taken = len(self.replies)
        if not 1 <= turn <= taken + 1:
            raise ValueError(f"turn is {turn}; it must be from 1 to {taken + 1}")
        ends = (n for n, event in enumerate(self.events) if _begins(event, turn))
        return Trace(self.events[: next(ends, None)])

    def conversation(self) -> tuple[Message, ...]:
        """Return the messages so far, as the agent will see them next."""
        form = self.started.call_format
        return tuple(message for event in self.events for message in messages_of(event, form))


def without_thoughts(event: Event) -> Event:
    """Return the event with a digest in place of thoughts."""
    if not isinstance(event, Replied):
        return event
    return replace(event, reply=thoughts_forgotten(event.reply))


def messages_of(event: Event, call_format: CallFormat) -> tuple[Message, ...]:
    """Return the messages that an event adds to a conversation in `call_format`."""
    match event:
        case Started():
            return event.messages
        case Replied():
            reply = event.reply
            return (AssistantMessage(reply.content, reply.calls, reply.thoughts),)
        case Called():
            if event.error is ErrorCode.MALFORMED_CALL and call_format is CallFormat.NATIVE:
                # There is no native call whose id a tool message could refer to.
                return (UserMessage(event.feedback),)
            return (ToolMessage(event.raw.id, event.raw.name, event.feedback),)
        case _:
            return ()


def _begins(event: Event, turn: int) -> bool:
    """Whether an event begins `turn` or a later turn, or ends the episode."""
    return isinstance(event, Ended) or (isinstance(event, Replied) and event.turn >= turn)


def to_line(event: Event) -> bytes:
    """Return an event as a line of a trace file."""
    return EVENT.dump_json(event) + b"\n"


def from_lines(lines: Iterable[bytes]) -> Trace:
    """Parse a trace file's lines, in any format so far. A truncated last line is ignored.

    Raises:
        TraceError: another line is not an event, or the format is newer.
    """
    found: list[Event] = []
    version = FORMAT
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    for number, line in numbered:
        if not found:
            version = _format(line)
        try:
            found.append(
                EVENT.validate_json(line if version == FORMAT else _upgraded(line, version))
            )
        except (ValueError, RecursionError) as error:
            if number == numbered[-1][0] and not line.endswith(b"\n"):
                break
            raise TraceError(
                f"line {number} is not an event of format {version}: {why(error)}"
            ) from error
        if not isinstance(found[0], Started):
            raise TraceError(f"line {number} is `{found[0].kind}`; a trace begins with `started`")
    return Trace(tuple(found))


def _format(line: bytes) -> int:
    """Return the format stated in the first line. Raises TraceError: it is newer."""
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return FORMAT
    found = first.get("format", FORMAT) if isinstance(first, dict) else FORMAT
    try:
        return formats.checked(found, STEPS, "trace")
    except formats.FormatError as error:
        raise TraceError(str(error)) from error


def _upgraded(line: bytes, version: int) -> bytes:
    """Upgrade a line to the current format. Raises ValueError: it is not a JSON object."""
    event = json.loads(line)
    if not isinstance(event, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 -- reported as every other bad line
    return json.dumps(formats.upgraded(event, version, STEPS)).encode()
