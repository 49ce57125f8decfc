"""Calls that may be a hop's gold call, the likeliest first. Pure and deterministic.

Four streams: the call that the data set's author wrote; example calls of the source, as they are
or fitted to the schema; an example on the right names with other options; and parameters filled
from what the question names, the required ones first, then with one or two optional ones.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import jsonschema_rs

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.honesty import Asked, covered, leaked
from toolhop_tools.certify.literals import Source, read_source
from toolhop_tools.certify.pools import Choice, Offers, offers, pool, resolved
from toolhop_tools.certify.words import as_text, scalars
from toolhop_tools.declared import declared, required, undeclared
from toolhop_tools.examples import example_calls
from toolhop_tools.model import Hop

MOST_REQUIRED = 2000
"""Combinations of required parameters that are looked at."""
ONE_MORE, TWO_MORE = 0.6, 1.5
"""Cost of one optional parameter, and of two: a call with fewer comes first."""


class Provenance(StrEnum):
    """Where a call came from, from the surest to the least sure."""

    WRITTEN = "written"
    """The data set's author gives it as the gold call."""
    EXAMPLE = "example"
    """An example call of the tool's source, in code, comment or docstring."""
    FITTED = "example, fitted"
    """An example that the schema does not accept, with arguments cast, dropped or added."""
    OPTIONS = "example, other options"
    """An example's names and numbers with other options, or in another order."""
    QUESTION = "question"
    """Parameters filled from what the question says and what the schema offers."""
    SEARCH = "search"
    """The same with literals of the code, unnamed earlier answers, or stand-ins."""


