"""`toolhop explain`: list how runs differ from the official set-up of their benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.text import Text

from toolhop_agents.ablate.folder import opened
from toolhop_agents.cli.json_output import json_option, table_format, write_json
from toolhop_agents.compare.conditions import DEFAULTS
from toolhop_agents.compare.methods import methods, methods_of_certificates, methods_of_made
from toolhop_agents.construct.folder import is_made
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import table_console
from toolhop_agents.table_forms import Form
from toolhop_agents.terminal import plain
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.official import Reported, State, apart, reported, settings_of
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.store import RunStore
from toolhop_sandbox.outcome import JSON


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--methods",
    "as_methods",
    is_flag=True,
    help="Instead, how each run was made, in sentences for a paper's methods section; also of "
    "certificates and of folders that `toolhop construct` made.",
)
@table_format
@json_option
def explain(runs: Sequence[Path], as_methods: bool, as_json: bool) -> None:
    """List what in RUNS differs from the official set-up of their benchmark.

    Prompt, sampling, tools, replies, judge and the like, from each run's manifest alone: why its
    figures are not those of a paper, whatever the model. The last line has what is the same.
    """
    if as_methods:
        if table_console().form is not Form.TABLE:
            raise click.UsageError("--methods writes no table: leave out --methods or --format")
        told = [_methods(path) for path in runs]
        if as_json:
            write_json(
                [{"run": str(run), "methods": text} for run, text in zip(runs, told, strict=True)]
            )
        else:
            click.echo("\n\n".join(told))
        return
    found = [(store, _benchmark(store)) for _, store in opened(runs)]
    each = [(store, of, reported(of.conditions.official, _manifest(store))) for store, of in found]
    if as_json:
        write_json([_plain(*one) for one in each])
        return
    console = table_console()
    for store, benchmark, conditions in each:
        settings = settings_of(store.manifest)
        agent = settings.get("model") or f"the script {settings.get('agent')}"
        text = f"{store.folder}: {benchmark.title}, played by {agent}"
        console.print(plain(text), soft_wrap=True)
        if not conditions:
            console.print("The benchmark states no official set-up.")
            continue
        *others, (_, same) = apart(conditions)
        if any(rows for _, rows in others):
            console.print(_table([row for _, rows in others for row in rows]))
        names = ", ".join(one.condition.name for one in same)
        console.print(Text(f"As in the official set-up: {names or 'nothing'}."))


def _methods(path: Path) -> str:
    if path.is_file():
        return methods_of_certificates(path)
    return methods_of_made(path) if is_made(path) else methods(opened([path]))


def _manifest(store: RunStore) -> Mapping[str, JSON]:
    """Return the manifest, with defaults for settings that it does not record."""
    return {**store.manifest, "settings": {**DEFAULTS, **settings_of(store.manifest)}}


def _benchmark(store: RunStore) -> Benchmark:
    """Return the benchmark named by the manifest or, in an older run, by the episodes.

    Raises:
        StoreError: neither names one.
        UnknownBenchmark: it is not installed.
    """
    if isinstance(name := store.manifest.get("benchmark"), str):
        return named(name)
    for one in store.attempts():
        return named(one.benchmark)
    raise StoreError(f"{store.folder} has no episode, so that its benchmark is not known")


def _table(rows: Sequence[Reported]) -> StackedTable:
    table = StackedTable("state", keys=2)
    table.add_columns("condition", "this run", "officially", "note", prose=True, least=16)
    for one in rows:
        style = "yellow" if one.state is State.DIFFERS else "dim"
        official = " or ".join(one.condition.wanted)
        words = (one.condition.name, one.had, official, one.condition.why)
        table.add_row(Text(one.state, style), *map(plain, words))
    return table


def _plain(store: RunStore, benchmark: Benchmark, conditions: Sequence[Reported]) -> JSON:
    return {
        "run": str(store.folder),
        "benchmark": benchmark.name,
        "conditions": [
            {
                "condition": one.condition.name,
                "state": str(one.state),
                "run": one.had,
                "officially": list(one.condition.wanted),
                "note": one.condition.why,
            }
            for one in conditions
        ],
    }
