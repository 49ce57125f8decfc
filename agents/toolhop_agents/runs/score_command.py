"""`toolhop score`: score finished runs again, from their traces alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from toolhop_agents.ablate.folder import opened
from toolhop_agents.cli import EXIT_EPISODES
from toolhop_agents.cli.json_output import json_option, table_format
from toolhop_agents.plain_summary import to_json
from toolhop_agents.runs.certified import marked, selected
from toolhop_agents.table import (
    RowLabels,
    by_agent,
    print_tables,
    scorer_table,
    table_console,
)
from toolhop_agents.table_forms import Form
from toolhop_env.attempt import Attempt, counting, counting_streamed
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.facets import DOMAIN, in_order, splitting
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_env.summary import Summary, Summing
from toolhop_env.sums import Rank, in_run
from toolhop_sandbox.outcome import JSON


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by", metavar="FACET",
              help="Split figures by mode, domain, hops, or a facet of the "
              "benchmark's own.")  # fmt: skip
@table_format
@json_option
@click.option(
    "--episodes", is_flag=True, help="One JSON line for each episode instead of the tables."
)
def score(runs: Sequence[Path], by: str | None, as_json: bool, episodes: bool) -> None:
    """Score RUNS again from their traces and print the table over all of them.

    No model is asked and no tool is run. Runs of one agent with the same mode, feedback,
    tool-call format, tool perturbation, results and phrasing are pooled. The folder of an
    ablation has a row for each of its arms. Exit code 1 if episodes are errored.
    """
    if episodes:
        if as_json or table_console().form is not Form.TABLE:
            raise click.UsageError("--episodes writes no table: leave out --json and --format")
        _print_episodes(runs)
        return
    part = _splitting(runs, by) if by else None
    whole, split = _Arms(), _Arms()
    for number, (arm, store) in enumerate(opened(runs)):
        for one in _marked(store, counting_streamed(store.scored_anew, store.attempts)):
            rank = (number, *in_run(one)[1:])
            whole.add(arm, one, rank)
            if part:
                split.add(arm, one, rank, part(one))
    summaries = whole.summaries()
    parts = sorted(split.summaries(), key=lambda found: in_order(found[1].group.part))
    if as_json:
        plain = [_figures(arm, one) for arm, one in summaries]
        plain += [_part(arm, by, one) for arm, one in parts]
        click.echo(json.dumps(plain, ensure_ascii=False))
    else:
        print_tables(table_console(), _named(summaries), _labels(summaries))
        if by:
            _print_parts(by, parts)
        for _, store in opened(runs):
            if _certified(store) and (line := selected(store.items().items, (), None)):
                click.echo(line)
    if any(summary.errored for _, summary in summaries):
        raise SystemExit(EXIT_EPISODES)


def _print_episodes(runs: Sequence[Path]) -> None:
    for arm, store in opened(runs):
        for one in _marked(store, counting(store.scored_anew())):
            click.echo(json.dumps(_line(arm, one), ensure_ascii=False))


class _Arms:
    """Streaming figures of each arm, with everything outside of arms pooled. No attempt is kept."""

    def __init__(self) -> None:
        self._of: dict[str, Summing] = defaultdict(Summing)

    def add(self, arm: str, one: Attempt, rank: Rank, part: str = "") -> None:
        """Add an attempt; see `Summing.add`."""
        self._of[arm].add(one, rank, part)

    def summaries(self) -> list[tuple[str, Summary]]:
        """Return each summary with its arm, which is empty for none."""
        return [(arm, found) for arm, sums in self._of.items() for found in sums.summaries()]


def _marked(store: RunStore, attempts: Iterable[Attempt]) -> Iterable[Attempt]:
    """Mark attempts with their run's treatment, and proven items if the run used certificates."""
    settings = store.manifest.get("settings") or {}
    usual = (("results", "as-is"), ("phrasing", "usual"))
    treated = ", ".join(str(settings[key]) for key, one in usual if settings.get(key, one) != one)
    attempts = (replace(one, treatment=treated) if treated else one for one in attempts)
    return marked(attempts, store.items().items) if _certified(store) else attempts


def _certified(store: RunStore) -> bool:
    settings = store.manifest.get("settings", {})
    return bool(settings.get("certificates") or settings.get("certified_only"))


def _splitting(runs: Sequence[Path], by: str) -> Callable[[Attempt], str]:
    """Return a function that gives the facet's value of an attempt."""
    stores = [store for _, store in opened(runs)]
    known = (
        {item.id: item.domain for store in stores for item in store.items().items}
        if (by == DOMAIN)
        else {}
    )
    return splitting(by, (one for store in stores for one in store.attempts()), known)


def _part(arm: str, by: str | None, summary: Summary) -> JSON:
    plain = _figures(arm, summary)
    return {"by": by, "part": summary.group.part, **(plain if isinstance(plain, dict) else {})}


def _print_parts(by: str, parts: Sequence[tuple[str, Summary]]) -> None:
    for name in dict.fromkeys(one.group.benchmark for _, one in parts):
        these = [one for one in _named(parts) if one.group.benchmark == name]
        found = scorer_table(these[0].benchmark, these, _labels(parts), by=by)
        if found is not None:
            click.echo()
            table_console().print(found)


def _named(summaries: Sequence[tuple[str, Summary]]) -> list[Summary]:
    return [
        replace(one, group=replace(one.group, agent=arm)) if arm else one for arm, one in summaries
    ]


def _labels(summaries: Sequence[tuple[str, Summary]]) -> RowLabels | None:
    """Return row labels with the arms' names, which include the level; None without arms."""
    return by_agent(_named(summaries)) if any(arm for arm, _ in summaries) else None


def _figures(arm: str, summary: Summary) -> JSON:
    (plain,) = to_json([summary])
    return {"arm": arm, **plain} if arm and isinstance(plain, dict) else plain


def _line(arm: str, one: Attempt) -> dict[str, JSON]:
    """Return an episode's verdict as plain values, with a reason instead of a score if it
    errored.
    """
    head: dict[str, JSON] = {
        **({"arm": arm} if arm else {}),
        "episode": one.episode,
        "agent": one.agent,
        "benchmark": one.benchmark,
        "item": one.item,
        "mode": one.mode,
        "feedback": one.feedback.value,
        "call_format": one.call_format.value,
        "perturbation": one.perturbation,
        "treatment": one.treatment,
        "judge": one.judge,
        "epoch": one.epoch,
        "attempt": one.attempt,
    }
    if one.score is None:
        return {**head, "errored": one.errored}
    return {**head, "score": {**_values(one.score, named(one.benchmark)), **_conduct(one.score)}}


def _values(score: Score, benchmark: Benchmark) -> dict[str, JSON]:
    """Return the values by measure: a boolean, or numerator and denominator; null if there is
    none.
    """
    found: dict[str, JSON] = {}
    for measure in benchmark.measures:
        parts = measure.of(score)
        if parts is None:
            found[measure.name] = None
        else:
            found[measure.name] = parts[0] > 0 if measure.binary else list(parts)
    return found


def _conduct(score: Score) -> dict[str, JSON]:
    found: dict[str, JSON] = asdict(score.conduct)
    errors: dict[str, JSON] = {code.value: count for code, count in score.conduct.errors.items()}
    return {**found, "ending": score.conduct.ending.value, "errors": errors}
