"""`toolhop align`: training data whose labels were executed."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import click
from rich.console import Console

from toolhop_agents.ablate.folder import opened
from toolhop_agents.align import sft as making
from toolhop_agents.align.card import ABOUT, figures
from toolhop_agents.align.check import Refusal, refusals
from toolhop_agents.align.folder import items_in, write_folder, write_items
from toolhop_agents.align.leaks import (
    BY,
    Print,
    refuse_leaks,
    refuse_tests,
    splits,
)
from toolhop_agents.align.line import (
    ITEMS_FILE,
    SAMPLES_FILE,
    AlignError,
    Chat,
    Kind,
    Pair,
    lines_of,
)
from toolhop_agents.align.pairs import Context, Gathered, complete, context_of, gather, pairs
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.sample import SampleFile, add_samples
from toolhop_agents.align.sample import sample as sample_contexts
from toolhop_agents.align.writers import FORMATS
from toolhop_agents.cli import EXIT_EPISODES
from toolhop_agents.cli.flags import Number, Whole, overwrite_option
from toolhop_agents.cli.json_output import json_option, write_json
from toolhop_agents.cli.options import checked, setting_option
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.export.files import check_free
from toolhop_agents.models.rate import Connections
from toolhop_agents.runs.means import Given, open_means, sandbox_of
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say
from toolhop_env.benchmarks import named
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_tools.errors import counted
from toolhop_tools.load import licence_of, load
from toolhop_tools.model import Item
from toolhop_tools.scenarios.label import FIELD

F = TypeVar("F", bound=Callable[..., Any])
WORKERS = max(2, os.cpu_count() or 1)
SHOWN = 20
"""Refused lines that are printed; `--json` has all."""


@click.group()
def align() -> None:
    """Make training data from items and runs; every label is executed. docs/align.md."""


# -- options ---------------------------------------------------------------------------------------


def _template_option(function: F) -> F:
    return click.option(
        "--template", type=click.Path(exists=True, path_type=Path), default=None,
        help="Chat template of the model to train: a .jinja file or the model's folder.  "
        "[default: ChatML with tools]",
    )(function)  # fmt: skip


def _held_options(function: F) -> F:
    function = click.option(
        "--against", multiple=True, metavar="DATA",
        help="Held-out data; refuse items that it gives away. May be repeated.",
    )(function)  # fmt: skip
    return click.option(
        "--split-by", default=",".join(BY), show_default=True, metavar="NAME[,NAME]",
        help="What keeps items in one split.",
    )(function)  # fmt: skip


def _made_options(function: F) -> F:
    """Add what the commands that write training data share."""
    for option in (
        click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path),
                     help="The folder to write."),
        click.option("--for", "formats", multiple=True, type=click.Choice([*FORMATS]),
                     help="Also write the files of this trainer; may be repeated."),
        _template_option,
        _held_options,
        click.option("--allow-test", is_flag=True, help="Train on a benchmark's test set."),
        setting_option("seed"),
        setting_option("sandbox"),
        overwrite_option,
        json_option,
    )[::-1]:  # fmt: skip
        function = option(function)
    return function


def _template(path: Path | None) -> ChatTemplate:
    template = ChatTemplate.read(path) if path else ChatTemplate.chatml()
    template.end()  # raises before anything runs
    return template


def _split_by(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _held(against: Sequence[str]) -> list[Item]:
    return [item for name in against for item in load(name).items]


# -- sft -------------------------------------------------------------------------------------------


@align.command()
@click.argument("data", nargs=-1, required=True)
@click.option("--mix", default="0.4,0.3,0.3", show_default=True, metavar="X,Y,Z",
              help="Shares of original, unmatched and missing.")  # fmt: skip
@click.option("--repaired", type=Number(0, 1), default=0.25, show_default=True,
              help="Share of the originals with a failed, untrained call first.")  # fmt: skip
@click.option("--rows", type=Whole(1), default=None, help="Episodes at most; the mix is kept.")
@setting_option("call_format")
@_made_options
def sft(data: Sequence[str], out: Path, as_json: bool, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Write chats for supervised fine-tuning from the scenarios in DATA.

    DATA are files of `toolhop perturb --into unmatched,reserve,missing-parameter`, whose labels are
    proven. Scripted agents that know the solution play them; an episode enters only if it ends as
    the label says. Nothing is uploaded.
    """
    check_free(out.iterdir() if out.is_dir() else [], flags["overwrite"])
    template = _template(flags["template"])
    settings = checked({
        "agent": "asks-when-missing", "modes": ("informed",), "seed": flags["seed"],
        "call_format": flags["call_format"], "sandbox": flags["sandbox"],
    })  # fmt: skip
    items: dict[str, tuple[Item, str]] = {}
    for name in data:
        dataset = load(name)
        refuse_tests([dataset.name], flags["allow_test"])
        items |= {item.id: (item, dataset.name) for item in dataset.items}
    prints = {identity: Print.of(item) for identity, (item, _) in items.items()}
    refuse_leaks(prints, _held(flags["against"]))
    split_of = splits(prints, _split_by(flags["split_by"]))
    tasks = [*_tasks(items, split_of)]
    drawn = making.mixed(tasks, _mix(flags["mix"]), flags["repaired"], flags["seed"], flags["rows"])
    chats, dropped = anyio.run(_play, drawn, settings)
    if not chats:
        raise AlignError("no episode ends as its label says", fix="give other DATA")
    found = figures(chats, dropped)
    chosen = [item for item, _ in items.values()]
    _write(out, chats, chosen, found, template, flags)
    _report(found, out, as_json)


