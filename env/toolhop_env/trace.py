"""Everything that happened in an episode, as an append-only list of events.

A trace is enough to score the episode again, to rebuild the conversation, to run its calls again
and to go on from any point, without asking an agent or reading the data set. Its file has one
JSON object a line; the first is `started`, and the episode is finished where the last is `ended`.
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
"""Version of the trace file. Readers upgrade older ones and refuse newer ones."""


class Ending(StrEnum):
    """Why an episode ended. An answer is one thing, running out is another."""

    ANSWERED = "answered"
    """The agent replied without a call, or finished by an action."""
    MALFORMED_CALL = "malformed_call"
    """The last reply holds a call in a form that is not read (`toolhop_env.malformed`): no answer,
    though the published evaluators take it for one."""
    CUT_IN_THOUGHT = "cut_in_thought"
    """The last reply reached the limit of its tokens while the model thought: it said nothing."""
    GAVE_UP = "gave_up"
    """The agent gave up by an action."""
    OUT_OF_TURNS = "out_of_turns"
    OUT_OF_CALLS = "out_of_calls"
    OUT_OF_TOKENS = "out_of_tokens"
    OUT_OF_TIME = "out_of_time"
    OUT_OF_COST = "out_of_cost"
    OUT_OF_CONTEXT = "out_of_context"
    """The conversation no longer fits the model."""
    STOPPED = "stopped"
    """Whoever drives the episode ended it."""
    ERRORED = "errored"
    """A fault of ours: not scored, may be played again."""


class ResultOrigin(StrEnum):
    """Where a result came from that no program gave.

    The first six are of recorded and described tools (`toolhop_tools.model.Body`), the others of
    questions to the user.
    """

    RECORDED = "recorded"
    """It was recorded for these arguments."""
    EARLIER = "earlier"
    """A model made it up for the same call, earlier in the run."""
    SIMULATED = "simulated"
    """A model made it up."""
    TEMPLATE = "template"
    """It is made up in the form of the tool's results."""
    DEFAULT = "default"
    """What the tool gives for any other arguments."""
    FILE = "file"
    """It stands in the file of answers that is played."""
    RULE = "rule"
    """The user simulator's rule says so, in its own words (`toolhop_env.user`)."""
    WORDED = "worded"
    """The rule says so, and a model put it in other words."""


@dataclass(frozen=True, slots=True)
class Started:
    """The first event."""

    episode: str
    """Unique in the run."""
    item: str
    item_digest: str
    question: str
    gold: JSON
    """What the benchmark's scorer needs of the item, in the benchmark's own form. It is in the
    trace; neither an agent nor the sandbox sees it."""
    agent: str
    mode: str
    call_format: CallFormat
    feedback: Verbosity
    epoch: Count
    seed: int
    messages: tuple[SystemMessage | UserMessage, ...]
    """The prompt."""
    tools: tuple[str, ...]
    """Names of the tools on offer at first."""
    at: str
    """UTC time, ISO 8601."""
    attempt: Count = 1
    parent: str = ""
    """The episode whose first turns were kept (`Episode`, `resume_from`); empty for none."""
    prefix_turns: Count = 0
    """Turns that were played in `parent`. They stand here as they were, but for the feedback level:
    the branch of an ablation has the feedback to them in its own (`toolhop_env.fork`)."""
    perturbation: str = "as-is"
    """How the item's tools were shown (`toolhop_tools.perturb`)."""
    benchmark: str = "toolhop"
    """Whose scorer the gold is for."""
    answer_malformed: bool = False
    """A malformed call gets feedback, and the episode goes on."""
    single_shot: bool = False
    """Each action ends the episode, as in RelyToolBench's released runs: nobody answers it."""
    tool_chars: Count = 0
    """Characters that the tools' schemas come to at least, in whatever form a model is shown them
    (`toolhop_env.offered`); 0 where none go beside the messages, and in older traces."""
    format: int = FORMAT
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class Replied:
    """An agent's turn, as it came."""

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
    """None for a rejected call, unless a file of answers holds a response to it."""
    level: Verbosity
    feedback: str
    error: ErrorCode | None
    hop: Count | None
    """Index (from 0) of the hop whose tool this is; the first, if several have the tool."""
    wall_s: Amount
    """Seconds until it was answered; 0 where nothing ran."""
    action: EpisodeAction | None = None
    """Where the tool is an action of the episode itself: which."""
    origin: ResultOrigin | None = None
    """Of a recorded or described tool's result, and of the user simulator's; None for other tools,
    where somebody else answers for the user, and where the call was rejected."""
    kind: Literal["called"] = "called"

    @property
    def ends(self) -> Ending | None:
        """How the call ends the episode, where it is an action that does."""
        match self.action:
            case EpisodeAction.FINISH:
                return Ending.ANSWERED
            case EpisodeAction.GIVE_UP:
                return Ending.GAVE_UP
            case _:
                return None


