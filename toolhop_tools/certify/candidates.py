"""Candidates for a hop's gold call, the likeliest first. Pure and deterministic.

These are the call that the data set's author wrote, example calls in the source, and calls whose
parameters are filled from the question: the required ones first, then with one or two optional
ones. The origin of a call proves nothing: `ranking` judges all in the same way.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import jsonschema_rs

from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.certify.pools import Choice, Offers, Source, offers, pool, read_source
from toolhop_tools.certify.readable import Asked
from toolhop_tools.dates import notations_named
from toolhop_tools.declared import compiled, declared, described, fits, required
from toolhop_tools.examples import example_calls
from toolhop_tools.leaves import Leaf, inner, leaves
from toolhop_tools.model import Hop
from toolhop_tools.reading import read_result
from toolhop_tools.words import as_text, parts_of, scalars

MOST_REQUIRED = 2000
"""Maximum number of combinations of required parameters that are considered."""
OPTIONAL = ((24, 0.0), (12, 0.6), (5, 1.5))
"""For calls with zero, one and two optional parameters: values tried for each parameter, and the
extra cost, which puts calls with fewer parameters first."""


class Provenance(StrEnum):
    """The origin of a call."""

    WRITTEN = "written"
    """The gold call written by the data set's author."""
    CHAIN = "chain"
    """A call of the chain of an item generated from a world."""
    EXAMPLE = "example"
    """An example call in the code, a comment or a docstring of the source."""
    QUESTION = "question"
    """Parameters filled from the question and the schema."""
    SEARCH = "search"
    """Parameters also filled from literals in the code, unnamed answers, or placeholders."""


EXAMPLES = frozenset({Provenance.WRITTEN, Provenance.EXAMPLE})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A call to try."""

    arguments: dict[str, JSON]
    provenance: Provenance
    sources: Mapping[str, str] = field(default_factory=dict)
    """Origin of the value of each parameter."""
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Tried:
    """A call that was run, with its outcome."""

    candidate: Candidate
    outcome: Outcome

    @property
    def arguments(self) -> dict[str, JSON]:
        """Arguments of the call."""
        return self.candidate.arguments

    @property
    def text(self) -> str:
        """Result as JSON; empty if there is none."""
        return self.outcome.json_text if isinstance(self.outcome, Returned) else ""

    @property
    def value(self) -> JSON:
        """Result of the call; None if there is none."""
        return read_result(self.text) if self.text else None


@dataclass(frozen=True)
class Task:
    """A hop, with everything needed to build and judge its candidates."""

    hop: Hop
    asked: Asked

    @cached_property
    def schema(self) -> Mapping[str, JSON]:
        """The schema of the arguments."""
        return self.hop.tool.schema.parameters

    @cached_property
    def source(self) -> Source:
        """Facts read from the tool's source."""
        return read_source(self.hop.tool.program)

    @cached_property
    def offers(self) -> Offers:
        """Material for filling parameters."""
        return offers(self.asked, self.source, self.schema, self.notations)

    @cached_property
    def properties(self) -> Mapping[str, JSON]:
        """Schema of each parameter; empty for a required parameter that is not described."""
        return {name: described(self.schema).get(name) for name in declared(self.schema)}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Parameters required by the schema or the function's signature, in the schema's order."""
        wanted = {*required(self.schema), *self.source.needed}
        return tuple(name for name in self.properties if name in wanted)

    @cached_property
    def subject(self) -> tuple[str, ...]:
        """Words of the tool's name and of its required parameters."""
        names = (self.hop.tool.name, *self.required)
        return tuple(word for name in names for word in parts_of(name))

    @cached_property
    def notations(self) -> tuple[str, ...]:
        """Date notations named by the tool's description."""
        return tuple(notations_named(self.hop.tool.schema.description))

    @cached_property
    def validator(self) -> jsonschema_rs.Validator | None:
        """The compiled schema; None if the schema itself is invalid."""
        return compiled(self.schema)

    def accepts(self, arguments: Mapping[str, JSON]) -> bool:
        """Whether the simulator accepts the arguments."""
        return fits(self.validator, self.schema, arguments)

    def leaves(self, arguments: Mapping[str, JSON]) -> list[Leaf]:
        """Return the scalars of a call, in order; dates may use a notation that the tool names."""
        found, forms = leaves(self.schema, arguments), " ".join(self.notations)
        return [replace(leaf, about=f"{leaf.about} {forms}") for leaf in found] if forms else found

    def content(self, arguments: Mapping[str, JSON]) -> list[Leaf]:
        """Return the subject of a call: its scalars except options."""
        return [leaf for leaf in self.leaves(arguments) if not leaf.is_option]

    def others(
        self, arguments: Mapping[str, JSON], made: Iterable[dict[str, JSON]], most: int
    ) -> list[dict[str, JSON]]:
        """Return the first `most` distinct valid calls, excluding the call itself."""
        known = {key_of(arguments): arguments}
        for one in made:
            if len(known) > most:
                break
            if key_of(one) not in known and self.accepts(one):
                known[key_of(one)] = one
        return [dict(one) for one in known.values()][1:]

    def schema_of(self, *path: str | int) -> dict[str, JSON]:
        """Return the schema at a path in the arguments, with references resolved."""
        found = dict(self.schema)
        for step in path:
            found = inner(found, step, self.schema)
        return found

    @cached_property
    def pools(self) -> Mapping[str, Sequence[Choice]]:
        """Values to try for each parameter."""
        return {name: pool(name, schema, self.offers) for name, schema in self.properties.items()}