def _tasks(
    items: Mapping[str, tuple[Item, str]], split_of: Mapping[str, str]
) -> Iterator[making.Task]:
    for identity, (item, origin) in items.items():
        if FIELD not in item.gold:
            raise AlignError(
                f"item {identity} of {origin} is no scenario, so that no label of it is proven",
                fix=f"run `toolhop perturb --data {origin} --into unmatched,reserve,"
                "missing-parameter --out FILE`, and give FILE",
            )
        kind = making.kind_of(item)
        if kind is not None:
            yield making.Task(item, kind, origin, _licence(item, origin), split_of[identity])


def _licence(item: Item, origin: str) -> str:
    return str(item.extra.get("licence") or licence_of(origin))


def _mix(text: str) -> dict[Kind, float]:
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) != len(making.MIX) or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
        raise click.UsageError(
            f"--mix is {text!r}; give three shares that add up to 1, such as 0.4,0.3,0.3"
        )
    return dict(zip(making.MIX, shares, strict=True))


async def _play(
    tasks: Sequence[making.Task], settings: RunSettings
) -> tuple[list[Chat], Counter[str]]:
    with Steps(ErrorConsole(), "episodes", len(tasks)) as shown:
        async with await sandbox_of(settings, WORKERS) as sandbox:
            return await making.chats(
                tasks, sandbox, settings=settings, at_a_time=WORKERS, on_chat=shown.step
            )


# -- dpo -------------------------------------------------------------------------------------------


@align.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--faults", is_flag=True, help="Top up with gold calls that are broken on purpose.")
@click.option("--pairs-per-item", type=Whole(1), default=None,
              help="Pairs of an item at most; the best sources come first.")  # fmt: skip
