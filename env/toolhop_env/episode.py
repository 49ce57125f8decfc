"""One agent, one item, one sandbox session: replies go in, feedback comes out.

    async with Episode(item, sandbox) as episode:
        step = await episode.step(reply)

The episode knows nothing of prompts or models. It reads each reply strictly, runs what is valid,
renders the feedback, records every bit of it, and ends itself at an answer or at a limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from uuid import uuid4

import anyio

from toolhop_env.call_forms import MalformedCall
from toolhop_env.feedback import Feedback, Verbosity, render
from toolhop_env.limits import Used
from toolhop_env.malformed import in_name, malformed_call
from toolhop_env.messages import Message, RawCall, Reply, clean
from toolhop_env.reading import cut_in_thought, read_calls
from toolhop_env.repair import repair
from toolhop_env.responders import Moment, StandIns
from toolhop_env.results import shown_result
from toolhop_env.setting import Setting, check_resumable, started
from toolhop_env.tool_change import brought, held_back
from toolhop_env.trace import (
    Called,
    Ended,
    Ending,
    Event,
    FeedbackSet,
    Replied,
    ResultOrigin,
    ToolsChanged,
    Trace,
    messages_of,
)
from toolhop_env.validation import Validator
from toolhop_env.verdicts import Call, Rejected
from toolhop_sandbox.base import Program, Sandbox, Session
from toolhop_sandbox.errors import SandboxError
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_tools.model import ActionChoice, EpisodeAction, Flaky, Item, Tool

Sink = Callable[[Event], None]
"""Receives each event as it happens, for instance to write it to a file."""


class EpisodeOver(Exception):
    """A reply was given to an episode that has ended or was not entered."""


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one reply."""

    calls: tuple[Called, ...]
    """The reply's calls with their feedback, in order; empty for an answer."""
    ending: Ending | None
    """Why the episode is over; None if it is not."""

    @property
    def feedback(self) -> tuple[str, ...]:
        """The feedback texts, in order."""
        return tuple(call.feedback for call in self.calls)


