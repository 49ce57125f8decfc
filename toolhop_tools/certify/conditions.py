"""The conditions of a proof: a call is accepted, grounded, determined, discriminating and hitting.

Each is a question to a call and to what its tool returned; none knows where the call came from.
`search` makes the calls that a condition asks for (`stand_ins`, `rivals`, `audit.randomised`) and
hands back their results. Pure.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.judging import judge, literal
from toolhop_tools.certify.readable import (
    Asked,
    Ground,
    Leaf,
    backwards,
    beside,
    crowded,
    ground,
    leaves,
    places,
    said,
    spelled_in,
    with_value,
)
from toolhop_tools.certify.words import as_text, bare, name_words, runs, same_number, scalars, words
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.failures import tells_of_error
from toolhop_tools.reading import Path, Reading, read_result

Arguments = Mapping[str, JSON]

MOST_RIVALS = 56
"""Calls that a hit is compared with."""
HALF = 0.5
"""Share of other values with the same answer, above which a tool is nearly constant."""
FOLLOWED = 0.8
"""Share of other values that come back as the answer, above which a tool repeats its input."""


# -- accepted ----------------------------------------------------------------------------------


def accepted(task: Task, arguments: Arguments) -> bool:
    """Whether the simulator's parser takes the call, by the schema as it is shown."""
    return task.accepts(arguments)


# -- grounded ----------------------------------------------------------------------------------


def ungrounded(task: Task, arguments: Arguments) -> list[Leaf]:
    """The values of a call that nothing gives to somebody who does not see the source."""
    own = leaves(task.schema, arguments)
    out_of_place = crowded(task.asked, own)
    return [
        leaf for leaf in own if leaf in out_of_place or ground(task.asked, leaf) is Ground.NOWHERE
    ]


def says_nothing(task: Task, arguments: Arguments) -> bool:
    """Whether a call has nothing of what is asked, though the sub-question names something."""
    content = [leaf for leaf in leaves(task.schema, arguments) if not leaf.is_option]
    own = standing(task, arguments)
    return bool(wanted(task)) and not content and own.held == 0 and own.told == 0


_TEXTS = ("Qorvellan Thrys", "database", "x")
_NUMBERS = (3, 50, 1)


def stand_ins(arguments: Arguments, unknown: Sequence[Leaf]) -> list[dict[str, JSON]]:
    """The call with other values in all the places that nothing grounds, three times over."""
    made = []
    for text, number in zip(_TEXTS, _NUMBERS, strict=True):
        changed: JSON = dict(arguments)
        for leaf in unknown:
            changed = with_value(
                changed, leaf.path, text if isinstance(leaf.value, str) else number
            )
        made.append(changed)
    return [one for one in made if isinstance(one, dict)]


# -- hitting -----------------------------------------------------------------------------------


class Kind(StrEnum):
    """What sort of answer a gold is."""

    NUMBER = "number"
    DATE = "date"
    LETTER = "letter"
    TEXT = "text"

    @classmethod
    def of(cls, gold: str) -> Kind:
        """The kind of an answer."""
        if plain_number(plain_text(gold)) is not None:
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
    for path, _ in answers(gold, value, arguments):
        other = as_text(_at(value, path))
        if path == reading.path or same_answer(task.asked.gold, other):
            continue
        if bare(task.asked.gold) in task.choices and bare(other) not in task.choices:
            return None
        theirs = _key_said(task, path)
        if theirs > mine or (_one_of_many(path, reading.path) and gold is not Kind.TEXT):
            return None
        few = gold in {Kind.NUMBER, Kind.LETTER} and len(task.asked.gold) < 4
        if few and theirs == mine and len(path) <= len(reading.path):
            return None
    return reading


def others_listed(task: Task, value: JSON, reading: Reading, arguments: Arguments) -> list[str]:
    """Answers that stand in one list with the gold, any of which could be meant."""
    if literal(task.asked.gold) is not None:
        return []
    found = answers(Kind.of(task.asked.gold), value, arguments)
    beside_it = [text for path, text in found if _one_of_many(path, reading.path)]
    return [text for text in beside_it if not same_answer(task.asked.gold, text)]


def _one_of_many(path: Path, other: Path) -> bool:
    """Whether two paths part at the places of a list, and are the same after it."""
    if len(path) != len(other) or path == other:
        return False
    pairs = list(zip(path, other, strict=True))
    return all(one == two or (isinstance(one, int) and isinstance(two, int)) for one, two in pairs)


def _key_said(task: Task, path: Path) -> float:
    return max((said(step, task.asked) for step in path if isinstance(step, str)), default=0.0)


