"""Answering of tool calls: one class for each kind of tool body (`toolhop_tools.model.Body`).

`StandIns.of` picks the class. Models and people who answer are passed in as a `Responder`; the
episode itself calls no model.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias, assert_never

from toolhop_env.messages import RawCall, clean_text
from toolhop_env.tool_change import brought, change
from toolhop_env.trace import ResultOrigin, Trace
from toolhop_env.user import Wording, faithful, noun, secrets, told, user_reply
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.model import (
    ActionChoice,
    Described,
    EpisodeAction,
    Flaky,
    Item,
    RecordedTable,
    Simulated,
    Tool,
    canonical,
)

RunProgram: TypeAlias = Callable[[Program, Mapping[str, JSON]], Awaitable[Outcome]]
Answer: TypeAlias = tuple[Outcome, ResultOrigin | None]
"""Outcome of a call and its origin; the origin is None for programs and actions."""


class Responder(Protocol):
    """Answers calls of tools with one kind of body; passed in from outside."""

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """Return the outcome of a call whose `arguments` fit the tool's schema.

        Raises:
            SandboxError: nothing could answer. This is our fault: the episode is errored.
        """
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of a call by an approver."""

    reason: str = ""
    """Reason shown to the agent; empty if none."""


class Approver(Protocol):
    """Decides on each valid tool call before it runs, but not on the episode's own actions."""

    async def approve(self, episode: str, call: Call) -> Refusal | None:
        """Return None to run the call; a refused call fails with ``not_approved``."""
        ...


class MissingResponder(ValueError):
    """Nothing here can answer one of the item's tools; the message has a fix."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A call about to be answered, and the state of its episode."""

    tool: Tool
    call: Call
    item: Item
    trace: Trace
    """All turns so far, including this turn's reply."""
    on_offer: Sequence[str]
    """Names of the tools on offer."""
    run: RunProgram
    """Runs a program in the episode's session."""


class BodyResponder(Protocol):
    """Answers calls of tools with one kind of body; chosen by `StandIns.of`."""

    async def answer(self, moment: Moment) -> Answer:
        """Return the outcome of a call.

        Raises:
            SandboxError: nothing could answer. This is our fault: the episode is errored.
        """
        ...


class _Programs:
    """Runs tools that are programs, each call in a separate process."""

    async def answer(self, moment: Moment) -> Answer:
        return await moment.run(moment.tool.program, moment.call.arguments), None


@dataclass(frozen=True, slots=True)
class _FlakyPrograms:
    """Makes the first calls of a tool in an episode fail; later calls run."""

    body: Flaky

    async def answer(self, moment: Moment) -> Answer:
        verdicts = [call.verdict for call in moment.trace.calls]
        ran = sum(isinstance(one, Call) and one.tool == moment.tool.name for one in verdicts)
        if ran < self.body.failures:
            if self.body.first is None:
                return Raised("RuntimeError", self.body.error), None
            moment = replace(moment, tool=replace(moment.tool, body=self.body.first))
        return await _Programs().answer(moment)


class OtherResults(Protocol):
    """Results of the same calls in another run, such as those in a file of answers."""

    def looked_up(self, tool: Tool, arguments: Mapping[str, JSON]) -> Answer | None:
        """Return the other run's outcome for a call of a recorded tool; None to look it up here."""
        ...

    def to_rejected(self, raw: RawCall) -> Outcome | None:
        """Return the other run's outcome for a call that is rejected here; None if it has none."""
        ...


def call_key(tool: Tool, arguments: Mapping[str, JSON]) -> str:
    """Return a key that is equal for all calls with the same meaning, whatever the item."""
    return canonical([tool.name, tool.body_parts, dict(arguments)])


@dataclass(frozen=True, slots=True)
class _Tables:
    """Looks up recorded results; other calls go to the simulator, if any."""

    body: RecordedTable
    simulator: Responder | None
    earlier: dict[str, Outcome]
    """The simulator's earlier answers, by `call_key`."""
    others: OtherResults | None

    async def answer(self, moment: Moment) -> Answer:
        tool, arguments = moment.tool, moment.call.arguments
        if self.others and (given := self.others.looked_up(tool, arguments)):
            return given
        if (recorded := self.body.recorded(arguments)) is not None:
            return recorded, ResultOrigin.RECORDED
        if self.body.instruction and self.simulator is not None:
            key = call_key(tool, arguments)
            if key in self.earlier:
                return self.earlier[key], ResultOrigin.EARLIER
            outcome = await self.simulator.respond(tool, arguments)
            # Of two concurrent calls, the first answer is used for both.
            return self.earlier.setdefault(key, outcome), ResultOrigin.SIMULATED
        made_up = ResultOrigin.TEMPLATE if self.body.made else ResultOrigin.DEFAULT
        return self.body.default, made_up


