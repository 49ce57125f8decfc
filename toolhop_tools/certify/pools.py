"""Values for a parameter, drawn from its schema, the question and the tool. Pure.

Each value has a cost, lower if a reader of the question and schema would prefer it, and a source,
which is recorded in the certificate. Simple constraints of the schema (`enum`, bounds, lengths) are
respected; the complete call is validated afterwards.
"""

from __future__ import annotations

import ast
import datetime as dt
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.certify.mentions import mentions
from toolhop_tools.certify.readable import Asked, says
from toolhop_tools.dates import dates_in, in_notation, notations_named
from toolhop_tools.declared import required
from toolhop_tools.english import counts_from_zero, is_mark, listed, marks_named, places_named, tail
from toolhop_tools.leaves import resolved
from toolhop_tools.pairing import default_nodes, parse_source, top_functions
from toolhop_tools.words import ARTICLES, as_number, name_words, parts_of, runs, words

MOST_VALUES = 24
"""Maximum number of values tried for one parameter."""
MOST_TEXTS = 400
"""Maximum number of texts taken from a source."""
LONGEST_TEXT = 80
DEEPEST = 3
"""Maximum depth of nested objects and lists that are filled."""

ArgumentSchema: TypeAlias = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Source:
    """Facts read from a tool's source."""

    parses: bool
    defined: bool
    """Whether the named function is defined at module level."""
    needed: tuple[str, ...]
    """Parameters of the function without a default."""
    texts: tuple[str, ...]
    """Short texts in the source, without duplicates."""


@lru_cache(maxsize=64)
def read_source(program: Program) -> Source:
    """Read a source; all fields are empty if it does not parse."""
    tree = parse_source(program.source)
    if tree is None:
        return Source(False, False, (), ())
    function = top_functions(tree).get(program.function)
    texts = _constants(tree)
    if function is None:
        return Source(True, False, (), texts)
    needed = tuple(name for name, node in default_nodes(function.args).items() if node is None)
    return Source(True, True, needed, texts)


def _constants(tree: ast.Module) -> tuple[str, ...]:
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = (text for text in constants if isinstance(text, str) and text.strip())
    short = (text for text in texts if len(text) <= LONGEST_TEXT and text.isprintable())
    return tuple(dict.fromkeys(short))[:MOST_TEXTS]


def named_in(texts: tuple[str, ...], question: str) -> list[str]:
    """Return the texts that occur in the question as whole words, longest first."""
    asked = words(question)
    found = [text for text in texts if len(text) > 2 and runs(words(text), asked)]
    return sorted(found, key=lambda text: -len(words(text)))


_EXAMPLE = re.compile(r"['\"‘“]([^'\"’”]{1,60})['\"’”]|(?:e\.g\.,?|such as|like)\s+([^.;)]{1,200})")


def described(description: str) -> list[str]:
    """Return the example values in a parameter's description."""
    listings = [one or other for one, other in _EXAMPLE.findall(description)]
    found = [part.strip(" '\"") for one in listings for part in re.split(r",| or | and ", one)]
    return [text for text in dict.fromkeys(found) if 0 < len(text) <= 60][:8]


@dataclass(frozen=True, slots=True)
class Choice:
    """A possible value of a parameter."""

    value: JSON
    cost: float
    source: str
    """Origin of the value: ``answer``, ``question``, ``date``, ``enum``, ``default``,
    ``reworded`` (from the question, but capitalised differently, in part, or negated), ``item``
    (the item's question or an earlier answer that is not mentioned) or ``filler``."""

    def dearer(self, more: float) -> Choice:
        """Return the same choice at a higher cost."""
        return Choice(self.value, self.cost + more, self.source)


SOURCES = words("answer question enum default date reworded item filler")
"""Sources, ordered from nearest to the question to farthest."""


@dataclass(frozen=True, slots=True)
class Offers:
    """Material of a hop for filling parameters, read once and used for each parameter."""

    asked: Asked
    source: Source
    schema: ArgumentSchema
    """Schema of the tool, which references point into."""
    notations: tuple[str, ...]
    """Date notations named by the tool's description."""
    texts: tuple[Choice, ...]
    numbers: tuple[Choice, ...]
    dates: tuple[Choice, ...]
    lists: tuple[tuple[str, ...], ...]
    """Groups of mentions: all answers, all names, answers followed by names."""


def offers(
    asked: Asked, source: Source, schema: ArgumentSchema, notations: tuple[str, ...] = ()
) -> Offers:
    """Collect material from the question, the answers before it and the code."""
    named = mentions(asked.item_question)
    return Offers(
        asked,
        source,
        schema,
        notations,
        tuple(_once(_texts(asked, source, named.names))),
        tuple(_once(_numbers(asked, named.numbers))),
        tuple(_once(_dates(asked))),
        _lists(asked),
    )


