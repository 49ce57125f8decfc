"""What formats of traces say of an attempt beside its conversation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from toolhop_agents.export.episodes import Exported
from toolhop_env.measures import Measure
from toolhop_env.score import Score

Plain = dict[str, Any]
"""A JSON object."""


def facts(one: Exported) -> Plain:
    """How an attempt was played and scored; without a score where it is errored."""
    start = one.trace.started
    plain: Plain = {
        "episode": start.episode,
        "attempt": start.attempt,
        "mode": start.mode,
        "call_format": start.call_format.value,
        "feedback": start.feedback.value,
        "seed": start.seed,
        "tools": list(start.tools),
        "parent": start.parent,
    }
    score = one.attempt.score
    if score is None:
        return plain
    values = {measure.name: value_of(measure, score) for measure in one.benchmark.measures}
    return {**plain, "score": {**values, **asdict(score.conduct)}}


def value_of(measure: Measure, score: Score) -> bool | float | None:
    """Yes or no, or the numerator by the denominator; None where there is no figure."""
    parts = measure.of(score)
    if parts is None or not parts[1]:
        return None
    return parts[0] > 0 if measure.binary else parts[0] / parts[1]
