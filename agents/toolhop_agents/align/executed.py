"""Run messages again in an episode, and classify what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from toolhop_agents.align.kinds import Verdict
from toolhop_agents.align.line import Conditions, Context, Head, Result, Wire, turns_in
from toolhop_agents.call_formats import shown
from toolhop_agents.export.chat import Arguments, chat_message, listing
from toolhop_agents.models.wire_reading import messages_from_wire
from toolhop_env.benchmarks import named, score
from toolhop_env.benchmarks.scenarios.calls import Finding
from toolhop_env.benchmarks.scenarios.played import Played
from toolhop_env.episode import Episode
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import AssistantMessage, Reply, SystemMessage, UserMessage
from toolhop_env.reading import read_calls
from toolhop_env.responders import StandIns
from toolhop_env.score import Score
from toolhop_env.trace import Called, Ending, Trace
from toolhop_env.verdicts import BEFORE_RUNNING, Call, ErrorCode
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.outcome import Returned
from toolhop_tools.certify.judging import judge
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import EpisodeAction, Item
from toolhop_tools.reading import read_result
from toolhop_tools.scenarios.label import FIELD, Label, family_of, label_of

OF_THE_AGENT = (BEFORE_RUNNING - {ErrorCode.NOT_APPROVED}) | {
    ErrorCode.RAISED,
    ErrorCode.RETURNED_ERROR,
}
"""Errors that the agent's call can cause; all others are faults of the infrastructure or limits."""
SINCERE = frozenset({Ending.ANSWERED, Ending.GAVE_UP, Ending.MALFORMED_CALL})
"""Endings that the agent chose; others are limits and faults, which never reject a trajectory."""


def wired(trace: Trace, texts: Mapping[str, str] = MappingProxyType({})) -> tuple[Wire, ...]:
    """Return the conversation as neutral messages; `texts` replaces lists of tools in prompts."""
    messages, _ = shown(trace.started.call_format, trace.conversation(), ())
    return tuple(chat_message(message, Arguments.STRING, texts) for message in messages)


async def replayed(
    item: Item, conditions: Conditions, messages: Sequence[Wire], sandbox: Sandbox
) -> Trace:
    """Play the agent's turns in `messages` again, after the prompt that they begin with.

    The trace ends where the episode ends, or without an end. Feedback in `messages` is ignored:
    compare it with `wired`.

    Raises:
        Unreadable: a message violates the protocol.
        MissingResponder: a tool needs a model.
        SandboxError: the sandbox cannot run the calls.
    """
    read = messages_from_wire(list(messages))
    first = next(iter(turns_in(messages)), len(read))
    prompt = tuple(one for one in read[:first] if isinstance(one, SystemMessage | UserMessage))
    setting = conditions.setting(prompt, EpisodeLimits(turns=None, calls=None))
    async with Episode(item, sandbox, setting, stand_ins=StandIns()) as episode:
        for message in read[first:]:
            if isinstance(message, AssistantMessage) and episode.ending is None:
                await episode.step(Reply(message.content, message.calls, thoughts=message.thoughts))
    return episode.trace


def head(
    trace: Trace, item: Item, turn: int, origin: str, licence: str
) -> tuple[Head, Mapping[str, str]]:
    """Return what lines of a turn (from 1) say of the item, and the lists of tools to replace."""
    tools, texts = listing(trace.started, trace.before_turn(turn).tools, item)
    line = Head(
        item=item.id, item_digest=item.digest, family=family_of(item) or item.id,
        domain=item.domain, licence=licence, origin=origin, tools=tuple(tools),
        conditions=Conditions.of(trace.started),
    )  # fmt: skip
    return line, texts


def context_of(trace: Trace, item: Item, turn: int, origin: str, licence: str) -> Context:
    """Return the context of a turn (from 1)."""
    line, texts = head(trace, item, turn, origin, licence)
    prompt, state = wired(trace.before_turn(turn), texts), state_before(trace, item, turn)
    return Context(**dict(line), prompt=prompt, **state._asdict())


async def result_of(context: Context, reply: Wire, item: Item, sandbox: Sandbox) -> Result:
    """Execute a reply in its context, and return what came of it."""
    trace = await replayed(item, context.conditions, (*context.prompt, reply), sandbox)
    return classified(trace, item, len(trace.replies))


class State(NamedTuple):
    """What is known before a step: see `Context`."""

    hop: int
    solvable: bool
    needs: EpisodeAction | None


def label(item: Item) -> Label | None:
    """Return the item's label; None if it has none."""
    return label_of(item.gold) if FIELD in item.gold else None


