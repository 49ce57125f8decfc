"""Check properties one at a time, for the pytest plugin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolhop_agents.terminal import visible
from toolhop_env.rejection import Rejections
from toolhop_sandbox.base import Limits
from toolhop_tools.certify.file import with_certificates
from toolhop_tools.errors import DataError
from toolhop_tools.load import survey
from toolhop_tools.properties.check import CheckJob
from toolhop_tools.properties.lanes import Lane, wait_for
from toolhop_tools.properties.model import (
    PROPERTIES,
    CounterExample,
    Fails,
    Holds,
    NotApplicable,
    Subject,
    subjects,
)
from toolhop_tools.properties.store import Store
from toolhop_tools.properties.words import command_lines
from toolhop_tools.readers.record import Survey

if TYPE_CHECKING:
    import pytest


def collected(data: str) -> Survey:
    """Read a data set, including errors for rows that cannot be used.

    Raises:
        DataError: nothing can be read, or the data set is empty.
    """
    seen = survey(data)
    if not seen.dataset.items and not seen.errors:
        raise DataError("it has no items", origin=data)
    return seen


def tested(seen: Survey, certificates: str | None) -> tuple[Subject, ...]:
    """Return the tools to test, with the gold calls proven by certificates.

    Raises:
        CertificateError: the certificates cannot be read, or belong to other data.
    """
    items = seen.dataset.items
    return subjects(with_certificates(items, Path(certificates)) if certificates else items)


def opened(config: pytest.Config, dataset: str) -> Workshop:
    """Create a workshop from pytest's options, without starting it."""
    import pytest

    timeout_s = config.getoption("--toolhop-timeout")
    count = config.getoption("--toolhop-examples")
    if count < 1:
        raise pytest.UsageError(f"--toolhop-examples {count}: at least 1")
    try:
        limits = Limits(wall_s=timeout_s)
    except ValueError as error:
        raise pytest.UsageError(f"--toolhop-timeout: {error}") from None
    sandbox = config.getoption("--toolhop-sandbox")
    store = Store(Path(config.getoption("--toolhop-store")), dataset)
    seed = config.getoption("--toolhop-seed")
    job = CheckJob(
        Rejections,
        limits,
        sandbox,
        count=count,
        seed=seed,
        formats=config.getoption("--toolhop-formats"),
        store=store,
    )
    return Workshop(str(config.getoption("--toolhop-data")), limits, sandbox, Lane(job))


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """The result of one test."""

    __test__ = False

    reported: str
    failure: str = ""
    skip: bool = False


@dataclass
class Workshop:
    """One lane for all tests of a process, started when the first one needs it."""

    data: str
    limits: Limits
    sandbox: str
    lane: Lane
    properties: tuple[str, ...] = tuple(PROPERTIES)
    _subject: Subject | None = None
    _serial: int = 0

    def outcome(self, subject: Subject, property_: str) -> TestOutcome:
        """Check one property of one tool.

        Raises:
            SandboxError: the sandbox is at fault.
        """
        # Consecutive tests of one tool share its examples and their runs.
        if self._subject is not subject:
            self._subject, self._serial = subject, self._serial + 1
        self.lane.give(self._serial, subject, [property_])
        while not self.lane.idle:
            wait_for([self.lane])
            self.lane.look()
        match self.lane.verdicts[property_]:
            case Holds(executed, remarks):
                reported = [
                    f"{executed} examples",
                    *(f"{one.kind}: {one.reported}" for one in remarks),
                ]
                return TestOutcome(visible("\n".join(reported)))
            case NotApplicable(reason):
                return TestOutcome(f"not applicable: {reason}", skip=True)
            case Fails(executed, found):
                text = "\n".join(self._reported(subject, one) for one in found)
                return TestOutcome(
                    f"{executed} examples", f"{text}\n{executed} examples were judged"
                )

    def _reported(self, subject: Subject, found: CounterExample) -> str:
        calls = command_lines(found, subject, self.data, limits=self.limits, sandbox=self.sandbox)
        head = f"{found.property}: {found.kind}\n  {PROPERTIES[found.property]}\n  {found.reported}"
        return visible("\n".join([head, *(f"  {line}" for line in calls)]))

    def close(self) -> None:
        """Stop the lane, if it was started."""
        self.lane.ask_to_end()
        self.lane.end()