def _at(value: JSON, path: Path) -> JSON:
    """What stands at a path; None where it leads nowhere."""
    for step in path:
        try:
            value = value[step]  # type: ignore[index]
        except (TypeError, KeyError, IndexError):
            return None
    return value


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
    if tells_of_error(value) or value == -1:
        # Alone, minus one says that nothing was found.
        return []
    given = set() if own else {bare(as_text(leaf)) for _, leaf in scalars(dict(arguments))}
    numbers = {plain_number(word) for text in given for word in words(text)}
    found: list[tuple[Path, str]] = []
    for path, leaf in scalars(value)[:400]:
        text = as_text(leaf)
        if leaf is None or isinstance(leaf, bool) or not text.strip() or bare(text) in given:
            continue
        number = plain_number(plain_text(text))
        if isinstance(leaf, str) and number is None and NOTHING.search(text):
            continue
        if kind is Kind.NUMBER:
            told = [number] if number is not None else [*map(plain_number, words(text))]
            new = [one for one in told if one is not None and (one not in numbers or one == number)]
            found += [(path, str(one)) for one in new[:1]]
        elif kind is Kind.DATE:
            found += [(path, written) for written, _ in [*dates_in(text)][:1]]
        elif number is None and (len(plain_text(text)) <= 2 or kind is Kind.TEXT):
            found.append((path, text))
    return found


def definite(task: Task, outcome: Outcome, arguments: Arguments, *, any_kind: bool = False) -> bool:
    """Whether a call gives another answer than the gold: of the gold's kind, or of any."""
    if not isinstance(outcome, Returned):
        return False
    value = read_result(outcome.json_text)
    kinds = [Kind.of(task.asked.gold)]
    if isinstance(literal(task.asked.gold), list):
        kinds = [Kind.TEXT, Kind.NUMBER]
    kinds = list(Kind) if any_kind else kinds
    own = repeated(task, arguments) is not None
    found = any(answers(kind, value, arguments, own=own) for kind in kinds)
    return found and hitting(task, value, arguments) is None


def _says_something(value: JSON) -> bool:
    """Whether a result is neither an error nor empty, nor all it says is that nothing is found."""
    if tells_of_error(value) or value == -1:
        return False
    leaves_ = [leaf for _, leaf in scalars(value)[:400] if leaf is not None]
    texts = [as_text(leaf) for leaf in leaves_ if not isinstance(leaf, bool)]
    return any(text.strip() and not NOTHING.search(text) for text in texts)


# -- determined --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """How near a call is to what can be read; of each figure more is nearer."""

    held: int
    """Things that the sub-question names and the call has."""
    told: float
    """Options that the sub-question speaks for."""
    bare: int
    """Minus the options that nothing speaks for."""
    plain: int
    """Minus the changes that its values have gone through."""
    order: int
    """Whether its values stand in the order in which they are named (1), or against it (-1)."""
    roles: int
    """Values that stand, in the question, beside a word of their parameter's name."""

    def over(self, other: Standing) -> bool:
        """Whether nothing speaks for the other call and something for this one."""
        own, its = self._figures(), other._figures()
        return own != its and all(one >= two for one, two in zip(own, its, strict=True))

    def _figures(self) -> tuple[float, ...]:
        return self.held, round(self.told, 3), self.bare, self.plain, self.order, self.roles

    def surely_over(self, other: Standing) -> bool:
        """Whether something that the sub-question says is for this call.

        Not only that the other has an option which nothing is known to speak for, or that a
        parameter's name stands nearer to a value: these are readings that another reader may lack.
        """
        own, its = self._figures()[:-1], other._figures()[:-1]
        return self.over(other) and own[:2] + own[3:] != its[:2] + its[3:]


_CHANGES = {
    Ground.SAID: 0,
    Ground.SCHEMA: 0,
    Ground.CHANGED: 1,
    Ground.ELSEWHERE: 2,
    Ground.NOWHERE: 2,
}


def standing(task: Task, arguments: Arguments) -> Standing:
    """What speaks for a call, and what against it."""
    own = leaves(task.schema, arguments)
    content = [leaf for leaf in own if not leaf.is_option]
    loose = [leaf for leaf in content if leaf.path[0] not in task.required]
    loose = [leaf for leaf in loose if leaf.value != leaf.schema.get("default")]
    options = [_option(task, leaf) for leaf in own]
    untold = {leaf.path[0] for leaf in loose if ground(task.asked, leaf) is not Ground.SAID}
    return Standing(
        held=sum(_holds(own, name) for name in wanted(task)),
        told=sum(max(0.0, one) for one in options) + sum(_in_words(task, leaf) for leaf in loose),
        bare=-sum(one < 0 for one in options) - len(untold),
        plain=-sum(_CHANGES[ground(task.asked, leaf)] for leaf in content),
        order=_order(task, content),
        roles=sum(_role(task, leaf) for leaf in own),
    )


