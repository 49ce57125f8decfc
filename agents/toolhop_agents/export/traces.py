"""An attempt in two trace formats: an ATIF 1.8 trajectory, and a Hugging Face hub session.

ATIF is Harbor's format for agent traces. Fields and rules follow Harbor's RFC 0001 and its models
(harbor 0.25, `harbor.models.trajectories`): arguments are objects, an observation belongs to the
step whose calls it answers, and steps not taken by an agent have no calls and no metrics.

A session is a header line, then messages, as the Hugging Face hub shows them: the Session Trace
Simple Format of its documentation (https://huggingface.co/docs/hub/session-traces-format). Names
are in camel case, a call's arguments are strings, times are milliseconds since 1970.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from toolhop_agents.export.episodes import Exported, Plain, facts
from toolhop_env.messages import Origin, RawCall, Reply, Usage
from toolhop_env.reading import CallFormat, read_calls
from toolhop_env.trace import Called, FeedbackSet, Replied, ToolsChanged, Trace
from toolhop_env.validation import strict_json
from toolhop_env.verdicts import Call, ErrorCode, Rejected
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item

VERSION = "ATIF-v1.8"
AGENT = "toolhop-env"
"""Name of the agent system, which asks the model and answers its calls."""


@dataclass(frozen=True, slots=True)
class TurnCall:
    """A call written by the agent."""

    id: str
    """Id, unique within the attempt: the provider's, or our own if that is empty or already
    used."""
    raw: RawCall
    called: Called | None
    """The executed call; None if a limit ended the episode first."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply and the events that followed it."""

    replied: Replied
    calls: tuple[TurnCall, ...]
    malformed: tuple[Called, ...]
    """Feedback on unreadable calls, for which there is no call to answer."""
    changes: dict[str, JSON]
    """Feedback level and tools that change from the next turn on."""


def turns(trace: Trace) -> Iterator[Turn]:
    """Yield the turns in order."""
    called: dict[int, list[Called]] = defaultdict(list)
    changes: dict[int, dict[str, JSON]] = defaultdict(dict)
    turn = 0
    for event in trace.events:
        match event:
            case Replied():
                turn = event.turn
            case Called():
                called[event.turn].append(event)
            case FeedbackSet():
                changes[turn]["feedback"] = event.level.value
            case ToolsChanged():
                changes[turn]["tools"] = list(event.tools)
    seen: set[str] = set()
    for replied in trace.replies:
        made = called[replied.turn]
        calls = tuple(
            TurnCall(_unique(raw.id, replied.turn, number, seen), raw, one)
            for number, (raw, one) in enumerate(_written(trace, replied, made), start=1)
        )
        malformed = tuple(one for one in made if one.error is ErrorCode.MALFORMED_CALL)
        yield Turn(replied, calls, malformed, changes[replied.turn])


def _written(
    trace: Trace, replied: Replied, made: list[Called]
) -> Iterator[tuple[RawCall, Called | None]]:
    """Yield the answered calls, then those that a limit cut off."""
    for one in made:
        if one.error is not ErrorCode.MALFORMED_CALL:
            yield one.raw, one
    call_format = trace.started.call_format
    if made or call_format is CallFormat.NATIVE:
        for raw in read_calls(call_format, replied.reply, replied.turn)[len(made) :]:
            yield raw, None


def _unique(given: str, turn: int, number: int, seen: set[str]) -> str:
    name = given
    while not name or name in seen:
        name = f"turn{turn}_call{number}" if name == given else f"{name}_"
    seen.add(name)
    return name


