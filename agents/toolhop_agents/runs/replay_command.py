"""`toolhop replay`: run the recorded calls of a run again, without a model."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import click
from pydantic import BaseModel, ValidationError
from rich.console import Console, Group, RenderableType
from rich.text import Text

from toolhop_agents.cli import EXIT_EPISODES, EXIT_USAGE
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.cli.options import setting_option
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.runs.manifest import version_of
from toolhop_agents.runs.replay import (
    CallDifference,
    NotReplayable,
    Verification,
    compare,
    rerun,
    verify,
)
from toolhop_agents.table import table_console
from toolhop_agents.terminal import plain, say
from toolhop_agents.trace_view import episode_lines
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Called, Trace, to_line
from toolhop_sandbox.base import Limits, Policy
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.docker.engine import Transport
from toolhop_sandbox.outcome import JSON
from toolhop_sandbox.pool import PooledSandbox
from toolhop_tools.errors import counted, why
from toolhop_tools.load import select
from toolhop_tools.model import DataSet, Item

Opening: TypeAlias = Callable[[], Awaitable[PooledSandbox]]
AT_A_TIME = max(2, os.cpu_count() or 1)
"""Number of concurrent episodes."""
SHOWN = 20
"""Differences printed in full; `--json` lists all."""
NOT_REPORTED = frozenset({"transport"})
"""Fields of a sandbox's description that do not affect results."""
PACKAGES = ("toolhop-env", "RestrictedPython", "pydantic")
"""Packages involved in parsing, running and answering a call."""


class _Settings(BaseModel):
    """A manifest's settings for sandbox and items."""

    last_wins: bool = False
    sandbox_base: str | None = None
    runtime: str | None = None
    transport: Transport = "auto"


class _Isolation(BaseModel):
    """A manifest's description of the run's sandbox."""

    kind: Literal["docker", "process"]
    policy: Policy
    wall_s: float
    memory_mib: int
    result_bytes: int


class _Played(BaseModel):
    """The parts of a manifest that determine how tools were run."""

    settings: _Settings
    sandbox: _Isolation


@dataclass(frozen=True, slots=True)
class Change:
    """A difference of the sandbox or a package from the run's."""

    name: str
    recorded: JSON
    now: JSON


@dataclass(frozen=True, slots=True)
class _Run:
    """The episodes to replay."""

    store: RunStore
    data: DataSet
    chosen: frozenset[str]
    """Ids of the requested items."""
    episode: str | None

    def traces(self) -> Iterator[Trace]:
        """The requested traces, read one by one."""
        for trace in self.store.traces():
            start = trace.started
            # Items missing from the run are reported when they are replayed.
            if start.item in self.data.by_id and start.item not in self.chosen:
                continue
            if self.episode in {None, start.episode, start.item}:
                yield trace

    @property
    def items(self) -> Mapping[str, Item]:
        """The items as played."""
        return self.data.by_id


# fmt: off
@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--verify", "verifying", is_flag=True,
              help="Compare every call with the trace; exit code 1 where one differs.")
@click.option("--episode", default=None, help="Only this episode, or those of this item.")
@setting_option("limit")
@setting_option("sample_ids")
@setting_option("sandbox", default=None, help="What isolates tools.  [default: what the run had]")
@json_option
def replay(
    run: Path,
    verifying: bool,
    episode: str | None,
    limit: str | None,
    sample_ids: Sequence[str],
    sandbox: Literal["auto", "docker", "process"] | None,
    as_json: bool,
) -> None:
    """Run the tool calls of RUN again: no model is asked, nothing is written.

    With --verify every call must give what the trace says: verdict, outcome, error code and
    feedback, byte by byte. With --episode alone the episode is printed as it goes today, and
    what differs is reported. Limits, policy and items are those of the run: the folder is all that
    is needed.
    """
    if not verifying and episode is None:
        raise click.UsageError(
            "it is not said what to do: give --verify to check the run, or --episode NAME to see "
            "one again"
        )
    store = RunStore.open(run)
    how = _how(store)
    data = store.items(last_wins=how.settings.last_wins)
    chosen = select(data, limit=limit, sample_ids=sample_ids)
    wanted = _Run(store, data, frozenset(item.id for item in chosen), episode)
    finished = sum(trace.ended is not None for trace in wanted.traces())
    if not finished:
        say(
                   f"toolhop: {run} has no finished episode that fits; `toolhop show {run}` "
                   "lists all"
        )
        sys.exit(EXIT_USAGE)
    opening = partial(_open, how, sandbox or how.sandbox.kind)
    if verifying:
        found = anyio.run(_verify, wanted, opening, finished)
        _print(run, *found, as_json=as_json)
    else:
        anyio.run(_show, wanted, opening, as_json)


# fmt: on
def _how(store: RunStore) -> _Played:
    try:
        return _Played.model_validate(store.manifest)
    except ValidationError as error:
        raise StoreError(
            f"the manifest of {store.folder} does not tell how tools were run: {why(error)}"
        ) from error


