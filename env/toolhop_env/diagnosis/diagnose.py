"""Find what looks wrong in traces.

`diagnose` is a pure function. Each kind of finding has a check, with its thresholds as constants
above it and an entry in docs/diagnosis.md. A finding is a reason to look at the episodes it names;
it changes no score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from toolhop_env.attempt import Attempt
from toolhop_env.diagnosis import of_answers, of_tools
from toolhop_env.diagnosis.facts import Same, Seen, distinct, seen_in
from toolhop_env.diagnosis.finding import Finding, Severity
from toolhop_env.runs.judgements import Judgements
from toolhop_env.trace import Trace

CHECKS: tuple[Callable[[Sequence[Seen]], Iterator[Finding]], ...] = (
    of_tools.nothing_ended,
    of_tools.errored_episodes,
    of_tools.failing_tools,
    of_tools.refused_tools,
    of_tools.tools_at_limits,
    of_tools.silent_milestones,
    of_tools.unsolved_items,
    of_answers.scoring_baselines,
    of_answers.scorer_gaps,
    of_answers.repairable_calls,
    of_answers.same_answers,
    of_answers.tools_unseen,
    of_answers.cut_replies,
)


def diagnose(
    runs: Mapping[str, Iterable[Trace]], judgements: Mapping[str, Judgements] | None = None
) -> list[Finding]:
    """Return what looks wrong in these runs taken together, the worst first.

    Args:
        runs: traces by run name; read one at a time, keeping a few hundred bytes of each.
        judgements: the judge's answers by run name; runs without a judge may be missing.

    Raises:
        UnknownBenchmark: a trace's benchmark is not installed here.
    """
    said = judgements or {}
    return diagnose_scored(
        {name: _scored(traces, said.get(name) or Judgements()) for name, traces in runs.items()}
    )


def _scored(traces: Iterable[Trace], said: Judgements) -> Iterator[tuple[Trace, Attempt]]:
    return ((trace, said.attempt(trace)) for trace in traces if trace.ended is not None)


def diagnose_scored(runs: Mapping[str, Iterable[tuple[Trace, Attempt]]]) -> list[Finding]:
    """Diagnose traces that are already scored; unfinished ones are skipped."""
    seen: list[Seen] = []
    same = Same()
    for name, scored in runs.items():
        seen += seen_in(name if len(runs) > 1 else "", scored, same)
    seen = distinct(seen)
    found = [finding for check in CHECKS for finding in check(seen)]
    return sorted(found, key=lambda finding: list(Severity).index(finding.severity))
