"""Values for a parameter, by its schema, out of what the question and the tool offer. Pure.

Each value has a cost, lower for what a reader of question and schema would rather give, and a
source, which goes into the certificate. A schema's own demands (`enum`, bounds, lengths) are kept
as far as they are simple; the call as a whole is validated afterwards.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.certify.literals import Source, described, named_in, notations_named
from toolhop_tools.certify.mentions import listed, mentions, tail
from toolhop_tools.certify.readable import Asked, resolved, said
from toolhop_tools.certify.words import name_words, runs, words
from toolhop_tools.dates import dates_in, in_notation

MOST_VALUES = 24
"""Values of one parameter that are tried."""
DEEPEST = 3
"""Levels of nested objects and lists that are filled."""

ArgumentSchema: TypeAlias = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a parameter may be given."""

    value: JSON
    cost: float
    source: str
    """``answer``, ``question``, ``date``, ``enum``, ``default``, ``reworded`` (what the question
    says in other capitals, in part, or negated), ``literal``, ``description``, ``item`` (the item's
    question, an earlier answer that is not named) or ``filler``."""


SOURCES = (
    *("answer", "question", "enum", "default", "date", "reworded", "literal", "description"),
    *("item", "filler"),
)
"""Sources from the nearest to what was asked to the farthest."""


@dataclass(frozen=True, slots=True)
class Offers:
    """What a hop offers to fill parameters with: read once, used for each parameter."""

    asked: Asked
    source: Source
    texts: tuple[Choice, ...]
    numbers: tuple[Choice, ...]
    dates: tuple[Choice, ...]
    lists: tuple[tuple[str, ...], ...]
    """What is named together: all answers, all names, answers then names."""


def offers(asked: Asked, source: Source) -> Offers:
    """Collect what the question, the answers before it and the code offer."""
    named = mentions(asked.item_question)
    return Offers(
        asked,
        source,
        tuple(_once(_texts(asked, source, named.names))),
        tuple(_once(_numbers(asked, named.numbers))),
        tuple(_once(_dates(asked))),
        tuple(_lists(asked)),
    )


def _texts(asked: Asked, source: Source, far_names: Sequence[str]) -> Iterator[Choice]:
    found = asked.mentions
    for at, (hop, answer) in enumerate(found.answers):
        yield Choice(answer, 0.02 * at, "answer")
        if hop in asked.returned:
            yield Choice(asked.returned[hop], 0.25 + 0.02 * at, "answer")
        if "," in answer and plain_number(answer) is not None:
            # Code that reads a number from text seldom reads thousands commas.
            yield Choice(answer.replace(",", ""), 0.05 + 0.02 * at, "answer")
    start = 0.3 if found.answers else 0.0
    yield from _costed(found.names, start, 0.1, "question")
    yield from _costed(found.quoted, start + 0.05, 0.1, "question")
    for at, text in enumerate(named_in(source.texts, found.text)[:10]):
        # The question's own words, in the code's spelling.
        yield Choice(text, 0.35 + 0.1 * at + 0.5 * (len(words(text)) < 2), "question")
    yield from _costed(_wider(source.texts, found.names)[:6], 0.8, 0.1, "literal")
    for at, name in enumerate((*found.names, *(answer for _, answer in found.answers))):
        yield from _costed(_variants(name), 0.9 + 0.1 * at, 0.0, "reworded")
    yield from _costed(tail(found.text), 1.0, 0.05, "reworded")
    yield from _costed(found.numbers, 1.1, 0.1, "question")
    yield from _costed(reversed(asked.earlier), 1.3, 0.2, "item")
    yield from _costed(far_names, 1.5, 0.1, "item")


def _costed(texts: Iterable[str], start: float, step: float, source: str) -> Iterator[Choice]:
    for at, text in enumerate(texts):
        yield Choice(text, start + step * at, source)


def _variants(name: str) -> Iterator[str]:
    """Other ways to write a name: without an article or what follows a comma, other capitals."""
    bare_name = name.split(",")[0].split(" (")[0].strip()
    first, _, rest = bare_name.partition(" ")
    if rest and first.casefold() in {"the", "a", "an"}:
        yield rest
    if bare_name != name:
        yield bare_name
    for variant in (bare_name.title(), bare_name.lower(), bare_name.upper()):
        if variant != name:
            yield variant