def wanted(task: Task) -> list[str]:
    """What the sub-question names: names, quoted texts, numbers in digits, dates."""
    found = task.asked.mentions
    digits = [one for one in found.numbers if one not in found.ordinals]
    return list(dict.fromkeys([*task.asked.named, *digits, *found.dates]))


def _holds(own: Sequence[Leaf], name: str) -> bool:
    given = [as_text(leaf.value) for leaf in own if leaf.value is not None]
    day, letters = whole_date(name), "".join(filter(str.isalnum, bare(name)))
    for text in given:
        if (
            same_answer(name, text)
            or same_number(name, text)
            or runs(name_words(name), words(text))
        ):
            return True
        if day is not None and whole_date(text) == day:
            return True
    parts = {str(one) for one in ((day.year, day.month, day.day) if day else ())}
    joined = "".join(filter(str.isalnum, bare("".join(given))))
    return bool(parts and parts <= set(given)) or (len(letters) > 2 and letters in joined)


def _option(task: Task, leaf: Leaf) -> float:
    """What the sub-question has for an option that a call takes: its default counts for nothing."""
    default = leaf.schema.get("default")
    if not leaf.is_option or leaf.value is None:
        return 0.0
    if isinstance(leaf.value, bool):
        told = switch(task, leaf.name)
        if told is None:
            return 0.0 if leaf.value == default else -1.0
        return 1.0 if leaf.value is told else -1.0
    told_of_it = said(as_text(leaf.value), task.asked)
    if told_of_it == 0 and leaf.value != default:
        return -1.0
    return told_of_it


def _in_words(task: Task, leaf: Leaf) -> float:
    """A little for an optional number that the sub-question has in words, as these are not held."""
    if ground(task.asked, leaf) is not Ground.SAID:
        return 0.0
    held = any(_holds([leaf], name) for name in wanted(task))
    return 0.5 if _is_number(leaf.value) and not held else 0.0


_LEAVES_OUT = frozenset({"exclude", "excluding", "without", "ignoring", "ignore", "except", "not"})
_TAKES_OUT = frozenset({"exclude", "ignore", "remove", "skip", "omit", "without", "strip"})
_PLAIN_PARTS = frozenset(
    {"name", "letter", "letters", "words", "word", "number", "digit", "digits"}
)


def switch(task: Task, name: str) -> bool | None:
    """How the sub-question sets a switch; None where it does not speak of it.

    ``include_spaces`` is off where spaces are excluded, ``ignore_spaces`` is on.
    """
    parts = words(name.replace("_", " "))
    subject = (task.hop.tool.name, *task.required)
    known = {word for one in subject for word in words(one.replace("_", " "))} | _PLAIN_PARTS
    rest = " ".join(part for part in parts if part not in known)
    if not rest or said(rest, task.asked) < 1.0:
        return None
    out = not _LEAVES_OUT.isdisjoint(words(task.asked.text))
    takes_out = not _TAKES_OUT.isdisjoint(parts)
    return out == takes_out


_EITHER = frozenset({"difference", "between", "apart", "distance", "gap", "differ"})
_TURNED = re.compile(
    r"\b(?:subtract\w*|deduct\w*|take|taking|fewer|less|smaller|younger)\b.*\b(?:from|than)\b"
    r"|\b(?:fits?|goes?|go|divided?)\b.*\binto\b"
)
_PAIR = re.compile(r"_?(?:\d|[ab]|[xy]|one|two|first|second|left|right|start|end|from|to)$")
_PAIRS = (
    *(("minuend", "subtrahend"), ("dividend", "divisor"), ("base", "exponent")),
    *(("numerator", "denominator"), ("prefix", "suffix"), ("start", "finish"), ("start", "end")),
    *(("origin", "destination"), ("from", "to")),
)


def _order(task: Task, content: Sequence[Leaf]) -> int:
    """Whether the values of a list, or of a pair of parameters, are in the order of mention."""
    asked = words(task.asked.text)
    lists = [
        [leaf.value for leaf in group]
        for _, group in itertools.groupby(content, key=lambda leaf: leaf.path[0])
    ]
    total = 0
    for values in (*lists, [leaf.value for leaf in _paired(content)]):
        known = places(task.asked, values, anywhere=True)
        if len(known) > 1 and known != known[::-1]:
            rising = 1 if known == sorted(known) else -1
            total += -rising if _TURNED.search(task.asked.text) else rising
    return 0 if not _EITHER.isdisjoint(asked) else total


