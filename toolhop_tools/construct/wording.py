"""Changes of an executed chain that test the wording of a question. Pure.

A model rewrites the question for the changed chain, and readers plan it blind: their plan has to
change with it. If it does not, a word has no effect or a condition goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.facts import other_calls
from toolhop_tools.construct.replies import Pairs, Records
from toolhop_tools.construct.text import references, texts
from toolhop_tools.construct.trials import takes
from toolhop_tools.declared import compiled, described, required
from toolhop_tools.model import ToolSchema


@dataclass(frozen=True, slots=True)
class ChainChange:
    """A gold call with one argument changed."""

    hop: int
    """Number of the hop, from 1."""
    what: str
    """Description of the change, such as ``unit='weeks' in place of 'days'``."""
    arguments: Mapping[str, JSON]
    """Arguments of the changed call, with ``{k}`` for earlier answers."""


def chain_changes(
    hop: int, schema: ToolSchema, facts: Records | Pairs, written: Mapping[str, JSON]
) -> Iterator[ChainChange]:
    """Yield changes of a gold call: another choice, a dropped condition, or another literal.

    `written` is the call with ``{k}`` for earlier answers; keys of other records come from `facts`.
    """
    refers = any(references(text) for text in texts(dict(written)))
    for name, value in written.items():
        if any(references(text) for text in texts(value)):
            continue
        if name not in required(schema.parameters):
            rest = {key: given for key, given in written.items() if key != name}
            yield ChainChange(hop, f"{name} left out, which was {value!r}", rest)
        for other in _others(value, described(schema.parameters).get(name)):
            changed = {**written, name: other}
            if takes(schema, changed) or refers:
                yield ChainChange(hop, f"{name}={other!r} in place of {value!r}", changed)
        keys = facts.lookup.parameters if isinstance(facts, Records) else ()
        for call in other_calls(facts, written, 2):
            if name in keys and call.get(name) != value:
                what = f"{name}={call[name]!r} in place of {value!r}"
                yield ChainChange(hop, what, {**written, name: call[name]})


def _others(value: JSON, schema: JSON) -> list[JSON]:
    """Return other choices of an enumerated parameter, or numbers near a number."""
    if isinstance(schema, dict) and isinstance(listed := schema.get("enum"), list):
        return [choice for choice in listed if choice != value]
    if isinstance(value, bool):
        return [not value]
    own = compiled(schema) if isinstance(schema, dict) else None
    if isinstance(value, int | float) and own is not None:
        near: list[JSON] = [value + 1, value - 1, 2 * value]
        return [number for number in near if own.is_valid(number)][:2]
    return []


def drawn_changes(changes: Sequence[ChainChange], count: int, seed: str) -> list[ChainChange]:
    """Draw at most `count` changes, spread over the hops; the same seed gives the same changes."""
    shuffled = [*changes]
    Random(seed).shuffle(shuffled)
    chosen: list[ChainChange] = []
    while shuffled and len(chosen) < count:
        used = {change.hop for change in chosen}
        fresh = next((change for change in shuffled if change.hop not in used), shuffled[0])
        shuffled.remove(fresh)
        chosen.append(fresh)
    return chosen
