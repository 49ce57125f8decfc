"""Specs of generated data sets as text: ``seed=7,items=200,hops=3-5``; tiers and benchmarks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import Item
from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.knobs import Joins, Knobs, Near, Style

MOST = 10**9
"""Maximum of a whole number."""
ITEMS = 200
"""Default number of items."""
FIELD = "world"
"""Field of an item's row that contains its `reference`."""


@dataclass(frozen=True, slots=True)
class Spec:
    """Items with the same knobs; one spec and generator version always make the same items."""

    seed: int = 0
    items: int = ITEMS
    knobs: Knobs = field(default_factory=Knobs)
    tier: int = 0
    """Tier of the knobs; 0 for none."""

    def id_of(self, index: int) -> str:
        """Return the id of an item by its index, from 0: ``w7-12``, or with a tier ``w7t2-12``."""
        return f"w{self.seed}{f't{self.tier}' if self.tier else ''}-{index}"

    def reference(self, index: int, generator: int) -> dict[str, JSON]:
        """Return what is needed to make an item again; stored in the item's row under `FIELD`."""
        place: dict[str, JSON] = {"seed": self.seed, "tier": self.tier, "index": index}
        return {"generator": generator, **place, "knobs": knobs_text(self.knobs)}


@dataclass(frozen=True, slots=True)
class Series:
    """Consecutive specs that make up a data set."""

    text: str
    """Canonical text, which `parse` reads as this series."""
    specs: tuple[Spec, ...]

    def __len__(self) -> int:
        return sum(spec.items for spec in self.specs)

    def place(self, index: int) -> tuple[Spec, int]:
        """Return an item's spec, and its index there.

        Raises:
            IndexError: there is no such item.
        """
        for spec in self.specs:
            if index < spec.items:
                return spec, index
            index -= spec.items
        raise IndexError(index)

    def index_of(self, identity: str) -> int:
        """Return the index of the item with an id.

        Raises:
            ValueError: there is no such item.
        """
        digits, start = identity.rpartition("-")[2], 0
        index = int(digits) if re.fullmatch(r"\d{1,10}", digits, re.ASCII) else MOST
        for spec in self.specs:
            if index < spec.items and spec.id_of(index) == identity:
                return start + index
            start += spec.items
        raise ValueError(identity)


TIERS: tuple[Knobs, ...] = (
    Knobs(hops=(2, 3), joins=Joins.NONE),
    Knobs(hops=(3, 4)),
    Knobs(hops=(4, 5), tools=20),
    Knobs(hops=(5, 6), tools=30, near=Near.TWINS, size=3, page=10, units=True),
    Knobs(
        hops=(6, 8),
        joins=Joins.ALL,
        tools=50,
        near=Near.TWINS,
        size=3,
        page=20,
        units=True,
        codes=True,
        failures=1,
    ),
)
"""Knobs from the easiest tier to the hardest. In the last one, branches meet, lists have pages,
tools have twins and fail at first, and keys and units differ between calls."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A fixed series."""

    seed: int
    items: int
    """Number of items per tier."""
    tiers: tuple[Knobs, ...]
    generator: int
    """Version of the generator that makes its items."""


BENCHMARKS: Mapping[str, Benchmark] = {"worlds-2026.11": Benchmark(202611, 100, TIERS, 1)}
"""Benchmarks by name. The meaning of a name never changes."""


# -- settings as text ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """Text format of a setting."""

    about: str
    allowed: str
    read: Callable[[str], Any]
    """Parser; raises ValueError."""
    write: Callable[[Any], str] = str


def _whole(text: str, low: int, high: int) -> int:
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII) or not low <= int(text) <= high:
        raise ValueError(text)
    return int(text)


def _number(about: str, low: int, high: int = MOST) -> Setting:
    allowed = f"a whole number from {low} to {high:,}"
    return Setting(about, allowed, lambda text: _whole(text, low, high))


def _range(about: str, low: int, high: int) -> Setting:
    def read(text: str) -> tuple[int, int]:
        first, dash, last = text.partition("-")
        start = _whole(first, low, high)
        return start, _whole(last, start, high) if dash else start

    allowed = f"a whole number from {low} to {high}, or two such as {low}-{high}"
    return Setting(about, allowed, read, lambda ends: "-".join(map(str, dict.fromkeys(ends))))


def _switch(about: str) -> Setting:
    return Setting(about, "yes or no", ("no", "yes").index, ("no", "yes").__getitem__)


def _kind(about: str, kind: type[StrEnum]) -> Setting:
    return Setting(about, f"one of {', '.join(kind)}", kind)


def _some(about: str, known: Mapping[str, Any]) -> Setting:
    def read(text: str) -> tuple[Any, ...]:
        if unknown := set(names := text.split("+")) - known.keys():
            raise ValueError(unknown)
        return tuple(known[name] for name in known if name in names)

    allowed = f"some of {', '.join(known)}, joined by +"
    return Setting(about, allowed, read, lambda values: "+".join(map(str, values)))


def _size(text: str) -> float:
    if not re.fullmatch(r"\d{1,2}(\.\d{1,2})?", text, re.ASCII) or not 0.5 <= float(text) <= 50:
        raise ValueError(text)
    return float(text)


