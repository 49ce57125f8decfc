"""Where an episode left its item's chain: the first divergence, and the later ones.

A pure function of the trace, the gold in it and, where given, the item with its certificate. Values
are compared with what was said and returned before; nothing reads English, and no judge is asked.
The kinds describe what happened. Whether a divergence is why the answer is wrong can only be said
after an intervention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from toolhop_env.benchmarks import named
from toolhop_env.benchmarks.heard import Heard, Source, misspelt
from toolhop_env.benchmarks.known import plain_words
from toolhop_env.benchmarks.results import gives, same, says, texts
from toolhop_env.chain import Chain, Divergence, Divergences, Kind, Step
from toolhop_env.feedback import result_value
from toolhop_env.questions import NO_ANSWERS, Answers
from toolhop_env.reading import tagged_answer
from toolhop_env.score import holds_answer
from toolhop_env.trace import Called, Ending, Trace
from toolhop_env.verdicts import BEFORE_RUNNING, Call, ErrorCode
from toolhop_sandbox.outcome import JSON, Raised, Returned
from toolhop_tools.answers import same_answer
from toolhop_tools.dates import whole_date
from toolhop_tools.leaves import leaves
from toolhop_tools.model import Item, canonical
from toolhop_tools.words import as_text, scalars

__all__ = ["Divergence", "Divergences", "Kind", "Step", "first_divergence", "next_step"]

OPTION = re.compile(r"[a-z][a-z_-]*")
"""A value that picks an option, such as ``birth_year``, is not made up."""


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
    places = [*_of_calls(read), *_of_end(read, trace.ended.ending)]
    if read.chain and not (places or read.chain.right or read.chain.defers):
        places = [Divergence(Kind.UNDECIDABLE, read.last, None, read.chain.given, None, "")]
    places.sort(key=lambda place: (place.turn, place.call is None, place.call or 0))
    return Divergences(tuple(places))


def next_step(trace: Trace, item: Item, turn: int) -> Step | None:
    """Return the first step that can be reached and whose result no call before `turn` gives."""
    read = _read(trace, item, NO_ANSWERS)
    return next((step for step in read.reachable if not read.done(step, turn)), None)


def _read(trace: Trace, item: Item | None, answers: Answers) -> _Read:
    chain = named(trace.started.benchmark).chain(trace, answers)
    if chain is not None and item is not None and len(item.hops) == len(chain.steps):
        steps = [
            replace(step, arguments=step.arguments or (hop.gold.arguments if hop.gold else None))
            for step, hop in zip(chain.steps, item.hops, strict=True)
        ]
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
        """The numbers of the steps whose results a call gives, by the call's index.

        A tool with a step of its own does not give another step the same result.
        """
        given = dict[int, Sequence[int]]()
        for n, call in self.tried:
            own = [step.answer for step in self.steps if step.tool == call.raw.name]
            steps = [s for s in self.steps if s.tool == call.raw.name or s.answer not in own]
            given[n] = [step.number for step in steps if gives(call, step)]
        return given

    @cached_property
    def reached(self) -> Mapping[int, int]:
        """The index of the first call that gives each step's result, by the step's number."""
        return {number: n for n, _ in self.tried[::-1] for number in self.gives[n]}

    def done(self, step: Step, turn: int) -> bool:
        """Whether a call before a turn gives the step's result."""
        at = self.reached.get(step.number)
        return at is not None and self.trace.calls[at].turn < turn

    def hands_on(self, call: Called, step: Step) -> bool:
        """Whether a call has the result that its tool gave before: it is for a later step."""
        if not self.done(step, call.turn) or all(self.done(s, call.turn) for s in self.reachable):
            return False
        gave = self.trace.calls[self.reached[step.number]]
        passed = [texts(_values(tried)) for tried in (gave, call)]
        then, now = [any(same_answer(step.answer, text) for text in each) for each in passed]
        return now and not then and {gave.raw.name, call.raw.name} == {step.tool}

    @cached_property
    def open(self) -> Sequence[Step]:
        """Reachable steps whose results no call gives, and no call has from the agent's head."""
        passed = [text for _, call in self.tried for text in texts(_values(call))]
        steps = [step for step in self.reachable if step.number not in self.reached]
        return [s for s in steps if not any(same_answer(s.answer, text) for text in passed)]

    @cached_property
    def sources(self) -> Sequence[Source]:
        """What was said to the agent, in order."""
        start = self.trace.started
        prompt = "\n".join([*(message.content for message in start.messages), start.question])
        return [Source(prompt), *map(_source, self.trace.calls)]

    def heard(self, call: Called) -> Heard:
        """What was said to the agent before the turn of a call."""
        return Heard([source for source in self.sources if source.turn < call.turn])

    def unsaid(self, call: Called) -> Iterator[tuple[tuple[str | int, ...], JSON]]:
        """Yield the values that nothing before a call says or gives, with their paths."""
        heard = self.heard(call)
        schema = self.chain.schemas.get(call.raw.name, {}) if self.chain else {}
        if self.item is not None and call.raw.name in self.item.all_tools:
            schema = self.item.all_tools[call.raw.name].schema.parameters
        for leaf in leaves(schema, _values(call)):
            text = as_text(leaf.value)
            option = leaf.choices or leaf.value == leaf.schema.get("default") or text in leaf.about
            if leaf.value is None or isinstance(leaf.value, bool) or option:
                continue
            if OPTION.fullmatch(text) or heard.holds(leaf.value) or heard.gives(leaf.value):
                continue
            if not heard.otherwise(text):
                yield leaf.path, leaf.value

    def used(self, call: Called) -> bool:
        """Whether a value that a call is the first to return is passed on to a right answer."""
        value = result_value(call.outcome) if isinstance(call.outcome, Returned) else None
        later = [texts(_values(other)) for _, other in self.tried if other.turn > call.turn]
        passed = {text for each in later for text in each if text in texts(value)}
        right = self.chain is not None and self.chain.right
        return right and not all(map(self.heard(call).holds, passed))

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
    return Source("\n".join([call.feedback, *texts(value)]), call.turn, value=value)


