"""Where an episode left its item's chain: the first divergence, and the later ones.

A pure function of the trace, the gold in it and, where given, the item with its certificate. Values
are compared with what was said and returned before; nothing reads English, and no judge is asked.
The kinds describe what happened. That a divergence is why the answer is wrong can only be said
after an intervention.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from toolhop_env.benchmarks.known import plain_words
from toolhop_env.benchmarks.scenarios.heard import Heard, Source
from toolhop_env.benchmarks.scenarios.played import Played
from toolhop_env.benchmarks.toolhop.answers import official, strict
from toolhop_env.benchmarks.toolhop.scorer import at_place, given
from toolhop_env.feedback import result_value
from toolhop_env.reading import tagged_answer
from toolhop_env.score import holds_answer
from toolhop_env.trace import Called, Ending, Trace
from toolhop_env.verdicts import BEFORE_RUNNING, Call, ErrorCode
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.answers import same_answer
from toolhop_tools.dates import whole_date
from toolhop_tools.leaves import leaves
from toolhop_tools.model import Flaky, Item, canonical
from toolhop_tools.reading import Reading, reading_from_json
from toolhop_tools.scenarios.label import FIELD
from toolhop_tools.words import as_text, runs, scalars

OPTION = re.compile(r"[a-z][a-z_-]*")
"""A value that picks an option, such as ``birth_year``, is not made up."""
LEAST_TELLING = 3
"""Letters from which an answer inside another tool's result, or a longer text, is no accident."""


