"""`toolhop perturb`: certified items as scenarios, each with a label that was shown by running."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import anyio
import click
from rich.console import Console

from toolhop_agents.cli import INTERRUPTED, nearest
from toolhop_agents.cli.progress import Steps
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import table_console
from toolhop_sandbox.base import Limits, Policy, Sandbox
from toolhop_sandbox.choose import KINDS, open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_tools.atomic import atomic
from toolhop_tools.certify.file import CertificateError, default_path
from toolhop_tools.certify.model import Certificate, HopVerdict
from toolhop_tools.certify.use import of_items
from toolhop_tools.errors import BadChoice, counted
from toolhop_tools.load import load, select
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers.native import to_row
from toolhop_tools.scenarios.actions import Offer
from toolhop_tools.scenarios.label import Scenario
from toolhop_tools.scenarios.make import TRANSFORMATIONS, Family, Recipe, Rooms, Yields, make_all

ALL = "all"
PATIENT_S = 10.0
"""Seconds a call of a slow tool may take: as many as a run allows by default."""


# fmt: off
@click.command(context_settings={"show_default": True})
@click.argument("data")
@click.option("--into", "names", required=True, metavar="NAME[,NAME]",
              help=f"Scenarios: {ALL}, or some of {', '.join(TRANSFORMATIONS)}.")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path),
              help="The file to write, an item a line.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option("--certificates", type=click.Path(dir_okay=False, path_type=Path), default=None,
              help="Of DATA.  [default: certificates/DATA.jsonl]")
@click.option("--limit", default=None, help="10 for the first ten items, 10-20 for a range.")
@click.option("--sample-id", "sample_ids", multiple=True, help="Items by id; may be repeated.")
@click.option("--seed", type=int, default=0, help="Of everything that is drawn.")
@click.option("--balanced", is_flag=True,
              help="As many solvable items as others, within each family.")
@click.option("--actions", "offer", type=click.Choice([one.value for one in Offer]),
              default=Offer.ACTIONS.value, help="Tools that act on the episode: talk_to_user, "
              "change_tools and give_up; RelyToolBench's Finish; or none.")
@click.option("--max-sandboxes", "at_a_time", type=click.IntRange(1, 64), default=None,
              help="Items at a time.  [default: one a processor]")
@click.option("--sandbox", type=click.Choice(KINDS), default="auto", help="What isolates tools.")
@click.option("--last-wins", is_flag=True, help="Tools of one name: the last one's code, as in "
              "the official evaluator.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON on standard output.")
def perturb(data: str, names: str, out: Path, as_json: bool, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Make scenarios of the items of DATA that are proven to be solvable.

    Tools that are missing, broken, foreign or drifted, values that are hidden: each label is shown
    by running, and what cannot be shown is not made. The same items, certificates and seed give the
    same file. docs/scenarios.md says what each scenario is.

    Exit code 0: done, whatever could be made. 2: bad input, or certificates are missing.
    """
    if out.exists() and not flags["force"]:
        raise click.UsageError(f"{out} is there already; --force replaces it")
    recipe = Recipe(_scenarios(names), flags["seed"], Offer(flags["offer"]), flags["balanced"])
    dataset = load(data, last_wins=flags["last_wins"])
    chosen = select(dataset, limit=flags["limit"], sample_ids=flags["sample_ids"])
    path = flags["certificates"] or default_path(dataset.name)
    certificates = _proven(chosen, path)
    work = _Work(dataset, chosen, certificates, recipe, flags)
    yields = Yields()
    try:
        with atomic(out) as beside:
            with beside.open("wb") as file:
                cut = anyio.run(partial(_make, work, file, yields))
            if cut:
                click.echo("stopped; nothing is written", err=True)
                sys.exit(INTERRUPTED)
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}") from None
    if as_json:
        click.echo(json.dumps({"file": str(out), **_to_json(yields, recipe)}, ensure_ascii=False))
    else:
        _print(table_console(), yields, recipe)
        click.echo(f"items: {out}", err=True)


# fmt: on
@dataclass(frozen=True)
class _Work:
    dataset: DataSet
    chosen: Sequence[Item]
    certificates: dict[str, Certificate]
    recipe: Recipe
    flags: dict[str, Any]


