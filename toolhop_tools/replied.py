"""JSON in what a model or a person wrote: in a reply bare, in a code fence, after its thoughts or
within prose.
"""

from __future__ import annotations

import json
import re

from toolhop_sandbox.outcome import JSON

OPEN, CLOSE = "<think>", "</think>"
_MARK = re.compile(r"""\{\s*["']|</think>""")
"""Where an object begins, and where thoughts end. ``{1}`` in a remark is neither."""
_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*+"?|[{}]', re.DOTALL)
"""What counts in finding an object's end: braces in strings do not."""


def json_in(text: str) -> str:
    """The longest JSON object of a reply, as it is written; the last of several equally long.

    What a model thinks aloud in ``<think>`` tags may hold drafts and is left out. Where no object
    parses, the longest broken one is returned, and a reply without any as it is: the parser says
    what is wrong with it. Takes time in proportion to the text.
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
            whole.append(part)  # a tag in one of its strings ends no thoughts
        elif CLOSE in part:
            at = answer = mark.start() + part.rindex(CLOSE) + len(CLOSE)
            whole, broken = [], []
        else:
            broken.append(part)
    if text[answer:].lstrip().startswith(OPEN):
        return ""  # cut off while it was thinking
    return max(reversed(whole or broken), key=len, default=text[answer:].strip())


def _is_json(text: str) -> bool:
    return as_json(text) == text


def as_json(text: str) -> str:
    """The text where it is JSON, else the text as a JSON string."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)
    return text


def object_in(text: str) -> dict[str, JSON]:
    """The JSON object that a text is; empty where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _end(text: str, start: int) -> int:
    """Where the object or tag that begins at `start` ends; an object without an end reaches to the
    end of the text.
    """
    if text.startswith(CLOSE, start):
        return start + len(CLOSE)
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)