def at_hand(task: Task) -> Iterator[Candidate]:
    """Yield the gold call given by the data set, then the source's example calls."""
    gold = task.hop.gold
    if gold is not None and gold.source == "written":
        yield Candidate(dict(gold.arguments), Provenance.WRITTEN)
    for arguments in example_calls(task.hop.tool.program):
        yield Candidate(arguments, Provenance.EXAMPLE)


def filled(task: Task) -> Iterator[Candidate]:
    """Yield calls filled from pools: required parameters only, then one or two optional ones."""
    names = task.required
    pools = task.pools
    if any(not pools[name] for name in names):
        return
    optional = [name for name in pools if name not in names and pools[name]]
    streams = [
        _combined((*names, *added), pools, most, cost)
        for count, (most, cost) in enumerate(OPTIONAL)
        for added in itertools.combinations(optional, count)
    ]
    yield from heapq.merge(*streams, key=lambda candidate: candidate.cost)


def _combined(
    names: Sequence[str], pools: Mapping[str, Sequence[Choice]], most: int, cost: float
) -> Iterator[Candidate]:
    for total, chosen in cheapest([pools[name][:most] for name in names]):
        arguments = {name: choice.value for name, choice in zip(names, chosen, strict=True)}
        sources = {name: choice.source for name, choice in zip(names, chosen, strict=True)}
        far = not {"item", "filler"}.isdisjoint(sources.values())
        provenance = Provenance.SEARCH if far else Provenance.QUESTION
        yield Candidate(arguments, provenance, sources, round(total + cost, 6))


def cheapest(pools: Sequence[Sequence[Choice]]) -> Iterator[tuple[float, tuple[Choice, ...]]]:
    """Yield at most `MOST_REQUIRED` combinations of one choice per pool, by total cost."""
    if any(not one for one in pools):
        return
    first = (0,) * len(pools)
    seen = {first}
    heap = [(sum(one[0].cost for one in pools), first)]
    for _ in range(MOST_REQUIRED):
        if not heap:
            return
        cost, at = heapq.heappop(heap)
        yield cost, tuple(one[index] for one, index in zip(pools, at, strict=True))
        for place, index in enumerate(at):
            following = (*at[:place], index + 1, *at[place + 1 :])
            if index + 1 < len(pools[place]) and following not in seen:
                seen.add(following)
                step = pools[place][index + 1].cost - pools[place][index].cost
                heapq.heappush(heap, (cost + step, following))


def distinct(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield each distinct call once."""
    seen = set()
    for candidate in candidates:
        if (key := key_of(candidate.arguments)) not in seen:
            seen.add(key)
            yield candidate


def key_of(arguments: Mapping[str, JSON]) -> str:
    """Return a key that is equal for equal calls; 1, 1.0 and true differ."""
    return json.dumps(arguments, sort_keys=True)


def texts_of(arguments: Mapping[str, JSON]) -> list[str]:
    """Return the scalars of the arguments as texts."""
    return [as_text(value) for _, value in scalars(dict(arguments))]
