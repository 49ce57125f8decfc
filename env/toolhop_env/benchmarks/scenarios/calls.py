"""Which calls of an episode are hallucinated, by schema, execution and the origin of each value.

The five types are those of RelyToolBench's paper, which merges the first two. A finding is clean,
hallucinated, or unknown, in which case only a reader of the call can decide. No judge is asked
here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from toolhop_env.benchmarks.heard import CODE_LETTERS, Heard, Source, is_wording
from toolhop_env.benchmarks.known import Known, Words, plain_words
from toolhop_env.feedback import result_value
from toolhop_env.score import holds_answer
from toolhop_env.trace import Called, Trace
from toolhop_env.verdicts import BEFORE_RUNNING, Call, ErrorCode, Rejected
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.answers import same_answer
from toolhop_tools.english import apart
from toolhop_tools.leaves import Leaf, leaves
from toolhop_tools.model import EpisodeAction, canonical
from toolhop_tools.scenarios.label import Label
from toolhop_tools.words import as_text, runs, scalars


class Type(StrEnum):
    """Types of hallucination; a call counts under the first that applies."""

    NAME = "name"
    """No tool on offer has this name."""
    RELEVANCE = "relevance"
    """The tool is of no use for the task."""
    TIMING = "timing"
    """The call repeats one with the same result, or uses a value that only a later hop returns."""
    FORMAT = "format"
    """The arguments do not fit the schema."""
    CONTENT = "content"
    """A value has no source."""


class Finding(StrEnum):
    """Verdict on a call."""

    CLEAN = "clean"
    UNKNOWN = "unknown"
    HALLUCINATED = "hallucinated"


@dataclass(frozen=True, slots=True)
class Judged:
    """A call, the verdict on it, and the reason."""

    call: Called
    finding: Finding
    type: Type | None = None
    """Type of the hallucination or doubt; None for a clean call."""
    why: str = ""
    argument: str = ""
    """Path of the value in question; empty if none."""


@dataclass(frozen=True)
class Task:
    """What the rules need from an item, from its gold in a trace."""

    question: str
    hops: Sequence[tuple[str, str, str]]
    """Tool, sub-question and answer of each hop."""
    tools: Mapping[str, Mapping[str, Any]]
    """Tools on offer or held back, by name: ``description`` and ``parameters``; ``unread`` lists
    the parameters for which any value will do."""
    acts: frozenset[str]
    """Names of the tools that act on the episode."""
    label: Label
    unmatched: bool
    """Whether no tool on offer is of use."""
    hazard: bool
    """Whether a tool may fail or return something wrong."""
    arguments: Sequence[Mapping[str, JSON]]
    """Arguments of the hops' proven calls; empty where unknown."""
    unsaid: Mapping[str, frozenset[Words]]
    """Values of each tool's proven calls, as words, that neither the question nor an earlier
    answer mentions, so that nobody can be expected to know them."""

    @cached_property
    def answers(self) -> list[str]:
        """The hops' answers, with the items of answers that are lists."""
        found = [answer for _, _, answer in self.hops]
        for answer in [*found]:
            try:
                value: JSON = json.loads(answer)
            except (ValueError, RecursionError):
                continue
            found += [as_text(part) for path, part in scalars(value) if path]
        return found


def unsaid_in(
    question: str, answers: Sequence[str], arguments: Mapping[str, JSON]
) -> frozenset[Words]:
    """Return the words of a call's values that neither question nor answers mention."""
    said = Known("\n".join([question, *answers]))
    texts = (as_text(value) for _, value in scalars(dict(arguments)))
    return frozenset(plain_words(text) for text in texts if not said.holds(text))


def judged_calls(trace: Trace, task: Task) -> list[Judged]:
    """Return the verdict on each tool call, in order; actions on the episode are not tool calls."""
    sources, found, before = [Source(task.question)], list[Judged](), list[Called]()
    calls = trace.calls
    for call in calls:
        if call.action is None and call.raw.name not in task.acts:
            found.append(_judged(call, before, calls, trace, task, sources))
            before.append(call)
        elif call.action is EpisodeAction.CHANGE_TOOLS:
            continue  # it returns documents, which are no source of values
        sources.append(_source(call, task))
    return found


