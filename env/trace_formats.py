"""How events of older trace files become events of the newest format. See `env.formats`."""

from __future__ import annotations

from env.formats import Document, Step


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


STEPS: tuple[Step, ...] = (m001_replies_have_an_origin,)
"""Each takes one event, of whatever kind."""
