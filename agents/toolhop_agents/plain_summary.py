"""A run's figures as plain values, as written by `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from toolhop_env.estimates import Estimate
from toolhop_env.statistics.passing import PassRate
from toolhop_env.summary import Summary
from toolhop_sandbox.outcome import JSON
from toolhop_tools.perturb.order import tool_order


def to_json(summaries: Sequence[Summary]) -> list[JSON]:
    """Return the summaries as plain values, with each measure under its name."""
    return [_plain(one) for one in summaries]


def _plain(one: Summary) -> dict[str, JSON]:
    spent = one.spent
    return {
        "benchmark": one.group.benchmark,
        "agent": one.group.agent,
        "mode": one.group.mode,
        "feedback": one.group.feedback.value,
        "call_format": one.group.call_format.value,
        "perturbation": one.group.perturbation,
        "tool_order": tool_order(one.group.perturbation),
        "treatment": one.group.treatment,
        "judge": one.group.judge,
        "episodes": one.episodes,
        "errored": one.errored,
        "no_official": one.no_official,
        "no_reply": one.no_reply,
        **{name: _estimate(figure) for name, figure in one.figures.items()},
        "totals": {
            total: {name: _estimate(figure) for name, figure in found.items()}
            for total, found in one.totals.items()
        },
        "passes": {
            name: {
                kind: {str(rate.k): _rate(rate) for rate in rates} for kind, rates in kinds.items()
            }
            for name, kinds in one.passes.items()
        },
        "errors": {code.value: count for code, count in one.errors.items()},
        "endings": {ending.value: count for ending, count in one.endings.items()},
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost_usd": spent.cost_usd,
        "retries": spent.requests - spent.replies,
        "prompt_cached_tokens": spent.prompt_cached_tokens,
        "cached_replies": spent.cached_replies,
        "saved_tokens": spent.saved_tokens,
        "saved_usd": spent.saved_usd,
        "proven": one.proven,
        **{f"{name}_proven": _estimate(figure) for name, figure in one.figures_proven.items()},
    }


def _rate(rate: PassRate) -> JSON:
    return {name: value for name, value in asdict(rate).items() if name != "k"}


def _estimate(figure: Estimate | None) -> JSON:
    return None if figure is None else asdict(figure)
