"""Turn certified items into scenarios, one item's family at a time to bound memory."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType

import anyio

from toolhop_sandbox.base import Program, Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_tools.certify.file import with_gold
from toolhop_tools.certify.model import VERSION, Basis, Certificate
from toolhop_tools.certify.prove import MOST_LOST
from toolhop_tools.model import Item, ItemsOnDemand, canonical
from toolhop_tools.perturb.change import drawn
from toolhop_tools.perturb.nearest import Nearest
from toolhop_tools.scenarios import hazards, hidden, limits, missing, unmatched
from toolhop_tools.scenarios.actions import TOOLS, Offer
from toolhop_tools.scenarios.label import Label, Scenario, labelled, own_id
from toolhop_tools.scenarios.proof import Proven, Prover
from toolhop_tools.scenarios.scene import (
    FURTHER,
    Draft,
    Reason,
    Refused,
    Scene,
    Transformation,
    plain_of,
)
from toolhop_tools.worlds import scenarios as worlds
from toolhop_tools.worlds.scenarios import MadeScene

log = logging.getLogger(__name__)
BY_CONSTRUCTION = Basis(VERSION, 0, 0, 0, wall_s=2.0, memory_mib=256, policy="restricted")
"""Call limits for items that need no certificate; nothing is searched."""


CLOSED = "closed_world"
"""Key of an item's `extra`: true if the item declares that its values are invented or its own."""


@dataclass(frozen=True)
class Recipe:
    """What to make from each item."""

    into: tuple[Scenario, ...]
    seed: int = 0
    offer: Offer = Offer.ACTIONS
    balanced: bool = False
    """Whether each family has as many solvable as unsolvable items; the surplus is dropped at
    random."""


@dataclass(frozen=True)
class Family:
    """Everything made from one item."""

    items: tuple[Item, ...]
    """Distinct items with their labels; siblings follow the item to which they belong."""
    refused: tuple[Refused, ...]
    labels: tuple[Label, ...]
    """Labels of the items."""
    calls: int
    """Number of calls run to make them."""


@dataclass
class Yields:
    """Counts over families; items are not kept."""

    executed: int = 0
    """Number of items from which scenarios were made."""
    left_out: int = 0
    """Number of items left out because no certificate proves that their chain runs."""
    calls: int = 0
    tried: int = 0
    """Number of pairs of a lost hop and a tool tried in its place without success."""
    taken_out: int = 0
    """Number of tools removed because they did a lost job."""
    made: Counter[tuple[Scenario, bool]] = field(default_factory=Counter)
    """Number of items by scenario and solvability."""
    refused: dict[Scenario, Counter[Reason]] = field(default_factory=dict)

    def add(self, family: Family | None) -> None:
        """Add the result for one item."""
        self.executed += family is not None
        self.left_out += family is None
        if family is None:
            return
        self.calls += family.calls
        for label in family.labels:
            self.made[label.scenario, label.solvable] += 1
            self.tried += label.checks.tools
            self.taken_out += len(label.checks.taken_out)
        for one in family.refused:
            self.refused.setdefault(one.scenario, Counter())[one.reason] += 1


def plain(scene: Scene, seed: int) -> tuple[Draft, ...]:
    """Leave the item as it is."""
    return (plain_of(scene, seed),)


TRANSFORMATIONS: Mapping[Scenario, Transformation] = MappingProxyType(
    {
        Scenario.PLAIN: plain,
        Scenario.MISSING_SINGLE: missing.missing_single,
        Scenario.MISSING_TOOL: missing.missing_tool,
        Scenario.MISSING_REPEATED: missing.missing_repeated,
        Scenario.POTENTIAL_TOOL: missing.potential_tool,
        Scenario.LIMITED_STEPS: limits.limited_steps,
        Scenario.LIMITED_CLONES: limits.limited_clones,
        Scenario.CALL_LIMIT: limits.call_limit,
        Scenario.MISSING_PARAMETER: hidden.missing_parameter,
        Scenario.UNMATCHED: partial(unmatched.unmatched, of_another=unmatched.of_another),
        Scenario.RESERVE: partial(unmatched.reserve, of_another=unmatched.of_another),
        Scenario.BROKEN_TOOL: hazards.broken_tool,
        Scenario.FLAKY_TOOL: hazards.flaky_tool,
        Scenario.WRONG_ONCE: hazards.wrong_once,
        Scenario.WRONG_ALWAYS: hazards.wrong_always,
    }
)
"""Transformation for each scenario. Most have `Scenario.PLAIN` as a sibling."""