def _paired(content: Sequence[Leaf]) -> list[Leaf]:
    """The values of parameters that are first and second of a pair by their names."""
    top = {leaf.name: leaf for leaf in content if len(leaf.path) == 1}
    for one, other in _PAIRS:
        if one in top and other in top:
            return [top[one], top[other]]
    stems = Counter(_PAIR.sub("", name) for name in top if _PAIR.search(name))
    twins = sorted(n for n in top if _PAIR.search(n) and stems[_PAIR.sub("", n)] == 2)
    early = [name for name in twins if re.search(r"(?:start|from|first|left|one)$", name)]
    return [top[name] for name in sorted(twins, key=lambda name: (name not in early, name))][:2]


_AIM = frozenset({"to", "target", "into", "destination", "output"})
_TOWARDS = frozenset({"in", "to", "into", "many", "much"})


def _role(task: Task, leaf: Leaf) -> int:
    own = words(leaf.name.replace("_", " "))
    days = [day.split("-") for day in task.asked.mentions.dates]
    for part, at in (("year", 0), ("month", 1), ("day", 2)):
        if part in own and _is_number(leaf.value) and days:
            return sum(int(day[at]) == leaf.value for day in days)
    near = beside(task.asked, leaf) if isinstance(leaf.value, str | int | float) else ()
    aimed = not _AIM.isdisjoint(own) and not _TOWARDS.isdisjoint(near)
    return aimed + sum(word in own for word in near)


def rivals(task: Task, arguments: Arguments) -> list[dict[str, JSON]]:
    """Calls that can be read as well, each one step from a call, which the simulator accepts."""
    found: dict[str, dict[str, JSON]] = {}
    own = json.dumps(arguments, sort_keys=True)
    for one in _steps(task, arguments):
        key = json.dumps(one, sort_keys=True)
        if key != own and task.accepts(one):
            found.setdefault(key, one)
            if len(found) == MOST_RIVALS:
                break
    return list(found.values())


def _steps(task: Task, arguments: Arguments) -> Iterator[dict[str, JSON]]:
    own = leaves(task.schema, arguments)
    yield from _orders(task, arguments, own)
    yield from _fewer(task, arguments)
    yield from _conditions(task, arguments, own)
    for leaf in own:
        for value in _other_values(task, own, leaf):
            changed = with_value(dict(arguments), leaf.path, value)
            if isinstance(changed, dict):
                yield changed


def _fewer(task: Task, arguments: Arguments) -> Iterator[dict[str, JSON]]:
    """Without each optional argument, and without all of them."""
    free = [name for name in arguments if name not in task.required]
    for out in ([free] if len(free) > 1 else []) + [[name] for name in free]:
        yield {name: value for name, value in arguments.items() if name not in out}


def _orders(task: Task, arguments: Arguments, own: Sequence[Leaf]) -> Iterator[dict[str, JSON]]:
    for name, value in arguments.items():
        if isinstance(value, list) and len(value) > 1:
            yield {**arguments, name: value[::-1]}
            if len(value) > 2:
                yield {**arguments, name: [value[1], value[0], *value[2:]]}
                yield {**arguments, name: [*value[1:], value[0]]}
    top = [leaf for leaf in own if len(leaf.path) == 1]
    for one, other in itertools.combinations(top, 2):
        numbers = all(_is_number(leaf.value) for leaf in (one, other))
        alike = numbers or (isinstance(one.value, str) and isinstance(other.value, str))
        if alike and one.choices == other.choices:
            yield {**arguments, one.name: other.value, other.name: one.value}


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _conditions(task: Task, arguments: Arguments, own: Sequence[Leaf]) -> Iterator[dict[str, JSON]]:
    """With what the sub-question says and the call leaves out, where a parameter takes it."""
    left_out = [name for name in wanted(task) if not _holds(own, name)]
    # "First" is in "first name" as well, and what most tools take when they are told nothing.
    in_words = [one for one in task.asked.mentions.ordinals if one != "1" and not _holds(own, one)]
    for name in task.properties:
        schema = task.schema_of(name)
        listed = task.schema_of(name, 0).get("enum")
        if isinstance(listed, list):
            told = [one for one in listed if said(as_text(one), task.asked) == 1]
            if told and arguments.get(name) != told:
                yield {**arguments, name: told}
                yield from ({**arguments, name: [one]} for one in told)
        choices, inside = schema.get("enum"), schema.get("properties")
        for switched in inside if isinstance(inside, dict) else ():
            if switch(task, switched):
                yield {**arguments, name: {switched: True}}
        if name in arguments:
            continue
        if isinstance(choices, list):
            told = [one for one in choices if said(as_text(one), task.asked) >= 0.8]
            yield from ({**arguments, name: one} for one in told[:3])
        elif schema.get("type") == "boolean":
            if (told_ := switch(task, name)) is not None:
                yield {**arguments, name: told_}
        else:
            for text in (*left_out, *in_words):
                yield from ({**arguments, name: value} for value in _as_type(schema, text))


