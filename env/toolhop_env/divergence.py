"""Where an episode left its item's chain: the first divergence, and the later ones.

A pure function of the trace, the gold in it and, where given, the item with its certificate. Values
are compared with what was said and returned before; nothing reads English, and no judge is asked.
The kinds describe what happened. Whether a divergence is why the answer is wrong can only be said
after an intervention.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from toolhop_env.benchmarks import named
from toolhop_env.benchmarks.heard import Heard, Source
from toolhop_env.benchmarks.known import plain_words
from toolhop_env.chain import Chain, Divergence, Divergences, Kind, Step
from toolhop_env.feedback import result_value
from toolhop_env.questions import NO_ANSWERS, Answers
from toolhop_env.reading import tagged_answer
from toolhop_env.score import holds_answer, holds_at
from toolhop_env.trace import Called, Ending, Trace
from toolhop_env.verdicts import BEFORE_RUNNING, Call, ErrorCode
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.answers import same_answer
from toolhop_tools.dates import whole_date
from toolhop_tools.leaves import leaves
from toolhop_tools.model import Flaky, Item, canonical
from toolhop_tools.words import as_text, runs, scalars

__all__ = ["Divergence", "Divergences", "Kind", "Step", "first_divergence", "next_step"]

OPTION = re.compile(r"[a-z][a-z_-]*")
"""A value that picks an option, such as ``birth_year``, is not made up."""
LEAST_TELLING = 3
"""Characters from which an answer in a longer text, or in another tool's result, is no accident."""
LIMITS = frozenset({
    Ending.OUT_OF_TURNS, Ending.OUT_OF_CALLS, Ending.OUT_OF_TOKENS, Ending.OUT_OF_TIME,
    Ending.OUT_OF_COST, Ending.OUT_OF_CONTEXT, Ending.CUT_IN_THOUGHT,
})  # fmt: skip


def first_divergence(
    trace: Trace, item: Item | None = None, answers: Answers = NO_ANSWERS
) -> Divergences:
    """Return where an episode left its item's chain; nothing if it has not ended, or errored.

    Args:
        trace: the trace of an episode.
        item: the item as it was played. Its certificate gives the arguments of the proven calls,
            its schemas the values that a tool offers; without it the trace's gold decides alone.
        answers: the judge's answers to the benchmark's questions, by id.

    Raises:
        UnknownBenchmark: the trace's benchmark is not installed here.
        BenchmarkFault: the gold of the trace has another form.
    """
    if trace.ended is None or trace.ended.ending in (Ending.ERRORED, Ending.STOPPED):
        return Divergences()
    read = _read(trace, item, answers)
    found = [*_of_calls(read), *_of_end(read, trace.ended.ending)]
    if read.chain and not (found or read.chain.right or read.chain.defers):
        found = [Divergence(Kind.UNDECIDABLE, read.last, None, read.chain.given, None, "")]
    in_time = sorted(found, key=lambda one: (one.turn, one.call is None, one.call or 0))
    return Divergences(tuple(in_time))


def next_step(trace: Trace, item: Item, turn: int) -> Step | None:
    """Return the first step that can be reached and whose result no call before `turn` gives."""
    read = _read(trace, item, NO_ANSWERS)
    return next((step for step in read.reachable if not read.done(step, turn)), None)


def _read(trace: Trace, item: Item | None, answers: Answers) -> _Read:
    chain = named(trace.started.benchmark).chain(trace, answers)
    if chain is not None and item is not None and len(item.hops) == len(chain.steps):
        golds = [hop.gold.arguments if hop.gold else None for hop in item.hops]
        steps = (
            replace(step, arguments=step.arguments or gold)
            for step, gold in zip(chain.steps, golds, strict=True)
        )
        chain = replace(chain, steps=tuple(steps))
    return _Read(trace, item, chain)


