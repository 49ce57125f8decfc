"""A trace as the report keeps it: one body to read, and one row for lists and filters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from env.reading import Dialect, tagged_answer
from env.score import Score, Verdict, Void
from env.spending import spent
from env.trace import Called, FeedbackSet, Replied, Trace
from env.verdicts import Rejected
from sandbox.outcome import JSON, Outcome, Returned

QUESTION_CHARS = 160
"""Length to which a row's question is cut: it is one line of a list."""


def body(trace: Trace, solved: Sequence[bool]) -> dict[str, JSON]:
    """Everything that a reader of the episode may want to see, in order."""
    start, ended = trace.started, trace.ended
    return {
        "question": start.question,
        "gold": start.answer,
        "given": _given(trace),
        "hops": {"tools": list(start.hops.tools), "answers": list(start.hops.answers)},
        "solved": list(solved),
        "messages": [{"role": one.role, "text": one.content} for one in start.messages],
        "tools": list(start.tools),
        "seed": start.seed,
        "at": start.at,
        "events": list(_events(trace)),
        "end": None
        if ended is None
        else {"ending": str(ended.ending), "wall": ended.wall_s, "reason": ended.reason},
    }


def _given(trace: Trace) -> str | None:
    """The answer as the strict rule reads it; None where the episode has no answer."""
    text = trace.final_text
    if text is None:
        return None
    tagged = tagged_answer(text)
    return text if tagged is None else tagged


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
            case _:
                pass


def _reply(event: Replied, trace: Trace) -> JSON:
    reply = event.reply
    run = sum(call.turn == event.turn for call in trace.calls)
    left: list[JSON] = []
    if trace.started.dialect is Dialect.NATIVE:
        left = [{"name": call.name, "args": call.arguments} for call in reply.calls[run:]]
    return {
        "kind": "reply",
        "turn": event.turn,
        "text": reply.content,
        "wall": reply.wall_s,
        "in": reply.usage.input_tokens,
        "out": reply.usage.output_tokens,
        "cost": reply.usage.cost_usd,
        "model": reply.model,
        "finish": reply.finish_reason,
        "retries": reply.retries,
        "left": left,
    }


def _call(event: Called, number: int) -> JSON:
    problems: list[JSON] = []
    mended: JSON = None
    if isinstance(event.verdict, Rejected):
        problems = [{**asdict(one), "code": str(one.code)} for one in event.verdict.problems]
        found = event.verdict.repair
        if found is not None:
            text = json.dumps(found.arguments, ensure_ascii=False)
            mended = {"tool": found.tool, "args": text, "steps": list(found.steps)}
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
        "wall": event.wall_s,
        "problems": problems,
        "repair": mended,
        "outcome": _outcome(event.outcome, event.feedback),
    }


def _outcome(outcome: Outcome | None, feedback: str) -> JSON:
    """What came of the call, where the feedback does not already say it word for word."""
    if outcome is None:
        return None
    if isinstance(outcome, Returned):
        text = outcome.json_text
        return {"kind": "returned", "text": None if text == feedback else text}
    told = [
        f"{name}: {value}"
        for name, value in asdict(outcome).items()
        if name != "kind"
        and value is not None
        and not (isinstance(value, str) and value in feedback)
    ]
    return {"kind": outcome.kind, "text": "; ".join(told) or None}


def verdict_name(trace: Trace, verdict: Verdict) -> str:
    """`right` or `wrong` by the strict rule, `void`, or `unfinished` where no end was written."""
    if trace.ended is None:
        return "unfinished"
    if isinstance(verdict, Void):
        return "void"
    return "right" if verdict.strict else "wrong"


def row(trace: Trace, verdict: Verdict, solved: Sequence[bool]) -> dict[str, JSON]:
    """What lists, filters and charts need of an episode."""
    start = trace.started
    codes: dict[str, JSON] = {}
    for call in trace.calls:
        if call.error is not None:
            codes[str(call.error)] = int(str(codes.get(str(call.error), 0))) + 1
    took, ended = spent(trace), trace.ended
    return {
        "name": start.episode,
        "item": start.item,
        "question": start.question[:QUESTION_CHARS],
        "player": start.player,
        "mode": start.mode,
        "level": str(start.feedback),
        "last_level": str(trace.level),
        "dialect": str(start.dialect),
        "epoch": start.epoch,
        "attempt": start.attempt,
        "parent": start.parent,
        "kept": start.kept_turns,
        "verdict": verdict_name(trace, verdict),
        "official": verdict.official if isinstance(verdict, Score) else None,
        "strict": verdict.strict if isinstance(verdict, Score) else None,
        "ending": None if ended is None else str(ended.ending),
        "turns": len(trace.replies),
        "calls": len(trace.calls),
        "codes": codes,
        "solved": sum(solved),
        "hops": len(solved),
        "tokens": [took.input_tokens, took.output_tokens],
        "cost": took.cost_usd,
        "wall": None if ended is None else ended.wall_s,
    }