@_made_options
def dpo(runs: Sequence[Path], out: Path, as_json: bool, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Write preference pairs from RUNS: runs, ablations, and folders of `toolhop align sample`.

    Two replies form a pair if they follow the same messages and their executed verdicts differ: one
    pair for each type, step and item, from the best source. Whole trajectories form pairs as well.
    """
    check_free(out.iterdir() if out.is_dir() else [], flags["overwrite"])
    template, settings = _template(flags["template"]), checked({"sandbox": flags["sandbox"]})
    gathered, items = Gathered(), dict[str, Item]()
    _gather(runs, gathered, items, flags["allow_test"])
    prints = {identity: Print.of(item) for identity, item in items.items()}
    refuse_leaks(prints, _held(flags["against"]))
    split_of = splits(prints, _split_by(flags["split_by"]))
    complete(gathered, faults=flags["faults"], seed=flags["seed"])
    anyio.run(_execute, gathered, settings)
    found = pairs(gathered, split_of, most=flags["pairs_per_item"])
    if not found:
        raise AlignError(
            "no two replies to one context have verdicts that differ",
            fix="give more RUNS, `toolhop align sample` a run, or pass --faults",
        )
    counts = figures(found, gathered.dropped)
    _write(out, found, [*items.values()], counts, template, flags)
    _report(counts, out, as_json)


def _gather(
    folders: Sequence[Path], gathered: Gathered, items: dict[str, Item], allow_test: bool
) -> None:
    """Add the replies of all folders, and their items."""
    for folder in folders:
        if (folder / SAMPLES_FILE).is_file():
            own = items_in(folder)
            _join(items, own, folder)
            add_samples(gathered, folder, own)
            continue
        for _, store in opened([folder]):
            for item, trace, origin in _traces(store, gathered.dropped, allow_test):
                _join(items, {item.id: item}, folder)
                gather(gathered, trace, item, origin, _licence(item, origin))


def _join(items: dict[str, Item], own: Mapping[str, Item], folder: Path) -> None:
    for identity, item in own.items():
        if items.setdefault(identity, item).digest != item.digest:
            raise AlignError(
                f"{folder} has another item {identity} than the runs before it",
                fix="give runs of the same data and the same --tools",
            )


def _traces(
    store: RunStore, dropped: Counter[str], allow_test: bool
) -> Iterator[tuple[Item, Any, str]]:
    """Yield the episodes of a run that can be trained on, with their items and data."""
    manifest = store.manifest
    origin = str((manifest.get("data") or {}).get("name", ""))
    refuse_tests([origin], allow_test)
    settings = manifest.get("settings") or {}
    items = store.items(last_wins=settings.get("last_wins") is True).by_id
    for attempt in store.results():
        if not isinstance(attempt.verdict, Score):
            dropped["errored episodes"] += 1
            continue
        trace, item = store.trace(attempt), items.get(attempt.item)
        if item is None or item.digest != trace.started.item_digest:
            dropped["episodes whose item is not stored"] += 1
        elif not trace.started.tools or not item.hops or not named(item.benchmark):
            dropped["episodes without a chain of tools"] += 1
        elif trace.lacks_thoughts:
            dropped["episodes whose thoughts were not kept"] += 1
        else:
            yield item, trace, origin


async def _execute(gathered: Gathered, settings: RunSettings) -> None:
    with Steps(ErrorConsole(), "replies", len(gathered.waiting)) as shown:
        async with await sandbox_of(settings, WORKERS) as sandbox:
            await gathered.execute(sandbox, WORKERS, shown.step)


# -- sample ----------------------------------------------------------------------------------------


@align.command()
@click.argument("run", type=click.Path(path_type=Path))
@setting_option("model")
@setting_option("agent")
@click.option("--samples", "count", type=Whole(1, 1000), default=10, show_default=True,
              help="Replies to each step.")  # fmt: skip
@setting_option("temperature", default="0.7")
@setting_option("max_tokens", default=1024)
@setting_option("base_url")
@setting_option("request_options")
@setting_option("seed")
@setting_option("sandbox")
@click.option("--allow-test", is_flag=True, help="Train on a benchmark's test set.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="The folder to write; one that exists is resumed.")  # fmt: skip
@json_option
def sample(run: Path, out: Path, as_json: bool, count: int, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Ask a model for several replies to each step of RUN, and execute each from there.

    The messages before a step are those of the run. Each reply gets a verdict: correct, answer,
    indecisive, hallucinated or other. `toolhop align dpo` makes pairs from the folder. Give the
    newest checkpoint's name or server as --model and --base-url to begin another round.
    """
    allow_test = flags.pop("allow_test")
    settings = checked(flags)
    contexts: dict[str, Context] = {}
    items: dict[str, Item] = {}
    dropped: Counter[str] = Counter()
    for _, store in opened([run]):
        for item, trace, origin in _traces(store, dropped, allow_test):
            items[item.id] = item
            for turn in range(1, len(trace.replies) + 1):
                one = context_of(trace, item, turn, origin, _licence(item, origin))
                contexts.setdefault(one.key, one)
    if not contexts:
        raise AlignError(f"{run} has no step to sample at", fix="give a run with tool calls")
    _write_items(out, items)
    file = SampleFile(out / SAMPLES_FILE, count)
    try:
        anyio.run(partial(_sample, [*contexts.values()], settings, file, count))
    finally:
        file.close()
    found = {
        "contexts": len(contexts),
        "replies": dict(sorted(file.verdicts.items())),
        "dropped": dict(dropped),
    }
    if as_json:
        write_json({**found, "folder": str(out)})
        return
    _print(table_console(), {"replies": "verdict", "dropped": "left out"}, found)
    say(f"{counted(len(contexts), 'step')}; samples: {out}")


def _write_items(out: Path, items: Mapping[str, Item]) -> None:
    """Write the items of a folder of samples, or check that they are the same."""
    if (out / ITEMS_FILE).exists():
        own = items_in(out)
        if {one.digest for one in own.values()} != {one.digest for one in items.values()}:
            raise AlignError(f"{out} has samples of other items", fix="give another --out")
        return
    write_items(out, items.values(), overwrite=False)


async def _sample(
    contexts: Sequence[Context], settings: RunSettings, file: SampleFile, count: int
) -> None:
    at_a_time = settings.max_connections or WORKERS
    given = Given(settings, tuple({one.item.id: one.item for one in contexts}.values()))
    connections = Connections(at_a_time)
    with Steps(ErrorConsole(), "steps", len(contexts)) as shown:
        async with open_means(given, WORKERS, connections, settings.base_url) as means:
            await sample_contexts(
                contexts, means, file, agent=settings.agent_name, count=count,
                at_a_time=at_a_time, on_context=shown.step,
            )  # fmt: skip


# -- check -----------------------------------------------------------------------------------------


@align.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_template_option
@_held_options
@setting_option("sandbox")
@json_option
def check(
    folder: Path,
    template: Path | None,
    against: Sequence[str],
    split_by: str,
    sandbox: str,
    as_json: bool,
) -> None:
    """Check every line of FOLDER again: masks, guards, leaks, and results by execution.

    Each line is rendered with the template: no token outside of the agent's own turns may be
    trained, and the end of each trained turn must be. The agent's turns are executed again.

    Exit code 0: nothing to refuse. 1: some lines are refused. 2: bad input.
    """
    lines, items = [*lines_of(folder)], items_in(folder)
    how = _template(template)
    by = _split_by(split_by)
    splits({}, by)
    held = _held(against)
    found = anyio.run(_check, lines, items, how, by, held, checked({"sandbox": sandbox}))
    if as_json:
        refused = [{"line": one.line, "reason": one.reason} for one in found]
        write_json({"lines": len(lines), "template": how.name, "refused": refused})
    else:
        for one in found[:SHOWN]:
            click.echo(f"{one.line}: {one.reason}")
        if len(found) > SHOWN:
            say(f"{len(found) - SHOWN} more; --json has them all")
        say(f"{counted(len(lines), 'line')} rendered with {how.name} and run again: "
            f"{counted(len(found), 'refusal')}")  # fmt: skip
    sys.exit(EXIT_EPISODES if found else 0)


async def _check(
    lines: Sequence[Chat | Pair],
    items: Mapping[str, Item],
    template: ChatTemplate,
    by: Sequence[str],
    held: Sequence[Item],
    settings: RunSettings,
) -> list[Refusal]:
    with Steps(ErrorConsole(), "lines", len(lines)) as shown:
        async with await sandbox_of(settings, WORKERS) as sandbox:
            return await refusals(
                lines, items, template, sandbox, by=by, against=held, at_a_time=WORKERS,
                on_line=shown.step,
            )  # fmt: skip


# -- results ---------------------------------------------------------------------------------------


def _write(
    out: Path,
    lines: Sequence[Chat | Pair],
    items: Sequence[Item],
    counts: dict[str, Any],
    template: ChatTemplate,
    flags: Mapping[str, Any],
) -> None:
    write_folder(
        out, lines, items, counts, formats=flags["formats"], template=template,
        seed=flags["seed"], overwrite=flags["overwrite"],
    )  # fmt: skip


def _report(found: Mapping[str, Any], out: Path, as_json: bool) -> None:
    if as_json:
        write_json({**found, "folder": str(out)})
        return
    console = table_console()
    _print(console, ABOUT, found)
    if "length_ratio" in found:
        say(f"chosen / rejected length: {found['length_ratio']:g} in the median, "
            f"{found['length_alike']:.0%} within 0.8 to 1.25; told apart by tool names alone: "
            f"{found['named_apart']:.0%}")  # fmt: skip
    say(f"{counted(found['lines'], 'line')} of {found['families']:,} families: "
        f"{out}; `toolhop align check {out}` checks them again")  # fmt: skip


def _print(console: Console, about: Mapping[str, str], found: Mapping[str, Any]) -> None:
    for name, head in about.items():
        if found.get(name):
            table = StackedTable(head)
            table.add_columns("lines", right=True)
            for key, count in found[name].items():
                table.add_row(key, f"{count:,}")
            console.print(table)