@dataclass(frozen=True)
class _Read:
    """A trace with what the rules need to know of it."""

    trace: Trace
    item: Item | None
    chain: Chain | None
    """None if the benchmark's gold is no chain: then only failed calls and limits are known."""

    @property
    def last(self) -> int:
        """The last turn."""
        return len(self.trace.replies)

    @property
    def steps(self) -> Sequence[Step]:
        return self.chain.steps if self.chain else ()

    @property
    def reachable(self) -> Sequence[Step]:
        return self.steps[: self.chain.reachable] if self.chain else ()

    @cached_property
    def tried(self) -> list[tuple[int, Called]]:
        """Tool calls with their indices, without actions on the episode."""
        acts = self.chain.acts if self.chain else ()
        calls = enumerate(self.trace.calls)
        return [(n, c) for n, c in calls if c.action is None and c.raw.name not in acts]

    @cached_property
    def worked(self) -> frozenset[str]:
        """Keys of the calls that succeeded at some time."""
        return frozenset(_key(call) for _, call in self.tried if call.error is None)

    @cached_property
    def gives(self) -> Mapping[int, Sequence[int]]:
        """The numbers of the steps whose results a call gives, by the call's index."""
        return {n: [s.number for s in self.steps if _gives(call, s)] for n, call in self.tried}

    @cached_property
    def reached(self) -> Mapping[int, int]:
        """The index of the first call that gives each step's result, by the step's number."""
        return {number: n for n, _ in self.tried[::-1] for number in self.gives[n]}

    def done(self, step: Step, turn: int) -> bool:
        """Whether a call before a turn gives the step's result."""
        at = self.reached.get(step.number)
        return at is not None and self.trace.calls[at].turn < turn

    @cached_property
    def open(self) -> Sequence[Step]:
        """Reachable steps whose results no call gives, and no call has from the agent's head."""
        passed = [as_text(value) for _, call in self.tried for _, value in scalars(_values(call))]
        return [
            step
            for step in self.reachable
            if step.number not in self.reached
            and not any(same_answer(step.answer, value) for value in passed)
        ]

    @cached_property
    def sources(self) -> Sequence[Source]:
        """What was said to the agent, in order."""
        start = self.trace.started
        prompt = "\n".join([*(message.content for message in start.messages), start.question])
        return [Source(prompt), *map(_source, self.trace.calls)]

    def unsaid(self, call: Called) -> Iterator[tuple[tuple[str | int, ...], JSON]]:
        """Yield the values that nothing before a call says or gives, with their paths."""
        heard = Heard([one for one in self.sources if one.turn < call.turn])
        schema = self.chain.schemas.get(call.raw.name, {}) if self.chain else {}
        if self.item is not None and call.raw.name in self.item.all_tools:
            schema = self.item.all_tools[call.raw.name].schema.parameters
        for leaf in leaves(schema, _values(call)):
            text = as_text(leaf.value)
            offered = leaf.choices or leaf.value == leaf.schema.get("default") or text in leaf.about
            if leaf.value is None or isinstance(leaf.value, bool) or offered:
                continue
            if OPTION.fullmatch(text) or heard.holds(leaf.value) or heard.gives(leaf.value):
                continue
            yield leaf.path, leaf.value

    def breaks(self, call: Called) -> bool:
        """Whether a call failed because its tool fails at first, whatever the call."""
        tool = self.item.all_tools.get(call.raw.name) if self.item else None
        return call.error is ErrorCode.RAISED and tool is not None and isinstance(tool.body, Flaky)

    def proven(self, step: Step) -> Mapping[str, JSON] | None:
        """Arguments that give a step's result: the certificate's, else those of a later call."""
        at = self.reached.get(step.number)
        if step.arguments is not None or at is None:
            return step.arguments
        call = self.trace.calls[at]
        return _values(call) if call.raw.name == step.tool else None


def _source(call: Called) -> Source:
    if not isinstance(call.outcome, Returned):
        return Source(call.feedback, call.turn)
    value = result_value(call.outcome)
    return Source("\n".join([call.feedback, *_texts(value)]), call.turn, value=value)


def _texts(value: JSON) -> list[str]:
    return [as_text(leaf) for _, leaf in scalars(value) if leaf is not None]


def _values(call: Called) -> dict[str, JSON]:
    """Return a call's arguments as accepted; none if it was not accepted."""
    return call.verdict.arguments if isinstance(call.verdict, Call) else {}


def _key(call: Called) -> str:
    return canonical([call.raw.name, _values(call) or call.raw.arguments])


# -- values ------------------------------------------------------------------------------------


def _gives(call: Called, step: Step) -> bool:
    """Whether a call gives a step's result, in any form, or is the proven call."""
    if call.error is not None or not isinstance(call.outcome, Returned):
        return False
    if call.raw.name != step.tool:
        return len(step.answer) >= LEAST_TELLING and holds_answer(call, step.answer)
    if step.arguments and _same(_values(call), dict(step.arguments)):
        return True
    if holds_answer(call, step.answer) or holds_at(call, step.answer, step.place):
        return True
    texts = _texts(result_value(call.outcome)) if len(step.answer) >= LEAST_TELLING else []
    return any(_says(text, step.answer) for text in texts)


def _says(text: str, answer: str) -> bool:
    """Whether a text has an answer's words in a row, or is the same date."""
    day = whole_date(answer)
    same_day = day is not None and day == whole_date(text)
    return same_day or bool(runs(plain_words(answer), plain_words(text)))


def _alike(value: str, wanted: str) -> bool:
    """Whether two values are the same but for their form: order, case, spaces, words."""
    ours, theirs = plain_words(value), plain_words(wanted)
    if not ours or not theirs:
        return False
    fewer, more = sorted(({*ours}, {*theirs}), key=len)
    near = "".join(ours) == "".join(theirs) or (fewer <= more and 2 * len(fewer) >= len(more))
    part = len(value) >= LEAST_TELLING and _says(wanted, value)
    return near or part or _says(value, wanted)


