"""An agent without understanding: it calls the tools in the order listed.

Published items list their tools in hop order, which reveals the plan. The part of this agent's
score that disappears when the tools are shuffled is the value of the order alone. It sees what a
model sees: the question, the schemas and the results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from toolhop_agents.scripted.plan import turns
from toolhop_env.messages import Message, RawCall, Reply
from toolhop_env.validation import Validator
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import leaves
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Item, ToolSchema

MOST_CALLS = 8
"""Maximum calls per turn, each a guess at one tool's arguments. Eight calls in each of seven
turns, ToolHop's maximum of hops, stay below the call limit."""
MOST_VALUES = 5
"""Maximum values to try for one argument."""


def as_listed(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Call one listed tool per turn with guessed arguments, then answer with the last result."""
    results = [first_result(texts, item.question) for texts in turns(messages)]
    listed = [tool.schema for tool in item.tools.values()] if tools else []
    known = [one for one in reversed(results) if one is not None]
    if len(results) < len(listed):
        schema, turn = listed[len(results)], len(results) + 1
        fits = Validator([schema]).fits
        sets = (one for one in filled(schema, item.question, known) if fits(schema.name, one))
        guesses = [*islice(sets, MOST_CALLS)] or [{}]
        return guessed([(schema.name, arguments) for arguments in guesses], turn)
    answers = [leaf for one in known for leaf in leaves(one)]
    return Reply(f"<answer>{answers[0] if answers else 'unknown'}</answer>")


def guessed(calls: Sequence[tuple[str, Mapping[str, JSON]]], turn: int) -> Reply:
    """Build a reply of several calls from tool names and arguments."""
    raw = [
        RawCall(f"call_{turn}_{n}", name, json.dumps(arguments, ensure_ascii=False))
        for n, (name, arguments) in enumerate(calls, start=1)
    ]
    return Reply(f"Tool {turn}.", tuple(raw))


def first_result(texts: Sequence[str], question: str) -> JSON:
    """Return a turn's first successful result, preferring one that the question does not
    contain.
    """
    found: list[JSON] = []
    for text in texts:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):  # the feedback is an error message
            continue
        if value is not None and not tells_of_error(value):
            found.append(value)
    return next((one for one in found if str(one) not in question), found[0] if found else None)


def filled(schema: ToolSchema, question: str, known: Sequence[JSON]) -> Iterator[dict[str, JSON]]:
    """Yield argument sets, most likely first, for required parameters and optional enums."""
    properties, required = (schema.parameters.get(key) for key in ("properties", "required"))
    types = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list) else []
    choices: list[list[tuple[str, JSON] | None]] = []
    for name, of in types.items():
        values = islice(_values(of, question, known), MOST_VALUES)
        if name in needed:
            choices.append([(name, value) for value in values])
        elif isinstance(of, Mapping) and "enum" in of:
            choices.append([None, *((name, value) for value in values)])
    picks = product(*map(enumerate, choices))
    for picked in sorted(picks, key=lambda pick: sum(place for place, _ in pick) + _doubled(pick)):
        yield dict(one for _, one in picked if one is not None)


def _doubled(picked: Sequence[tuple[int, tuple[str, JSON] | None]]) -> int:
    """Count the arguments that repeat another argument's value."""
    given = [json.dumps(one[1]) for _, one in picked if one is not None]
    return len(given) - len(set(given))


def _values(schema: JSON, question: str, known: Sequence[JSON]) -> Iterator[JSON]:
    """Yield candidates for a parameter: earlier results, latest first, then values in the
    question.
    """
    of = schema if isinstance(schema, Mapping) else {}
    kind, options = of.get("type", "string"), of.get("enum")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    found = [leaf for one in known for leaf in leaves(one) if leaf is not None]
    if isinstance(options, list):
        words = question.casefold()
        yield from sorted(options, key=lambda one: -_named(str(one), words))
    elif kind in {"integer", "number"}:
        for text in [*map(str, found), *re.findall(r"-?\d+(?:\.\d+)?", question)]:
            if re.fullmatch(r"-?\d{1,15}", text):
                yield int(text)
            elif re.fullmatch(r"-?\d{1,15}\.\d{1,15}", text) and kind == "number":
                yield float(text)
    elif kind == "array":
        yield from (one for one in known if isinstance(one, list))
        yield [*islice(_values(of.get("items"), question, known), MOST_VALUES + 2)]
    elif kind == "boolean":
        yield from (True, False)
    elif kind == "object":
        yield from (one for one in known if isinstance(one, Mapping))
    else:
        yield from map(str, found)
        yield from entities(question)


def _named(option: str, words: str) -> float:
    """Return the share of an option's words that occur in the question."""
    parts = re.findall(r"[^\W_]+", option.casefold())
    return sum(part in words for part in parts) / len(parts) if parts else 0.0


_QUOTED = re.compile(r"[\"“]([^\"“”]{2,80})[\"”]")
_LINKS = r"of|the|de|da|do|del|der|di|du|la|le|van|von"
_WORD = r"[A-ZÀ-Þ][\w’-]*"
_NAMES = re.compile(rf"\b{_WORD}(?: (?:(?:{_LINKS}) ){{0,2}}{_WORD})*")
_DATES = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


def entities(question: str) -> Iterator[str]:
    """Yield quoted texts, names within sentences, dates, then names that begin a sentence."""
    names = [(found[0], found.start()) for found in _NAMES.finditer(question)]
    begin = [name for name, at in names if at == 0 or question[:at].rstrip()[-1:] in set(".?!:")]
    inner = [name for name, _ in names if name not in begin]
    yield from dict.fromkeys(
        [*_QUOTED.findall(question), *inner, *_DATES.findall(question), *begin]
    )
