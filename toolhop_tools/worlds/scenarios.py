"""Scenarios of generated items, whose labels are proven by what tools expose and by the typed
search.

An item is labelled unsolvable if two things hold of the tools that are on offer or may be added.
First, none of them, in any number of calls, exposes a column that a lost hop needs (`exposed`).
Second, the search over types (`search`), limited to as many distinct calls as the item has hops,
finds no calls that determine the answer, whether by another way or by chance. The solvable sibling
is proven by running its gold calls in the sandbox, as for any scenario.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.model import HopProof, HopVerdict
from toolhop_tools.model import EpisodeAction, Item, Tool, canonical
from toolhop_tools.perturb.change import drawn
from toolhop_tools.reading import leaf_text
from toolhop_tools.scenarios import hazards
from toolhop_tools.scenarios.label import Checks, Hidden, Label, Scenario
from toolhop_tools.scenarios.missing import potential_tool
from toolhop_tools.scenarios.scene import (
    Draft,
    Drafts,
    Reason,
    Scene,
    answered,
    gold_of,
    plain_of,
    shown,
    with_reserve,
)
from toolhop_tools.scenarios.unmatched import reserve, unmatched
from toolhop_tools.worlds.domain import EntityType
from toolhop_tools.worlds.exposed import COMPUTING, exposed, needed
from toolhop_tools.worlds.items import making_of
from toolhop_tools.worlds.made import MadeTool, Role, Toolbox, by_name
from toolhop_tools.worlds.phrases import PHRASES
from toolhop_tools.worlds.plan import at
from toolhop_tools.worlds.search import Explorer, Reached
from toolhop_tools.worlds.world import CODE

RARE = 0.02
"""Added to each tool's share of chains, so that no weight is zero."""


@dataclass(frozen=True, slots=True)
class Names:
    """A name or code in the question."""

    type: str
    value: str
    uses: tuple[tuple[int, str], ...]
    """Hops (from 0) with the argument that takes it."""


@dataclass(frozen=True)
class _Pool:
    """Other tools of an item's world."""

    box: Toolbox

    def others(self, item: Item, like: Iterable[Tool] | None = None) -> Iterator[Tool]:
        """Yield tools that the item does not have, in random order."""
        del like
        names = [name for name in self.box.tools if name not in item.all_tools]
        drawn(0, item, "other tools").shuffle(names)
        return (self.box.tools[name].tool for name in names)

    def among(self, tools: Sequence[Tool]) -> list[list[float]]:
        """Return the similarity of tools: all are equally similar."""
        return [[0.0] * len(tools) for _ in tools]


@dataclass(frozen=True, kw_only=True)
class MadeScene(Scene):
    """A generated item and the tools of its world."""

    box: Toolbox
    explorer: Explorer
    usage: Mapping[str, float]
    """Share of chains that use each tool, as in `items.Making`."""
    named: tuple[Names, ...]
    values: tuple[tuple[str, JSON], ...]
    """Types and values in the question: names, codes, bounds and categories."""
    answer: JSON
    """Answer in the form that the last call returns."""

    def alike(self, said: str, own: set[str], rng: random.Random) -> Iterator[str]:
        """Yield other names or codes of the same type; empty if the text is neither."""
        kind = self.box.world.owner.get(said, "")
        rows = self.box.world.tables.get(kind, {})
        others = [*rows] if said in rows else [str(row.get(CODE)) for row in rows.values()]
        rng.shuffle(others)
        return (name for name in others if name.casefold() not in own and name != said)

    def made(self, names: Iterable[str]) -> list[MadeTool]:
        """Return the world's tools with these names."""
        return [self.box.all[name] for name in names]

    @property
    def own(self) -> list[MadeTool]:
        """Tools of the hops."""
        return self.made(dict.fromkeys(hop.tool.name for hop in self.item.hops))

    def lacks(self, tools: Iterable[MadeTool], lost: Iterable[int]) -> bool:
        """Whether these tools fail to expose something that one of the hops (from 0) needs."""
        known = exposed(tools, {kind for kind, _ in self.values}, self.box.world)
        for hop in (self.item.hops[number] for number in lost):
            gold = gold_of(hop)
            if needed(self.box.all[hop.tool.name], gold.arguments, gold.reading) - known:
                return True
        return False


