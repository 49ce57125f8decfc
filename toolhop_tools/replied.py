"""Find JSON in a model's or person's reply: bare, in a code fence, after thoughts, in prose."""

from __future__ import annotations

import json
import re

from toolhop_sandbox.outcome import JSON

OPEN, CLOSE = "<think>", "</think>"
_MARK = re.compile(r"""\{\s*["']|</think>""")
"""Start of an object, or end of the thoughts. ``{1}`` in a remark matches neither."""
_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*+"?|[{}]', re.DOTALL)
"""Tokens that determine where an object ends; braces in strings are ignored."""


def json_in(text: str) -> str:
    """Return the longest JSON object in a reply, as written; if several tie, the last one.

    Thoughts in ``<think>`` tags may contain drafts and are ignored. If no object parses, the
    longest broken one is returned, and a reply without objects is returned unchanged, so that the
    parser can report the fault. Runs in linear time.
    """
    if _is_json(text):
        return text.strip()
    whole: list[str] = []
    broken: list[str] = []
    at = answer = 0
    while mark := _MARK.search(text, at):
        at = _end(text, mark.start())
        part = text[mark.start() : at]
        if mark[0] != CLOSE and _is_json(part):
            whole.append(part)  # a tag inside a string does not end the thoughts
        elif CLOSE in part:
            at = answer = mark.start() + part.rindex(CLOSE) + len(CLOSE)
            whole, broken = [], []
        else:
            broken.append(part)
    if text[answer:].lstrip().startswith(OPEN):
        return ""  # cut off during the thoughts
    return max(reversed(whole or broken), key=len, default=text[answer:].strip())


def _is_json(text: str) -> bool:
    return as_json(text) == text


def as_json(text: str) -> str:
    """Return the text if it is JSON, else the text as a JSON string."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)
    return text


def object_in(text: str) -> dict[str, JSON]:
    """Parse a JSON object; empty if the text is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _end(text: str, start: int) -> int:
    """Return the end of the object or tag that begins at `start`, or of the text if unclosed."""
    if text.startswith(CLOSE, start):
        return start + len(CLOSE)
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)
