"""Comparisons as plain values, for `--json`. Shares are 0 to 1; published figures are in per
cent.
"""

from __future__ import annotations

from dataclasses import asdict, fields

from toolhop_agents.compare.published import Reference
from toolhop_agents.compare.report import Comparison, ComparisonReport, Passing
from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.pairs.line import Line
from toolhop_env.pairs.pair import Pair
from toolhop_env.runs.sides import Side
from toolhop_sandbox.outcome import JSON
from toolhop_tools.perturb.order import tool_order

FORMAT = 3
"""Version of this format.

2: lines use the names of measures, not their headings. 3: error codes are failed calls per episode,
not shares of calls; lines have `disagreement` and `counts`, the sums before and after with their
divisors; a share of calls has no p-value.
"""


def to_json(report: ComparisonReport, reference: Reference | None) -> dict[str, JSON]:
    """Return all figures of the tables and every discordant pair."""
    found: dict[str, JSON] = {
        "format": FORMAT,
        "benchmark": report.benchmark.name,
        "options": asdict(report.options),
        "runs": [_side(side) for side in report.sides],
        "comparisons": [
            _comparison(report.benchmark, one, report.options.confidence)
            for one in report.comparisons
        ],
    }
    if reference is not None:
        table: JSON = reference.table.model_dump(mode="json")
        own: dict[str, JSON] = {
            side.letter: {
                agent: {name: None if one is None else asdict(one) for name, one in figures.items()}
                for agent, figures in reference.own(side.episodes.values()).items()
            }
            for side in report.sides
        }
        found["published"] = {"table": table, "caveats": list(reference.caveats), "runs": own}
    return found


def _side(side: Side) -> dict[str, JSON]:
    return {
        "letter": side.letter,
        "run": str(side.folder),
        "status": side.facts.get("status"),
        "agent": side.agent,
        "modes": list(side.modes),
        "tool_order": tool_order(side.perturbation),
        "items": len(side.asked),
        "epochs": side.epochs,
        "episodes": len(side.episodes),
        "errored": side.errored,
    }


def _comparison(benchmark: Benchmark, comparison: Comparison, confidence: float) -> dict[str, JSON]:
    pairing = comparison.pairing
    return {
        "before": pairing.before.letter,
        "after": pairing.after.letter,
        "differs": [asdict(one) for one in pairing.differs],
        "made_otherwise": [asdict(one) for one in pairing.remarks],
        "pairs": len(pairing.pairs),
        "planned": pairing.planned,
        "items": pairing.items,
        "left_out": asdict(pairing.left_out),
        "groups": [
            {
                "by": one.by,
                "value": one.value,
                "measures": [_line(line, confidence) for line in one.lines],
            }
            for one in comparison.strata
        ],
        "totals": [
            {
                "total": one.total.name,
                "measure": one.measure.name,
                "before": one.before,
                "after": one.after,
                "difference": one.difference,
                "low": one.low,
                "high": one.high,
            }
            for one in comparison.totals
        ],
        "tries": [_passing(one) for one in comparison.passes],
        "flips": [_discordant(benchmark, comparison, pair) for pair in comparison.discordant],
    }


def _line(line: Line, confidence: float) -> JSON:
    found: dict[str, JSON] = {one.name: getattr(line, one.name) for one in fields(line)}
    measure: dict[str, JSON] = {"measure": line.measure.name, "unit": line.measure.unit}
    found["disagreement"] = line.disagreement(confidence)
    return {**found, **measure, "mid_p": line.mid_p, "detectable": line.detectable}


def _passing(one: Passing) -> JSON:
    found: dict[str, JSON] = {part.name: getattr(one, part.name) for part in fields(one)}
    del found["measure"]
    rates: dict[str, JSON] = {"before": asdict(one.before), "after": asdict(one.after)}
    return {**found, "rule": one.measure.name, **rates}


def _discordant(benchmark: Benchmark, comparison: Comparison, pair: Pair) -> JSON:
    before, after = comparison.pairing.sides
    return {
        **pair.key._asdict(),
        "before": _episode(benchmark, before, pair.before),
        "after": _episode(benchmark, after, pair.after),
    }


def _episode(benchmark: Benchmark, side: Side, one: Attempt) -> dict[str, JSON]:
    right = {
        measure.name: one.score is not None and measure.holds(one.score)
        for measure in benchmark.answer_measures
        if measure.binary
    }
    names: dict[str, JSON] = {"episode": one.episode, "answer": side.answer(one)}
    return {**names, **right, "trace": side.stored_at(one)}
