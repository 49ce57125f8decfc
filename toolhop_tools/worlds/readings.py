"""Find every reading of a question, as its answer in the world.

The grammar here is wider than the one that writes (`wording`), and written independently: a phrase
may belong to any preceding noun that it fits, "that harbour" to any harbour mentioned. It does not
decide what a question means. It detects questions whose English has another reading with another
answer; such questions are rejected.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from toolhop_tools.dates import whole_date
from toolhop_tools.worlds.expression import (
    Condition,
    Follow,
    Gap,
    Named,
    Read,
    Test,
    Undefined,
    evaluate,
    meets,
)
from toolhop_tools.worlds.units import PLACES, UNITS
from toolhop_tools.worlds.world import CODE, Value, World

_GRAMMAR = """
entity: {whole} | {whole} and {several} | {whole} {clauses}
whole: {ref} | {label} | {short} | {short}'s {role} | the {role} of {entity} | the {noun} {clause}
  | the one {clause} | the only {members} | the {rank} {members} | the {rank} of the {set} | {one}
  | the one {beside} of the {set} | the first of the {set} to {earliest}
  | the last of the {set} to {latest}
one: {better} | the {more} of the two | the {more} of the two {plural}
better: the one {than} | the one {who} {compared} | whichever {compared} | the {more} one
short: {name} | the {name} | the {noun} {name} | {noun} {name} | the {noun} with the code {name}
  | the {noun} whose code is {name} | the {noun} that has the code {name}
clause: {does} {entity} | {before} {entity} {end}
asked: {asks} {entity}
members: {noun} {several} | {category} {several}
set: {plural} {several} | {categories} {several}
several: {condition} | {condition} and {several} | {condition} {several}
clauses: {clausal} | {clausal} and {several}
clausal: {who} {bound}
condition: {linked} {entity} | {linked} {entity} {timed} {limit}
  | {before} {entity} {end} | {with} {limit} | {with} {number} {unit}
  | {bound} | {who} {bound}
bound: {bounded} {limit} | {bounded} {number} {unit}
limit: {number} | {day}
sentence: {take} {entity} | {take} {entity} ({handle}) | {chosen} | {chosen} ({handle})
  | which {noun} is {entity} | {group}
  | {take} two {plural} | {handle} is {entity} | which {noun} {asked} | who {asked}
  | of the {set}, which one {ranked} | which of the {set} {ranked}
  | of {those}, which one {ranked} | which of {those} {ranked}
  | of {those}, which is the {rank} | of {those}, who is the {rank}
  | of the {set}, who is the only one {several} | of the {set}, which is the only one {several}
  | {who} {compared}, {entity} or {entity} | which {noun} {compared}: {entity} or {entity}
  | which of {two} {compared} | {ask} the {attribute} of {entity} | {when} was {entity} {verb}
  | {when} did {entity} {acts}
  | {dated} {number} days after the {attribute} of {entity}
  | {dated} {number} days after {entity} {did}
  | how many {counted} does {entity} have | {ask} the difference in {attribute} between {both}
  | how many {days} apart were {both} {verb} | how many {days} apart did {both} {acts}
  | {ask} the {spelled} of {entity} | {which} {lettered} does {entity} have
  | what number does the code of {entity} {contain}
  | give the number that the code of {entity} {contain}
  | {ask} the {sum} {attribute} of the {set} | {count} {set}
  | {ask} the {sum} {attribute} of {those} | {count} {those}
group: consider the {set}
those: {them} {several}
chosen: of {those}, {take} the one {beside} | of {those}, {take} the {toprank}
  | of {those}, {take} the {rank}
  | of the {set}, {take} the one {beside} | of the {set}, {take} the {toprank}
  | of the {set}, {take} the only one {several}
  | of the {set}, {take} the {rank} | compare {entity} with {entity}, and {take} {better}
both: {entity} and {entity} | {two}
two: {pair} | {pair} {plural}
who: who | that | which
take: take | find | consider | compare | name | what is | who is | which is | give the name of
  | what is the name of
