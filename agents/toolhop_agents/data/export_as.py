"""``toolhop data export --to FORMAT``: write scenario items in another benchmark's format."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio
import click
from rich.console import Console

from toolhop_agents.export.files import ExportError
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say
from toolhop_sandbox.base import Limits
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_tools.benchmarks.relytoolbench import writer as relytoolbench
from toolhop_tools.benchmarks.toolbehonest import writer as toolbehonest
from toolhop_tools.errors import DataError, DataProblem, counted
from toolhop_tools.load import load, survey
from toolhop_tools.scenarios.families import ORIGINS, Family, Files, families
from toolhop_tools.scenarios.labels import Results, broken

USED = {"toolbehonest": toolbehonest.used, "relytoolbench": relytoolbench.used}
"""Functions by format that select the items of a family whose labels the format needs."""
CALL_S = 10.0
"""Seconds a call may take: the default of a run."""
MEMORY_MIB = 256


def export_as(
    source: str, form: str, folder: Path, *, overwrite: bool, sandbox: Kind, most: int | None = None
) -> None:
    """Write the folder, and print what is in it.

    Args:
        source: the scenario items.
        form: name of the benchmark.
        folder: destination of its files.
        overwrite: whether to replace a folder that this command wrote.
        sandbox: kind of sandbox for the tools.
        most: maximum rows of each ToolBeHonest subtask; all if None.

    Raises:
        DataError: the items are not scenarios, or a label does not hold.
        ExportError: the folder already exists.
        click.UsageError: the folder cannot be written.
        SandboxFault, SandboxUnavailable: as in `Session.call`.
    """
    if folder.exists() and not (overwrite and (folder / ORIGINS).is_file()):
        raise ExportError(
            f"{folder} is there already; give another --out, or pass --overwrite, which replaces "
            f"a folder that this command wrote ({ORIGINS} is in it)"
        )
    found = families(load(source).items, origin=source)
    files = anyio.run(partial(_made, found, form, sandbox, source, most))
    if not files.data or not files.rows.total():
        raise DataError(
            f"no row of {form} can be made of these items", origin=source,
            fix="give a file of `toolhop perturb --into all`, without --balanced",
        )  # fmt: skip
    try:
        _write(folder, form, files)
    except OSError as error:
        raise click.UsageError(
            f"{folder} cannot be written: {error.strerror}; give another --out"
        ) from None
    _print(table_console(), form, folder, files)


async def _made(
    found: Sequence[Family], form: str, kind: Kind, origin: str, most: int | None
) -> Files:
    limits = Limits(wall_s=CALL_S, memory_mib=MEMORY_MIB)
    room = await open_sandbox(kind, limits=limits, policy="restricted", max_workers=1)
    problems: list[DataProblem] = []
    async with room, room.session() as session:
        results = Results(session)
        for family in found:
            for one in USED[form](family):
                problems += await broken(one, results)
        if problems:
            raise DataError(
                "labels do not hold", problems, origin=origin,
                fix="make the file anew by `toolhop perturb`",
            )  # fmt: skip
        if form == "toolbehonest":
            return toolbehonest.write(found, most=most)
        return await relytoolbench.write(found, results)


def _write(folder: Path, form: str, files: Files) -> None:
    """Write a temporary folder, check it with the benchmark's own reader, and rename it.

    Raises:
        DataError: the reader finds a problem; nothing is written.
        OSError: the folder cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as aside:
        made, old = Path(aside) / "made", Path(aside) / "old"
        for name, text in files.texts.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        problems = [one for name in files.data for one in survey(f"{form}:{made / name}").problems]
        if problems:
            raise DataError("what was made is not as the format is read", problems)
        if folder.exists():
            folder.rename(old)
        made.rename(folder)


def _print(console: Console, form: str, folder: Path, files: Files) -> None:
    table = StackedTable("rows of", title=f"{form}, rows made")
    table.add_columns("rows", right=True)
    table.add_columns("families left out, and why", prose=True)
    left: Mapping[str, str] = {
        str(kind): "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        for kind, reasons in files.left.items()
    }
    for kind in dict.fromkeys((*files.rows, *left)):
        table.add_row(kind, str(files.rows[kind]), left.get(kind, ""))
    console.print(table)
    say(f"wrote {counted(files.rows.total(), 'row')} to {folder}; {_how(form, folder)}")


def _how(form: str, folder: Path) -> str:
    if form == "toolbehonest":
        return f"play them by --data toolbehonest:{folder / toolbehonest.FILE}"
    replies, gold = folder / relytoolbench.REPLIES, folder / relytoolbench.GOLD
    return f"play them by --data 'relytoolbench:{folder}?replies={replies}&gold={gold}'"
