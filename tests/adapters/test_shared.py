"""A pool that comes and goes with its use."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from tests.waiting import until_async
from toolhop_agents.adapters import shared
from toolhop_agents.adapters.shared import SharedPool
from toolhop_agents.environment.core import Environments
from toolhop_agents.runs.settings import RunSettings


class Counting(Environments):
    """Counts how often it is opened and closed; opens no sandbox."""

    entered = left = 0
    fault: Exception | None = None

    async def __aenter__(self) -> Environments:
        self.entered += 1
        if self.fault is not None:
            raise self.fault
        return self

    async def __aexit__(self, *exc: object) -> None:
        await anyio.sleep(0.01)
        self.left += 1


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> SharedPool:
    monkeypatch.setattr(shared, "LINGER_S", 0.05)
    return SharedPool(Counting(RunSettings(), most=2))


async def _many(pool: SharedPool, episodes: int) -> int:
    """Play episodes at a time; the most that were in play at once."""
    now = most = 0

    async def one() -> None:
        nonlocal now, most
        async with pool.held():
            now += 1
            most = max(most, now)
            await anyio.sleep(0.005)
            now -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(episodes):
            tasks.start_soon(one)
    return most


def test_one_pool_for_all_and_no_more_than_it_holds(pool: SharedPool) -> None:
    counts = pool.environments
    assert isinstance(counts, Counting)

    async def work() -> None:
        assert await _many(pool, 7) == 2
        assert (counts.entered, counts.left) == (1, 0)
        await until_async(lambda: counts.left, "its end")
        assert (counts.entered, counts.left) == (1, 1)
        await _many(pool, 1)

    asyncio.run(work())
    assert (counts.entered, counts.left) == (2, 2)  # the loop's end closes it
    asyncio.run(_many(pool, 1))
    assert (counts.entered, counts.left) == (3, 3)


def test_a_sandbox_that_cannot_be_had_is_each_episodes_fault(pool: SharedPool) -> None:
    assert isinstance(pool.environments, Counting)
    pool.environments.fault = RuntimeError("no sandbox")

    async def one() -> None:
        with pytest.raises(RuntimeError, match="no sandbox"):
            async with pool.held():
                pytest.fail("it was not there")

    async def work() -> None:
        await one()
        await one()

    asyncio.run(work())
