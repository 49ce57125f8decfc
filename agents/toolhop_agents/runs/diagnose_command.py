"""`toolhop diagnose`: signs in runs that the harness, rather than the model, is at fault."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from toolhop_agents.ablate.folder import opened
from toolhop_agents.cli import EXIT_EPISODES
from toolhop_agents.cli.json_output import json_option, table_format
from toolhop_agents.table import table_console
from toolhop_agents.terminal import plain
from toolhop_env.attempt import Attempt
from toolhop_env.diagnosis.diagnose import diagnose as diagnosed
from toolhop_env.diagnosis.finding import Finding, Severity
from toolhop_env.diagnosis.of_tools import causes_of
from toolhop_env.score import Errored

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
SHOWN = 3
"""Episodes shown per finding; `--json` lists all."""


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@table_format
@json_option
def diagnose(runs: Sequence[Path], as_json: bool) -> None:
    """List signs in RUNS that the harness, not the model, is at fault.

    Examples are errored episodes, items that nobody solves, tools that always fail, scorers that
    differ and baselines that score; docs/diagnosis.md explains each. Several runs, or the arms of
    an ablation's folder, are diagnosed together. Exit code 1 if a finding is an error.
    """
    stores = [store for _, store in opened(runs)]
    findings = diagnosed(
        {str(store.folder): store.traces() for store in stores},
        {str(store.folder): store.judgements() for store in stores},
    )
    if as_json:
        for finding in findings:
            click.echo(json.dumps(finding.to_json(), ensure_ascii=False))
    else:
        print_findings(table_console(), findings)
    if any(finding.severity is Severity.ERROR for finding in findings):
        sys.exit(EXIT_EPISODES)


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print all findings with the first episodes of each."""
    for finding in findings:
        console.print(headline(finding))
        if not finding.episodes:
            continue
        names = list(finding.episodes[:SHOWN])
        left = len(finding.episodes) - SHOWN
        more = f" and {left} more" if left > 0 else ""
        console.print(Padding(plain(f"see {', '.join(names)}{more}", "dim"), (0, 0, 0, 4)))
    if not findings:
        console.print("Nothing looks wrong with the harness.")


def print_headlines(console: Console, findings: Iterable[Finding]) -> None:
    """Print findings as one line each, for the end of a run."""
    for finding in findings:
        console.print(headline(finding))


def report_errored(errors: Console, judged: Iterable[Attempt]) -> None:
    """Print the most frequent cause of errored episodes, fix included, or nothing if none
    errored.
    """
    reasons = [one.verdict.reason for one in judged if isinstance(one.verdict, Errored)]
    if not reasons:
        return
    causes = causes_of(reasons)
    most, count = causes.most_common(1)[0]
    head = f"{len(reasons)} errored:"
    if len(causes) > 1:
        head = f"{len(reasons)} errored, by {len(causes)} causes (toolhop diagnose); {count} times:"
    first = next((reason for reason in reasons if reason.strip().startswith(most)), most)
    errors.print(head, first, markup=False, highlight=False, soft_wrap=True)


def headline(finding: Finding) -> Text:
    """Return a finding as one line."""
    head = Text(f"{finding.severity}: {finding.kind}: ", STYLES[finding.severity])
    return Text.assemble(head, plain(finding.text))
