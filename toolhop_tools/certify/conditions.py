"""The conditions of a proof: a call is accepted, grounded, determined, discriminating and hitting.

Each is a question to a call and to what its tool returned; none knows where the call came from.
`search` makes the calls that a condition asks for (`stand_ins`, `rivals.rivals`,
`audit.randomised`) and hands back their results. Pure.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.alike import word_match
from toolhop_tools.certify.candidates import Task, Tried
from toolhop_tools.certify.judging import judge, literal, reordered
from toolhop_tools.certify.readable import Ground, crowded, ground, said, speaks_of
from toolhop_tools.certify.support import Arguments, holds, support, switch, wanted
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.errors import shown
from toolhop_tools.failures import tells_of_error
from toolhop_tools.leaves import Leaf, with_value
from toolhop_tools.reading import Path, Reading
from toolhop_tools.words import as_text, bare, letters, number_of, parts_of, scalars, words

HALF = 0.5
"""Share of other values with the same answer, above which a tool is nearly constant."""
FOLLOWED = 0.8
"""Share of other values that come back as the answer, above which a tool repeats its input."""


def ungrounded(task: Task, arguments: Arguments) -> list[Leaf]:
    """The values of a call that nothing gives to somebody who does not see the source."""
    own = task.leaves(arguments)
    out = crowded(task.asked, own)
    return [leaf for leaf in own if leaf in out or ground(task.asked, leaf) is Ground.NOWHERE]


def says_nothing(task: Task, arguments: Arguments) -> bool:
    """Whether a call has nothing of what is asked, though the sub-question names something."""
    own, content = support(task, arguments), task.content(arguments)
    return bool(wanted(task)) and not content and own.held == 0 and own.options == 0


_LIMITS = frozenset(
    words(
        "end ends reverse reversed backwards exclude excluding excluded except without omitting"
        " ignoring"
    )
)
"""Words that change what is asked, whatever the tool."""
_BOUND = re.compile(
    r"\b(?:before|after|since|until|till|above|below|under|over|than|exceeding|least|most|up to)"
    r" (?:the year )?(\d[\d,.]*)(?<![,.])"
)
"""A number that limits what is asked: ``before 1986``, ``more than 30``."""


def left_out(task: Task, calls: Sequence[Arguments]) -> str:
    """A limit of the sub-question that the tool, or every call, has nothing for; else empty."""
    names, text = {word for name in task.asked.named for word in words(name)}, task.asked.text
    if all(switch(task, name) is None for name in task.properties):
        for word in words(text):
            if word in _LIMITS - names and not speaks_of(task.document, word):
                return word
    for found in _BOUND.finditer(text.replace("$", "")):
        number = found[1].replace(",", "")
        own = number in task.asked.mentions.numbers and not speaks_of(task.document, number)
        if own and not any(holds(task.leaves(one), number) for one in calls):
            return found[0]
    return ""


_STAND_INS = (("Qorvellan Thrys", 3), ("database", 50), ("x", 1))
"""Texts and numbers that stand in for a value."""


def stand_ins(arguments: Arguments, unknown: Sequence[Leaf]) -> list[dict[str, JSON]]:
    """The call with other values in all the places that nothing grounds, three times over."""
    made = []
    for text, number in _STAND_INS if unknown else ():
        changed = dict(arguments)
        for leaf in unknown:
            other = text if isinstance(leaf.value, str) else number
            changed = with_value(changed, leaf.path, other)
        made.append(changed)
    return made


class Kind(StrEnum):
    """What sort of answer a gold is."""

    NUMBER = "number"
    DATE = "date"
    LETTER = "letter"
    TEXT = "text"

    @classmethod
    def of(cls, gold: str) -> Kind:
        """The kind of an answer."""
        if number_of(gold) is not None:
            return cls.NUMBER
        if whole_date(gold) is not None:
            return cls.DATE
        return cls.LETTER if len(plain_text(gold)) <= 2 else cls.TEXT


def hitting(task: Task, value: JSON, arguments: Arguments) -> Reading | None:
    """Where a result gives the gold as its answer; None where it does not.

    Not where the gold stands beside other answers of its kind that are as near to the question,
    nor where a field that the question names has another one, nor where it is a choice of the
    schema that the tool reports beside its answer.
    """
    reading = judge(task.asked.gold, value, dict(arguments))
    if reading is None or not reading.path:
        return reading
    gold = Kind.of(task.asked.gold)
    mine = _key_said(task, reading.path)
    held = dict(scalars(value))
    chosen = repeated(task, arguments) is not None
    for path, _ in answers(gold, value, arguments, own=chosen):
        other = as_text(held[path])
        if path == reading.path or same_answer(task.asked.gold, other):
            continue
        if bare(task.asked.gold) in task.choices and bare(other) not in task.choices:
            return None
        theirs = _key_said(task, path)
        if theirs > mine or (_one_of_many(path, reading.path) and gold is not Kind.TEXT):
            return None
    return reading


def others_listed(task: Task, value: JSON, reading: Reading, arguments: Arguments) -> list[str]:
    """Answers that stand in one list or record with the gold, any of which could be meant."""
    gold = task.asked.gold
    if literal(gold) is not None or reading.span is not None:
        return []
    found = answers(Kind.of(gold), value, arguments)
    mine = _key_said(task, reading.path)

    def near(path: Path, text: str) -> bool:
        fields = path[:-1] == reading.path[:-1] and path != reading.path and _alike(gold, text)
        alike = fields and isinstance(path[-1], str) and mine == _key_said(task, path)
        return alike or _one_of_many(path, reading.path)

    return [text for path, text in found if near(path, text) and not same_answer(gold, text)]


def _alike(gold: str, text: str) -> bool:
    """Whether a text could be the answer by its form: a name where the gold is one."""
    capitals = [all(part[:1].isupper() for part in one.split()) for one in (gold, text)]
    return Kind.of(gold) is not Kind.TEXT or (all(capitals) and len(text.split()) <= 6)


def _one_of_many(path: Path, other: Path) -> bool:
    """Whether two paths part at the places of a list, and are the same after it."""
    pairs = zip(path, other, strict=False)
    same = all(one == two or (isinstance(one, int) and isinstance(two, int)) for one, two in pairs)
    return same and len(path) == len(other) and path != other


_ANSWER = frozenset(words("result answer value output"))
"""Fields that are the answer by their name, whatever is asked."""


def _key_said(task: Task, path: Path) -> float:
    """How far the sub-question says a field; more than that for one that *how old* asks for."""
    how = [two for one, two in itertools.pairwise(words(task.asked.text)) if one == "how"]
    steps = [step for step in path if isinstance(step, str)]
    if any(word_match(part, how) for step in steps for part in parts_of(step)):
        return 2.0
    plain = 0.5 if steps and steps[-1] in _ANSWER else 0.0
    return max((said(step, task.asked) for step in steps), default=0.0) or plain


NOTHING = re.compile(
    r"\b(?:not? (?:\w+ ){0,4}(?:found|available|known|exist|recogni[sz]ed|supported|match|data)"
    r"|unknown|unavailable|n/?a|none|null|nothing|invalid|unsupported|undefined|empty"
    r"|un(?:able|identified|specified)|can(?:not|'t)|does(?: not|n't)|is not|no \w+"
    r"|insufficient|missing|please|must|required?)\b",
    re.IGNORECASE,
)
"""What a text says that reports nothing found."""


def answers(
    kind: Kind, value: JSON, arguments: Arguments, *, own: bool = False
) -> list[tuple[Path, str]]:
    """What a result could be taken to answer, of one kind.

    Without what the call itself said, unless `own` asks for it, as of a choice among arguments.
    """
    # A search that finds nothing gives minus one; of numbers alone it is a number.
    searched = any(isinstance(leaf, str) for _, leaf in scalars(dict(arguments)))
    if tells_of_error(value) or (value == -1 and searched):
        return []
    given = set() if own else {bare(as_text(leaf)) for _, leaf in scalars(dict(arguments))}
    numbers = {plain_number(word) for text in given for word in words(text)}
    found: list[tuple[Path, str]] = []
    for path, leaf in scalars(value)[:400]:
        text = as_text(leaf)
        if leaf is None or isinstance(leaf, bool) or not text.strip() or bare(text) in given:
            continue
        number = number_of(text)
        if isinstance(leaf, str) and number is None and NOTHING.search(text):
            continue
        if kind is Kind.NUMBER:
            stated = [number] if number is not None else [*map(plain_number, words(text))]
            new = [
                one for one in stated if one is not None and (one not in numbers or one == number)
            ]
            found += [(path, str(one)) for one in new[:1]]
        elif kind is Kind.DATE:
            found += [(path, written) for written, _ in [*dates_in(text)][:1]]
        elif number is None and (len(plain_text(text)) <= 2 or kind is Kind.TEXT):
            found.append((path, text))
    return found


def definite(task: Task, tried: Tried, *, any_kind: bool = False) -> bool:
    """Whether a call gives another answer than the gold: of the gold's kind, or of any."""
    value, arguments = tried.value, tried.arguments
    several = isinstance(literal(task.asked.gold), list)
    own_kinds = (Kind.TEXT, Kind.NUMBER) if several else (Kind.of(task.asked.gold),)
    kinds = tuple(Kind) if any_kind else own_kinds
    own = repeated(task, arguments) is not None or reordered(task.asked.gold, value)
    # The largest or the median of a list is one of its elements.
    lists = [one for one in arguments.values() if isinstance(one, list) and len(one) > 1]
    own = own or any(value in one for one in lists)
    found = any(answers(kind, value, arguments, own=own) for kind in kinds)
    return found and hitting(task, value, arguments) is None


