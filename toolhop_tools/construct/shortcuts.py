"""Ways past a hop, looked for by calls: what a tool gives of a later hop, or without an earlier
one. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.text import references, same, says
from toolhop_tools.construct.trials import Call
from toolhop_tools.declared import compiled, required
from toolhop_tools.words import as_text, scalars, words

LEAST = 4
"""Characters of an answer that no longer text has by chance."""


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
        any(same(answer, leaf) or _within(leaf, answer) for leaf in leaves)
        for leaves, answer in rows
    ):
        return True
    leaves, answer = rows[0]
    return len(answer) >= LEAST and any(_within(leaf, answer) for leaf in leaves)


def _within(text: str, answer: str) -> bool:
    """Whether a longer text says an answer."""
    return len(words(text)) > len(words(answer)) + 1 and says(text, answer)


def with_numbers(schema: Mapping[str, JSON], later: Sequence[Mapping[str, JSON]]) -> Iterator[Call]:
    """Optional parameters that take a number, with the numbers of later hops' calls.

    Args:
        schema: of the hop's parameters.
        later: the later hops' calls.
    """
    numbers = {as_text(leaf): leaf for call in later for _, leaf in scalars(dict(call))
               if isinstance(leaf, int | float) and not isinstance(leaf, bool)}  # fmt: skip
    properties = schema.get("properties")
    for name, own in (properties if isinstance(properties, dict) else {}).items():
        if not isinstance(own, dict) or name in required(schema) or "enum" in own:
            continue
        validator = compiled(own) if own.get("type") in {"integer", "number"} else None
        for number in numbers.values():
            if validator and validator.is_valid(number):
                yield {name: number}


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
