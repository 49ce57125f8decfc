"""What a kind of world holds: types of entities, their attributes and relations, as data.

Each file in `domains/` is a domain. Its phrases are the only English that depends on it: the
grammar (`wording`) puts them together. A path is the names of relations that lead to one entity
each, joined by dots (``harbour.island``); it may end in an attribute (``author.born``).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from toolhop_tools.worlds.names import STYLES, styles
from toolhop_tools.worlds.units import UNITS

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
    most: str = ""
    """``longest``: an adjective that plainly names this attribute alone, so that "the longest ship"
    leaves nobody asking in what; with `least`, or empty."""
    least: str = ""
    more: str = ""
    """``longer``, before "than 90 metres"; with `less`, or empty."""
    less: str = ""
    is_: str = ""
    """Of a category: ``with a {} climate``, a phrase after the type's noun."""


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
    relation, "the ships registered at Velmora", ending in `{}`. No verb that agrees in number."""
    does: str = ""
    """``owns {}``: what the end does, "the company that owns the Orvale". Empty where nothing but
    ``is the owner of {}`` can be said."""
    back: str = ""
    """``visited by {}``: as `linked`, of the ends, "the harbours visited by the Orvale". Where it
    is given, each entity has two to five of them."""
    through: str = ""
    """A path that this relation is always equal to: ``harbour.island``."""
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
        """The type that a path of relations leads to from another.

        Raises:
            LookupError: a step is no relation there, or one of many.
        """
        for step in path.split(".") if path else ():
            relations = {name for name, link in self.types[of].relations.items() if not link.many}
            if step not in relations:
                allowed = ", ".join(sorted(relations)) or "nothing"
                raise LookupError(f"{path!r} is no path: {of} leads to {allowed}, not to {step!r}")
            of = self.types[of].relations[step].to
        return of


class DomainError(ValueError):
    """A domain's file is not valid; the message lists what is wrong, a line each."""


_DOMAIN = TypeAdapter(Domain)
_TIMES = (Kind.YEAR, Kind.DATE)


@cache
def domains() -> dict[str, Domain]:
    """The domains that ship, by name, in alphabetical order."""
    paths = sorted(FOLDER.glob("*.toml"))
    return {path.stem: parse(path.stem, path.read_text("utf-8")) for path in paths}


def parse(name: str, text: str) -> Domain:
    """A domain from its TOML.

    Raises:
        DomainError: it is not valid.
    """
    try:
        fields = tomllib.loads(text)
        types = fields.get("types")
        for key, of in types.items() if isinstance(types, dict) else ():
            noun = of.setdefault("noun", key.replace("_", " "))
            of.setdefault("plural", f"{noun}s")
            of["article"] = "the " in of.get("names", "")
            of["names"] = of.get("names", "").replace("the ", "")
        domain = _DOMAIN.validate_python({"name": name, **fields}, extra="forbid")
        faults = list(_faults(domain))
    except tomllib.TOMLDecodeError as error:
        faults = [str(error)]
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    if faults:
        raise DomainError("\n".join(f"{name}.toml: {fault}" for fault in faults))
    return domain


def _faults(domain: Domain) -> Iterator[str]:
    """What is wrong with a domain whose fields are of the right types."""
    types = domain.types
    used = {of.unit for kind in types.values() for of in kind.attributes.values()}
    for unit in sorted(set(domain.units) - (used - set(UNITS))):
        yield f"units.{unit}: no attribute has it, or it is a unit of measure already; leave it out"
    for noun in _twice(noun for of in types.values() for noun in (of.noun, of.plural)):
        yield f"types: two have the noun {noun!r}; change one"
    for head in _twice(of.code.split("#")[0] for of in types.values()):
        yield f"types: two have codes that begin with {head!r}; change one"
    for name, kind in types.items():
        yield from (f"types.{name}.{fault}" for fault in _type_faults(kind))
        for key, of in kind.attributes.items():
            at = f"types.{name}.attributes.{key}"
            yield from (f"{at}.{fault}" for fault in _attribute_faults(domain, of))
        for key, link in kind.relations.items():
            at = f"types.{name}.relations.{key}"
            yield from (f"{at}.{fault}" for fault in _relation_faults(domain, link))
    if all(link.to in types for _, _, link in domain.links):
        yield from _path_faults(domain)
        near = {name: {name} for name in types}
        for source, _, link in domain.links:
            joined = near[source] | near[link.to]
            near |= dict.fromkeys(joined, joined)
        first = next(iter(types), "")
        for name in sorted(types.keys() - near.get(first, set())):
            yield f"types.{name}: no relations join it to {first}; add one"


def _type_faults(kind: EntityType) -> Iterator[str]:
    used, digits = styles(kind.names), kind.code.count("#")
    if not used or not STYLES.keys() >= set(used):
        yield f"names: {kind.names!r} asks for a style that is not among {', '.join(STYLES)}"
    if not 2 <= kind.count[0] <= kind.count[1]:
        yield f"count: {list(kind.count)} is not from 2 or more to as many or more"
    if kind.code and (digits < 4 or kind.code.find("#" * digits) < 1):
        yield f"code: {kind.code!r} is not letters and then four or more #, as SH-####"
    attributes, links = kind.attributes.values(), kind.relations.values()
    nouns = [*(of.noun for of in attributes), *(link.noun for link in links)]
    ranks = [rank for of in attributes for rank in (of.most, of.least)]
    for said in (nouns, ranks, [link.linked for link in links]):
        yield from (f"*: {text!r} is said of two fields; change one" for text in _twice(said))