def _source(call: Called, task: Task) -> Source:
    """Return what a call's answer said: the feedback, and the values of the result as plain texts.

    A value that the agent itself suggests to the user does not become known that way, unless the
    user was meant to be asked for it.
    """
    own = _given(call, task)
    if call.action is EpisodeAction.ASK_USER:
        hidden = [plain_words(as_text(one.value)) for one in task.label.hidden]
        own = tuple(text for text in own if not any(runs(one, text) for one in hidden))
    if not isinstance(call.outcome, Returned):
        return Source(call.feedback, call.turn, own)
    value = result_value(call.outcome)
    texts = [as_text(leaf) for _, leaf in scalars(value) if leaf is not None]
    return Source("\n".join([call.feedback, *texts]), call.turn, own, value)


def _given(call: Called, task: Task) -> tuple[Words, ...]:
    """Return a call's values as words; the raw arguments if the call was not accepted."""
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
    sources: Sequence[Source],
) -> Judged:
    """Return the first hallucination found, else the first doubt, else clean."""
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
    sources: Sequence[Source],
) -> Iterator[Judged]:
    name, verdict = call.raw.name, call.verdict
    if _unknown_name(call, task):
        yield Judged(call, Finding.HALLUCINATED, Type.NAME, f"no tool on offer is called {name}")
        return
    if task.unmatched and name not in task.label.reserve:
        yield Judged(call, Finding.HALLUCINATED, Type.RELEVANCE, "no tool on offer is of use")
    elif _detour(call, calls, trace, task):
        why = "no hop has the tool, and nothing uses it"
        yield Judged(call, Finding.UNKNOWN, Type.RELEVANCE, why)
    if isinstance(verdict, Rejected):
        yield Judged(call, Finding.HALLUCINATED, Type.FORMAT, str(verdict.code))
        return
    if (again := _repeated(call, before, task)) is not None:
        yield Judged(call, again, Type.TIMING, "the same call gave the same")
    heard = [one for one in sources if one.turn < call.turn]
    yield from _of_values(call, verdict, before, task, heard)


def _unknown_name(call: Called, task: Task) -> bool:
    rejected = call.verdict.problems if isinstance(call.verdict, Rejected) else ()
    off = any(one.code is ErrorCode.UNKNOWN_TOOL for one in rejected)
    return off or call.raw.name not in task.tools


# -- relevance and timing ----------------------------------------------------------------------


def _detour(call: Called, calls: Sequence[Called], trace: Trace, task: Task) -> bool:
    """Whether a successful call uses a tool that no hop needs, and its result is never used."""
    if any(call.raw.name == tool for tool, _, _ in task.hops) or call.error is not None:
        return False
    after = [one for one in calls if one.turn > call.turn]
    return not _used(call, [one.raw.arguments for one in after], trace)


def _used(call: Called, arguments: Iterable[str], trace: Trace) -> bool:
    """Whether a value of the result occurs in later arguments or in a later text."""
    if not isinstance(call.outcome, Returned):
        return False
    texts = [one.reply.content for one in trace.replies if one.turn > call.turn]
    later = plain_words("\n".join([*arguments, *texts]))
    values = (as_text(leaf) for _, leaf in scalars(result_value(call.outcome)) if leaf is not None)
    return any(runs(plain_words(value), later) for value in values if value)


def _repeated(call: Called, before: Sequence[Called], task: Task) -> Finding | None:
    """Judge a repeated call with the same result; None if it is not one.

    A call that failed while running may be retried, and a result may be checked if a tool may be
    wrong.
    """
    key = _key(call)
    if not any(_key(one) == key and one.feedback == call.feedback for one in before):
        return None
    if call.error is not None and call.error not in BEFORE_RUNNING:
        return None
    return Finding.UNKNOWN if task.hazard else Finding.HALLUCINATED


def _key(call: Called) -> str:
    arguments = call.verdict.arguments if isinstance(call.verdict, Call) else call.raw.arguments
    return canonical([call.raw.name, arguments])


# -- content -----------------------------------------------------------------------------------


def _of_values(
    call: Called, verdict: Call, before: Sequence[Called], task: Task, sources: Sequence[Source]
) -> Iterator[Judged]:
    tool = task.tools[verdict.tool]
    schema = tool["parameters"]
    required, unread = schema.get("required") or [], tool.get("unread") or []
    solved = _solves(call, task)
    again = any(one.raw.name == verdict.tool and not _solves(one, task) for one in before)
    for leaf in leaves(schema, verdict.arguments):
        text = as_text(leaf.value)
        if leaf.value is None or isinstance(leaf.value, bool) or not text:
            continue
        if leaf.path[0] in unread:
            continue
        heard = Heard([one for one in sources if not one.echoes(plain_words(text))])
        if heard.holds(leaf.value):
            continue
        value = _Unsaid(leaf, leaf.path[0] in required, verdict.tool, tool["description"])
        right = (
            solved and value.required and len(leaf.path) == 1
        )  # a single list item may not matter
        found = _unsaid(value, heard, task, likely=right or again)
        if found is not None:
            finding, kind = found
            name = ".".join(map(str, leaf.path))
            yield Judged(call, finding, kind, f"nothing before the call says {text[:80]}", name)


