"""What is wrong with a domain whose fields are of the right types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

from toolhop_tools.worlds.checks import FEW
from toolhop_tools.worlds.domain import COMPARED, Attribute, Domain, EntityType, Kind, Relation
from toolhop_tools.worlds.names import STYLES, styles
from toolhop_tools.worlds.units import UNITS

_TIMES = (Kind.YEAR, Kind.DATE)


def faults(domain: Domain) -> Iterator[str]:
    """A line for each fault, with its place and what to do."""
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
    if not {of.kind for of in attributes} & {*COMPARED}:
        yield "attributes: none has an order; add a number, year or date"
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
                any((of.low, of.high, of.verb, *degrees, of.after, of.unit, of.counted)),
                "kind: a category has a noun, values and is_ alone",
            ),
        )
    return _broken(
        (of.values or of.is_, "kind: only a category has values and is_"),
        (bool(of.most) != bool(of.least), "most: goes with least; leave out both or neither"),
        (bool(of.more) != bool(of.less), "more: goes with less; leave out both or neither"),
        (of.counted and of.kind is not Kind.NUMBER, "counted: only a number counts"),
        (of.low >= of.high, f"low: {of.low} is not below high, {of.high}"),
        (of.step < 1 or of.low % of.step, "step: low is not a multiple of it"),
        (timed != bool(of.verb), "verb: years and dates have one, and nothing else"),
        (timed and (of.unit or of.step > 1), f"unit: a {of.kind} has neither unit nor step"),
        (
            of.unit and of.unit not in units,
            f"unit: {of.unit!r} is none of {', '.join(units)}; or declare it under [units]",
        ),
        (
            of.kind is not Kind.DATE and not of.after and (of.high - of.low) // of.step < FEW,
            f"step: fewer than {FEW} values are too easily guessed",
        ),
        (
            timed and not of.after and not 1000 <= of.low < of.high <= 2024,
            f"low: {of.low} to {of.high} are not years from 1000 to 2024",
        ),
    )


def _relation_faults(domain: Domain, link: Relation) -> list[str]:
    clauses = {"clause": link.clause, "back": link.back}
    opened = [
        (phrase and phrase.count("{}") != 1, f"{name}: {phrase!r} is not a phrase with one {{}}")
        for name, phrase in clauses.items()
    ]
    return _broken(
        (link.to not in domain.types, f"to: {link.to!r} is none of {', '.join(domain.types)}"),
        *opened,
        (
            not _is_open(link.linked),
            f"linked: {link.linked!r} does not end in {{}}, its only one",
        ),
        (link.clause and link.many, "clause: of many say it in back"),
        (
            link.same and link.many,
            "same: a relation has one of same and back at most",
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
            if len(link.same) == 2:
                if _end(domain, name, link.same[0]) != _end(domain, link.to, link.same[1]):
                    yield f"{at}.same: {list(link.same)} lead to two types"
                needed += _steps(domain, name, link.same[0])
                needed += _steps(domain, link.to, link.same[1])
        except LookupError as error:
            yield f"{at}: {error.args[0]}"
    for name, kind in domain.types.items():
        for key, of in kind.attributes.items():
            path, _, last = of.after.rpartition(".")
            try:
                owner = domain.types[_end(domain, name, path)].attributes
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
    return [f"{_end(domain, of, '.'.join(steps[:at]))}.{step}" for at, step in enumerate(steps)]


def _end(domain: Domain, of: str, path: str) -> str:
    """The type that a path leads to.

    Raises:
        LookupError: a step is no relation there, or one of many.
    """
    for step in path.split(".") if path else ():
        relations = {name for name, link in domain.types[of].relations.items() if not link.many}
        if step not in relations:
            allowed = ", ".join(sorted(relations)) or "nothing"
            raise LookupError(f"{path!r} is no path: {of} leads to {allowed}, not to {step!r}")
        of = domain.relation(of, step).to
    return of


def _is_open(phrase: str) -> bool:
    return phrase.endswith(" {}") and phrase.count("{") == 1


def _twice(texts: Iterable[str]) -> list[str]:
    return [text for text, count in Counter(texts).items() if text and count > 1]