def scene_of(
    items: Sequence[Item], at: int, certificate: Certificate, pool: Nearest, offer: Offer
) -> Scene | None:
    """Return the scene for an item; None if no certificate proves that its chain runs."""
    item = items[at]
    programs = all(isinstance(hop.tool.body, Program) for hop in item.hops)
    if not certificate.executed or not programs:
        return None
    further = FURTHER if offer is Offer.ACTIONS else 0
    return Scene(with_gold(item, certificate), certificate.hops, items, at, pool, further)


async def family_of(scene: Scene, basis: Basis, sandbox: Sandbox, recipe: Recipe) -> Family:
    """Make all scenarios of an item and prove their labels.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    made, refused = list[Proven](), list[Refused]()
    taken = {tool.name for tool in TOOLS[recipe.offer]} & scene.item.all_tools.keys()
    async with sandbox.session() as session:
        prover = Prover(session, basis)
        if not isinstance(scene, MadeScene):
            scene = replace(scene, computing=await prover.computing(scene))
        for kind in recipe.into:
            one = Reason.NAME if taken else await _made(scene, kind, prover, recipe.seed)
            if isinstance(one, Reason):
                refused.append(Refused(kind, scene.item.id, one))
            else:
                made.append(one)
    found = _distinct(plain_of(scene, recipe.seed).item, made)
    if recipe.balanced:
        found = _balanced(scene.item, found, recipe.seed)
    found = [(name, replace(one, label=_marked(one, scene))) for name, one in found]
    items = tuple(_finished(one, name, recipe.offer) for name, one in found)
    labels = tuple(one.label for _, one in found)
    return Family(items, tuple(refused), labels, prover.calls - prover.known.spared)


def _marked(one: Proven, scene: Scene) -> Label:
    """Mark the lost hops that can be done without a tool: computed, or known.

    Invented values cannot be known: those of worlds, and of items that declare a closed world.
    """
    names = {number: one.item.hops[number - 1].tool.name for number in one.label.lost}
    sums = tuple(number for number, name in names.items() if name in scene.computing)
    is_closed = isinstance(scene, MadeScene) or scene.item.extra.get(CLOSED) is True
    known = () if is_closed else tuple(number for number in names if number not in sums)
    return replace(one.label, computed=() if one.label.hidden else sums, knowable=known)


async def _made(scene: Scene, kind: Scenario, prover: Prover, seed: int) -> Proven | Reason:
    """Return the first draft of a transformation whose claims hold, or why there is none."""
    if isinstance(scene, MadeScene):
        of_worlds = worlds.TRANSFORMATIONS.get(kind)
        drafts = of_worlds(scene, seed) if of_worlds else Reason.NOT_OF_WORLDS
    else:
        of_items = TRANSFORMATIONS.get(kind)
        drafts = of_items(scene, seed) if of_items else Reason.NOT_MADE
    if isinstance(drafts, Reason):
        return drafts
    reasons = []
    for draft in drafts:
        found = await prover.prove(replace(draft, label=replace(draft.label, scenario=kind)))
        if isinstance(found, Proven):
            return found
        reasons.append(found)
    return reasons[0]


def _distinct(item: Item, made: Iterable[Proven]) -> list[tuple[str, Proven]]:
    """Return all distinct items of a family by id; a shared sibling occurs only once.

    The unchanged item gets the id of the plain scenario.
    """
    found: dict[str, tuple[str, Proven]] = {}
    for one in made:
        own = own_id(item.id, one.label.scenario)
        for name, each in ((own, one), *((f"{own}~solvable", each) for each in one.siblings)):
            shown = [
                [*tool.schema.to_openai().items(), *tool.body_parts]
                for tool in each.item.tools.values()
            ]
            key = canonical([each.label.scenario, each.item.question, shown])
            bare = each.label.scenario is Scenario.PLAIN and each.item.question == item.question
            if bare and each.item.tools.keys() == item.tools.keys():
                name = own_id(item.id, Scenario.PLAIN)
            found.setdefault(key, (name, each))
    return list(found.values())


def _balanced(
    item: Item, found: Sequence[tuple[str, Proven]], seed: int
) -> list[tuple[str, Proven]]:
    """Keep as many solvable as unsolvable items, in the given order."""
    order = list(range(len(found)))
    drawn(seed, item, "balance").shuffle(order)
    sides = [[at for at in order if found[at][1].label.solvable is one] for one in (True, False)]
    size = min(map(len, sides))
    return [found[at] for at in sorted(sides[0][:size] + sides[1][:size])]


def _finished(one: Proven, name: str, offer: Offer) -> Item:
    """Return the item as written: with actions, its label, and its own id."""
    actions = TOOLS[offer]
    item = replace(
        one.item,
        others=(*one.item.others, *actions),
        order=(*one.item.order, *(tool.name for tool in actions)),
    )
    return labelled(item, one.label, name)


class FamilyMaker:
    """Makes the families of a data set's items; items of worlds need no certificates."""

    def __init__(
        self,
        items: Sequence[Item],
        certificates: Mapping[str, Certificate],
        sandbox: Sandbox,
        recipe: Recipe,
    ) -> None:
        """Index all tools.

        Args:
            items: the whole data set, from which tools of other items are taken.
            certificates: certificates by item id.
            sandbox: where calls run, with the limits of the certificates.
            recipe: what to make.
        """
        self._items, self._certificates = items, certificates
        self._sandbox, self._recipe = sandbox, recipe

    @cached_property
    def _pool(self) -> Nearest:
        return Nearest(self._items)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {item.id: at for at, item in enumerate(self._items)}

    def _scene(self, identity: str) -> tuple[Scene, Basis] | None:
        """Return an item's scene and the limits of its calls."""
        items = self._items
        if isinstance(items, ItemsOnDemand):
            item = items.by_id[identity]
        else:
            item = items[self._places[identity]]
        further = FURTHER if self._recipe.offer is Offer.ACTIONS else 0
        if made := worlds.scene_of(item, further, items, self._places[identity]):
            return made, BY_CONSTRUCTION
        certificate = self._certificates.get(identity)
        if certificate is None:
            return None
        at, offer = self._places[identity], self._recipe.offer
        scene = scene_of(items, at, certificate, self._pool, offer)
        return (scene, certificate.basis) if scene else None

    async def family(self, identity: str) -> Family | None:
        """Make the family of an item; None if its chain is not proven to run.

        Raises:
            SandboxFault: workers were lost repeatedly.
            SandboxUnavailable: no worker could be started.
        """
        scene = self._scene(identity)
        return scene and await _again(*scene, self._sandbox, self._recipe)


