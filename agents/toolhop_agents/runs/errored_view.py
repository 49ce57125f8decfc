"""Why episodes are errored, said once after a run or an ablation."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from toolhop_env.attempt import Attempt
from toolhop_env.diagnosis.of_tools import causes_of
from toolhop_env.score import Errored


def report_errored(errors: Console, judged: Iterable[Attempt]) -> None:
    """The most frequent cause as it was first said, fix included; nothing where none is errored."""
    reasons = [one.verdict.reason for one in judged if isinstance(one.verdict, Errored)]
    if not reasons:
        return
    causes = causes_of(reasons)
    most, count = causes.most_common(1)[0]
    head = f"{len(reasons)} errored:"
    if len(causes) > 1:
        head = f"{len(reasons)} errored, by {len(causes)} causes (toolhop diagnose); {count} times:"
    first = next((reason for reason in reasons if reason.strip().startswith(most)), most)
    errors.print(head, first, markup=False, highlight=False, soft_wrap=True)
