"""Objects that lenient parsers find in a text that is not strict JSON.

A reading is a value and the steps that led to it. Steps only trim text around an object, close open
brackets and quotes, and drop commas: no name or value is invented.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping

from toolhop_env.validation import check_plain, strict_json
from toolhop_sandbox.outcome import JSON

Steps = tuple[str, ...]


def objects(text: str) -> Iterator[tuple[dict[str, JSON], Steps]]:
    """Yield readings of `text` as an object, those with the fewest steps first."""
    readings: list[tuple[str, Steps]] = [(text, ())]
    for step, change in _TEXT_STEPS.items():
        readings += [(change(before), (*steps, step)) for before, steps in readings]
    found = [
        (changed, reader, (*steps, *reader_steps))
        for changed, steps in _first_of_each(readings)
        for reader, reader_steps in _READERS
    ]
    for changed, reader, steps in sorted(found, key=lambda one: len(one[2])):
        try:
            value = reader(changed)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict):
            yield value, steps


def _first_of_each(readings: list[tuple[str, Steps]]) -> list[tuple[str, Steps]]:
    """Return each text once, with the fewest steps that lead to it."""
    first: dict[str, Steps] = {}
    for text, steps in sorted(readings, key=lambda reading: len(reading[1])):
        first.setdefault(text.strip(" \t\r\n"), steps)
    return list(first.items())


_STRING = r"\"(?:[^\"\\]++|\\.)*+\"?|'(?:[^'\\]++|\\.)*+'?"
_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])", re.DOTALL)
_FENCE_LABEL = re.compile(r"[ \t]*(?:[A-Za-z]+(?=[\s{]))?")


def _without_fence(text: str) -> str:
    """Return the text between the first two code fences."""
    _, fence, inside = text.partition("```")
    label = _FENCE_LABEL.match(inside)
    if not fence or label is None:
        return text
    return inside[label.end() :].partition("```")[0]


def first_object(text: str) -> str:
    """Return the text from the first brace to its closing one, ignoring braces in strings."""
    start = text.find("{")
    if start < 0:
        return text
    depth = 0
    for found in _TOKEN.finditer(text, start):
        if found[0] in "{[":
            depth += 1
        elif found[0] in "}]":
            depth -= 1
            if depth == 0:
                return text[start : found.end()]
    return text[start:]


def _closed(text: str) -> str:
    """Return `text` with its open quotes and brackets closed."""
    missing: list[str] = []
    for found in _TOKEN.finditer(text):
        if found[0] in "{[":
            missing.append("}" if found[0] == "{" else "]")
        elif found[0] not in "}]":
            open_quote = len(found[0]) == 1 or not _is_closed(found[0])
            if open_quote:
                missing.append(found[0][0])
        elif missing:
            missing.pop()
    return text + "".join(reversed(missing))


def _is_closed(string: str) -> bool:
    """Whether a string token of two or more characters ends with its quote."""
    ending = len(string) - len(string[:-1].rstrip("\\")) - 1
    return string[-1] == string[0] and ending % 2 == 0


def _without_trailing_commas(text: str) -> str:
    return _COMMA.sub(lambda found: found[1] or "", text)


_TEXT_STEPS: Mapping[str, Callable[[str], str]] = {
    "code_fence": _without_fence,
    "surrounding_text": first_object,
    "unclosed": _closed,
    "trailing_comma": _without_trailing_commas,
}


def _strict(text: str) -> JSON:
    return strict_json(text) if _bracketed(text) else None


def _bracketed(text: str) -> bool:
    return text.startswith("{") and text.endswith("}")


def _nothing(text: str) -> JSON:
    return {} if text in {"", "null", "None"} else None


def _encoded_twice(text: str) -> JSON:
    if not (text.startswith('"') and text.endswith('"')):
        return None
    inner = strict_json(text)
    return strict_json(inner) if isinstance(inner, str) else None


def _lenient_json(text: str) -> JSON:
    """Parse JSON with control characters in strings; the last of duplicate keys wins."""
    if not _bracketed(text):
        return None
    value: JSON = json.loads(text, strict=False)
    check_plain(value)
    return value


def _python_literal(text: str) -> JSON:
    if not _bracketed(text):
        return None
    with warnings.catch_warnings():
        # The parser warns about unknown escapes and number suffixes.
        warnings.simplefilter("ignore")
        value = ast.literal_eval(text)
    # Sets, bytes, complex numbers are literals, but not JSON; nor are keys that are not text.
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        return None
    result: JSON = json.loads(json.dumps(value, allow_nan=False))
    check_plain(result)
    return result


_READERS: tuple[tuple[Callable[[str], JSON], Steps], ...] = (
    (_strict, ()),
    (_nothing, ("empty",)),
    (_lenient_json, ("lenient_json",)),
    (_encoded_twice, ("encoded_twice",)),
    (_python_literal, ("python_literal",)),
)