def _wider(texts: Iterable[str], names: Sequence[str]) -> list[str]:
    """Texts of the code that hold a name of the question, such as a longer form of it."""
    wanted = [name_words(name) for name in names]
    return [text for text in texts if any(runs(part, words(text)) for part in wanted)]


def _numbers(asked: Asked, far: Sequence[str]) -> Iterator[Choice]:
    found = asked.mentions
    for at, (_, answer) in enumerate(found.answers):
        for value in _values(answer):
            yield Choice(value, 0.02 * at, "answer")
    for at, number in enumerate(found.numbers):
        for value in _values(number):
            yield Choice(value, 0.1 + 0.05 * at, "question")
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield Choice(-value, 0.6 + 0.05 * at, "reworded")
    for at, number in enumerate(word for name in found.names for word in words(name)):
        yield from (Choice(value, 0.3 + 0.05 * at, "question") for value in _values(number))
    for at, answer in enumerate(reversed(asked.earlier)):
        for value in _values(answer):
            yield Choice(value, 1.3 + 0.2 * at, "item")
    for at, number in enumerate(far):
        for value in _values(number):
            yield Choice(value, 1.5 + 0.1 * at, "item")


def _values(text: str) -> Iterator[JSON]:
    """The number that a text is, or has beside a unit (``£84,000``, ``486 m``), as JSON has it."""
    found = words(text)
    numbers = [word for word in found if plain_number(word) is not None]
    beside = len(numbers) == 1 and len(found) <= 2
    number = plain_number(numbers[0] if beside else plain_text(text))
    if number is None or abs(number) >= 10**15:
        return
    yield int(number) if number == int(number) else float(number)


def _dates(asked: Asked) -> Iterator[Choice]:
    for at, date in enumerate(asked.mentions.dates):
        yield Choice(date, 0.1 * at, "date")
    for at, answer in enumerate(reversed(asked.earlier)):
        for _, day in dates_in(answer):
            yield Choice(day.isoformat(), 0.5 + 0.1 * at, "date")
    for _, day in dates_in(asked.item_question):
        yield Choice(day.isoformat(), 1.5, "date")


def _lists(asked: Asked) -> Iterator[tuple[str, ...]]:
    answers = tuple(answer for _, answer in asked.mentions.answers)
    names = _apart(asked.mentions.names)
    seen: set[tuple[str, ...]] = set()
    runs_of_names = map(listed, asked.mentions.names)
    groups = (answers, names, (*answers, *names), names[:2], asked.mentions.quoted, *runs_of_names)
    for texts in groups:
        if len(texts) > 1 and texts not in seen:
            seen.add(texts)
            yield texts


def _apart(names: Sequence[str]) -> tuple[str, ...]:
    """Without names that are a part or another form of one before them."""
    kept: list[str] = []
    for name in names:
        if not any(runs(name_words(name), words(one)) for one in kept):
            kept.append(name)
    return tuple(kept)


def _once(choices: Iterable[Choice]) -> list[Choice]:
    """The cheapest choice of each value, by cost."""
    best: dict[str, Choice] = {}
    for choice in choices:
        key = json.dumps(choice.value, sort_keys=True)
        if key not in best or choice.cost < best[key].cost:
            best[key] = choice
    return sorted(best.values(), key=lambda choice: choice.cost)


def pool(
    name: str, schema: JSON, offer: Offers, root: ArgumentSchema, depth: int = 0
) -> list[Choice]:
    """Values for the parameter `name`, the cheapest first; `root` resolves references."""
    if not isinstance(schema, dict):
        return list(offer.texts[:MOST_VALUES])
    return _once(_choices(name, dict(resolved(schema, root)), offer, root, depth))[:MOST_VALUES]


