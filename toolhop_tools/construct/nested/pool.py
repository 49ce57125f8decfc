"""Nested tasks out of a pool of tools that run: a search for calls of a wanted form.

Each tool is known by calls that work: the gold calls of the data set's items. A task begins with
such calls, and grows call by call: a response of an earlier call takes the place of an argument of
the same type, for a reason (`Meaning`), and the call is run with it. One that fails, or says that
it does, is no part of a task. What is drawn hangs on the seed alone.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

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
    parameter_kind,
)
from toolhop_tools.construct.nested.items import FROM_ITEM, Run, executed_item, returned
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.nested.naming import DATES, PLAIN, SELECTORS, name_words, result_name
from toolhop_tools.construct.nested.shapes import Structure, sizes
from toolhop_tools.dates import whole_date
from toolhop_tools.declared import compiled, fits
from toolhop_tools.leaves import Leaf as ArgumentLeaf
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
    NAME = "name"
    """All words of the parameter's name are in the response's."""
    PLAIN = "plain"
    """The parameter's name says its type and no more (text, number, date): it takes any."""
    MODEL = "model"
    """The types are equal; a model has to say that it makes sense."""


@dataclass(frozen=True)
class Start:
    """A tool with a call of it that works."""

    tool: Tool
    arguments: Mapping[str, JSON]
    value: JSON
    domain: str
    item: str

    @property
    def slots(self) -> list[tuple[str, str]]:
        """Arguments that can take a response: name and type."""
        found = []
        properties = self.tool.schema.parameters.get("properties")
        known = properties if isinstance(properties, dict) else {}
        for name, value in self.arguments.items():
            own = known.get(name)
            schema = own if isinstance(own, dict) else {}
            leaf = ArgumentLeaf((name,), value, schema, name)
            kind = parameter_kind(self.tool, name, value)
            if not leaf.is_option and name not in SELECTORS and kind not in {"", "bool", "dict"}:
                found.append((name, kind))
        return found


@dataclass(frozen=True)
class Pool:
    """Tools that run, each with calls, and the references that items show."""

    starts: tuple[Start, ...]
    known: frozenset[tuple[str, tuple[str | int, ...], str, str]]
    """Tool and leaf, and the tool and parameter that takes it."""
    meanings: tuple[Meaning, ...] = (Meaning.ITEM, Meaning.NAME, Meaning.PLAIN)

    def meaning(self, start: Start, leaf: Leaf, other: Start, slot: tuple[str, str]) -> str:
        """Why a leaf may go to a parameter of another call; empty where it may not."""
        name, kind = slot
        if leaf.kind != kind and (leaf.kind, kind) != ("int", "float"):
            return ""
        if not _usable(leaf.value):
            return ""
        found = Meaning.MODEL
        words = {*name_words(name)} - {"name"}
        if (start.tool.name, leaf.path, other.tool.name, name) in self.known:
            found = Meaning.ITEM
        elif words & DATES:
            if not isinstance(leaf.value, str) or whole_date(leaf.value) is None:
                return ""
            found = Meaning.PLAIN
        elif name in PLAIN.get(kind, ()):
            found = Meaning.PLAIN
        elif words and words <= {*name_words(leaf.name)}:
            found = Meaning.NAME
        return found.value if found in self.meanings else ""


def _usable(value: JSON) -> bool:
    """Whether a value is worth taking: something, and not at any length."""
    text = canonical(value)
    return value not in ("", [], {}) and len(text) <= LONGEST_CHARS


async def pool_of(
    items: Sequence[Item], certificates: Mapping[str, Certificate], run: Run,
    meanings: Sequence[Meaning] = (Meaning.ITEM, Meaning.NAME, Meaning.PLAIN),
) -> Pool:  # fmt: skip
    """The pool that items make: their tools, with gold calls that are run.

    Args:
        items: of the data set.
        certificates: by item id, as far as there are any; where an item has one, its calls are
            the certified ones, and its references are known to have a meaning.
        run: runs calls.
        meanings: what is reason enough for a reference.

    Raises:
        SandboxFault, SandboxUnavailable: as `run`.
    """
    starts: dict[str, Start] = {}
    programs: dict[str, Program] = {}
    known: set[tuple[str, tuple[str | int, ...], str, str]] = set()
    for item in items:
        proofs = certificates[item.id].hops if item.id in certificates else ()
        for at, hop in enumerate(item.hops):
            arguments = proofs[at].arguments if proofs else (hop.gold and hop.gold.arguments)
            body = hop.tool.body
            if not isinstance(body, Program) or not arguments:
                continue
            # Of two tools of one name the first is the pool's.
            if programs.setdefault(hop.tool.name, body) != body:
                continue
            key = f"{hop.tool.name} {canonical(dict(arguments))}"
            if key in starts:
                continue
            [outcome] = await run(body, [dict(arguments)])
            value = returned(outcome)
            if value is not None and _fits(hop.tool, arguments):
                starts[key] = Start(hop.tool, dict(arguments), value, item.domain, item.id)
        if item.id in certificates:
            calls = await executed_item(item, certificates[item.id], run)
            if not isinstance(calls, Unfit):
                known |= _shown(calls)
    return Pool((*starts.values(),), frozenset(known), (*meanings,))


def _shown(calls: Sequence[Executed]) -> set[tuple[str, tuple[str | int, ...], str, str]]:
    """The references of an item's calls, as `Pool.known` has them."""
    return {
        (calls[link.source].tool.name, link.path, call.tool.name, link.argument)
        for call in calls
        for link in call.links
        if link.index is None
    }


