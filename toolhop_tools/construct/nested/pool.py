"""Nested tasks out of a pool of tools that run: a search for calls of a wanted form.

Each tool is known by calls that work: the gold calls of the data set's items. A task begins with
such calls, and grows call by call: a response of an earlier call takes the place of an argument,
for a reason (`Meaning`), and the call is run with it. One that fails, or says that it does, is no
part of a task. What is drawn hangs on the seed alone.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from toolhop_sandbox.base import Program
from toolhop_tools.certify.model import Certificate
from toolhop_tools.construct.nested.assemble import (
    FROM_ITEM,
    Executed,
    Link,
    Run,
    Unfit,
    assembled,
    executed_item,
    leaves_of,
    parameter_type,
    returned,
)
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.model import MOST_CALLS, kind_of
from toolhop_tools.construct.trials import takes
from toolhop_tools.declared import described
from toolhop_tools.model import Item, canonical
from toolhop_tools.words import scalars

TRIES = 30
"""Beginnings that a search makes before it gives a form up."""
RUNS = 20
"""Calls that are run for one place of a form."""
LONGEST_CHARS = 200
"""Of a response that a parameter takes."""


class Meaning(StrEnum):
    """Why a response is what a parameter asks for."""

    ITEM = FROM_ITEM
    """An item's author had this parameter take this response."""
    KIND = "kind"
    """Both are stated to be of the same kind of thing."""
    MODEL = "model"
    """The types are equal; a model has to say that it makes sense."""


Edge: TypeAlias = tuple[str, tuple[str, ...], str, str, int | None]
"""Arguments that tell what a call gives, and a leaf of its result; the arguments of another call,
and where the leaf goes."""


def slots(call: Executed) -> Iterator[tuple[str, int | None]]:
    """Where a response could go: arguments, and elements of those that are lists."""
    for name, value in call.arguments.items():
        yield name, None
        yield from ((name, at) for at in range(len(value) if isinstance(value, list) else 0))


@dataclass(frozen=True)
class Pool:
    """Tools that run, each with calls, and what is known of references between them."""

    starts: tuple[Executed, ...]
    origins: Mapping[str, Item]
    """By tool: the item that it is first met in."""
    known: Mapping[tuple[str, str], set[Edge]]
    """References that certified items have, by the two tools."""
    kinds: Kinds
    doubtful: bool = False
    """Whether types that are equal will do, for a model to judge."""

    def links(self, source: Executed, at: int, target: Executed) -> Iterator[Link]:
        """The leaves of a call, the `at`-th, that may go to another one, each with its meaning."""
        for slot in slots(target):
            for leaf in leaves_of(source.value):
                link = Link(*slot, at, leaf)
                if why := self._meaning(source, target, link):
                    yield replace(link, meaning=why)

    def _meaning(self, source: Executed, target: Executed, link: Link) -> Meaning | None:
        value, leaf = link.of(target.arguments), link.leaf.value
        whole, wanted = link.index is None, kind_of(value)
        if whole:
            wanted = parameter_type(target.tool, link.argument, value)
        if (kind_of(leaf), wanted) != ("int", "float") and kind_of(leaf) != wanted:
            return None
        if leaf in ("", [], {}) or len(canonical(leaf)) > LONGEST_CHARS:
            return None
        pair = (source.tool.name, target.tool.name)
        if pair in self.known and edge(source, target, link, self.kinds) in self.known[pair]:
            return Meaning.ITEM
        stated = self.kinds.response(source.tool, link.leaf.path, source.arguments)
        kind = self.kinds.parameter(target.tool, link.argument, target.arguments)
        of_lists = kind.startswith("[")
        if whole and isinstance(value, list) and kind and not of_lists:
            kind = f"[{kind}]"
        if stated is not None and (whole or not of_lists) and self.kinds.takes(kind, stated.kind):
            return Meaning.KIND
        free = whole and wanted not in {"bool", "dict"} and not _is_choice(target, link.argument)
        return Meaning.MODEL if self.doubtful and free else None


def _is_choice(call: Executed, name: str) -> bool:
    """Whether the schema lists a parameter's values."""
    own: Any = described(call.tool.schema.parameters).get(name, {})
    return "enum" in own or own.get("type") == "boolean"


def edge(source: Executed, target: Executed, link: Link, kinds: Kinds) -> Edge:
    """A reference between two calls, as it is known again.

    What a tool gives may hang on its choices; where no kind holds for it, on all arguments.
    """
    stated = kinds.response(source.tool, link.leaf.path, source.arguments)
    telling = {name: value for name, value in source.arguments.items()
               if (stated is not None and stated.kind is None)
               or _is_choice(source, name)}  # fmt: skip
    taking = (canonical(dict(target.arguments)), link.argument, link.index)
    return (canonical(telling), link.leaf.path, *taking)


