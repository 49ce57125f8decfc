"""Scenarios of made items, whose labels are shown by what tools expose and by the typed search.

An item is labelled unsolvable where two things hold of the tools that are on offer or may come.
None of them, in however many calls, exposes a column that a lost hop needs (`exposed`). And the
search over types (`search`) ends, to as many different calls as the item has hops, without a call
sequence that determines the answer: neither by another way nor by chance. That its solvable sibling
is played by its gold calls is run in the sandbox as of any scenario.
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
"""Added to shares of chains, so that none is nothing."""


@dataclass(frozen=True, slots=True)
class Names:
    """A name or code that the question gives."""

    type: str
    value: str
    uses: tuple[tuple[int, str], ...]
    """Hops (from 0) and their arguments that take it."""


@dataclass(frozen=True)
class _Pool:
    """Other tools of an item's world."""

    box: Toolbox

    def others(self, item: Item, like: Iterable[Tool] | None = None) -> Iterator[Tool]:
        """Those that the item has not, at random."""
        del like
        names = [name for name in self.box.tools if name not in item.all_tools]
        drawn(0, item, "other tools").shuffle(names)
        return (self.box.tools[name].tool for name in names)

    def among(self, tools: Sequence[Tool]) -> list[list[float]]:
        """All are equally alike."""
        return [[0.0] * len(tools) for _ in tools]


@dataclass(frozen=True, kw_only=True)
class MadeScene(Scene):
    """A made item and the tools of its world."""

    box: Toolbox
    explorer: Explorer
    usage: Mapping[str, float]
    """As of `items.Making`."""
    named: tuple[Names, ...]
    values: tuple[tuple[str, JSON], ...]
    """Types and values of what the question says: names, codes, bounds and categories."""
    answer: JSON
    """As the last call gives it."""

    def alike(self, said: str, own: set[str], rng: random.Random) -> Iterator[str]:
        """Other names, or codes, of the same type; empty if the text is not a name."""
        kind = self.box.world.owner.get(said, "")
        rows = self.box.world.tables.get(kind, {})
        others = [*rows] if said in rows else [str(row.get(CODE)) for row in rows.values()]
        rng.shuffle(others)
        return (name for name in others if name.casefold() not in own and name != said)

    def made(self, names: Iterable[str]) -> list[MadeTool]:
        """The world's tools of these names."""
        return [self.box.all[name] for name in names]

    @property
    def own(self) -> list[MadeTool]:
        """The tools of the hops."""
        return self.made(dict.fromkeys(hop.tool.name for hop in self.item.hops))

    def lacks(self, tools: Iterable[MadeTool], lost: Iterable[int]) -> bool:
        """Whether these tools do not expose what one of the hops (from 0) needs."""
        known = exposed(tools, {kind for kind, _ in self.values}, self.box.world)
        for hop in (self.item.hops[number] for number in lost):
            gold = gold_of(hop)
            if needed(self.box.all[hop.tool.name], gold.arguments, gold.reading) - known:
                return True
        return False


def scene_of(
    item: Item, further: int, items: Sequence[Item] = (), place: int = 0
) -> MadeScene | None:
    """What an item's scenarios are made of; None where it is of no world that is made here.

    Args:
        item: one of `items`, at `place`.
        further: as of `Scene`.
        items: the whole data set, for scenarios that take tools of another item.
        place: in it.
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


# -- what is lost ------------------------------------------------------------------------------


def _in_vain(
    scene: MadeScene, tools: Sequence[MadeTool], values: Iterable[tuple[str, JSON]],
    explorer: Explorer | None = None,
) -> Checks | Reason:  # fmt: skip
    """How it is shown that the answer is out of reach, or why it is not.

    Args:
        scene: whose answer.
        tools: on offer, or that may come.
        values: what the question says.
        explorer: searches them; that of the scene unless given.
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
    """How a tool of the chain can be lost."""

    gone: MadeTool
    hops: tuple[int, ...]
    kept: list[MadeTool]
    """The chain's other tools."""
    beside: list[MadeTool]
    """On offer with the tool and without it."""
    held: list[MadeTool]
    """What a change of tools may bring."""
    instead: MadeTool
    """Of the same shape: on offer where the tool is not."""
    taken_out: tuple[str, ...]

    def base(self, item: Item) -> Item:
        """The item with these others."""
        return replace(item, others=_tools([*self.beside, *self.held, self.instead]))

    def whole(self, scene: MadeScene, seed: int) -> Draft:
        """The solvable sibling, which has the tool."""
        item = self.base(scene.item)
        names = [tool.name for tool in (self.gone, *self.kept, *self.beside)]
        item = shown(item, names, seed)
        return Draft(item, Label(Scenario.PLAIN, item.id, True), expected=answered(item))

    def label(self, scenario: Scenario, family: str, needs: EpisodeAction, checks: Checks) -> Label:
        """That of the item without it."""
        lost = tuple(number + 1 for number in self.hops)
        checks = replace(checks, taken_out=self.taken_out)
        return Label(scenario, family, False, needs, lost=lost, checks=checks)


def _tools(made: Iterable[MadeTool]) -> tuple[Tool, ...]:
    return tuple(tool.tool for tool in made)


def _losing(scene: MadeScene, gone: MadeTool, seed: int) -> _Lost | Reason:
    """How a tool can be lost so that no other one exposes what it did."""
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
    """Whether it is no twin."""
    return tool.world is scene.box.world


def _first(
    scene: MadeScene, seed: int, what: str, made_of: Callable[[_Lost], Draft | Reason]
) -> Drafts:
    """The draft of the first tool that can be lost, in random order, or why none can be.

    A tool is lost the less often, and stands in for a lost one the more often, the more chains use
    it. So it is as often the one as the other, and to miss it tells nothing.
    """
    tools = [tool for tool in scene.own if tool.name not in scene.computing]
    rng = drawn(seed, scene.item, what)
    # Which of several exponential times is first is drawn by their rates.
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
    """The tool of a hop is gone, and another of its shape stands in its place."""

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
    """The tool of a hop raises at each call."""

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
    """The tools of another item, of another domain: what is foreign here is at home there."""
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
    """The first of `Scene.donors` that is of another domain."""
    for other in scene.donors(seed):
        making = making_of(other) if other.domain != scene.item.domain else None
        if making is not None:
            return other, making.tools
    return None


# -- values that the question keeps back -------------------------------------------------------


def missing_parameter(scene: MadeScene, seed: int) -> Drafts:
    """One name or code of the question is replaced by its type."""
    names = drawn(seed, scene.item, "parameter").sample(scene.named, len(scene.named))
    drafts = [_hiding(scene, name, seed) for name in names]
    return tuple(draft for draft in drafts if isinstance(draft, Draft)) or _why(drafts)


def _why(drafts: Sequence[Draft | Reason]) -> Reason:
    return next((why for why in drafts if isinstance(why, Reason)), Reason.NOTHING_TO_HIDE)


def _hiding(scene: MadeScene, name: Names, seed: int) -> Draft | Reason:
    """The item without a name or code of its question: ``the ship`` for ``the ship Orvale``."""
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
    """A text that says something else for a name or code, in whatever form of the grammar."""
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
"""By scenario: how it is made of an item of a world; the others are not."""