def scene_of(
    item: Item, further: int, items: Sequence[Item] = (), place: int = 0
) -> MadeScene | None:
    """Return the scene for an item; None if it belongs to no world generated here.

    Args:
        item: one of `items`, at index `place`.
        further: as in `Scene`.
        items: the whole data set, for scenarios that take tools of another item.
        place: index of the item.
    """
    making = making_of(item)
    if making is None:
        return None
    box = making.tools
    earlier, proofs = list[JSON](), list[HopProof]()
    values: dict[tuple[str, JSON], None] = {}
    uses: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number, hop in enumerate(item.hops):
        tool, gold = box.all[hop.tool.name], gold_of(hop)
        for param, value in tool.meant(gold.arguments):
            is_bound = param.role in {Role.ABOVE, Role.BELOW, Role.IS}
            takes = param.role in {Role.KEY, Role.LINK, Role.VALUE}
            if is_bound or (takes and value not in earlier):
                values[param.takes or "category", value] = None
                if isinstance(value, str) and value in box.world.owner:
                    uses.setdefault((param.takes, value), []).append((number, param.argument))
        result = tool.call(gold.arguments)
        earlier.append(at(result, gold.reading.path if gold.reading else ()))
        proofs.append(
            HopProof(
                hop.tool.name, HopVerdict.PROVEN, "the chain is right by construction", 1,
                dict(gold.arguments), canonical(result), leaf_text(earlier[-1]), gold.reading,
            )
        )  # fmt: skip
    computing = {tool.name for tool in box.all.values() if tool.shape in COMPUTING}
    return MadeScene(
        item, tuple(proofs), items, place, _Pool(box), further, frozenset(computing),
        box=box, explorer=making.explorer, usage=making.usage, values=tuple(values),
        answer=earlier[-1],
        named=tuple(Names(kind, value, tuple(at)) for (kind, value), at in uses.items()),
    )  # fmt: skip


# -- removed tools -----------------------------------------------------------------------------


def _in_vain(
    scene: MadeScene, tools: Sequence[MadeTool], values: Iterable[tuple[str, JSON]],
    explorer: Explorer | None = None,
) -> Checks | Reason:  # fmt: skip
    """Prove that the answer is out of reach, or return why it is not.

    Args:
        scene: the scene with the answer.
        tools: tools that are on offer or may be added.
        values: values in the question.
        explorer: searches the tools; by default the scene's.
    """
    depth = len(scene.item.hops)
    named = [Reached(*value, frozenset(), 1 << bit) for bit, value in enumerate(values)]
    searched = (explorer or scene.explorer).search(
        [tool.name for tool in tools], named, (scene.item.answer_type, scene.answer), depth + 1
    )
    if searched.shortcut is not None:
        return Reason.STILL_SOLVED
    if not searched.complete:
        return Reason.UNFINISHED
    return Checks(len(tools), depth=depth, calls=searched.calls)


@dataclass(frozen=True, slots=True)
class _Lost:
    """How to remove a tool of the chain."""

    gone: MadeTool
    hops: tuple[int, ...]
    kept: list[MadeTool]
    """Other tools of the chain."""
    beside: list[MadeTool]
    """Other tools on offer, in this item and in its solvable sibling."""
    held: list[MadeTool]
    """Tools held back for a change of tools."""
    instead: MadeTool
    """Tool of the same shape that replaces the removed one."""
    taken_out: tuple[str, ...]

    def base(self, item: Item) -> Item:
        """Return the item with these other tools."""
        return replace(item, others=_tools([*self.beside, *self.held, self.instead]))

    def whole(self, scene: MadeScene, seed: int) -> Draft:
        """Return the solvable sibling, which has the tool."""
        item = self.base(scene.item)
        names = [tool.name for tool in (self.gone, *self.kept, *self.beside)]
        item = shown(item, names, seed)
        return Draft(item, Label(Scenario.PLAIN, item.id, True), expected=answered(item))

    def label(self, scenario: Scenario, family: str, needs: EpisodeAction, checks: Checks) -> Label:
        """Return the label of the item without the tool."""
        lost = tuple(number + 1 for number in self.hops)
        checks = replace(checks, taken_out=self.taken_out)
        return Label(scenario, family, False, needs, lost=lost, checks=checks)


def _tools(made: Iterable[MadeTool]) -> tuple[Tool, ...]:
    return tuple(tool.tool for tool in made)