def _same(value: JSON, other: JSON) -> bool:
    return canonical(value) == canonical(other)


def _at(arguments: Mapping[str, JSON], path: Sequence[str | int]) -> JSON:
    """Return the value at a path, or None; an object or a list as JSON text."""
    held: JSON = dict(arguments)
    for part in path:
        if isinstance(held, dict):
            held = held.get(str(part))
        else:
            fits = isinstance(held, list) and isinstance(part, int) and part < len(held)
            held = held[part] if fits else None  # type: ignore[index]
    return json.dumps(held, ensure_ascii=False) if isinstance(held, dict | list) else held


def _text_at(arguments: Mapping[str, JSON], path: Sequence[str | int]) -> str:
    found = _at(arguments, path)
    return "" if found is None else as_text(found)


# -- calls -------------------------------------------------------------------------------------


def _of_calls(read: _Read) -> Iterator[Divergence]:
    failed: set[str] = set()
    for n, call in read.tried:
        step = _step_of(read, n, call)
        kind, value, why = _of_call(read, n, call, step, again=_key(call) in failed)
        if call.error is not None:
            failed.add(_key(call))
        if kind is not None:
            again = read.reached.get(step.number, n) if step else n
            good = read.trace.calls[again].turn if again > n else None
            yield Divergence(kind, call.turn, n, value, step, why, good)


def _step_of(read: _Read, n: int, call: Called) -> Step | None:
    """Return the step that a call is for: one that it gives, else the next open one of its tool."""
    own = [step for step in read.steps if step.tool == call.raw.name]
    given = [step for step in own if step.number in read.gives[n]]
    still = [step for step in own if read.reached.get(step.number, n + 1) > n]
    return next(iter([*given, *still, *own]), None)


_Said = tuple[Kind | None, str, str]
"""Kind, value and evidence of a divergence; no kind if a call is none."""
NONE: _Said = (None, "", "")


def _of_call(read: _Read, n: int, call: Called, step: Step | None, *, again: bool) -> _Said:
    name = call.raw.name
    if call.error and again and _key(call) not in read.worked:
        return Kind.FAILED_CALL_REPEATED, name, f"{name} fails again with the same arguments."
    if call.error is ErrorCode.UNKNOWN_TOOL:
        return Kind.WRONG_TOOL, name, f"No tool on offer is called {name}."
    if call.error in BEFORE_RUNNING and call.error is not ErrorCode.NOT_APPROVED:
        where = getattr(call.verdict, "problems", ())[:1]
        path = where[0].path if where else ""
        at = f" at {path}" if path else ""
        return Kind.MALFORMED_CALL, path, f"The call of {name} does not run: {call.error}{at}."
    if step is None:
        if not read.steps or read.gives[n]:
            return NONE
        why = f"No step of the item's chain has the tool {name}, and it gives no step's result."
        return Kind.WRONG_TOOL, name, why
    if read.breaks(call) or (call.error and step not in read.reachable):
        return NONE  # the tool fails, whatever the call
    if ahead := _guessed(read, call, step):
        why = f"{name} has {ahead!r} in the turn in which a step before it is called."
        return Kind.GUESSED_AHEAD, ahead, why
    if read.gives[n] or _extra(read, n, call, step):
        return NONE
    proven = read.proven(step)
    if proven is not None and _same(_values(call), dict(proven)):
        return NONE
    return _of_arguments(read, call, step, proven)


def _extra(read: _Read, n: int, call: Called, step: Step) -> bool:
    """Whether a successful call's step is done before it, or by another call of its turn."""
    at = read.reached.get(step.number)
    before = at is not None and (at < n or read.trace.calls[at].turn == call.turn)
    return call.error is None and before


def _guessed(read: _Read, call: Called, step: Step) -> str:
    """Return the value that a call guesses in place of a result that is still to come."""
    now = {other.raw.name for _, other in read.tried if other.turn == call.turn} - {step.tool}
    earlier = (one for one in read.steps if one.number < step.number and one.tool in now)
    awaited = [one.answer for one in earlier if not read.done(one, call.turn)]
    proven = read.proven(step)
    for path, value in read.unsaid(call) if awaited else ():
        wanted = as_text(_at(proven, path)) if proven else ""
        if proven is None or any(same_answer(answer, wanted) for answer in awaited):
            return as_text(value)
    return ""


