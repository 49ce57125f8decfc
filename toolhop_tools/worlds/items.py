"""Generate items by index: a block of items shares a world, so that any block can be made alone."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain, islice

from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import TOOLHOP, Flaky, GoldCall, Hop, Item
from toolhop_tools.reading import Match, Reading, leaf_text
from toolhop_tools.scenarios.hazards import BUSY
from toolhop_tools.worlds.checks import Reason, meaning, spare_elsewhere
from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.draw import Stuck, draw
from toolhop_tools.worlds.expression import (
    Expression,
    Named,
    Read,
    Undefined,
    evaluate,
    nodes,
    parts,
    type_of,
)
from toolhop_tools.worlds.knobs import Knobs
from toolhop_tools.worlds.made import MadeTool, Shape
from toolhop_tools.worlds.plan import Call, Made, Plan, plan
from toolhop_tools.worlds.readings import Reader
from toolhop_tools.worlds.rivals import Rivals
from toolhop_tools.worlds.search import Explorer, Searched, named_values
from toolhop_tools.worlds.spec import FIELD, Spec, referred
from toolhop_tools.worlds.sql import Database
from toolhop_tools.worlds.tools import toolbox
from toolhop_tools.worlds.wording import hop_questions, word
from toolhop_tools.worlds.world import CODE, NAME, Value, World, filled, make

VERSION = 1
"""Version of the generator; incremented with every change that can change an item."""
USAGE = 100
"""Number of chains drawn for `Making.usage`."""
KEPT = 4
"""Number of worlds that `making_of` caches."""
BLOCK = 20
"""Number of items that share a world."""
DRAWS = 200
"""Maximum number of expressions drawn for one place in a block."""
PATIENCE = 400
"""Number of draws after which a world is given up; each accepted item allows as many more."""
WORLDS = 12
"""Maximum number of worlds tried for a block."""
RIVALS = 10
"""Minimum number of other answers that take as many calls and could have been asked for instead."""
ELSEWHERE = 4
"""Number of worlds with the same names in which each hop has to matter."""
SOURCE = "chain"
"""Source of gold calls (`toolhop_tools.model.GoldCall`)."""
HARD = "difficulty"
"""Key of an item's `extra`: how hard the item is, and what was checked."""


def block(spec: Spec, number: int, refused: Counter[str] | None = None) -> tuple[Item, ...]:
    """Return the `BLOCK` items of a world.

    Args:
        spec: the spec of the items.
        number: index of the block, from 0.
        refused: counter to which rejected draws are added, by reason.

    Raises:
        BadChoice: these knobs yield too few items; the message says why others were refused.
    """
    made: list[Item] = []
    refused = Counter() if refused is None else refused
    for attempt in range(WORLDS):
        making = Making(spec.knobs, seed_of(spec, number, attempt), refused)
        questions: set[str] = set()
        for _, item in making.kept():
            if item.question in questions:
                continue
            questions.add(item.question)
            index = number * BLOCK + len(made)
            reference = {FIELD: spec.reference(index, VERSION)}
            made.append(replace(item, id=spec.id_of(index), extra={**item.extra, **reference}))
            if len(made) == BLOCK:
                return tuple(made)
    common = ", ".join(f"{why} ({count})" for why, count in refused.most_common(3))
    raise BadChoice(
        f"{WORLDS} worlds give {len(made)} of {BLOCK} items; refused: {common}",
        fix="allow fewer hops, more tools on offer, or more domains",
    )


def seed_of(spec: Spec, number: int, attempt: int = 0) -> str:
    """Return the seed of a block's world, given the number of worlds already tried."""
    return f"{spec.seed}/{spec.tier}/{number}.{attempt}"


def making_of(item: Item) -> Making | None:
    """Return the world and tools from which an item was made; None if it belongs to no world, or
    to one that is no longer made this way.
    """
    place, family = referred(item), item.extra.get("family")
    if place is None or not isinstance(family, str) or item.benchmark != TOOLHOP:
        return None
    made = _remade(place[0].knobs, family)
    known = made.tools.all
    for name, tool in item.all_tools.items():
        if name not in known or known[name].tool != replace(tool, body=tool.program):
            return None
    return made


@lru_cache(maxsize=KEPT)
def _remade(knobs: Knobs, seed: str) -> Making:
    return Making(knobs, seed, Counter())