def _fits(tool: Tool, arguments: Mapping[str, JSON]) -> bool:
    return fits(compiled(tool.schema.parameters), tool.schema.parameters, arguments)


@dataclass(frozen=True)
class _Step:
    """A call in a task that grows."""

    start: Start
    arguments: Mapping[str, JSON]
    value: JSON
    links: tuple[Link, ...]

    @property
    def leaves(self) -> list[Leaf]:
        name = result_name(self.start.tool.schema, self.arguments)
        return leaves_of(self.value, name)

    @property
    def executed(self) -> Executed:
        return Executed(self.start.tool, self.arguments, self.value, self.links)


@dataclass
class Search:
    """A search in a pool."""

    pool: Pool
    run: Run
    executions: int = 0

    async def find(
        self, structure: Structure, depth: int, width: int, seed: str
    ) -> tuple[Structure, list[Executed]] | None:
        """Executed calls of a form that can be assembled, and the structure that they have; None
        where none are found.

        Raises:
            SandboxFault, SandboxUnavailable: as `run`.
        """
        rng = random.Random(seed)
        kinds = [one for one in Structure if one is not Structure.ANY]
        if structure is Structure.ANY:
            rng.shuffle(kinds)
        for kind in kinds if structure is Structure.ANY else [structure]:
            for _ in range(TRIES):
                wanted = sizes(kind, depth, width, rng)
                steps = await self._grown(wanted, rng) if wanted else None
                calls = [one.executed for one in steps or ()]
                if calls and isinstance(assembled(calls), Nest):
                    return kind, calls
        return None

    async def _grown(self, wanted: Sequence[int], rng: random.Random) -> list[_Step] | None:
        first = self._beginning(wanted, rng)
        if first is None:
            return None
        steps = [_Step(one, one.arguments, one.value, ()) for one in first]
        level = [*range(len(steps))]
        for size in wanted[1:]:
            groups = _groups(level, size, rng)
            added: list[int] = []
            for group in groups:
                step = await self._placed(steps, group, rng)
                if step is None:
                    return None
                added.append(len(steps))
                steps.append(step)
            level = added
        return steps

    def _beginning(self, wanted: Sequence[int], rng: random.Random) -> list[Start] | None:
        """Calls to begin with, of different tools. Where several are to meet in one, such as that
        one can take.
        """
        starts = [*self.pool.starts]
        rng.shuffle(starts)
        chosen: list[Start] = []
        if len(wanted) > 1 and wanted[0] > wanted[1]:
            for target in starts:
                if len(target.slots) > 1 and len(chosen) < wanted[0]:
                    chosen += self._feeding(target, [*chosen, target], starts)
            chosen = chosen[: wanted[0]]
        for one in starts:
            if len(chosen) == wanted[0]:
                break
            if one.tool.name not in {other.tool.name for other in chosen}:
                chosen.append(one)
        return chosen if len(chosen) == wanted[0] else None

    def _feeding(
        self, target: Start, taken: Sequence[Start], starts: Sequence[Start]
    ) -> list[Start]:
        """A call for each of the first two parameters of a call that takes several."""
        names, found = {one.tool.name for one in taken}, list[Start]()
        for slot in target.slots[:2]:
            for one in starts:
                leaves = leaves_of(one.value, result_name(one.tool.schema, one.arguments))
                fitting = any(self.pool.meaning(one, leaf, target, slot) for leaf in leaves)
                if fitting and one.tool.name not in names:
                    names.add(one.tool.name)
                    found.append(one)
                    break
        return found

    async def _placed(
        self, steps: Sequence[_Step], group: Sequence[int], rng: random.Random
    ) -> _Step | None:
        """One more call that takes a response of each call of a group."""
        used = {one.start.tool.name for one in steps}
        places = [*self._places(steps, group, used)]
        rng.shuffle(places)
        for start, links in places[:RUNS]:
            arguments = dict(start.arguments)
            for link in links:
                leaf = next(x for x in steps[link.source].leaves if x.path == link.path)
                arguments[link.argument] = leaf.value
            if not _fits(start.tool, arguments):
                continue
            self.executions += 1
            [outcome] = await self.run(start.tool.program, [arguments])
            value = returned(outcome)
            leaves = leaves_of(value, "result") if value is not None else []
            if any(_usable(one.value) for one in leaves):
                return _Step(start, arguments, value, links)
        return None

    def _places(
        self, steps: Sequence[_Step], group: Sequence[int], used: set[str]
    ) -> Iterator[tuple[Start, tuple[Link, ...]]]:
        for start in self.pool.starts:
            slots = start.slots
            if start.tool.name in used or len(slots) < len(group):
                continue
            for chosen in itertools.permutations(slots, len(group)):
                offers = [
                    [
                        Link(slot[0], None, source, leaf.path, why)
                        for leaf in steps[source].leaves
                        if (why := self.pool.meaning(steps[source].start, leaf, start, slot))
                    ]
                    for source, slot in zip(group, chosen, strict=True)
                ]
                yield from ((start, links) for links in itertools.product(*offers))


def _groups(level: Sequence[int], size: int, rng: random.Random) -> list[list[int]]:
    """Which calls of a level each of the next level's takes from: each of both has a part in it."""
    order = [*level]
    rng.shuffle(order)
    if size >= len(order):
        return [[order[at % len(order)]] for at in range(size)]
    groups: list[list[int]] = [[one] for one in order[:size]]
    for at, one in enumerate(order[size:]):
        groups[at % size].append(one)
    return groups