def _attribute_faults(domain: Domain, of: Attribute) -> list[str]:
    timed, units = of.kind in _TIMES, [*UNITS, *domain.units]
    degrees = (of.most, of.least, of.more, of.less)
    if of.kind is Kind.CATEGORY:
        return _broken(
            (len(of.values) < 3 or _twice(of.values), "values: three or more, each once"),
            (of.is_.count("{}") != 1, f"is_: {of.is_!r} is not a phrase with one {{}}"),
            (
                any((of.low, of.high, of.verb, *degrees, of.after, of.unit)),
                "kind: a category has a noun, values and is_ alone",
            ),
        )
    return _broken(
        (of.values or of.is_, "kind: only a category has values and is_"),
        (bool(of.most) != bool(of.least), "most: goes with least; leave out both or neither"),
        (bool(of.more) != bool(of.less), "more: goes with less; leave out both or neither"),
        (of.low >= of.high, f"low: {of.low} is not below high, {of.high}"),
        (of.step < 1 or of.low % of.step, "step: low is not a multiple of it"),
        (timed != bool(of.verb), "verb: years and dates have one, and nothing else"),
        (timed and (of.unit or of.step > 1), f"unit: a {of.kind} has neither unit nor step"),
        (
            of.unit and of.unit not in units,
            f"unit: {of.unit!r} is none of {', '.join(units)}; or declare it under [units]",
        ),
        (
            timed and not of.after and not 1000 <= of.low < of.high <= 2024,
            f"low: {of.low} to {of.high} are not years from 1000 to 2024",
        ),
    )


def _relation_faults(domain: Domain, link: Relation) -> list[str]:
    phrases = {"linked": link.linked, "does": link.does, "back": link.back}
    opened = [
        (not _is_open(phrase), f"{name}: {phrase!r} does not end in {{}}, its only one")
        for name, phrase in phrases.items()
        if phrase or name == "linked"
    ]
    return _broken(
        (link.to not in domain.types, f"to: {link.to!r} is none of {', '.join(domain.types)}"),
        *opened,
        (
            bool(link.through) + bool(link.same) + link.many > 1,
            "through: a relation has one of through, same and back at most",
        ),
        (
            link.same and len(link.same) != 2,
            "same: needs two paths, from the entity and from its end",
        ),
    )


def _broken(*rules: tuple[object, str]) -> list[str]:
    """What is said of the rules that something breaks."""
    return [fault for breaks, fault in rules if breaks]


def _path_faults(domain: Domain) -> Iterator[str]:
    """Paths that do not exist, lead elsewhere, or go round in a circle."""
    needs: dict[str, list[str]] = {}
    for name, key, link in domain.links:
        at, needed = f"types.{name}.relations.{key}", needs.setdefault(f"{name}.{key}", [])
        try:
            if link.through and (end := domain.end(name, link.through)) != link.to:
                yield f"{at}.through: {link.through!r} leads to {end}, not to {link.to}"
            needed += _steps(domain, name, link.through)
            if len(link.same) == 2:
                if domain.end(name, link.same[0]) != domain.end(link.to, link.same[1]):
                    yield f"{at}.same: {list(link.same)} lead to two types"
                needed += _steps(domain, name, link.same[0])
                needed += _steps(domain, link.to, link.same[1])
        except LookupError as error:
            yield f"{at}: {error.args[0]}"
    for name, kind in domain.types.items():
        for key, of in kind.attributes.items():
            path, _, last = of.after.rpartition(".")
            try:
                owner = domain.types[domain.end(name, path)].attributes
            except LookupError as error:
                yield f"types.{name}.attributes.{key}.after: {error.args[0]}"
                continue
            kinds = _TIMES if of.kind in _TIMES else (of.kind,)
            allowed = [each for each, before in owner.items() if before.kind in kinds]
            if of.after and last not in allowed:
                names = ", ".join(allowed) or "nothing"
                yield f"types.{name}.attributes.{key}.after: {last!r} is none of {names}"
            needs[f"{name}.{key}"] = _steps(domain, name, of.after)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        yield f"types: {' needs '.join(error.args[1])}; break the circle"


def _steps(domain: Domain, of: str, path: str) -> list[str]:
    """The fields that a path passes, each with its type."""
    steps = path.split(".") if path else []
    return [f"{domain.end(of, '.'.join(steps[:at]))}.{step}" for at, step in enumerate(steps)]


def _is_open(phrase: str) -> bool:
    return phrase.endswith(" {}") and phrase.count("{") == 1


def _twice(texts: Iterable[str]) -> list[str]:
    return [text for text, count in Counter(texts).items() if text and count > 1]
