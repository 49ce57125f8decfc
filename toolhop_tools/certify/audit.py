"""How often chance gets to the answer: random arguments of a gold call's shape. Pure.

Random arguments keep the call's parameters and their types, and the choices that the schema names.
Names and numbers are always others than the call's: half of the texts are made up, half are
others of the tool's own texts, for which it may well have an entry.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.pools import resolved
from toolhop_tools.dates import whole_date

TRIES = 40
"""Random sets that are drawn for each that is wanted, as some do not fit the schema."""
_SYLLABLES = (
    *("ba", "dor", "el", "fim", "ga", "hul", "jin", "ko", "lem", "mar", "nos", "or", "pel"),
    *("quin", "ras", "sto", "tav", "ul", "vex", "wyn", "yor", "zed"),
)


@dataclass(frozen=True, slots=True)
class Chance:
    """How many of the random argument sets gave the gold answer as well."""

    runs: int
    hits: int

    @property
    def rate(self) -> float | None:
        """Share of hits; None where the call has no arguments to vary."""
        return self.hits / self.runs if self.runs else None


def randomised(
    task: Task, arguments: Mapping[str, JSON], count: int, seed: str
) -> list[dict[str, JSON]]:
    """At most `count` distinct random variants of a call, none of them the call itself."""
    rng = random.Random(seed)
    found: dict[str, dict[str, JSON]] = {}
    own = json.dumps(arguments, sort_keys=True)
    for _ in range(TRIES * count if arguments else 0):
        if len(found) == count:
            break
        variant = {
            name: _other(task, task.properties.get(name), value, rng)
            for name, value in arguments.items()
        }
        key = json.dumps(variant, sort_keys=True)
        if key != own and task.fits(variant):
            found.setdefault(key, variant)
    return list(found.values())


def empty_ones(task: Task, arguments: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
    """Changes of one parameter to an empty value, or of one that is left out to its first ones."""
    for name in task.properties:
        if name not in arguments:
            yield from ({name: choice.value} for choice in task.pool(name)[:2])
            continue
        match arguments[name]:
            case bool(value):
                yield {name: not value}
            case str():
                yield {name: ""}
            case list():
                yield {name: []}
            case dict():
                yield {name: {}}
            case int() | float():
                yield {name: 0}
                yield {name: -1}


def _other(task: Task, schema: JSON, value: JSON, rng: random.Random) -> JSON:
    """Another value of the same kind."""
    known = resolved(schema, task.schema) if isinstance(schema, dict) else {}
    choices = known.get("enum")
    if isinstance(choices, list) and choices:
        return rng.choice(choices)
    if isinstance(value, bool) or value is None:
        return rng.random() < 0.5 if isinstance(value, bool) else None
    if isinstance(value, int | float):
        return _number(known, value, rng)
    if isinstance(value, str):
        return _text(task, value, rng)
    if isinstance(value, list):
        items = known.get("items")
        return [_other(task, items, part, rng) for part in value]
    properties = known.get("properties")
    inner = properties if isinstance(properties, dict) else {}
    return {key: _other(task, inner.get(key), part, rng) for key, part in value.items()}


def _number(schema: Mapping[str, JSON], value: float, rng: random.Random) -> JSON:
    low, high = schema.get("minimum"), schema.get("maximum")
    digits = len(str(abs(int(value)))) if abs(value) < 10**15 else 15
    least = low if isinstance(low, int) else (10 ** (digits - 1) if digits > 1 else 0)
    most = high if isinstance(high, int) else max(10**digits - 1, least + 9)
    drawn = rng.randint(min(least, most), max(least, most))
    drawn = drawn if value >= 0 else -drawn
    if drawn == value:
        drawn += 1
    return drawn if isinstance(value, int) else drawn + rng.randint(0, 9) / 10


def _text(task: Task, value: str, rng: random.Random) -> str:
    if plain_number(value) is not None and value.isdigit():
        low = 10 ** (len(value) - 1) if len(value) > 1 else 0
        return str(rng.randint(low, 10 ** len(value) - 1))
    if whole_date(value) is not None:
        return f"{rng.randint(1500, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    if len(value) == 1:
        return rng.choice("abcdefghijklmnopqrstuvwxyz")
    texts = [text for text in task.source.texts if len(text) > 2 and text != value]
    if texts and rng.random() < 0.5:
        return rng.choice(texts)
    return " ".join(_name(len(word), rng) for word in value.split()[:6]) or _name(5, rng)


def _name(length: int, rng: random.Random) -> str:
    """A made-up word of about that length."""
    return "".join(_syllables(length, rng)).capitalize()


def _syllables(length: int, rng: random.Random) -> Iterator[str]:
    while length > 0:
        syllable = rng.choice(_SYLLABLES)
        length -= len(syllable)
        yield syllable
