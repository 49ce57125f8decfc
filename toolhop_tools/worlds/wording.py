"""Word an expression as a question in plain English.

Modifiers are placed near their noun: adjectives before it, then the relation, then conditions in a
clause. Long phrases come last. `sentences` cuts a long expression into several sentences.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import assert_never

from toolhop_tools.dates import MONTHS
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
    Spelled,
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
from toolhop_tools.worlds.sentences import Plan, is_long, planned, repeated, superlative
from toolhop_tools.worlds.units import PLACES
from toolhop_tools.worlds.world import CODE, World

SHORT = 12
"""Maximum number of words in a phrase that another may enclose: "When was ... built?"."""
BEFORE = {"in", "on", "at", "from"}
"""Prepositions that begin phrases after which no "and" is needed: "from Velmora studying law"."""
ROUNDED = f" to {('no', 'one', 'two', 'three')[PLACES]} decimal place" + "s" * (PLACES != 1)


def word(asked: Expression, world: World, forms: Sequence[int], drawn: random.Random) -> str:
    """Return the question.

    Args:
        asked: its meaning.
        world: the world of the names.
        forms: allowed surface forms, from 0 to `phrases.FORMS` - 1.
        drawn: chooses among the forms, and among equally good ways to cut.
    """
    return _Wording(world, forms, drawn, planned(asked, world, drawn)).text()


def hop_questions(
    asked: Expression, world: World, forms: Sequence[int], drawn: random.Random
) -> list[str]:
    """Return a question for each hop, in the order of `nodes`; parts are named by their values."""
    values = {
        node: node if isinstance(node, Named) else Named(type_of(node, world), entity(node, world))
        for node in nodes(asked)
        if isinstance(node, Entity)
    }
    hops = (node for node in nodes(asked) if not isinstance(node, Named))
    return [_Wording(world, forms, drawn, Plan(hop, values=values)).text() for hop in hops]


def in_words(day: date) -> str:
    """Format a date as ``1 January 1900``."""
    return f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year}"


def _comparative(of: Attribute, *, most: bool) -> str:
    """Return the predicate of a comparison: ``was built later``, ``has the higher fee``."""
    if of.verb:
        return f"{_did(of)} {'later' if most else 'earlier'}"
    if of.more:
        return f"is {of.more if most else of.less}"
    if of.counted:
        return f"has {'more' if most else 'fewer'} {of.counted}"
    return f"has the {of.degrees[not most].removesuffix('st')}r {of.held or of.noun}"


def _did(of: Attribute) -> str:
    """Return the verb in the past: ``was built``, ``opened``."""
    return of.verb if of.acts else f"was {of.verb}"


def _degree(of: Attribute, *, most: bool) -> str:
    """Return a superlative phrase without an adjective: ``the fewest pages``."""
    if of.counted:
        return f"the {'most' if most else 'fewest'} {of.counted}"
    return f"the {of.degrees[not most]} {of.held or of.noun}"


def _beside(does: str) -> str:
    """Turn a predicate into a modifier: ``built first``, ``with the fewest pages``."""
    return does.removeprefix("was ").replace("has ", "with ", 1)


def _last(*, most: bool) -> str:
    """Return "last" or "first" for dates and years; the greatest is the last."""
    return "last" if most else "first"


def _to_do(of: Attribute) -> str:
    """Return the infinitive after "the first to": ``be built``, ``open``."""
    return of.acts or f"be {of.verb}"


def _a(noun: str) -> str:
    """Prefix a noun with its indefinite article."""
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"


@dataclass(frozen=True)
class _Wording:
    """Writes the sentences of a plan."""

    world: World
    forms: Sequence[int]
    drawn: random.Random
    plan: Plan
    sentences: list[str] = field(default_factory=list)
    had: set[str] = field(default_factory=set)
    """Forms already used; they are repeated only if no others are left."""

    def text(self) -> str:
        for step in self.plan.steps:
            if step not in self.plan.pair[:1]:
                self._add(self._introduced(step))
        self._add(self._asked(self.plan.asked))
        return " ".join(self.sentences)

    def _add(self, sentence: str) -> None:
        self.sentences.append(sentence[0].upper() + sentence[1:])

    def _say(self, construction: str, **slots: str) -> str:
        """Fill in a form of a construction that the question has not used, if one is left."""
        allowed = [PHRASES[construction][form] for form in self.forms]
        left = [form for form in allowed if form not in self.had]
        form = self.drawn.choice(left or allowed)
        self.had.add(form)
        return form.format(**slots)

    def _type(self, node: Expression) -> EntityType:
        return self.world.domain.types[type_of(node, self.world)]

    def _who(self, node: Entity | Total) -> str:
        of = self.world.domain.types[node.type] if isinstance(node, Total) else self._type(node)
        return "who" if of.names.startswith("{person}") else "that"

    def _introduced(self, step: Entity) -> str:
        of, back = self._type(step), self.plan.back
        if step in self.plan.pair:
            first, second = (self._full(end) for end in self.plan.pair)
            return self._say("pair", first=first, second=second, plural=of.plural)
        label = f" ({back[step]})" if step in self.plan.labelled else ""
        if isinstance(step, Which) and self.plan.pair != parts(step):
            compared = {**self._two(step), "chosen": self._which(step), "label": label}
            return self._say("compared", take=self._say("choose"), **compared)
        if chosen := self._chosen(step):
            return self._say("chosen", take=self._say("choose"), label=label, **chosen)
        leans = any(part in back for node in nodes(step) for part in parts(node))
        then = "" if step == self.plan.steps[0] else "then " if leans else "also "
        return self._say("step", then=then, phrase=self._full(step) + label)

    def _chosen(self, step: Entity) -> dict[str, str]:
        """Return the candidates of a step and its choice; empty if one phrase covers both."""
        if not isinstance(step, Pick):
            return {}
        of = self._several(step)
        if repeated(step, self.world) and not of["bound"]:
            return {}
        those = self._those(step) if step.rank else f"the {of['linked']}"
        if step.rank and (ranked := self._ranked(step)):
            best = self.world.domain.attribute(step.type, step.rank.attribute)
            to_do = f"the {_last(most=step.rank.most)} to {_to_do(best)}"
            return {"those": those, "chosen": to_do if best.verb else f"the one {_beside(ranked)}"}
        if not of["bound"]:
            return {}
        if step.rank:
            best = self.world.domain.attribute(step.type, step.rank.attribute)
            return {"those": those, "chosen": f"the {superlative(best, most=step.rank.most)}"}
        return {"those": those, "chosen": f"the only one {of['only']}"}

    def _those(self, node: Pick | Total) -> str:
        """Return the candidates or counted entities; a sentence introduces them if bounded."""
        of = self._several(node)
        if not of["bound"]:
            return f"the {of['set']}"
        self._add(self._say("group", set=of["linked"]))
        return f"those {of['bound']}"

    # -- entities ---------------------------------------------------------------------------

    def _entity(self, node: Entity) -> str:
        """Return the phrase for an entity, or its back-reference."""
        return self.plan.back.get(node) or self._full(self.plan.values.get(node, node))

    def _full(self, node: Entity) -> str:
        match node:
            case Named():
                return self._named(node)
            case Follow():
                return self._follow(node)
            case Pick():
                return self._pick(node)
            case Which():
                return self._which(node)
            case _:
                assert_never(node)

    def _which(self, node: Which) -> str:
        of = self.world.domain.attribute(node.type, node.attribute)
        if more := of.more and (of.more if node.most else of.less):
            if self.plan.pair != parts(node):
                return f"the {more} one"
            return self._say("which adjective", more=more, plural=self._type(node).plural)
        does, who = _comparative(of, most=node.most), self._who(node)
        beside = f"{who} {does}" if of.acts else _beside(does)
        return self._say("which", beside=beside, who=who, does=does)

    def _named(self, node: Named) -> str:
        of = self._type(node)
        if node.by_code:
            code = str(self.world.tables[node.type][node.name][CODE])
            return self._say("code", noun=of.noun, code=code)
        if of.is_said:
            return f"the {of.noun} {node.name}"
        return f"the {node.name}" if of.article else node.name

    def _follow(self, node: Follow) -> str:
        link, noun = self.world.domain.relation(node.type, node.relation), self._type(node).noun
        of = self.plan.values.get(node.of, node.of)
        end = self._entity(node.of)
        slots = {"relation": link.noun, "end": end, "noun": noun, "clause": link.clause.format(end)}
        is_bare = isinstance(of, Named) and not (of.by_code or self._type(of).is_said)
        is_bare = is_bare and not end.endswith("s")
        stands_in = not link.clause.endswith("{}")
        if stands_in and self._is_phrase(node.of):
            return "the {relation} of {end}".format(**slots)
        if not link.clause:
            return self._say("follow role short" if is_bare else "follow role", **slots)
        if link.noun == noun or (node in self.plan.back and noun not in link.noun):
            return "the {noun} {clause}".format(**slots)
        return self._say("follow short" if is_bare else "follow", **slots)

    def _ranked(self, node: Pick) -> str:
        """Return ``was built first`` for a pick whose rank has no adjective; else empty."""
        if node.rank is None:
            return ""
        of, most = self.world.domain.attribute(node.type, node.rank.attribute), node.rank.most
        if superlative(of, most=most):
            return ""
        if of.verb:
            return f"{_did(of)} {_last(most=most)}"
        return f"has {_degree(of, most=most)}"

    def _pick(self, node: Pick) -> str:
        slots = {"who": self._who(node), **self._several(node)}
        match node.rank:
            case None:
                return self._say("pick only", **slots)
            case Rank(attribute, most):
                of = self.world.domain.attribute(node.type, attribute)
        if rank := superlative(of, most=most):
            if slots["phrase"].startswith("where "):
                return f"the {rank} of the {slots['set']}"
            return self._say("pick adjective", rank=rank, **slots)
        if of.verb:
            construction = "pick repeated" if repeated(node, self.world) else "pick verb"
            return self._say(construction, rank=_last(most=most), does=_to_do(of), **slots)
        return self._say("pick degree", rank=_beside(self._ranked(node)), **slots)

    def _is_phrase(self, node: Entity) -> bool:
        return not isinstance(node, Named) and node not in self.plan.back

    def _several(self, node: Pick | Total) -> dict[str, str]:
        """Return phrases for the entities that have these links and meet the conditions.

        Returns:
            A dict with these keys:
            set: the full plural, ``ships built by Asta that were launched before 1990``.
            linked, bound: the same in two parts; `bound` is ``launched before 1990``.
            only: the bound for one entity, ``that was launched ...``. It and `bound` are empty if
                the bound belongs to the link's verb, "born in Velmora before 1990".
            noun, phrase: the singular and the words after it.
        """
        of = self.world.domain.types[node.type]
        noun, plural = of.noun, of.plural
        links = [self._linked(node.type, link) for link in sorted(node.links, key=self._place)]
        for condition in node.conditions:
            if condition.test is Test.IS:
                form = self.world.domain.attribute(node.type, condition.attribute).is_
                noun = form.format(condition.value)
                plural = f"{noun}s"
        near, after = self._joined(node, links, is_one=True)
        those = " ".join(self._joined(node, links, is_one=False)).strip()
        linked = self._joined(replace(node, conditions=()), links, is_one=False)
        said = {"noun": noun, "phrase": f"{near} {after}".strip(), "set": f"{plural} {those}"}
        said |= {"linked": f"{plural} {' '.join(linked).strip()}", "bound": "", "only": ""}
        for condition in node.conditions if near == linked[0] else ():
            if condition.test is not Test.IS:
                bound = self._condition(node.type, condition, is_one=True, is_bare=True)
                does = self._condition(node.type, condition, is_one=True, is_bare=False)
                is_done = self.world.domain.attribute(node.type, condition.attribute).verb
                said |= {"bound": bound, "only": f"{self._who(node)} {does}" if is_done else bound}
        return said

    def _joined(self, node: Pick | Total, links: list[str], *, is_one: bool) -> tuple[str, str]:
        """Return the phrases after a noun: participles, then clauses (who and that first)."""
        who, clauses = self._who(node), ("who ", "that ", "whose ", "where ")
        near = [said for said in links if not said.startswith(clauses)]
        near.sort(key=lambda said: said.split()[0] not in BEFORE)
        phrase = near[0] if near else ""
        for said in near[1:]:
            phrase += f" {said}" if phrase.split()[0] in BEFORE else f" and {said}"
        does = [said.removeprefix(f"{who} ") for said in links if said.startswith(clauses[:2])]
        bare: list[str] = []
        bounds = (condition for condition in node.conditions if condition.test is not Test.IS)
        for condition in bounds:
            verb = self.world.domain.attribute(node.type, condition.attribute).verb
            is_bare = (
                is_one and (not phrase or phrase.split()[0] in BEFORE) and " and " not in phrase
            )
            bound = self._condition(
                node.type, condition, is_one=is_one, is_bare=is_bare and not verb
            )
            if not verb and is_bare:
                bare.append(bound)
            elif phrase.startswith(f"{verb} ") and " and " not in phrase:
                phrase += bound.split(verb, 1)[1]
            else:
                does.append(bound)
        after = [f"{who} {' and '.join(does)}"] if does else []
        after += [said for said in links if said.startswith(clauses[2:])]
        return phrase, " ".join([*bare, " and ".join(after)]).strip()

    def _place(self, link: Link) -> tuple[bool, bool]:
        """Return a link's sort key: back-references first, long phrases last."""
        return is_long(link.end, self.plan.back), link.end not in self.plan.back

    def _linked(self, kind: str, link: Link) -> str:
        end = self._entity(link.end)
        if link.backward:
            return self.world.domain.relation(link.end_type, link.relation).back.format(end)
        return self.world.domain.relation(kind, link.relation).linked.format(end)

    def _condition(self, kind: str, condition: Condition, *, is_one: bool, is_bare: bool) -> str:
        """Return ``was built after 1900`` for one or several; ``longer than 90 metres`` if bare."""
        of = self.world.domain.attribute(kind, condition.attribute)
        above = condition.test is Test.ABOVE
        if of.verb:
            was = "that " if of.acts and is_bare else ""
            was = was if of.acts or is_bare else "was " if is_one else "were "
            day = str(condition.value)
            if of.kind is Kind.DATE:
                day = in_words(date.fromisoformat(day))
            return f"{was}{of.verb} {'after' if above else 'before'} {day}"
        bound = f"{condition.value:,} {of.unit}".strip()
        if of.more and of.measured:
            are = "" if is_bare else "is " if is_one else "are "
            return f"{are}{of.more if above else of.less} than {bound}"
        has = "with" if is_bare else "has" if is_one else "have"
        if of.counted:
            return f"{has} {'more' if above else 'fewer'} than {bound} {of.counted}"
        return f"{has} {_a(of.noun)} of {'more' if above else 'less'} than {bound}"

    def _two(self, node: Which | Gap) -> dict[str, str]:
        ends = sorted(
            parts(node),
            key=lambda end: (is_long(end, self.plan.back), end not in self.plan.back),
        )
        first, second = (self._entity(end) for end in ends)
        if isinstance(end := ends[1], Follow) and end not in self.plan.back:
            noun, clause = self._type(end).noun, self._clause(end)
            if noun in first and clause:
                second = second.replace(f"the {noun} {clause}", f"the one {clause}", 1)
        return {"first": first, "second": second}

    def _clause(self, node: Follow) -> str:
        """Return the beginning of a clause: ``where``, ``that owns``."""
        return self.world.domain.relation(node.type, node.relation).clause.split("{}")[0]

    # -- the final question -----------------------------------------------------------------

    def _asked(self, asked: Expression) -> str:
        match asked:
            case Read():
                return self._read(asked)
            case Gap():
                return self._gap(asked)
            case Total():
                return self._total(asked)
            case Spelled(how, _, end):
                return self._say(f"ask {how}", end=self._entity(end))
            case Which(kind, attribute, most):
                does = _comparative(self.world.domain.attribute(kind, attribute), most=most)
                of = self._type(asked)
                if self.plan.pair == parts(asked):
                    return self._say("ask which pair", does=does, plural=of.plural)
                which = "who" if self._who(asked) == "who" else "which"
                slots = {"which": which, "does": does, "noun": of.noun}
                return self._say("ask which", **slots, **self._two(asked))
            case Follow():
                return self._ask_follow(asked)
            case _:
                if isinstance(asked, Pick) and (question := self._ask_pick(asked)):
                    return question
                phrase = self._full(asked)
                return self._say("ask entity", what=self._what(asked, phrase), phrase=phrase)

    def _ask_pick(self, asked: Pick) -> str:
        """Return ``Which of the ships ... was built first?``; empty if one phrase covers it all."""
        if repeated(asked, self.world):
            return ""
        said, which = self._several(asked), "who" if self._who(asked) == "who" else "which"
        if ranked := self._ranked(asked):
            return self._say("ask of", those=self._those(asked), ranked=ranked)
        if not said["bound"]:
            return ""
        if asked.rank is None:
            return self._say("ask only", **said, which=which)
        of = self.world.domain.attribute(asked.type, asked.rank.attribute)
        best = f"the {superlative(of, most=asked.rank.most)}"
        return self._say("ask best", those=self._those(asked), which=which, best=best)

    def _ask_follow(self, asked: Follow) -> str:
        link, noun = self.world.domain.relation(asked.type, asked.relation), self._type(asked).noun
        phrase, who = self._full(asked), self._who(asked)
        if not (link.clause.startswith(("who ", "that ")) and link.clause.endswith("{}")):
            return self._say("ask entity", what=self._what(asked, phrase), phrase=phrase)
        does = link.clause.format(self._entity(asked.of)).removeprefix(f"{who} ")
        which = "who" if who == "who" else f"which {noun}"
        return self._say("ask clause", which=which, does=does, phrase=phrase)

    def _what(self, asked: Entity, phrase: str) -> str:
        """Return the words before a phrase: ``which town is``, as for "the birthplace of Asta"."""
        noun = self._type(asked).noun
        if self._who(asked) == "who":
            return "who is"
        if isinstance(asked, Pick):
            return "which is"
        if phrase.startswith(f"the {noun} "):
            return "what is the name of"
        return "what is" if noun in phrase.split(" of ")[0] else f"which {noun} is"

    def _gap(self, asked: Gap) -> str:
        of, plural = self.world.domain.attribute(asked.type, asked.attribute), ""
        plural = self.world.domain.types[asked.type].plural
        did, verb = ("did", of.acts) if of.acts else ("were", of.verb)
        slots = {"noun": of.noun, "did": did, "verb": verb, "plural": plural}
        slots["answer"] = _answer(of.unit)
        slots["unit"] = "days" if of.kind is Kind.DATE else "years"
        construction = "ask time" if of.verb else "ask gap"
        if self.plan.pair == parts(asked):
            return self._say(f"{construction} pair", **slots)
        return self._say(construction, **slots, **self._two(asked))

    def _read(self, asked: Read) -> str:
        of = self.world.domain.attribute(asked.type, asked.attribute)
        end, answer = self._entity(asked.of), _answer(asked.unit or of.unit, bool(asked.unit))
        if of.kind is Kind.DATE:
            answer = " Answer as YYYY-MM-DD."
        if asked.later:
            days = f"{asked.later:,}"
            slots = {"days": days, "noun": of.noun, "did": _did(of), "end": end, "answer": answer}
            is_said = of.verb and not self._is_phrase(asked.of)
            return self._say("ask later verb" if is_said else "ask later", **slots)
        is_short = len(end.split()) <= SHORT
        if isinstance(asked.of, Which) and asked.of not in self.plan.back:
            # Avoids "was the one opened earlier founded".
            by = self.world.domain.attribute(asked.of.type, asked.of.attribute)
            is_short = is_short and (bool(by.more) or not by.verb)
        if of.verb and is_short:
            when = "when" if of.kind is Kind.DATE else "in what year"
            did, verb = ("did", of.acts) if of.acts else ("was", of.verb)
            return self._say("ask when", when=when, did=did, verb=verb, end=end, answer=answer)
        if of.counted and is_short:
            return self._say("ask counted", counted=of.counted, end=end)
        return self._say("ask", noun=of.noun, end=end, answer=answer)

    def _total(self, asked: Total) -> str:
        those = self._those(asked)
        if asked.how is Sum.COUNT:
            return self._say("ask count", those=those.removeprefix("the "))
        of = self.world.domain.attribute(asked.type, asked.attribute)
        is_mean = asked.how is Sum.MEAN
        slots = {"how": "average" if is_mean else "total", "noun": of.noun, "those": those}
        return self._say("ask sum", answer=_answer(of.unit, is_mean), **slots)


def _answer(unit: str, is_rounded: bool = False) -> str:
    """Say in which unit or format the answer is expected."""
    measure = (f"in {unit}" * bool(unit) + ROUNDED * is_rounded).strip()
    return f" Answer {measure}." * bool(measure)
