"""The score of a finished episode: its conduct, and the benchmark's values by measure.

An errored episode has no score; it is counted, but left out of every mean.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, TypeAlias

from pydantic import AfterValidator

from toolhop_env.chain import Kind
from toolhop_env.feedback import result_value
from toolhop_env.messages import MOST, Amount, Count, Origin
from toolhop_env.offered import tools_unseen
from toolhop_env.spending import cost_of
from toolhop_env.trace import Called, Ended, Ending, Trace
from toolhop_env.verdicts import ErrorCode
from toolhop_sandbox.outcome import Returned
from toolhop_tools.answers import holds, plain_text, same_answer
from toolhop_tools.model import canonical
from toolhop_tools.notebook_table import table
from toolhop_tools.reading import Match, Reading, answer_at, read_result
from toolhop_tools.words import bare

Parts: TypeAlias = tuple[float, float]
"""Numerator and denominator. A mean over episodes is the sum of the numerators over that of the
denominators; for a property that an episode has or lacks, they are 1 or 0, over 1."""
Values: TypeAlias = Mapping[str, Parts | None]
"""Parts by measure; None if this episode has no value, for example without a judge's answer."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How an episode went, independent of the benchmark."""

    ending: Ending
    turns: Count
    calls: Count
    """Number of tool calls. Actions on the episode, such as a question to the user, do not
    count, here or among the errors."""
    errors: dict[ErrorCode, Count]
    """Failed calls by code; a call counts once, under the code of its first problem."""
    repairable: Count
    """Number of rejected calls that a lenient parser would have run."""
    input_tokens: Count
    output_tokens: Count
    cost_usd: Amount | None
    """Cost in US dollars; None if the price of a reply is unknown."""
    wall_s: Amount
    tool_s: Amount
    """Seconds during which tools ran."""
    retries: Count
    """Number of repeated requests to the model."""
    prompt_cached_tokens: Count = 0
    """Input tokens that the provider had cached; part of `input_tokens`."""
    reasoning_tokens: Count = 0
    """Output tokens spent on thoughts; part of `output_tokens`."""
    cached_replies: Count = 0
    """Number of replies from a response cache; tokens and cost above exclude them."""
    saved_input_tokens: Count = 0
    """Tokens of the cached replies."""
    saved_output_tokens: Count = 0
    saved_usd: Amount | None = 0.0
    """Original cost of the cached replies; None if a price is unknown."""
    cut_replies: Count = 0
    """Number of replies that reached their token limit."""
    repeated_failures: Count = 0
    """Number of failed calls that repeat an earlier failed call: same tool, equal arguments."""
    tools_unseen: bool = False
    """Whether the first prompt was too short for the tools sent with it (`toolhop_env.offered`)."""

    divergences: tuple[Kind, ...] = ()
    """Kinds of the episode's divergences, in the order of time (`toolhop_env.divergence`)."""

    @property
    def malformed_call(self) -> bool:
        """Whether a call was written in a form that is not recognised."""
        return self.ending is Ending.MALFORMED_CALL or ErrorCode.MALFORMED_CALL in self.errors

    @property
    def failed_calls(self) -> int:
        """Number of failed calls, whatever the code."""
        return sum(self.errors.values())


@lru_cache(4096)
def _kept(parts: Parts) -> Parts:
    """Check the parts and share equal ones, as thousands of episodes have few different ones."""
    if not all(abs(part) <= MOST for part in parts):
        raise ValueError(f"a part of a figure is beyond {MOST:,}")
    return parts


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a finished episode."""

    conduct: Conduct
    values: dict[str, Annotated[Parts, AfterValidator(_kept)] | None]
    """Parts by the names of the benchmark's measures."""

    def __repr__(self) -> str:
        """Return the values, without the conduct."""
        return f"<Score {', '.join(f'{name} {value}' for name, value in self._shown)}>"

    def _repr_html_(self) -> str:
        return table("Score", self._shown)

    @property
    def _shown(self) -> list[tuple[str, str]]:
        found = {name: self.value(name) for name in self.values}
        return [(name, "-" if one is None else f"{one:.4g}") for name, one in found.items()]

    def value(self, name: str) -> float | None:
        """Return numerator over denominator of one measure; None if there is no value.

        Raises:
            KeyError: the benchmark has no value of that name.
        """
        parts = self.values[name]
        return None if parts is None or not parts[1] else parts[0] / parts[1]


@dataclass(frozen=True, slots=True)
class Errored:
    """The verdict on an episode that failed through our fault or never ended: it has no score."""

    reason: str


Verdict: TypeAlias = Score | Errored


def conduct(trace: Trace, ended: Ended) -> Conduct:
    """Return the conduct of a finished trace."""
    calls = trace.tool_calls
    cached = [event.reply for event in trace.replies if event.reply.origin is Origin.CACHED]
    paid = [event.reply for event in trace.replies if event.reply.origin is not Origin.CACHED]
    return Conduct(
        ending=ended.ending,
        turns=len(trace.replies),
        calls=len(calls),
        errors=dict(Counter(call.error for call in calls if call.error is not None)),
        repairable=sum(has_repair(call) for call in calls),
        input_tokens=sum(reply.usage.input_tokens for reply in paid),
        output_tokens=sum(reply.usage.output_tokens for reply in paid),
        cost_usd=cost_of(paid),
        wall_s=ended.wall_s,
        tool_s=round(sum(call.wall_s for call in calls), 6),
        retries=sum(event.reply.retries for event in trace.replies),
        prompt_cached_tokens=sum(reply.usage.prompt_cached_tokens for reply in paid),
        reasoning_tokens=sum(reply.usage.reasoning_tokens for reply in paid),
        cached_replies=len(cached),
        saved_input_tokens=sum(reply.usage.input_tokens for reply in cached),
        saved_output_tokens=sum(reply.usage.output_tokens for reply in cached),
        saved_usd=cost_of(cached),
        cut_replies=sum(event.reply.cut for event in trace.replies),
        repeated_failures=repeated_failures(calls),
        tools_unseen=tools_unseen(trace),
    )


def repeated_failures(calls: Iterable[Called]) -> int:
    """Count the calls that failed after an equal call had failed.

    Arguments that are not JSON are compared as text.
    """
    failed = [call.raw for call in calls if call.error is not None]
    return len(failed) - len({(raw.name, _arguments(raw.arguments)) for raw in failed})


def _arguments(text: str) -> str:
    try:
        return canonical(json.loads(text))
    except (ValueError, RecursionError):
        return text


def holds_answer(call: Called, answer: str) -> bool:
    """Whether a call succeeded and its result equals `answer`, or has it as a leaf (by value)."""
    if call.error is not None or not isinstance(call.outcome, Returned):
        return False
    return holds(result_value(call.outcome), answer)


def holds_at(call: Called, answer: str, place: Reading | None) -> bool:
    """Whether a call succeeded and its result has `answer` where a certificate has it."""
    if place is None or call.error is not None or not isinstance(call.outcome, Returned):
        return False
    found = answer_at(read_result(call.outcome.json_text), place)
    if found is None or place.match is not Match.ACCENTS:
        return found is not None and same_answer(answer, found)
    return bare(plain_text(found)) == bare(plain_text(answer))


def has_repair(call: Called) -> bool:
    """Whether the call was rejected although a lenient parser would have run it."""
    return getattr(call.verdict, "repair", None) is not None
