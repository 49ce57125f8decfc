"""What a finished episode is worth: how it was conducted, and a benchmark's values by measure.

An errored episode has no score; it is counted, and left out of every mean.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, TypeAlias

from pydantic import AfterValidator

from toolhop_env.feedback import result_value
from toolhop_env.messages import MOST, Amount, Count, Origin
from toolhop_env.offered import tools_unseen
from toolhop_env.spending import cost_of
from toolhop_env.trace import Called, Ended, Ending, Trace
from toolhop_env.verdicts import ErrorCode
from toolhop_sandbox.outcome import Returned
from toolhop_tools.answers import holds
from toolhop_tools.model import canonical
from toolhop_tools.notebook_table import table

Parts: TypeAlias = tuple[float, float]
"""A numerator and a denominator. A mean over episodes is the sum of the numerators by the sum of
the denominators; for a property that an episode has or has not they are 1 or 0, and 1."""
Values: TypeAlias = Mapping[str, Parts | None]
"""By measure. None where this episode has no figure, as without a judge's answer."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How an episode went, whatever the benchmark."""

    ending: Ending
    turns: Count
    calls: Count
    """Calls of tools; actions of the episode itself, such as a question to the user, are none, and
    neither are they among the errors."""
    errors: dict[ErrorCode, Count]
    """Failed calls by code; a call counts once, under its first problem's code."""
    repairable: Count
    """Rejected calls that a lenient parser would have run."""
    input_tokens: Count
    output_tokens: Count
    cost_usd: Amount | None
    """None where a reply's price is not known."""
    wall_s: Amount
    tool_s: Amount
    """Seconds that tools ran."""
    retries: Count
    """Requests to the model that were sent again."""
    prompt_cached_tokens: Count = 0
    """Of the input tokens, those that the provider had at hand."""
    reasoning_tokens: Count = 0
    """Of the output tokens, those of thoughts."""
    cached_replies: Count = 0
    """Replies that a response cache gave; nothing of them is in the tokens and the cost above."""
    saved_input_tokens: Count = 0
    """Those replies' tokens."""
    saved_output_tokens: Count = 0
    saved_usd: Amount | None = 0.0
    """What those cost when they were asked for; None where a price is not known."""
    cut_replies: Count = 0
    """Replies that reached the limit of their tokens."""
    repeated_failures: Count = 0
    """Failed calls of which an equal one failed before: the same tool, equal arguments."""
    tools_unseen: bool = False
    """The first prompt was too short to hold the tools sent with it (`toolhop_env.offered`)."""

    @property
    def malformed_call(self) -> bool:
        """Whether a call was written in a form that is not read."""
        return self.ending is Ending.MALFORMED_CALL or ErrorCode.MALFORMED_CALL in self.errors

    @property
    def failed_calls(self) -> int:
        """Calls that failed, by whatever code."""
        return sum(self.errors.values())


@lru_cache(4096)
def _kept(parts: Parts) -> Parts:
    """Equal parts as one: read back from thousands of episodes most are the same few."""
    if not all(abs(part) <= MOST for part in parts):
        raise ValueError(f"a part of a figure is beyond {MOST:,}")
    return parts


@dataclass(frozen=True, slots=True)
class Score:
    """What a finished episode is worth."""

    conduct: Conduct
    values: dict[str, Annotated[Parts, AfterValidator(_kept)] | None]
    """By the name of a measure of the episode's benchmark."""

    def __repr__(self) -> str:
        """The values, without the conduct."""
        return f"<Score {', '.join(f'{name} {value}' for name, value in self._shown)}>"

    def _repr_html_(self) -> str:
        return table("Score", self._shown)

    @property
    def _shown(self) -> list[tuple[str, str]]:
        found = {name: self.value(name) for name in self.values}
        return [(name, "-" if one is None else f"{one:.4g}") for name, one in found.items()]

    def value(self, name: str) -> float | None:
        """Numerator by denominator of one measure; None where there is no figure.

        Raises:
            KeyError: the benchmark has no value of that name.
        """
        parts = self.values[name]
        return None if parts is None or not parts[1] else parts[0] / parts[1]


@dataclass(frozen=True, slots=True)
class Errored:
    """A fault of ours broke the episode, or it never ended: it is not scored."""

    reason: str


Verdict: TypeAlias = Score | Errored


def conduct(trace: Trace, ended: Ended) -> Conduct:
    """How the episode of a finished trace went."""
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
    """How many of the calls failed after an equal one had failed. Arguments that are not JSON are
    equal where their text is.
    """
    failed = [call.raw for call in calls if call.error is not None]
    return len(failed) - len({(raw.name, _arguments(raw.arguments)) for raw in failed})


def _arguments(text: str) -> str:
    try:
        return canonical(json.loads(text))
    except (ValueError, RecursionError):
        return text


def holds_answer(call: Called, answer: str) -> bool:
    """Whether a call succeeded and its result is `answer`, or has it as a leaf (by value)."""
    if call.error is not None or not isinstance(call.outcome, Returned):
        return False
    return holds(result_value(call.outcome), answer)


def has_repair(call: Called) -> bool:
    """Whether the call was rejected, and a lenient parser would have run it."""
    return getattr(call.verdict, "repair", None) is not None
