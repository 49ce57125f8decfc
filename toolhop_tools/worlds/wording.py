"""An expression as a question in plain English.

Phrases branch to the right alone: what is long comes last. A long expression is cut into
sentences, each of which introduces one entity ("Take the longest ship registered at Velmora
Haven.") that a later one refers back to ("that ship").
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import assert_never

from toolhop_tools.worlds.domain import Attribute, EntityType, Kind
from toolhop_tools.worlds.expression import (
    Condition,
    Entity,
    Expression,
    Follow,
    Gap,
    Link,
    Named,
    Pick,
    Rank,
    Read,
    Sum,
    Test,
    Total,
    Which,
    entity,
    nodes,
    parts,
    type_of,
)
from toolhop_tools.worlds.phrases import PHRASES
from toolhop_tools.worlds.units import PLACES
from toolhop_tools.worlds.world import CODE, World

LONGEST = 3.0
"""Hops in a sentence at most; a condition and a rank without an adjective are half a hop."""
SHORT = 5
"""Words of a phrase that another may go around: "In which year was ... built?"."""
_WHICHEVER = {form for forms in PHRASES.values() for form in forms if "whichever {noun}" in form}
"""One of these is enough in a question."""
ROUNDED = f" to {('no', 'one', 'two', 'three')[PLACES]} decimal place" + "s" * (PLACES != 1)


def word(asked: Expression, world: World, forms: Sequence[int], drawn: random.Random) -> str:
    """The question.

    Args:
        asked: what it means.
        world: what the names belong to.
        forms: surface forms that may be used, of 0 to `phrases.FORMS` - 1.
        drawn: chooses among the forms, and among equally good ways to cut.
    """
    return _Wording(world, forms, drawn, _planned(asked, world, drawn)).text()


def hop_questions(
    asked: Expression, world: World, forms: Sequence[int], drawn: random.Random
) -> list[str]:
    """A question for each hop, in the order of `nodes`, with its parts named by their values."""
    values = {
        node: node if isinstance(node, Named) else Named(type_of(node, world), entity(node, world))
        for node in nodes(asked)
        if isinstance(node, Entity)
    }
    hops = (node for node in nodes(asked) if not isinstance(node, Named))
    return [_Wording(world, forms, drawn, _Plan(hop, values=values)).text() for hop in hops]


# -- sentences ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """Which entities get a sentence of their own, and how later ones refer to them."""

    asked: Expression
    steps: tuple[Entity, ...] = ()
    """Entities in the order in which they are introduced."""
    back: dict[Expression, str] = field(default_factory=dict)
    """``that ship``, of each entity that is introduced."""
    labelled: tuple[Entity, ...] = ()
    """Entities that are introduced by a label, ``ship A``."""
    pair: tuple[Entity, ...] = ()
    """Two of one type that are introduced together, or none."""
    values: dict[Entity, Named] = field(default_factory=dict)
    """Entities that are named in the place of the phrase."""


def _planned(asked: Expression, world: World, drawn: random.Random) -> _Plan:
    """The plan with the fewest sentences that are short and refer back without a label."""
    able = [part for node in nodes(asked) for part in parts(node) if not isinstance(part, Named)]
    best: list[_Plan] = []
    least = math.inf
    for count in range(len(able) + 1):
        if least <= count:
            break
        for cuts in combinations(able, count):
            plan = _cut(asked, cuts, world)
            cost = _cost(plan, world)
            best = [*best, plan] if cost == least else [plan] if cost < least else best
            least = min(cost, least)
    return drawn.choice(best)


def _cost(plan: _Plan, world: World) -> float:
    """Sentences; each label counts as three more, what has to be avoided as a hundred."""
    cost = len(plan.steps) + 3.0 * len(plan.labelled)
    for step in (*plan.steps, plan.asked):
        said = list(_said(step, plan.back))
        cost += 100 * max(0.0, sum(_weight(node, world) for node in said) - LONGEST)
        cost += 100 * max(0, sum(isinstance(node, Which) for node in said) - 1)
        for node in said:
            long = sum(_is_long(part, plan.back) for part in parts(node))
            cost += 100 * max(0, long - 1)
            if isinstance(node, Which | Gap) and plan.pair != parts(node):
                cost += 2 * (long + sum(part in plan.back for part in parts(node)) > 1)
    return cost


def _weight(node: Expression, world: World) -> float:
    if isinstance(node, Named):
        return 0
    weight = 1.0
    if isinstance(node, Pick | Total):
        weight += len(node.conditions) / 2
    if isinstance(node, Pick) and node.rank:
        of = world.domain.attribute(node.type, node.rank.attribute)
        weight += 0 if _superlative(of, most=node.rank.most) else 0.5
    return weight


def _is_long(node: Expression, back: dict[Expression, str]) -> bool:
    """Whether a phrase cannot stand in the middle."""
    if isinstance(node, Follow) and node not in back:
        node = node.of
    return not isinstance(node, Named) and node not in back


def _said(node: Expression, back: dict[Expression, str]) -> Iterator[Expression]:
    """The nodes that the sentence of one says, without those that it refers back to."""
    yield node
    for part in parts(node):
        if part not in back:
            yield from _said(part, back)


def _cut(asked: Expression, cuts: tuple[Entity, ...], world: World) -> _Plan:
    """How entities that get sentences of their own are introduced and referred to."""
    back: dict[Expression, str] = dict.fromkeys(cuts, "")
    both = [parts(node) for node in nodes(asked)]
    pair = next((ends for ends in both if _are_paired(ends, back, world)), ())
    steps = [node for node in dict.fromkeys(cuts) if node not in pair[:1]]
    if pair:
        steps.insert(steps.index(pair[1]), pair[0])
    labelled: list[Entity] = []
    nouns: Counter[str] = Counter()
    for step in (*steps, asked):
        for part in (part for node in _said(step, back) for part in parts(node) if part in back):
            back[part] = back[part] if part in pair else _back(part, nouns, world)
            if not back[part] and part not in labelled:
                labelled.append(part)
        if step in pair[1:]:
            noun = _noun(step, world)
            back.update(zip(pair, (f"the first {noun}", f"the second {noun}"), strict=True))
        for node in _said(step, back):
            if isinstance(node, Entity):
                nouns.update({_noun(node, world), _relation(node, world)} - {""})
    for letter, node in zip("ABCDEFGH", labelled, strict=False):
        back[node] = f"{_noun(node, world)} {letter}"
    return _Plan(asked, tuple(steps), back, tuple(labelled), pair)


def _are_paired(ends: tuple[Entity, ...], back: dict[Expression, str], world: World) -> bool:
    """Whether two entities are of one type, and both get sentences of their own."""
    kinds = {type_of(end, world) for end in ends}
    return len(ends) == 2 and len(kinds) == 1 and all(end in back for end in ends)


def _back(node: Entity, nouns: Counter[str], world: World) -> str:
    """How to refer to an entity: by what no other was called; empty if there is no such noun."""
    called = (_noun(node, world), _relation(node, world))
    return next((f"that {noun}" for noun in called if nouns[noun] == 1), "")


def _noun(node: Entity, world: World) -> str:
    return world.domain.types[type_of(node, world)].noun


def _relation(node: Entity, world: World) -> str:
    """What an entity is to the one it is reached from; empty if it is reached otherwise."""
    return world.domain.relation(node.type, node.relation).noun if isinstance(node, Follow) else ""


def _superlative(of: Attribute, *, most: bool) -> str:
    return of.most if most else of.least


def _degrees(of: Attribute, *, most: bool) -> tuple[str, str]:
    """Superlative and comparative of a noun: "the greatest tonnage"."""
    if of.verb:
        return ("latest", "later") if most else ("earliest", "earlier")
    return ("greatest", "greater") if most else ("smallest", "smaller")


def _a(noun: str) -> str:
    """With the indefinite article."""
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"


# -- phrases --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wording:
    """Words a plan."""

    world: World
    forms: Sequence[int]
    drawn: random.Random
    plan: _Plan
    sentences: list[str] = field(default_factory=list)
    had: set[str] = field(default_factory=set)
    """Forms that are not said again while others are left."""

    def text(self) -> str:
        for step in self.plan.steps:
            if step not in self.plan.pair[:1]:
                self._add(self._introduced(step))
        self._add(self._asked(self.plan.asked))
        return " ".join(self.sentences)

    def _add(self, sentence: str) -> None:
        self.sentences.append(sentence[0].upper() + sentence[1:])

    def _say(self, construction: str, **slots: str) -> str:
        return self._form(construction).format(**slots)

    def _form(self, construction: str) -> str:
        """A form of a construction that the question has not had, if one is left."""
        allowed = [PHRASES[construction][form] for form in self.forms]
        left = [form for form in allowed if form not in self.had]
        form = self.drawn.choice(left or allowed)
        if form in self.had & _WHICHEVER:
            return form.replace("whichever {noun}", "the {noun} {who}")
        self.had.update({form} | _WHICHEVER if form in _WHICHEVER else {form})
        return form

    def _type(self, node: Expression) -> EntityType:
        return self.world.domain.types[type_of(node, self.world)]

    def _introduced(self, step: Entity) -> str:
        of, back = self._type(step), self.plan.back
        if step in self.plan.pair:
            first, second = (self._full(end) for end in self.plan.pair)
            return self._say("pair", first=first, second=second, plural=of.plural, noun=of.noun)
        if step in self.plan.labelled:
            return self._say("label", label=back[step], phrase=self._full(step))
        leans = any(part in back for node in _said(step, back) for part in parts(node))
        then = "" if step == self.plan.steps[0] else "then " if leans else "also "
        return self._asked_or_said("step", step, then=then)

    def _asked_or_said(self, construction: str, node: Entity, **slots: str) -> str:
        """A form that asks for an entity, or names it."""
        form = self._form(construction)
        said = self._question(node) if "{question}" in form else self._full(node)
        return form.format(question=said, phrase=said, **slots)

    def _question(self, node: Entity) -> str:
        """``which company owns the Orvale``."""
        of, is_ = self._type(node), f"{self._which(node)} is "
        match node:
            case Follow():
                slots = self._follow_slots(node)
                form = "which {noun} {does}" if slots["does"] else is_ + "the {relation} of {end}"
                return form.format(**slots)
            case Pick(rank=Rank(attribute, most)):
                ranked = self.world.domain.attribute(node.type, attribute)
                if not _superlative(ranked, most=most):
                    degree = _degrees(ranked, most=most)[0]
                    those = self._several(node)["those"]
                    return f"which {of.noun} has the {degree} {ranked.noun} among {those}"
            case Which():
                self._compared(node)
                return f"which of these two {of.plural} {self._does(node)}"
        return is_ + self._full(node)

    def _which(self, node: Entity) -> str:
        return "who" if self._who(node) == "who" else "which"

    def _who(self, node: Entity) -> str:
        return "who" if self._type(node).names.startswith("{person}") else "that"

    # -- entities ---------------------------------------------------------------------------

    def _entity(self, node: Entity, *, typed: bool = False) -> str:
        """The phrase of an entity, or how it is referred back to.

        Args:
            node: the entity.
            typed: whether a name alone leaves open what it is.
        """
        return self.plan.back.get(node) or self._full(self.plan.values.get(node, node), typed=typed)

    def _full(self, node: Entity, *, typed: bool = False) -> str:
        match node:
            case Named():
                return self._named(node, typed=typed)
            case Follow():
                return self._follow(node)
            case Pick():
                return self._pick(node)
            case Which():
                self._compared(node)
                slots = {"does": self._does(node), "who": self._who(node)}
                return self._say("which", plural=self._type(node).plural, **slots)
            case _:
                assert_never(node)

    def _compared(self, node: Which) -> None:
        if self.plan.pair != parts(node):
            self._add(self._say("compare", plural=self._type(node).plural, **self._two(node)))

    def _named(self, node: Named, *, typed: bool) -> str:
        of = self._type(node)
        if node.by_code:
            code = str(self.world.tables[node.type][node.name][CODE])
            return self._say("code", noun=of.noun, code=code)
        typed = typed or self.drawn.choice(self.forms) % 2 == 0
        # "The Ottokin Yard", "Vorrever College" say what they are.
        is_said = of.noun in of.names.lower() or (of.article and of.names[-1] != "}")
        return f"the {of.noun} {node.name}" if typed and not is_said else self._bare(node)

    def _bare(self, node: Named) -> str:
        return f"the {node.name}" if self._type(node).article else node.name

    def _is_shared(self, noun: str) -> bool:
        """Whether several types have a relation or an attribute of that noun."""
        types = self.world.domain.types.values()
        attributes = [noun in (part.noun for part in of.attributes.values()) for of in types]
        relations = [noun in (part.noun for part in of.relations.values()) for of in types]
        return sum(attributes) + sum(relations) > 1

    def _follow(self, node: Follow) -> str:
        slots, of = self._follow_slots(node), self.plan.values.get(node.of, node.of)
        if self._is_alike(node) and not slots["does"]:
            return "the {relation} of {end}".format(**slots)
        if self.plan.back.get(node) == f"that {slots['noun']}":
            return self._say("follow typed", **slots)
        if isinstance(of, Named) and slots["end"] == self._bare(of):
            return self._say("follow short", **slots)
        return self._say("follow alike" if self._is_alike(node) else "follow", **slots)

    def _is_alike(self, node: Follow) -> bool:
        """Whether what an entity is to another says its type too, ``home harbour``."""
        return self._type(node).noun in self.world.domain.relation(node.type, node.relation).noun

    def _follow_slots(self, node: Follow) -> dict[str, str]:
        link, noun = self.world.domain.relation(node.type, node.relation), self._type(node).noun
        # "The island of Velmora" would be Velmora itself.
        end = self._entity(node.of, typed=self._is_shared(link.noun) or link.noun == noun)
        does = link.does.format(end)
        is_named = self.plan.back.get(node) == f"that {link.noun}" != f"that {noun}"
        if is_named or not (does or self._is_alike(node)):
            does = f"is the {link.noun} of {end}"
        who = self._who(node)
        return {"relation": link.noun, "end": end, "noun": noun, "who": who, "does": does}

    def _pick(self, node: Pick) -> str:
        slots = {"noun": self._type(node).noun, "who": self._who(node), **self._several(node)}
        if node.rank is None:
            return self._say("pick only", **slots)
        of = self.world.domain.attribute(node.type, node.rank.attribute)
        if rank := _superlative(of, most=node.rank.most):
            return self._say("pick adjective", rank=rank, **slots)
        rank = f"{_degrees(of, most=node.rank.most)[0]} {of.noun}"
        return self._say("pick degree", rank=rank, **slots)

    def _several(self, node: Pick | Total) -> dict[str, str]:
        """Those that are linked so and meet the conditions: `phrase`, `set` and `those`."""
        plural = self.world.domain.types[node.type].plural
        links = sorted(node.links, key=lambda link: self._place(link.end))
        said = [self._condition(node.type, condition) for condition in node.conditions]
        said += [self._linked(node.type, link) for link in links]
        phrase = ", ".join(said[:-1]) + " and " * (len(said) > 1) + said[-1]
        return {"phrase": phrase, "set": f"{plural} {phrase}", "those": f"those {phrase}"}

    def _place(self, node: Entity) -> tuple[bool, bool]:
        """Its place in a list: what refers back first, what is long last."""
        return _is_long(node, self.plan.back), node not in self.plan.back

    def _linked(self, kind: str, link: Link) -> str:
        end = self._entity(link.end)
        if link.backward:
            return self.world.domain.relation(link.end_type, link.relation).back.format(end)
        return self.world.domain.relation(kind, link.relation).linked.format(end)

    def _condition(self, kind: str, condition: Condition) -> str:
        of, above = (
            self.world.domain.attribute(kind, condition.attribute),
            condition.test is Test.ABOVE,
        )
        if condition.test is Test.IS:
            value = str(condition.value)
            return of.is_.replace("a {}", _a(value)).format(value)
        if of.verb:
            return f"{of.verb} {'after' if above else 'before'} {condition.value}"
        bound = f"{condition.value:,} {of.unit}".strip()
        if of.more:
            return f"{of.more if above else of.less} than {bound}"
        return f"with {_a(of.noun)} of {'more' if above else 'less'} than {bound}"

    # -- two of a type ----------------------------------------------------------------------

    def _two(self, node: Which | Gap) -> dict[str, str]:
        ends = sorted(parts(node), key=self._place)
        first, second = (self._entity(end, typed=True) for end in ends)
        return {"first": first, "second": second}

    def _does(self, node: Which) -> str:
        """``is longer``, ``was built later`` or ``has the greater tonnage``."""
        of = self.world.domain.attribute(node.type, node.attribute)
        degree = _degrees(of, most=node.most)[1]
        if of.verb:
            return f"was {of.verb} {degree}"
        return (
            f"is {of.more if node.most else of.less}" if of.more else f"has the {degree} {of.noun}"
        )

    # -- what is asked ----------------------------------------------------------------------

    def _asked(self, asked: Expression) -> str:
        match asked:
            case Read():
                return self._read(asked)
            case Gap(kind, attribute, _, _):
                of = self.world.domain.attribute(kind, attribute)
                if of.verb:
                    unit = "days" if of.kind is Kind.DATE else "years"
                    return self._say("ask time", noun=of.noun, unit=unit, **self._two(asked))
                return self._say("ask gap", noun=of.noun, **_given(of.unit), **self._two(asked))
            case Total():
                return self._total(asked)
            case Which():
                entity_type, which = self._type(asked), self._which(asked)
                slots = {"noun": entity_type.noun, "plural": entity_type.plural, "which": which}
                slots["does"] = self._does(asked)
                if self.plan.pair == parts(asked):
                    return self._say("ask which pair", **slots)
                return self._say("ask which", **slots, **self._two(asked))
            case _:
                return self._asked_or_said("ask entity", asked)

    def _read(self, asked: Read) -> str:
        of = self.world.domain.attribute(asked.type, asked.attribute)
        end = self._entity(asked.of, typed=self._is_shared(of.noun))
        slots = {"noun": of.noun, "end": end, **_given(asked.unit or of.unit, bool(asked.unit))}
        if of.kind is Kind.DATE:
            slots |= {"inline": ", as YYYY-MM-DD,", "answer": " Answer as YYYY-MM-DD."}
        if of.verb and len(end.split()) <= SHORT:
            when = "on which date" if of.kind is Kind.DATE else "in which year"
            return self._say("ask when", when=when, verb=of.verb, **slots)
        return self._say("ask", **slots)

    def _total(self, asked: Total) -> str:
        slots = self._several(asked)
        if asked.how is Sum.COUNT:
            return self._say("ask count", **slots)
        of = self.world.domain.attribute(asked.type, asked.attribute)
        is_mean = asked.how is Sum.MEAN
        how = "average" if is_mean else "total"
        return self._say("ask sum", how=how, noun=of.noun, **_given(of.unit, is_mean), **slots)


def _given(unit: str, is_rounded: bool = False) -> dict[str, str]:
    """How a question says what its answer is given in, within the sentence or after it."""
    measure = (f"in {unit}" * bool(unit) + ROUNDED * is_rounded).strip()
    return (
        dict.fromkeys(("inline", "answer"), "")
        if not measure
        else {"inline": f", {measure},", "answer": f" Answer {measure}."}
    )
