"""`toolhop align`: training data whose labels were executed."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import click

from toolhop_agents.ablate.folder import opened
from toolhop_agents.align import sft as making
from toolhop_agents.align.check import Refusal, refusals
from toolhop_agents.align.executed import context_of
from toolhop_agents.align.folder import CARD, check_new, edited, items_in, write_folder, write_items
from toolhop_agents.align.kinds import AlignError, Kind
from toolhop_agents.align.leaks import BY, licence, marks_of, refuse_leaks, refuse_tests, splits
from toolhop_agents.align.line import ITEMS_FILE, SAMPLES_FILE, Chat, Context, Pair, lines_of
from toolhop_agents.align.pairs import Gathered, complete, gather, pairs
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.sample import SampleFile, add_samples
from toolhop_agents.align.sample import sample as sample_contexts
from toolhop_agents.align.train_command import train
from toolhop_agents.align.writers import FORMATS
from toolhop_agents.cli import EXIT_EPISODES
from toolhop_agents.cli.flags import Number, Whole
from toolhop_agents.cli.json_output import json_option, write_json
from toolhop_agents.cli.options import checked, setting_option, values_of
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.models.gguf import CHATML
from toolhop_agents.models.rate import Connections
from toolhop_agents.runs.means import Given, open_means, sandbox_of
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.terminal import say
from toolhop_env.benchmarks import named
from toolhop_env.score import Score
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Sandbox
from toolhop_tools.benchmarks import READ
from toolhop_tools.errors import counted
from toolhop_tools.load import load, readers
from toolhop_tools.model import Item
from toolhop_tools.scenarios.label import FIELD

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
WORKERS = max(2, os.cpu_count() or 1)


@click.group()
def align() -> None:
    """Make training data from items and runs; every label is executed. docs/align.md."""


_template_option = click.option(
    "--chat-template", default=CHATML, show_default=True, metavar="NAME|FILE|FOLDER",
    help="Chat template of the model to train: a .jinja file or the model's folder.",
)  # fmt: skip
_against_option = click.option(
    "--against", multiple=True, metavar="DATA",
    help="Held-out data; refuse items that it gives away. May be repeated.",
)  # fmt: skip
_by_option = click.option(
    "--split-by", default=",".join(BY), show_default=True, metavar="NAME[,NAME]",
    help="What keeps items in one split.",
)  # fmt: skip
_test_option = click.option(
    "--allow-test", is_flag=True, help="Train on a benchmark's test set."
)  # fmt: skip


def _made_options(function: F) -> F:
    """Add what the commands that write training data share."""
    for option in (
        click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path),
                     help="The folder to write."),
        click.option("--for", "formats", multiple=True, type=click.Choice([*FORMATS]),
                     help="Also write the files of this trainer; may be repeated."),
        _template_option, _against_option, _by_option, _test_option, setting_option("seed"),
        setting_option("sandbox"), json_option,
    )[::-1]:  # fmt: skip
        function = option(function)
    return function


def _split_of(items: Iterable[Item], flags: Mapping[str, Any]) -> dict[str, str]:
    """Return the split of each item; refuse items that held-out data gives away."""
    marks = {item.id: marks_of(item) for item in items}
    refuse_leaks(marks, _held(flags["against"], flags["allow_test"]))
    return splits(marks, _names(flags["split_by"]))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _held(against: Sequence[str], allow_test: bool) -> list[Item]:
    """Return held-out items; unless allowed, with those of the test sets that are fetched."""
    held = [item for name in against for item in load(name).items]
    for name in () if allow_test else (one for one in READ if readers()[one].ready):
        items = load(name, skip_broken=True).items
        held += [replace(item, id=f"{name}/{item.id}") for item in items]
    return held


def _in_sandbox(
    what: str,
    total: int,
    settings: RunSettings,
    work: Callable[[Sandbox, Callable[[], None]], Awaitable[R]],
) -> R:
    """Return what `work` does with a sandbox, and show its steps."""

    async def inside() -> R:
        with Steps(ErrorConsole(), what, total) as shown:
            async with await sandbox_of(settings, WORKERS) as sandbox:
                return await work(sandbox, shown.step)

    return anyio.run(inside)


def _write(
    lines: Sequence[Chat | Pair],
    items: Iterable[Item],
    dropped: Mapping[str, int],
    template: ChatTemplate,
    flags: Mapping[str, Any],
) -> None:
    out = flags["out"]
    counts = write_folder(
        out, lines, items, dropped, formats=flags["formats"], template=template,
        seed=flags["seed"],
    )  # fmt: skip
    if flags["as_json"]:
        write_json({**counts, "folder": str(out)})
    else:
        say(f"{counted(counts['lines'], 'line')} of {counts['families']:,} families; {out / CARD} "
            f"counts them, and `toolhop align check {out}` checks them again")  # fmt: skip


@align.command()
@click.argument("scenarios", nargs=-1, required=True)
@click.option("--mix", default="0.4,0.3,0.3", show_default=True, metavar="X,Y,Z",
              help="Shares of original, unmatched and missing.")  # fmt: skip
@click.option("--repaired", type=Number(0, 1), default=0.25, show_default=True,
              help="Share of the originals with a failed, untrained call first.")  # fmt: skip
@click.option("--chats", type=Whole(1), default=None, help="Episodes at most; the mix is kept.")
@setting_option("call_format")
@_made_options
def sft(scenarios: Sequence[str], **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Write chats for supervised fine-tuning from SCENARIOS.

    They are files of `toolhop perturb --into unmatched,reserve,missing-parameter`, whose labels are
    proven. Scripted agents that know the solution play them; an episode enters only if it ends as
    the label says. Nothing is uploaded.
    """
    check_new(flags["out"], flags["formats"])
    template, mix = ChatTemplate.read(flags["chat_template"]), _mix(flags["mix"])
    settings = checked({
        "agent": "asks-when-missing", "modes": ("informed",), "seed": flags["seed"],
        "call_format": flags["call_format"], "sandbox": flags["sandbox"],
    })  # fmt: skip
    items, origins = dict[str, Item](), dict[str, str]()
    for name in scenarios:
        dataset = load(name)
        refuse_tests(dataset.name, dataset.items, flags["allow_test"])
        items |= dataset.by_id
        origins |= dict.fromkeys(dataset.by_id, dataset.name)
    split_of = _split_of(items.values(), flags)
    tasks = [*_tasks(((item, origins[name]) for name, item in items.items()), split_of)]
    drawn = making.mixed(tasks, mix, flags["repaired"], flags["seed"], flags["chats"])

    async def play(sandbox: Sandbox, step: Callable[[], None]) -> tuple[list[Chat], Counter[str]]:
        return await making.chats(
            drawn, sandbox, settings=settings, at_a_time=WORKERS, on_chat=step
        )

    chats, dropped = _in_sandbox("episodes", len(drawn), settings, play)
    if not chats:
        raise AlignError("no episode ends as its label says", fix="give other SCENARIOS")
    _write(chats, items.values(), dropped, template, flags)