async def _open(how: _Played, kind: Literal["auto", "docker", "process"]) -> PooledSandbox:
    had, settings = how.sandbox, how.settings
    try:
        limits = Limits(had.wall_s, had.memory_mib, had.result_bytes)
    except ValueError as error:
        raise StoreError(f"the manifest gives limits that cannot be had: {error}") from error
    return await open_sandbox(
        kind,
        limits=limits,
        policy=had.policy,
        max_workers=AT_A_TIME,
        base=settings.sandbox_base,
        runtime=settings.runtime,
        transport=settings.transport,
    )


async def _verify(run: _Run, opening: Opening, finished: int) -> tuple[Verification, list[Change]]:
    async with await opening() as sandbox:
        with Steps(ErrorConsole(), "episodes", finished) as shown:
            found = await verify(
                run.traces(), run.items, sandbox, at_a_time=AT_A_TIME, on_episode=shown.step
            )
        return found, changes(run.store.manifest, sandbox.description)


def changes(manifest: Mapping[str, JSON], description: Mapping[str, JSON]) -> list[Change]:
    """Return the differences of sandbox and packages from those in the manifest.

    The manifest of a killed run lacks its workers' description, so nothing is reported then.
    """
    sandbox, versions = manifest.get("sandbox"), manifest.get("versions")
    recorded = dict(sandbox) if isinstance(sandbox, dict) else {}
    now = dict(description)
    for name in PACKAGES:
        if isinstance(versions, dict) and name in versions:
            recorded[name], now[name] = versions[name], version_of(name)
    return [
        Change(name, recorded[name], value)
        for name, value in now.items()
        if name in recorded and name not in NOT_REPORTED and recorded[name] != value
    ]


def _print(run: Path, found: Verification, changed: Sequence[Change], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_to_json(run, found, changed), ensure_ascii=False))
    else:
        _report(table_console(), found, changed)
    sys.exit(0 if found.holds else EXIT_EPISODES)


def _to_json(run: Path, found: Verification, changed: Sequence[Change]) -> dict[str, JSON]:
    return {
        "run": str(run),
        "holds": found.holds,
        "episodes": found.episodes,
        "calls": found.calls,
        "by_kind": found.by_kind,
        "differences": [one.to_json() for one in found.differences],
        "unfinished": list(found.unfinished),
        "not_replayed": dict(found.not_replayed),
        "changed": [asdict(one) for one in changed],
    }


def _report(console: Console, found: Verification, changed: Sequence[Change]) -> None:
    for change in changed:
        text = f"not as it was: {change.name} is {change.now}, was {change.recorded}"
        console.print(plain(text))
    for one in found.differences[:SHOWN]:
        console.print(difference(one))
    left = len(found.differences) - SHOWN
    if left > 0:
        console.print(f"{left} more calls differ; --json has them all")
    for name, reason in found.not_replayed.items():
        console.print(plain(f"{name} was not run again: {reason}", "red"))
    if found.unfinished:
        count = len(found.unfinished)
        console.print(f"left out, as they were cut off: {counted(count, 'episode')} without an end")
    limits = f", {found.by_kind} of them by the kind of limit alone" if found.by_kind else ""
    whole = f"{counted(found.calls, 'call')} of {counted(found.episodes, 'episode')}"
    said = f"{whole} run again{limits}: "
    wrong = len(found.differences)
    text = f"{wrong} not as recorded" if wrong else "all as recorded"
    console.print(Text(said + text, "bold"))


def difference(one: CallDifference) -> RenderableType:
    """Render a call that differs, with both sides."""
    call = one.recorded or one.replayed
    lines = [plain(f"{one.episode}, call {one.number}: not the same {', '.join(one.parts)}", "red")]
    if call is not None:
        lines.append(plain(f"  {call.raw.name}({call.raw.arguments})", "cyan"))
    for name, side in (("recorded", one.recorded), ("now     ", one.replayed)):
        lines.append(plain(f"  {name}  {_reported(side, one.parts)}"))
    return Group(*lines)


def _reported(call: Called | None, parts: Sequence[str]) -> str:
    if call is None:
        return "no such call"
    more = [
        f"{part} {getattr(call, part)}"
        for part in parts
        if part in {"turn", "level", "hop", "raw", "verdict"}
    ]
    outcome = call.outcome.kind if call.outcome else "not run"
    return "; ".join([f"{call.error or 'ok'} ({outcome}): {call.feedback}", *more])


async def _show(run: _Run, opening: Opening, as_json: bool) -> None:
    """Print the requested episodes as they go today, then the differences."""
    console, said = table_console(), run.store.judgements()
    async with await opening() as sandbox:
        for trace in run.traces():
            item = run.items.get(trace.started.item)
            if item is None:
                raise NotReplayable(f"item {trace.started.item} is not among the run's items")
            again = await rerun(trace, item, sandbox)
            found = compare(trace, again)
            if as_json:
                for event in again.events:
                    sys.stdout.buffer.write(to_line(event))
                continue
            console.print(*episode_lines(again, said.answers(again)), sep="\n")
            for one in found:
                console.print(difference(one))
            if not found:
                console.print(Text(f"{counted(len(trace.calls), 'call')}, all as recorded", "bold"))