def _losing(scene: MadeScene, gone: MadeTool, seed: int) -> _Lost | Reason:
    """Choose the other tools so that none of them exposes what the removed tool exposed."""
    own, hops = scene.own, tuple(scene.served[gone.name])
    kept = [tool for tool in own if tool is not gone]
    if not scene.lacks(kept, hops):
        return Reason.OWN_TOOL
    on_offer = [tool for tool in scene.made(scene.item.tools) if tool not in own]
    rng = drawn(seed, scene.item, f"without {gone.name}")
    spare = [tool for tool in scene.box.others(own, rng) if tool not in on_offer]
    twin, taken_out, harmless = scene.box.twins.get(gone.name), list[str](), list[MadeTool]()
    for tool in [*on_offer, *spare]:
        if tool is not twin and scene.lacks([*kept, *harmless, tool], hops):
            harmless.append(tool)
        elif tool in on_offer:
            taken_out.append(tool.name)
    alike = [tool for tool in harmless if tool.shape is gone.shape and _is_present(scene, tool)]
    if not alike:
        return Reason.NO_LIKE
    instead = rng.choices(alike, [scene.usage[tool.name] + RARE for tool in alike])[0]
    unpaired = {instead, scene.box.twins.get(instead.name)}
    rest = [tool for tool in harmless if tool not in unpaired]
    count = scene.size - len(own)
    beside, held = rest[:count], rest[count:][: scene.further]
    return _Lost(gone, hops, kept, beside, held, instead, tuple(taken_out))


def _is_present(scene: MadeScene, tool: MadeTool) -> bool:
    """Whether a tool is not a twin."""
    return tool.world is scene.box.world


def _first(
    scene: MadeScene, seed: int, what: str, made_of: Callable[[_Lost], Draft | Reason]
) -> Drafts:
    """Return the draft for the first tool that can be removed, in random order, or why there is
    none.

    The more chains use a tool, the less often it is removed and the more often it replaces a
    removed one. So a tool is equally often in both roles, and its absence reveals nothing.
    """
    tools = [tool for tool in scene.own if tool.name not in scene.computing]
    rng = drawn(seed, scene.item, what)
    # The first of several exponential times is drawn in proportion to its rate.
    tools.sort(key=lambda tool: rng.expovariate(1 - scene.usage[tool.name] + RARE))
    reasons = []
    for tool in tools:
        losing = _losing(scene, tool, seed)
        draft = losing if isinstance(losing, Reason) else made_of(losing)
        if isinstance(draft, Draft):
            return (draft,)
        reasons.append(draft)
    return next(iter(reasons), Reason.LOOKED_UP)


def missing_tool(scene: MadeScene, seed: int) -> Drafts:
    """Remove the tool of a hop and offer another of its shape instead."""

    def made_of(losing: _Lost) -> Draft | Reason:
        tools = [*losing.kept, *losing.beside, losing.instead]
        made = shown(losing.base(scene.item), [tool.name for tool in tools], seed)
        checks = _in_vain(scene, [*tools, *losing.held], scene.values)
        if isinstance(checks, Reason):
            return checks
        label = losing.label(Scenario.MISSING_TOOL, made.id, EpisodeAction.CHANGE_TOOLS, checks)
        rest = [at for at in range(len(made.hops)) if at not in losing.hops]
        whole = losing.whole(scene, seed)
        draft = Draft(made, label, expected=answered(made, rest), siblings=(whole,))
        return with_reserve(draft, [losing.gone.name], seed)

    return _first(scene, seed, "missing", made_of) if len(scene.item.hops) > 1 else Reason.ONE_HOP


def broken_tool(scene: MadeScene, seed: int) -> Drafts:
    """Make the tool of a hop raise on every call."""

    def made_of(losing: _Lost) -> Draft | Reason:
        tools = [*losing.kept, *losing.beside, *losing.held]
        whole = losing.whole(scene, seed)
        made, fails = hazards.broken(scene, whole.item, losing.hops[0], seed)
        checks = _in_vain(scene, tools, scene.values)
        if isinstance(checks, Reason):
            return checks
        label = losing.label(Scenario.BROKEN_TOOL, made.id, EpisodeAction.GIVE_UP, checks)
        rest = [at for at in range(len(made.hops)) if at not in losing.hops]
        expected = (*answered(made, rest), fails)
        return Draft(made, label, expected=expected, siblings=(whole,))

    return _first(scene, seed, "broken", made_of)


# -- tools of another world --------------------------------------------------------------------