def _as_type(schema: Mapping[str, JSON], text: str) -> Iterator[JSON]:
    kinds, number = schema.get("type"), plain_number(plain_text(text))
    several = kinds if isinstance(kinds, list) else [kinds]
    if number is not None and abs(number) < 10**15 and {"integer", "number"} & set(several):
        yield int(number) if number == int(number) else float(number)
    elif "string" in several:
        yield text
    elif "array" in several:
        yield [text]


def _other_values(task: Task, own: Sequence[Leaf], leaf: Leaf) -> Iterator[JSON]:
    """What could stand in a leaf's place: other choices, or what the question says verbatim."""
    others = [other.value for other in own if other is not leaf]
    if leaf.choices:
        yield from (one for one in leaf.choices[:12] if one != leaf.value and one not in others)
    elif isinstance(leaf.value, bool):
        yield not leaf.value
    elif isinstance(leaf.value, str):
        yield from _other_texts(task.asked, leaf.value, others)
    elif isinstance(leaf.value, int | float):
        if backwards(task.asked, leaf.name) or leaf.value < 0:
            yield -leaf.value
        if ground(task.asked, leaf) > Ground.SCHEMA:
            for text in (*wanted(task), *task.asked.mentions.ordinals):
                if not _holds(own, text):
                    yield from _as_type(leaf.schema, text)


def _other_texts(asked: Asked, value: str, others: Sequence[JSON]) -> Iterator[str]:
    """An answer as its tool spelled it or as the data does, and what else the question names."""
    for hop, answer in asked.mentions.answers:
        pair = (answer, asked.returned.get(hop, answer), spelled_in(asked.text, answer))
        if bare(value) in map(bare, pair):
            yield from (one for one in pair if one != value)
    taken = {name_words(as_text(other)) for other in others}
    cased = str.lower if value.islower() else str.upper if value.isupper() else str
    for name in asked.named:
        if name_words(name) not in taken:
            yield from (one for one in {name: 0, cased(name): 0} if one != value)


# -- discriminating ----------------------------------------------------------------------------


def repeated(task: Task, arguments: Arguments) -> Leaf | None:
    """The argument that is the gold, letter for letter; None where none is."""
    gold, number = _letters(task.asked.gold), plain_number(plain_text(task.asked.gold))
    for leaf in leaves(task.schema, arguments):
        if leaf.is_option:
            continue
        text = as_text(leaf.value)
        if gold and _letters(text) == gold:
            return leaf
        if number is not None and plain_number(plain_text(text)) == number:
            return leaf
    return None


def joined(task: Task, arguments: Arguments) -> bool:
    """Whether the gold is arguments put together that the sub-question does not all name."""
    gold = _letters(task.asked.gold)
    content = [leaf for leaf in leaves(task.schema, arguments) if not leaf.is_option]
    for first, last in itertools.combinations(range(len(content) + 1), 2):
        parts = [leaf for leaf in content[first:last] if _letters(as_text(leaf.value))]
        if len(parts) > 1 and "".join(_letters(as_text(leaf.value)) for leaf in parts) == gold:
            return any(ground(task.asked, leaf) is not Ground.SAID for leaf in parts)
    return False


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, bare(text)))


_CASES = frozenset({"case", "lowercase", "uppercase", "lower", "upper", "capital", "capitals"})


def follows(task: Task, leaf: Leaf, ran: Iterable[tuple[Arguments, Outcome]]) -> bool:
    """Whether a tool gives back whatever stands in a leaf's place, unasked."""
    if not _CASES.isdisjoint(words(task.asked.text)):
        return False
    followed = other = 0
    for arguments, outcome in ran:
        value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
        given = _at(dict(arguments), leaf.path)
        if given is not None and judge(as_text(given), value, {}) is not None:
            followed += 1
        elif _says_something(value):
            other += 1
    return other <= (1 - FOLLOWED) * (followed + other)


def nearly_constant(hits: Sequence[bool]) -> bool:
    """Whether other values give the same answer more often than not, or none can be tried."""
    return not hits or sum(hits) > HALF * len(hits)
