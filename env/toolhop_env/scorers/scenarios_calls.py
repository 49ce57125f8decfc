"""Which calls of an episode are hallucinated, by schema, execution and where each value came from.

Five types, as RelyToolBench's paper has them but for the first two, which it takes together. A
finding is clean, hallucinated, or unknown: then only somebody who reads the call can tell. No
judge is asked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any

from toolhop_env.feedback import result_value
from toolhop_env.scorers.known import Known, Words, plain_words
from toolhop_env.scorers.said_numbers import is_of, numbers
from toolhop_env.trace import Called, Trace
from toolhop_env.verdicts import Call, ErrorCode, Rejected
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.dates import whole_date
from toolhop_tools.english import apart, beginnings
from toolhop_tools.leaves import Leaf, leaves
from toolhop_tools.model import canonical
from toolhop_tools.scenarios.label import Label
from toolhop_tools.words import as_text, runs, scalars, words


class Type(StrEnum):
    """What is made up, in the order in which a call is counted under one."""

    NAME = "name"
    """No tool on offer has the name."""
    RELEVANCE = "relevance"
    """The tool is of no use for the task."""
    TIMING = "timing"
    """The call was made before and gave the same, or it has what only a later hop gives."""
    FORMAT = "format"
    """The arguments are not as the schema says."""
    CONTENT = "content"
    """A value comes from nowhere."""


class Finding(StrEnum):
    """What is said of a call."""

    CLEAN = "clean"
    UNKNOWN = "unknown"
    HALLUCINATED = "hallucinated"


@dataclass(frozen=True, slots=True)
class Judged:
    """A call with what was found, and the doubts."""

    call: Called
    finding: Finding
    type: Type | None = None
    """Of what is hallucinated or in doubt; None for a clean call."""
    why: str = ""
    argument: str = ""
    """The path of the value that it is about; empty for none."""


@dataclass(frozen=True, slots=True)
class Task:
    """What the rules need of the item: its gold in a trace."""

    question: str
    hops: Sequence[tuple[str, str, str]]
    """By hop: tool, sub-question, answer."""
    tools: Mapping[str, Mapping[str, Any]]
    """By name: ``description`` and ``parameters``, of tools on offer and held back."""
    acts: frozenset[str]
    """Names of the tools that act on the episode."""
    label: Label
    unmatched: bool
    """No tool on offer is of use."""
    unsaid: Mapping[str, frozenset[Words]]
    """By tool: values of its proven calls, as words, that neither the question nor an earlier
    answer says: nobody can be asked to know them."""


def unsaid_in(
    question: str, answers: Sequence[str], arguments: Mapping[str, JSON]
) -> frozenset[Words]:
    """Values of a call, as words, that neither the question nor earlier answers say."""
    said = Known("\n".join([question, *answers]))
    texts = (as_text(value) for _, value in scalars(dict(arguments)))
    return frozenset(plain_words(text) for text in texts if not said.holds(text))


@dataclass(frozen=True)
class _Source:
    """Something that was said to the agent, from a turn on."""

    text: str
    turn: int = 0
    own: tuple[Words, ...] = ()
    """Values of the call that it answers: that they, or parts of them, come back says nothing of
    where they are from."""

    def echoes(self, value: Words) -> bool:
        """Whether a value, or what it is a part of, is the call's own."""
        return any(runs(value, one[:_MOST_WORDS]) for one in self.own)

    @cached_property
    def known(self) -> Known:
        return Known(self.text)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        return frozenset(numbers(self.text))


def judged_calls(trace: Trace, task: Task) -> list[Judged]:
    """What is found of each call of a tool, in order; actions of the episode are no such calls."""
    sources, found, before = [_Source(task.question)], list[Judged](), list[Called]()
    calls = trace.calls
    for call in calls:
        given: tuple[Words, ...] = ()
        if call.action is None and call.raw.name not in task.acts:
            found.append(_judged(call, before, calls, trace, task, sources))
            before.append(call)
            given = _given(call, task)
        sources.append(_Source(_said(call), call.turn, given))
    return found


def _given(call: Called, task: Task) -> tuple[Words, ...]:
    """A call's values as words; all that it has, where it was not accepted."""
    if isinstance(call.verdict, Call):
        texts = [as_text(value) for _, value in scalars(dict(call.verdict.arguments))]
    else:
        texts = [call.raw.arguments]
    if _unknown_name(call, task):
        texts.append(" ".join(apart(call.raw.name)))
    return tuple(map(plain_words, texts))


def _judged(
    call: Called,
    before: Sequence[Called],
    calls: Sequence[Called],
    trace: Trace,
    task: Task,
    sources: Sequence[_Source],
) -> Judged:
    """The first type that is hallucinated; else the first in doubt."""
    doubt = Judged(call, Finding.CLEAN)
    for one in _findings(call, before, calls, trace, task, sources):
        if one.finding is Finding.HALLUCINATED:
            return one
        if doubt.finding is Finding.CLEAN:
            doubt = one
    return doubt