KNOBS: Mapping[str, Setting] = {
    "hops": _range("Calls that an item's chain needs.", 2, 8),
    "joins": _kind("Share of items whose chains have branches that meet; some: a third.", Joins),
    "tools": _number("Tools on offer, shuffled; 0 for all of the world's.", 0, 500),
    "near": _kind("Tools that no hop uses: the world's others, or twins first.", Near),
    "styles": _some("Styles of tools.", {style.value: style for style in Style}),
    "listing": _switch("Whether each type has a tool that lists its entities."),
    "size": Setting("Factor on the worlds' size.", "a number from 0.5 to 50", _size, "{:g}".format),
    "page": _number("Rows on a page of results; 0 for one page.", 0, 1000),
    "units": _switch("Whether some questions ask for other units than tools give."),
    "codes": _switch("Whether questions and tools use codes for names."),
    "failures": _number("Number of first calls that fail, for one hop's tool.", 0, 10),
    "domains": _some("Domains; by default all.", {name: name for name in domains()}),
    "forms": _some("Surface forms of questions.", {str(form): form for form in Knobs().forms}),
}
"""The fields of `Knobs`, in their order."""
SETTINGS: Mapping[str, Setting] = {
    "seed": _number("Seed of all random choices.", 0),
    "items": _number("Items to make.", 1),
    "tier": _range("Settings of a tier, or tiers in turn; other settings win.", 1, len(TIERS)),
    **KNOBS,
}
"""All settings that a text can contain."""
NAMES = ", ".join(f"{name}=" for name in SETTINGS)


def knobs_text(knobs: Knobs) -> str:
    """Format all knobs as text, including defaults."""
    values = [(name, getattr(knobs, name), setting) for name, setting in KNOBS.items()]
    return ",".join(
        f"{name}={setting.write(value)}" for name, value, setting in values if value != ()
    )


def referred(item: Item) -> tuple[Spec, int] | None:
    """Return the spec and index in an item's `Spec.reference`; None if it has none."""
    fields: Any = item.extra.get(FIELD)
    try:
        knobs = parse(fields["knobs"]).specs[0].knobs
        return Spec(fields["seed"], ITEMS, knobs, fields["tier"]), fields["index"]
    except (BadChoice, KeyError, TypeError, AttributeError):
        return None


def parse(text: str) -> Series:
    """Parse a text into a series.

    Args:
        text: settings such as ``seed=7,items=200,hops=3-5``, empty for all defaults; or a
            benchmark's name, alone or with tiers: ``worlds-2026.11,tier=1-2``, ``2026.11``.

    Raises:
        BadChoice: the message says what is allowed.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    name = _benchmark(parts.pop(0), text) if parts and "=" not in parts[0] else ""
    given: dict[str, Any] = {}
    for part in parts:
        key, _, value = (piece.strip() for piece in part.partition("="))
        if name and key != "tier":
            raise _bad(text, f"{name} is fixed, and {part!r} is given", "give no more than tier=")
        if key not in SETTINGS:
            raise _bad(text, f"{part!r} sets nothing{_near(key)}", f"give some of {NAMES}")
        if key in given:
            raise _bad(text, f"{key}= is given twice", "give it once")
        try:
            given[key] = SETTINGS[key].read(value)
        except ValueError:
            message = f"{key}= is {value!r}"
            raise _bad(text, message, f"give {SETTINGS[key].allowed}") from None
    return _series(text, name, given)


def _benchmark(given: str, text: str) -> str:
    for name in BENCHMARKS:
        if given in {name, name.partition("-")[2]}:
            return name
    fix = f"give some of {', '.join([*BENCHMARKS, NAMES])}"
    raise _bad(text, f"{given!r} is no benchmark and no setting{_near(given)}", fix)


def _near(given: str) -> str:
    near = get_close_matches(given, [*BENCHMARKS, *(f"{name}=" for name in SETTINGS)], n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _bad(text: str, message: str, fix: str) -> BadChoice:
    return BadChoice(message, origin=f"worlds:{text}", fix=fix)


def _series(text: str, name: str, given: Mapping[str, Any]) -> Series:
    fixed = BENCHMARKS.get(name)
    tiers = fixed.tiers if fixed else TIERS
    first, last = given.get("tier", (1, len(tiers)) if fixed else (0, 0))
    count = last - first + 1
    seed = fixed.seed if fixed else given.get("seed", 0)
    items = fixed.items * count if fixed else given.get("items", ITEMS)
    if items < count:
        message = f"items= is {items}, and tier= names {count} tiers"
        raise _bad(text, message, f"give items={count} or more")
    own = {key: value for key, value in given.items() if key in KNOBS}
    specs = tuple(
        Spec(seed, items // count + (at < items % count), replace(preset, **own), tier)
        for at, tier in enumerate(range(first, last + 1))
        for preset in [tiers[tier - 1] if tier else Knobs()]
    )
    shown = given if fixed else {"seed": seed, "items": items, **given}
    written = [f"{key}={SETTINGS[key].write(shown[key])}" for key in SETTINGS if key in shown]
    return Series(",".join([name, *written] if fixed else written), specs)
