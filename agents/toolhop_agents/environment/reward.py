"""Rewards of steps and episodes, from a benchmark's measures. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import score
from toolhop_env.measures import CODES, CONDUCT, Measure
from toolhop_env.score import Errored
from toolhop_env.trace import Trace
from toolhop_tools.errors import BadChoice

MILESTONES, FAILED_CALL = "milestones", "failed_call"
"""Weights of rewards during the episode, besides those of measures."""


class Unscored(Exception):
    """The episode ended without a score for the reward. A policy cannot learn from it, so leave
    it out of the batch.
    """


@dataclass(frozen=True, slots=True)
class Reward:
    """A weighted sum of measures at the end, and of milestones and failed calls on the way.

    The rewards of an episode's steps sum to ``sum(weight * measure) + milestones * share of
    milestones reached + failed_call * failed calls``. If only measures have weights, every step but
    the last has reward 0. Rewards on the way change the optimal policy: with a high weight,
    milestones reward calls that the answer does not need.
    """

    benchmark: Benchmark
    measures: tuple[tuple[Measure, float], ...]
    milestones: float = 0.0
    """Reward for all milestones together, paid in equal parts as they are reached."""
    failed_call: float = 0.0
    """Reward for each failed call, so usually negative."""

    @classmethod
    def of(cls, benchmark: Benchmark, weights: Mapping[str, float] | None = None) -> Reward:
        """Create a reward from weights by name.

        Args:
            benchmark: the benchmark of the episodes.
            weights: weights of the benchmark's or conduct measures, ``milestones`` and
                ``failed_call``. None gives the leading measure weight 1.

        Raises:
            BadChoice: a name is unknown, or a weight is not a finite number.
        """
        asked = weights if weights is not None else {benchmark.lead.name: 1.0}
        if not isinstance(asked, Mapping):
            raise BadChoice(
                f"{asked!r} are no weights of a reward",
                fix=f'give them by name, such as {{"{benchmark.lead.name}": 1}}',
            )
        given = {name: _weight(name, weight) for name, weight in asked.items()}
        if not math.isfinite(sum(map(abs, given.values()))):
            raise BadChoice(f"the reward's weights {given} are too large", fix="divide them")
        along = {name: given.pop(name, 0.0) for name in (MILESTONES, FAILED_CALL)}
        known = {one.name: one for one in (*benchmark.measures, *CONDUCT, *CODES)}
        if unknown := [name for name in given if name not in known]:
            own = ", ".join(one.name for one in benchmark.measures)
            raise BadChoice(
                f"the reward has a weight of {unknown[0]!r}, which is no measure of "
                f"{benchmark.title}",
                fix=f"give {own}, {MILESTONES}, {FAILED_CALL}, or a measure of any benchmark: "
                + ", ".join(one.name for one in CONDUCT),
            )
        measures = tuple((known[name], weight) for name, weight in given.items())
        return cls(benchmark, measures, along[MILESTONES], along[FAILED_CALL])

    @property
    def weights(self) -> dict[str, float]:
        """Weights by component; 0 for a measure of the benchmark that was given none."""
        found = dict.fromkeys((one.name for one in self.benchmark.measures), 0.0)
        found |= {measure.name: weight for measure, weight in self.measures}
        return found | {MILESTONES: self.milestones, FAILED_CALL: self.failed_call}

    def of_step(self, before: Trace, after: Trace) -> float:
        """Return the reward of a step, the weighted sum of its components.

        Args:
            before: the trace before the step.
            after: the trace after it.

        Raises:
            Unscored: the episode ended errored, or a measure needs a judge.
        """
        return self.total(self.components(before, after))

    def of_episode(self, trace: Trace) -> float:
        """Return the reward of a whole episode, the sum over its steps.

        Raises:
            Unscored: see `of_step`.
        """
        return self.of_step(Trace(trace.events[:1]), trace)

    def by_turn(self, trace: Trace) -> list[float]:
        """Return the reward of each turn of a whole episode.

        Raises:
            Unscored: see `of_step`.
        """
        starts = [trace.before_turn(one.turn) for one in trace.replies]
        return [self.of_step(*turn) for turn in zip(starts, [*starts[1:], trace], strict=True)]

    def components(self, before: Trace, after: Trace) -> dict[str, float]:
        """Return what a step is paid for, without weights.

        These are the share of milestones reached, the number of failed calls, and at the end each
        measure of the benchmark and the reward. A measure without weight is left out if it has no
        value. The arguments and errors are those of `of_step`.
        """
        found = {
            name: value - self.along(before)[name] for name, value in self.along(after).items()
        }
        return found | self._at_end(after) if after.ended is not None else found

    def along(self, trace: Trace) -> dict[str, float]:
        """Return the share of milestones reached so far, and the number of failed calls."""
        steps = self.benchmark.presentation.milestones(trace)
        reached = sum(one.reached for one in steps) / len(steps) if steps else 0.0
        failed = sum(one.error is not None for one in trace.tool_calls)
        return {MILESTONES: reached, FAILED_CALL: float(failed)}

    def total(self, components: Mapping[str, float]) -> float:
        """Return the weighted sum of components."""
        weights = self.weights
        return sum(weights[name] * value for name, value in components.items())

    def _at_end(self, trace: Trace) -> dict[str, float]:
        verdict = score(trace)
        if isinstance(verdict, Errored):
            raise Unscored(f"{trace.started.episode} is errored: {verdict.reason}")
        weighed, found = [one for one, _ in self.measures], dict[str, float]()
        for measure in dict.fromkeys((*self.benchmark.measures, *weighed)):
            parts = measure.of(verdict)
            if parts is None and measure in weighed:
                raise Unscored(
                    f"{trace.started.episode} has no figure for {measure.name}, which needs a judge"
                )
            if parts is not None and (parts[1] or measure in weighed):
                # Shares of calls are undefined for an episode without calls.
                found[measure.name] = parts[0] / parts[1] if parts[1] else 0.0
        return found


def only_failed(trace: Trace) -> bool:
    """Whether the last turn has calls, and all of them failed."""
    last = len(trace.replies)
    errors = [one.error for one in trace.calls if one.turn == last]
    return bool(errors) and None not in errors


def _weight(name: str, given: object) -> float:
    try:
        weight = float(given)  # type: ignore[arg-type] # a text or a number; what is neither raises
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not math.isfinite(weight):
        raise BadChoice(
            f"the reward's weight of {name!r} cannot be {given!r}",
            fix="give a finite number, such as 1 or -0.1",
        )
    return weight