def _texts(asked: Asked, source: Source, far_names: Sequence[str]) -> Iterator[Choice]:
    found = asked.mentions
    answers = [answer for _, answer in found.answers]
    spelled = [asked.returned[hop] for hop, _ in found.answers if hop in asked.returned]
    # Code that parses a number seldom accepts thousands separators.
    numbers = [one.replace(",", "") for one in answers if "," in one and plain_number(one)]
    start = 0.3 if answers else 0.0
    yield from _costed(answers, 0.0, 0.02, "answer")
    yield from _costed(numbers, 0.05, 0.02, "answer")
    yield from _costed(spelled, 0.25, 0.02, "answer")
    yield from _costed(found.names, start, 0.1, "question")
    yield from _costed(found.quoted, start + 0.05, 0.1, "question")
    # Words of the question, in the code's spelling.
    yield from _costed(named_in(source.texts, found.text)[:10], 0.35, 0.05, "question")
    for at, name in enumerate((*found.names, *answers)):
        yield from _costed(_variants(name), 0.9 + 0.1 * at, 0.0, "reworded")
    yield from _costed(tail(found.text), 1.0, 0.05, "reworded")
    yield from _costed(found.numbers, 1.1, 0.1, "question")
    yield from _costed((*reversed(asked.earlier), *far_names), 1.3, 0.1, "item")


def _costed(values: Iterable[JSON], start: float, step: float, source: str) -> Iterator[Choice]:
    for at, value in enumerate(values):
        yield Choice(value, start + step * at, source)


def _variants(name: str) -> Iterator[str]:
    """Yield other forms of a name: without its article or suffix, or capitalised differently."""
    bare_name = name.split(",")[0].split(" (")[0].strip()
    first, _, rest = bare_name.partition(" ")
    if rest and first.casefold() in ARTICLES:
        yield rest
    if bare_name != name:
        yield bare_name
    for variant in (bare_name.title(), bare_name.lower(), bare_name.upper()):
        if variant != name:
            yield variant


def _numbers(asked: Asked, far: Sequence[str]) -> Iterator[Choice]:
    numbers = [one for text in asked.mentions.numbers for one in _values(text)]
    answers = [one for _, answer in asked.mentions.answers for one in _values(answer)]
    others = [one for text in (*reversed(asked.earlier), *far) for one in _values(text)]
    yield from _costed(answers, 0.0, 0.02, "answer")
    yield from _costed(numbers, 0.1, 0.05, "question")
    yield from _costed([-one for one in numbers], 0.6, 0.05, "reworded")
    yield from _costed(others, 1.3, 0.1, "item")


def _values(text: str) -> Iterator[int | float]:
    """Yield the number in a text, alone or beside a unit (``£84,000``, ``486 m``)."""
    found = words(text)
    numbers = [word for word in found if plain_number(word) is not None]
    beside = len(numbers) == 1 and len(found) <= 2
    number = as_number(numbers[0] if beside else text)
    if number is not None:
        yield number


def _dates(asked: Asked) -> Iterator[Choice]:
    yield from _costed(asked.mentions.dates, 0.0, 0.1, "date")
    for at, text in enumerate((*reversed(asked.earlier), asked.item_question)):
        for _, day in dates_in(text):
            yield Choice(day.isoformat(), 0.5 + 0.1 * at, "date")


def _lists(asked: Asked) -> tuple[tuple[str, ...], ...]:
    answers = tuple(answer for _, answer in asked.mentions.answers)
    every = asked.mentions.names
    # Skip names that are a part or another form of an earlier one.
    known = [[words(one) for one in every[:at]] for at in range(len(every))]
    pairs = zip(every, known, strict=True)
    names = tuple(n for n, before in pairs if not any(runs(name_words(n), one) for one in before))
    together = (answers, names, (*answers, *names), names[:2], asked.mentions.quoted)
    groups = dict.fromkeys((*together, *map(listed, asked.mentions.names), asked.mentions.numbers))
    return tuple(texts for texts in groups if len(texts) > 1)


def _once(choices: Iterable[Choice]) -> list[Choice]:
    """Return the cheapest choice for each value, sorted by cost."""
    best: dict[str, Choice] = {}
    for choice in choices:
        key = json.dumps(choice.value, sort_keys=True)
        if key not in best or choice.cost < best[key].cost:
            best[key] = choice
    return sorted(best.values(), key=lambda choice: choice.cost)


def pool(name: str, schema: JSON, offer: Offers, depth: int = 0) -> list[Choice]:
    """Return values for the parameter `name`, cheapest first."""
    if not isinstance(schema, dict):
        return list(offer.texts[:MOST_VALUES])
    return _once(_choices(name, dict(resolved(schema, offer.schema)), offer, depth))[:MOST_VALUES]


def _choices(name: str, schema: dict[str, JSON], offer: Offers, depth: int) -> Iterator[Choice]:
    if "const" in schema:
        yield Choice(schema["const"], 0.0, "enum")
        return
    choices = schema.get("enum")
    if isinstance(choices, list):
        yield from _enumerated(choices, schema, offer)
        return
    if "default" in schema:
        yield Choice(schema["default"], 0.5, "default")
    for group in ("anyOf", "oneOf", "allOf"):
        options = schema.get(group)
        for option in options if isinstance(options, list) and depth < DEEPEST else ():
            yield from pool(name, option, offer, depth + 1)
    kinds = schema.get("type")
    for at, kind in enumerate(kinds if isinstance(kinds, list) else [kinds]):
        yield from (one.dearer(0.1 * at) for one in _typed(name, kind, schema, offer, depth))


