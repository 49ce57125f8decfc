"""Nested tasks from a pool of executable tools: a search for calls of a requested shape.

The pool knows each tool by calls that work: the gold calls of the data set's items. A task begins
with such calls and grows call by call: a response of an earlier call replaces an argument, for a
stated reason (`Meaning`), and the call is run with it. Calls that fail or report an error are
discarded. All random choices depend on the seed alone.
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
"""Attempts that a search makes before it gives up on a shape."""
RUNS = 20
"""Calls run to fill one place of a shape."""
LONGEST_CHARS = 200
"""Maximum length, as JSON, of a response that a parameter may take."""


class Meaning(StrEnum):
    """The reason why a response suits a parameter."""

    ITEM = FROM_ITEM
    """An item's author passed this response to this parameter."""
    KIND = "kind"
    """The kinds file states the same kind for both."""
    MODEL = "model"
    """The types are equal; a model has to confirm that the reference makes sense."""


Edge: TypeAlias = tuple[str, tuple[str, ...], str, str, int | None]
"""Key of a reference: the source call's arguments that determine the meaning of its result, the
path of the leaf, and the target call's arguments, parameter and index that take the leaf."""


def slots(call: Executed) -> Iterator[tuple[str, int | None]]:
    """Yield the places that could take a response: arguments, and elements of list arguments."""
    for name, value in call.arguments.items():
        yield name, None
        yield from ((name, at) for at in range(len(value) if isinstance(value, list) else 0))


@dataclass(frozen=True)
class Pool:
    """Executable tools, each with calls, and the known references between them."""

    starts: tuple[Executed, ...]
    origins: Mapping[str, Item]
    """For each tool, the first item that has it."""
    known: Mapping[tuple[str, str], set[Edge]]
    """References in certified items, by the names of the source and target tools."""
    kinds: Kinds
    doubtful: bool = False
    """Whether equal types suffice for a link, to be judged by a model later."""

    def links(self, source: Executed, at: int, target: Executed) -> Iterator[Link]:
        """Yield the links from call number `at` to another call, each with its meaning."""
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
    """Whether the schema enumerates a parameter's values."""
    own: Any = described(call.tool.schema.parameters).get(name, {})
    return "enum" in own or own.get("type") == "boolean"


def edge(source: Executed, target: Executed, link: Link, kinds: Kinds) -> Edge:
    """Return the key by which a reference between two calls is recognised.

    The meaning of a result may depend on the tool's enumerated arguments; if it has no kind, on all
    of them.
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
    """Build a pool from the tools of the items, and run their gold calls.

    Args:
        certificates: certificates by item id. For an item that has one, its certified calls are
            used and its references count as meaningful.

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
            # If two tools share a name, the pool has the first.
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
            # A call that takes two answers does not show that either makes sense alone.
            for link in call.links if len({link.source for link in call.links}) == 1 else ():
                source = calls[link.source]
                pair = (source.tool.name, call.tool.name)
                known.setdefault(pair, set()).add(edge(source, call, link, kinds))
    return Pool((*starts.values(),), origins, known, kinds, doubtful)


@dataclass
class Search:
    """A search for nested tasks in a pool."""

    pool: Pool
    run: Run
    _known_sources: dict[int, list[set[int]]] = field(default_factory=dict)

    async def find(
        self, structure: Structure, depth: int, width: int, seed: str
    ) -> tuple[Structure, list[Executed]] | None:
        """Return executed calls that make a task, with its structure, or None if the search fails.

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
        """Choose initial calls of different tools, preferably ones that a single call can join."""
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
        """Return up to two calls, each with a response for a different place in the target."""
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
        """For each place in a call, return the pool's calls that have a response for it."""
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
        """Add a call that takes a response of each call in the group, or return None."""
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
            # Useless results: empty, unaffected by the response, or already seen.
            said = {canonical(part) for call in (*calls, start)
                    for part in (call.value, *call.arguments.values())}  # fmt: skip
            useful = any(leaf.value not in ("", [], {}, 0) for leaf in leaves_of(value))
            if useful and canonical(value) not in said:
                return Executed(start.tool, arguments, value, links)
        return None

    def _kind(self, call: Executed, name: str) -> str:
        return self.pool.kinds.parameter(call.tool, name, call.arguments).strip("[]")

    def _derived(self, start: Executed) -> bool:
        """Whether a call is a poor start: its kinds are vague, or an argument could be derived."""
        stated = [self.pool.kinds.response(start.tool, leaf.path, start.arguments)
                  for leaf in leaves_of(start.value)]  # fmt: skip
        kinds = [one.kind.strip("[]") for one in stated if one is not None and one.kind]
        specific = any(not self.pool.kinds.kinds[kind].vague for kind in kinds)
        return not specific or any(self._kind(start, name) for name in start.arguments)

    def _cost(self, start: Executed, link: Link, used: Mapping[str, int]) -> int:
        """Return a penalty for kinds already used, and for kinds that are vague or not stated."""
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
    """Whether the links fill distinct places, none inside a list that another link replaces."""
    places = {(link.argument, link.index) for link in links}
    whole = {link.argument for link in links if link.index is None}
    return len(places) == len(links) and all(
        link.index is None or link.argument not in whole for link in links
    )


def _groups(level: Sequence[int], size: int, rng: random.Random) -> list[list[int]]:
    """Assign sources from a level to each call of the next; every call of the level is used."""
    order = [*level]
    rng.shuffle(order)
    groups: list[list[int]] = [[] for _ in range(size)]
    for at in range(max(size, len(order))):
        groups[at % size].append(order[at % len(order)])
    return groups


# -- forms -----------------------------------------------------------------------------------------


class Structure(StrEnum):
    """The shape of a task's references."""

    CHAIN = "chain"
    """One call at each depth."""
    FORK = "fork"
    """One call at the start, whose responses go to several calls."""
    JOIN = "join"
    """Several calls at the start, whose results meet in one call at the end."""
    DIAMOND = "diamond"
    """One call at each end, several between."""
    ANY = "any"
    """A random choice among the possible structures."""


def possible(structure: Structure, depth: int, width: int) -> bool:
    """Whether the structure allows this depth and width."""
    if structure is Structure.CHAIN:
        return width == 1
    least = {Structure.DIAMOND: 3, Structure.ANY: 1}.get(structure, 2)
    return depth >= least and (width > 1 or structure is Structure.ANY)


def sizes(structure: Structure, depth: int, width: int, rng: random.Random) -> list[int] | None:
    """Draw the number of calls at each depth; None if impossible or too large for a task."""
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
