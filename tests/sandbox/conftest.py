"""Sandboxes shared by all tests of one test process, and what is skipped without an engine."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sandbox import containers
from sandbox.base import Policy
from sandbox.engine import DockerEngine
from sandbox.errors import SandboxUnavailable
from sandbox.pool import PooledSandbox
from sandbox.process import ProcessLauncher
from tests.sandbox.conformance import Box, opened


def require_engine() -> None:
    """Skip where no engine answers; under CI that is a failure, or the tests would rot unseen."""
    try:
        containers.connect().close()
    except SandboxUnavailable as reason:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have a Docker engine: {reason}")
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def engine() -> None:
    """A Docker engine answers."""
    require_engine()


def _process(policy: Policy) -> Iterator[Box]:
    with opened(lambda: PooledSandbox(ProcessLauncher(), policy=policy)) as box:
        yield box


def _docker(policy: Policy) -> Iterator[Box]:
    with opened(lambda: PooledSandbox(DockerEngine(), policy=policy)) as box:
        yield box


@pytest.fixture(scope="session")
def process_box() -> Iterator[Box]:
    yield from _process("none")


@pytest.fixture(scope="session")
def restricted_process_box() -> Iterator[Box]:
    yield from _process("restricted")


@pytest.fixture(scope="session")
def docker_box(engine: None) -> Iterator[Box]:
    yield from _docker("none")


@pytest.fixture(scope="session")
def restricted_docker_box(engine: None) -> Iterator[Box]:
    yield from _docker("restricted")
