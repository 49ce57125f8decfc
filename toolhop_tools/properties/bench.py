"""Sandboxes for a check: one for each setting that must not affect results."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import cast

from anyio.from_thread import start_blocking_portal

from toolhop_sandbox.base import Limits, Program, Session
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import Outcome
from toolhop_tools.batch import Arguments
from toolhop_tools.properties.model import BASE, FREE, OTHER_SEEDS, SETTINGS, Caller, SandboxSetting

ATTEMPTS = 3
"""Maximum number of attempts at a call whose worker is lost."""


def settings_for(properties: Collection[str]) -> tuple[SandboxSetting, ...]:
    """Return the sandbox settings that the properties need."""
    wanted = {BASE}
    wanted |= set(OTHER_SEEDS) if "same-result" in properties else set()
    wanted |= {FREE} if "policy" in properties else set()
    return tuple(setting for setting in SETTINGS if setting in wanted)


@dataclass(frozen=True, slots=True)
class Workers:
    """Workers for exclusive use, one for each setting, that run one call at a time."""

    sessions: Mapping[SandboxSetting, Session]

    async def call(
        self, setting: SandboxSetting, program: Program, arguments: Arguments
    ) -> Outcome:
        """Run a call, replacing a lost worker, in at most `ATTEMPTS` attempts.

        Raises:
            SandboxError: every worker was lost, or none could be started.
        """
        session = self.sessions[setting]
        for _ in range(ATTEMPTS - 1):
            with contextlib.suppress(SandboxFault):
                return await session.call(program, arguments)
        return await session.call(program, arguments)


@asynccontextmanager
async def open_workers(
    kind: Kind = "auto", *, limits: Limits, settings: Collection[SandboxSetting] = SETTINGS
) -> AsyncIterator[Workers]:
    """Open a sandbox with one worker for each setting.

    Raises:
        SandboxUnavailable: `kind` cannot run here.
    """
    async with AsyncExitStack() as stack:
        sessions: dict[SandboxSetting, Session] = {}
        for setting in settings:
            sandbox = await open_sandbox(
                kind,
                limits=limits,
                policy=setting.policy,
                max_workers=1,
                hash_seed=setting.hash_seed,
            )
            await stack.enter_async_context(sandbox)
            sessions[setting] = await stack.enter_async_context(sandbox.session())
            # The first sandbox decides for all, so that any warning appears once.
            kind = cast("Kind", sandbox.description["kind"])
        yield Workers(sessions)


@contextmanager
def calling(
    kind: Kind = "auto", *, limits: Limits, settings: Collection[SandboxSetting] = SETTINGS
) -> Iterator[Caller]:
    """Open workers for synchronous code, with their event loop in a thread.

    Raises:
        SandboxUnavailable: `kind` cannot run here.
    """
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            open_workers(kind, limits=limits, settings=settings)
        ) as workers,
    ):

        def call(setting: SandboxSetting, program: Program, arguments: Arguments) -> Outcome:
            return portal.call(workers.call, setting, program, arguments)

        yield call


async def settled(kind: Kind, limits: Limits) -> Kind:
    """Return the sandbox kind that ``auto`` selects here, so that any warning appears only once."""
    sandbox = await open_sandbox(kind, limits=limits)
    return cast("Kind", sandbox.description["kind"])
