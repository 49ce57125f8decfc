"""`toolhop perturb`: turn certified items into scenarios whose labels are proven by running."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
from rich.console import Console

from toolhop_agents.cli import INTERRUPTED
from toolhop_agents.cli.flags import Whole, data_option, overwrite_option
from toolhop_agents.cli.json_output import json_option, table_format
from toolhop_agents.cli.options import cluster_of, cluster_options, setting_option
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.export.files import atomic, check_free
from toolhop_agents.runs.certified import certificates_of
from toolhop_agents.runs.scenarios import FamilyFile, Work, make, yields_json
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.runs.spread import Isolation
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say
from toolhop_tools.certify.file import path_for
from toolhop_tools.errors import counted
from toolhop_tools.load import load, select
from toolhop_tools.model import Item
from toolhop_tools.scenarios.actions import Offer
from toolhop_tools.scenarios.label import GROUPS, MADE, scenarios_of
from toolhop_tools.scenarios.make import Family, Recipe, Yields


# fmt: off
@cluster_options
@click.command(context_settings={"show_default": True})
@data_option
@click.option("--into", "names", required=True, metavar="NAME[,NAME]",
              help=f"Scenarios: some of {', '.join((*GROUPS, *MADE))}.")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path),
              help="The file to write, one item in each line.")
@overwrite_option
@setting_option("certificates", help="Certificates of the items, as `toolhop certify` writes "
                "them.  [default: certificates/DATA.jsonl, else what comes with the data]")
@setting_option("limit")
@setting_option("sample_ids")
@setting_option("seed")
@click.option("--balanced", is_flag=True,
              help="Keep as many solvable as unsolvable items in each family.")
@click.option("--actions", "offer", type=click.Choice([one.value for one in Offer]),
              default=Offer.ACTIONS.value, help="Tools that act on the episode: talk_to_user, "
              "change_tools and give_up; RelyToolBench's Finish; or none.")
@click.option("--max-samples", "at_a_time", type=Whole(1, 64), default=None,
              help="Items at a time, on each node.  [default: one per processor]")
@setting_option("sandbox")
@setting_option("last_wins")
@table_format
@json_option
def perturb(data: str, names: str, out: Path, as_json: bool, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Turn the items of DATA whose certified chain leads to the gold into scenarios.

    Scenarios have missing, broken, foreign or wrong tools, or hidden values. Each label is shown by
    execution; an item whose label cannot be shown is not made. The same items, certificates and
    seed give the same file. docs/scenarios.md explains each scenario. Finished items are kept
    beside OUT, so a stopped command resumes.

    Exit code 0: done, whatever could be made. 2: bad input, or certificates are missing.
    """
    check_free([out], flags["overwrite"])
    cluster = cluster_of(flags)
    recipe = Recipe(scenarios_of(names), flags["seed"], Offer(flags["offer"]), flags["balanced"])
    dataset = load(data, last_wins=flags["last_wins"])
    chosen = select(dataset, limit=flags["limit"], sample_ids=flags["sample_ids"])
    path = flags["certificates"] or path_for(dataset)
    certificates = certificates_of(chosen, path)
    isolation = Isolation(flags["sandbox"])
    if flags["at_a_time"]:
        isolation = replace(isolation, workers=flags["at_a_time"])
    work = Work(dataset, chosen, certificates, recipe, isolation, cluster)
    yields = Yields()
    kept = FamilyFile(out.with_name(f"{out.name}.families"), work, yields)
    if anyio.run(partial(_make, work, kept)):
        say(f"stopped after {counted(kept.done, 'item')}; the same command goes on")
        sys.exit(INTERRUPTED)
    with atomic(out) as beside, beside.open("wb") as file:
        kept.into(file)
    kept.path.unlink()
    kept.close()
    figures = yields_json(yields, recipe.into)
    if as_json:
        click.echo(json.dumps({"file": str(out), **figures}, ensure_ascii=False))
    else:
        print_yields(table_console(), figures)
        say(f"items: {out}")


# fmt: on
async def _make(work: Work, kept: FamilyFile) -> bool:
    """Generate the families still missing; return True if a signal interrupted the work."""
    shown = Steps(ErrorConsole(), "perturb", len(work.chosen))

    def add(item: Item, family: Family | None) -> None:
        kept.add(item, family)
        shown.step()

    with shown:
        for _ in range(kept.done):
            shown.step()
        return await until_signal(lambda: make(work, add, done=kept.done))


# -- the results -------------------------------------------------------------------------------


def print_yields(console: Console, figures: Mapping[str, Any]) -> None:
    """Print the table of `yields_json`: scenarios made, and those refused with the reason."""
    table = StackedTable("scenario", title="Items made")
    table.add_columns("unsolvable", "solvable", "refused", right=True)
    table.add_columns("because", prose=True)
    for kind, one in figures["scenarios"].items():
        why = "; ".join(f"{reason} ({count})" for reason, count in one["refused"].items())
        counts = (one["unsolvable"], one["solvable"], sum(one["refused"].values()))
        table.add_row(kind, *map(str, counts), why)
    console.print(table)
    console.print(
        f"Of {counted(figures['items_executed'], 'item')} whose chain runs; "
        f"{figures['items_left_out']} left out. {figures['calls']:,} calls. On lost hops "
        f"{counted(figures['tools_tried_in_vain'], 'other tool')} tried in vain; "
        f"{figures['tools_taken_out']} that did the job taken out."
    )