@dataclass(frozen=True, slots=True)
class FeedbackSet:
    """The feedback level was changed from here on."""

    level: Verbosity
    kind: Literal["feedback_set"] = "feedback_set"


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """Other tools are on offer from the next turn on."""

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
    """For an errored episode: what broke; for a malformed call: how it is written."""
    kind: Literal["ended"] = "ended"


Event: TypeAlias = Started | Replied | Called | FeedbackSet | ToolsChanged | Ended
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


class TraceError(Exception):
    """A trace that cannot be read: says the line and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Events in order. Values only: adding one makes a new trace."""

    events: tuple[Event, ...] = field(default=())

    def __repr__(self) -> str:
        """What was played and how it ended; `events` has all of it."""
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
            TraceError: the trace has not begun.
        """
        if not self.events or not isinstance(self.events[0], Started):
            raise TraceError("the trace does not begin with `started`")
        return self.events[0]

    @property
    def ended(self) -> Ended | None:
        """The last event of a finished episode, else None."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, Ended) else None

    @property
    def calls(self) -> tuple[Called, ...]:
        """All calls in order, those of the episode's own actions included."""
        return tuple(event for event in self.events if isinstance(event, Called))

    @property
    def tool_calls(self) -> tuple[Called, ...]:
        """The calls of tools in order: an action of the episode itself is none."""
        return tuple(call for call in self.calls if call.action is None)

    @property
    def replies(self) -> tuple[Replied, ...]:
        """All turns in order."""
        return tuple(event for event in self.events if isinstance(event, Replied))

    @property
    def level(self) -> Verbosity:
        """The feedback level in force after the last event."""
        changes = [event.level for event in self.events if isinstance(event, FeedbackSet)]
        return changes[-1] if changes else self.started.feedback

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools on offer after the last event."""
        changes = [event.tools for event in self.events if isinstance(event, ToolsChanged)]
        return changes[-1] if changes else self.started.tools

    @property
    def final_text(self) -> str | None:
        """What ended an answered episode, else None: a reply, or the answer of a finish action."""
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
        """Whether thoughts were not kept: a model cannot go on from here as it would have."""
        return any(event.reply.thoughts and event.reply.thoughts.digest for event in self.replies)

    def after(self, *events: Event) -> Trace:
        """A trace with `events` added."""
        return Trace((*self.events, *events))

    def before_turn(self, turn: int) -> Trace:
        """The trace as it was when `turn` (from 1) was about to be taken.

        One more than the turns that were taken removes the end and nothing else. The result has
        not ended: `Episode(..., resume_from=...)` goes on from it.

        Raises:
            ValueError: no such turn was reached.
        """
        taken = len(self.replies)
        if not 1 <= turn <= taken + 1:
            raise ValueError(f"turn is {turn}; it must be from 1 to {taken + 1}")
        ends = (n for n, event in enumerate(self.events) if _begins(event, turn))
        return Trace(self.events[: next(ends, None)])

    def conversation(self) -> tuple[Message, ...]:
        """The messages so far, as the agent is shown them next."""
        form = self.started.call_format
        return tuple(message for event in self.events for message in messages_of(event, form))


def without_thoughts(event: Event) -> Event:
    """The event with a digest in place of thoughts."""
    if not isinstance(event, Replied):
        return event
    return replace(event, reply=thoughts_forgotten(event.reply))


def messages_of(event: Event, call_format: CallFormat) -> tuple[Message, ...]:
    """What an event adds to the conversation of an episode in `call_format`."""
    match event:
        case Started():
            return event.messages
        case Replied():
            reply = event.reply
            return (AssistantMessage(reply.content, reply.calls, reply.thoughts),)
        case Called():
            if event.error is ErrorCode.MALFORMED_CALL and call_format is CallFormat.NATIVE:
                # No native call was made: there is none to answer by its id.
                return (UserMessage(event.feedback),)
            return (ToolMessage(event.raw.id, event.raw.name, event.feedback),)
        case _:
            return ()


def _begins(event: Event, turn: int) -> bool:
    """Whether the event is the first that is not before `turn`."""
    return isinstance(event, Ended) or (isinstance(event, Replied) and event.turn >= turn)


def to_line(event: Event) -> bytes:
    """An event as a line of a trace file."""
    return EVENT.dump_json(event) + b"\n"


def from_lines(lines: Iterable[bytes]) -> Trace:
    """Read a trace file's lines, of any format so far. A last line cut short is left out.

    Raises:
        TraceError: another line is not an event, or the format is a newer one.
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
    """The format that the first line gives; a newer one is refused by its number alone."""
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
    """A line of an older format as one of this. Raises ValueError: it is not a JSON object."""
    event = json.loads(line)
    if not isinstance(event, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 -- reported as every other bad line
    return json.dumps(formats.upgraded(event, version, STEPS)).encode()
