"""Audit of chance hits: random arguments shaped like a gold call. Pure.

Random arguments keep the call's parameters, options and value types. Names and numbers always
differ from the call's. Half of the texts are invented, of any length; the other half are texts from
the tool's source, for which it may well have an entry.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.certify.candidates import Task
from toolhop_tools.dates import whole_date
from toolhop_tools.leaves import Leaf, with_value

HALF = 0.5
"""Share of hits among random arguments above which a tool counts as nearly constant."""
TRIES = 40
"""Attempts per requested argument set, since some do not fit the schema."""
_SYLLABLES = (
    *("ba", "dor", "el", "fim", "ga", "hul", "jin", "ko", "lem", "mar", "nos", "or", "pel"),
    *("quin", "ras", "sto", "tav", "ul", "vex", "wyn", "yor", "zed"),
)


@dataclass(frozen=True, slots=True)
class Chance:
    """Number of random argument sets, and how many of them also returned the gold."""

    runs: int
    hits: int

    @property
    def tells_apart(self) -> bool:
        """Whether other values seldom return the gold; a nearly constant tool proves nothing."""
        return self.runs > 0 and self.hits <= HALF * self.runs


def randomised(
    task: Task, arguments: Mapping[str, JSON], count: int, seed: str
) -> list[dict[str, JSON]]:
    """Return at most `count` distinct random variants of a call, excluding the call itself.

    Options stay the same. If a call has only options, they are changed; if it has no arguments,
    optional ones are added.
    """
    rng = random.Random(seed)
    made = (_variant(task, arguments, rng) for _ in range(TRIES * count))
    return task.others(arguments, made, count)


def _variant(task: Task, arguments: Mapping[str, JSON], rng: random.Random) -> dict[str, JSON]:
    variant = dict(arguments)
    for leaf in task.content(arguments):
        variant = with_value(variant, leaf.path, _other(task, leaf, rng))
    return variant if task.content(arguments) else variant | _options(task, arguments, rng)


def _options(task: Task, arguments: Mapping[str, JSON], rng: random.Random) -> dict[str, JSON]:
    """Draw other options for a call that has nothing else."""
    names = list(task.properties)
    chosen = rng.sample(names, min(len(names), rng.randint(1, 2)))
    given = (name for name in arguments if name in task.properties)
    pools = {name: task.pools[name] for name in dict.fromkeys([*chosen, *given])}
    return {name: rng.choice(choices).value for name, choices in pools.items() if choices}


def _other(task: Task, leaf: Leaf, rng: random.Random) -> JSON:
    """Draw another value of the same kind."""
    if isinstance(leaf.value, str):
        return _text(task, leaf.value, rng)
    return _number(leaf.schema, float(str(leaf.value)), rng, whole=isinstance(leaf.value, int))


def _number(schema: Mapping[str, JSON], value: float, rng: random.Random, *, whole: bool) -> JSON:
    low, high = schema.get("minimum"), schema.get("maximum")
    digits = len(str(abs(int(value)))) if abs(value) < 10**15 else 15
    least = low if isinstance(low, int) else (10 ** (digits - 1) if digits > 1 else 0)
    most = high if isinstance(high, int) else max(10**digits - 1, least + 9)
    drawn = rng.randint(*sorted((least, most))) * (1 if value >= 0 else -1)
    drawn += drawn == value
    return drawn if whole else drawn + rng.randint(0, 9) / 10


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
    size = max(1, min(6, len(value.split()) + rng.randint(-1, 1)))
    made = ("".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(size))
    return " ".join(word.capitalize() for word in made)