def _scenarios(names: str) -> tuple[Scenario, ...]:
    """The scenarios of ``--into``, in the order of the table.

    Raises:
        BadChoice: says which name is none.
    """
    given = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in given if name != ALL and name not in list(TRANSFORMATIONS)]
    if unknown or not given:
        wrong = unknown[0] if unknown else names
        raise BadChoice(
            f"no scenario {wrong!r}{nearest(wrong, [ALL, *TRANSFORMATIONS])}",
            fix=f"give {ALL}, or some of {', '.join(TRANSFORMATIONS)}, with commas between",
        )
    every = ALL in given
    return tuple(kind for kind in TRANSFORMATIONS if every or kind in given)


def _proven(items: Sequence[Item], path: Path) -> dict[str, Certificate]:
    """The items' certificates, by id.

    Raises:
        CertificateError: the file cannot be read, certificates are stale, or none proves an item.
    """
    found = of_items(items, path)
    if not any(one.verdict is HopVerdict.PROVEN for one in found.values()):
        raise CertificateError(
            f"{path} proves none of the {counted(len(items), 'chosen item')}, and has nothing on "
            f"{len(items) - len(found)} of them\n"
            f"  fix: run `toolhop certify DATA --out {path}`, or choose other items"
        )
    return found


async def _make(work: _Work, file: BinaryIO, yields: Yields) -> bool:
    """Write the items; True where a signal cut it off."""
    flags = work.flags
    at_a_time = flags["at_a_time"] or max(2, os.cpu_count() or 1)
    shown = Steps(Console(stderr=True), "perturb", len(work.chosen))

    def add(item: Item, family: Family | None) -> None:
        del item
        yields.add(family)
        for one in family.items if family else ():
            line = json.dumps(to_row(one), ensure_ascii=False)
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        shown.step()

    basis = next(iter(work.certificates.values())).basis
    workers = min(at_a_time, len(work.chosen))

    async def opened(wall_s: float) -> Sandbox:
        limits = Limits(wall_s=wall_s, memory_mib=basis.memory_mib)
        return await open_sandbox(
            flags["sandbox"], limits=limits, policy=cast(Policy, basis.policy), max_workers=workers
        )

    async def run() -> None:
        async with await opened(basis.wall_s) as search, await opened(PATIENT_S) as patient:
            await make_all(
                work.dataset.items, work.certificates, Rooms(search, patient), work.recipe,
                chosen=work.chosen, at_a_time=at_a_time, on_family=add,
            )  # fmt: skip

    with shown:
        return await until_signal(run)


# -- what came of it ---------------------------------------------------------------------------


def _to_json(yields: Yields, recipe: Recipe) -> dict[str, JSON]:
    return {
        "items_proven": yields.proven,
        "items_left_out": yields.unproven,
        "written": sum(yields.made.values()),
        "calls": yields.calls,
        "tools_tried_in_vain": yields.tried,
        "tools_taken_out": yields.taken_out,
        "scenarios": {
            kind.value: {
                "unsolvable": yields.made[kind, False],
                "solvable": yields.made[kind, True],
                "refused": {
                    reason.value: count
                    for reason, count in yields.refused.get(kind, Counter()).most_common()
                },
            }
            for kind in dict.fromkeys((Scenario.PLAIN, *recipe.into))
        },
    }


def _print(console: Console, yields: Yields, recipe: Recipe) -> None:
    table = StackedTable("scenario", title="Items made")
    for column in ("unsolvable", "solvable", "refused"):
        table.add_column(column, right=True)
    table.add_column("because", prose=True)
    for kind in dict.fromkeys((Scenario.PLAIN, *recipe.into)):
        refused = yields.refused.get(kind, Counter())
        why = "; ".join(f"{reason} ({count})" for reason, count in refused.most_common())
        made = (yields.made[kind, False], yields.made[kind, True])
        table.add_row(kind, *map(str, made), str(refused.total()), why)
    console.print(table)
    console.print(
        f"Of {counted(yields.proven, 'proven item')}; {yields.unproven} not proven and left out. "
        f"{yields.calls:,} calls; {yields.tried:,} tools tried in vain in the place of a lost "
        f"hop's; {yields.taken_out} taken out."
    )
