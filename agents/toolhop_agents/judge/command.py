"""`toolhop judge-check`: measure the agreement of judges with each other, rules and people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from toolhop_agents.ablate.folder import opened
from toolhop_agents.cli.flags import (
    Whole,
    confidence_option,
    overwrite_option,
    resamples_option,
)
from toolhop_agents.cli.json_output import json_option, table_format, write_json
from toolhop_agents.cli.options import setting_option
from toolhop_agents.export.files import write_text
from toolhop_agents.judge.agreement import EVERY, Compared, Verdicts
from toolhop_agents.judge.judges import labels as read_labels
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import table_console
from toolhop_agents.terminal import plain, visible
from toolhop_sandbox.outcome import JSON


@click.command(context_settings={"show_default": True})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--labels", metavar="FILE", type=click.Path(path_type=Path), default=None,
              help="What people say: the rows of --questions with their answers.")  # fmt: skip
@click.option("--questions", metavar="FILE", type=click.Path(path_type=Path), default=None,
              help="Write the questions for people to answer, and end.")  # fmt: skip
@overwrite_option
@click.option("--sample", metavar="N", type=Whole(min=1), default=None,
              help="Write N questions, balanced by kind.")  # fmt: skip
@confidence_option
@resamples_option
@setting_option("seed")
@table_format
@json_option
def judge_check(
    runs: Sequence[Path],
    labels: Path | None,
    questions: Path | None,
    overwrite: bool,
    sample: int | None,
    confidence: float,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Count how far the judges of RUNS agree with each other, with rules, and with people.

    Every judge that has answered in RUNS, the benchmark's own rules (mechanical) and the labels
    are compared two by two, over the questions that both answered: accuracy, Cohen's kappa, and
    who said what, by kind of question. Intervals resample whole items. Nobody is asked.
    """
    found = Verdicts.read(store for _, store in opened(runs))
    if not found.questions:
        raise click.UsageError(
            "these runs asked no judge a question in words; give runs of a benchmark that a judge "
            "scores, such as ToolBeHonest"
        )
    if questions is not None:
        _write(questions, found.to_label(sample, seed), overwrite=overwrite)
        return
    if labels is not None:
        found.add_labels(read_labels(labels))
    each = list(found.compared(seed=seed, resamples=resamples, confidence=confidence))
    if not each:
        judges = ", ".join(found.by_judge) or "nobody"
        raise click.UsageError(
            f"only {judges} answered in these runs; give --labels, or have another judge answer "
            "(toolhop run --resume RUN --judge NAME)"
        )
    if as_json:
        write_json([_plain(one) for one in each])
        return
    console = table_console()
    console.print(_table(each, confidence))
    for one in each:
        if one.about != EVERY:
            title = f"\n{one.about}: {one.first} (rows) against {one.second} (columns)"
            console.print(plain(title), soft_wrap=True)
            console.print(_confusion(one))


def _write(path: Path, rows: Sequence[JSON], *, overwrite: bool) -> None:
    text = json.dumps(list(rows), ensure_ascii=False, indent=1) + "\n"
    write_text(path, text, overwrite=overwrite)
    click.echo(f"{len(rows)} questions: {path}")


def _table(each: Sequence[Compared], confidence: float) -> StackedTable:
    title = f"Agreement of judges, {100 * confidence:g} % intervals over items"
    table = StackedTable(title=title, keys=3)
    table.add_columns("judge", "against", "question", prose=True)
    table.add_columns("questions", "items", "accuracy, %", "kappa", right=True)
    for one in each:
        of = one.found
        counts = (str(of.questions), str(of.items))
        low, high = (100 * limit for limit in of.accuracy_limits)
        accuracy = f"{100 * of.accuracy:.1f} ({low:.1f} .. {high:.1f})"
        names = (plain(one.first), plain(one.second), plain(one.about))
        table.add_row(*names, *counts, accuracy, _kappa(one))
    return table


def _kappa(one: Compared) -> str:
    if one.found.kappa is None or one.about == EVERY:
        return "-"
    found = f"{one.found.kappa:.2f}"
    if one.found.kappa_limits is None:
        return found
    low, high = one.found.kappa_limits
    return f"{found} ({low:.2f} .. {high:.2f})"


def _confusion(one: Compared) -> StackedTable:
    """Build a table with the first judge's verdicts as rows and the second's as columns."""
    confusion = one.found.confusion
    table = StackedTable(framed=False)
    rows, columns = (sorted({pair[side] for pair in confusion}) for side in (0, 1))
    table.add_columns("")
    for name in columns:
        table.add_columns(visible(name), right=True)
    for name in rows:
        table.add_row(plain(name), *(str(confusion.get((name, other), 0)) for other in columns))
    return table


def _plain(one: Compared) -> JSON:
    of = asdict(one.found)
    kappa = {} if one.about != EVERY else {"kappa": None, "kappa_limits": None}
    confusion: list[JSON] = [
        {"judge": first, "against": second, "questions": count}
        for (first, second), count in sorted(one.found.confusion.items())
    ]
    return {
        "judge": one.first,
        "against": one.second,
        "about": one.about,
        **of,
        **kappa,
        "confusion": confusion,
    }