async def make_all(
    chosen: Sequence[Item],
    one: Callable[[str], Awaitable[Family | None]],
    *,
    at_a_time: int,
    on_family: Callable[[Item, Family | None], None],
) -> None:
    """Make the families of items, `at_a_time` concurrently; `on_family` receives them in order.

    Args:
        chosen: the items to make scenarios from.
        one: makes the family of an item by its id: `FamilyMaker.family`, in this process or
            another.
        at_a_time: maximum number of families in memory.
        on_family: called with an item and its family; None if its chain is not proven to run.

    Raises:
        Exception: any exception of `one` or `on_family`.
    """
    for first in range(0, len(chosen), at_a_time):
        batch = chosen[first : first + at_a_time]
        found: list[Family | None | Exception] = [None] * len(batch)
        async with anyio.create_task_group() as group:
            for at, item in enumerate(batch):
                group.start_soon(_into, found, at, one, item.id)
        for item, made in zip(batch, found, strict=True):
            if isinstance(made, Exception):
                raise made
            on_family(item, made)


async def _into(
    found: list[Family | None | Exception],
    at: int,
    one: Callable[[str], Awaitable[Family | None]],
    identity: str,
) -> None:
    """Store a family, or the exception that prevented it, at its index."""
    try:
        found[at] = await one(identity)
    except Exception as error:  # noqa: BLE001 -- raised by the caller, outside of the group
        found[at] = error


async def _again(scene: Scene, basis: Basis, sandbox: Sandbox, recipe: Recipe) -> Family:
    """Make a family, retrying if the worker is lost."""
    for _ in range(MOST_LOST):
        try:
            return await family_of(scene, basis, sandbox, recipe)
        except SandboxFault as fault:
            log.warning("the scenarios of item %s are made anew: %s", scene.item.id, fault)
    return await family_of(scene, basis, sandbox, recipe)