def repeated(task: Task, arguments: Arguments) -> Leaf | None:
    """The argument that is the gold, letter for letter; None where none is."""
    gold, number = letters(task.asked.gold), number_of(task.asked.gold)
    for leaf in task.content(arguments):
        text = as_text(leaf.value)
        if (gold and letters(text) == gold) or (number is not None and number_of(text) == number):
            return leaf
    return None


def joined(task: Task, arguments: Arguments) -> bool:
    """Whether the gold is arguments put together that the sub-question does not all name."""
    gold = letters(task.asked.gold)
    content = [leaf for leaf in task.content(arguments) if letters(as_text(leaf.value))]
    for first, last in itertools.combinations(range(len(content) + 1), 2):
        parts = content[first:last]
        if len(parts) > 1 and "".join(letters(as_text(leaf.value)) for leaf in parts) == gold:
            return any(ground(task.asked, leaf) is not Ground.SAID for leaf in parts)
    return False


def follows(leaf: Leaf, path: Path, ran: Iterable[Tried]) -> bool:
    """Whether a tool gives back, at a place of its result, whatever stands in a leaf's place."""
    followed = other = 0
    for one in ran:
        value, given = one.value, dict(scalars(dict(one.arguments))).get(leaf.path)
        at_path = dict(scalars(value)).get(path, value)
        if given is not None and judge(as_text(given), at_path, {}) is not None:
            followed += 1
        elif value != -1 and any(answers(kind, value, {}) for kind in Kind):
            other += 1
    return other <= (1 - FOLLOWED) * (followed + other)


def flaw(task: Task, arguments: Arguments, path: Path, ran: Sequence[Tried]) -> str:
    """Why a call that is grounded proves nothing, whatever its rivals say; empty where it may.

    Args:
        task: the hop.
        arguments: the call.
        path: where its result has the gold.
        ran: calls like it.
    """
    if says_nothing(task, arguments):
        return "the call says nothing of what is asked"
    if limit := left_out(task, [arguments, *(one.arguments for one in ran)]):
        return f"the tool has nothing for what the question says: {shown(limit)}"
    same = repeated(task, arguments)
    if joined(task, arguments) or (same is not None and follows(same, path, ran)):
        return "the tool repeats what the call is given"
    return ""


def nearly_constant(hits: Sequence[bool]) -> bool:
    """Whether other values give the same answer more often than not, or none can be tried."""
    return not hits or sum(hits) > HALF * len(hits)