def _enumerated(choices: list[JSON], schema: ArgumentSchema, offer: Offers) -> Iterator[Choice]:
    for at, value in enumerate(choices):
        plain = 0.3 if schema.get("default") == value else 0.6 + 0.03 * at
        named = isinstance(value, str) and says(offer.asked.text, value)
        yield Choice(value, 0.0 if named else plain, "enum")


def _typed(
    name: str, kind: JSON, schema: dict[str, JSON], offer: Offers, depth: int
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
            yield from _arrays(name, schema, offer, depth)
        case "object" if depth < DEEPEST:
            yield from _objects(schema, offer, depth)
        case "null":
            yield Choice(None, 1.0, "filler")


def _strings(name: str, schema: dict[str, JSON], offer: Offers) -> Iterator[Choice]:
    if schema.get("format") in {"date", "date-time"}:
        yield from offer.dates
        yield Choice("2000-01-01", 2.5, "filler")
        return
    if is_mark(schema.get("default")):
        yield from _costed(marks_named(offer.asked.text), 0.1, 0.1, "question")
    yield from offer.texts
    yield from (choice.dearer(0.8 * ("date" not in name)) for choice in offer.dates)
    about = f"{name} {schema.get('description', '')}"
    for choice in offer.dates:
        for at, form in enumerate((*notations_named(about), *offer.notations)):
            written = in_notation(dt.date.fromisoformat(str(choice.value)), form)
            yield Choice(written, choice.cost + 0.01 * at, "date")
    for at, text in enumerate(described(about)):
        yield Choice(text, (0.2 if says(offer.asked.text, text) else 1.25) + 0.05 * at, "default")
    yield Choice("all", 2.0, "filler")


def _numeric(name: str, kind: str, schema: dict[str, JSON], offer: Offers) -> Iterator[Choice]:
    for at, date in enumerate(offer.asked.mentions.dates):
        for part, digits in zip(("year", "month", "day"), date.split("-"), strict=True):
            if part in parts_of(name):
                yield Choice(int(digits), 0.05 * at, "date")
    if counts_from_zero(str(schema.get("description"))):
        for place in places_named(offer.asked.text):
            yield Choice(place - 1, 0.0, "question")
    for choice in offer.numbers:
        if kind == "number" or isinstance(choice.value, int):
            yield choice
    low = schema.get("minimum")
    for at, value in enumerate((low, 1, 0, 2, 3, 10, 100)):
        if isinstance(value, int) and not isinstance(value, bool):
            yield Choice(value, 1.8 + 0.1 * at, "filler")


def _arrays(name: str, schema: dict[str, JSON], offer: Offers, depth: int) -> Iterator[Choice]:
    items = schema.get("items")
    inner = pool(name, items, offer, depth + 1)
    values = [choice.value for choice in inner]
    low, high = schema.get("minItems"), schema.get("maxItems")
    least = low if isinstance(low, int) else 0
    most = high if isinstance(high, int) else len(values)
    for texts in offer.lists:
        if (group := _group(texts, inner)) and least <= len(group) <= most:
            yield Choice([choice.value for choice in group], 0.0, _farthest(group))
    for choice in inner[:MOST_VALUES] if least <= 1 <= most else ():
        yield Choice([choice.value], choice.cost + 0.1, choice.source)
    for one, other in itertools.permutations(inner[:5], 2) if least <= 2 <= most else ():
        yield Choice([one.value, other.value], 0.1 + one.cost + other.cost, _farthest((one, other)))
    if isinstance(items, dict) and isinstance(items.get("enum"), list) and most >= len(values):
        yield Choice(values, 1.5, "enum")


def _farthest(choices: Sequence[Choice]) -> str:
    """Return the source that is farthest from the question."""
    return max((choice.source for choice in choices), key=SOURCES.index, default="filler")


def _group(texts: Sequence[str], inner: Sequence[Choice]) -> list[Choice]:
    """Return the choices for `texts`, in their order; empty if any is missing."""
    group: list[Choice] = []
    for text in texts:
        wanted: tuple[JSON, ...] = (text, *_values(text))
        found = [c for c in inner if c.value in wanted and not isinstance(c.value, bool)]
        group += found[:1]
    return group if len(group) == len(texts) else []


def _objects(schema: dict[str, JSON], offer: Offers, depth: int) -> Iterator[Choice]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        yield Choice({}, 1.0, "filler")
        return
    names = [name for name in properties if name in required(schema)]
    pools = [pool(name, properties[name], offer, depth + 1)[:8] for name in names]
    combinations = itertools.islice(itertools.product(*pools), 512)
    for chosen in sorted(combinations, key=lambda each: sum(one.cost for one in each))[:12]:
        made: dict[str, JSON] = {n: one.value for n, one in zip(names, chosen, strict=True)}
        yield Choice(made, 0.2 + sum(one.cost for one in chosen), _farthest(chosen))
