"""Properties checked one at a time from synchronous code: what the pytest plugin runs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal

from agents.terminal import visible
from env.rejection import Rejections
from sandbox.base import Limits, Program
from sandbox.choose import Kind
from sandbox.outcome import JSON, Outcome
from toolhop_tools.errors import DataError
from toolhop_tools.load import survey
from toolhop_tools.properties import paste
from toolhop_tools.properties.bench import Lane, open_bench
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.check import check, open_case
from toolhop_tools.properties.model import (
    PROPERTIES,
    CounterExample,
    Fails,
    Holds,
    NotApplicable,
    Setting,
    Subject,
)
from toolhop_tools.properties.store import Store
from toolhop_tools.record import Survey

if TYPE_CHECKING:
    import pytest


def collected(data: str) -> Survey:
    """A data set with its rows that cannot be used.

    Raises:
        DataError: nothing can be read at all, or nothing is in it.
    """
    seen = survey(data)
    if not seen.dataset.items and not seen.errors:
        raise DataError("it has no items", origin=data)
    return seen


def opened(config: pytest.Config, dataset: str) -> Workshop:
    """A workshop as pytest's options want it; nothing is started yet."""
    import pytest

    timeout_s = config.getoption("--toolhop-timeout")
    count = config.getoption("--toolhop-examples")
    if count < 1:
        raise pytest.UsageError(f"--toolhop-examples {count}: at least 1")
    try:
        limits = Limits(wall_s=timeout_s)
    except ValueError as error:
        raise pytest.UsageError(f"--toolhop-timeout: {error}") from None
    return Workshop(
        str(config.getoption("--toolhop-data")),
        limits=limits,
        sandbox=config.getoption("--toolhop-sandbox"),
        count=count,
        seed=config.getoption("--toolhop-seed"),
        store=Store(Path(config.getoption("--toolhop-store")), dataset),
    )


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """What a test shows."""

    __test__ = False

    told: str
    failure: str = ""
    skip: bool = False


@dataclass
class Workshop:
    """One bench for all tests of a process, opened when the first one needs it."""

    data: str
    limits: Limits
    sandbox: str
    count: int
    seed: int
    store: Store
    properties: tuple[str, ...] = tuple(PROPERTIES)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _call: _PortalCaller | None = None
    _case: Case | None = None

    def outcome(self, subject: Subject, property_: str) -> TestOutcome:
        """Check one property of one tool.

        Raises:
            SandboxError: the sandbox is at fault.
        """
        # Tests of one tool follow each other, and share its examples and their runs.
        if self._case is None or self._case.subject is not subject:
            self._case = open_case(
                subject,
                self._caller(),
                Rejections(),
                count=self.count,
                seed=self.seed,
                store=self.store,
            )
        verdict = check(self._case, property_)
        match verdict:
            case Holds(executed):
                return TestOutcome(f"{executed} examples")
            case NotApplicable(reason):
                return TestOutcome(f"not applicable: {reason}", skip=True)
            case Fails(executed, found):
                for one in found:
                    self.store.keep(subject, one)
                text = "\n".join(self._told(subject, one) for one in found)
                return TestOutcome(
                    f"{executed} examples", f"{text}\n{executed} examples were judged"
                )

    def _told(self, subject: Subject, found: CounterExample) -> str:
        calls = paste.lines(found, subject, self.data, limits=self.limits, sandbox=self.sandbox)
        head = f"{found.property}: {found.kind}\n  {PROPERTIES[found.property]}\n  {found.told}"
        return visible("\n".join([head, *(f"  {line}" for line in calls)]))

    def _caller(self) -> _PortalCaller:
        if self._call is None:
            portal = self._stack.enter_context(start_blocking_portal())
            kind = cast("Kind", self.sandbox)
            bench = self._stack.enter_context(
                portal.wrap_async_context_manager(open_bench(kind, limits=self.limits))
            )
            lane = self._stack.enter_context(portal.wrap_async_context_manager(bench.lane()))
            self._call = _PortalCaller(portal, lane)
        return self._call

    def close(self) -> None:
        """End the sandboxes, if any were started."""
        self._stack.close()


@dataclass(frozen=True, slots=True)
class _PortalCaller:
    """A `Caller` for a thread outside of the event loop."""

    portal: BlockingPortal
    lane: Lane

    def __call__(
        self, setting: Setting, program: Program, arguments: Mapping[str, JSON]
    ) -> Outcome:
        """One call."""
        return self.portal.call(self.lane.call, setting, program, arguments)