class Kind(StrEnum):
    """How an episode leaves its chain; a call takes the first kind that fits."""

    MALFORMED_CALL = "malformed_call"
    """The call did not run because of how it is written."""
    FAILED_CALL_REPEATED = "failed_call_repeated"
    """The call failed, the same call had failed before, and it works at no time."""
    WRONG_TOOL = "wrong_tool"
    """The tool is not on offer, or no step's, and its result gives no step's result."""
    GUESSED_AHEAD = "guessed_ahead"
    """The call guesses the result of a step that is called in the same turn (ToolHop, figure 7)."""
    MADE_UP_VALUE = "made_up_value"
    """Nothing before the call says or gives the value, and the call did not give the result."""
    WRONG_FORM = "wrong_form"
    """The right value, written another way, and the call did not give the result."""
    RESULT_MISREAD = "result_misread"
    """Another value out of the result that holds the right one."""
    WRONG_VALUE = "wrong_value"
    """A value that was said before, but not the one that the step needs."""
    LOST_STEP = "lost_step"
    """A step was tried, did not give its result, and the agent goes on without it."""
    NEVER_CALLED = "never_called"
    """A step's tool is never called, and the agent goes on without its result."""
    ANSWERED_WITHOUT_CALLS = "answered_without_calls"
    """Tools are on offer, and the agent answers without a call (ToolHop, figure 8)."""
    STOPPED_EARLY = "stopped_early"
    """The agent ends without an answer, with steps left."""
    OUT_OF_LIMIT = "out_of_limit"
    """Turns, calls, tokens, time, cost or context ran out."""
    WRONG_DECISION = "wrong_decision"
    """The agent deferred wrongly, or answered where it should have deferred."""
    WRONG_CONCLUSION = "wrong_conclusion"
    """Every step is right, and the answer is wrong and no value out of the results."""
    ANSWER_FORM = "answer_form"
    """The right answer, in a form that does not count."""
    UNDECIDABLE = "undecidable"
    """The answer is wrong, and none of the other kinds can be shown."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the item's chain."""

    number: int
    """From 1."""
    tool: str
    answer: str
    """What the step's call returns."""
    arguments: Mapping[str, JSON] | None = None
    """Arguments of the proven call; None without a certificate."""
    place: Reading | None = None
    """Where the answer is in the result; None without a certificate."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A place where an episode leaves the chain."""

    kind: Kind
    turn: int
    """From 1; 0 if there was no turn."""
    call: int | None
    """Index into `Trace.calls`, from 0; None if no call shows it."""
    value: str
    """The value in question, such as an argument or the answer; empty if none."""
    step: Step | None
    """The step of the chain that it concerns; None if none."""
    evidence: str
    """A sentence for people."""
    made_good: int | None = None
    """The later turn in which the step gave its result after all; None if it did not."""

    def to_json(self) -> dict[str, JSON]:
        """Return the divergence as plain JSON values."""
        step: JSON = None
        if self.step is not None:
            proven: JSON = None if self.step.arguments is None else dict(self.step.arguments)
            step = {
                "number": self.step.number, "tool": self.step.tool, "answer": self.step.answer,
                "arguments": proven,
            }  # fmt: skip
        return {
            "kind": self.kind.value, "turn": self.turn, "call": self.call, "value": self.value,
            "step": step, "evidence": self.evidence, "made_good": self.made_good,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Divergences:
    """All divergences of an episode, in the order of time; empty if it kept to the chain."""

    all: tuple[Divergence, ...] = ()

    @property
    def first(self) -> Divergence | None:
        """The first in time."""
        return self.all[0] if self.all else None

    @property
    def lasting(self) -> Divergence | None:
        """The first that was not made good."""
        return next((one for one in self.all if one.made_good is None), None)


def first_divergence(trace: Trace, item: Item | None = None) -> Divergences:
    """Return where an episode left its item's chain.

    Args:
        trace: the trace of an episode that has ended.
        item: the item as it was played. Its certificate gives the arguments of the proven calls,
            its schemas the values that a tool offers; without it the trace's gold decides alone.

    Raises:
        ValueError: the gold of the trace has another form.
    """
    return Divergences(_in_order(_Read(trace, item)))


def _in_order(read: _Read) -> tuple[Divergence, ...]:
    if read.trace.ended is None or read.trace.ended.ending in (Ending.ERRORED, Ending.STOPPED):
        return ()
    found = [*_of_calls(read), *_of_steps(read), *_of_end(read)]
    return tuple(sorted(found, key=lambda one: (one.turn, one.call is None, one.call or 0)))


def steps_of(gold: JSON, item: Item | None = None) -> tuple[Step, ...]:
    """Return the chain in a trace's gold; empty if the benchmark's gold is no chain."""
    hops = gold.get("hops") if isinstance(gold, dict) else None
    found = []
    for at, hop in enumerate(hops if isinstance(hops, list) else ()):
        if not isinstance(hop, dict) or "tool" not in hop or "answer" not in hop:
            return ()
        proven = item.hops[at].gold if item and at < len(item.hops) else None
        arguments: object = hop.get("arguments") or (dict(proven.arguments) if proven else None)
        place = reading_from_json(hop["place"]) if "place" in hop else None
        known = arguments if isinstance(arguments, dict) else None
        found.append(Step(at + 1, str(hop["tool"]), str(hop["answer"]), known, place))
    return tuple(found)


def next_step(trace: Trace, item: Item, turn: int) -> Step | None:
    """Return the first step that can be reached and whose result no call before `turn` gives."""
    read = _Read(trace, item)
    return next((step for step in read.expected if not read.done(step, turn)), None)


@dataclass(frozen=True)
class _Read:
    """A trace with what the rules need to know of it."""

    trace: Trace
    item: Item | None

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return steps_of(self.trace.started.gold, self.item)

    @cached_property
    def played(self) -> Played | None:
        """The episode as a scenario's; None if it is none."""
        gold = self.trace.started.gold
        return Played.of(self.trace) if isinstance(gold, dict) and FIELD in gold else None

    @cached_property
    def expected(self) -> tuple[Step, ...]:
        """The steps that can be reached: those before the first lost one of a scenario."""
        if self.played is None or self.played.label.solvable or self.played.label.solvable_after:
            return self.steps
        first = min(self.played.label.lost, default=len(self.steps) + 1)
        return self.steps[: first - 1]

    @cached_property
    def tried(self) -> list[tuple[int, Called]]:
        """Tool calls with their indices, without actions on the episode."""
        acts = self.played.task.acts if self.played else frozenset[str]()
        calls = enumerate(self.trace.calls)
        return [(n, c) for n, c in calls if c.action is None and c.raw.name not in acts]

    @cached_property
    def worked(self) -> frozenset[str]:
        """Keys of the calls that succeeded at some time."""
        return frozenset(_key(call) for _, call in self.tried if call.error is None)

    @cached_property
    def gives(self) -> Mapping[int, frozenset[int]]:
        """The numbers of the steps whose results each call gives, by the call's index."""
        return {
            n: frozenset(step.number for step in self.steps if _gives(call, step))
            for n, call in self.tried
        }

    @cached_property
    def reached(self) -> Mapping[int, int]:
        """The index of the first call that gives each step's result, by the step's number."""
        found: dict[int, int] = {}
        for n, _ in self.tried:
            for number in self.gives[n]:
                found.setdefault(number, n)
        return found

    def done(self, step: Step, turn: int) -> bool:
        """Whether a call before a turn gives the step's result."""
        at = self.reached.get(step.number)
        return at is not None and self.trace.calls[at].turn < turn

    @cached_property
    def in_head(self) -> frozenset[int]:
        """Numbers of the steps that were not reached, and whose results later calls pass on."""
        passed = [as_text(value) for _, call in self.tried for _, value in scalars(_values(call))]
        return frozenset(
            step.number
            for step in self.steps
            if step.number not in self.reached
            and any(same_answer(step.answer, value) for value in passed)
        )

    @cached_property
    def right(self) -> bool:
        gold = self.trace.started.gold
        answer = gold.get("answer") if isinstance(gold, dict) else None
        return isinstance(answer, str) and strict(answer, self.trace.final_text)

    @cached_property
    def sources(self) -> list[Source]:
        """What was said to the agent, in order."""
        start = self.trace.started
        prompt = "\n".join([*(message.content for message in start.messages), start.question])
        return [Source(prompt), *(_source(call) for call in self.trace.calls)]

    def heard_before(self, turn: int) -> Heard:
        return Heard([one for one in self.sources if one.turn < turn])

    def schema_of(self, tool: str) -> Mapping[str, JSON]:
        if self.item is not None and tool in self.item.all_tools:
            return self.item.all_tools[tool].schema.parameters
        shown = self.played.task.tools.get(tool, {}) if self.played else {}
        found: Mapping[str, JSON] = shown.get("parameters", {})
        return found

    def body_of(self, tool: str) -> object:
        known = self.item.all_tools.get(tool) if self.item else None
        return known.body if known else None

    def proven_of(self, step: Step) -> Mapping[str, JSON] | None:
        """Arguments that give a step's result: the certificate's, else those of a later call."""
        at = self.reached.get(step.number)
        if step.arguments is not None or at is None:
            return step.arguments
        call = self.trace.calls[at]
        return _values(call) if call.raw.name == step.tool else None

    @property
    def last_turn(self) -> int:
        return len(self.trace.replies)


def _source(call: Called) -> Source:
    if not isinstance(call.outcome, Returned):
        return Source(call.feedback, call.turn)
    value = result_value(call.outcome)
    texts = [as_text(leaf) for _, leaf in scalars(value) if leaf is not None]
    return Source("\n".join([call.feedback, *texts]), call.turn, value=value)


def _values(call: Called) -> dict[str, JSON]:
    """Return a call's arguments as accepted; none if it was not accepted."""
    return call.verdict.arguments if isinstance(call.verdict, Call) else {}


def _gives(call: Called, step: Step) -> bool:
    """Whether a call gives a step's result, in any form, or is the proven call."""
    if call.error is not None or not isinstance(call.outcome, Returned):
        return False
    own = call.raw.name == step.tool
    if own and step.arguments and canonical(_values(call)) == canonical(dict(step.arguments)):
        return True
    if own and (holds_answer(call, step.answer) or at_place(call, step.answer, step.place)):
        return True
    if len(step.answer) < LEAST_TELLING:
        return False
    texts = [as_text(leaf) for _, leaf in scalars(result_value(call.outcome)) if leaf is not None]
    if not own:
        return holds_answer(call, step.answer)
    return any(_says(text, step.answer) for text in texts)


def _says(text: str, answer: str) -> bool:
    """Whether a text has an answer's words in a row, or is the same date."""
    day = whole_date(answer)
    same_day = day is not None and day == whole_date(text)
    return same_day or bool(runs(plain_words(answer), plain_words(text)))


def _alike(given: str, wanted: str) -> bool:
    """Whether two values are the same but for their form: order, case, signs, an extra word."""
    ours, theirs = plain_words(given), plain_words(wanted)
    if not ours or not theirs:
        return False
    fewer, more = sorted(({*ours}, {*theirs}), key=len)
    joined = "".join(ours) == "".join(theirs)
    return joined or _says(given, wanted) or (fewer <= more and 2 * len(fewer) >= len(more))


# -- calls -------------------------------------------------------------------------------------


def _of_calls(read: _Read) -> Iterator[Divergence]:
    failed: set[str] = set()
    for n, call in read.tried:
        found = _of_call(read, n, call, failed)
        if call.error is not None:
            failed.add(_key(call))
        if found is not None:
            yield found


def _of_call(read: _Read, n: int, call: Called, failed: set[str]) -> Divergence | None:
    step, name = _step_of(read, n, call), call.raw.name
    again = read.reached.get(step.number) if step else None
    later = read.trace.calls[again].turn if again is not None and again > n else None

    def at(kind: Kind, value: str, evidence: str) -> Divergence:
        return Divergence(kind, call.turn, n, value, step, evidence, later)

    if call.error and _key(call) in failed and _key(call) not in read.worked:
        return at(Kind.FAILED_CALL_REPEATED, name, f"{name} fails again with the same arguments.")
    if call.error is ErrorCode.UNKNOWN_TOOL:
        return at(Kind.WRONG_TOOL, name, f"No tool on offer is called {name}.")
    if call.error in BEFORE_RUNNING and call.error is not ErrorCode.NOT_APPROVED:
        problems = getattr(call.verdict, "problems", ())
        path = problems[0].path if problems else ""
        where = f" at {path}" if path else ""
        return at(Kind.MALFORMED_CALL, path, f"The call of {name} is not run: {call.error}{where}.")
    if step is None:
        if read.steps and not read.gives[n]:
            why = f"No step of the item's chain has the tool {name}, and it gives no step's result."
            return at(Kind.WRONG_TOOL, name, why)
        return None
    if isinstance(read.body_of(name), Flaky) and call.error is ErrorCode.RAISED:
        return None  # the tool fails, whatever the call
    ahead = _guessed(read, call, step)
    if ahead:
        why = f"{name} is called with {ahead!r} in the turn in which a step before it is called."
        return at(Kind.GUESSED_AHEAD, ahead, why)
    if read.gives[n] or _beside(read, n, call, step):
        return None
    kind, value, why = _of_arguments(read, call, step)
    return at(kind, value, why) if kind else None


def _key(call: Called) -> str:
    try:
        arguments = _values(call) or json.loads(call.raw.arguments)
    except (ValueError, RecursionError):
        arguments = call.raw.arguments
    return canonical([call.raw.name, arguments])


def _step_of(read: _Read, n: int, call: Called) -> Step | None:
    """Return the step that a call is for: one that it gives, else the next open one of its tool."""
    own = [step for step in read.steps if step.tool == call.raw.name]
    given = [step for step in own if step.number in read.gives[n]]
    still = [step for step in own if read.reached.get(step.number, n + 1) > n]
    return next(iter([*given, *still, *own]), None)


def _beside(read: _Read, n: int, call: Called, step: Step) -> bool:
    """Whether a successful call is extra: its step is done before, or by a call of its turn."""
    at = read.reached.get(step.number)
    return (
        call.error is None and at is not None and (at < n or read.trace.calls[at].turn == call.turn)
    )


def _unsaid(read: _Read, call: Called) -> Iterator[tuple[tuple[str | int, ...], JSON]]:
    """Yield the values that nothing before a call says or gives, with their paths."""
    heard = read.heard_before(call.turn)
    for leaf in leaves(read.schema_of(call.raw.name), _values(call)):
        text = as_text(leaf.value)
        if leaf.value is None or isinstance(leaf.value, bool) or not text or leaf.choices:
            continue
        if leaf.value == leaf.schema.get("default", ...) or text in leaf.about:
            continue
        if OPTION.fullmatch(text):
            continue
        if not heard.holds(leaf.value) and not heard.gives(leaf.value):
            yield leaf.path, leaf.value


def _guessed(read: _Read, call: Called, step: Step) -> str:
    """Return the value that a call guesses in place of a result that is still to come."""
    now = {other.raw.name for _, other in read.tried if other.turn == call.turn}
    awaited = [
        one.answer
        for one in read.steps
        if one.number < step.number
        and one.tool in now - {step.tool}
        and not read.done(one, call.turn)
    ]
    proven = read.proven_of(step)
    for path, value in _unsaid(read, call) if awaited else ():
        wanted = _leaf(proven, path) if proven else None
        if proven is None or any(same_answer(one, as_text(wanted)) for one in awaited):
            return as_text(value)
    return ""


def _at(arguments: JSON | Mapping[str, JSON], path: Sequence[str | int]) -> JSON:
    held: object = arguments
    for part in path:
        if isinstance(held, Mapping):
            held = held.get(str(part))
        else:
            fits = isinstance(held, list) and isinstance(part, int) and part < len(held)
            held = held[part] if fits else None  # type: ignore[index]
    return held  # type: ignore[return-value]


def _of_arguments(read: _Read, call: Called, step: Step) -> tuple[Kind | None, str, str]:
    """Say what is wrong with the arguments of a call that did not give its step's result."""
    proven, values = read.proven_of(step), scalars(_values(call))
    if proven is not None and canonical(_values(call)) == canonical(dict(proven)):
        return None, "", ""  # the tool failed, not the call
    whose = "the proven call" if step.arguments is not None else "the call that worked"
    for path, value in _unsaid(read, call):
        if proven is None or not _same(value, _at(proven, path)):
            if proven is not None and _alike(as_text(value), as_text(_leaf(proven, path))):
                continue
            name, text = _dotted(path), as_text(value)
            return Kind.MADE_UP_VALUE, text, f"Nothing before the call says {name} = {text!r}."
    if proven is None:
        return _against_chain(read, call, step)
    differing = [(path, value) for path, value in values if not _same(value, _at(proven, path))]
    for path, value in sorted(
        differing, key=lambda one: _alike(as_text(one[1]), as_text(_leaf(proven, one[0])))
    ):
        wanted, text = as_text(_leaf(proven, path)), as_text(value)
        says = f"{_dotted(path)} is {text!r}; {whose} has {wanted!r}."
        if _alike(text, wanted):
            return Kind.WRONG_FORM, text, says
        if _misread(read, call, text, wanted):
            return Kind.RESULT_MISREAD, text, says
        return Kind.WRONG_VALUE, text, says
    return Kind.WRONG_VALUE, "", f"The call lacks an argument that {whose} has."


def _leaf(arguments: Mapping[str, JSON], path: Sequence[str | int]) -> JSON:
    found = _at(arguments, path)
    return found if not isinstance(found, dict | list) else json.dumps(found, ensure_ascii=False)


def _same(value: JSON, other: JSON) -> bool:
    return canonical(value) == canonical(other)


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path))


