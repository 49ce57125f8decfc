"""What supports a call: what the question says of it, against what it says of its rivals.

Part of the condition of being determined; `rivals` has the calls one step away. Pure.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.alike import EMPTY, word_match
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.literals import is_mark
from toolhop_tools.certify.readable import Asked, Ground, beside, ground, places, said, speaks_of
from toolhop_tools.dates import whole_date
from toolhop_tools.leaves import Leaf
from toolhop_tools.words import as_number, as_text, letters, name_words, parts_of, runs, words

Arguments = Mapping[str, JSON]


class Support(NamedTuple):
    """How near a call is to what can be read; of each figure more is nearer."""

    held: int
    """Things that the sub-question names and the call has."""
    options: float
    """Options that the sub-question speaks for."""
    bare: int
    """Minus the options that nothing speaks for."""
    plain: int
    """Minus the changes that its values have gone through."""
    order: int
    """Whether its values stand in the order in which they are named (1), or against it (-1)."""
    roles: int
    """Values that stand, in the question, beside a word of their parameter's name."""

    def outweighs(self, other: Support) -> bool:
        """Whether nothing speaks for the other call and something for this one."""
        return self != other and all(one >= two for one, two in zip(self, other, strict=True))

    def surely_outweighs(self, other: Support) -> bool:
        """Whether something that the sub-question says is for this call.

        Not only that the other has an option which nothing is known to speak for, or that a
        parameter's name stands nearer to a value: these are readings that another reader may lack.
        """
        said_of = [one._replace(bare=0, roles=0) for one in (self, other)]
        return self.outweighs(other) and said_of[0] != said_of[1]


def support(task: Task, arguments: Arguments) -> Support:
    """What supports a call, and what counts against it."""
    own, content = task.leaves(arguments), task.content(arguments)
    loose = [leaf for leaf in content if leaf.path[0] not in task.required]
    loose = [leaf for leaf in loose if leaf.value != leaf.schema.get("default")]
    options = [_option(task, leaf) for leaf in own]
    spoken = [max(0.0, one) for one in options] + [_in_words(task, leaf) for leaf in loose]
    unsaid = {leaf.path[0] for leaf in loose if ground(task.asked, leaf) is not Ground.SAID}
    return Support(
        held=len(_held(task, arguments)),
        options=round(sum(spoken), 3),
        bare=-sum(one < 0 for one in options) - len(unsaid),
        plain=-sum(max(0, ground(task.asked, leaf) - Ground.SCHEMA) for leaf in content),
        order=_order(task, content),
        roles=sum(_role(task, leaf) for leaf in own),
    )


def wanted(task: Task) -> list[str]:
    """What the sub-question names: names, quoted texts, numbers in digits, dates."""
    found = task.asked.mentions
    digits = [one for one in found.numbers if one not in found.ordinals]
    return list(dict.fromkeys([*task.asked.named, *digits, *found.dates]))


def _held(task: Task, arguments: Arguments) -> frozenset[str]:
    own = task.leaves(arguments)
    return frozenset(name for name in wanted(task) if holds(own, name))


def asks_otherwise(task: Task, arguments: Arguments, other: Arguments) -> bool:
    """Whether two calls for one thing have different ones that the sub-question names.

    Nothing then tells which it asks about, even where one of them finds nothing; but what the
    tool's document names is what the tool is about.
    """
    content = task.content(arguments)
    own, its = _held(task, arguments), _held(task, other)
    its = frozenset(name for name in its - own if not speaks_of(task.document, name))
    return len(content) == 1 and isinstance(content[0].value, str) and bool(own and its)


def holds(own: Sequence[Leaf], name: str) -> bool:
    """Whether a call has what the sub-question names, in whatever notation."""
    given = [as_text(leaf.value) for leaf in own if leaf.value is not None]
    day, whole, number = whole_date(name), letters(name), as_number(name)
    alone = any(
        same_answer(name, text)
        or (number is not None and as_number(text) in (number, -number))
        or (day is not None and whole_date(text) == day)
        or runs(name_words(name), words(text))
        for text in given
    )
    parts = {str(one) for one in ((day.year, day.month, day.day) if day else ())}
    together = len(whole) > 2 and whole in letters("".join(given))
    return alone or together or bool(parts and parts <= set(given))


def _option(task: Task, leaf: Leaf) -> float:
    """What the sub-question has for an option that a call takes: its default counts for nothing."""
    default = leaf.schema.get("default")
    if not leaf.is_option or leaf.value is None:
        return 0.0
    if isinstance(leaf.value, bool):
        setting = switch(task, leaf.name)
        if setting is None:
            return 0.0 if leaf.value == default or touched(task, leaf.name) else -1.0
        return 1.0 if leaf.value is setting else -1.0
    match = said(as_text(leaf.value), task.asked)
    if match == 0 and leaf.value != default:
        return -1.0
    return match


def _in_words(task: Task, leaf: Leaf) -> float:
    """A little for an optional number or mark that the sub-question has in words: not held."""
    if ground(task.asked, leaf) is not Ground.SAID:
        return 0.0
    held = any(holds([leaf], name) for name in wanted(task))
    return 0.5 if (is_number(leaf.value) or is_mark(leaf.value)) and not held else 0.0


_LEAVES_OUT = frozenset(
    words(
        "exclude excluding excluded exclusive exclusively strictly without ignoring ignore except"
        " not remove skip omit strip"
    )
)
"""Words of a question, or of a switch's name, that take out what they are said of."""
_PLAIN_PARTS = frozenset(words("name letter letters words word number digit digits"))


