"""How events of older trace files become events of the newest format. See `toolhop_env.formats`."""

from __future__ import annotations

from toolhop_env.formats import Document, FormatUpgrade
from toolhop_sandbox.outcome import JSON


def m001_replies_have_an_origin(event: Document) -> Document:
    """Format 2 tells who gave a reply, and how much of its prompt the provider had at hand.

    In format 1 every reply was asked for, and prompts at hand were not counted.
    """
    if event.get("kind") == "started":
        return {**event, "format": 2}
    reply = event.get("reply")
    if event.get("kind") != "replied" or not isinstance(reply, dict):
        return event
    usage = reply.get("usage")
    known = {**usage, "prompt_cached_tokens": 0} if isinstance(usage, dict) else usage
    return {**event, "reply": {**reply, "usage": known, "origin": "asked"}}


_RENAMED_IN_3 = {
    "player": "agent",
    "dialect": "call_format",
    "presentation": "perturbation",
    "kept_turns": "prefix_turns",
}


def m002_gold_is_the_benchmarks(event: Document) -> Document:
    """Format 3 keeps a benchmark's own gold, and names things as the field does.

    Older traces are ToolHop's: their answer and hops become its gold.
    """
    if event.get("kind") == "started":
        renamed = {_RENAMED_IN_3.get(name, name): value for name, value in event.items()}
        gold = {"answer": renamed.pop("answer", ""), "hops": _hops(renamed.pop("hops", None))}
        return {**renamed, "gold": gold, "benchmark": "toolhop", "format": 3}
    if event.get("kind") == "ended" and event.get("ending") == "void":
        return {**event, "ending": "errored"}
    return event


def _hops(hops: JSON) -> JSON:
    """Format 2 had two lists, tools and answers by hop."""
    if not isinstance(hops, dict):
        return []
    tools, answers = hops.get("tools"), hops.get("answers")
    if not isinstance(tools, list) or not isinstance(answers, list):
        return []
    return [{"tool": t, "answer": a} for t, a in zip(tools, answers, strict=True)]


def m003_tools_can_change(event: Document) -> Document:
    """Format 4 has the event ``tools_changed``, and origins of what the user says."""
    return {**event, "format": 4} if event.get("kind") == "started" else event


def m004_replies_have_thoughts(event: Document) -> Document:
    """Format 5 keeps what a model thought before a reply."""
    return {**event, "format": 5} if event.get("kind") == "started" else event


STEPS: tuple[FormatUpgrade, ...] = (
    m001_replies_have_an_origin,
    m002_gold_is_the_benchmarks,
    m003_tools_can_change,
    m004_replies_have_thoughts,
)
"""Each takes one event, of whatever kind."""