def _misread(read: _Read, call: Called, text: str, wanted: str) -> bool:
    """Whether one result before the call has both the wanted value and the given one."""
    return any(
        isinstance(one.outcome, Returned)
        and one.turn < call.turn
        and holds_answer(one, text)
        and holds_answer(one, wanted)
        for _, one in read.tried
    )


def _against_chain(read: _Read, call: Called, step: Step) -> tuple[Kind | None, str, str]:
    """Compare a call's values with the results that the chain hands on; no call is proven."""
    texts = [as_text(value) for _, value in scalars(_values(call)) if value is not None]
    differs = f"{call.raw.name} differs from the item's own chain"
    handed = [one.answer for one in read.steps if one.number < step.number]
    if any(same_answer(answer, text) for answer in handed for text in texts):
        return Kind.WRONG_VALUE, "", f"{differs}: it does not return {step.answer!r}."
    for answer in reversed(handed):
        for text in texts:
            if _alike(text, answer):
                return Kind.WRONG_FORM, text, f"{differs}: it has {text!r} for {answer!r}."
            if _misread(read, call, text, answer):
                return Kind.RESULT_MISREAD, text, f"{differs}: it has {text!r}, not {answer!r}."
    value = next(iter(texts), "")
    return Kind.WRONG_VALUE, value, f"{differs}: it does not return {step.answer!r}."