which: which | what
ask: what is | what are | give | name
count: what is the number of | give the number of
when: in what year | when
dated: what date is | give the date
days: years | days
"""
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?![\w-])")
CAPITALS = "in capitals without dots or spaces"
_DAY = re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}")


def _rules(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    for line in text.strip().replace("\n  ", " ").split("\n"):
        symbol, forms = line.split(": ", 1)
        yield symbol, [re.split(r"[{}]", form) for form in forms.split(" | ")]


RULES = dict(_rules(_GRAMMAR))
"""Forms of each symbol: texts with the symbols between them."""


class Part(NamedTuple):
    """Meaning of a phrase."""

    means: str
    """``thing``, ``several``, ``role`` ...: the kind of meaning, by which `_Sentence` combines
    parts."""
    kind: str
    """Type to which it belongs; empty for none."""
    value: Any
    """A name; for several, a set of names; for an order, an attribute and whether the greatest
    comes first."""


Said: TypeAlias = frozenset[tuple[str, Part]]
"""Things mentioned, each with the noun that can refer back to it."""
Phrase: TypeAlias = tuple[str, str, Part]
"""A symbol of the grammar, its words, and their meaning."""
PAIR, THOSE = ("one", "the other"), "those"


class Parse(NamedTuple):
    """A stretch of a sentence up to `end`, with one of its meanings."""

    end: int
    meaning: Part | None
    """None for words that add no meaning."""
    said: Said


class Told(NamedTuple):
    """What the previous sentences have established."""

    said: Said = frozenset()
    labels: tuple[tuple[str, Part], ...] = ()
    """Labels such as ``ship A`` or ``the first``, with their meanings."""


class Reader:
    """Reads questions about a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.phrases = _indexed([*_names(world), *_words(world)])
        units = "|".join({*UNITS, *world.domain.units, "years", "days"})
        measure = rf"(?:as YYYY-MM-DD|{CAPITALS}|(?:in ({units}))?(?: ?to one decimal place)?)"
        self.measure = re.compile(rf"[.?] Answer {measure}\.$")

    def readings(self, question: str) -> set[Value]:
        """Return the answers of all readings of a question; empty if it cannot be read.

        A reading without an answer (nothing fits, two tie) does not count.
        """
        *before, last = re.split(r"(?<=[.?]) (?!Answer)", question)
        told = {Told()}
        for sentence in before:
            told = {
                _after(each, parse)
                for each in told
                for parse in _Sentence(self, sentence, each).parses()
            }
        parses = [parse for each in told for parse in _Sentence(self, last, each).parses()]
        answers = [parse.meaning for parse in parses if parse.meaning]
        return {answer.value for answer in answers if answer.means in {"thing", "value"}}


def _after(told: Told, parse: Parse) -> Told:
    labels = dict(told.labels)
    if parse.meaning and parse.meaning.means == "labels":
        labels |= parse.meaning.value
    return Told(told.said | parse.said, tuple(labels.items()))


def _indexed(phrases: Iterable[Phrase]) -> dict[tuple[str, str], list[tuple[str, Part]]]:
    """Index the phrases by symbol and first word."""
    index = defaultdict(list)
    for symbol, text, meaning in phrases:
        index[symbol, _first_word(text, 0)].append((text, meaning))
    return index