def solves(item: Item, call: Called) -> int | None:
    """Return the index of the hop whose answer a call returned, or None."""
    outcome, verdict = call.outcome, call.verdict
    if call.hop is None or not isinstance(outcome, Returned) or not isinstance(verdict, Call):
        return None
    value, answer = read_result(outcome.json_text), item.hops[call.hop].answer
    held = judge(answer, value, dict(verdict.arguments)) is not None
    return call.hop if held and not tells_of_error(value) else None


def state_before(trace: Trace, item: Item, turn: int) -> State:
    """Return the state before a turn (from 1)."""
    before = [call for call in trace.calls if call.turn < turn]
    solved = {solves(item, call) for call in before}
    hop = next((n for n in range(len(item.hops)) if n not in solved), len(item.hops))
    said = label(item)
    if said is None or said.solvable:
        return State(hop, True, None)
    done = {call.action for call in before if call.error is None}
    if said.needs in done:
        after = said.solvable_after
        return State(hop, after, None if after else EpisodeAction.GIVE_UP)
    due = hop + 1 in said.lost or not said.lost
    return State(hop, False, said.needs if due else None)


def classified(trace: Trace, item: Item, turn: int) -> Result:
    """Return what came of the reply in a turn (from 1) of a trace; later turns do not matter."""
    calls = [call for call in trace.calls if call.turn == turn]
    last = turn == len(trace.replies)
    return Result(
        verdict=_verdict(trace, item, turn, calls, last),
        ending=trace.ended.ending.value if trace.ended is not None and last else "",
        action=next((call.action for call in calls if call.action and call.error is None), None),
        feedback=tuple(call.feedback for call in calls),
    )


def _verdict(trace: Trace, item: Item, turn: int, calls: Sequence[Called], last: bool) -> Verdict:
    reply = next(one.reply for one in trace.replies if one.turn == turn)
    state = state_before(trace, item, turn)
    if not calls:
        if trace.ended is not None and last:
            if trace.ended.ending is Ending.MALFORMED_CALL:
                return Verdict.HALLUCINATED
            if state.hop == len(item.hops) and successful(trace):
                return Verdict.ANSWER
        return Verdict.OTHER
    if len(calls) < len(read_calls(trace.started.call_format, reply, turn)):
        return Verdict.OTHER  # a limit kept some calls from running
    errors = {call.error for call in calls if call.error is not None}
    if errors - OF_THE_AGENT:
        return Verdict.OTHER
    if errors:  # where a label has a recovery, a tool may fail although the call is right
        told = label(item)
        own = errors <= BEFORE_RUNNING or told is None or told.recovery is None
        return Verdict.HALLUCINATED if own else Verdict.OTHER
    if turn in _made_up(trace):
        return Verdict.HALLUCINATED
    if all(call.action is not None for call in calls):
        return Verdict.INDECISIVE
    solved = [solves(item, call) for call in calls]
    wanted = [*range(state.hop, state.hop + len(calls))]
    return Verdict.CORRECT if solved == wanted else Verdict.OTHER


def _made_up(trace: Trace) -> frozenset[int]:
    """Return the turns with a call that is made up by the scenarios' rules."""
    if not isinstance(trace.started.gold, dict) or FIELD not in trace.started.gold:
        return frozenset()
    found = Played.of(trace).by_rule
    return frozenset(one.call.turn for one in found if one.finding is Finding.HALLUCINATED)


def successful(trace: Trace) -> bool:
    """Whether an episode did what its label asks for, or has full credit where it has no label.

    The right action is required even of an agent that knows the answer: it is not to be trained to
    guess. An item that can be solved, at once or after the action, must be solved.
    """
    verdict = score(trace)
    if not isinstance(verdict, Score):
        return False
    if isinstance(trace.started.gold, dict) and FIELD in trace.started.gold:
        played = Played.of(trace)
        told = played.label
        acted = not played.actions if told.solvable else played.right_action
        reachable = told.solvable or told.solvable_after
        return acted and (played.solved if reachable else not played.claims)
    parts = named(trace.started.benchmark).lead.of(verdict)
    return parts is not None and parts[0] >= parts[1] > 0


def trajectory(trace: Trace, item: Item) -> Result:
    """Return what came of a whole episode: success, hallucination or failure.

    An episode that a limit or a fault ended is `Verdict.OTHER`.
    """
    ended = trace.ended
    turns = range(1, len(trace.replies) + 1)
    if ended is None or ended.ending not in SINCERE:
        verdict = Verdict.OTHER
    elif successful(trace):
        verdict = Verdict.SUCCESS
    elif any(classified(trace, item, turn).verdict is Verdict.HALLUCINATED for turn in turns):
        verdict = Verdict.HALLUCINATION
    else:
        verdict = Verdict.FAILURE
    return Result(verdict=verdict, ending=ended.ending.value if ended is not None else "")
