"""`toolhop compare`: compare runs pair by pair."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from toolhop_agents.cli.flags import (
    confidence_option,
    discordant_option,
    resamples_option,
)
from toolhop_agents.cli.json_output import json_option, table_format
from toolhop_agents.cli.options import setting_option
from toolhop_agents.compare.plain import to_json
from toolhop_agents.compare.published import beside
from toolhop_agents.compare.report import ComparisonRequest, read_and_compare
from toolhop_agents.compare.view import print_report
from toolhop_agents.table import table_console
from toolhop_env.benchmark import Benchmark
from toolhop_env.official import State, apart, reported
from toolhop_env.pairs.line import Options
from toolhop_env.runs.sides import Side


def _ks(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    try:
        found = sorted({int(part) for part in value.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise click.BadParameter(f"{value!r}; give numbers of tries from 1 up, such as 1,2,4")
    return tuple(found)


@click.command(context_settings={"show_default": True})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--by",
    metavar="FACET",
    default=None,
    help="Split figures by mode, domain, hops, or a facet of the benchmark's own; `divergence` "
    "compares what went wrong first.  [default: by mode, where several were played]",
)
@click.option("--common", is_flag=True, help="Compare the items, modes and epochs that both have.")
@click.option("--allow-differences", is_flag=True, help="Compare even if several settings differ.")
@click.option(
    "--k",
    "ks",
    callback=_ks,
    default=None,
    help="Tries of pass@k and pass^k, such as "
    "1,2,4.  [default: powers of two, where there are epochs]",
)
@click.option("--published", is_flag=True, help="Add the benchmark's published table.")
@discordant_option(20)
@confidence_option
@resamples_option
@setting_option("seed")
@table_format
@json_option
def compare(
    runs: Sequence[Path],
    by: str | None,
    common: bool,
    allow_differences: bool,
    ks: tuple[int, ...] | None,
    published: bool,
    discordant: int,
    confidence: float,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Compare RUNS with the first of them, episode by episode.

    Episodes are paired by item, mode and epoch; pairs with an errored side are left out and
    counted. Runs are refused, with the differences, if benchmark or items differ, or more than
    one setting that may change a result. No model is asked and no tool is run. With --published a
    single run is enough. docs/comparing.md has the methods.
    """
    if len(runs) < 2 and not published:
        raise click.UsageError(
            "one run is compared with nothing; give two or more, or one with --published"
        )
    request = ComparisonRequest(
        by=by,
        ks=ks,
        common=common,
        allow_differences=allow_differences,
        options=Options(seed=seed, resamples=resamples, confidence=confidence),
    )
    report = read_and_compare(runs, request)
    reference = None
    if published:
        asked = {side.letter: len(side.asked) for side in report.sides}
        differs = {side.letter: _differs(report.benchmark, side) for side in report.sides}
        reference = beside(report.benchmark.name, asked, differs)
    if as_json:
        click.echo(json.dumps(to_json(report, reference), ensure_ascii=False))
        return
    print_report(table_console(), report, most=discordant, reference=reference)


def _differs(benchmark: Benchmark, side: Side) -> list[str]:
    """List the conditions, apart from the items, in which a run differs from the official
    set-up.
    """
    manifest = {**side.facts, "settings": side.settings, "sessions": []}
    found = dict(apart(reported(benchmark.conditions.official, manifest)))
    return [one.condition.name for one in found[State.DIFFERS] if one.condition.name != "items"]
