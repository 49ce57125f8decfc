"""A pytest plugin: one test for each tool and property of a data set.

    pytest --toolhop-data tools.json

Without that option it does nothing and imports nothing from this project. With it, each test
process (pytest itself, or each pytest-xdist worker) starts one lane, a process with its own
sandboxes, when the first test needs it. The collected tests depend only on the options and their
files, so all workers collect the same tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from toolhop_agents.tool_tests import Workshop
    from toolhop_tools.errors import DataProblem
    from toolhop_tools.properties.model import Subject

MARK = "toolhop"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    group = parser.getgroup("toolhop", "property tests of tools")
    group.addoption("--toolhop-data", metavar="FILE", help="Test the tools of this data set.")
    group.addoption("--toolhop-examples", metavar="N", type=int, default=50)
    group.addoption("--toolhop-seed", metavar="N", type=int, default=0)
    group.addoption(
        "--toolhop-formats",
        action="store_true",
        help="Texts that are not of their parameter's `format` are bad input too.",
    )
    group.addoption("--toolhop-sandbox", default="auto", choices=["auto", "docker", "process"])
    group.addoption("--toolhop-timeout", metavar="SECONDS", type=float, default=2.0)
    group.addoption("--toolhop-certificates", metavar="FILE", help="Certified gold calls.")
    group.addoption("--toolhop-store", metavar="FOLDER", default=".toolhop/counterexamples")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark that selects these tests: ``-m toolhop``."""
    if config.getoption("--toolhop-data"):
        config.addinivalue_line("markers", f"{MARK}: a tool's property, by --toolhop-data")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the tests before other plugins select by mark or keyword."""
    data = config.getoption("--toolhop-data")
    if not data:
        return
    from toolhop_tools.errors import ToolsError

    try:
        items.extend(_tests(session, data))
    except ToolsError as error:
        raise pytest.UsageError(f"--toolhop-data {data}: {error}") from None


def _tests(session: pytest.Session, data: str) -> Iterator[pytest.Item]:
    from toolhop_agents.tool_tests import collected, opened, tested

    seen = collected(data)
    workshop = opened(session.config, seen.dataset.name)
    session.config.add_cleanup(workshop.close)
    home = ToolData.from_parent(session, name=data, nodeid=Path(data).name)
    for subject in tested(seen, session.config.getoption("--toolhop-certificates")):
        for name in workshop.properties:
            title = f"{subject.id}::{name}"
            yield ToolTest.from_parent(
                home, name=title, workshop=workshop, subject=subject, property_=name
            )
    for number, problem in enumerate(seen.errors, 1):
        title = f"unusable::{problem.rule}::{number}"
        yield BrokenRow.from_parent(home, name=title, problem=problem)


class ToolData(pytest.Collector):
    """A data set as the parent node of its tests."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Return nothing: the plugin adds the tests to the session itself."""
        return []


class _DataTest(pytest.Item):
    def __init__(self, **parts: object) -> None:
        super().__init__(**parts)  # type: ignore[arg-type]  # name and parent, passed on to pytest unread
        self.add_marker(getattr(pytest.mark, MARK))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None
    ) -> str:
        """Return the counter-example and the call, or the data error.

        Internal errors are formatted by pytest.
        """
        if isinstance(excinfo.value, PropertyFailed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))


class ToolTest(_DataTest):
    """A test of one property of one tool."""

    def __init__(
        self, *, workshop: Workshop, subject: Subject, property_: str, **parts: object
    ) -> None:
        super().__init__(**parts)
        self.workshop, self.subject, self.property = workshop, subject, property_

    def runtest(self) -> None:
        """Check the property."""
        __tracebackhide__ = True
        outcome = self.workshop.outcome(self.subject, self.property)
        self.add_report_section("call", "toolhop", outcome.reported)
        if outcome.skip:
            # The check reports why this property does not apply to this tool.
            pytest.skip(outcome.reported)
        if outcome.failure:
            raise PropertyFailed(outcome.failure)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the location of the test: the data set."""
        return Path(self.workshop.data), None, self.name


class BrokenRow(_DataTest):
    """A row of the data that cannot be used, as a test that fails with the reason."""

    def __init__(self, *, problem: DataProblem, **parts: object) -> None:
        super().__init__(**parts)
        self.problem = problem

    def runtest(self) -> None:
        """Fail with the reason."""
        raise PropertyFailed(f"{self.problem.rule}: {self.problem}")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the location of the test: the data set."""
        return self.path, None, self.name


class PropertyFailed(Exception):
    """Raised when a property does not hold."""