# -- steps and the end ---------------------------------------------------------------------------


def _of_steps(read: _Read) -> Iterator[Divergence]:
    """Yield the steps that the agent went past, if the answer is not right."""
    ending = read.trace.ended and read.trace.ended.ending
    if read.right or ending is not Ending.ANSWERED or not read.tried:
        return
    if read.played is not None and not read.played.label.solvable:
        return
    for step in read.expected:
        if step.number in read.reached or step.number in read.in_head:
            continue
        tries = [n for n, call in read.tried if call.raw.name == step.tool]
        after = [
            (n, call)
            for n, call in read.tried
            if n > max(tries, default=-1)
            and any(one.tool == call.raw.name and one.number > step.number for one in read.steps)
        ]
        call, turn = (after[0][0], after[0][1].turn) if after else (None, read.last_turn)
        gone = f"the agent goes on without {step.answer!r}."
        if tries:
            why = f"{step.tool} was tried and did not return it; {gone}"
            yield Divergence(Kind.LOST_STEP, turn, call, step.answer, step, why)
        elif tagged_answer(read.trace.final_text or "") or after:
            why = f"{step.tool} is never called; {gone}"
            yield Divergence(Kind.NEVER_CALLED, turn, call, step.answer, step, why)
        else:
            yield Divergence(
                Kind.STOPPED_EARLY, turn, None, step.answer, step,
                f"The episode ends before {step.tool} is called.",
            )  # fmt: skip
            return