def arguments_of(call: RawCall, called: Called | None) -> dict[str, JSON] | None:
    """Return a call's arguments as an object; None if they are not a JSON object."""
    if called is not None and isinstance(called.verdict, Call):
        return dict(called.verdict.arguments)
    try:
        value = strict_json(call.arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def trajectory(one: Exported, item: Item | None, name: str, version: str) -> Plain:
    """Convert an attempt to a trajectory.

    Args:
        one: the attempt.
        item: source of the tool schemas, which are omitted if None.
        name: name, unique among the trajectories of the export.
        version: version of the package that played it; empty if unknown.
    """
    start = one.trace.started
    steps = [{"step_id": number, **step} for number, step in enumerate(_steps(one), start=1)]
    agent: Plain = {"name": AGENT, "version": version or "unknown", "model_name": start.agent}
    definitions = _definitions(one, item)
    if definitions:
        agent["tool_definitions"] = definitions
    ended = one.trace.ended
    extra: Plain = {
        "item": start.item,
        "item_digest": start.item_digest,
        "benchmark": start.benchmark,
        "expected": one.benchmark.presentation.expected(start.gold),
        "epoch": start.epoch,
        "perturbation": start.perturbation,
        "ending": ended.ending.value if ended else None,
        "errored": one.attempt.errored or None,
        **facts(one),
    }
    return {
        "schema_version": VERSION,
        "session_id": name,
        "trajectory_id": name,
        "agent": agent,
        "steps": steps,
        "final_metrics": _totals(one, len(steps)),
        "extra": extra,
    }


def _definitions(one: Exported, item: Item | None) -> list[Plain]:
    """Return the schemas of all tools that were ever available, in the order shown."""
    if item is None:
        return []
    tools = item.all_tools
    names = dict.fromkeys((*one.trace.started.tools, *one.trace.tools))
    return [dict(tools[name].schema.to_openai()) for name in names if name in tools]


def _steps(one: Exported) -> Iterator[Plain]:
    start = one.trace.started
    copied: Plain = {"is_copied_context": True} if one.copied_turns else {}
    for message in start.messages:
        yield {
            "timestamp": start.at,
            "source": message.role,
            "message": message.content,
            **copied,
        }
    for turn in turns(one.trace):
        yield _step(turn, copied if turn.replied.turn <= one.copied_turns else {})


def _step(turn: Turn, copied: Plain) -> Plain:
    reply = turn.replied.reply
    step: Plain = {"source": "agent", "message": reply.content, **copied}
    if reply.thoughts is not None and reply.thoughts.text:
        step["reasoning_content"] = reply.thoughts.text
    if reply.model:
        step["model_name"] = reply.model
    if turn.calls:
        step["tool_calls"] = [_call(call) for call in turn.calls]
    results = [_result(call.called, call.id) for call in turn.calls if call.called]
    results += [_result(called, None) for called in turn.malformed]
    if results:
        step["observation"] = {"results": results}
    if reply.usage != Usage():
        step["metrics"] = _metrics(reply)
    extra: Plain = {"wall_s": reply.wall_s}
    if reply.finish_reason:
        extra["finish_reason"] = reply.finish_reason
    if reply.retries:
        extra["retries"] = reply.retries
    if reply.origin is not Origin.ASKED:
        extra["origin"] = reply.origin.value
    if turn.changes:
        extra["from_the_next_turn"] = turn.changes
    return {**step, "extra": extra}


def _call(call: TurnCall) -> Plain:
    arguments, extra = arguments_of(call.raw, call.called), {}
    if arguments is None:
        extra["unparsed_arguments"] = call.raw.arguments
    if call.id != call.raw.id:
        extra["given_id"] = call.raw.id
    if call.called is None:
        extra["not_run"] = "a limit ended the episode before this call"
    plain: Plain = {
        "tool_call_id": call.id,
        "function_name": call.raw.name,
        "arguments": arguments or {},
    }
    return {**plain, "extra": extra} if extra else plain


def _result(called: Called, identity: str | None) -> Plain:
    extra: Plain = {"feedback": called.level.value}
    if called.error is not None:
        extra["error"] = called.error.value
    if isinstance(called.verdict, Rejected):
        extra["problems"] = [
            {"code": problem.code.value, "argument": problem.path}
            for problem in called.verdict.problems
        ]
    if called.outcome is not None:
        extra |= {"outcome": called.outcome.kind, "wall_s": called.wall_s}
    if called.hop is not None:
        extra["hop"] = called.hop + 1
    source = {} if identity is None else {"source_call_id": identity}
    return {**source, "content": called.feedback, "extra": extra}


def _metrics(reply: Reply) -> Plain:
    usage = reply.usage
    plain: Plain = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.prompt_cached_tokens,
    }
    return plain if usage.cost_usd is None else {**plain, "cost_usd": usage.cost_usd}


def _totals(one: Exported, steps: int) -> Plain:
    """Return the token counts of all steps, and the cost of this attempt alone."""
    used: Sequence[Usage] = [replied.reply.usage for replied in one.trace.replies]
    plain: Plain = {
        "total_prompt_tokens": sum(usage.input_tokens for usage in used),
        "total_completion_tokens": sum(usage.output_tokens for usage in used),
        "total_cached_tokens": sum(usage.prompt_cached_tokens for usage in used),
        "total_steps": steps,
    }
    paid = one.attempt.spent.cost_usd
    return plain if paid is None else {**plain, "total_cost_usd": paid}


HARNESS = "toolhop-env"
"""Harness name, by which the hub selects icon and label; unknown ones are shown as plain text."""


def session(one: Exported, name: str, version: str) -> Iterator[Plain]:
    """Yield the lines of an attempt's session.

    Args:
        one: the attempt.
        name: name, unique among the sessions of the export.
        version: version of the package that played it; empty if unknown.
    """
    trace, start = one.trace, one.trace.started
    yield {
        "type": "session",
        "harness": HARNESS,
        "id": name,
        "name": start.question,
        "version": version or None,
        "agent": start.agent,
        "item": start.item,
        "benchmark": start.benchmark,
        "expected": one.benchmark.presentation.expected(start.gold),
        "perturbation": start.perturbation,
        "errored": one.attempt.errored or None,
        **facts(one),
    }
    began = round(datetime.fromisoformat(start.at).timestamp() * 1000)
    for message in start.messages:
        yield _message(message.role, message.content, timestamp=began)
    for turn in turns(trace):
        reply = turn.replied.reply
        more: Plain = {"toolCalls": [_said_call(call) for call in turn.calls]} if turn.calls else {}
        if reply.thoughts is not None and reply.thoughts.text:
            more["reasoningContent"] = reply.thoughts.text
        yield _message("assistant", reply.content, model=reply.model or start.agent, **more)
        for call in turn.calls:
            if call.called is not None:
                yield _message("tool", call.called.feedback, toolCallId=call.id)
        for called in turn.malformed:
            yield _message("user", called.feedback)


def _message(role: str, content: str, **more: object) -> Plain:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def _said_call(call: TurnCall) -> Plain:
    return {"id": call.id, "function": {"name": call.raw.name, "arguments": call.raw.arguments}}
