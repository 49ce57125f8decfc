"""What tests of several rooms share."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.inline import inlined
from tests.pure import Pure

SHARED = Path(__file__).parents[2] / "shared" / "data"
"""Public benchmark data beside the project, read-only; see its README."""
NEEDS = {
    "toolhop_60": "data",
    "nestools_500": "data",
    "docker_engine": "docker",
    "chromium": "browser",
    "archive": "heavy",
    "inspect_ai": "heavy",
}
"""The mark that a fixture gives to the tests that ask for it."""
REPORT = "tests/report/"
"""Tests of pages."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of these tests."""
    parser.addoption("--pure", action="store_true", help="Only tests that start no process.")


def pytest_configure(config: pytest.Config) -> None:
    """Leave time to a busy machine; for the pure half see `tests.pure`.

    Keys and addresses of whoever runs the tests are nothing to them, nor to the servers they start.
    """
    for name in [name for name in os.environ if name.startswith("OPENAI_") or "_API_KEY" in name]:
        del os.environ[name]
    patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("patient", patient)
    settings.load_profile("patient")
    # The controller of xdist starts its workers, and runs no test.
    if config.getoption("--pure") and not config.getoption("numprocesses", None):
        config.pluginmanager.register(Pure(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """A file to a process, and all files that share the one browser to the same one."""
    return ByBrowser(config, log)


class ByBrowser(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist ships no types
    """To start a browser takes as much as its tests."""

    def _split_scope(self, nodeid: str) -> str:
        return REPORT if nodeid.startswith(REPORT) else super()._split_scope(nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what a test needs by the fixtures that it asks for; skip what needs absent data."""
    for fixture in NEEDS.keys() & set(getattr(item, "fixturenames", ())):
        item.add_marker(NEEDS[fixture])
    if item.get_closest_marker("data") and not SHARED.exists():
        item.add_marker(pytest.mark.skip(reason="needs the benchmark data in ../shared/data"))


def pytest_collectstart() -> None:
    """No garbage collection goes through ten thousand tests over and over while they are made."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no garbage collection goes through it again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """Collect what a module leaves while its own warnings hold: it fails no other's test.

    What stays, such as what it imported, is not gone through again.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def toolhop_60() -> Path:
    """60 rows of ToolHop's official file."""
    return SHARED / "toolhop" / "ToolHop-60.json"


@pytest.fixture(scope="session")
def nestools_500() -> Path:
    """500 rows of NesTools' official file, its ids beside it."""
    return SHARED / "nestools" / "test_data-500.jsonl"


@pytest.fixture(scope="session")
def docker_engine() -> None:
    """A running Docker engine; without one the test is skipped, and fails under CI."""
    from toolhop_sandbox.docker.containers import connect
    from toolhop_sandbox.errors import SandboxUnavailable

    try:
        connect().close()
    except SandboxUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have a Docker engine: {error}")
        pytest.skip(f"no Docker engine: {error.message}")


@pytest.fixture(scope="session")
def chromium() -> tuple[str, str]:
    """Paths of Chromium and its driver; without them the test is skipped, and fails under CI."""
    found = (shutil.which("chromium"), shutil.which("chromedriver"))
    if found[0] is None or found[1] is None:
        missing = "no Chromium: install the packages chromium and chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(f"CI must have a browser: {missing}")
        pytest.skip(missing)
    return found[0], found[1]


@pytest.fixture
def inline() -> Iterator[None]:
    """Process sandboxes that the test opens start no process: see `tests.inline`."""
    with inlined():
        yield


@pytest.fixture(scope="module")
def inline_module() -> Iterator[None]:
    """The same for all tests of a module, and for what they share."""
    with inlined():
        yield