LIMITS = frozenset(
    {Ending.OUT_OF_TURNS, Ending.OUT_OF_CALLS, Ending.OUT_OF_TOKENS, Ending.OUT_OF_TIME,
     Ending.OUT_OF_COST, Ending.OUT_OF_CONTEXT, Ending.CUT_IN_THOUGHT}
)  # fmt: skip


def _of_end(read: _Read) -> Iterator[Divergence]:
    ended = read.trace.ended
    if ended is None:
        return

    def at(kind: Kind, value: str, evidence: str, turn: int = read.last_turn) -> Divergence:
        return Divergence(kind, turn, None, value, None, evidence)

    if ended.ending in LIMITS:
        yield at(Kind.OUT_OF_LIMIT, ended.ending, f"The episode ends {ended.ending}.")
    elif ended.ending is Ending.MALFORMED_CALL:
        yield at(Kind.MALFORMED_CALL, ended.reason, "The last reply has a malformed call.")
    elif read.played is not None and read.played.decided is False:
        yield _wrong_decision(read, read.played)
    elif read.played is not None and not read.played.label.solvable:
        return
    elif ended.ending is Ending.GAVE_UP:
        yield at(Kind.STOPPED_EARLY, "", "The agent gives up with steps left.")
    elif read.trace.started.tools and not read.tried:
        yield at(Kind.ANSWERED_WITHOUT_CALLS, given(read.trace) or "", "No tool is called.")
    elif read.steps and not read.right:
        yield from _of_answer(read)


