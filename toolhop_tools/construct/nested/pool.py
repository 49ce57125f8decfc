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
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.model import Certificate
from toolhop_tools.construct.nested.assemble import (
    Executed,
    Leaf,
    Link,
    Unfit,
    assembled,
    leaves_of,
    parameter_type,
    placed,
    taken_by,
    value_at,
)
from toolhop_tools.construct.nested.items import FROM_ITEM, Run, executed_item, returned
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.model import kind_of, leaves
from toolhop_tools.construct.nested.shapes import Structure, sizes
from toolhop_tools.declared import compiled, fits
from toolhop_tools.model import Item, Tool, canonical

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


Slot: TypeAlias = tuple[str, int | None]
"""An argument, or an element of one that is a list."""
Edge: TypeAlias = tuple[str, tuple[str | int, ...], str, str, int | None]
"""Arguments that tell what a call gives, and a leaf of its result; the arguments of another call,
and where the leaf goes."""


def slots(call: Executed) -> Iterator[Slot]:
    """Where a response could go."""
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

    def meaning(self, source: Executed, leaf: Leaf, target: Executed, slot: Slot) -> str:
        """Why a leaf may go to a place of another call; empty where it may not."""
        name, index = slot
        link = Link(name, index, 0, leaf.path)
        why = self._reason(source, target, link)
        if not why:
            return ""
        wanted = kind_of(value_at(target.arguments, link))
        if index is None:
            wanted = parameter_type(target.tool, name, target.arguments[name])
        if (kind_of(leaf.value), wanted) != ("int", "float") and kind_of(leaf.value) != wanted:
            return ""
        if leaf.value in ("", [], {}) or len(canonical(leaf.value)) > LONGEST_CHARS:
            return ""
        free = index is None and wanted not in {"bool", "dict"}
        return why if why is not Meaning.MODEL or free else ""

    def _reason(self, source: Executed, target: Executed, link: Link) -> Meaning | None:
        pair = (source.tool.name, target.tool.name)
        if pair in self.known and edge(source, target, link, self.kinds) in self.known[pair]:
            return Meaning.ITEM
        stated = self.kinds.response(source.tool, link.path, source.arguments)
        kind = self.kinds.parameter(target.tool, link.argument, target.arguments)
        if link.index is not None and kind.startswith("["):
            return None
        as_list = isinstance(target.arguments[link.argument], list) and link.index is None
        if as_list and kind and not kind.startswith("["):
            kind = f"[{kind}]"
        if stated is not None and self.kinds.takes(kind, stated.kind):
            return Meaning.KIND
        free = self.doubtful and not _is_choice(target.tool, link.argument)
        return Meaning.MODEL if free else None


def _is_choice(tool: Tool, name: str) -> bool:
    """Whether the schema lists a parameter's values."""
    properties: Any = tool.schema.parameters.get("properties", {})
    own = properties.get(name, {})
    return "enum" in own or own.get("type") == "boolean"


def edge(source: Executed, target: Executed, link: Link, kinds: Kinds) -> Edge:
    """A reference between two calls, as it is known again.

    What a tool gives may hang on its choices; where no kind holds for it, on all arguments.
    """
    stated = kinds.response(source.tool, link.path, source.arguments)
    telling = {name: value for name, value in source.arguments.items()
               if (stated is not None and stated.kind is None)
               or _is_choice(source.tool, name)}  # fmt: skip
    taking = (canonical(dict(target.arguments)), link.argument, link.index)
    return (canonical(telling), link.path, *taking)


async def pool_of(
    items: Sequence[Item], certificates: Mapping[str, Certificate], kinds: Kinds, run: Run,
    *, doubtful: bool = False,
) -> Pool:  # fmt: skip
    """The pool that items make: their tools, with gold calls that are run.

    Args:
        items: of the data set.
        certificates: by item id, as far as there are any; where an item has one, its calls are
            the certified ones, and its references are known to have a meaning.
        kinds: what parameters take and results are.
        run: runs calls.
        doubtful: see `Pool`.

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
            if key not in starts and _fits(hop.tool, gold):
                [outcome] = await run(body, [dict(gold)])
                if (value := returned(outcome)) is not None:
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


def _fits(tool: Tool, arguments: Mapping[str, JSON]) -> bool:
    return fits(compiled(tool.schema.parameters), tool.schema.parameters, arguments)


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
            self._known_sources[id(target)] = [
                {
                    id(call) for call in self.pool.starts
                    if call.tool.name != target.tool.name
                    and any(self.pool.meaning(call, leaf, target, slot)
                            for leaf in leaves_of(call.value))
                }
                for slot in slots(target)
            ]  # fmt: skip
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
                arguments[link.argument] = placed(
                    arguments[link.argument], link, taken_by(calls, link)
                )
            given = [canonical(part) for part in leaves(arguments)]
            twice = any(given.count(canonical(taken_by(calls, link))) > 1 for link in links)
            if twice or not _fits(start.tool, arguments):
                continue
            [outcome] = await self.run(start.tool.program, [arguments])
            value = returned(outcome)
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
            if start.tool.name in used:
                continue
            offers = [
                [
                    Link(*slot, source, leaf.path, why)
                    for slot in slots(start)
                    for leaf in leaves_of(calls[source].value)
                    if (why := self.pool.meaning(calls[source], leaf, start, slot))
                ]
                for source in group
            ]
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