def _values(call: Called) -> dict[str, JSON]:
    """Return a call's arguments as accepted; none if it was not accepted."""
    return call.verdict.arguments if isinstance(call.verdict, Call) else {}


def _key(call: Called) -> str:
    try:
        return canonical([call.raw.name, _values(call) or call.raw.arguments])
    except RecursionError:
        return f"{call.raw.name} {call.raw.arguments}"


# -- values ------------------------------------------------------------------------------------


def _alike(value: str, wanted: str) -> bool:
    """Whether two values are the same but for their form: order, case, spaces, words, spelling."""
    ours, theirs = plain_words(value), plain_words(wanted)
    if not ours or not theirs:
        return False
    fewer, more = sorted(({*ours}, {*theirs}), key=len)
    near = "".join(ours) == "".join(theirs) or (fewer <= more and 2 * len(fewer) >= len(more))
    same_day = whole_date(value) is not None and whole_date(value) == whole_date(wanted)
    return near or same_day or bool(misspelt(value, [wanted]))


def _leaves(arguments: Mapping[str, JSON] | None) -> Mapping[tuple[str | int, ...], JSON]:
    """Return the scalars of a proven call by their paths; none without one."""
    return dict(scalars(dict(arguments or {})))


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
    # If no line of the tool ran, the call does not fit its signature, or the tool is down.
    unrun = call.outcome if isinstance(call.outcome, Raised) and not call.outcome.line else None
    if unrun and unrun.error == "TypeError":
        return Kind.MALFORMED_CALL, "", f"{name} does not start with these arguments."
    if call.error in BEFORE_RUNNING and call.error is not ErrorCode.NOT_APPROVED:
        path = "".join(problem.path for problem in getattr(call.verdict, "problems", ())[:1])
        return Kind.MALFORMED_CALL, path, f"{name} does not run: {call.error}. {path}".rstrip()
    if step is None:
        if not read.steps or read.gives[n]:
            return NONE
        why = f"No step of the item's chain has the tool {name}, and it gives no step's result."
        return Kind.WRONG_TOOL, name, why
    if unrun or (call.error and (step not in read.reachable or _key(call) in read.worked)):
        return NONE  # the tool fails, whatever the call
    if ahead := _guessed(read, call, step):
        why = f"{name} has {ahead!r} in the turn in which a step before it is called."
        return Kind.GUESSED_AHEAD, ahead, why
    if read.hands_on(call, step) and {*read.gives[n]} <= {step.number}:
        why = f"{name} has its own step's result, {step.answer!r}, and gives no later step's."
        return Kind.WRONG_VALUE, step.answer, why
    at = read.reached.get(step.number)
    extra = at is not None and (at < n or read.trace.calls[at].turn == call.turn)
    if read.gives[n] or (extra and call.error is None):
        return NONE
    proven = read.proven(step)
    if proven is not None and same(_values(call), dict(proven)):
        return NONE
    return _of_arguments(read, call, step, proven)


def _guessed(read: _Read, call: Called, step: Step) -> str:
    """Return the value that a call guesses in place of a result that is still to come."""
    now = {other.raw.name for _, other in read.tried if other.turn == call.turn} - {step.tool}
    earlier = (before for before in read.steps[: step.number - 1] if before.tool in now)
    awaited = [before.answer for before in earlier if not read.done(before, call.turn)]
    proven = _leaves(read.proven(step))
    for path, value in read.unsaid(call) if awaited else ():
        wanted = as_text(proven.get(path))
        if not proven or any(same_answer(answer, wanted) for answer in awaited):
            return as_text(value)
    return ""