def _findings(
    call: Called,
    before: Sequence[Called],
    calls: Sequence[Called],
    trace: Trace,
    task: Task,
    sources: Sequence[_Source],
) -> Iterator[Judged]:
    name, verdict = call.raw.name, call.verdict
    if _unknown_name(call, task):
        yield Judged(call, Finding.HALLUCINATED, Type.NAME, f"no tool on offer is called {name}")
        return
    if task.unmatched and name not in task.label.reserve:
        yield Judged(call, Finding.HALLUCINATED, Type.RELEVANCE, "no tool on offer is of use")
    elif (detour := _detour(call, calls, trace, task)) is not None:
        yield Judged(call, detour, Type.RELEVANCE, "no hop has the tool, and nothing uses it")
    if isinstance(verdict, Rejected):
        yield Judged(call, Finding.HALLUCINATED, Type.FORMAT, str(verdict.code))
        return
    if (again := _repeated(call, before)) is not None:
        yield Judged(call, again, Type.TIMING, "the same call gave the same")
    heard = [one for one in sources if one.turn < call.turn]
    yield from _of_values(call, verdict, task, heard)


def _unknown_name(call: Called, task: Task) -> bool:
    rejected = call.verdict.problems if isinstance(call.verdict, Rejected) else ()
    off = any(one.code is ErrorCode.UNKNOWN_TOOL for one in rejected)
    return off or call.raw.name not in task.tools


# -- relevance and timing ----------------------------------------------------------------------


def _detour(call: Called, calls: Sequence[Called], trace: Trace, task: Task) -> Finding | None:
    """A tool of no hop whose result nothing uses: hallucinated where its name shares no word with
    the task, else it may be a sensible detour.
    """
    name = call.raw.name
    if any(name == tool for tool, _, _ in task.hops) or call.error is not None:
        return None
    after = [one for one in calls if one.turn > call.turn]
    if _used(call, [one.raw.arguments for one in after], trace):
        return None
    asked = beginnings(words(" ".join([task.question, *(q for _, q, _ in task.hops)])))
    own = beginnings(apart(name))
    near = {word for tool, _, _ in task.hops for word in beginnings(apart(tool))}
    return Finding.UNKNOWN if own & (asked | near) else Finding.HALLUCINATED


def _used(call: Called, arguments: Iterable[str], trace: Trace) -> bool:
    """Whether a value of the result stands in later arguments or in a later text."""
    if not isinstance(call.outcome, Returned):
        return False
    texts = [one.reply.content for one in trace.replies if one.turn > call.turn]
    later = plain_words("\n".join([*arguments, *texts]))
    values = (as_text(leaf) for _, leaf in scalars(result_value(call.outcome)) if leaf is not None)
    return any(runs(plain_words(value), later) for value in values if value)


def _repeated(call: Called, before: Sequence[Called]) -> Finding | None:
    """The same call with the same result. What failed in running may be tried again."""
    key = _key(call)
    if not any(_key(one) == key and one.feedback == call.feedback for one in before):
        return None
    return Finding.HALLUCINATED if call.error is None else Finding.UNKNOWN


def _key(call: Called) -> str:
    arguments = call.verdict.arguments if isinstance(call.verdict, Call) else call.raw.arguments
    return canonical([call.raw.name, arguments])


# -- content -----------------------------------------------------------------------------------


def _of_values(
    call: Called, verdict: Call, task: Task, heard: Sequence[_Source]
) -> Iterator[Judged]:
    tool = task.tools[verdict.tool]
    schema = tool["parameters"]
    required = schema.get("required") or []
    for leaf in leaves(schema, verdict.arguments):
        if leaf.value is None or isinstance(leaf.value, bool) or as_text(leaf.value) == "":
            continue
        own = plain_words(as_text(leaf.value))
        known = _Heard([one for one in heard if not one.echoes(own)])
        if known.holds(leaf.value):
            continue
        found = _unsaid(leaf, leaf.path[0] in required, known, verdict.tool, tool, task)
        if found is not None:
            finding, kind = found
            name = ".".join(map(str, leaf.path))
            said = f"nothing before the call says {as_text(leaf.value)[:80]}"
            yield Judged(call, finding, kind, said, name)


