"""Lost episodes and their repairs, as text and as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console

from toolhop_agents.compare.cells import amount, interval, table_of
from toolhop_agents.terminal import plain
from toolhop_agents.why.cause import CONFIDENCE, Stage, Trial
from toolhop_agents.why.conduct import estimated
from toolhop_agents.why.folder import Lost
from toolhop_agents.why.steps import Repair
from toolhop_env.measures import Unit
from toolhop_env.statistics.shares import difference
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import counted


def cost(lost: Sequence[Lost], continuations: int) -> str:
    """Return a sentence on what the repairs will take, from the replies that the run took."""
    steps = sum(bool(one.repairs) for one in lost)
    taken = estimated(lost, continuations)
    usd = "" if taken.cost_usd is None else f", ${taken.cost_usd:,.2f}"
    return (
        f"{counted(len(lost), 'lost episode')}, {steps} with a divergence that a gold call can "
        f"repair; {continuations} continuations of each, as played and repaired: about "
        f"{counted(taken.replies, 'model call')}, {taken.tokens:,} tokens{usd}; up to three times "
        "as much if the first divergence is no cause"
    )


def print_lost(console: Console, lost: Sequence[Lost]) -> None:
    """Print each lost episode with its divergence, and what its repairs show."""
    tried = any(one.trials for one in lost)
    table = table_of("Lost episodes", ("episode", "divergence", *(["cause"] * tried)), ("turn",))
    if tried:
        table.add_columns("as played", "repaired", f"{CONFIDENCE:.1%} interval", right=True)
    for one in lost:
        first = one.first
        cells = (one.attempt.episode, first.kind if first else "", *([one.cause] * tried))
        table.add_row(*map(plain, (*cells, str(first.turn) if first else "")))
        for stage, trial in one.trials.items():
            if trial is not None:
                turn = str(one.repairs[stage is Stage.NEXT].turn) if stage is not Stage.BOTH else ""
                table.add_row("", f"  {stage} repaired", "", turn, *_cells(trial))
    console.print(table if lost else "No episode is lost.")
    for sentence in _sentences(lost) if tried else ():
        console.print(plain(sentence))


def _cells(trial: Trial) -> tuple[str, ...]:
    found = trial.found
    shares = (f"{round(side * found.n)} of {found.n}" for side in (found.before, found.after))
    limits = "alike" if trial.identical else interval(Unit.SHARE, found.low, found.high, digits=0)
    return (*shares, limits)


def _sentences(lost: Sequence[Lost]) -> Iterator[str]:
    """Yield how often each cause was found, and how sure that is."""
    causes = Counter(one.cause for one in lost)
    yield "cause: " + ", ".join(f"{name} {number}" for name, number in causes.most_common())
    firsts: dict[str, list[tuple[bool, bool]]] = {}
    for one in lost:
        if trial := one.trials.get(Stage.FIRST):
            firsts.setdefault(one.attempt.cluster, []).extend(trial.counted)
    if firsts:
        all_ = difference(firsts, seed=0)
        shares = [
            amount(Unit.SHARE, side, digits=1) for side in (all_.found.before, all_.found.after)
        ]
        limits = interval(Unit.SHARE, all_.low, all_.high, digits=1)
        yield (
            f"first divergence repaired: right {shares[0]} → {shares[1]} per cent "
            f"(95 % interval {limits}), {counted(all_.items, 'item')}"
        )
    alike = sum(any(trial and trial.identical for trial in one.trials.values()) for one in lost)
    if alike:
        yield (
            f"The continuations of {counted(alike, 'episode')} are all alike, those of a "
            "deterministic agent: they count as one, without an interval."
        )


def to_json(one: Lost) -> dict[str, JSON]:
    """Return a lost episode, its divergences and trials as plain values; shares from 0 to 1."""
    return {
        "episode": one.attempt.episode,
        "item": one.attempt.item,
        "divergence": one.first.to_json() if one.first else None,
        "repairs": [_repair(repair) for repair in one.repairs],
        "cause": one.cause,
        "trials": {stage: _trial(trial) for stage, trial in one.trials.items() if trial},
    }


def _repair(repair: Repair) -> JSON:
    gold: JSON = {"tool": repair.tool, "arguments": dict(repair.arguments)}
    return {"divergence": repair.divergence.to_json(), "gold": gold}


def _trial(trial: Trial) -> JSON:
    found = trial.found
    return {
        "pairs": found.n,
        "as_played": found.before,
        "repaired": found.after,
        "difference": found.difference,
        "low": None if trial.identical else found.low,
        "high": None if trial.identical else found.high,
        "identical": trial.identical,
    }
