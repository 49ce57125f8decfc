"""An engine of each test process's own, and the way to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.engines import Engine, can_start_engines, engine
from tests.faults.runs import toolhop


@pytest.fixture(scope="session")
def engines() -> None:
    """This machine can start an engine beside the one that it has."""
    reason = can_start_engines()
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_own_engine(engines: None, docker_engine: None) -> Iterator[Engine]:
    with engine() as made:
        built = toolhop("sandbox", "build", address=made.address)
        assert built.returncode == 0, built.stderr
        yield made


@pytest.fixture
def own(shared_own_engine: Engine) -> Engine:
    """An engine of the tests' own, up, with the image; nothing of ours is left in it after it."""
    if not shared_own_engine.answers():
        shared_own_engine.end()
        shared_own_engine.start()
    return shared_own_engine
