"""What a kind of world holds: types of entities, their attributes and relations, as data.

Each file in `domains/` is a domain. Its phrases are the only English that depends on it: the
grammar (`wording`) puts them together. A path is the names of relations that lead to one entity
each, joined by dots (``harbour.island``); it may end in an attribute (``author.born``).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path

from pydantic import TypeAdapter

FOLDER = Path(__file__).parent / "domains"


class Kind(StrEnum):
    """What an attribute's values are."""

    NUMBER = "number"
    """An integer in a unit."""
    YEAR = "year"
    DATE = "date"
    """A day, as YYYY-MM-DD."""
    CATEGORY = "category"
    """One of a few words."""


COMPARED = (Kind.NUMBER, Kind.YEAR, Kind.DATE)
"""Kinds whose values have an order."""


def difference(kind: str) -> str:
    """The type of the difference between two values of a type (`Attribute.type`)."""
    return {"year": "number years", "date": "number days"}.get(kind, kind)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property of each entity of a type."""

    kind: Kind
    noun: str
    """``length``: "the length of the Orvale". The noun names this attribute alone in its type."""
    unit: str = ""
    """Of a number: ``metres``; a name of `units.UNITS`, or the domain's own (``crowns``). Empty
    where the noun says it: a population, a page count."""
    low: int = 0
    """Smallest value; with `after` what is added to the other value at least. Of a date: a year."""
    high: int = 0
    """Greatest value, or addition."""
    step: int = 1
    """Numbers are multiples of this."""
    values: tuple[str, ...] = ()
    """Of a category."""
    after: str = ""
    """A path to another attribute (``author.born``, or ``built`` of the entity itself) that this
    one follows: the value is that one and `low` to `high` more, of dates in days. It keeps a world
    sensible."""
    verb: str = ""
    """Of a year or date, ``built``: "built after 1900", "was built later"."""
    acts: str = ""
    """``open``, of what does it itself: "that opened in 1900", "the first to open"; empty where
    `verb` is done to it."""
    most: str = ""
    """``longest``: an adjective that plainly names this attribute alone, so that "the longest ship"
    leaves nobody asking in what; with `least`, or empty."""
    least: str = ""
    more: str = ""
    """``longer``, "the longer of the two"; with `less`, or empty."""
    less: str = ""
    measured: bool = True
    """Whether `more` stands before a number too, "longer than 90 metres"."""
    adds: bool = True
    """Whether the values of several are ever added up; not of heights."""
    counted: str = ""
    """Of a number: ``pages``, what it counts: "the book with the fewest pages"."""
    degrees: tuple[str, str] = ("largest", "smallest")
    """Superlatives of the noun, where no adjective is: "the cup with the highest prize"."""
    held: str = ""
    """``platform``, of a platform length: what an adjective goes with, "the one with the longest
    platform"; empty where it is the noun."""
    is_: str = ""
    """Of a category: ``{} film``, said in the place of the type's noun, "the oldest crime film". It
    takes an s."""

    @property
    def type(self) -> str:
        """Type of its values: the kind, with the unit where it has one."""
        return f"{self.kind} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Relation:
    """A link from each entity of a type to one of another, or to several."""

    to: str
    """A type."""
    noun: str
    """``home harbour``: "the home harbour of the Orvale". Of many: the plural, ``ports of call``.
    """
    linked: str
    """``registered at {}``: a phrase after the plural or singular of the type that has the
    relation, "the ships registered at Velmora", ending in `{}`. It may start with ``who``,
    ``that`` or ``whose``. No verb that agrees in number."""
    clause: str = ""
    """``that owns {}``, ``where {} was born``, ``of {}``: after the end's noun, "the town
    where she was born". Empty where the noun says it better, ``main port``, or of many."""
    back: str = ""
    """``visited by {}``: as `linked` or `clause`, of the ends, "the harbours visited by the
    Orvale". Where it is given, each entity has two to five of them."""
    same: tuple[str, ...] = ()
    """Two paths, from the entity and from the end, that lead to one and the same: a patient's
    doctor, ``("ward.hospital", "hospital")``. The empty path is the entity itself, or the end: an
    island's main harbour, ``("", "island")``."""

    @property
    def many(self) -> bool:
        """Whether each entity has several."""
        return bool(self.back)


@dataclass(frozen=True, slots=True)
class EntityType:
    """A kind of thing in a world."""

    noun: str
    """Singular: ``ship``. A file may leave it out where it is the type's name."""
    plural: str
    """A file may leave it out where it is the noun with an s."""
    names: str
    """How names are made: a style of `names.STYLES`, or patterns of them, ``{place} Haven``,
    separated by `` | ``. In a file "the" stands before names that are said with it."""
    count: tuple[int, int]
    """How many a world holds: from, to."""
    article: bool = False
    """Whether the name is said with "the": "the Orvale"."""
    is_said: bool = False
    """Whether the noun is said with a name, since the name does not show it: "the ship Orvale"."""
    code: str = ""
    """Form of a code that each has, as ``SH-####``; ``#`` is a digit. Empty for none."""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)


@dataclass(frozen=True)
class Domain:
    """A kind of world."""

    name: str
    about: str
    """A sentence for data cards: what a world of this domain is."""
    units: dict[str, str] = field(default_factory=dict)
    """Units of its own that nothing converts, with their symbols: ``crowns = "cr"``."""
    types: dict[str, EntityType] = field(default_factory=dict)

    @cached_property
    def links(self) -> tuple[tuple[str, str, Relation], ...]:
        """Every relation, with its type and name."""
        return tuple(
            (of, name, relation)
            for of, kind in self.types.items()
            for name, relation in kind.relations.items()
        )

    def relation(self, of: str, name: str) -> Relation:
        """A relation of a type."""
        return self.types[of].relations[name]

    def attribute(self, of: str, name: str) -> Attribute:
        """An attribute of a type."""
        return self.types[of].attributes[name]

    def end(self, of: str, path: str) -> str:
        """The type that a path of relations leads to from another."""
        for step in path.split(".") if path else ():
            of = self.relation(of, step).to
        return of


_DOMAIN = TypeAdapter(Domain)


@cache
def domains() -> dict[str, Domain]:
    """The domains that ship, by name, in alphabetical order."""
    paths = sorted(FOLDER.glob("*.toml"))
    return {path.stem: parse(path.stem, path.read_text("utf-8")) for path in paths}


def parse(name: str, text: str) -> Domain:
    """A domain from its TOML.

    Raises:
        ValueError: a field is missing, or none of ours, or of another type. That the rest makes
            sense (paths lead somewhere, no phrase is said twice) is left to tests of the files.
    """
    fields = tomllib.loads(text)
    for key, of in fields["types"].items():
        noun = of.setdefault("noun", key.replace("_", " "))
        of.setdefault("plural", f"{noun}s")
        of["article"] = of["names"].startswith("the ")
        of["names"] = of["names"].replace("the ", "")
    return _DOMAIN.validate_python({"name": name, **fields}, extra="forbid")