async def pool_of(
    items: Sequence[Item], certificates: Mapping[str, Certificate], kinds: Kinds, run: Run,
    *, doubtful: bool = False,
) -> Pool:  # fmt: skip
    """The pool that items make: their tools, with gold calls that are run.

    Args:
        certificates: by item id, as far as there are any; where an item has one, its calls are
            the certified ones, and its references are known to have a meaning.

    Raises:
        SandboxFault, SandboxUnavailable: as `run`.
    """
    starts: dict[str, Executed] = {}
    origins: dict[str, Item] = {}
    known: dict[tuple[str, str], set[Edge]] = {}
    for item in items:
        proofs = certificates[item.id].hops if item.id in certificates else ()
        for at, hop in enumerate(item.hops):
            gold = proofs[at].arguments if proofs else (hop.gold and hop.gold.arguments)
            body, first = hop.tool.body, origins.get(hop.tool.name)
            # Of two tools of one name the first is the pool's.
            if not isinstance(body, Program) or not gold or (
                first is not None and first.tools[hop.tool.name].body != body
            ):  # fmt: skip
                continue
            key = f"{hop.tool.name} {canonical(dict(gold))}"
            if key in starts or not takes(hop.tool.schema, gold):
                continue
            if (value := returned(await run(body, gold))) is not None:
                starts[key] = Executed(hop.tool, dict(gold), value)
                origins.setdefault(hop.tool.name, item)
        try:
            calls = await executed_item(item, certificates.get(item.id), run)
        except Unfit:
            continue
        for call in calls:
            # What a call takes from two answers makes sense of neither alone.
            for link in call.links if len({link.source for link in call.links}) == 1 else ():
                source = calls[link.source]
                pair = (source.tool.name, call.tool.name)
                known.setdefault(pair, set()).add(edge(source, call, link, kinds))
    return Pool((*starts.values(),), origins, known, kinds, doubtful)


@dataclass
class Search:
    """A search in a pool."""

    pool: Pool
    run: Run
    _known_sources: dict[int, list[set[int]]] = field(default_factory=dict)

    async def find(
        self, structure: Structure, depth: int, width: int, seed: str
    ) -> tuple[Structure, list[Executed]] | None:
        """Executed calls of a form that can be assembled, and the structure that they have; None
        where none are found.

        Raises:
            SandboxFault, SandboxUnavailable: as `run`.
        """
        rng = random.Random(seed)
        shapes = [structure]
        if structure is Structure.ANY:
            shapes = [shape for shape in Structure if shape is not Structure.ANY]
            rng.shuffle(shapes)
        for shape in shapes:
            for _ in range(TRIES):
                wanted = sizes(shape, depth, width, rng)
                calls = await self._grown(wanted, rng) if wanted else None
                try:
                    if calls and assembled(calls, self.pool.kinds):
                        return shape, calls
                except Unfit:
                    continue
        return None

    async def _grown(self, wanted: Sequence[int], rng: random.Random) -> list[Executed] | None:
        calls = self._beginning(wanted, rng)
        level = [*range(len(calls))]
        if len(level) < wanted[0]:
            return None
        for size in wanted[1:]:
            before, level = level, []
            for group in _groups(before, size, rng):
                call = await self._placed(calls, group, rng)
                if call is None:
                    return None
                level.append(len(calls))
                calls.append(call)
        return calls

    def _beginning(self, wanted: Sequence[int], rng: random.Random) -> list[Executed]:
        """Calls to begin with, of different tools. Where several are to meet in one, such as that
        one can take.
        """
        starts = [*self.pool.starts]
        rng.shuffle(starts)
        starts.sort(key=self._derived)
        chosen: dict[str, Executed] = {}
        if len(wanted) > 1 and wanted[0] > wanted[1]:
            for target in starts:
                feeding = self._feeding(target, chosen, starts)
                if len(feeding) > 1:
                    chosen |= feeding
                if len(chosen) >= wanted[0]:
                    break
        for call in starts:
            chosen.setdefault(call.tool.name, call)
        return [*chosen.values()][: wanted[0]]

    def _feeding(
        self, target: Executed, taken: Mapping[str, Executed], starts: Sequence[Executed]
    ) -> dict[str, Executed]:
        """A call for each of two places in a call."""
        feeding: dict[str, Executed] = {}
        for sources in self._sources(target):
            for call in starts:
                name = call.tool.name
                if id(call) in sources and name not in taken and name not in feeding:
                    feeding[name] = call
                    break
            if len(feeding) == 2:
                break
        return feeding

    def _sources(self, target: Executed) -> list[set[int]]:
        """By place of a call: which of the pool's calls have a response that may go there."""
        if id(target) not in self._known_sources:
            sources = {slot: set[int]() for slot in slots(target)}
            for call in self.pool.starts:
                if call.tool.name != target.tool.name:
                    for link in self.pool.links(call, 0, target):
                        sources[link.argument, link.index].add(id(call))
            self._known_sources[id(target)] = [*sources.values()]
        return self._known_sources[id(target)]

    async def _placed(
        self, calls: Sequence[Executed], group: Sequence[int], rng: random.Random
    ) -> Executed | None:
        """One more call that takes a response of each call of a group."""
        places = [*self._places(calls, group)]
        rng.shuffle(places)
        used = Counter(self._kind(call, link.argument) for call in calls for link in call.links)
        places.sort(key=lambda place: sum(self._cost(place[0], link, used) for link in place[1]))
        for start, links in places[:RUNS]:
            arguments = dict(start.arguments)
            for link in links:
                arguments = link.put(arguments, link.leaf.value)
            given = [canonical(part) for _, part in scalars(arguments)]
            twice = any(given.count(canonical(link.leaf.value)) > 1 for link in links)
            if twice or not takes(start.tool.schema, arguments):
                continue
            value = returned(await self.run(start.tool.program, arguments))
            # A result that is nothing, the same without the response, or said before is no use.
            said = {canonical(part) for call in (*calls, start)
                    for part in (call.value, *call.arguments.values())}  # fmt: skip
            useful = any(leaf.value not in ("", [], {}, 0) for leaf in leaves_of(value))
            if useful and canonical(value) not in said:
                return Executed(start.tool, arguments, value, links)
        return None

    def _kind(self, call: Executed, name: str) -> str:
        return self.pool.kinds.parameter(call.tool, name, call.arguments).strip("[]")

    def _derived(self, start: Executed) -> bool:
        """Whether a task rather begins with other calls: those of things that no call gives."""
        stated = [self.pool.kinds.response(start.tool, leaf.path, start.arguments)
                  for leaf in leaves_of(start.value)]  # fmt: skip
        kinds = [one.kind.strip("[]") for one in stated if one is not None and one.kind]
        specific = any(not self.pool.kinds.kinds[kind].vague for kind in kinds)
        return not specific or any(self._kind(start, name) for name in start.arguments)

    def _cost(self, start: Executed, link: Link, used: Mapping[str, int]) -> int:
        """How much others are preferred: to references of a kind that there is already, and to
        parameters that take things of many sorts, or of which nothing is stated.
        """
        kind = self._kind(start, link.argument)
        vague = not kind or self.pool.kinds.kinds[kind].vague
        return used.get(kind, 0) + 2 * vague

    def _places(
        self, calls: Sequence[Executed], group: Sequence[int]
    ) -> Iterator[tuple[Executed, tuple[Link, ...]]]:
        used = {call.tool.name for call in calls}
        for start in self.pool.starts:
            if start.tool.name not in used:
                offers = [self.pool.links(calls[source], source, start) for source in group]
                yield from ((start, links) for links in itertools.product(*offers) if _apart(links))