def _choices(
    name: str, schema: dict[str, JSON], offer: Offers, root: ArgumentSchema, depth: int
) -> Iterator[Choice]:
    if "const" in schema:
        yield Choice(schema["const"], 0.0, "enum")
        return
    choices = schema.get("enum")
    if isinstance(choices, list):
        yield from _enumerated(name, choices, schema, offer)
        return
    if "default" in schema:
        yield Choice(schema["default"], 0.5, "default")
    for group in ("anyOf", "oneOf", "allOf"):
        options = schema.get(group)
        for option in options if isinstance(options, list) and depth < DEEPEST else ():
            yield from pool(name, option, offer, root, depth + 1)
    kinds = schema.get("type")
    for at, kind in enumerate(kinds if isinstance(kinds, list) else [kinds]):
        for choice in _typed(name, kind, schema, offer, root, depth):
            yield Choice(choice.value, choice.cost + 0.1 * at, choice.source)


def _enumerated(
    name: str, choices: list[JSON], schema: ArgumentSchema, offer: Offers
) -> Iterator[Choice]:
    compared = offer.source.compared.get(name, ())
    for at, value in enumerate(choices):
        cost = 0.6 + 0.03 * at
        if isinstance(value, str) and (told := said(value, offer.asked)):
            cost = 0.4 - 0.4 * told
        elif schema.get("default") == value:
            cost = 0.3
        elif value in compared:
            cost -= 0.1
        yield Choice(value, cost, "enum")


def _typed(
    name: str, kind: JSON, schema: dict[str, JSON], offer: Offers, root: ArgumentSchema, depth: int
) -> Iterator[Choice]:
    match kind:
        case "string" | None:
            yield from _strings(name, schema, offer)
        case "integer" | "number":
            yield from _numeric(name, kind, schema, offer)
        case "boolean":
            for value, cost in ((True, 0.3), (False, 0.35)):
                yield Choice(value, cost, "enum")
        case "array" if depth < DEEPEST:
            yield from _arrays(name, schema, offer, root, depth)
        case "object" if depth < DEEPEST:
            yield from _objects(schema, offer, root, depth)
        case "null":
            yield Choice(None, 1.0, "filler")
        case _:
            return


def _strings(name: str, schema: dict[str, JSON], offer: Offers) -> Iterator[Choice]:
    if schema.get("format") in {"date", "date-time"}:
        yield from offer.dates
        yield Choice("2000-01-01", 2.5, "filler")
        return
    numeric = any(word in name for word in ("number", "digit", "year"))
    far = is_way(name)
    for choice in offer.texts:
        number = isinstance(choice.value, str) and plain_number(choice.value) is not None
        cost = choice.cost - 0.8 * (number and numeric) + far
        yield Choice(choice.value, cost, choice.source)
    for choice in offer.dates:
        yield Choice(choice.value, choice.cost + 0.8 * ("date" not in name), choice.source)
    for at, value in enumerate(offer.source.compared.get(name, ())):
        if isinstance(value, str) and said(value, offer.asked) == 1:
            yield Choice(value, 0.2 + 0.04 * at, "question")
        elif isinstance(value, str):
            yield Choice(value, 1.2 + 0.04 * at, "literal")
    about = f"{name} {schema.get('description', '')}"
    for choice in offer.dates:
        for at, form in enumerate(notations_named(about)):
            written = in_notation(dt.date.fromisoformat(str(choice.value)), form)
            yield Choice(written, choice.cost + 0.01 * at, "date")
    for at, text in enumerate(described(about)):
        told = said(text, offer.asked) == 1
        yield Choice(
            text, (0.2 if told else 1.25) + 0.05 * at, "question" if told else "description"
        )
    for at, text in enumerate(("all", "any", "general", "database", "wikipedia")):
        yield Choice(text, 2.0 + 0.1 * at, "filler")


_WAYS = ("source", "database", "provider", "delimiter", "separator", "format", "locale", "language")


def is_way(name: str) -> float:
    """What a name costs in a parameter that says how, or by what, to look; 0 in any other."""
    return 2.5 if any(word in name.casefold() for word in _WAYS) else 0.0