class Making:
    """A world with its tools, and the items made from it.

    Args:
        knobs: difficulty of the items.
        seed: seed of the world, as from `seed_of`.
        refused: counter to which rejected draws are added, by reason.
    """

    def __init__(self, knobs: Knobs, seed: str, refused: Counter[str]) -> None:
        self.knobs, self.seed, self.refused = knobs, seed, refused
        drawn = random.Random(seed)
        self.domain = domains()[drawn.choice(knobs.domains or tuple(domains()))]
        self.world = make(self.domain, f"{seed}/names", f"{seed}/values", knobs.size)
        self.tools = toolbox(self.world, drawn.choice(knobs.styles), knobs, seed)
        self.explorer = Explorer(self.tools)

    @cached_property
    def database(self) -> Database:
        """Database of the second engine."""
        return Database(self.world)

    @cached_property
    def elsewhere(self) -> list[World]:
        """Worlds with the same names and other values."""
        return [filled(self.world, f"{self.seed}/elsewhere {at}") for at in range(ELSEWHERE)]

    @cached_property
    def usage(self) -> dict[str, float]:
        """Share of `USAGE` chains drawn from this world that use each tool."""
        drawn, used = random.Random(f"{self.seed}/usage"), Counter[str]()
        for _ in range(USAGE):
            with suppress(Stuck):
                way = plan(draw(self.world, self.knobs, drawn), self.tools)
                used.update({call.tool.name for call in way.calls} if way else ())
        return {name: used[name] / USAGE for name in self.tools.tools}

    @cached_property
    def rivals(self) -> Rivals:
        """Finder of other answers."""
        return Rivals(self.world, self.tools)

    @cached_property
    def reader(self) -> Reader:
        """Parser that reads questions back."""
        return Reader(self.world)

    def kept(self) -> Iterator[tuple[Expression, Item]]:
        """Yield the accepted items with their meanings."""
        tries, patience = 0, PATIENCE
        for place in range(2 * BLOCK):
            drawn = random.Random(f"{self.seed}/{place}")
            for _ in range(DRAWS):
                tries += 1
                if tries > patience:
                    return
                try:
                    asked = draw(self.world, self.knobs, drawn)
                except Stuck:
                    self.refused["nothing could be drawn"] += 1
                    break
                # A separate generator, so that the next draw does not depend on the checks.
                kept = self._asked(asked, random.Random(drawn.getrandbits(64)))
                if not isinstance(kept, str):
                    patience += PATIENCE
                    yield kept
                    break
                self.refused[kept] += 1

    def _asked(self, asked: Expression, drawn: random.Random) -> tuple[Expression, Item] | str:
        """Return an item for the expression or one of its rivals, or why it is refused.

        Any of them may be chosen, so that their differences, such as the number of candidates of a
        superlative, do not reveal which one the question asks for.
        """
        way = plan(asked, self.tools)
        if way is None:
            return "no tools for it"
        if not self.knobs.hops[0] <= len(way.calls) <= self.knobs.hops[1]:
            return "more or fewer calls than wanted"
        answer = meaning(asked, self.world)
        if isinstance(answer, Reason):
            return answer.value
        offered = self._offered(way, drawn)
        names = [tool.name for tool in offered]
        rivals = self.rivals.of(asked, names, len(way.calls), drawn)
        first = list(islice(rivals, RIVALS))
        if len(first) < RIVALS:
            return "types alone give it away"
        searched = self.explorer.search(
            names,
            named_values(asked, self.world),
            (type_of(asked, self.world), answer),
            len(way.calls),
        )
        if searched.shortcut is not None:
            return "fewer calls give it too"
        others = (rival for value, rival in chain(first, rivals) if value not in searched.fewer)
        alike = [asked, *islice(others, RIVALS)]
        if len(alike) <= RIVALS:
            return "types alone give it away"
        drawn.shuffle(alike)
        refused = ""
        for each in alike:
            if each is asked or not isinstance(meaning(each, self.world), Reason):
                item = self._item(each, offered, searched, drawn)
                if isinstance(item, Item):
                    return each, item
                refused = item
        return refused

    def _item(
        self,
        asked: Expression,
        offered: Sequence[MadeTool],
        searched: Searched,
        drawn: random.Random,
    ) -> Item | str:
        """Return the item for one of several similar expressions, or why it is refused."""
        way = plan(asked, self.tools, {tool.name for tool in offered})
        answer = evaluate(asked, self.world)
        if way is None:
            return "no tools for it"
        run = way.run()
        try:
            agreed = run[-1].value == answer == self.database.value(asked)
        except Undefined:
            agreed = False
        if not agreed:
            return "two engines differ"
        if spare_elsewhere(asked, self.world, self.elsewhere) is not None:
            return "the result of a hop serves in other worlds too"
        item = self._built(asked, way, run, offered, searched, answer, drawn)
        if self.reader.readings(item.question) != {answer}:
            return "the question can be read otherwise"
        return item

    def _offered(self, way: Plan, drawn: random.Random) -> list[MadeTool]:
        """Return the tools on offer, shuffled: the chain's, and others up to `Knobs.tools`."""
        own = list(dict.fromkeys(call.tool for call in way.calls))
        others = self.tools.others(own, drawn)
        room = max(0, self.knobs.tools - len(own)) if self.knobs.tools else len(others)
        offered = own + others[:room]
        drawn.shuffle(offered)
        return offered

    def _built(
        self,
        asked: Expression,
        way: Plan,
        run: Sequence[Made],
        offered: Sequence[MadeTool],
        searched: Searched,
        answer: Value,
        drawn: random.Random,
    ) -> Item:
        question = word(asked, self.world, self.knobs.forms, drawn)
        hops = list(self._hops(asked, way, run, drawn))
        if self.knobs.failures:
            name, why = drawn.choice([hop.tool.name for hop in hops]), drawn.choice(BUSY)
            for at, hop in enumerate(hops):
                if hop.tool.name == name:
                    body = Flaky(hop.tool.program, self.knobs.failures, why)
                    hops[at] = replace(hop, tool=replace(hop.tool, body=body))
        own = {hop.tool.name for hop in hops}
        others = tuple(tool.tool for tool in offered if tool.name not in own)
        joins = sum(len(parts(node)) > 1 for node in nodes(asked))
        hard: dict[str, JSON] = {
            "style": str(self.tools.surface.style),
            "hops": len(hops),
            "joins": joins,
            "tools": len(offered),
            "conversions": sum(call.tool.shape is Shape.CONVERT for call in way.calls),
            "result_chars": max(len(str(made.result)) for made in run),
            "shape": "-".join(type(node).__name__ for node in nodes(asked)),
            "fewer_calls_give": len(searched.fewer),
            "calls_searched": searched.calls,
            "search_complete": searched.complete,
        }
        return Item(
            "", question, leaf_text(answer), tuple(hops), self.domain.name,
            type_of(asked, self.world), extra={HARD: hard, "family": self.seed}, others=others,
            order=tuple(tool.name for tool in offered),
        )  # fmt: skip

    def _hops(
        self, asked: Expression, way: Plan, run: Sequence[Made], drawn: random.Random
    ) -> Iterator[Hop]:
        """Yield a hop for each call, with its own question."""
        reached = [node for node in nodes(asked) if not isinstance(node, Named)]
        questions = hop_questions(asked, self.world, self.knobs.forms, drawn)
        by_node = {id(node): text for node, text in zip(reached, questions, strict=True)}
        said: set[str] = set()
        for number, (call, made) in enumerate(zip(way.calls, run, strict=True), start=1):
            gold = GoldCall(made.arguments, SOURCE, Reading(Match.VALUE, call.path))
            question = _asks(call, made, by_node)
            if question in said:
                question = f"Step {number}: {question}"
            said.add(question)
            yield Hop(question, leaf_text(made.value), call.tool.tool, gold)


def _asks(call: Call, made: Made, questions: Mapping[int, str]) -> str:
    """Return a call's own question: the part of its node that it answers."""
    given = [leaf_text(value) for value in made.arguments.values() if not isinstance(value, list)]
    if call.tool.shape is Shape.CONVERT:
        value, unit, into = given
        return f"What is {value} {unit} in {into}?"
    if call.tool.shape is Shape.SHIFT:
        return f"Which date is {given[1]} days after {given[0]}?"
    if call.tool.shape is Shape.IDENTIFY:
        return f"Which {call.tool.columns[0].name} belongs to {given[0]}?"
    if call.tool.shape is Shape.RECORD and call.read in {CODE, NAME}:
        return f"What is the {call.read} of {given[0]}?"
    if isinstance(call.node, Read) and (call.node.unit or call.node.later):
        of = call.tool.world.domain.attribute(call.node.type, call.node.attribute)
        return f"What is the {of.noun} of {given[0]}?"
    return questions[id(call.node)]