def _first_word(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[start:end]


def _names(world: World) -> Iterator[Phrase]:
    for kind, rows in world.tables.items():
        for name, row in rows.items():
            thing = Part("thing", kind, name)
            yield from (("name", str(key), thing) for key in (name, row.get(CODE)) if key)


def _words(world: World) -> Iterator[Phrase]:
    """Yield the meanings of the domain's phrases."""
    for kind, of in world.domain.types.items():
        yield "noun", of.noun, Part("noun", kind, "")
        yield "plural", of.plural, Part("noun", kind, "")
        labels = [f"{of.noun} {letter}" for letter in "ABCDEFGH"]
        yield from (("handle", label, Part("label", "", label)) for label in labels)
        for name, link in of.relations.items():
            to = world.domain.types[link.to]
            yield from _clause("linked", link.linked, Part("link", link.to, (kind, name)))
            yield from _clause("linked", link.back, Part("back", kind, name))
            if not link.many:
                role = Part("role", kind, name)
                yield "role", link.noun, role
                yield from _clause("does", link.clause, role)
                who = "who " if to.names.startswith("{person}") else "that "
                yield from _clause("asks", link.clause.removeprefix(who), role)
        for name in of.attributes:
            yield from _attribute_words(world, kind, name)
    initials = Part("spelled", "", r"\b\w")
    yield from ((symbol, "initials", initials) for symbol in ("spelled", "lettered"))
    digits = Part("spelled", "", r"\d+")
    yield from (("contain", contain, digits) for contain in ("contain", "contains"))
    yield from (("handle", label, Part("label", "", label)) for label in PAIR)
    yield from (("sum", how, Part("sum", "", how)) for how in ("average", "total"))
    yield from (("unit", unit, Part("noun", "", "")) for unit in {*UNITS, *world.domain.units})


def _clause(symbol: str, clause: str, meaning: Part) -> Iterator[Phrase]:
    """Yield a clause before an entity, with or without its pronoun, or a clause around it."""
    start, _, end = clause.partition("{}")
    if clause and not end:
        yield symbol, start.strip(), meaning
        for pronoun in ("who ", "that "):
            if symbol == "linked" and start.startswith(pronoun):
                yield symbol, start.removeprefix(pronoun).strip(), meaning
    elif clause:
        yield "before", start.strip(), Part("noun", "", "")
        yield "end", end.strip(), meaning


def _attribute_words(world: World, kind: str, name: str) -> Iterator[Phrase]:
    of, attribute = world.domain.attribute(kind, name), Part("attribute", kind, name)
    yield "attribute", of.noun, attribute
    yield "acts" if of.acts else "verb", of.acts or of.verb, attribute
    if of.verb:
        yield "did", of.verb if of.acts else f"was {of.verb}", attribute
    yield "counted", of.counted, attribute
    yield "unit", of.counted, Part("noun", "", "")
    for value in of.values:
        fits = [each for each, row in world.tables[kind].items() if row[name] == value]
        if fits:
            yield "category", of.is_.format(value), Part("several", kind, frozenset(fits))
            yield "categories", f"{of.is_.format(value)}s", Part("several", kind, frozenset(fits))
    for most, verb, count in ((True, "last", "most"), (False, "first", "fewest")):
        order = Part("order", kind, (name, most))
        more, best = (of.more, of.most) if most else (of.less, of.least)
        yield "rank", best, order
        yield "more", more, order
        degree, held = of.degrees[not most], of.held or of.noun
        compared, than = f"{degree.removesuffix('st')}r {held}", "more" if most else "less"
        ranked = f"the {degree} {held}"
        if of.counted:
            than = "more" if most else "fewer"
            compared, ranked = f"{than} {of.counted}", f"the {count} {of.counted}"
        if of.verb:
            later, after = ("later", "after") if most else ("earlier", "before")
            was, to_do = ([""], of.acts) if of.acts else (["was ", "were "], f"be {of.verb}")
            yield "compared", f"{was[0]}{of.verb} {later}", order
            yield "than", f"{of.verb} {later}", order
            yield "ranked", f"{was[0]}{of.verb} {verb}", order
            yield "latest" if most else "earliest", to_do, order
            yield "toprank", f"{verb} to {to_do}", order
            yield "with", f"{of.verb} {after}", order
            yield "timed", after, Part("time", "", order)
            yield from (("bounded", f"{each}{of.verb} {after}", order) for each in was)
            links = world.domain.types[kind].relations.values()
            if any(link.linked.startswith(f"{of.verb} ") for link in links):
                yield "rank", verb, order
        else:
            article = "" if of.counted else "the "
            yield "compared", f"is {more}" if more else f"has {article}{compared}", order
            yield "than", f"with {article}{compared}", order
            yield "ranked", f"has {ranked}", order
            yield "beside", f"with {ranked}", order
        for symbol, has, are in (
            ("with", "with", ""),
            ("bounded", "has", "is "),
            ("bounded", "have", "are "),
        ):
            yield from ((symbol, f"{has} {a} {of.noun} of {than} than", order) for a in ("a", "an"))
            if of.counted:
                yield symbol, f"{has} {than} than", order
            if more:
                yield symbol, f"{are}{more} than", order


class _Sentence:
    """The parses of a sentence; each stretch is parsed once."""

    def __init__(self, reader: Reader, text: str, told: Told) -> None:
        self.reader, self.world = reader, reader.world
        self.unit = next(iter(reader.measure.findall(text)), "")
        text = reader.measure.sub(" ", text).strip().rstrip("?.")
        text = text[0].lower() + text[1:]
        self.text = text.removeprefix("then ").removeprefix("also ")
        labels = dict(told.labels)
        phrases: list[Phrase] = [("ref", f"that {called}", thing) for called, thing in told.said]
        phrases += [
            ("them" if label == THOSE else "label", label, thing)
            for label, thing in told.labels
            if label not in PAIR
        ]
        self.pair = tuple(labels[label] for label in PAIR if label in labels)
        if labels.keys() >= set(PAIR):
            pair = Part("pair", "", self.pair)
            phrases += [("pair", "the two", pair), ("pair", "these two", pair)]
        self.phrases = _indexed(phrases)
        self.known: dict[tuple[str, int], list[Parse]] = {}

    def parses(self) -> Iterator[Parse]:
        """Yield the parses of the whole sentence."""
        return (parse for parse in self._read("sentence", 0) if parse.end == len(self.text))

    def _read(self, symbol: str, start: int) -> list[Parse]:
        key = symbol, start
        if key not in self.known:
            read = self._composed if symbol in RULES else self._looked_up
            self.known[key] = list(dict.fromkeys(read(symbol, start)))
        return self.known[key]

    def _looked_up(self, symbol: str, start: int) -> Iterator[Parse]:
        day = _DAY.match(self.text, start)
        if symbol == "day" and day:
            yield Parse(day.end(), Part("value", "", str(whole_date(day[0]))), frozenset())
        number = _NUMBER.match(self.text, start)
        if symbol == "number" and number and not day:
            value = int(number[0].replace(",", ""))
            yield Parse(number.end(), Part("value", "", value), frozenset())
        key = symbol, _first_word(self.text, start)
        for text, meaning in [*self.reader.phrases.get(key, ()), *self.phrases.get(key, ())]:
            end = start + len(text)
            if (
                text
                and self.text.startswith(text, start)
                and not self.text[end : end + 1].isalnum()
            ):
                yield Parse(end, meaning, frozenset())

    def _composed(self, symbol: str, start: int) -> Iterator[Parse]:
        for form in RULES[symbol]:
            for end, parts, said in self._matched(form, start):
                if not parts:
                    yield Parse(end, None, said)
                elif meaning := self._meaning(symbol, parts):
                    called = set[str]()
                    is_name = symbol == "short" or any(
                        parse.end == end for parse in self.known.get(("short", start), [])
                    )
                    if meaning.means == "thing":
                        of = self.world.domain.types[meaning.kind]
                        is_name = is_name and not (of.is_said or of.noun in meaning.value.lower())
                    if meaning.means == "thing" and not is_name:
                        called = {of.noun}
                        roles = [part for part in parts if part.means == "role"]
                        called |= {
                            self.world.domain.relation(role.kind, role.value).noun for role in roles
                        }
                    yield Parse(end, meaning, said | {(noun, meaning) for noun in called})

    def _matched(self, form: Sequence[str], start: int) -> Iterator[tuple[int, list[Part], Said]]:
        """Yield the end of each match of a form, with its parts and the things they mention."""
        if not self.text.startswith(form[0], start):
            return
        start += len(form[0])
        if len(form) == 1:
            yield start, [], frozenset()
            return
        for parse in self._read(form[1], start):
            for end, parts, said in self._matched(form[2:], parse.end):
                yield end, [parse.meaning, *parts] if parse.meaning else parts, said | parse.said

    def _meaning(self, symbol: str, parts: list[Part]) -> Part | None:
        """Combine the meanings of the parts; None if they do not fit together or nothing fits."""
        flat = [each for part in parts for each in (part.value if part.means == "pair" else [part])]
        rest = sorted((part for part in flat if part.means != "noun"), key=lambda part: part.means)
        make = _TOGETHER.get((f"{symbol}:", *(part.means for part in rest)))
        make = make or _TOGETHER.get(tuple(part.means for part in rest))
        if make is None or len({part.kind for part in [*parts, *flat]} - {""}) > 1:
            return None
        try:
            return make(self, *rest)
        except Undefined:
            return None


# -- combining parts, in alphabetical order of `Part.means` ---------------------------------


def _same(_: _Sentence, part: Part) -> Part:
    return part


def _named(thing: Part) -> Named:
    return Named(thing.kind, thing.value)


def _several(kind: str, names: Iterable[str]) -> Part | None:
    return Part("several", kind, frozenset(names)) if names else None


def _role(at: _Sentence, role: Part, thing: Part) -> Part:
    end = at.world.domain.relation(role.kind, role.value).to
    return Part("thing", end, evaluate(Follow(role.kind, role.value, _named(thing)), at.world))


def _link(at: _Sentence, link: Part, thing: Part) -> Part | None:
    kind, relation = link.value
    return _several(kind, at.world.sources(kind, relation, thing.value))


def _back(at: _Sentence, link: Part, thing: Part) -> Part | None:
    kind = at.world.domain.relation(link.kind, link.value).to
    return _several(kind, at.world.relateds(link.kind, link.value, thing.value))


def _bounded(at: _Sentence, order: Part, bound: Part) -> Part | None:
    attribute, most = order.value
    condition = Condition(attribute, Test.ABOVE if most else Test.BELOW, bound.value)
    names = [
        name for name in at.world.tables[order.kind] if meets(order.kind, name, condition, at.world)
    ]
    return _several(order.kind, names)


def _timed(at: _Sentence, link: Part, thing: Part, time: Part, day: Part) -> Part | None:
    """Parse ``born in Velmora before 1900-01-01``: the bound belongs to the relation's verb."""
    (kind, relation), order = link.value, time.value
    if order.kind != kind:
        return None
    verb = at.world.domain.attribute(order.kind, order.value[0]).verb
    if not at.world.domain.relation(kind, relation).linked.startswith(f"{verb} "):
        return None
    linked, bound = _link(at, link, thing), _bounded(at, order, day)
    return _both(at, linked, bound) if linked and bound else None


def _one(at: _Sentence, order: Part) -> Part | None:
    fits = len(at.pair) == 2 and at.pair[0].kind == order.kind
    return _which(at, order, *at.pair) if fits else None


def _both(_: _Sentence, first: Part, second: Part) -> Part | None:
    return _several(first.kind, first.value & second.value)


def _only(_: _Sentence, several: Part) -> Part | None:
    return Part("thing", several.kind, *several.value) if len(several.value) == 1 else None


def _only_of_both(at: _Sentence, first: Part, second: Part) -> Part | None:
    both = _both(at, first, second)
    return _only(at, both) if both else None


def _fits(_: _Sentence, several: Part, thing: Part) -> Part | None:
    return thing if thing.value in several.value else None


def _first(at: _Sentence, order: Part, several: Part) -> Part | None:
    attribute, most = order.value
    values = {name: at.world.value(order.kind, attribute, name) for name in several.value}
    best = (max if most else min)(values.values())
    names = [name for name, value in values.items() if value == best]
    return _only(at, Part("several", order.kind, names))


def _which(at: _Sentence, order: Part, first: Part, second: Part) -> Part | None:
    return _first(at, order, Part("several", first.kind, {first.value, second.value}))


def _read(at: _Sentence, attribute: Part, thing: Part) -> Part:
    own = at.world.domain.attribute(*attribute[1:]).unit
    unit = "" if at.unit == own else at.unit
    asked = Read(*attribute[1:], _named(thing), unit)
    return Part("value", "", evaluate(asked, at.world))


def _later(at: _Sentence, attribute: Part, thing: Part, days: Part) -> Part:
    asked = Read(attribute.kind, attribute.value, _named(thing), later=days.value)
    return Part("value", "", evaluate(asked, at.world))


def _spelled(at: _Sentence, spelled: Part, thing: Part) -> Part | None:
    """Parse a text derived from a name or a code; the value is a pattern."""
    if spelled.value == r"\d+":
        numbers = re.findall(spelled.value, str(at.world.tables[thing.kind][thing.value].get(CODE)))
        return Part("value", "", int(numbers[0])) if numbers else None
    return Part("value", "", "".join(re.findall(spelled.value, thing.value)).upper())


def _gap(at: _Sentence, attribute: Part, first: Part, second: Part) -> Part:
    apart = Gap(attribute.kind, attribute.value, _named(first), _named(second))
    return Part("value", "", evaluate(apart, at.world))


def _sum(at: _Sentence, attribute: Part, several: Part, how: Part) -> Part:
    numbers = [Fraction(at.world.value(*attribute[1:], name)) for name in several.value]
    total = sum(numbers, Fraction())
    mean = float(round(total / len(numbers), PLACES))
    return Part("value", "", mean if how.value == "average" else int(total))


def _count(_: _Sentence, several: Part) -> Part:
    return Part("value", "", len(several.value))


def _labels(_: _Sentence, *parts: Part) -> Part:
    """Assign labels, or "the one" and "the other", to things."""
    *label, thing = parts
    if label and label[0].means == "label":
        return Part("labels", "", ((label[0].value, thing),))
    return Part("labels", "", tuple(zip(PAIR, parts, strict=False)))


def _pair(_: _Sentence, *things: Part) -> Part:
    return Part("pair", "", things)


_TOGETHER: dict[tuple[str, ...], Callable[..., Part | None]] = {
    ("sentence:",): lambda _: Part("labels", "", ()),
    ("sentence:", "several"): _count,
    ("sentence:", "labels"): _same,
    ("group:", "several"): lambda _, several: Part("labels", "", ((THOSE, several),)),
    ("sentence:", "several", "several"): _only_of_both,
    ("chosen:", "several", "several"): _only_of_both,
    ("whole:", "several"): _only,
    ("two:", "thing", "thing"): _pair,
    ("thing",): _same,
    ("several",): _same,
    ("spelled", "thing"): _spelled,
    ("label",): _same,
    ("value",): _same,
    ("condition:", "link", "thing", "time", "value"): _timed,
    ("better:", "order"): _same,
    ("one:", "order"): _one,
    ("both:", "thing", "thing"): _pair,
    ("attribute", "several", "sum"): _sum,
    ("attribute", "thing"): _read,
    ("attribute", "thing", "value"): _later,
    ("attribute", "thing", "thing"): _gap,
    ("back", "thing"): _back,
    ("label", "thing"): _labels,
    ("link", "thing"): _link,
    ("order", "several"): _first,
    ("order", "thing", "thing"): _which,
    ("order", "value"): _bounded,
    ("role", "thing"): _role,
    ("several", "several"): _both,
    ("several", "thing"): _fits,
    ("thing", "thing"): _labels,
}
