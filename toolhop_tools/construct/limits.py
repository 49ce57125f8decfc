"""Limits that a document states in prose, as calls just inside and just outside. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.claims import listed, notes_of, properties_of
from toolhop_tools.construct.text import says
from toolhop_tools.construct.trials import Call, Results, Trial, allowed, failed
from toolhop_tools.declared import required
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text, parts_of, words

_N = r"(-?\d[\d,]*)"
_RANGE = re.compile(
    rf"\b(?:from|between) {_N} (?:up )?(?:to|and|through) {_N}\b"
    r"(?! (?:signs|characters|letters|digits|words|decimals|places))",
    re.IGNORECASE,
)
_MOST = re.compile(
    rf"\b(?:at most|up to|no more than|not more than|more than|longer than|over) {_N}"
    r" (?:signs|characters|letters)\b", re.IGNORECASE,
)  # fmt: skip
_YEAR = re.compile(
    r"\b(?:from|since) (?:the )?(?:year )?(\d{3,4}) on(?:wards?)?\b"
    r"|\b(?:before|earlier than) (?:the )?(?:year )?(\d{3,4})\b", re.IGNORECASE,
)  # fmt: skip
_ABOVE = re.compile(
    rf"\b(?:numbers?|values?) (?:above|over|greater than|larger than|more than) {_N}\b",
    re.IGNORECASE,
)
_BELOW = re.compile(
    rf"\b(?:numbers?|values?) (?:below|under|less than|smaller than) {_N}\b", re.IGNORECASE
)
_TAKEN = re.compile(
    r"\bonly\b.*\b(?:taken|accepted|allowed|valid|supported|admitted|permitted)\b"
    r"|\b(?:takes|accepts|allows|supports) only\b|\bonly (?:takes|accepts|allows|supports)\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\b(?:refused?|refuses|rejected|rejects?|errors?|not (?:taken|accepted|allowed|valid))\b",
    re.IGNORECASE,
)
_HANDLED = re.compile(
    r"\b(?:clamp\w*|cut|truncat\w*|wrap\w*|ignor\w*|treated|rounded|counted|if|when|unless"
    r"|whether|lists?|listing|shows?|says?|message|depend\w*|results?|returns?)\b",
    re.IGNORECASE,
)
"""Words of a limit that is not to be refused beyond, not always, or is of what comes."""


_NUMBERS = frozenset(words("number integer value amount figure"))
_NOT_NUMBERS = frozenset(words("year date day month text name word sign character letter digit"))


def limits(
    schema: ToolSchema,
    plain: Sequence[Call],
    shown: Callable[[Call], str],
    *,
    computes: bool = False,
) -> Iterator[Trial]:
    """What the limits in a document's prose promise; none of one that can be of two parameters.

    Args:
        schema: the tool's document.
        plain: calls that table or pairs have.
        shown: a call in words.
        computes: whether all within the limits has to work: a table does not know it all.
    """
    if not plain:
        return
    texts = [(schema.description, "")]
    texts += [(notes_of(one), name) for name, one in properties_of(schema).items()]
    for text, of in texts:
        for sentence in _refusing(text):
            if _of_an_option(schema, sentence, of):
                continue
            for kind, inside, outside in _ends(sentence):
                name = _meant(schema, plain[0], sentence, of, kind)
                given = as_text(plain[0].get(name, ""))
                calls = [{**plain[0], name: _made(one, kind, given)} for one in (inside, outside)]
                if name:
                    yield from _held(schema, calls, sentence, shown, computes=computes)


def _held(
    schema: ToolSchema,
    calls: Sequence[Call],
    sentence: str,
    shown: Callable[[Call], str],
    *,
    computes: bool,
) -> Iterator[Trial]:
    """One trial for each side of a limit: a call beyond it that is made may only fail."""

    def said(call: Call, what: str) -> str:
        return (
            f"The document says {sentence!r}, and {shown(call)} {what}: let code and schema keep "
            "the limit, or leave it out."
        )

    inside, outside = calls

    def beyond(results: Results) -> str:
        return "" if failed(results[0]) else said(outside, f"gives {_shortly(results[0])}")

    def within(results: Results) -> str:
        return said(inside, "fails") if failed(results[0]) else ""

    if allowed(schema, outside):
        yield Trial([outside], beyond, of_code=True)
    if computes and allowed(schema, inside):
        yield Trial([inside], within, of_code=True)


def _shortly(result: JSON) -> str:
    return json.dumps(result, ensure_ascii=False)[:300]


def _refusing(text: str) -> Iterator[str]:
    """Sentences that say that something is refused, alone or with what follows them."""
    sentences = [one.strip() for one in re.split(r"[.;](?= |$)|\n", text) if one.strip()]
    for one, following in pairwise([*sentences, ""]):
        refused = _TAKEN.search(one) or _REFUSED.search(one)
        handled = _HANDLED.search(one)
        beside = re.search(r"\b(?:others?|earlier|later|longer|rest)\b", following)
        refused = refused or (beside and _REFUSED.search(following))
        handled = handled or (beside and _HANDLED.search(following))
        if refused and not handled:
            yield one


def _ends(sentence: str) -> Iterator[tuple[str, int, int]]:
    """The kind of value, the last that is taken and the first that is not, or lengths of texts."""
    over = _TAKEN.search(sentence) or not _REFUSED.search(sentence)
    for found in _MOST.finditer(sentence):
        most = _number(found[1])
        yield "length", most, most + 1
    if _MOST.search(sentence):
        return
    for found in _YEAR.finditer(sentence):
        first = int(found[1] or found[2])
        yield "date", first, first - 1
    for found in _RANGE.finditer(sentence) if over else ():
        low, high = map(_number, found.groups())
        if low < high:
            yield "number", low, low - 1
            yield "number", high, high + 1
    for pattern, step in ((_ABOVE, 1), (_BELOW, -1)) if not _TAKEN.search(sentence) else ():
        for found in pattern.finditer(sentence):
            end = _number(found[1])
            yield "number", end, end + step


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _made(end: int, kind: str, given: str) -> JSON:
    """A value at an end: a number, the first or last day of a year, a text of so many signs."""
    if kind == "number":
        return end
    if kind == "length":
        return (given * (end // max(1, len(given)) + 1))[:end]
    return f"{end:04}-06-15"


def _of_an_option(schema: ToolSchema, sentence: str, of: str) -> bool:
    """Whether a limit is one under an option, or of an option itself."""
    needed, own = required(schema.parameters), properties_of(schema)
    if of and of not in needed:
        return True
    options = {name: one for name, one in own.items() if name not in needed}
    return any(
        says(sentence, name.replace("_", " "))
        or any(isinstance(c, str) and says(sentence, c.replace("_", " ")) for c in listed(one))
        for name, one in options.items()
    )


def _meant(schema: ToolSchema, call: Call, sentence: str, of: str, kind: str) -> str:
    """The one required parameter that a limit can be of; empty where it cannot be told."""
    own = properties_of(schema)
    needed = [name for name in required(schema.parameters) if not listed(own.get(name, {}))]
    able = [name for name in needed if _is_of(kind, own.get(name, {}), call.get(name))]
    if of:
        return of if of in able else ""
    said = {form for one in words(sentence) for form in (one, one.removesuffix("s"))}
    named = [name for name in able if said.issuperset(parts_of(name))]
    if kind == "number" and not named and (said & _NOT_NUMBERS or not said & _NUMBERS):
        return ""
    found = named or able
    return found[0] if len(found) == 1 else ""


def _is_of(kind: str, schema: Mapping[str, JSON], given: JSON) -> bool:
    if kind == "number":
        return schema.get("type") in {"integer", "number"}
    if schema.get("type") != "string" or not isinstance(given, str) or not given:
        return False
    day = re.fullmatch(r"\d{4}-\d\d-\d\d", given) is not None
    return day if kind == "date" else not day and "format" not in schema
