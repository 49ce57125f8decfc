"""What answers a tool's calls: one class for each kind of body (`toolhop_tools.model.Body`).

`StandIns.of` picks the class. A model or a person who answers comes from outside, as a `Responder`:
the episode asks nobody itself.
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
"""What came of a call, and where it came from; None for a program and an action."""


class Responder(Protocol):
    """Answers calls of the tools of one kind of body."""

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """What came of the call. `arguments` fit the tool's schema.

        Raises:
            SandboxError: nothing could answer. A fault of ours: the episode is errored.
        """
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that is not allowed."""

    reason: str = ""
    """The reason that the agent reads; empty for none."""


class Approver(Protocol):
    """Asked before each call of a tool that may run; the episode's own actions are not asked of."""

    async def approve(self, episode: str, call: Call) -> Refusal | None:
        """None to run the call; a refusal is answered as a failed call, ``not_approved``."""
        ...


class MissingResponder(ValueError):
    """An item has a tool that nothing here can answer; says which, and what to give."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A call that is about to be answered, and the state of its episode."""

    tool: Tool
    call: Call
    item: Item
    trace: Trace
    """All turns so far, this one's reply included."""
    on_offer: Sequence[str]
    """Names of the tools on offer."""
    run: RunProgram
    """Runs a program in the episode's session."""


class BodyResponder(Protocol):
    """Answers calls of tools with one kind of body."""

    async def answer(self, moment: Moment) -> Answer:
        """What came of the call.

        Raises:
            SandboxError: nothing could answer. A fault of ours: the episode is errored.
        """
        ...


class _Programs:
    """Runs tools that are programs, each call in a process of its own."""

    async def answer(self, moment: Moment) -> Answer:
        return await moment.run(moment.tool.program, moment.call.arguments), None


@dataclass(frozen=True, slots=True)
class _FlakyPrograms:
    """Has the first calls of a tool in an episode fail; the others run."""

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
    """Results of another run of the same calls, such as those that a file of answers holds."""

    def looked_up(self, tool: Tool, arguments: Mapping[str, JSON]) -> Answer | None:
        """What a call of a recorded tool gave there; None where it is looked up here."""
        ...

    def to_rejected(self, raw: RawCall) -> Outcome | None:
        """What a call gave there that is rejected here; None where it gave nothing."""
        ...


def call_key(tool: Tool, arguments: Mapping[str, JSON]) -> str:
    """One text for all calls that mean the same, in whatever item the tool stands."""
    return canonical([tool.name, tool.body_parts, dict(arguments)])


@dataclass(frozen=True, slots=True)
class _Tables:
    """Looks up what was recorded; a model answers what was not, where there is one."""

    body: RecordedTable
    simulator: Responder | None
    earlier: dict[str, Outcome]
    """What the simulator answered before, by `call_key`."""
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
            # Of two calls at once the first to be answered holds for both.
            return self.earlier.setdefault(key, outcome), ResultOrigin.SIMULATED
        made_up = ResultOrigin.TEMPLATE if self.body.made else ResultOrigin.DEFAULT
        return self.body.default, made_up


@dataclass(frozen=True, slots=True)
class _FromOutside:
    """Asks a stand-in."""

    responder: Responder
    origin: ResultOrigin | None = None

    async def answer(self, moment: Moment) -> Answer:
        return await self.responder.respond(moment.tool, moment.call.arguments), self.origin


class _Ends:
    """Acknowledges an action of the episode; what it does shows in the trace."""

    async def answer(self, moment: Moment) -> Answer:
        return Returned('"done"'), None


class _ToolChanges:
    """Brings other tools of the item."""

    async def answer(self, moment: Moment) -> Answer:
        on_offer = (*moment.on_offer, *brought(moment.trace, moment.on_offer))
        return change(moment.item, on_offer, moment.call.arguments), None


@dataclass(frozen=True, slots=True)
class _SimulatedUser:
    """The user simulator (`toolhop_env.user`), whose words somebody may change."""

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
    """Whom an episode is given from outside; None where its item needs none."""

    simulator: Responder | None = None
    """Answers in the place of tools that are simulated."""
    user: Responder | None = None
    """Answers for the user; where None, the user simulator does (`toolhop_env.user`)."""
    described: Responder | None = None
    """Answers tools that are only described, by results that it makes up."""
    wording: Wording | None = None
    """Says in other words what the user simulator says; where None, it says it in its own."""
    earlier: dict[str, Outcome] = field(default_factory=dict)
    """What the simulator answered before in the place of recorded tools, by `call_key`: a call is
    answered alike whenever it is made."""

    approver: Approver | None = field(default=None, kw_only=True)
    """Asked before each call; None where every valid call is run."""
    others: OtherResults | None = field(default=None, kw_only=True)
    """Results that hold before those that are recorded with the item."""

    def to_rejected(self, raw: RawCall) -> Outcome | None:
        """What somebody else gave to a call that is rejected here; None where nobody did."""
        return self.others.to_rejected(raw) if self.others else None

    async def approved(self, episode: str, tool: Tool, call: Call) -> Call | Rejected:
        """The call, unless who is asked refuses it; the episode's own actions stand."""
        if self.approver is None or isinstance(tool.body, EpisodeAction | ActionChoice):
            return call
        refusal = await self.approver.approve(episode, call)
        if refusal is None:
            return call
        return Rejected((Problem(ErrorCode.NOT_APPROVED, "", refusal.reason, ""),))

    def of(self, tool: Tool, *, single_shot: bool = False) -> BodyResponder:
        """Who answers a tool's calls, by its body.

        Args:
            tool: the tool.
            single_shot: each action ends the episode: nobody answers it.

        Raises:
            MissingResponder: who should is not there.
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
