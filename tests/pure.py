"""The pure half of the tests: ``pytest --pure`` runs what stays within this process.

Nobody has to say which tests those are. Tests that ask for an engine, a browser or the
benchmark's data, heavy ones, and whole folders that are about processes are left out before
anything runs. A test that then starts a
process, or connects to something other than this machine's own loopback, is ended there and
counted as skipped: it belongs to the other half. Properties are tried on fewer examples than in a
whole run, unless a test says how many it needs.
"""

from __future__ import annotations

import ipaddress
import sys
import warnings
from collections.abc import Generator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from _pytest.outcomes import Skipped  # pytest.skip.Exception, whose type mypy cannot see
from hypothesis import settings

FOLDERS = frozenset({"attacks", "faults"})
"""Below tests/: about processes from end to end."""
MARKS = frozenset({"docker", "browser", "data", "heavy"})
STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
"""Names of the interpreter's audit events."""
EXAMPLES = 20
"""Of a property; 100 in a whole run."""
UNCLOSED = (pytest.PytestUnraisableExceptionWarning, pytest.PytestUnhandledThreadExceptionWarning)


class LeftProcess(Skipped):
    """Raised where a test would leave this process. No `except Exception` swallows it."""


class Pure:
    """A plugin, registered under ``--pure``."""

    def __init__(self, config: pytest.Config) -> None:
        self._reason = ""
        self._left: list[BaseException] = []
        """What tests were ended with, or made of it."""
        settings.register_profile("pure", max_examples=EXAMPLES)
        settings.load_profile("pure")
        # What a test that is ended midway leaves open says nothing.
        for kind in UNCLOSED:
            config.addinivalue_line("filterwarnings", f"ignore::pytest.{kind.__name__}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """From here on: a worker of xdist asks `uname` as it starts."""
        sys.addaudithook(self._audit)
        # Its processes are started past the audit events.
        BaseProcess.start = self._start  # type: ignore[assignment, method-assign]

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in STARTS:
            self._leave(f"starts a process ({event})")
        elif event == "socket.connect" and not is_loopback(arguments[1]):
            self._leave(f"connects to {arguments[1]}")

    def _start(self) -> None:
        self._leave("starts a process (multiprocessing)")

    def _leave(self, reason: str) -> None:
        self._reason = reason
        raise LeftProcess(reason)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what is known not to be pure."""
        left = [item for item in items if known_impure(item)]
        items[:] = [item for item in items if item not in set(left)]
        config.hook.pytest_deselected(items=left)

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """The last of them are found here, outside of any test's filters."""
        for kind in UNCLOSED:
            warnings.simplefilter("ignore", kind)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """In a fixture's task group the exception comes wrapped, which pytest does not expect."""
        try:
            return (yield)
        except BaseException:
            if not self._reason:
                raise
            left = LeftProcess(self._reason)
            # As pytest keeps the failure of a fixture that several tests share.
            key = fixturedef.cache_key(request)  # type: ignore[arg-type]  # it is a SubRequest
            fixturedef.cached_result = (None, key, (left, None))
            raise left from None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """What a test that left this process came to, whatever it made of the exception.

        A fixture of a whole module raises what it raised first again, for each test.
        """
        report: pytest.TestReport = yield
        raised = call.excinfo.value if call.excinfo else None
        if self._reason and raised is not None:
            self._left.append(raised)
        if self._reason or any(raised is one for one in self._left):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, "Skipped: not pure")
            if report.when == "teardown":
                self._reason = ""
        return report


def known_impure(item: pytest.Item) -> bool:
    """By folder and mark."""
    folders = item.path.relative_to(Path(__file__).parent).parts[:-1]
    return bool(FOLDERS & set(folders)) or any(mark.name in MARKS for mark in item.iter_markers())


def is_loopback(address: object) -> bool:
    """Whether a socket's address is an IP address of this machine's loopback."""
    try:
        return ipaddress.ip_address(address[0]).is_loopback  # type: ignore[index]
    except (TypeError, ValueError):
        return False