def _unsaid(
    leaf: Leaf, required: bool, known: _Heard, name: str, tool: Mapping[str, Any], task: Task
) -> tuple[Finding, Type] | None:
    """What is found of a value that nobody said before the call; None where it is clean."""
    value, text = leaf.value, as_text(leaf.value)
    default = "default" in leaf.schema and value == leaf.schema["default"]
    if default:
        return None
    if _hidden(leaf, name, task):
        return Finding.HALLUCINATED, Type.CONTENT
    if value in leaf.choices or ("const" in leaf.schema and value == leaf.schema["const"]):
        return None
    if Known(f"{leaf.about}\n{tool['description']}").holds(text):
        return None
    if known.bounds_year(text):
        return Finding.UNKNOWN, Type.CONTENT
    if any(same_answer(answer, text) for _, _, answer in task.hops):
        return Finding.HALLUCINATED, Type.TIMING
    about = Known(f"{leaf.name} {leaf.about}")
    doubtful = known.nearly(text, about) if isinstance(value, str) else False
    doubtful = doubtful or plain_words(text) in task.unsaid.get(name, ())
    if not required:
        doubtful = doubtful or _is_choice(value)
    return (Finding.UNKNOWN if doubtful else Finding.HALLUCINATED), Type.CONTENT


def _hidden(leaf: Leaf, tool: str, task: Task) -> bool:
    """Whether the question hides the value: of this parameter, or the value itself elsewhere."""
    path = [str(step) for step in leaf.path if isinstance(step, str)]
    for one in task.label.hidden:
        own = [step for step in one.parameter.split(".") if not step.isdigit()]
        if task.hops[one.hop - 1][0] == tool and own == path:
            return True
        if same_answer(as_text(one.value), as_text(leaf.value)):
            return True
    return False


MOST_CHOSEN = 100
"""An optional number up to which it may be a choice, such as a page or a count of places."""


def _is_choice(value: JSON) -> bool:
    """Whether a value may say how to ask, and not about what: a word in small letters, or a small
    number.
    """
    if isinstance(value, int | float):
        return abs(value) <= MOST_CHOSEN
    return isinstance(value, str) and re.fullmatch(r"[a-z][a-z_-]*", value) is not None


class _Heard:
    """All that was said to the agent before a call."""

    def __init__(self, sources: Sequence[_Source]) -> None:
        self._sources = sources

    def holds(self, value: JSON) -> bool:
        """Whether a value was said: in these words, or in another notation, or as part of it."""
        text = as_text(value)
        if any(one.known.holds(text) for one in self._sources):
            return True
        number = plain_number(plain_text(text))
        if number is None and isinstance(value, float):
            number = Decimal(repr(value))
        if number is not None:
            return any(is_of(number, one.numbers) for one in self._sources)
        parts = [part for part in _LISTED.split(text) if part.strip()]
        if len(parts) > 1 and all(self.holds(part.strip()) for part in parts):
            return True
        return self._joined(text)

    def _joined(self, text: str) -> bool:
        """Whether it is words that were said one after the other, with other spaces."""
        own = "".join(plain_words(text))
        return len(own) >= _LEAST_JOINED and any(
            one.known.holds(own) or own in _joints(one.known.in_order[:_MOST_WORDS])
            for one in self._sources
        )

    def bounds_year(self, text: str) -> bool:
        """Whether it is the first or last day of a year that was said."""
        day = whole_date(text)
        if day is None or (day.month, day.day) not in ((1, 1), (12, 31)):
            return False
        return any(Decimal(day.year) in one.numbers for one in self._sources)

    def nearly(self, text: str, about: Known) -> bool:
        """Whether each telling word is another form of one that was said, or it is one letter.

        Beside a word that was said, its parameter's own words and initials are no others.
        """
        own = words(text)
        if len(text) == 1:
            return True
        every = [word for one in self._sources for word in one.known.in_order]
        said, initials = beginnings(every), {word[0] for word in every}
        forms = [
            (len(word) > 3 and not any(map(str.isdigit, word)) and word[:5] in said)
            or any(one.known.holds(word) for one in self._sources)
            for word in own
        ]
        return any(forms) and all(
            form or (about.holds(word) if len(word) > 1 else word in initials)
            for form, word in zip(forms, own, strict=True)
        )


_LISTED = re.compile(r"[,;|&+\n]|\s+(?:and|or)\s+|\s+-\s+")
_LEAST_JOINED = 6
_MOST_JOINED = 4
_MOST_WORDS = 2000
"""Words of a text that are looked at for that."""


def _joints(found: Sequence[str]) -> Iterator[str]:
    """Up to four words that follow one another, as one."""
    for size in range(2, _MOST_JOINED + 1):
        for at in range(len(found) - size + 1):
            yield "".join(found[at : at + size])


# -- texts -------------------------------------------------------------------------------------


def _said(call: Called) -> str:
    """What a call's answer said: the feedback, and the values of the result as plain texts."""
    if not isinstance(call.outcome, Returned):
        return call.feedback
    found = scalars(result_value(call.outcome))
    return "\n".join([call.feedback, *(as_text(leaf) for _, leaf in found if leaf is not None)])
