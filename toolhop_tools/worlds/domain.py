"""What a kind of world holds: types of entities, their attributes and relations, as data.

Each file in `domains/` is a domain; `domains/shipping.toml` shows every field. The phrases of a
domain are the only English that depends on it: the grammar (`wording`) puts them together.
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


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property of each entity of a type."""

    kind: Kind
    noun: str
    """``length``: "the length of the Orvale". The noun names this attribute alone in its type."""
    unit: str = ""
    """Of a number: ``metres``; a name of `units.UNITS`, or the domain's own (``crowns``)."""
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
    one follows: the value is that one and `low` to `high` more. It keeps a world sensible."""
    most: str = ""
    """``longest``: an adjective that names this attribute and no other of the type; with `least`,
    or empty."""
    least: str = ""
    above: str = ""
    """``longer than {}``: a phrase after the type's noun; ``built after {}``. `{}` takes the value
    with its unit. Of a category `is_`."""
    below: str = ""
    is_: str = ""
    """Of a category: ``with a {} climate``, a phrase after the type's noun."""
    asks: tuple[str, ...] = ()
    """Whole questions, ``In which year was {} built?``, where the noun alone reads badly. Two or
    more for each year and date."""


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
    relation, "the ships registered at Velmora", ending in `{}`."""
    role: str = ""
    """``home of {}``, where "the harbour that is the home of the Orvale" is plain English: the
    target said from the source, ending in `{}`; or empty."""
    many: bool = False
    """Each entity has two to five of them."""
    through: str = ""
    """A path of relations that this one is always equal to: ``harbour.island``."""


@dataclass(frozen=True, slots=True)
class EntityType:
    """A kind of thing in a world."""

    noun: str
    """Singular: ``ship``."""
    plural: str
    names: str
    """How names are made: a style of `names.STYLES`, or a pattern with one, ``The {place} Herald``.
    """
    count: tuple[int, int]
    """How many a world holds: from, to."""
    article: bool = False
    """Whether the name is said with "the": "the Orvale"."""
    code: str = ""
    """Form of a code that each has, as ``SH-###``; ``#`` is a digit. Empty for none."""
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


_DOMAIN = TypeAdapter(Domain)


@cache
def domains() -> dict[str, Domain]:
    """The domains that ship, by name, in alphabetical order."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.toml"))}


def _read(path: Path) -> Domain:
    fields = {"name": path.stem, **tomllib.loads(path.read_text("utf-8"))}
    return _DOMAIN.validate_python(fields, extra="forbid")
