"""`toolhop score`: score finished runs again, from their traces alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from toolhop_agents.ablate.folder import opened
from toolhop_agents.cli import EXIT_EPISODES
from toolhop_agents.cli.diagnose import print_headlines
from toolhop_agents.runs.certified import marked
from toolhop_agents.table import by_agent, print_tables, table_console, to_json
from toolhop_env.attempt import Attempt, counting
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.diagnosis.of_conduct import conduct_findings
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_env.summary import Summary, summarize
from toolhop_sandbox.outcome import JSON


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Figures as JSON on standard output.")
@click.option("--episodes", is_flag=True, help="One JSON line an episode instead of the tables.")
def score(runs: Sequence[Path], as_json: bool, episodes: bool) -> None:
    """Score RUNS again from their traces and print the table over all of them.

    No model is asked and no tool is run. Runs of one agent with the same mode, feedback,
    tool-call format and tool perturbation are pooled. The folder of an ablation has a row for
    each of its arms. Exit code 1 where episodes are errored.
    """
    attempts = list(_attempts(runs))
    if episodes:
        for arm, one in attempts:
            click.echo(json.dumps(_line(arm, one), ensure_ascii=False))
        return
    summaries = _summaries(attempts)
    if as_json:
        plain = [_figures(arm, one) for arm, one in summaries]
        click.echo(json.dumps(plain, ensure_ascii=False))
    else:
        _print(summaries)
        print_headlines(table_console(), conduct_findings(one for _, one in attempts))
    if any(summary.errored for _, summary in summaries):
        raise SystemExit(EXIT_EPISODES)


def _attempts(runs: Sequence[Path]) -> Iterator[tuple[str, Attempt]]:
    """The attempts that count, each with the arm it is of (empty for none)."""
    for arm, store in opened(runs):
        found = counting(store.scored_anew())
        known = marked(found, store.items().items) if _certified(store) else found
        for one in known:
            yield arm, one


def _certified(store: RunStore) -> bool:
    settings = store.manifest.get("settings", {})
    return bool(settings.get("certificates") or settings.get("certified_only"))


def _summaries(attempts: Sequence[tuple[str, Attempt]]) -> list[tuple[str, Summary]]:
    """Arms one by one, all that is no arm pooled."""
    return [
        (arm, summary)
        for arm in dict.fromkeys(arm for arm, _ in attempts)
        for summary in summarize(one for name, one in attempts if name == arm)
    ]


def _print(summaries: Sequence[tuple[str, Summary]]) -> None:
    arms = [
        replace(one, group=replace(one.group, agent=arm)) if arm else one for arm, one in summaries
    ]
    # An arm's name says its level.
    labels = by_agent(arms) if any(arm for arm, _ in summaries) else None
    print_tables(table_console(), arms, labels)


def _figures(arm: str, summary: Summary) -> JSON:
    (plain,) = to_json([summary])
    return {"arm": arm, **plain} if arm and isinstance(plain, dict) else plain


def _line(arm: str, one: Attempt) -> dict[str, JSON]:
    """An episode's verdict as plain values; an errored one has a reason in place of a score."""
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
        "epoch": one.epoch,
        "attempt": one.attempt,
    }
    if one.score is None:
        return {**head, "errored": one.errored}
    return {**head, "score": {**_values(one.score, named(one.benchmark)), **_conduct(one.score)}}


def _values(score: Score, benchmark: Benchmark) -> dict[str, JSON]:
    """By measure: yes or no, or numerator and denominator; null where there is no figure."""
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