def _solves(call: Called, task: Task) -> bool:
    """Whether a call returned the answer of a hop that uses its tool."""
    return any(name == call.raw.name and holds_answer(call, one) for name, _, one in task.hops)


@dataclass(frozen=True, slots=True)
class _Unsaid:
    """A value that nothing before the call mentions."""

    leaf: Leaf
    required: bool
    tool: str
    about_tool: str

    @property
    def text(self) -> str:
        return as_text(self.leaf.value)

    @property
    def document(self) -> str:
        return f"{as_text(dict(self.leaf.schema))}\n{self.about_tool}"

    @property
    def copied(self) -> bool:
        """Whether the tool's document mentions the value, as an example or a default."""
        return Known(self.document).holds(self.text)


def _numbered(value: _Unsaid, heard: Heard) -> bool:
    """Whether a value is a code, such as ``M31``, that joins a number mentioned before to a prefix
    from the tool's document; a code that the document shows in full does not count.
    """
    code = re.fullmatch(r"([^\W\d_]+[- ]?)(\d+)", value.text)
    shown = code and re.search(rf"(?<!\w){re.escape(code[1])}\d", value.document)
    return bool(code and shown and heard.holds(code[2])) and not value.copied


def _unsaid(
    value: _Unsaid, heard: Heard, task: Task, *, likely: bool
) -> tuple[Finding, Type] | None:
    """Return the verdict on a value that nothing mentions; None if it is clean.

    Words are in doubt if they are `likely`: the call returned a hop's answer, so they are right, or
    an earlier call of the tool returned none, so the agent may try another name.
    """
    leaf, text = value.leaf, value.text
    if not value.required and "default" in leaf.schema and leaf.value == leaf.schema["default"]:
        return None  # the call is the same without it
    if _hidden(leaf, value.tool, task, heard):
        return Finding.HALLUCINATED, Type.CONTENT
    if leaf.value in leaf.choices or leaf.value == leaf.schema.get("const", ...):
        return None
    own = plain_words(text)
    if any(
        same_answer(answer, text) or (is_wording(text) and runs(own, plain_words(answer)))
        for answer in task.answers
    ):
        return Finding.UNKNOWN, Type.TIMING
    if own in task.unsaid.get(value.tool, ()):
        return Finding.UNKNOWN, Type.CONTENT
    chosen = re.fullmatch(r"[a-z][a-z_-]*", text) or isinstance(leaf.value, int | float)
    if not value.required and (chosen or (is_wording(text) and not value.copied)):
        return Finding.UNKNOWN, Type.CONTENT
    if heard.gives(leaf.value):
        return Finding.UNKNOWN, Type.CONTENT
    if value.copied and len(text) > CODE_LETTERS:
        return Finding.HALLUCINATED, Type.CONTENT
    about = Known(f"{leaf.name} {leaf.about}")
    if heard.may_be_known(leaf.value, about) or _numbered(value, heard):
        return Finding.UNKNOWN, Type.CONTENT
    doubtful = likely and is_wording(text) and not _lost(leaf, value.tool, task)
    return (Finding.UNKNOWN if doubtful else Finding.HALLUCINATED), Type.CONTENT


def _lost(leaf: Leaf, tool: str, task: Task) -> bool:
    """Whether the proven call has a lost hop's answer where this call has the value."""
    lost = [task.hops[number - 1][2] for number in task.label.lost if not task.label.hidden]
    return any(
        same_answer(answer, as_text(given))
        for (name, _, _), arguments in zip(task.hops, task.arguments, strict=True)
        if name == tool
        for path, given in scalars(dict(arguments))
        if path == leaf.path
        for answer in lost
    )


def _hidden(leaf: Leaf, tool: str, task: Task, heard: Heard) -> bool:
    """Whether the question hides this parameter or value, and the user has not mentioned the
    value or another form of it.
    """
    path = [str(step) for step in leaf.path if isinstance(step, str)]
    for one in task.label.hidden:
        if heard.holds(one.value):
            continue
        own = [step for step in one.parameter.split(".") if not step.isdigit()]
        if task.hops[one.hop - 1][0] == tool and own == path:
            return True
        if same_answer(as_text(one.value), as_text(leaf.value)):
            return True
    return False
