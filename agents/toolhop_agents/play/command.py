"""`toolhop play`: play an item yourself, in the terminal or from a pipe."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.cli.flags import data_option
from toolhop_agents.cli.options import setting_option
from toolhop_agents.runs.job import settings_of
from toolhop_agents.runs.manifest import ended, folder_name, manifest
from toolhop_agents.runs.resume import kept
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit, setting
from toolhop_agents.terminal import say
from toolhop_env.benchmarks import named
from toolhop_env.feedback import Level
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.store import RunStore
from toolhop_env.spending import Spent
from toolhop_env.trace import Ending, Trace
from toolhop_sandbox.choose import open_sandbox
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load, select
from toolhop_tools.model import DataSet, Item, Tool
from toolhop_tools.scenarios.label import FIELD

if TYPE_CHECKING:
    from toolhop_agents.play.prompt import Lines
    from toolhop_agents.play.screen import Screen

RANDOM = "random"
AGENT, HOPS, GOLD = "person", "hops", "gold"


@click.command(context_settings={"show_default": True})
@click.argument("item", default=RANDOM)
@data_option
@click.option(
    "--feedback",
    type=click.Choice([level.value for level in Level]),
    default=Level.DETAILED.value,
    help="Feedback to failed calls.",
)
@click.option(
    "--mode",
    default=None,
    help="A mode of the benchmark; ToolHop's direct has no tools.  [default: its first]",
)
@setting_option("sandbox")
@setting_option("policy")
@setting_option("turn_limit", default=None)
@setting_option("seed", default=None)
@click.option(
    "--show-hops", is_flag=True, help="Show how many hops are solved, which no model sees."
)
@click.option("--show-gold", is_flag=True, help="Show the gold answers in :score and at the end.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    default=None,
    metavar="RUN",
    help="Continue an unfinished game after its last turn, as a new run.",
)
@setting_option("log_dir")
@click.pass_context
def play(
    ctx: click.Context, /, item: str, mode: str | None, show_hops: bool, show_gold: bool,
    resume: Path | None, **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:  # fmt: skip
    """Play ITEM yourself: call its tools, read their feedback, answer.

    ITEM is an id, a pattern such as geography-*, or nothing for a random item; `toolhop data list`
    shows them all. Everything is traced as if a model played. But before a call that would be
    rejected, the terminal asks you first, which takes no turn. With --show-hops or --show-gold,
    the player's name in the trace says so. Lines can also be piped in:

    \b
        printf 'a_tool {"a": 1}\\n:answer 4\\n' | toolhop play ITEM
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    if resume is not None:
        _only(ctx, {"resume", "show_hops", "show_gold", "log_dir"})
        run(*left_game(resume, flags["log_dir"], shown_by(show_hops, show_gold)))
        return
    seed = random.randrange(10_000) if flags["seed"] is None else flags["seed"]
    dataset = load(flags["data"])
    chosen = choose(dataset, item, seed)
    usual = binding_of(chosen.benchmark).turn_limit or RunSettings().turn_limit
    own = {
        "agent": player(shown_by(show_hops, show_gold)),
        "modes": (mode_of(chosen, mode),),
        "sample_ids": (chosen.id,),
        "seed": seed,
        "turn_limit": flags["turn_limit"] or usual,
    }
    settings = RunSettings(**{**flags, **own})
    if chosen.id != item:
        say(f"{chosen.id}, picked at random; --seed {seed} picks it again")
    run(settings, dataset, chosen, None)


def shown_by(hops: bool, gold: bool) -> frozenset[str]:
    """Return the names of the hints shown to the player but to no model."""
    return frozenset(name for name, on in ((HOPS, hops), (GOLD, gold)) if on)


def player(shown: Iterable[str]) -> str:
    """Return the agent's name, such as ``person`` or ``person:gold+hops``."""
    return ":".join(filter(None, (AGENT, "+".join(sorted(shown)))))


def shown_to(agent: str) -> frozenset[str]:
    """Return the hints listed in an agent's name, as `player` wrote them."""
    return frozenset(filter(None, agent.partition(":")[2].split("+")))


def _only(ctx: click.Context, allowed: set[str]) -> None:
    """Reject flags that --resume takes from the stored game."""
    for flag in ctx.command.params:
        name = flag.name or ""
        if name not in allowed and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            given = flag.opts[0] if isinstance(flag, click.Option) else "ITEM"
            raise click.UsageError(f"leave {given} out: the game of --resume has its own")


