"""`toolhop score`: score finished runs again, from their traces alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from agents.cli import EXIT_EPISODES
from agents.runs.certified import marked
from agents.runs.store import RunStore
from agents.table import print_tables, table_console, to_json
from env.score import Void
from env.summary import Judged, counting, judge, summarize
from sandbox.outcome import JSON


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Figures as JSON on standard output.")
@click.option("--episodes", is_flag=True, help="One JSON line an episode instead of the tables.")
def score(runs: Sequence[Path], as_json: bool, episodes: bool) -> None:
    """Score RUNS again from their traces and print the table over all of them.

    No model is asked and no tool is run. Runs of one player with the same mode, feedback and
    dialect are pooled. Exit code 1 where episodes are void.
    """
    judged = list(_judged(runs))
    if episodes:
        for one in judged:
            click.echo(json.dumps(_line(one), ensure_ascii=False))
        return
    summaries = summarize(judged)
    if as_json:
        click.echo(json.dumps(to_json(summaries), ensure_ascii=False))
    else:
        print_tables(table_console(), summaries)
    if any(summary.void for summary in summaries):
        raise SystemExit(EXIT_EPISODES)


def _judged(runs: Sequence[Path]) -> Iterator[Judged]:
    for folder in runs:
        store = RunStore.open(folder)
        judged = counting(judge(trace) for trace in store.traces())
        yield from marked(judged, store.items().items) if _certified(store) else judged


def _certified(store: RunStore) -> bool:
    settings = store.manifest.get("settings", {})
    return bool(settings.get("certificates") or settings.get("certified_only"))


def _line(one: Judged) -> dict[str, JSON]:
    """An episode's verdict as plain values; a void one has a reason in place of a score."""
    head: dict[str, JSON] = {
        "episode": one.episode,
        "player": one.player,
        "item": one.item,
        "mode": one.mode,
        "feedback": one.feedback.value,
        "dialect": one.dialect.value,
        "epoch": one.epoch,
        "attempt": one.attempt,
    }
    if isinstance(one.verdict, Void):
        return {**head, "void": one.verdict.reason}
    return {**head, "score": asdict(one.verdict)}
