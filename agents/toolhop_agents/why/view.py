"""Lost episodes and their repairs, as text and as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from toolhop_agents.compare.cells import interval, table_of
from toolhop_agents.terminal import plain
from toolhop_agents.why.cause import CONFIDENCE, Stage, Trial
from toolhop_agents.why.conduct import estimated
from toolhop_agents.why.folder import Lost
from toolhop_env.measures import Unit
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import counted

TAKES = ("model calls", "tokens")
ALIKE = "alike"
"""In place of an interval."""


def cost(lost: Sequence[Lost], continuations: int) -> str:
    """Say what the repairs will take, by the replies that the run took."""
    taken, steps = estimated(lost, continuations), sum(bool(one.repairs) for one in lost)
    head = f"{counted(len(lost), 'lost episode')}, {steps} with a gold call for a divergence"
    if not steps:
        return f"{head}; --certificates gives the gold calls that `toolhop certify` proved"
    usd = "" if taken.cost_usd is None else f", ${taken.cost_usd:,.2f}"
    return (
        f"{head}; {continuations} continuations of each, as played and repaired: about "
        f"{counted(taken.replies, 'model call')}, {taken.tokens:,} tokens{usd}; up to three times "
        "that where the first repair changes nothing"
    )


def print_lost(console: Console, lost: Sequence[Lost], continuations: int) -> None:
    """Print each lost episode: its first divergence, and what repairs show, or would take."""
    if not lost:
        console.print("No episode is lost.")
        return
    tried = any(one.trials for one in lost)
    numbers = ("as played", "repaired", f"{CONFIDENCE:.1%} interval") if tried else TAKES
    texts = ("episode", "first divergence", "cause" if tried else "gold call")
    table = table_of("Lost episodes", texts, ("turn", *numbers))
    for one in lost:
        kind, turn = (one.first.kind, str(one.first.turn)) if one.first else ("", "")
        found = one.cause if tried or not one.repairs else one.repairs[0].tool
        taken = estimated([one], continuations)
        takes = ["", "", ""] if tried else [f"{taken.replies:,}", f"{taken.tokens:,}"]
        table.add_row(*map(plain, (one.attempt.episode, kind, found, turn, *takes)))
        for stage, trial in one.trials.items():
            if trial is not None:
                repair = None if stage is Stage.BOTH else one.repairs[stage is Stage.NEXT]
                at = str(repair.turn) if repair else ""
                what = f"{stage}: {repair.tool}" if repair else stage
                table.add_row(*map(plain, ("", what, "", at, *_cells(trial))))
    console.print(table)
    causes = Counter(one.cause for one in lost if tried)
    if causes:
        console.print(", ".join(f"{name} {number}" for name, number in causes.most_common()))
    alike = sum(any(trial and trial.identical for trial in one.trials.values()) for one in lost)
    if alike:
        text = f"{ALIKE}: all continuations of {counted(alike, 'episode')} are the same, those of"
        console.print(plain(f"{text} a deterministic agent; they count as one, without interval"))


def _cells(trial: Trial) -> tuple[str, str, str]:
    found = trial.found
    before, after = (
        f"{round(side * found.n)} of {found.n}" for side in (found.before, found.after)
    )
    limits = interval(Unit.SHARE, found.low, found.high, digits=0)
    return before, after, ALIKE if trial.identical else limits


def to_json(one: Lost, continuations: int) -> dict[str, JSON]:
    """Return a lost episode as plain values; shares are from 0 to 1."""
    taken = estimated([one], continuations)
    return {
        "episode": one.attempt.episode,
        "item": one.attempt.item,
        "divergence": one.first.to_json() if one.first else None,
        "repairs": [
            {
                "divergence": repair.divergence.to_json(),
                "tool": repair.tool,
                "arguments": dict(repair.arguments),
            }
            for repair in one.repairs
        ],
        "takes": {
            "model_calls": taken.replies,
            "tokens": taken.tokens,
            "cost_usd": taken.cost_usd,
        },
        "trials": {stage: _trial(trial) for stage, trial in one.trials.items() if trial},
        "cause": one.cause,
    }


def _trial(trial: Trial) -> JSON:
    found, alike = trial.found, trial.identical
    return {
        "pairs": found.n,
        "as_played": found.before,
        "repaired": found.after,
        "low": None if alike else found.low,
        "high": None if alike else found.high,
        "identical": alike,
    }
