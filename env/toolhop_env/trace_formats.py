"""Upgrade steps for the events of older trace files. See `toolhop_env.formats`."""

from __future__ import annotations

from toolhop_env.formats import Document, FormatUpgrade
from toolhop_sandbox.outcome import JSON


def m001_replies_have_an_origin(event: Document) -> Document:
    """Upgrade to format 2, which records a reply's origin and the cached tokens of its prompt.

    In format 1 every reply was requested, and cached prompt tokens were not counted.
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
    """Upgrade to format 3, which has the benchmark's own gold and uses the field's terms.

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
    """Convert the hops of format 2: two lists, of tools and of answers."""
    if not isinstance(hops, dict):
        return []
    tools, answers = hops.get("tools"), hops.get("answers")
    if not isinstance(tools, list) or not isinstance(answers, list):
        return []
    return [{"tool": t, "answer": a} for t, a in zip(tools, answers, strict=True)]


def m003_tools_can_change(event: Document) -> Document:
    """Upgrade to format 4, which adds ``tools_changed`` and origins of the user's replies."""
    return {**event, "format": 4} if event.get("kind") == "started" else event


def m004_replies_have_thoughts(event: Document) -> Document:
    """Upgrade to format 5, which records a model's thoughts before a reply."""
    return {**event, "format": 5} if event.get("kind") == "started" else event


STEPS: tuple[FormatUpgrade, ...] = (
    m001_replies_have_an_origin,
    m002_gold_is_the_benchmarks,
    m003_tools_can_change,
    m004_replies_have_thoughts,
)
"""Each step upgrades one event of any kind."""