def _of_another(scene: MadeScene, seed: int) -> Draft | Reason:
    """Offer the tools of an item from another domain: foreign to this item, native to that one."""
    item = scene.item
    donor = _donor(scene, seed)
    if donor is None:
        return Reason.NO_DONOR
    other, box = donor
    own = [hop.tool.name for hop in other.hops]
    spare = [tool.name for tool in box.others([], drawn(seed, item, "foreign"))]
    taken = {name.casefold() for name in item.all_tools}
    free = [
        box.all[name]
        for name in dict.fromkeys((*own, *other.tools, *spare))
        if name.casefold() not in taken
    ]
    chosen, held = free[: scene.size], free[scene.size :][: scene.further]
    foreign = Toolbox(box.world, box.surface, by_name([*chosen, *held]))
    made = replace(item, others=_tools([*chosen, *held]))
    made = shown(made, [tool.name for tool in chosen], seed)
    tools = [*foreign.tools.values()]
    checks = _in_vain(scene, tools, scene.values, Explorer(foreign))
    if isinstance(checks, Reason):
        return checks
    hops = range(len(item.hops))
    label = Label(
        Scenario.UNMATCHED, item.id, False, EpisodeAction.CHANGE_TOOLS,
        lost=tuple(number + 1 for number in hops), checks=checks,
    )  # fmt: skip
    return Draft(made, label, expected=answered(made), siblings=(plain_of(scene, seed),))


def _donor(scene: MadeScene, seed: int) -> tuple[Item, Toolbox] | None:
    """Return the first of `Scene.donors` from another domain, with its tools."""
    for other in scene.donors(seed):
        making = making_of(other) if other.domain != scene.item.domain else None
        if making is not None:
            return other, making.tools
    return None


# -- values missing from the question ----------------------------------------------------------


def missing_parameter(scene: MadeScene, seed: int) -> Drafts:
    """Replace one name or code in the question with its type."""
    names = drawn(seed, scene.item, "parameter").sample(scene.named, len(scene.named))
    drafts = [_hiding(scene, name, seed) for name in names]
    return tuple(draft for draft in drafts if isinstance(draft, Draft)) or _why(drafts)


def _why(drafts: Sequence[Draft | Reason]) -> Reason:
    return next((why for why in drafts if isinstance(why, Reason)), Reason.NOTHING_TO_HIDE)


def _hiding(scene: MadeScene, name: Names, seed: int) -> Draft | Reason:
    """Return the item without a name or code: ``the ship`` for ``the ship Orvale``."""
    item = scene.item
    of = scene.box.world.domain.types[name.type.removesuffix(" code")]
    instead = f"the {of.noun}"
    texts = [item.question, *(hop.question for hop in item.hops)]
    texts = [_without(text, name.value, of, instead) for text in texts]
    if any(name.value in text for text in texts):
        return Reason.STILL_SAID
    hidden = tuple(
        Hidden(number + 1, argument, name.value, instead, (of.noun,))
        for number, argument in name.uses
    )
    hops = tuple(
        replace(hop, question=text) for hop, text in zip(item.hops, texts[1:], strict=True)
    )
    plain = plain_of(scene, seed)
    made = replace(plain.item, question=texts[0], hops=hops)
    left = [value for value in scene.values if value[1] != name.value]
    checks = _in_vain(scene, scene.made(made.all_tools), left)
    if isinstance(checks, Reason):
        return checks
    label = Label(
        Scenario.MISSING_PARAMETER, item.id, False, EpisodeAction.ASK_USER, solvable_after=True,
        lost=tuple(sorted({one.hop for one in hidden})), hidden=hidden, checks=checks,
    )  # fmt: skip
    return Draft(made, label, expected=answered(made), siblings=(plain,))


def _without(text: str, name: str, of: EntityType, instead: str) -> str:
    """Replace a name or code in a text, in any form of the grammar."""
    said = [form.format(noun=of.noun, code=name) for form in PHRASES["code"]]
    said += [f"the {of.noun} {name}", f"{of.noun} {name}", f"the {name}", name]
    forms = "|".join(sorted(map(re.escape, said), key=len, reverse=True))

    def replaced(match: re.Match[str]) -> str:
        before = text[: match.start()].rstrip()
        return instead.capitalize() if not before or before[-1] in ".?!" else instead

    return re.sub(rf"\b(?i:{forms})\b", replaced, text)


TRANSFORMATIONS: Mapping[Scenario, Callable[[MadeScene, int], Drafts]] = MappingProxyType(
    {
        Scenario.PLAIN: lambda scene, seed: (plain_of(scene, seed),),
        Scenario.MISSING_TOOL: missing_tool,
        Scenario.POTENTIAL_TOOL: partial(potential_tool, lose=missing_tool),
        Scenario.MISSING_PARAMETER: missing_parameter,
        Scenario.UNMATCHED: partial(unmatched, of_another=_of_another),
        Scenario.RESERVE: partial(reserve, of_another=_of_another),
        Scenario.BROKEN_TOOL: broken_tool,
        Scenario.FLAKY_TOOL: hazards.flaky_tool,
        Scenario.WRONG_ONCE: hazards.wrong_once,
        Scenario.WRONG_ALWAYS: hazards.wrong_always,
    }
)
"""How to make each scenario from a generated item; other scenarios are not made."""