def _of_arguments(
    read: _Read, call: Called, step: Step, proven: Mapping[str, JSON] | None
) -> _Said:
    """Say what is wrong with the arguments of a call that did not give its step's result."""
    wanted = _leaves(proven)
    for path, value in read.unsaid(call):
        name, text = ".".join(map(str, path)), as_text(value)
        if not _alike(text, as_text(wanted.get(path, ""))):
            return Kind.MADE_UP_VALUE, text, f"Nothing before the call says {name} = {text!r}."
    if proven is None:
        return _against_chain(read, call, step)
    whose = "the proven call" if step.arguments is not None else "the call that worked"
    pairs = [
        (".".join(map(str, path)), as_text(value), as_text(wanted.get(path, "")))
        for path, value in scalars(_values(call))
        if value is not None and value is not False and not same(value, wanted.get(path))
    ]
    if not pairs:
        return Kind.WRONG_VALUE, "", f"The call lacks an argument that {whose} has."
    # A value that differs matters most; one that the proven call does without, least.
    name, text, right = min(pairs, key=lambda pair: (not pair[2], _alike(*pair[1:])))
    evidence = f"{name} is {text!r}; {whose} has {repr(right) if right else 'none'}."
    return _compared(read, call, text, right), text, evidence


def _compared(read: _Read, call: Called, text: str, wanted: str) -> Kind:
    """Return how a value that was said before differs from the wanted one."""
    before = [other for _, other in read.tried if other.turn < call.turn]
    both = any(holds_answer(other, text) and holds_answer(other, wanted) for other in before)
    if both and not same_answer(text, wanted):
        return Kind.RESULT_MISREAD
    return Kind.WRONG_FORM if _alike(text, wanted) else Kind.WRONG_VALUE


def _against_chain(read: _Read, call: Called, step: Step) -> _Said:
    """Compare a call's values with the results that the chain hands on; no call is proven."""
    if read.used(call) and step.number not in read.reached:
        return NONE
    said, differs = texts(_values(call)), f"{call.raw.name} differs from the item's own chain"
    for text in said:
        if form := read.heard(call).otherwise(text):
            return Kind.WRONG_FORM, text, f"{differs}: it has {text!r} for {form!r}."
    handed = [earlier.answer for earlier in read.steps[: step.number - 1]][::-1]
    pairs = [(answer, text) for answer in handed for text in said]
    for answer, text in [] if any(same_answer(*pair) for pair in pairs) else pairs:
        kind = _compared(read, call, text, answer)
        if kind is not Kind.WRONG_VALUE:
            return kind, text, f"{differs}: it has {text!r} for {answer!r}."
    return Kind.WRONG_VALUE, "", f"{differs}: it does not return {step.answer!r}."


# -- the end -----------------------------------------------------------------------------------


def _of_end(read: _Read, ending: Ending) -> Iterator[Divergence]:
    def at(kind: Kind, value: str, evidence: str) -> Divergence:
        return Divergence(kind, read.last, None, value, None, evidence)

    chain = read.chain
    if ending.startswith("out_of_") or ending is Ending.CUT_IN_THOUGHT:
        yield at(Kind.OUT_OF_LIMIT, ending, f"The episode ends {ending.replace('_', ' ')}.")
    elif ending is Ending.MALFORMED_CALL:
        yield at(Kind.MALFORMED_CALL, "", "The last reply has a malformed call.")
    elif chain and chain.decision:
        yield chain.decision
    elif chain is None or chain.defers:
        return
    elif ending is Ending.GAVE_UP:
        yield at(Kind.STOPPED_EARLY, "", "The agent gives up.")
    elif read.trace.started.tools and not read.tried:
        yield at(Kind.ANSWERED_WITHOUT_CALLS, chain.given, "No tool is called.")
    elif not chain.right and read.open:
        yield from _of_open(read)
    elif not chain.right:
        says = f"No step is known to be wrong; answer {chain.given[:80]!r}, not {chain.answer!r}."
        yield at(_of_answer(read, chain), chain.given, says)


def _of_open(read: _Read) -> Iterator[Divergence]:
    """Yield the steps that the agent went past before a wrong answer."""
    for step in read.open:
        tries = [n for n, call in read.tried if call.raw.name == step.tool]
        later = {after.tool for after in read.steps[step.number :]}
        since = [(n, call) for n, call in read.tried if n > max(tries, default=-1)]
        call = next((n for n, call in since if call.raw.name in later), None)
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
    """Return what is wrong with an answer where no step is known to be wrong."""
    if says(chain.given, chain.answer) or _alike(chain.given, chain.answer):
        return Kind.ANSWER_FORM
    held = any(holds_answer(call, chain.given) for _, call in read.tried)
    return Kind.RESULT_MISREAD if held else Kind.WRONG_CONCLUSION
