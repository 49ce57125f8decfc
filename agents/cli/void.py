"""Why episodes are void, told once after a run or an ablation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console

from agents.diagnosis.of_tools import cause
from env.score import Void
from env.summary import Judged


def tell_void(errors: Console, judged: Iterable[Judged]) -> None:
    """The most frequent cause as it was told first, fix included; nothing where none is void."""
    reasons = [one.verdict.reason for one in judged if isinstance(one.verdict, Void)]
    if not reasons:
        return
    causes = Counter(map(cause, reasons))
    most, count = causes.most_common(1)[0]
    head = f"{len(reasons)} void:"
    if len(causes) > 1:
        head = f"{len(reasons)} void, by {len(causes)} causes (toolhop diagnose); {count} times:"
    told = next(reason for reason in reasons if cause(reason) == most)
    errors.print(head, told, markup=False, highlight=False, soft_wrap=True)
