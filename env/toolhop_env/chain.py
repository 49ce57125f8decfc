"""The steps that an item asks for, and where an episode leaves them (`toolhop_env.divergence`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Reading, reading_from_json


class Kind(StrEnum):
    """How an episode leaves its chain. A call has the first kind that fits it."""

    MALFORMED_CALL = "malformed_call"
    """The call did not run because of how it is written, or did not fit the tool's signature."""
    FAILED_CALL_REPEATED = "failed_call_repeated"
    """The call failed, as the same call had before, and never works; even of a broken tool."""
    WRONG_TOOL = "wrong_tool"
    """The tool is not on offer, or belongs to no step and gives no step's result."""
    GUESSED_AHEAD = "guessed_ahead"
    """The call guesses the result of a step that is called in the same turn (ToolHop, figure 7).
    A value that was said before is no guess."""
    MADE_UP_VALUE = "made_up_value"
    """Nothing before the call says or gives the value, in these words or other forms of them, and
    the call did not give the result."""
    RESULT_MISREAD = "result_misread"
    """Another value out of the result that holds the right one, even if the two look alike."""
    WRONG_FORM = "wrong_form"
    """The right value, written or spelt another way, and the call did not give the result. Without
    a proven call, the right value is the one that was said."""
    WRONG_VALUE = "wrong_value"
    """The call did not give the result: its values were said before, but are not those that the
    step needs, or one is left out. The default for a call of a step's own tool."""
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
    """The agent deferred wrongly, gave up an answer that it could reach, or answered where it
    should have deferred. Asking for what the task needs is right, whatever it brings."""
    WRONG_CONCLUSION = "wrong_conclusion"
    """No step is known to be wrong, and the answer is wrong and no value out of the results."""
    ANSWER_FORM = "answer_form"
    """The right answer, in a form that does not count."""
    UNDECIDABLE = "undecidable"
    """The answer is wrong, and none of the other kinds can be shown."""

    @property
    def words(self) -> str:
        """The kind as people read it."""
        return self.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an item's chain."""

    number: int
    """From 1."""
    tool: str
    answer: str
    """What the step's call returns."""
    arguments: Mapping[str, JSON] | None = None
    """Arguments of the proven call; None without a certificate."""
    place: Reading | None = None
    """Where the answer is in the result; None without a certificate."""


def steps_of(gold: Any) -> tuple[Step, ...]:  # noqa: ANN401 -- JSON that a benchmark wrote
    """Return the steps in the gold of a trace of ToolHop or of a scenario."""
    return tuple(
        Step(
            number,
            str(hop["tool"]),
            str(hop["answer"]),
            hop.get("arguments") or None,
            reading_from_json(hop["place"]) if "place" in hop else None,
        )
        for number, hop in enumerate(gold["hops"], 1)
    )


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
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Divergences:
    """All divergences of an episode, in the order of time; empty if it kept to the chain."""

    all: tuple[Divergence, ...] = ()

    @property
    def first(self) -> Divergence | None:
        """The first in time."""
        return self.all[0] if self.all else None


@dataclass(frozen=True, slots=True)
class Chain:
    """What a benchmark says of an episode, for its divergences to be found."""

    steps: tuple[Step, ...]
    answer: str
    """The gold answer."""
    given: str
    """The agent's answer; empty if there is none."""
    right: bool
    reachable: int
    """Number of steps, from the first on, that can be done."""
    acts: frozenset[str] = frozenset()
    """Names of tools that act on the episode."""
    schemas: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)
    """Parameters of the tools by name, as far as the gold has them."""
    decision: Divergence | None = None
    """The wrong decision to defer or to answer; None if it was right, or there was none."""
    defers: bool = False
    """Whether the right end is to defer, so that no answer is expected."""
