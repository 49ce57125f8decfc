"""A trace as stored in the report: a body to read, and a row for lists and filters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from types import MappingProxyType

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.measures import Measure
from toolhop_env.questions import (
    LlmQuestion,
    SimilaritiesQuestion,
    SimilarityQuestion,
    verdict,
)
from toolhop_env.reading import CallFormat, thoughts_apart
from toolhop_env.runs.judgements import Judgement, holding
from toolhop_env.score import Score
from toolhop_env.spending import spent
from toolhop_env.trace import Called, FeedbackSet, Replied, ToolsChanged, Trace
from toolhop_env.verdicts import Rejected
from toolhop_sandbox.outcome import JSON, Outcome, Returned

QUESTION_CHARS = 160
"""Maximum length of a row's question in characters, to fit one line of a list."""


def body(
    trace: Trace, benchmark: Benchmark, judged: Mapping[str, Judgement] = MappingProxyType({})
) -> dict[str, JSON]:
    """Return everything that a reader of the episode may want to see, in order.

    Args:
        trace: the episode.
        benchmark: its benchmark.
        judged: a judge's answers, by question id.
    """
    start, ended = trace.started, trace.ended
    return {
        "question": start.question,
        "gold": benchmark.presentation.expected(start.gold),
        "given": benchmark.presentation.given(trace),
        "milestones": [
            [one.label, one.expected, one.reached]
            for one in benchmark.presentation.milestones(trace)
        ],
        "facets": dict(benchmark.grouping.facets(start.gold)),
        "judged": list(_judged(trace, benchmark, judged)) if ended and judged else [],
        "messages": [{"role": one.role, "text": one.content} for one in start.messages],
        "tools": list(start.tools),
        "seed": start.seed,
        "at": start.at,
        "events": list(_events(trace)),
        "end": None
        if ended is None
        else {"ending": str(ended.ending), "wall": ended.wall_s, "reason": ended.reason},
    }


def _judged(trace: Trace, benchmark: Benchmark, said: Mapping[str, Judgement]) -> Iterator[JSON]:
    """Yield each question to a judge with the verdict, the reason and the judge's name."""
    for question in benchmark.asked(trace, lambda one: holding(said, one))[0].values():
        judgement = said.get(question.id)
        answer = holding(said, question)
        failed = {} if judgement is None or answer is not None else {"why": judgement.cause}
        head: dict[str, JSON] = {"judge": "" if judgement is None else judgement.judge, **failed}
        match question:
            case LlmQuestion():
                reason = answer.get("reason") if isinstance(answer, dict) else None
                found = None if answer is None else verdict(answer)
                about = question.about or question.id
                yield {"about": about, "verdict": found, "why": reason, **head}
            case SimilarityQuestion():
                texts: JSON = [[question.second, answer]]
                yield {"about": "similarity", "text": question.first, "to": texts, **head}
            case SimilaritiesQuestion():
                values = answer if isinstance(answer, list) else [None] * len(question.others)
                texts = [list(one) for one in zip(question.others, values, strict=False)]
                yield {"about": "similarity", "text": question.text, "to": texts, **head}


def _events(trace: Trace) -> Iterator[JSON]:
    number = 0
    for event in trace.events:
        match event:
            case Replied():
                yield _reply(event, trace)
            case Called():
                number += 1
                yield _call(event, number)
            case FeedbackSet(level):
                yield {"kind": "level", "level": str(level)}
            case ToolsChanged(tools):
                yield {"kind": "tools", "tools": list(tools)}
            case _:
                pass


def _reply(event: Replied, trace: Trace) -> JSON:
    reply, (thoughts, said) = event.reply, thoughts_apart(event.reply)
    run = sum(call.turn == event.turn for call in trace.calls)
    left: list[JSON] = []
    if trace.started.call_format is CallFormat.NATIVE:
        left = [{"name": call.name, "args": call.arguments} for call in reply.calls[run:]]
    return {
        "kind": "reply",
        "turn": event.turn,
        "text": said,
        "thoughts": thoughts.text if thoughts else "",
        "wall": reply.wall_s,
        "in": reply.usage.input_tokens,
        "out": reply.usage.output_tokens,
        "thought": reply.usage.reasoning_tokens,
        "cost": reply.usage.cost_usd,
        "finish": reply.finish_reason,
        "retries": reply.retries,
        "left": left,
    }