def _tasks(items: Iterable[tuple[Item, str]], split_of: Mapping[str, str]) -> Iterator[making.Task]:
    for item, origin in items:
        if FIELD not in item.gold:
            raise AlignError(
                f"item {item.id} of {origin} is no scenario, so that no label of it is proven",
                fix=f"run `toolhop perturb --data {origin} --into unmatched,reserve,"
                "missing-parameter --out FILE`, and give FILE",
            )
        kind = making.kind_of(item)
        if kind is not None:
            yield making.Task(item, kind, origin, licence(item, origin), split_of[item.id])


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


@align.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--faults", is_flag=True, help="Top up with gold calls that are broken on purpose.")
@click.option("--pairs-per-item", type=Whole(1), default=None,
              help="Pairs of an item at most; the best sources come first.")  # fmt: skip
@_made_options
def dpo(runs: Sequence[Path], **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Write preference pairs from RUNS: runs, ablations, and folders of `toolhop align sample`.

    Two replies form a pair if they follow the same messages and their executed verdicts differ: one
    pair for each type, step and item, from the best source. Whole trajectories form pairs as well.
    """
    check_new(flags["out"], flags["formats"])
    template, gathered = ChatTemplate.read(flags["chat_template"]), Gathered()
    for folder in runs:
        if (folder / SAMPLES_FILE).is_file():
            add_samples(gathered, folder)
            refuse_tests("", gathered.items.values(), flags["allow_test"])
            continue
        for item, trace, origin in _traces(folder, gathered.dropped, flags["allow_test"]):
            gathered.take(item, folder)
            gather(gathered, trace, item, origin, licence(item, origin))
    split_of = _split_of(gathered.items.values(), flags)
    complete(gathered, faults=flags["faults"], seed=flags["seed"])

    async def execute(sandbox: Sandbox, step: Callable[[], None]) -> None:
        await gathered.execute(sandbox, WORKERS, step)

    settings = checked({"sandbox": flags["sandbox"]})
    _in_sandbox("replies", len(gathered.waiting), settings, execute)
    made = pairs(gathered, split_of, most=flags["pairs_per_item"])
    if not made:
        raise AlignError(
            "no two replies to one context have verdicts that differ",
            fix="give more RUNS, `toolhop align sample` a run, or pass --faults",
        )
    _write(made, gathered.items.values(), gathered.dropped, template, flags)


def _traces(
    folder: Path, dropped: Counter[str], allow_test: bool
) -> Iterator[tuple[Item, Trace, str]]:
    """Yield the episodes of a run that can be trained on, with their items and data."""
    for _, store in opened([folder]):
        manifest = store.manifest
        origin = str((manifest.get("data") or {}).get("name", ""))
        settings = manifest.get("settings") or {}
        items = store.items(last_wins=settings.get("last_wins") is True).by_id
        refuse_tests(origin, items.values(), allow_test)
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
@_test_option
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="The folder to write; one that exists is resumed.")  # fmt: skip
@json_option
def sample(
    run: Path, out: Path, as_json: bool, count: int, allow_test: bool, **flags: Any  # noqa: ANN401 -- click passes options of many types
) -> None:  # fmt: skip
    """Ask a model for several replies to each step of RUN, and execute each from there.

    The messages before a step are those of the run. Each reply gets a verdict: correct, answer,
    indecisive, hallucinated or other. `toolhop align dpo` makes pairs from the folder. Give the
    newest checkpoint's name or server as --model and --base-url to begin another round.
    """
    settings = checked(flags)
    if not (settings.model or settings.agent):
        raise click.UsageError("nobody is to reply; give --model, or a scripted --agent")
    contexts, items, dropped = dict[str, Context](), dict[str, Item](), Counter[str]()
    for item, trace, origin in _traces(run, dropped, allow_test):
        items[item.id] = item
        for turn in range(1, len(trace.replies) + 1):
            one = context_of(trace, item, turn, origin, licence(item, origin))
            contexts.setdefault(one.key, one)
    if not contexts:
        raise AlignError(f"{run} has no step to sample at", fix="give a run with tool calls")
    if not (out / ITEMS_FILE).exists():
        write_items(out, items.values())
    elif {one.digest for one in items_in(out).values()} != {one.digest for one in items.values()}:
        raise AlignError(f"{out} has samples of other items", fix="give another --out")
    at_a_time = settings.max_connections or WORKERS
    with closing(SampleFile(out / SAMPLES_FILE, settings)) as file:

        async def ask() -> None:
            given, gate = Given(settings, tuple(items.values())), Connections(at_a_time)
            with Steps(ErrorConsole(), "steps", len(contexts)) as shown:
                async with open_means(given, WORKERS, gate, settings.base_url) as means:
                    await sample_contexts(
                        contexts.values(), items, means, file,
                        count=count, at_a_time=at_a_time, on_context=shown.step,
                    )  # fmt: skip

        anyio.run(ask)
    replies = dict(sorted(file.verdicts.items()))
    if as_json:
        write_json({"contexts": len(contexts), "replies": replies, "dropped": dict(dropped),
                    "folder": str(out)})  # fmt: skip
    else:
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in replies.items())
        say(f"{counted(len(contexts), 'step')}: {verdicts}; samples: {out}")


@align.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_template_option
@_against_option
@_by_option
@_test_option
@setting_option("template")
@setting_option("sandbox")
@json_option
def check(folder: Path, as_json: bool, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Check every line of FOLDER again: masks, guards, leaks, and results by execution.

    Each line is rendered with the template: no token outside of the agent's own turns may be
    trained, and the end of each trained turn must be. The agent's turns are executed again.

    Exit code 0: nothing to refuse. 1: some lines are refused. 2: bad input.
    """
    lines, items = [*lines_of(folder)], items_in(folder)
    refuse_tests("", items.values(), flags["allow_test"])
    how, held, by = (
        ChatTemplate.read(flags["chat_template"]),
        _held(flags["against"], flags["allow_test"]),
        _names(flags["split_by"]),
    )
    settings = checked(values_of({name: flags[name] for name in ("template", "sandbox")}))
    splits({}, by)  # raises if a name is unknown

    async def again(sandbox: Sandbox, step: Callable[[], None]) -> list[Refusal]:
        return await refusals(
            lines, items, how, sandbox, by=by, against=held, own_prompt=settings.template,
            at_a_time=WORKERS, on_line=step,
        )  # fmt: skip

    refused = _in_sandbox("lines", len(lines), settings, again)
    for name in [] if refused else edited(folder, lines, how):
        refused.append(Refusal(name, f"the lines give another file with {how.name}; write it anew"))
    if as_json:
        write_json(
            {"lines": len(lines), "template": how.name, "refused": list(map(asdict, refused))}
        )
    else:
        for one in refused:
            click.echo(f"{one.line}: {one.reason}")
        say(f"{counted(len(lines), 'line')} rendered with {how.name} and run again: "
            f"{counted(len(refused), 'refusal')}")  # fmt: skip
    sys.exit(EXIT_EPISODES if refused else 0)


align.add_command(train)