class Episode:
    """One episode, an async context manager. `toolhop_env.notebook` has a synchronous version."""

    def __init__(
        self,
        item: Item,
        sandbox: Sandbox,
        setting: Setting | None = None,
        *,
        sink: Sink | None = None,
        name: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        resume_from: Trace | None = None,
        stand_ins: StandIns | None = None,
    ) -> None:
        """Prepare an episode; nothing runs before it is entered.

        Args:
            item: the item to play. Its gold answers never enter the sandbox.
            sandbox: an entered sandbox; the episode leases one of its sessions if any tool on offer
                is a program.
            setting: mode, feedback level, limits and labels; the defaults follow ToolHop.
            sink: called with every event as it happens; an exception it raises ends the episode.
            name: id of the episode; generated if not given.
            clock: a monotonic clock in seconds.
            resume_from: turns of another episode to continue from, such as `trace.before_turn(3)`.
                They become this episode's own: its trace begins with them, the sink receives them,
                limits and scores count them (time starts afresh), and nothing is run again.
                `Started.parent` names the other episode. `setting` applies from the first new turn;
                if it has no messages, the other episode's prompt is used.
            stand_ins: responders for simulated tools and for questions to the user.

        Raises:
            ValueError: `resume_from` cannot be resumed, or not on this item; the message says why.
            MissingResponder: a tool on offer needs a stand-in that is missing.
        """
        if resume_from is not None:
            check_resumable(resume_from, item, setting or Setting())
        self.item = item
        self.setting = setting or Setting()
        self.trace = Trace()
        # Both follow from the trace; cached, so that a turn need not process all earlier ones.
        self._conversation: list[Message] = []
        self._used = Used()
        self.name = name or f"{item.id}-{uuid4().hex[:8]}"
        self._sandbox = sandbox
        self._sink = sink
        self._clock = clock
        self._prefix = resume_from
        self._level: Verbosity = resume_from.level if resume_from else self.setting.feedback
        self._tools: dict[str, Tool] = item.tools if self.setting.offer_tools else {}
        self._validator = Validator([tool.schema for tool in self._tools.values()])
        self._stand_ins = stand_ins or StandIns()
        # Includes tools offered later: a missing stand-in is reported before anything runs.
        self._usable = self._tools | {name: item.all_tools[name] for name in self._held_back()}
        single_shot = self.setting.single_shot
        self._responders = {
            name: self._stand_ins.of(tool, single_shot=single_shot)
            for name, tool in self._usable.items()
        }
        self._lease: AbstractAsyncContextManager[Session] | None = None
        self._session: Session | None = None
        self._entered = False
        self._began = 0.0
        # Held while a reply is processed, so that turns never interleave in the trace.
        self._turn = anyio.Lock()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools on offer in the next turn, in the order shown."""
        return tuple(self._tools.values())

    @property
    def conversation(self) -> tuple[Message, ...]:
        """The messages so far, as the agent will see them next."""
        return tuple(self._conversation)

    @property
    def ending(self) -> Ending | None:
        """Why the episode is over; None if it is not."""
        return self.trace.ended.ending if self.trace.ended else None

    @property
    def feedback_level(self) -> Verbosity:
        """Feedback level for failed calls from now on."""
        return self._level

    def set_feedback(self, level: Verbosity) -> None:
        """Change the feedback level from now on and record the change in the trace.

        If the episode has ended, nothing is recorded and only `feedback_level` changes.
        """
        if level != self._level:
            self._level = level
            if self.ending is None:
                self._record(FeedbackSet(level))

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit; None without a limit."""
        limit = self.setting.limits.time_s
        return None if limit is None else max(0.0, limit - (self._clock() - self._began))

    async def __aenter__(self) -> Episode:
        """Record the start and any turns of another episode, and lease a session.

        Raises:
            SandboxError: no session is available; the episode has ended as errored.
        """
        self._began = self._clock()
        self._record(
            started(self.item, self.setting, self.name, self._tools.values(), self._prefix)
        )
        if self._prefix is not None:
            self._keep(self._prefix)
        runs = [one for one in self._usable.values() if isinstance(one.body, Program | Flaky)]
        first = [one.body.first for one in runs if isinstance(one.body, Flaky) and one.body.first]
        if programs := [*(tool.program for tool in runs), *first]:
            await self._take_session(programs)
        self._entered = True
        # Waiting for a free worker does not count as the agent's time.
        self._began = self._clock()
        return self

    async def _take_session(self, programs: Sequence[Program]) -> None:
        try:
            lease = self._sandbox.session(programs)
            self._session = await lease.__aenter__()
        except SandboxError as error:
            self.end(Ending.ERRORED, f"no sandbox session could be had: {error}")
            raise
        self._lease = lease

    async def __aexit__(self, *exc: object) -> None:
        self._entered = False
        if self._lease is not None:
            lease, self._lease, self._session = self._lease, None, None
            await lease.__aexit__(None, None, None)

    def _keep(self, kept: Trace) -> None:
        for event in kept.events[1:]:
            self._record(event)
        self._change_tools()
        self.set_feedback(self.setting.feedback)
        self._end_at_limit()

    async def step(self, reply: Reply) -> Step:
        """Take an agent's turn: run its calls in order, or accept it as the final answer.

        Concurrent calls are processed one after another.

        Raises:
            EpisodeOver: the episode has ended or was not entered, or another task ended it during a
                call, whose result is then lost.
            SandboxError: the sandbox failed during a call. End the episode as errored.
        """
        try:
            # Not a cancellation point: a reply that arrived in time is recorded.
            self._turn.acquire_nowait()
        except anyio.WouldBlock:
            await self._turn.acquire()
        try:
            return await self._step(reply)
        finally:
            self._turn.release()

    async def _step(self, reply: Reply) -> Step:
        if self.ending is not None or not self._entered:
            state = f"ended ({self.ending})" if self.ending else "not been entered"
            raise EpisodeOver(f"the episode has {state}: it takes no reply")
        reply = clean(reply)
        turn = self._used.turns + 1
        self._record(Replied(turn, reply))
        raw_calls: tuple[RawCall, ...] = ()
        if not self.setting.single_reply:
            raw_calls = read_calls(self.setting.call_format, reply, turn)
        malformed: MalformedCall | None = None
        if not raw_calls:
            if not self.setting.single_reply:
                malformed = malformed_call(reply, self._tools)
            if malformed is None or not self.setting.answer_malformed:
                self._end_without_call(reply, malformed)
                return Step((), self.ending)
            raw_calls = (malformed.raw(f"turn{turn}_malformed"),)
        called: list[Called] = []
        # In order and one at a time, as a worker runs only one call at a time.
        for raw in raw_calls:
            if self.ending is not None or not self._room_for(raw.name):
                break
            called.append(await self._call(turn, raw, malformed))
        if self.ending is None:
            self._change_tools()
        self._end_at_limit()
        return Step(tuple(called), self.ending)

    def _end_without_call(self, reply: Reply, malformed: MalformedCall | None) -> None:
        if malformed is not None:
            self.end(Ending.MALFORMED_CALL, malformed.says)
        elif not self.setting.single_reply and cut_in_thought(reply):
            self.end(Ending.CUT_IN_THOUGHT)
        else:
            self.end(Ending.ANSWERED)

    def _end_at_limit(self) -> None:
        exceeded = self.setting.limits.exceeded(self._used, self._clock() - self._began)
        if exceeded is not None:
            self.end(exceeded)

    def end(self, ending: Ending, reason: str = "") -> None:
        """End the episode from outside: stopped, out of time, or errored with a reason.

        Does nothing if the episode has already ended.
        """
        if self.ending is None and self.trace.events:
            self._record(Ended(ending, round(self._clock() - self._began, 6), reason))

    def _room_for(self, tool: str) -> bool:
        """Whether the call limit permits a call of `tool`; actions are not limited."""
        limit, found = self.setting.limits.calls, self._tools.get(tool)
        acts = found is not None and isinstance(found.body, EpisodeAction | ActionChoice)
        return limit is None or acts or self._used.calls < limit

    def _verdict(self, raw: RawCall, malformed: MalformedCall | None) -> Call | Rejected:
        """Return the verdict on a call; if rejected, with the repair that would have worked."""
        verdict = self._validator.check(raw.name, raw.arguments)
        if malformed is not None:
            verdict = Rejected((malformed.problem(self.setting.call_format),))
        if isinstance(verdict, Call):
            return verdict
        meant = malformed.raw(raw.id) if malformed else raw
        steps = (malformed.form.value,) if malformed else ()
        repaired = repair(self._validator, meant.name, meant.arguments, steps)
        return replace(verdict, repair=repaired)

    async def _call(self, turn: int, raw: RawCall, malformed: MalformedCall | None) -> Called:
        malformed = malformed or in_name(raw, self._tools)
        verdict = self._verdict(raw, malformed)
        if isinstance(verdict, Call):
            verdict = await self._stand_ins.approved(self.name, self._tools[verdict.tool], verdict)
        outcome: Outcome | None = None
        origin: ResultOrigin | None = None
        wall_s = 0.0
        if isinstance(verdict, Call):
            began = time.perf_counter()
            outcome, origin = await self._responders[verdict.tool].answer(self._moment(verdict))
            wall_s = round(time.perf_counter() - began, 6)
            if self.ending is not None:
                raise EpisodeOver(f"the episode ended ({self.ending}) while a call was under way")
        elif (outcome := self._stand_ins.to_rejected(raw)) is not None:
            origin = ResultOrigin.FILE
        feedback: Feedback = render(self._level, raw.name, verdict, outcome)
        action = self._action(raw.name, verdict) if malformed is None else None
        called = Called(
            turn=turn,
            raw=raw,
            verdict=verdict,
            outcome=outcome,
            level=self._level,
            feedback=feedback.text if action else shown_result(feedback, self.trace),
            error=feedback.error,
            hop=self._hop(malformed.name if malformed else raw.name),
            wall_s=wall_s,
            action=action,
            origin=origin,
        )
        self._record(called)
        ends = called.ends
        if self.setting.single_shot and called.action is not None:
            ends = ends or Ending.GAVE_UP
        if called.error is None and ends is not None:
            self.end(ends)
        return called

    def _moment(self, call: Call) -> Moment:
        tool = self._tools[call.tool]
        return Moment(tool, call, self.item, self.trace, tuple(self._tools), self._run)

    async def _run(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        if self._session is None:
            raise EpisodeOver("the episode was left while a call was under way")
        return await self._session.call(program, arguments)

    def _held_back(self) -> tuple[str, ...]:
        """Return the names of tools that may be offered later; empty if none can be requested."""
        bodies = [tool.body for tool in self._tools.values()]
        asks = EpisodeAction.CHANGE_TOOLS in bodies
        return held_back(self.item, self._tools) if asks else ()

    def _change_tools(self) -> None:
        """Offer the tools requested in the last turn."""
        if new := brought(self.trace, self._tools):
            self._record(ToolsChanged((*self._tools, *new)))

    def _action(self, tool: str, verdict: Call | Rejected) -> EpisodeAction | None:
        """Return the action on the episode that a call stands for; None for other tools."""
        body = self._tools[tool].body if tool in self._tools else None
        if isinstance(body, ActionChoice):
            chosen = verdict.arguments.get(body.argument) if isinstance(verdict, Call) else None
            return body.actions.get(str(chosen))
        return body if isinstance(body, EpisodeAction) else None

    def _hop(self, tool: str) -> int | None:
        names: Sequence[str] = [hop.tool.name for hop in self.item.hops]
        return names.index(tool) if tool in names else None

    def _record(self, event: Event) -> None:
        self.trace = self.trace.after(event)
        self._conversation += messages_of(event, self.setting.call_format)
        self._used.count(event)
        if isinstance(event, ToolsChanged):
            self._tools = {name: self._usable[name] for name in event.tools}
            self._validator = Validator([tool.schema for tool in self._tools.values()])
        if self._sink is not None:
            self._sink(event)