def switch(task: Task, name: str) -> bool | None:
    """How the sub-question sets a switch; None where it does not speak of it, or not in its words.

    ``include_spaces`` is off where spaces are excluded, ``ignore_spaces`` is on.
    """
    if said(_topic(task, name), task.asked) < 0.8:
        return None
    return _LEAVES_OUT.isdisjoint(words(task.asked.text)) == _LEAVES_OUT.isdisjoint(parts_of(name))


def touched(task: Task, name: str) -> bool:
    """Whether the sub-question speaks of what a switch is about."""
    return said(_topic(task, name), task.asked) > 0


def _topic(task: Task, name: str) -> str:
    """The words of a switch's name that its tool and other parameters do not have."""
    subject = (task.hop.tool.name, *task.required)
    known = {word for one in subject for word in parts_of(one)} | _PLAIN_PARTS | EMPTY
    return " ".join([part for part in parts_of(name) if part not in known] or parts_of(name))


def spoken_of(task: Task, choice: str) -> bool:
    """Whether the sub-question says a choice, or a part of it that the tool's name has not."""
    return said(choice, task.asked) >= 0.8 or touched(task, choice)


_EITHER = frozenset(words("difference between apart distance gap differ"))
_TURNED = re.compile(
    r"\b(?:subtract\w*|deduct\w*|take|taking|fewer|less|smaller|younger)\b.*\b(?:from|than)\b"
    r"|\b(?:fits?|goes?|go|divided?)\b.*\binto\b",
    re.IGNORECASE,
)
_PAIRED = (
    "minuend subtrahend, dividend divisor, base exponent, numerator denominator, prefix suffix,"
    " start finish, start end, begin end, from to, origin destination, source target,"
    " initial final, old new, before after, a b, x y, one two, first second, left right, 0 1, 1 2,"
    " lower upper, earlier later"
)
_PAIRS = frozenset(map(words, _PAIRED.split(", ")))
"""Words that make two parameters a first and a second: ``start_date`` and ``end_date``."""


def is_number(value: JSON) -> bool:
    """Whether a value is a number: a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _order(task: Task, content: Sequence[Leaf]) -> int:
    """Whether the values of a list, or of a pair of parameters, are in the order of mention."""
    asked = words(task.asked.text)
    lists = [list(group) for _, group in itertools.groupby(content, lambda leaf: leaf.path[0])]
    total = 0
    for group in (*lists, _paired(content)):
        values = [leaf.value for leaf in group]
        found = zip(group, places(task.asked, values, anywhere=True), strict=False)
        rows = itertools.groupby(found, lambda one: one[0].path[:2])
        known = [min(at for _, at in row) for _, row in rows]
        if len(known) > 1 and known != known[::-1]:
            rising = 1 if known == sorted(known) else -1
            if _TURNED.search(task.asked.text):
                total -= rising
            elif _side_by_side(task.asked, values):
                total += rising
    return 0 if not _EITHER.isdisjoint(asked) and "between them" not in task.asked.text else total


_JOINS = frozenset(
    words(
        "and or nor than then the a an minus plus times over modulo by divided multiplied followed"
    )
)
_TO = re.compile(r"\b(?:from|ratio of) .* to\b|\bto the power of\b")


def _side_by_side(asked: Asked, values: Sequence[JSON]) -> bool:
    """Whether nothing but joining words stands between values: any other word may turn the order.

    True as well where the sub-question does not say them: a list that an earlier answer has.
    """
    text = words(asked.text)
    own_words = [name_words(as_text(value)) for value in values]
    said_at = sorted(zip(places(asked, values), own_words, strict=False))
    joins = _JOINS.union(words("raised to power of") if _TO.search(asked.text) else ())
    pairs = itertools.pairwise(said_at)
    return all(joins.issuperset(text[at + len(own) : after]) for (at, own), (after, _) in pairs)


def _paired(content: Sequence[Leaf]) -> list[Leaf]:
    """The values of parameters that are first and second of a pair by their names."""
    top = [leaf for leaf in content if len(leaf.path) == 1]
    for one, other in itertools.permutations(top, 2):
        own, its = _name_parts(one.name), _name_parts(other.name)
        apart = [pair for pair in zip(own, its, strict=False) if pair[0] != pair[1]]
        if len(own) == len(its) and len(apart) == 1 and apart[0] in _PAIRS:
            return [one, other]
    return []


def _name_parts(name: str) -> list[str]:
    found: list[str] = re.findall(r"\d+|[A-Z]?[a-z]+|[A-Z]+", name)
    return [part.lower() for part in found]


_AIM = frozenset(words("to target into destination output"))
_TOWARDS = frozenset(words("in to into many much"))
_SAME = 0.9
"""How much a word says for itself; one that stands for it says less."""


def _role(task: Task, leaf: Leaf) -> int:
    own = parts_of(leaf.name)
    days = [day.split("-") for day in task.asked.mentions.dates]
    for part, at in (("year", 0), ("month", 1), ("day", 2)):
        if part in own and is_number(leaf.value) and days:
            return sum(int(day[at]) == leaf.value for day in days)
    if is_number(leaf.value) and ground(task.asked, leaf) is not Ground.SAID:
        # A number that the schema offers is not the one that the question says.
        return 0
    near = beside(task.asked, leaf) if isinstance(leaf.value, str | int | float) else ()
    aimed = not _AIM.isdisjoint(own) and not _TOWARDS.isdisjoint(near)
    return aimed + sum(word_match(word, near) >= _SAME for word in own)
