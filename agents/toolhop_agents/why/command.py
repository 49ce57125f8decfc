"""`toolhop why`: where episodes were lost, and whether a repair makes them right."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import click
from dotenv import load_dotenv

from toolhop_agents.benchmarks.predictions import PREFIX
from toolhop_agents.cli import EXIT_EPISODES, INTERRUPTED
from toolhop_agents.cli.flags import Whole
from toolhop_agents.cli.json_output import json_option, table_format, write_json
from toolhop_agents.cli.options import (
    checked,
    given,
    refuse_other,
    resuming_options,
    setting_option,
)
from toolhop_agents.cli.progress import Episodes, ErrorConsole
from toolhop_agents.cli.stored_addresses import of_run, refuse_unnamed, resuming
from toolhop_agents.runs.diagnose_command import report_errored
from toolhop_agents.runs.execute import Plan
from toolhop_agents.runs.flags import flag_name
from toolhop_agents.runs.job import settings_of
from toolhop_agents.runs.manifest import folder_name
from toolhop_agents.runs.settings import OPERATIONAL, RunSettings
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say
from toolhop_agents.why.conduct import conduct
from toolhop_agents.why.folder import REPAIRS, Arm, Lost, Repairs, State, lost_episodes
from toolhop_agents.why.view import cost, print_lost, to_json
from toolhop_env.attempt import Attempt
from toolhop_env.runs.files import fresh_folder, write_atomic
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Event
from toolhop_tools.errors import counted

MAY_CHANGE = OPERATIONAL | {"base_url", "simulator_base_url", "user_model_base_url"}
NEW = ("episodes", "continuations", "certificates")
"""Options that a folder which was begun has its own values of."""
RUN_LIMITS = ("run_token_limit", "run_call_limit", "run_cost_limit", "run_time_limit_s")


# fmt: off
@click.command(context_settings={"show_default": True})
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--repair", is_flag=True, help="Play continuations with and without a repair.")
@click.option("--continuations", type=Whole(min=2), default=8,
              help="Continuations of each episode on each side; of an agent that is not "
                   "deterministic at least 6.")
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
    if begun.is_file() and any(name in given(ctx) for name in NEW):
        raise click.UsageError(f"{run} was begun with its own episodes, continuations and "
                               "certificates: leave these out, or start anew from the run")
    if begun.is_file():
        state = State(run)
        lost, repairs = state.lost, state.repairs
    else:
        lost, repairs = _new(RunStore.open(run), episodes, continuations, certificates)
    if repair:
        settings = _settings(ctx, run, repairs.settings, changes)
    if repair or not begun.is_file():
        say(cost(lost, repairs.continuations))
    if not repair or dry_run or not any(one.repairs for one in lost):
        _print(lost, repairs.continuations, as_json=as_json)
        return
    if not begun.is_file():
        run = _created(repairs.model_copy(update={"settings": settings}))
    _play(run, settings, as_json=as_json)
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
    found = [(one, {one.attempt.item, one.attempt.episode}) for one in lost]
    for name in episodes:
        if not any(name in names for _, names in found):
            raise click.UsageError(f"{store.folder} has no lost episode {name}; leave it out")
    chosen = [one for one, names in found if not episodes or names & {*episodes}]
    # Each continuation is an epoch of its own, with a seed that the run did not have.
    epochs, seed = own.epochs * continuations, own.seed + own.epochs
    fresh = {"epochs": epochs, "seed": seed, "shard": None, "log_dir": store.folder.parent}
    return chosen, Repairs(
        run=str(store.folder.resolve()),
        episodes=tuple(one.attempt.episode for one in chosen),
        continuations=continuations,
        certificates=certificates and certificates.resolve(),
        settings=own.model_copy(update={**fresh, **dict.fromkeys(RUN_LIMITS)}),
    )


def _settings(
    ctx: click.Context, run: Path, stored: RunSettings, changes: Mapping[str, Any]
) -> RunSettings:
    """Return the stored settings with what was given.

    Raises:
        click.UsageError: a flag would change the results, a key would be sent to an address that
            only the folder names, or the agent cannot go on from other turns.
    """
    wanted = checked({**stored.model_dump(), **changes})
    refuse_other(ctx, run, stored, wanted)
    refuse_unnamed(run, of_run(wanted), {*map(flag_name, changes)})
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


def _play(folder: Path, settings: RunSettings, *, as_json: bool) -> None:
    """Play what is left, print what it shows, and exit by how it ended."""
    errors, shown = ErrorConsole(), list[Episodes]()
    say(f"repairs: {folder}")
    with ExitStack() as stack:

        def on_arm(arm: Arm, plan: Plan) -> None:
            stack.close()
            say(f"{' '.join(arm)}: {counted(plan.episodes, 'episode')}")
            shown[:] = [stack.enter_context(Episodes(errors, settings.agent_name))]
            shown[0].start(plan.episodes)

        def on_result(attempt: Attempt) -> None:
            shown[0].result(attempt)

        def on_event(event: Event) -> None:
            shown[0].event(event)

        state, stopped = anyio.run(conduct, State(folder), settings, on_arm, on_result, on_event)
    _print(state.lost, state.repairs.continuations, as_json=as_json)
    errored = [one for store in state.stores.values() for one in store.results() if one.errored]
    if stopped is not None:
        say(f"the repairs stopped ({stopped.status}): {stopped.fault or 'interrupted'}")
    if stopped is not None or errored:
        report_errored(errors, errored)
        say(f"resume with: {resuming('why --repair', folder, of_run(settings))}")
        interrupted = stopped is not None and stopped.status == "cancelled"
        sys.exit(INTERRUPTED if interrupted else EXIT_EPISODES)


def _print(lost: Sequence[Lost], continuations: int, *, as_json: bool) -> None:
    if as_json:
        write_json([to_json(one, continuations) for one in lost])
    else:
        print_lost(table_console(), lost, continuations)
