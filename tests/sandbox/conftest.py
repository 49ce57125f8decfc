"""Sandboxes shared by all tests of one test process, and what is skipped without an engine."""

from __future__ import annotations

import os
from collections.abc import Iterator

import anyio
import pytest

from tests.sandbox.conformance import Box, opened
from toolhop_sandbox.base import Policy
from toolhop_sandbox.docker import containers
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.errors import SandboxUnavailable
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import ProcessLauncher


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


def _docker(policy: Policy, base: str | None = None) -> Iterator[Box]:
    with opened(lambda: PooledSandbox(DockerEngine(base=base), policy=policy)) as box:
        yield box


async def built() -> str:
    """The sandbox's image, made if it is missing."""
    launcher = DockerEngine()
    try:
        return await launcher.build(only_if_missing=True)
    finally:
        await launcher.close()


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


@pytest.fixture(scope="session")
def based_docker_box(engine: None) -> Iterator[Box]:
    """Laid over a base: our own image, which holds python3 where the official ones do."""
    yield from _docker("restricted", anyio.run(built))
