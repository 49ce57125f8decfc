"""`toolhop data export` for a folder of constructed items: reviewed, with siblings and twins."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import click

from toolhop_agents.cli import INTERRUPTED
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.family import (
    SCENARIO,
    Chosen,
    Kin,
    Siblings,
    certified,
    choose,
    siblings,
)
from toolhop_agents.construct.reviews import Material
from toolhop_agents.export.files import check_free
from toolhop_agents.runs.scenarios import Work, make
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.runs.spread import Isolation
from toolhop_agents.terminal import say
from toolhop_tools.benchmarks.toolhop.reader import to_text
from toolhop_tools.certify.model import to_json as certificate_json
from toolhop_tools.errors import counted
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers.native import to_row
from toolhop_tools.scenarios.make import Family, Recipe


class Targets(NamedTuple):
    """Files of an export, each None if not wanted; `rows` is None for standard output."""

    rows: Path | None
    scenarios: Path | None
    """File of the twins, beside the rows."""
    certificates: Path | None


def _targets(output: str, flags: Mapping[str, Any], kin: Sequence[Kin]) -> Targets:
    """Choose the files to write.

    Raises:
        UsageError: the rows go to standard output, which leaves no place for twins.
        ExportError: a file already exists.
    """
    rows, twins = None if output == "-" else Path(output), any(one in SCENARIO for one in kin)
    if rows is None and twins:
        raise click.UsageError(
            "twins go to a file beside --out, which is - here; name a file, or leave them "
            "out: --without unsolvable --without missing"
        )
    beside = rows.with_name(f"{rows.stem}.scenarios.jsonl") if rows and twins else None
    targets = Targets(rows, beside, flags["certificates_out"])
    check_free(filter(None, targets), flags["overwrite"])
    return targets


def export_made(folder: Path, output: str, flags: dict[str, Any]) -> None:
    """Write a folder's items; if anything fails, nothing is written.

    Raises:
        FolderError, LedgerError, ReviewError, CertificateError, DataError: the folder cannot be
            read.
        SandboxFault, SandboxUnavailable: siblings or twins cannot be run.
        UsageError: the flags do not fit the folder.
    """
    kin = [one for one in Kin if one.value not in flags["without"]]
    targets = _targets(output, flags, kin)
    material = Material.read(folder)
    if not all(item.hops for item in material.items):
        raise click.UsageError(
            f"{folder} has nested tasks; use their official rows: {material.data.origin}, as it is"
        )
    chosen = choose(material, reviewed=not flags["ignore_reviews"], accepts=flags["accepted_by"])
    if not chosen.items:
        raise click.UsageError(
            f"reviewers leave none of the {len(material.items)} items of {folder}: "
            f"{len(chosen.rejected)} rejected, {len(chosen.waiting)} not accepted by enough"
        )
    pairs, twins = Siblings(), list[Item]()
    steps = len(chosen.items) * ((Kin.SIBLING in kin) + bool(targets.scenarios))
    with Steps(ErrorConsole(), "families", steps) as shown:
        work = partial(_make, material, chosen.items, kin, flags, pairs, twins, shown.step)
        if steps and anyio.run(partial(until_signal, work)):
            say("stopped; nothing is written")
            sys.exit(INTERRUPTED)
    _write(targets, material, chosen, pairs, twins)
    _say(targets, chosen, pairs, twins)


async def _make(
    material: Material,
    items: Sequence[Item],
    kin: Sequence[Kin],
    flags: dict[str, Any],
    pairs: Siblings,
    twins: list[Item],
    on_item: Callable[[], None],
) -> None:
    if Kin.SIBLING in kin:
        found = await siblings(material, items, flags["sandbox"], flags["seed"], on_item)
        pairs.items |= found.items
        pairs.certificates += found.certificates
        pairs.refused |= found.refused
    into = tuple(SCENARIO[one] for one in kin if one in SCENARIO)
    if not into:
        return

    def add(item: Item, family: Family | None) -> None:
        del item
        twins.extend(family.items if family else ())
        on_item()

    data = DataSet("made", str(material.folder), tuple(items))
    recipe = Recipe(into, flags["seed"])
    work = Work(data, items, certified(material, items), recipe, Isolation(flags["sandbox"]))
    await make(work, add)


def _write(
    targets: Targets, material: Material, chosen: Chosen, pairs: Siblings, twins: Sequence[Item]
) -> None:
    items: list[Item] = []
    for item in chosen.items:
        items += [item, *([pairs.items[item.id]] if item.id in pairs.items else [])]
    text = to_text(DataSet("made", "", tuple(items)), targets.rows or "")
    try:
        if targets.rows is None:
            click.echo(f"{text}\n".encode(), nl=False)
        else:
            folders.write_text(targets.rows, text)
        if targets.scenarios is not None:
            folders.write_lines(targets.scenarios, map(to_row, twins))
        if targets.certificates is not None:
            own = certified(material, chosen.items).values()
            both = [*own, *pairs.certificates]
            folders.write_lines(targets.certificates, map(certificate_json, both))
    except OSError as error:
        path = error.filename or targets.rows
        raise click.UsageError(
            f"{path} cannot be written: {error.strerror}; give another --out"
        ) from None


def _say(targets: Targets, chosen: Chosen, pairs: Siblings, twins: Sequence[Item]) -> None:
    where = targets.rows or "standard output"
    kin = f" and {counted(len(pairs.items), 'sibling')}" if pairs.items else ""
    say(f"wrote {counted(len(chosen.items), 'item')}{kin} to {where}")
    for name, reason in pairs.refused.items():
        say(f"no sibling of {name}: {reason}")
    if targets.scenarios is not None:
        say(f"wrote {counted(len(twins), 'scenario')} to {targets.scenarios}")
    if targets.certificates is not None:
        say(f"wrote their certificates to {targets.certificates}")
    for names, why in (
        (chosen.rejected, "reviewers reject"),
        (chosen.waiting, "too few reviewers accept"),
    ):
        if names:
            shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
            say(f"left out, as {why} them: {len(names)} ({shown})")
