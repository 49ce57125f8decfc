"""An attempt as a trajectory of ATIF 1.8, Harbor's format for the traces of agents.

Fields and rules are those of Harbor's RFC 0001 and of its models (harbor 0.25,
`harbor.models.trajectories`): arguments are objects, an observation stands in the step whose calls
it answers, and steps that are no agent's have no calls and no metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolhop_agents.export.episodes import Exported
from toolhop_agents.export.facts import Plain, facts
from toolhop_agents.export.turns import Turn, TurnCall, arguments_of, turns
from toolhop_env.messages import Origin, Reply, Usage
from toolhop_env.trace import Called
from toolhop_env.verdicts import Rejected
from toolhop_tools.model import Item

VERSION = "ATIF-v1.8"
AGENT = "toolhop-env"
"""The agent system: what asks the model and answers its calls."""


def trajectory(one: Exported, item: Item | None, name: str, version: str) -> Plain:
    """An attempt as a trajectory.

    Args:
        one: the attempt.
        item: for the tools' schemas; without it there are none.
        name: unique among the trajectories that are written together.
        version: of the package that played it; empty where it is not known.
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
    """The schemas of all tools that were on offer at any time, in the order shown."""
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
    """Tokens of all steps; the cost is what this attempt itself paid."""
    used: Sequence[Usage] = [replied.reply.usage for replied in one.trace.replies]
    plain: Plain = {
        "total_prompt_tokens": sum(usage.input_tokens for usage in used),
        "total_completion_tokens": sum(usage.output_tokens for usage in used),
        "total_cached_tokens": sum(usage.prompt_cached_tokens for usage in used),
        "total_steps": steps,
    }
    paid = one.attempt.spent.cost_usd
    return plain if paid is None else {**plain, "total_cost_usd": paid}
