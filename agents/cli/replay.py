"""`toolhop replay`: run the recorded calls of a run again, without a model."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import anyio
import click
from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Console, Group, RenderableType
from rich.text import Text

from agents.cli import EXIT_EPISODES, EXIT_USAGE
from agents.cli.progress import Steps
from agents.runs.replay import Difference, NotReplayable, Verification, compare, rerun, verify
from agents.runs.store import RunStore, StoreError
from agents.table import table_console
from agents.terminal import plain
from agents.trace_view import episode_lines
from env.trace import Called, Trace, to_line
from sandbox.base import Limits, Policy
from sandbox.choose import KINDS, open_sandbox
from sandbox.engine import Transport
from sandbox.outcome import JSON
from sandbox.pool import PooledSandbox
from toolhop_tools.load import select
from toolhop_tools.model import DataSet, Item

Part = TypeVar("Part", bound=BaseModel)
Opening: TypeAlias = Callable[[], Awaitable[PooledSandbox]]
SHOWN = 20
"""Differences that are printed in full; `--json` has all."""
UNTOLD = frozenset({"transport"})
"""Parts of a sandbox's description that bear on no result."""
TOLD_PACKAGES = ("toolhop-env", "RestrictedPython", "pydantic")
"""Packages that a call's reading, running and feedback go through."""


class _Settings(BaseModel):
    """What a manifest's settings say of how tools were run."""

    model_config = ConfigDict(extra="ignore")

    last_wins: bool = False
    sandbox_base: str | None = None
    runtime: str | None = None
    transport: Transport = "auto"


class _Isolation(BaseModel):
    """What a manifest says of the sandbox that a run had."""

    model_config = ConfigDict(extra="ignore")

    kind: Literal["docker", "process"]
    policy: Policy
    wall_s: float
    memory_mib: int
    result_bytes: int


@dataclass(frozen=True, slots=True)
class Change:
    """Something about the sandbox or a package that is not as it was."""

    name: str
    recorded: JSON
    now: JSON


@dataclass(frozen=True, slots=True)
class _Run:
    """What is replayed."""

    store: RunStore
    data: DataSet
    chosen: frozenset[str]
    """Ids of the items asked for."""
    episode: str | None

    def traces(self) -> Iterator[Trace]:
        """The traces asked for, read one by one."""
        for trace in self.store.traces():
            start = trace.started
            # An item that is not in the run's items is told of by whoever replays it.
            if start.item in self.data.by_id and start.item not in self.chosen:
                continue
            if self.episode in {None, start.episode, start.item}:
                yield trace

    @property
    def items(self) -> Mapping[str, Item]:
        """The items as they were played."""
        return self.data.by_id


# fmt: off
@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--verify", "verifying", is_flag=True,
              help="Compare every call with the trace; exit code 1 where one differs.")
@click.option("--episode", default=None, help="Only this episode, or those of this item.")
@click.option("--limit", default=None, help="10 for the first ten items, 10-20 for a range.")
@click.option("--sample-id", "sample_ids", multiple=True, help="Items by id; may be repeated.")
@click.option("--sandbox", type=click.Choice(KINDS), default=None,
              help="What isolates tools.  [default: what the run had]")
