"""Kinds of worlds as data: types of entities with their attributes and relations.

Each file in `domains/` is a domain. Its phrases are the only English that depends on it: the
grammar (`wording`) combines them.

A path is a sequence of relation names joined by dots, each leading to one entity
(``harbour.island``); it may end in an attribute (``author.born``).
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
    """Kind of an attribute's values."""

    NUMBER = "number"
    """An integer with a unit."""
    YEAR = "year"
    DATE = "date"
    """A day as YYYY-MM-DD."""
    CATEGORY = "category"
    """One of a few words."""


COMPARED = (Kind.NUMBER, Kind.YEAR, Kind.DATE)
"""Kinds whose values are ordered."""


def difference(kind: str) -> str:
    """Return the type of the difference between two values of a type (`Attribute.type`)."""
    return {"year": "number years", "date": "number days"}.get(kind, kind)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property of every entity of a type."""

    kind: Kind
    noun: str
    """``length``: "the length of the Orvale". The noun is unique among the attributes of its
    type."""
    unit: str = ""
    """Unit of a number, such as ``metres``: a name in `units.UNITS`, or one of the domain's own
    (``crowns``). Empty if the noun implies it: a population, a page count."""
    low: int = 0
    """Smallest value (for a date: a year); with `after`, the smallest amount added to the other
    value."""
    high: int = 0
    """Greatest value or added amount."""
    step: int = 1
    """Numbers are multiples of this."""
    values: tuple[str, ...] = ()
    """Values of a category."""
    after: str = ""
    """Path to an attribute that this one follows (``author.born``, or ``built`` of the entity
    itself): the value is that one plus `low` to `high`, for dates in days. Keeps a world
    plausible."""
    verb: str = ""
    """Verb for a year or date, such as ``built``: "built after 1900", "was built later"."""
    acts: str = ""
    """Active verb, such as ``open``: "that opened in 1900", "the first to open"; empty if `verb`
    is passive."""
    most: str = ""
    """Superlative, such as ``longest``, that clearly means this attribute alone, so that "the
    longest ship" is unambiguous; given together with `least`, or empty."""
    least: str = ""
    more: str = ""
    """Comparative, such as ``longer`` in "the longer of the two"; given together with `less`, or
    empty."""
    less: str = ""
    measured: bool = True
    """Whether `more` can also precede a number: "longer than 90 metres"."""
    adds: bool = True
    """Whether values may be added up (heights, for example, may not)."""
    counted: str = ""
    """What a number counts, such as ``pages``: "the book with the fewest pages"."""
    degrees: tuple[str, str] = ("largest", "smallest")
    """Superlatives of the noun, used if there is no adjective: "the cup with the highest prize"."""
    held: str = ""
    """Noun for an adjective, such as ``platform`` for a platform length: "the one with the
    longest platform"; empty if it is `noun`."""
    is_: str = ""
    """Phrase with a category that replaces the type's noun, such as ``{} film`` in "the oldest
    crime film". Its plural takes an s."""

    @property
    def type(self) -> str:
        """Type of the values: the kind, with the unit if there is one."""
        return f"{self.kind} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Relation:
    """A link from each entity of a type to one or several entities of another."""

    to: str
    """Target type."""
    noun: str
    """``home harbour``: "the home harbour of the Orvale". The plural for many: ``ports of
    call``."""
    linked: str
    """Phrase such as ``registered at {}``, after the singular or plural of the source type: "the
    ships registered at Velmora". It ends in `{}`, may start with ``who``, ``that`` or ``whose``,
    and has no verb that agrees in number."""
    clause: str = ""
    """Clause after the target's noun, such as ``that owns {}``, ``where {} was born`` or ``of
    {}``: "the town where she was born". Empty if the noun is better, as in ``main port``, or for
    many."""
    back: str = ""
    """Phrase for the targets, such as ``visited by {}``, in the form of `linked` or `clause`:
    "the harbours visited by the Orvale". If given, each entity has two to five targets."""
    same: tuple[str, ...] = ()
    """Two paths, from the source and from the target, that must lead to the same entity:
    ``("ward.hospital", "hospital")`` for a patient's doctor. An empty path is the source or
    target itself: ``("", "island")`` for an island's main harbour."""

    @property
    def many(self) -> bool:
        """Whether each entity has several targets."""
        return bool(self.back)


@dataclass(frozen=True, slots=True)
class EntityType:
    """A kind of thing in a world."""

    noun: str
    """Singular, such as ``ship``. May be omitted in a file if it equals the type's name."""
    plural: str
    """May be omitted in a file if it is the noun with an s."""
    names: str
    """How names are made: a style in `names.STYLES`, or patterns of them such as ``{place} Haven``,
    separated by `` | ``. In a file, a leading "the" marks names used with the article."""
    count: tuple[int, int]
    """Smallest and greatest number of entities in a world."""
    article: bool = False
    """Whether the name takes "the": "the Orvale"."""
    is_said: bool = False
    """Whether the noun precedes the name, which does not reveal it: "the ship Orvale"."""
    code: str = ""
    """Format of the entities' codes, such as ``SH-####``, where ``#`` is a digit; empty for
    none."""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)


@dataclass(frozen=True)
class Domain:
    """A kind of world."""

    name: str
    about: str
    """One sentence for data cards about worlds of this domain."""
    units: dict[str, str] = field(default_factory=dict)
    """The domain's own units, which are never converted, with their symbols: ``crowns = "cr"``."""
    types: dict[str, EntityType] = field(default_factory=dict)

    @cached_property
    def links(self) -> tuple[tuple[str, str, Relation], ...]:
        """All relations, each with its source type and name."""
        return tuple(
            (of, name, relation)
            for of, kind in self.types.items()
            for name, relation in kind.relations.items()
        )

    def relation(self, of: str, name: str) -> Relation:
        """Return a relation of a type."""
        return self.types[of].relations[name]

    def attribute(self, of: str, name: str) -> Attribute:
        """Return an attribute of a type."""
        return self.types[of].attributes[name]

    def end(self, of: str, path: str) -> str:
        """Return the type to which a path of relations leads from a type."""
        for step in path.split(".") if path else ():
            of = self.relation(of, step).to
        return of


_DOMAIN = TypeAdapter(Domain)


@cache
def domains() -> dict[str, Domain]:
    """Return the built-in domains by name, in alphabetical order."""
    paths = sorted(FOLDER.glob("*.toml"))
    return {path.stem: parse(path.stem, path.read_text("utf-8")) for path in paths}


def parse(name: str, text: str) -> Domain:
    """Parse a domain from its TOML.

    Raises:
        ValueError: a field is missing, unknown or of the wrong type. Consistency (that paths lead
            somewhere, that no phrase is used twice) is checked by tests of the files.
    """
    fields = tomllib.loads(text)
    for key, of in fields["types"].items():
        noun = of.setdefault("noun", key.replace("_", " "))
        of.setdefault("plural", f"{noun}s")
        of["article"] = of["names"].startswith("the ")
        of["names"] = of["names"].replace("the ", "")
    return _DOMAIN.validate_python({"name": name, **fields}, extra="forbid")