def _of_arguments(
    read: _Read, call: Called, step: Step, proven: Mapping[str, JSON] | None
) -> _Said:
    """Say what is wrong with the arguments of a call that did not give its step's result."""
    for path, value in read.unsaid(call):
        name, text = ".".join(map(str, path)), as_text(value)
        wanted = _at(proven, path) if proven else None
        if not _same(value, wanted) and not _alike(text, as_text(wanted)):
            return Kind.MADE_UP_VALUE, text, f"Nothing before the call says {name} = {text!r}."
    if proven is None:
        return _against_chain(read, call, step)
    whose = "the proven call" if step.arguments is not None else "the call that worked"
    pairs = [
        (".".join(map(str, path)), as_text(value), _text_at(proven, path))
        for path, value in scalars(_values(call))
        if not _same(value, _at(proven, path)) and value not in (None, False)
    ]
    pairs.sort(key=lambda pair: _alike(*pair[1:]))
    for name, text, wanted in pairs:
        says = f"{name} is {text!r}; {whose} has {repr(wanted) if wanted else 'none'}."
        return _compared(read, call, text, wanted), text, says
    return Kind.WRONG_VALUE, "", f"The call lacks an argument that {whose} has."


def _compared(read: _Read, call: Called, text: str, wanted: str) -> Kind:
    """Return how a value that was said before differs from the wanted one."""
    if _alike(text, wanted):
        return Kind.WRONG_FORM
    before = [one for _, one in read.tried if one.turn < call.turn]
    misread = any(holds_answer(one, text) and holds_answer(one, wanted) for one in before)
    return Kind.RESULT_MISREAD if misread else Kind.WRONG_VALUE


def _against_chain(read: _Read, call: Called, step: Step) -> _Said:
    """Compare a call's values with the results that the chain hands on; no call is proven."""
    texts = _texts(_values(call))
    handed = [one.answer for one in read.steps[: step.number - 1]][::-1]
    differs = f"{call.raw.name} differs from the item's own chain"
    if not handed or any(same_answer(answer, text) for answer in handed for text in texts):
        return NONE  # nothing shows what would have worked
    for answer, text in ((answer, text) for answer in handed for text in texts):
        kind = _compared(read, call, text, answer)
        if kind is not Kind.WRONG_VALUE:
            return kind, text, f"{differs}: it has {text!r} for {answer!r}."
    return Kind.WRONG_VALUE, "", f"{differs}: it does not return {step.answer!r}."


# -- the end -----------------------------------------------------------------------------------


def _of_end(read: _Read, ending: Ending) -> Iterator[Divergence]:
    def at(kind: Kind, value: str, evidence: str) -> Divergence:
        return Divergence(kind, read.last, None, value, None, evidence)

    chain = read.chain
    if ending in LIMITS:
        yield at(Kind.OUT_OF_LIMIT, ending, f"The episode ends {ending.replace('_', ' ')}.")
    elif ending is Ending.MALFORMED_CALL:
        yield at(Kind.MALFORMED_CALL, "", "The last reply has a malformed call.")
    elif chain is None or chain.defers:
        if chain and chain.decision:
            yield chain.decision
    elif chain.decision:
        yield chain.decision
    elif ending is Ending.GAVE_UP:
        yield at(Kind.STOPPED_EARLY, "", "The agent gives up.")
    elif read.trace.started.tools and not read.tried:
        yield at(Kind.ANSWERED_WITHOUT_CALLS, chain.given, "No tool is called.")
    elif not chain.right and read.open:
        yield from _of_open(read)
    elif not chain.right:
        says = f"Every step is right; the answer is {chain.given[:80]!r}, not {chain.answer!r}."
        yield at(_of_answer(read, chain), chain.given, says)


def _of_open(read: _Read) -> Iterator[Divergence]:
    """Yield the steps that the agent went past before a wrong answer."""
    for step in read.open:
        tries = [n for n, call in read.tried if call.raw.name == step.tool]
        later = {one.tool for one in read.steps[step.number :]}
        after = [n for n, call in read.tried if n > max(tries, default=-1)]
        call = next((n for n in after if read.trace.calls[n].raw.name in later), None)
        turn = read.last if call is None else read.trace.calls[call].turn
        if tries:
            kind, why = Kind.LOST_STEP, f"{step.tool} does not return {step.answer!r}"
        elif call is not None or tagged_answer(read.trace.final_text or ""):
            kind, why = Kind.NEVER_CALLED, f"{step.tool} is never called"
        else:
            why = f"The episode ends before {step.tool} is called."
            yield Divergence(Kind.STOPPED_EARLY, turn, None, step.answer, step, why)
            return
        yield Divergence(kind, turn, call, step.answer, step, f"{why}; the agent goes on.")


def _of_answer(read: _Read, chain: Chain) -> Kind:
    """Return what is wrong with an answer after every step is right."""
    if _alike(chain.given, chain.answer):
        return Kind.ANSWER_FORM
    held = any(holds_answer(call, chain.given) for _, call in read.tried)
    return Kind.RESULT_MISREAD if held else Kind.WRONG_CONCLUSION
