"""References to earlier answers, values in texts, and calls as text. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.leaves import inner
from toolhop_tools.words import as_text, bare, scalars

SHORT = 2
"""Maximum length, in letters, of answers that only their case distinguishes from words."""
REFERENCE = re.compile(r"\{(\d{1,2})\}")


def references(text: str) -> list[int]:
    """Return the hops that a text refers to, without duplicates, in order of mention."""
    return list(dict.fromkeys(int(number) for number in REFERENCE.findall(text)))


def filled(text: str, answers: Sequence[str]) -> str:
    """Return the text with earlier answers filled in; ``{9}`` stays if there is no hop 9."""

    def answer(reference: re.Match[str]) -> str:
        at = int(reference[1])
        return answers[at - 1] if 1 <= at <= len(answers) else reference[0]

    return REFERENCE.sub(answer, text)


def resolved(value: JSON, answers: Sequence[str], schema: Mapping[str, JSON] | None = None) -> JSON:
    """Insert earlier answers into arguments, as numbers if the schema requires numbers."""
    schema = schema or {}
    if isinstance(value, dict):
        return {k: resolved(v, answers, inner(schema, k, schema)) for k, v in value.items()}
    if isinstance(value, list):
        return [resolved(part, answers, inner(schema, 0, schema)) for part in value]
    if not isinstance(value, str) or not REFERENCE.search(value):
        return value
    text = filled(value, answers)
    number = plain_number(text)
    kinds = schema.get("type")
    several = kinds if isinstance(kinds, list) else [kinds]
    if number is None or "string" in several or not {"integer", "number"} & {*several}:
        return text
    return int(number) if number == int(number) else float(number)


def says(text: str, value: str) -> bool:
    """Whether a text contains a value as whole words, ignoring case and accents.

    The case of one or two letters matters: ``a`` is not the answer ``A``, nor ``is`` the code
    ``IS``.
    """
    wanted = bare(plain_text(value))
    if not wanted:
        return False
    if len(value) <= SHORT and value.isalpha():
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", bare(text)) is not None


def tells(text: str, answer: str) -> bool:
    """Whether a text gives an answer away, as whole words in the answer's spelling.

    Single characters and two-digit numbers are ignored, since they occur in any text. Other
    spellings, and answers derived from a text by a tool, are tested by execution.
    """
    telling = len(answer) > (SHORT if answer.isdigit() else 1)
    return telling and re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text) is not None


def texts(value: JSON) -> list[str]:
    """Return all scalars of a value as texts."""
    return [as_text(leaf) for _, leaf in scalars(value)]


def same(one: str, other: str) -> bool:
    """Whether two answers are equal under the strict rule."""
    return same_answer(one, other)


def as_json(value: JSON) -> str:
    """Return a value as JSON without escaping non-ASCII letters."""
    return json.dumps(value, ensure_ascii=False)


def called(name: str, arguments: Mapping[str, JSON]) -> str:
    """Return a call in Python notation."""
    given = ", ".join(f"{k}={as_json(v)}" for k, v in arguments.items())
    return f"{name}({given})"