def left_game(
    folder: Path, log_dir: Path, shown: frozenset[str] = frozenset()
) -> tuple[RunSettings, DataSet, Item, Trace | None]:
    """Read an unfinished game: its settings, data and item, and its turns so far.

    The agent's name lists the hints shown before, and those `shown` from now on.

    Raises:
        StoreError: the folder holds no game, or the game is over.
    """
    store = RunStore.open(folder)
    settings = settings_of(store)
    if (settings.agent or "").partition(":")[0] != AGENT:
        raise StoreError(
            f"{folder} was played by {settings.agent_name} and not by a person: "
            f"toolhop run --resume {folder}"
        )
    data = store.items()
    last = max(store.traces(), key=lambda trace: trace.started.attempt)
    if last.ended is not None and last.ended.ending is not Ending.STOPPED:
        raise StoreError(f"the game in {folder} is over; play another one")
    item = data.items[0]
    messages = setting(settings, WorkUnit(item, settings.modes[0], 1)).messages
    agent = player(shown | shown_to(settings.agent or ""))
    own = settings.model_copy(update={"log_dir": log_dir, "feedback": last.level, "agent": agent})
    return own, data, item, kept([last], item, messages).turns


def choose(dataset: DataSet, wanted: str, seed: int) -> Item:
    """Return the item with this id, or a random item that matches the pattern.

    Raises:
        BadChoice: no item matches; the message names the nearest ids.
    """
    if wanted == RANDOM and RANDOM not in dataset.by_id:
        fitting = dataset.items
    else:
        fitting = select(dataset, sample_ids=[wanted])
    if not fitting:
        raise BadChoice(f"{dataset.name} has no items")
    return random.Random(seed).choice(fitting)


def mode_of(item: Item, wanted: str | None) -> str:
    """Return the requested mode, or the first mode of the item's benchmark.

    Raises:
        BadChoice: the benchmark has no such mode.
    """
    benchmark = named(item.benchmark)
    if wanted is None:
        return benchmark.modes[0]
    if wanted not in benchmark.modes:
        raise BadChoice(
            f"{benchmark.title} has no mode {wanted!r}; its modes are {', '.join(benchmark.modes)}"
        )
    return wanted


def run(settings: RunSettings, dataset: DataSet, item: Item, begun: Trace | None) -> None:
    """Play `item` to its end, after the turns in `begun`, with its own sandbox and run folder.

    Raises:
        SandboxError, StoreError: no more calls can be run, or no more turns stored.
    """
    # rich and prompt_toolkit are imported only for a game: help must be instant.
    from anyio.from_thread import start_blocking_portal

    from toolhop_agents.play.branches import Branches, Typist
    from toolhop_agents.play.game import Game
    from toolhop_env.responders import StandIns

    with start_blocking_portal() as portal:
        opened = portal.call(
            partial(
                open_sandbox,
                settings.sandbox,
                limits=settings.tool_limits,
                policy=settings.policy,
                max_workers=1,
            )
        )
        with portal.wrap_async_context_manager(opened):
            facts = manifest(settings, dataset, [item], opened.description)
            store = RunStore.create(settings.log_dir, folder_name(settings), facts, [item])
            screen, typist = _screen(), Typist()
            unit = WorkUnit(item, settings.modes[0], 1)
            # A labelled item has a user who knows what its question hides.
            stand_ins = StandIns(
                simulator=typist,
                user=None if FIELD in item.gold else typist,
                described=binding_of(item.benchmark).described,
            )
            game = Branches(
                portal,
                opened,
                store,
                unit,
                setting(settings, unit),
                typist=typist,
                stand_ins=stand_ins,
                resume_from=begun,
            )
            with game as branches:
                lines = _lines(screen, lambda: branches.episode.tools)
                Game(branches, screen, lines, shown_to(settings.agent or "")).play()
            description = opened.description
            store.write_manifest(ended(facts, status="success", sandbox=description, spent=Spent()))


def _screen() -> Screen:
    from rich.console import Console

    from toolhop_agents.play.screen import Screen

    # Characters outside the terminal's encoding become question marks instead of errors.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Screen(Console())


def _lines(screen: Screen, tools: Callable[[], Sequence[Tool]]) -> Lines:
    """Read from the keyboard if there is a terminal, else from standard input."""
    from toolhop_agents.play.prompt import PipedLines, TerminalLines

    if sys.stdin.isatty() and sys.stdout.isatty():
        return TerminalLines(lambda: {tool.name: tool.schema for tool in tools()})
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    return PipedLines(sys.stdin, screen.echo)