@click.option("--json", "as_json", is_flag=True, help="What was found as JSON.")
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
    what differs is told. Limits and policy are those of the run, and so are the items: the folder
    is all that is needed.
    """
    if not verifying and episode is None:
        raise click.UsageError("give --verify to check the run, or --episode NAME to see one again")
    store = RunStore.open(run)
    settings = _read(_Settings, store, "settings")
    data = store.items(last_wins=settings.last_wins)
    chosen = select(data, limit=limit, sample_ids=sample_ids)
    wanted = _Run(store, data, frozenset(item.id for item in chosen), episode)
    finished = sum(trace.ended is not None for trace in wanted.traces())
    if not finished:
        click.echo(f"toolhop: {run} has no finished episode that fits; `toolhop show {run}` "
                   "lists all", err=True)
        sys.exit(EXIT_USAGE)
    isolation = _read(_Isolation, store, "sandbox")
    opening = partial(_open, settings, isolation, sandbox or isolation.kind)
    if verifying:
        found = anyio.run(_verify, wanted, opening, finished)
        _print(run, *found, as_json=as_json)
    else:
        anyio.run(_show, wanted, opening, as_json)


# fmt: on
def _read(kind: type[Part], store: RunStore, part: str) -> Part:
    try:
        return kind.model_validate(store.manifest.get(part))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([part, *(str(name) for name in first["loc"])])
        raise StoreError(
            f"the manifest of {store.folder} does not tell how tools were run: "
            f"{where}: {first['msg']}"
        ) from error


async def _open(
    settings: _Settings, isolation: _Isolation, kind: Literal["auto", "docker", "process"]
) -> PooledSandbox:
    try:
        limits = Limits(isolation.wall_s, isolation.memory_mib, isolation.result_bytes)
    except ValueError as error:
        raise StoreError(f"the manifest gives limits that cannot be had: {error}") from error
    return await open_sandbox(
        kind,
        limits=limits,
        policy=isolation.policy,
        max_workers=_at_a_time(),
        base=settings.sandbox_base,
        runtime=settings.runtime,
        transport=settings.transport,
    )


def _at_a_time() -> int:
    return max(2, os.cpu_count() or 1)


async def _verify(run: _Run, opening: Opening, finished: int) -> tuple[Verification, list[Change]]:
    async with await opening() as sandbox:
        with Steps(Console(stderr=True), "episodes", finished) as shown:
            found = await verify(
                run.traces(),
                run.items,
                sandbox,
                at_a_time=_at_a_time(),
                on_episode=shown.step,
            )
        return found, changes(run.store.manifest, sandbox.description)


def changes(manifest: Mapping[str, JSON], description: Mapping[str, JSON]) -> list[Change]:
    """What of the sandbox and the packages is not as the manifest has it.

    The manifest of a run that was killed lacks what its workers had to tell: nothing is said then.
    """
    sandbox, versions = manifest.get("sandbox"), manifest.get("versions")
    recorded = dict(sandbox) if isinstance(sandbox, dict) else {}
    now = dict(description)
    for name in TOLD_PACKAGES:
        if isinstance(versions, dict) and name in versions:
            recorded[name], now[name] = versions[name], _version(name)
    return [
        Change(name, recorded[name], value)
        for name, value in now.items()
        if name in recorded and name not in UNTOLD and recorded[name] != value
    ]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


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
        "changed": [
            {"name": one.name, "recorded": one.recorded, "now": one.now} for one in changed
        ],
    }


def _report(console: Console, found: Verification, changed: Sequence[Change]) -> None:
    for change in changed:
        told = f"not as it was: {change.name} is {change.now}, was {change.recorded}"
        console.print(plain(told))
    for one in found.differences[:SHOWN]:
        console.print(difference(one))
    left = len(found.differences) - SHOWN
    if left > 0:
        console.print(f"{left} more calls differ; --json has them all")
    for name, reason in found.not_replayed.items():
        console.print(plain(f"{name} was not run again: {reason}", "red"))
    if found.unfinished:
        count = len(found.unfinished)
        console.print(f"{count} episodes without an end were left out: they were cut off")
    limits = f", {found.by_kind} of them by the kind of limit alone" if found.by_kind else ""
    said = f"{found.calls} calls of {found.episodes} episodes were run again{limits}: "
    wrong = len(found.differences)
    told = f"{wrong} not as recorded" if wrong else "all as recorded"
    console.print(Text(said + told, "bold"))


def difference(one: Difference) -> RenderableType:
    """A call that was not as recorded, with both sides."""
    call = one.recorded or one.replayed
    lines = [plain(f"{one.episode}, call {one.number}: not the same {', '.join(one.parts)}", "red")]
    if call is not None:
        lines.append(plain(f"  {call.raw.name}({call.raw.arguments})", "cyan"))
    for name, side in (("recorded", one.recorded), ("now     ", one.replayed)):
        lines.append(plain(f"  {name}  {_told(side, one.parts)}"))
    return Group(*lines)


def _told(call: Called | None, parts: Sequence[str]) -> str:
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
    """Print the episodes asked for as they go today, then what differs."""
    console = table_console()
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
            console.print(*episode_lines(again), sep="\n")
            for one in found:
                console.print(difference(one))
            if not found:
                console.print(Text(f"{len(trace.calls)} calls, all as recorded", "bold"))
