"""`toolhop score`: score finished runs again, from their traces alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from agents.ablate.folder import opened
from agents.cli import EXIT_EPISODES
from agents.runs.certified import marked
from agents.runs.store import RunStore
from agents.table import by_player, print_tables, table_console, to_json
from env.score import Void
from env.summary import Judged, Summary, counting, judge, summarize
from sandbox.outcome import JSON


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Figures as JSON on standard output.")
@click.option("--episodes", is_flag=True, help="One JSON line an episode instead of the tables.")
def score(runs: Sequence[Path], as_json: bool, episodes: bool) -> None:
    """Score RUNS again from their traces and print the table over all of them.

    No model is asked and no tool is run. Runs of one player with the same mode, feedback and
    dialect are pooled. The folder of an ablation has a row for each of its arms. Exit code 1
    where episodes are void.
    """
    judged = list(_judged(runs))
    if episodes:
        for arm, one in judged:
            click.echo(json.dumps(_line(arm, one), ensure_ascii=False))
        return
    summaries = _summaries(judged)
    if as_json:
        plain = [_told(arm, one) for arm, one in summaries]
        click.echo(json.dumps(plain, ensure_ascii=False))
    else:
        _print(summaries)
    if any(summary.void for _, summary in summaries):
        raise SystemExit(EXIT_EPISODES)


def _judged(runs: Sequence[Path]) -> Iterator[tuple[str, Judged]]:
    """The verdicts that count, each with the arm it is of (empty for none)."""
    for arm, store in opened(runs):
        judged = counting(judge(trace) for trace in store.traces())
        known = marked(judged, store.items().items) if _certified(store) else judged
        for one in known:
            yield arm, one


def _certified(store: RunStore) -> bool:
    settings = store.manifest.get("settings", {})
    return bool(settings.get("certificates") or settings.get("certified_only"))


def _summaries(judged: Sequence[tuple[str, Judged]]) -> list[tuple[str, Summary]]:
    """Arms one by one, all that is no arm pooled."""
    return [
        (arm, summary)
        for arm in dict.fromkeys(arm for arm, _ in judged)
        for summary in summarize(one for name, one in judged if name == arm)
    ]


def _print(summaries: Sequence[tuple[str, Summary]]) -> None:
    arms = [replace(one, player=arm) if arm else one for arm, one in summaries]
    # An arm's name says its level.
    labels = by_player(arms) if any(arm for arm, _ in summaries) else None
    print_tables(table_console(), arms, labels)


def _told(arm: str, summary: Summary) -> JSON:
    (plain,) = to_json([summary])
    return {"arm": arm, **plain} if arm and isinstance(plain, dict) else plain


def _line(arm: str, one: Judged) -> dict[str, JSON]:
    """An episode's verdict as plain values; a void one has a reason in place of a score."""
    head: dict[str, JSON] = {
        **({"arm": arm} if arm else {}),
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
