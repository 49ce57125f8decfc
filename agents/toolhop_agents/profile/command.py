"""`toolhop profile`: pass rate, calls, tokens and cost by item and by tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from toolhop_agents.ablate.folder import opened
from toolhop_agents.cli.flags import Whole, overwrite_option
from toolhop_agents.cli.json_output import json_option, table_format, write_json
from toolhop_agents.export.files import check_free, write_text
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import percent, table_console
from toolhop_agents.terminal import say, visible
from toolhop_env.estimates import Estimate
from toolhop_env.profile import PROFILE, Profile, Rated
from toolhop_env.profile import profile as profiled
from toolhop_tools.errors import counted


# fmt: off
@click.command(context_settings={"show_default": True})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("profile.json"),
              help="The file, for --profile of `toolhop run`.")
@click.option("--mode", help="Profile only the episodes in this mode.")
@click.option("--rows", type=Whole(min=0), default=20,
              help="Rows shown of each table, hardest first; the file has all.")
@overwrite_option
@table_format
@json_option
def profile(
    runs: Sequence[Path], out: Path, mode: str | None, rows: int, overwrite: bool, as_json: bool,
) -> None:
    """Write how often an agent passes each item of RUNS, with its calls, tokens and cost.

    RUNS have one agent and setting; play with --epochs for several tries at each item. To pass is
    the benchmark's leading measure. A tool's figures are over the episodes that offer it, and its
    calls are its own. Figures are means per episode, with 95 % intervals: over an item's tries, or
    over a tool's items. Errored episodes are left out.

    `toolhop run --profile FILE --pass-rate 0.2-0.8` plays the items that are neither hopeless nor
    solved.
    """
    check_free([out], overwrite)
    found = profiled(
        (one, store.trace(one))
        for _, store in opened(runs) for one in store.results() if mode in (None, one.mode)
    )
    write_text(out, PROFILE.dump_json(found).decode() + "\n", overwrite=overwrite)
    if as_json:
        write_json(PROFILE.dump_python(found, mode="json"))
    else:
        _print(found, rows)
    say(f"profile: {out}")
# fmt: on


def _print(found: Profile, rows: int) -> None:
    console = table_console()
    for number, (kind, these) in enumerate((("item", found.items), ("tool", found.tools))):
        if number:
            console.print()
        table = StackedTable(kind, framed=False)
        table.add_columns("items", "tries", f"{found.measure}, %", "calls", "failed calls",
                          "tokens", "cost, USD", right=True)  # fmt: skip
        for one in these[:rows]:
            table.add_row(visible(one.name), *_cells(one))
        console.print(table)
        if (left := len(these) - rows) > 0:
            console.print(f"{counted(left, f'easier {kind}')} not shown; see --rows")
    known = [one.pass_rate for one in found.items if one.pass_rate is not None]
    between = sum(0 < rate < 1 for rate in known)
    console.print(
        f"{counted(len(found.items), 'item')}: {known.count(0)} never passed, {between} sometimes, "
        f"{known.count(1)} always"
    )


def _cells(one: Rated) -> list[str]:
    rate = one.pass_rate
    passed = None if rate is None else Estimate(rate, None, one.tries, one.low, one.high)
    means = ((one.calls, 2), (one.failed_calls, 2), (one.tokens, 0), (one.cost_usd, 4))
    plain = ("-" if value is None else f"{value:.{digits}f}" for value, digits in means)
    return [str(one.items), str(one.tries), percent(passed), *plain]
