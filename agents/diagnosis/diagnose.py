"""From traces to findings.

`diagnose` is a pure function. Each kind of finding is a check, with its thresholds as constants
above it and a line in docs/diagnosis.md. A finding is a reason to look, with the episodes to look
at; it changes no score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from agents.diagnosis import of_answers, of_tools
from agents.diagnosis.facts import Seen, seen_in, told_apart
from agents.diagnosis.finding import Finding, Severity
from env.trace import Trace

CHECKS: tuple[Callable[[Sequence[Seen]], Iterator[Finding]], ...] = (
    of_tools.nothing_ended,
    of_tools.void_episodes,
    of_tools.failing_tools,
    of_tools.refused_tools,
    of_tools.tools_at_limits,
    of_tools.silent_hops,
    of_tools.unsolved_items,
    of_answers.scoring_baselines,
    of_answers.rule_gaps,
    of_answers.lost_answers,
    of_answers.cut_replies,
    of_answers.repairable_calls,
    of_answers.same_answers,
)


def diagnose(runs: Mapping[str, Iterable[Trace]]) -> list[Finding]:
    """What looks wrong in all of these runs taken together, the worst first.

    Args:
        runs: traces by the run's name; read one by one, and a few hundred bytes kept of each.
    """
    several = len(runs) > 1
    seen = [
        one for name, traces in runs.items() for one in seen_in(name if several else "", traces)
    ]
    told = told_apart(seen)
    found = [finding for check in CHECKS for finding in check(told)]
    return sorted(found, key=lambda finding: list(Severity).index(finding.severity))