def _apart(links: Sequence[Link]) -> bool:
    """Whether no two links go to one place, or into a list that another one is."""
    places = {(link.argument, link.index) for link in links}
    whole = {link.argument for link in links if link.index is None}
    return len(places) == len(links) and all(
        link.index is None or link.argument not in whole for link in links
    )


def _groups(level: Sequence[int], size: int, rng: random.Random) -> list[list[int]]:
    """Which calls of a level each of the next level's takes from: each of both has a part in it."""
    order = [*level]
    rng.shuffle(order)
    groups: list[list[int]] = [[] for _ in range(size)]
    for at in range(max(size, len(order))):
        groups[at % size].append(order[at % len(order)])
    return groups


# -- forms -----------------------------------------------------------------------------------------


class Structure(StrEnum):
    """What the widest place of a task is like."""

    CHAIN = "chain"
    """One call at each depth."""
    FORK = "fork"
    """One call at the start; responses are taken by several."""
    JOIN = "join"
    """Several calls at the start; one at the end takes what they lead to."""
    DIAMOND = "diamond"
    """One at both ends, several between."""
    ANY = "any"
    """Any of these that there is, drawn."""


def possible(structure: Structure, depth: int, width: int) -> bool:
    """Whether there are calls of the structure with this depth and width."""
    if structure is Structure.CHAIN:
        return width == 1
    least = {Structure.DIAMOND: 3, Structure.ANY: 1}.get(structure, 2)
    return depth >= least and (width > 1 or structure is Structure.ANY)


def sizes(structure: Structure, depth: int, width: int, rng: random.Random) -> list[int] | None:
    """How many calls at each depth, drawn; None where there are none, or too many for a task."""
    if not possible(structure, depth, width) or structure is Structure.ANY:
        return None
    if structure is Structure.CHAIN:
        return [1] * depth
    between = [rng.randint(1, width) for _ in range(depth - 2)]
    if structure is Structure.FORK:
        drawn = [1, *sorted(between), width]
    elif structure is Structure.JOIN:
        drawn = [width, *sorted(between, reverse=True), 1]
    else:
        peak = rng.randrange(len(between))
        between[peak] = width
        drawn = [1, *sorted(between[:peak]), *sorted(between[peak:], reverse=True), 1]
    return drawn if sum(drawn) <= MOST_CALLS else None