@dataclass(frozen=True, slots=True)
class _FromOutside:
    """Passes calls to a stand-in."""

    responder: Responder
    origin: ResultOrigin | None = None

    async def answer(self, moment: Moment) -> Answer:
        return await self.responder.respond(moment.tool, moment.call.arguments), self.origin


class _Ends:
    """Acknowledges an action on the episode; its effect is in the trace."""

    async def answer(self, moment: Moment) -> Answer:
        return Returned('"done"'), None


class _ToolChanges:
    """Offers other tools of the item."""

    async def answer(self, moment: Moment) -> Answer:
        on_offer = (*moment.on_offer, *brought(moment.trace, moment.on_offer))
        return change(moment.item, on_offer, moment.call.arguments), None


@dataclass(frozen=True, slots=True)
class _SimulatedUser:
    """Answers as the user simulator (`toolhop_env.user`), optionally reworded."""

    wording: Wording | None = None

    async def answer(self, moment: Moment) -> Answer:
        item, arguments = moment.item, moment.call.arguments
        questions = (one for one in moment.trace.calls if one.action is EpisodeAction.ASK_USER)
        earlier = [one.verdict.arguments for one in questions if isinstance(one.verdict, Call)]
        reply, origin = user_reply(item, earlier, arguments), ResultOrigin.RULE
        text, question = reply.text, str(arguments.get("question", ""))
        if self.wording is not None and not reply.values and (known := secrets(item)):
            chosen = await self.wording.asked_for(question, [noun(one) for one in known])
            if meant := [one for one in known if noun(one) == chosen]:
                return _text(told(meant).text), ResultOrigin.WORDED
        if self.wording is not None:
            worded = clean_text(await self.wording.worded(question, reply))
            if worded != text and faithful(worded, reply, item):
                text, origin = worded, ResultOrigin.WORDED
        return _text(text), origin


def _text(text: str) -> Returned:
    return Returned(json.dumps(text, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class StandIns:
    """Responders passed to an episode from outside; each is None unless the item needs it."""

    simulator: Responder | None = None
    """Answers calls of simulated tools."""
    user: Responder | None = None
    """Answers for the user; None for the user simulator (`toolhop_env.user`)."""
    described: Responder | None = None
    """Answers calls of tools that are only described, with made-up results."""
    wording: Wording | None = None
    """Rewords the user simulator's replies; None to leave them as they are."""
    earlier: dict[str, Outcome] = field(default_factory=dict)
    """The simulator's earlier answers for recorded tools, by `call_key`, so that equal calls get
    equal answers."""

    approver: Approver | None = field(default=None, kw_only=True)
    """Approves each call; None to run every valid call."""
    others: OtherResults | None = field(default=None, kw_only=True)
    """Results that take precedence over those recorded with the item."""

    def to_rejected(self, raw: RawCall) -> Outcome | None:
        """Return another run's outcome for a call that is rejected here; None if it has none."""
        return self.others.to_rejected(raw) if self.others else None

    async def approved(self, episode: str, tool: Tool, call: Call) -> Call | Rejected:
        """Return the call, or its rejection by the approver; the episode's actions always pass."""
        if self.approver is None or isinstance(tool.body, EpisodeAction | ActionChoice):
            return call
        refusal = await self.approver.approve(episode, call)
        if refusal is None:
            return call
        return Rejected((Problem(ErrorCode.NOT_APPROVED, "", refusal.reason, ""),))

    def of(self, tool: Tool, *, single_shot: bool = False) -> BodyResponder:
        """Return the responder for a tool's calls, by its body.

        Args:
            tool: the tool.
            single_shot: whether each action ends the episode, so that no one answers it.

        Raises:
            MissingResponder: the stand-in that the tool needs is missing.
        """
        match tool.body:
            case Program():
                return _Programs()
            case Flaky() as body:
                return _FlakyPrograms(body)
            case RecordedTable() as body:
                return _Tables(body, self.simulator, self.earlier, self.others)
            case EpisodeAction.ASK_USER if self.user is not None:
                return _FromOutside(self.user)
            case EpisodeAction.ASK_USER if not single_shot:
                return _SimulatedUser(self.wording)
            case EpisodeAction.CHANGE_TOOLS if not single_shot:
                return _ToolChanges()
            case EpisodeAction() | ActionChoice():
                return _Ends()
            case Simulated() if self.simulator is not None:
                return _FromOutside(self.simulator)
            case Simulated():
                raise MissingResponder(
                    f"the tool {tool.name!r} needs a model that simulates it, and none is given; "
                    "pass StandIns(simulator=...)"
                )
            case Described() if self.described is not None:
                return _FromOutside(self.described, ResultOrigin.TEMPLATE)
            case Described():
                raise MissingResponder(
                    f"the tool {tool.name!r} is only described, and nothing answers a call of it: "
                    "its benchmark asks for a plan"
                )
            case _:
                assert_never(tool.body)