EXAMPLES = frozenset({Provenance.WRITTEN, Provenance.EXAMPLE, Provenance.FITTED})
_NEAR = frozenset({"answer", "question", "enum", "default", "date", "reworded", "description"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A call to try."""

    arguments: dict[str, JSON]
    provenance: Provenance
    sources: Mapping[str, str] = field(default_factory=dict)
    """By parameter: where its value came from."""
    cost: float = 0.0


@dataclass(frozen=True)
class Task:
    """A hop with all that candidates are made of."""

    hop: Hop
    asked: Asked

    @cached_property
    def schema(self) -> Mapping[str, JSON]:
        """The schema of the arguments."""
        return self.hop.tool.schema.parameters

    @cached_property
    def source(self) -> Source:
        """What reading the tool's source showed."""
        return read_source(self.hop.tool.program)

    @cached_property
    def offers(self) -> Offers:
        """What there is to fill parameters with."""
        return offers(self.asked, self.source)

    @cached_property
    def properties(self) -> Mapping[str, JSON]:
        """The parameters' own schemas by name; none for a required one that is not described."""
        described = self.schema.get("properties")
        known = described if isinstance(described, dict) else {}
        return {name: known.get(name) for name in declared(self.schema)}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """What the schema or the function's signature requires, in the schema's order."""
        wanted = {*required(self.schema), *self.source.needed}
        return tuple(name for name in self.properties if name in wanted)

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator | None:
        try:
            return jsonschema_rs.Draft202012Validator(dict(self.schema), offline=True)
        except (jsonschema_rs.ValidationError, ValueError):
            return None

    @property
    def schema_is_valid(self) -> bool:
        """Whether the schema can be used to check arguments at all."""
        return self._validator is not None

    def fits(self, arguments: Mapping[str, JSON]) -> bool:
        """Whether the schema accepts the arguments, read as `undeclared` says."""
        if undeclared(self.schema, arguments) or not arguments.keys() >= set(self.required):
            return False
        try:
            return self._validator is None or self._validator.is_valid(dict(arguments))
        except ValueError:
            return False

    def pool(self, name: str) -> list[Choice]:
        """Values for a parameter."""
        return pool(name, self.properties.get(name), self.offers, self.schema)


def written(task: Task) -> Iterator[Candidate]:
    """The gold call that the data set gives."""
    gold = task.hop.gold
    if gold is not None and gold.source == "written":
        yield Candidate(dict(gold.arguments), Provenance.WRITTEN)


def examples(task: Task) -> Iterator[Candidate]:
    """The source's example calls, fitted to the schema where it does not accept them."""
    for arguments in example_calls(task.hop.tool.program):
        if task.fits(arguments):
            yield Candidate(arguments, Provenance.EXAMPLE)
            continue
        for fitted in _fitted(task, arguments):
            if task.fits(fitted):
                yield Candidate(fitted, Provenance.FITTED)
                break


def _fitted(task: Task, arguments: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
    known = {name: value for name, value in arguments.items() if name in task.properties}
    cast = {name: _cast(task, name, value) for name, value in known.items()}
    missing = [name for name in task.required if name not in cast]
    for chosen in itertools.product(*(task.pool(name)[:3] for name in missing)):
        added = {name: one.value for name, one in zip(missing, chosen, strict=True)}
        yield {**cast, **added}
    # An option that the schema refuses may be left out.
    kept = {name: value for name, value in cast.items() if name in task.required}
    if not missing and kept != cast:
        yield kept


def _cast(task: Task, name: str, value: JSON) -> JSON:
    """The value as the parameter's schema wants it, where one cast does that."""
    schema = task.properties.get(name)
    if not isinstance(schema, dict):
        return value
    schema = resolved(schema, task.schema)
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    if kind == "array" and not isinstance(value, list):
        return [value]
    if kind != "array" and isinstance(value, list) and len(value) == 1:
        value = value[0]
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return as_text(value)
    number = plain_number(value) if isinstance(value, str) else None
    if kind in {"integer", "number"} and number is not None and abs(number) < 10**15:
        return int(number) if number == int(number) else float(number)
    choices = schema.get("enum")
    if isinstance(choices, list) and isinstance(value, str) and value not in choices:
        same = [c for c in choices if isinstance(c, str) and plain_text(c) == plain_text(value)]
        return same[0] if same else value
    return value


def other_options(task: Task, example: Mapping[str, JSON]) -> Iterator[Candidate]:
    """The example's names and numbers with other options: one, two, or in another order."""
    fixed = fixed_names(task.asked, example)
    for respelled in _respelled(task.asked, example):
        yield Candidate(respelled, Provenance.OPTIONS, cost=0.1)
    for swapped in _swapped(example, fixed):
        yield Candidate(swapped, Provenance.OPTIONS, cost=0.4)
    changes = list(_changes(task, example, fixed))
    changes.sort(key=lambda change: change[1].cost)
    for name, choice in changes:
        changed = {**example, name: choice.value}
        yield Candidate(changed, Provenance.OPTIONS, {name: choice.source}, choice.cost)
    for name in example:
        if name not in fixed and name not in task.required:
            rest = {key: value for key, value in example.items() if key != name}
            yield Candidate(rest, Provenance.OPTIONS, cost=0.5)
    pairs = itertools.combinations(changes[:24], 2)
    for (name, one), (second, other) in sorted(pairs, key=lambda p: p[0][1].cost + p[1][1].cost):
        if name != second:
            changed = {**example, name: one.value, second: other.value}
            sources = {name: one.source, second: other.source}
            yield Candidate(changed, Provenance.OPTIONS, sources, one.cost + other.cost)


def fixed_names(asked: Asked, arguments: Mapping[str, JSON]) -> set[str]:
    """Parameters whose values the question names; they say what is asked about."""
    named = [answer for _, answer in asked.mentions.answers]
    named += [*asked.mentions.names, *asked.mentions.numbers, *asked.mentions.dates]
    named += [text for text in asked.mentions.quoted if text not in named]
    return {
        name
        for name, value in arguments.items()
        if not isinstance(value, bool) and any(covered(text, {name: value}) for text in named)
    }


def _respelled(asked: Asked, example: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
    """With an earlier answer as the earlier tool spelled it, and not as the data set does."""
    for hop, answer in asked.mentions.answers:
        if hop in asked.returned:
            spelled = replaced(dict(example), answer, asked.returned[hop])
            if isinstance(spelled, dict) and spelled != example:
                yield spelled


def replaced(value: JSON, old: str, new: str) -> JSON:
    """The value with each text that is `old` made `new`."""
    if isinstance(value, dict):
        return {key: replaced(part, old, new) for key, part in value.items()}
    if isinstance(value, list):
        return [replaced(part, old, new) for part in value]
    return new if isinstance(value, str) and same_answer(value, old) else value


def _swapped(example: Mapping[str, JSON], fixed: set[str]) -> Iterator[dict[str, JSON]]:
    for one, other in itertools.combinations([name for name in example if name in fixed], 2):
        if type(example[one]) is type(example[other]):
            yield {**example, one: example[other], other: example[one]}
    for name in example:
        value = example[name]
        if name in fixed and isinstance(value, list) and len(value) == 2:
            yield {**example, name: value[::-1]}


def _changes(
    task: Task, example: Mapping[str, JSON], fixed: set[str]
) -> Iterator[tuple[str, Choice]]:
    for name in task.properties:
        if name in fixed:
            continue
        for choice in task.pool(name)[:8]:
            if name not in example or example[name] != choice.value:
                yield name, choice


def filled(task: Task) -> Iterator[Candidate]:
    """Parameters filled from pools: the required ones, then with one or two optional ones."""
    names = task.required
    pools = {name: task.pool(name) for name in task.properties}
    if any(not pools[name] for name in names):
        return
    optional = [name for name in pools if name not in names and pools[name]]
    streams = [_combined(names, pools, 24, 0.0)]
    streams += [_combined((*names, more), pools, 12, ONE_MORE) for more in optional]
    streams += [
        _combined((*names, *more), pools, 5, TWO_MORE)
        for more in itertools.combinations(optional, 2)
    ]
    yield from heapq.merge(*streams, key=lambda candidate: candidate.cost)


def _combined(
    names: Sequence[str], pools: Mapping[str, list[Choice]], most: int, cost: float
) -> Iterator[Candidate]:
    for total, chosen in cheapest([pools[name][:most] for name in names]):
        arguments = {name: choice.value for name, choice in zip(names, chosen, strict=True)}
        sources = {name: choice.source for name, choice in zip(names, chosen, strict=True)}
        near = _NEAR.issuperset(sources.values())
        provenance = Provenance.QUESTION if near else Provenance.SEARCH
        yield Candidate(arguments, provenance, sources, round(total + cost, 6))


def cheapest(pools: Sequence[Sequence[Choice]]) -> Iterator[tuple[float, tuple[Choice, ...]]]:
    """Combinations of one choice a pool, by the sum of costs, at most `MOST_REQUIRED`."""
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
    """Each call once."""
    seen = set()
    for candidate in candidates:
        key = json.dumps(candidate.arguments, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield candidate


def lean(task: Task, arguments: Mapping[str, JSON]) -> list[dict[str, JSON]]:
    """The call with each optional argument left out in turn, the last one first."""
    return [
        {key: value for key, value in arguments.items() if key != name}
        for name in reversed(list(arguments))
        if name not in task.required
    ]


def given_away(task: Task) -> Iterator[Candidate]:
    """Calls that are given the gold itself: whether the tool wants its answer as an input.

    Only by a parameter that has to be given and that the code compares with the gold: a filter that
    may be left out passes whatever it finds, and shows nothing.
    """
    for name in task.required:
        schema, compared = task.properties.get(name), task.source.compared.get(name, ())
        if not any(same_answer(task.asked.gold, as_text(one)) for one in compared):
            continue
        known = resolved(schema, task.schema) if isinstance(schema, dict) else {}
        kinds = known.get("type", "string")
        if not {"string", "array"}.intersection(kinds if isinstance(kinds, list) else [str(kinds)]):
            continue
        value: JSON = [task.asked.gold] if "array" in str(kinds) else task.asked.gold
        gold = [Choice(value, 0.0, "filler")]
        pools = [gold if one == name else _silent(task, one)[:4] for one in task.required]
        for _, chosen in itertools.islice(cheapest(pools), 8):
            pairs = zip(task.required, chosen, strict=True)
            arguments = {one: choice.value for one, choice in pairs}
            yield Candidate(arguments, Provenance.SEARCH)


def _silent(task: Task, name: str) -> list[Choice]:
    """Values for a parameter that do not give the gold away."""
    return [one for one in task.pool(name) if not leaked(task.asked, {name: one.value})]


def texts_of(arguments: Mapping[str, JSON]) -> list[str]:
    """The arguments' scalars as texts."""
    return [as_text(value) for _, value in scalars(dict(arguments))]