def _of_answer(read: _Read) -> Iterator[Divergence]:
    """Judge a wrong answer after every step was reached or done in the head."""
    if any(s.number not in read.reached and s.number not in read.in_head for s in read.expected):
        return
    gold = read.trace.started.gold
    wanted = str(gold.get("answer", "")) if isinstance(gold, dict) else ""
    answer, turn = given(read.trace) or "", read.last_turn
    says = f"Every step is right; the answer is {answer[:80]!r}, not {wanted!r}."
    if _alike(answer, wanted) or official(wanted, read.trace.conversation()):
        kind = Kind.ANSWER_FORM
    elif any(holds_answer(call, answer) for _, call in read.tried):
        kind = Kind.RESULT_MISREAD
    else:
        kind = Kind.WRONG_CONCLUSION
    yield Divergence(kind, turn, None, answer, None, says)


def _wrong_decision(read: _Read, played: Played) -> Divergence:
    needs = played.label.needs
    should = f"The task needs {needs}" if needs else "The task can be solved as shown"
    did = played.actions[0] if played.actions else None
    deferrals = [n for n, c in enumerate(read.trace.calls) if c.action is did and did is not None]
    says = f"{should}; the agent chose {did or 'to answer'}."
    if deferrals and did is not needs:
        at = deferrals[0]
        return Divergence(
            Kind.WRONG_DECISION, read.trace.calls[at].turn, at, str(did), None, says
        )  # fmt: skip
    return Divergence(Kind.WRONG_DECISION, read.last_turn, None, "", None, says)