def _numeric(name: str, kind: str, schema: dict[str, JSON], offer: Offers) -> Iterator[Choice]:
    for at, date in enumerate(offer.asked.mentions.dates):
        for part, digits in zip(("year", "month", "day"), date.split("-"), strict=True):
            if part in words(name.replace("_", " ")):
                yield Choice(int(digits), 0.05 * at, "date")
    for choice in offer.numbers:
        if kind == "number" or isinstance(choice.value, int):
            yield choice
    for at, value in enumerate(offer.source.compared.get(name, ())):
        if isinstance(value, int):
            yield Choice(value, 1.2 + 0.04 * at, "literal")
    low = schema.get("minimum")
    for at, value in enumerate((low, 1, 0, 2, 3, 10, 100)):
        if isinstance(value, int) and not isinstance(value, bool):
            yield Choice(value, 1.8 + 0.1 * at, "filler")


def _arrays(
    name: str, schema: dict[str, JSON], offer: Offers, root: ArgumentSchema, depth: int
) -> Iterator[Choice]:
    items = schema.get("items")
    inner = pool(name, items, offer, root, depth + 1)
    values = [choice.value for choice in inner]
    low, high = schema.get("minItems"), schema.get("maxItems")
    least = low if isinstance(low, int) else 0
    most = high if isinstance(high, int) else len(values)
    for texts in offer.lists:
        if (group := _group(texts, inner)) and least <= len(group) <= most:
            cost = is_way(name)
            yield Choice([choice.value for choice in group], cost, _farthest(group))
            yield Choice([c.value for c in reversed(group)], 0.7 + cost, _farthest(group))
    for choice in inner[:MOST_VALUES] if least <= 1 <= most else ():
        yield Choice([choice.value], choice.cost + 0.1, choice.source)
    for one, other in itertools.permutations(inner[:5], 2) if least <= 2 <= most else ():
        yield Choice([one.value, other.value], 0.5 + one.cost + other.cost, _farthest((one, other)))
    if isinstance(items, dict) and isinstance(items.get("enum"), list) and most >= len(values):
        yield Choice(values, 1.5, "enum")
    if least == 0:
        yield Choice([], 1.9, "filler")
    elif least > 2 and inner:
        chosen = list(itertools.islice(itertools.cycle(inner), least))
        yield Choice([choice.value for choice in chosen], 1.0, _farthest(chosen))


def _farthest(choices: Sequence[Choice]) -> str:
    """The source of several values: that of the one farthest from the question."""
    return max((choice.source for choice in choices), key=SOURCES.index, default="filler")


def _group(texts: Sequence[str], inner: Sequence[Choice]) -> list[Choice]:
    """The choices that stand for `texts`, in their order; empty where one is not offered."""
    group = []
    for text in texts:
        wanted: tuple[JSON, ...] = (text, *_values(text))
        found = next(
            (c for c in inner if c.value in wanted and not isinstance(c.value, bool)), None
        )
        if found is None:
            return []
        group.append(found)
    return group


def _cost_together(chosen: Sequence[Choice]) -> float:
    """What choices for several fields cost; one name is rarely meant for two of them."""
    distinct = {json.dumps(choice.value, sort_keys=True) for choice in chosen}
    return sum(choice.cost for choice in chosen) + 0.4 * (len(chosen) - len(distinct))


def _objects(
    schema: dict[str, JSON], offer: Offers, root: ArgumentSchema, depth: int
) -> Iterator[Choice]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        yield Choice({}, 1.0, "filler")
        return
    required = schema.get("required")
    names = [name for name in properties if isinstance(required, list) and name in required]
    pools = [pool(name, properties[name], offer, root, depth + 1)[:8] for name in names]
    combinations = sorted(itertools.islice(itertools.product(*pools), 512), key=_cost_together)
    for chosen in combinations[:12]:
        value: dict[str, JSON] = {
            name: choice.value for name, choice in zip(names, chosen, strict=True)
        }
        yield Choice(value, 0.2 + _cost_together(chosen), _farthest(chosen))
    for name in [name for name in properties if name not in names][:6]:
        for choice in pool(name, properties[name], offer, root, depth + 1)[:3]:
            if not names:
                yield Choice({name: choice.value}, 0.8 + choice.cost, choice.source)
