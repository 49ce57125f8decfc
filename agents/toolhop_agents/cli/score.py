"""`toolhop score`: score finished runs again, from their traces alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from toolhop_agents.ablate.folder import opened
from toolhop_agents.cli import EXIT_EPISODES
from toolhop_agents.cli.diagnose import print_headlines
from toolhop_agents.plain_summary import to_json
from toolhop_agents.runs.certified import marked
from toolhop_agents.table import (
    RowLabels,
    by_agent,
    print_tables,
    scorer_table,
    table_console,
)
from toolhop_env.attempt import Attempt, counting
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.diagnosis.of_conduct import conduct_findings
from toolhop_env.facets import DOMAIN, in_order, splitting
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_env.summary import Summary, summarize
from toolhop_sandbox.outcome import JSON


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by", metavar="FACET",
              help="Figures by domain, hops, or a facet of the benchmark's own, too.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Figures as JSON on standard output.")
@click.option("--episodes", is_flag=True, help="One JSON line an episode instead of the tables.")
def score(runs: Sequence[Path], by: str | None, as_json: bool, episodes: bool) -> None:
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
    parts = _parts(runs, attempts, by) if by else []
    if as_json:
        plain = [_figures(arm, one) for arm, one in summaries]
        plain += [_part(arm, by, one) for arm, one in parts]
        click.echo(json.dumps(plain, ensure_ascii=False))
    else:
        _print(summaries)
        if by:
            _print_parts(by, parts)
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


def _summaries(
    attempts: Sequence[tuple[str, Attempt]], part: Callable[[Attempt], str] = lambda _: ""
) -> list[tuple[str, Summary]]:
    """Arms one by one, all that is not an arm pooled."""
    return [
        (arm, summary)
        for arm in dict.fromkeys(arm for arm, _ in attempts)
        for summary in summarize((one for name, one in attempts if name == arm), part)
    ]


def _parts(
    runs: Sequence[Path], attempts: Sequence[tuple[str, Attempt]], by: str
) -> list[tuple[str, Summary]]:
    """The same for each value of a facet, in their order.

    Raises:
        UnknownFacet: the episodes have none of that name.
    """
    stores = [store for _, store in opened(runs)] if by == DOMAIN else []
    known = {item.id: item.domain for store in stores for item in store.items().items}
    part = splitting(by, (one for _, one in attempts), known)
    return sorted(_summaries(attempts, part), key=lambda one: in_order(one[1].group.part))


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


def _print(summaries: Sequence[tuple[str, Summary]]) -> None:
    print_tables(table_console(), _named(summaries), _labels(summaries))


def _named(summaries: Sequence[tuple[str, Summary]]) -> list[Summary]:
    return [
        replace(one, group=replace(one.group, agent=arm)) if arm else one for arm, one in summaries
    ]


def _labels(summaries: Sequence[tuple[str, Summary]]) -> RowLabels | None:
    """Names of arms, which say their level; None where there is no arm."""
    return by_agent(_named(summaries)) if any(arm for arm, _ in summaries) else None


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
        "judge": one.judge,
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
