"""What a tool says of things that a later hop's tool is to say. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.giveaway import gives_away
from toolhop_tools.construct.replies import Records
from toolhop_tools.construct.text import references, same
from toolhop_tools.construct.trials import Call
from toolhop_tools.declared import compiled, required
from toolhop_tools.words import as_text, bare, letters, parts_of, scalars, words

LEAST = 4
"""Letters and digits of an answer that no text has by chance."""
LINKED = 2
"""Keys that two tables have in common and that make one lead to the other."""


def tells_ahead(results: Sequence[Sequence[str]], answers: Sequence[str]) -> bool:
    """Whether a tool's results hold what a later hop is to find.

    Args:
        results: by start, the one asked for first: the scalars of what the tool gives.
        answers: by start: what the later hop finds.
    """
    rows = list(zip(results, answers, strict=True))
    if not rows:
        return False
    if all(
        any(same(answer, leaf) or _within(leaf, answer) for leaf in own) for own, answer in rows
    ):
        return True
    own, answer = rows[0]
    return len(letters(answer)) >= LEAST and any(_within(leaf, answer) for leaf in own)


def _within(text: str, answer: str) -> bool:
    """Whether a text of words says an answer among others."""
    return len(words(text)) > len(words(answer)) + 1 and gives_away(text, answer)


def with_numbers(
    schema: Mapping[str, JSON], later: Sequence[Mapping[str, JSON]]
) -> Iterator[dict[str, JSON]]:
    """Optional parameters that take a number, with the numbers that later hops' calls have.

    Args:
        schema: of the hop's parameters.
        later: the later hops' calls.
    """
    asked = {as_text(one): one for call in later for _, one in scalars(dict(call))
             if isinstance(one, int | float) and not isinstance(one, bool)}  # fmt: skip
    properties = schema.get("properties")
    for name, own in (properties if isinstance(properties, dict) else {}).items():
        if not isinstance(own, dict) or name in required(schema) or "enum" in own:
            continue
        validator = compiled(own) if own.get("type") in {"integer", "number"} else None
        for one in asked.values() if validator else ():
            if validator and validator.is_valid(one):
                yield {name: one}


def past(
    written: Mapping[str, JSON], made: Mapping[str, JSON], hops: AbstractSet[int], start: Call
) -> Iterator[Call]:
    """A later hop's call with what an earlier one was given, in the place of what it gave.

    Args:
        written: the later call, with ``{k}`` for answers.
        made: the same with answers in place.
        hops: the earlier hop and those between the two.
        start: the earlier call.
    """
    for name, value in written.items():
        if isinstance(value, str) and not hops.isdisjoint(references(value)):
            for given in start.values():
                if isinstance(given, str) and given != made.get(name):
                    yield {**made, name: given}


def contradictions(
    earlier: Records, later: Records, spoken_of: str, asked: Sequence[str]
) -> Iterator[str]:
    """Fields that two tables have of one thing, with different values.

    Args:
        earlier: the table of a hop.
        later: that of a hop after it.
        spoken_of: all that the earlier tool's document says: a field that it does not name is
            shown to nobody.
        asked: the answers of the chain, of which the values must not differ at all.
    """
    for key in later.lookup.parameters.values():
        rows = {bare(as_text(one[key])): one for one in later.records if key in one}
        entity = {*parts_of(key)}
        for link in (earlier.lookup.answer, *earlier.lookup.parameters.values()):
            linked = [(one, rows[name]) for one in earlier.records
                      if link in one and (name := bare(as_text(one[link]))) in rows]  # fmt: skip
            if len(linked) < LINKED:
                continue
            for field in {**linked[0][0]}:
                other = _counterpart(field, linked[0][1], entity)
                if not other or field == link or not _named(field, spoken_of):
                    continue
                differ = [(a, b) for a, b in linked if field in a and other in b
                          and not same(as_text(a[field]), as_text(b[other]))]  # fmt: skip
                own = [one for one in differ if bare(as_text(one[0][link])) in map(bare, asked)]
                if own or 2 * len(differ) > len(linked):
                    one, two = (own or differ)[0]
                    yield (
                        f"The table says {field} {as_text(one[field])!r} of "
                        f"{as_text(one[link])!r}, and a later table says "
                        f"{as_text(two[other])!r}: leave the field to one of them."
                    )


def _counterpart(field: str, record: dict[str, str | int | float | bool], entity: set[str]) -> str:
    """The field of a later record that is called the same, but for the name of what it is of."""
    own = {*parts_of(field)} - entity
    return next((one for one in record if own and {*parts_of(one)} - entity == own), "")


def _named(field: str, text: str) -> bool:
    said = {*words(text)}
    return all(part in said for part in parts_of(field))
