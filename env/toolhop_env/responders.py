"""What answers a tool's calls: the sandbox, a recorded table, or a stand-in that is given.

One protocol with one method. Which responder answers is decided by the kind of the tool's body
(`toolhop_tools.model.Body`); a model or a user that answers comes from outside, as the episode
asks nobody itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from toolhop_env.messages import RawCall, clean_text
from toolhop_env.trace import ResultOrigin
from toolhop_env.user import Wording, faithful, noun, secrets, told, user_reply
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected
from toolhop_sandbox.base import Program, Session
from toolhop_sandbox.outcome import JSON, Outcome, Returned
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
class Programs:
    """Runs tools that are programs, each call in a process of its own."""

    session: Session

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """See `Responder.respond`."""
        return await self.session.call(tool.program, arguments)


def call_key(tool: Tool, arguments: Mapping[str, JSON]) -> str:
    """One text for all calls that mean the same, in whatever item the tool stands."""
    return canonical([tool.name, tool.body_parts, dict(arguments)])


@dataclass(frozen=True, slots=True)
class StandIns:
    """Responders that an episode is given from outside; None where its item needs none."""

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

    async def look_up(
        self, tool: Tool, table: RecordedTable, arguments: Mapping[str, JSON]
    ) -> tuple[Outcome, ResultOrigin]:
        """The result of a call of a recorded tool, and where it came from; nothing runs.

        Raises:
            SandboxError: the simulator could not answer.
        """
        if (found := table.recorded(arguments)) is not None:
            return found, ResultOrigin.RECORDED
        if table.instruction and self.simulator is not None:
            key = call_key(tool, arguments)
            if key in self.earlier:
                return self.earlier[key], ResultOrigin.EARLIER
            outcome = await self.simulator.respond(tool, arguments)
            # Of two calls at once the first to be answered holds for both.
            return self.earlier.setdefault(key, outcome), ResultOrigin.SIMULATED
        return table.default, ResultOrigin.TEMPLATE if table.made else ResultOrigin.DEFAULT

    def to_rejected(self, raw: RawCall) -> Outcome | None:
        """What somebody else gave to a call that is rejected here; None where nobody did."""
        return None

    async def approved(self, episode: str, tool: Tool, call: Call) -> Call | Rejected:
        """The call, unless who is asked refuses it; the episode's own actions stand."""
        if self.approver is None or isinstance(tool.body, EpisodeAction | ActionChoice):
            return call
        refusal = await self.approver.approve(episode, call)
        if refusal is None:
            return call
        return Rejected((Problem(ErrorCode.NOT_APPROVED, "", refusal.reason, ""),))

    async def ask_user(
        self, item: Item, earlier: Sequence[Call], call: Call
    ) -> tuple[Outcome, ResultOrigin]:
        """What the user simulator says to a question of the agent's, and where the words come from.

        Args:
            item: whose user is asked.
            earlier: the calls that asked before.
            call: the one that asks.

        Raises:
            SandboxError: who words it could not.
        """
        asked = [one.arguments for one in earlier]
        reply, origin = user_reply(item, asked, call.arguments), ResultOrigin.RULE
        text, question = reply.text, str(call.arguments.get("question", ""))
        if self.wording is not None and not reply.values and (known := secrets(item)):
            chosen = await self.wording.asked_for(question, [noun(one) for one in known])
            meant = [one for one in known if noun(one) == chosen]
            if meant:
                text = told(meant).text
                return Returned(json.dumps(text, ensure_ascii=False)), ResultOrigin.WORDED
        if self.wording is not None:
            worded = clean_text(await self.wording.worded(question, reply))
            if worded != text and faithful(worded, reply, item):
                text, origin = worded, ResultOrigin.WORDED
        return Returned(json.dumps(text, ensure_ascii=False)), origin

    def of(self, tool: Tool) -> Responder | None:
        """Who answers a tool that neither runs nor is looked up; None for the episode itself,
        which has the user simulator and the choice of other tools.

        Raises:
            MissingResponder: who should is not there.
        """
        match tool.body:
            case Program() | RecordedTable() | ActionChoice() | Flaky():
                return None
            case EpisodeAction():
                return self.user if tool.body is EpisodeAction.ASK_USER else None
            case Simulated() if self.simulator is not None:
                return self.simulator
            case Simulated():
                raise MissingResponder(
                    f"the tool {tool.name!r} needs a model that simulates it, and none is given; "
                    "pass StandIns(simulator=...)"
                )
            case Described() if self.described is not None:
                return self.described
            case Described():
                raise MissingResponder(
                    f"the tool {tool.name!r} is only described, and nothing answers a call of it: "
                    "its benchmark asks for a plan"
                )
            case _:
                assert_never(tool.body)
