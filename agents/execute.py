"""A whole run: data, sandbox, players and store put together. What `toolhop run` calls."""

from __future__ import annotations

import logging
import os
import platform
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, TypeAlias

import anyio

from agents.players.choose import choose
from agents.players.scripted import ScriptedModel
from agents.runner import PlayerSource, Runner, Unit, unit_seed, units
from agents.settings import RunSettings
from agents.store import RunStore, StoreError
from env.summary import Judged
from sandbox.choose import open_sandbox
from sandbox.outcome import JSON
from sandbox.pool import PooledSandbox
from toolhop_tools.load import load, select
from toolhop_tools.model import DataSet, Item

log = logging.getLogger(__name__)

FORMAT = 1
"""Version of the manifest."""
MODEL_EPISODES = 10
"""Episodes at a time with a model behind a network, as peers default to."""
PACKAGES = ("toolhop-env", "RestrictedPython", "docker", "litellm", "openai", "pydantic")
Status: TypeAlias = Literal["started", "success", "error", "cancelled"]


class Interrupted(SystemExit):
    """A signal came before there was a run: the process ends, with the code that shells expect."""

    def __init__(self) -> None:
        super().__init__(130)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended."""

    store: RunStore
    status: Status
    judged: Sequence[Judged]
    fault: str = ""
    """Why it ended with an error."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is about to be played."""

    items: tuple[Item, ...]
    work: tuple[Unit, ...]
    at_a_time: int
    folder: str


def prepare(settings: RunSettings) -> tuple[DataSet, tuple[Unit, ...]]:
    """Read the data and list the episodes; nothing is started yet.

    Raises:
        ToolsError: the data cannot be used as asked.
        UnknownAgent: no such player.
    """
    if settings.model is None:
        choose(settings.player)
    data = load(settings.data, last_wins=settings.last_wins)
    items = select(data, limit=settings.limit, sample_ids=settings.sample_ids)
    return data, tuple(units(settings, items))


async def execute(
    settings: RunSettings,
    *,
    on_start: Callable[[Plan], None] = lambda _: None,
    on_result: Callable[[Judged], None] = lambda _: None,
) -> Run:
    """Play a run to its end, an interrupt, or a fault that stops it.

    Everything finished is kept in every case. SIGINT and SIGTERM end it cleanly.

    Raises:
        ToolsError, UnknownAgent, StoreError, SandboxUnavailable: before anything was played.
        Interrupted: by a signal before anything was played.
    """
    data, work = prepare(settings)
    items = tuple({unit.item.id: unit.item for unit in work}.values())
    at_a_time = episodes_at_a_time(settings)
    async with AsyncExitStack() as stack:
        opened: list[tuple[PooledSandbox, PlayerSource]] = []

        async def enter() -> None:
            sandbox = await stack.enter_async_context(await _sandbox(settings, at_a_time, work))
            opened.append((sandbox, await stack.enter_async_context(_players(settings))))

        if await _until_signal(enter):
            raise Interrupted
        [(sandbox, players)] = opened
        facts = manifest(settings, data, items, sandbox)
        store = RunStore.create(settings.log_dir, folder_name(settings), facts)
        store.write_items(items)
        runner = Runner(settings, sandbox, store, players, on_result)
        on_start(Plan(items, work, at_a_time, str(store.folder)))
        status, fault = await _play(runner, work, at_a_time)
        ended = {"status": status, "fault": fault, "ended_at": _now()}
        try:
            store.write_manifest({**facts, "sandbox": dict(sandbox.description), **ended})
        except StoreError as error:
            # As after a full disk, which is the first fault to tell.
            status, fault = "error", fault or _told(error)
        return Run(store, status, runner.judged, fault)


async def _sandbox(settings: RunSettings, at_a_time: int, work: Sequence[Unit]) -> PooledSandbox:
    return await open_sandbox(
        settings.sandbox,
        limits=settings.tool_limits,
        policy=settings.policy,
        max_workers=min(at_a_time, len(work)),
        base=settings.sandbox_base,
        runtime=settings.runtime,
        transport=settings.transport,
    )


async def _play(runner: Runner, work: Sequence[Unit], at_a_time: int) -> tuple[Status, str]:
    """Run until done, interrupted or broken."""
    try:
        cut = await _until_signal(partial(runner.run, work, at_a_time))
    except Exception as error:
        log.debug("the run stopped", exc_info=True)
        return "error", _told(error)
    return "cancelled" if cut else "success", ""


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


async def _until_signal(work: Callable[[], Awaitable[None]]) -> bool:
    """Do `work`; True where SIGINT or SIGTERM cut it off. Raises what `work` raises."""
    cut = False
    fault: list[Exception] = []
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            nonlocal cut
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    cut = True
                    tasks.cancel_scope.cancel()
                    return

        tasks.start_soon(watch)
        try:
            await work()
        except Exception as error:  # noqa: BLE001 -- raised below, outside of the group
            fault.append(error)
        tasks.cancel_scope.cancel()
    if fault and not cut:
        raise fault[0]
    return cut


def episodes_at_a_time(settings: RunSettings) -> int:
    """How many episodes are under way at once."""
    if settings.max_samples is not None:
        return settings.max_samples
    return MODEL_EPISODES if settings.model else max(2, os.cpu_count() or 1)


@asynccontextmanager
async def _players(settings: RunSettings) -> AsyncIterator[PlayerSource]:
    """One shared client for a model; a scripted player made for each item."""
    if settings.model is None:
        play = choose(settings.player)
        yield lambda unit: ScriptedModel(
            settings.player, play, unit.item, unit_seed(settings, unit)
        )
        return
    from agents.models.clients import open_model

    client = open_model(
        settings.model,
        base_url=settings.base_url,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        seed=settings.seed,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
    )
    try:
        yield lambda _: client
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()


def folder_name(settings: RunSettings) -> str:
    """A run folder's name: when, and who plays."""
    player = "".join(c if c.isalnum() or c in "-._" else "-" for c in settings.player)[:60]
    return f"{datetime.now(UTC).strftime('%Y-%m-%dT%H-%M-%S')}_{player}"


def manifest(
    settings: RunSettings, data: DataSet, items: Sequence[Item], sandbox: PooledSandbox
) -> dict[str, JSON]:
    """Everything that identifies a run, with the status it begins with."""
    return {
        "format": FORMAT,
        "status": "started",
        "started_at": _now(),
        "settings": settings.model_dump(mode="json"),
        "data": {
            "name": data.name,
            "origin": data.origin,
            "digest": data.digest,
            "items": len(data.items),
            "played": [item.id for item in items],
        },
        "sandbox": dict(sandbox.description),
        "versions": {
            "python": sys.version.split()[0],
            "platform": platform.platform(),
            **{name: _version(name) for name in PACKAGES},
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