def _call(event: Called, number: int) -> JSON:
    problems: list[JSON] = []
    repaired: JSON = None
    if isinstance(event.verdict, Rejected):
        problems = [{**asdict(one), "code": str(one.code)} for one in event.verdict.problems]
        found = event.verdict.repair
        if found is not None:
            text = json.dumps(found.arguments, ensure_ascii=False)
            repaired = {"tool": found.tool, "args": text, "steps": list(found.steps)}
    return {
        "kind": "call",
        "turn": event.turn,
        "n": number,
        "name": event.raw.name,
        "args": event.raw.arguments,
        "error": None if event.error is None else str(event.error),
        "level": str(event.level),
        "feedback": event.feedback,
        "hop": event.hop,
        "action": None if event.action is None else str(event.action),
        "origin": None if event.origin is None else str(event.origin),
        "wall": event.wall_s,
        "problems": problems,
        "repair": repaired,
        "outcome": _outcome(event.outcome, event.feedback),
    }


def _outcome(outcome: Outcome | None, feedback: str) -> JSON:
    """Return the outcome of a call without anything that the feedback repeats word for word."""
    if outcome is None:
        return None
    if isinstance(outcome, Returned):
        text = outcome.json_text
        return {"kind": "returned", "text": None if text == feedback else text}
    said = [
        f"{name}: {value}"
        for name, value in asdict(outcome).items()
        if name != "kind"
        and value is not None
        and not (isinstance(value, str) and value in feedback)
    ]
    return {"kind": outcome.kind, "text": "; ".join(said) or None}


def verdict_name(attempt: Attempt, lead: Measure) -> str:
    """Return an episode's verdict in a word.

    ``right`` or ``wrong`` if the leading measure is binary, ``scored`` if it is a number,
    ``unscored`` if it has no value (for example before a judge has answered); otherwise ``errored``
    or ``unfinished``.
    """
    if not attempt.ended:
        return "unfinished"
    if attempt.score is None:
        return "errored"
    if lead.of(attempt.score) is None:
        return "unscored"
    if not lead.binary:
        return "scored"
    return "right" if lead.holds(attempt.score) else "wrong"


def row(trace: Trace, attempt: Attempt, benchmark: Benchmark) -> dict[str, JSON]:
    """Return an episode's data for lists, filters and charts."""
    start, took, ended = trace.started, spent(trace), trace.ended
    codes = Counter(str(call.error) for call in trace.tool_calls if call.error is not None)
    return {
        "name": start.episode,
        "benchmark": start.benchmark,
        "item": start.item,
        "question": start.question[:QUESTION_CHARS],
        "agent": start.agent,
        "mode": start.mode,
        "level": str(start.feedback),
        "last_level": str(trace.level),
        "call_format": str(start.call_format),
        "epoch": start.epoch,
        "attempt": start.attempt,
        "parent": start.parent,
        "prefix_turns": start.prefix_turns,
        "verdict": verdict_name(attempt, benchmark.lead),
        "values": _values(attempt.score, benchmark),
        "ending": None if ended is None else str(ended.ending),
        "turns": len(trace.replies),
        "calls": len(trace.tool_calls),
        "codes": dict(codes),
        "milestones": [sum(attempt.milestones), len(attempt.milestones)],
        "tokens": [took.input_tokens, took.output_tokens],
        "cost": took.cost_usd,
        "wall": None if ended is None else ended.wall_s,
    }


def _values(score: Score | None, benchmark: Benchmark) -> dict[str, JSON]:
    """Return each measure's value: a number, [numerator, denominator] if the latter is not 1, or
    None.
    """
    if score is None:
        return {}
    parts = {one.name: one.of(score) for one in benchmark.measures}
    return {
        name: None if found is None else found[0] if found[1] == 1 else list(found)
        for name, found in parts.items()
    }
