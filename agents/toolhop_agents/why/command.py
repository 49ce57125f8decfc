"""`toolhop why`: where episodes were lost, and whether a repair makes them right."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from dotenv import load_dotenv

from toolhop_agents.benchmarks.predictions import PREFIX
from toolhop_agents.cli.arms import leave, play
from toolhop_agents.cli.flags import Whole
from toolhop_agents.cli.json_output import json_option, table_format, write_json
from toolhop_agents.cli.options import (
    given,
    resumed_settings,
    resuming_options,
    setting_option,
)
from toolhop_agents.compare.cells import interval, table_of
from toolhop_agents.runs.job import settings_of
from toolhop_agents.runs.manifest import folder_name
from toolhop_agents.runs.settings import OPERATIONAL, RunSettings
from toolhop_agents.table import table_console
from toolhop_agents.terminal import plain, say
from toolhop_agents.why.cause import CONFIDENCE, LEAST, Stage, Trial
from toolhop_agents.why.folder import REPAIRS, Lost, Repairs, State, jobs, lost_episodes
from toolhop_env.measures import Unit
from toolhop_env.messages import Origin
from toolhop_env.runs.files import fresh_folder, write_atomic
from toolhop_env.runs.store import RunStore
from toolhop_env.spending import Spent, spent_on
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import counted

MAY_CHANGE = OPERATIONAL | {"base_url", "simulator_base_url", "user_model_base_url"}
NEW = ("episodes", "continuations", "certificates")
"""Options that a folder which was begun has its own values of."""
RUN_LIMITS = ("run_token_limit", "run_call_limit", "run_cost_limit", "run_time_limit_s")


# fmt: off
@click.command(context_settings={"show_default": True})
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--repair", is_flag=True, help="Play continuations with and without a repair.")
@click.option("--continuations", type=Whole(min=LEAST), default=8,
              help="Continuations of each episode on each side.")
@click.option("--episode", "episodes", multiple=True, metavar="NAME",
              help="Only this episode, or those of this item.")
@setting_option("certificates", default=None, show_default=False,
                help="Certificates of the items, as `toolhop certify` writes them.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, without doing it.")
@table_format
@json_option
@click.pass_context
def why(
    ctx: click.Context, /, run: Path, repair: bool, continuations: int, episodes: Sequence[str],
    certificates: Path | None, dry_run: bool, as_json: bool,
    **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:
    """List where the episodes of RUN were lost, and what repairing them would take.

    With --repair, each is continued from its first divergence: as it was played, and with the gold
    call in its place. Where success does not rise, the next divergence is repaired, then both. RUN
    may be the folder that this makes: it is shown, and with --repair played on.
    """
    load_dotenv(Path(".env"))
    changes, begun = {name: flags[name] for name in given(ctx) if name in flags}, run / REPAIRS
    if not repair and (dry_run or changes):
        raise click.UsageError("--dry-run and settings go with --repair: add it, or leave them out")
    if begun.is_file():
        if any(name in given(ctx) for name in NEW):
            raise click.UsageError(f"{run} was begun with its own episodes, continuations and "
                                   "certificates: leave these out, or start anew from the run")
        state = State(run)
        lost, repairs = state.lost, state.repairs
    else:
        lost, repairs = _new(RunStore.open(run), episodes, continuations, certificates)
    if repair:
        settings = _settings(ctx, run, repairs.settings, changes)
    if repair or not begun.is_file():
        say(_cost(lost, repairs.continuations))
    if not repair or dry_run or not any(episode.repairs for episode in lost):
        _print(lost, as_json=as_json)
        return
    if not begun.is_file():
        run = _created(repairs.model_copy(update={"settings": settings}))
    say(f"repairs: {run}")
    ended = play(run, settings.agent_name, jobs(run, settings))
    state = State(run)
    _print(state.lost, as_json=as_json)
    leave("why --repair", run, settings, ended, state.stores.values())
# fmt: on


why.params += resuming_options(RunSettings, MAY_CHANGE)


def _new(
    store: RunStore, episodes: Sequence[str], continuations: int, certificates: Path | None
) -> tuple[list[Lost], Repairs]:
    """Return a run's lost episodes, and their repairs.

    Raises:
        click.UsageError: one of the `episodes` is not a lost one.
    """
    own, (_, lost) = settings_of(store), lost_episodes(store, certificates)
    chosen = dict[str, Lost]()
    for name in episodes or [episode.attempt.item for episode in lost]:
        named = {e.attempt.episode: e for e in lost if name in (e.attempt.item, e.attempt.episode)}
        if not named:
            raise click.UsageError(f"{store.folder} has no lost episode {name}; leave it out")
        chosen |= named
    # Each continuation is an epoch of its own, with a seed that the run did not have.
    epochs, seed = own.epochs * continuations, own.seed + own.epochs
    fresh = {"epochs": epochs, "seed": seed, "shard": None, "log_dir": store.folder.parent}
    return [*chosen.values()], Repairs(
        run=str(store.folder.resolve()),
        episodes=tuple(chosen),
        continuations=continuations,
        certificates=certificates and certificates.resolve(),
        settings=own.model_copy(update={**fresh, **dict.fromkeys(RUN_LIMITS)}),
    )


def _settings(
    ctx: click.Context, run: Path, stored: RunSettings, changes: Mapping[str, Any]
) -> RunSettings:
    """Return the stored settings with what was given.

    Raises:
        click.UsageError: see `resumed_settings`; or the agent cannot go on from other turns.
    """
    wanted = resumed_settings(ctx, run, stored, changes)
    if wanted.approve or wanted.keep_thoughts == "off" or wanted.agent_name.startswith(PREFIX):
        raise click.UsageError(
            f"{run} cannot be continued, as it was played with --approve, --keep-thoughts off or "
            "a file of answers; play it without"
        )
    return wanted


def _created(repairs: Repairs) -> Path:
    """Create the folder of the repairs, and return it."""
    at, agent = folder_name(repairs.settings).split("_", 1)
    folder = fresh_folder(repairs.settings.log_dir, f"{at}_why_{agent}")
    run = os.path.relpath(repairs.run, folder.resolve())
    stored = repairs.model_copy(update={"run": run})
    write_atomic(folder / REPAIRS, stored.model_dump_json(indent=2).encode())
    return folder


def _cost(lost: Sequence[Lost], continuations: int) -> str:
    """Say what the repairs will take if continuations take what the episodes took.

    As played, the diverging turn is asked for anew; repaired, only the turns after it.
    """
    taken, repairable = Spent(), [episode for episode in lost if episode.repairs]
    head = f"{counted(len(lost), 'lost episode')}, {len(repairable)} with a gold call"
    if not repairable:
        return f"{head}; --certificates gives the gold calls that `toolhop certify` proved"
    for episode in repairable:
        all_replies = [event.reply for event in episode.trace.replies]
        for kept in (episode.repairs[0].turn - 1, episode.repairs[0].turn):
            replies = all_replies[kept:] or all_replies[-1:]
            asked = [replace(reply, origin=Origin.ASKED, retries=0) for reply in replies]
            taken += spent_on(asked * continuations)
    usd = "" if taken.cost_usd is None else f", ${taken.cost_usd:,.2f}"
    return (
        f"{head}; {continuations} continuations of each, as played and repaired: about "
        f"{counted(taken.replies, 'model call')}, {taken.tokens:,} tokens{usd}; up to three times "
        "that where the first repair changes nothing"
    )


def _print(lost: Sequence[Lost], *, as_json: bool) -> None:
    """Print each lost episode: its divergence, its repairs, and what they show."""
    if as_json:
        write_json([_to_json(episode) for episode in lost])
        return
    tried = any(episode.trials for episode in lost)
    numbers = ("as played", "repaired", f"{CONFIDENCE:.1%} interval") if tried else ()
    texts = ("episode", "divergence", "cause" if tried else "gold call")
    table = table_of("Lost episodes", texts, ("turn", *numbers))
    for episode in lost:
        kind, turn = (episode.first.kind, str(episode.first.turn)) if episode.first else ("", "")
        shown = episode.cause if tried or not episode.repairs else episode.repairs[0].tool
        empty = [""] * len(numbers)
        table.add_row(*map(plain, (episode.attempt.episode, kind, shown, turn, *empty)))
        for stage, trial in episode.trials.items():
            if trial is not None:
                repair = None if stage is Stage.BOTH else episode.repairs[stage is Stage.NEXT]
                what, at = (f"{stage}: {repair.tool}", f"{repair.turn}") if repair else (stage, "")
                table.add_row(*map(plain, ("", what, "", at, *_cells(trial))))
    console = table_console()
    console.print(table)
    if tried:
        causes = Counter(episode.cause for episode in lost).most_common()
        console.print(", ".join(f"{name} {number}" for name, number in causes))


def _cells(trial: Trial) -> tuple[str, str, str]:
    rise = trial.rise
    before, after = (f"{round(side * rise.n)} of {rise.n}" for side in (rise.before, rise.after))
    limits = interval(Unit.SHARE, rise.low, rise.high, digits=0)
    return before, after, "identical" if trial.identical else limits


def _to_json(episode: Lost) -> dict[str, JSON]:
    """Return a lost episode as plain values; shares are from 0 to 1."""
    return {
        "episode": episode.attempt.episode,
        "item": episode.attempt.item,
        "divergence": episode.first.to_json() if episode.first else None,
        "repairs": [
            {
                "divergence": repair.divergence.to_json(),
                "tool": repair.tool,
                "arguments": dict(repair.arguments),
            }
            for repair in episode.repairs
        ],
        "trials": {stage: _trial(trial) for stage, trial in episode.trials.items() if trial},
        "cause": episode.cause,
    }


def _trial(trial: Trial) -> JSON:
    rise = trial.rise
    low, high = (None, None) if trial.identical else (rise.low, rise.high)
    return {
        "pairs": rise.n, "as_played": rise.before, "repaired": rise.after,
        "low": low, "high": high, "identical": trial.identical,
    }  # fmt: skip
