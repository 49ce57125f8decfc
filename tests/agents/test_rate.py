"""How many requests are under way: the cap, what a refusal does to it, and that it recovers."""

from __future__ import annotations

import time

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import CEILING_S
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_agents.models.loopback import FaultPlan, LoopbackServer, RequestFault
from toolhop_agents.models.rate import Connections
from toolhop_env.messages import Reply, UserMessage


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_no_more_than_the_cap_are_under_way_and_all_get_their_turn() -> None:
    async def main() -> tuple[int, int]:
        connections, at_once, most, done = Connections(3), 0, 0, 0

        async def one() -> None:
            nonlocal at_once, most, done
            async with connections.slot():
                at_once += 1
                most = max(most, at_once)
                await anyio.sleep(0.001)
                at_once -= 1
            done += 1

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(one)
        return most, done

    assert anyio.run(main) == (3, 20)


def test_one_that_gives_up_waiting_leaves_its_turn_to_the_next() -> None:
    async def main() -> None:
        connections = Connections(1)
        async with connections.slot():
            with anyio.move_on_after(0.01) as scope:
                async with connections.slot():
                    pass
            assert scope.cancelled_caught
        with anyio.fail_after(CEILING_S):
            async with connections.slot():
                pass

    anyio.run(main)


def test_a_refusal_halves_once_for_all_that_were_sent_before_it() -> None:
    clock = Clock()
    connections = Connections(16, clock=clock)
    for _ in range(5):
        clock.now = 101.0
        connections.refused(100.5, 0)
    assert connections.allowed == 8
    connections.refused(101.5, 0)
    assert connections.allowed == 4
    assert connections.rates.lowest == 4
    assert connections.rates.refused == 6


def test_replies_bring_it_back_by_one_a_round() -> None:
    connections = Connections(8, clock=Clock())
    connections.refused(100.0, 0)
    assert connections.allowed == 4
    for _ in range(5):
        connections.answered()
    assert connections.allowed == 5
    for _ in range(100):
        connections.answered()
    assert connections.allowed == 8


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 5)), max_size=60), st.integers(1, 20))
def test_it_stays_between_one_and_the_cap(events: list[tuple[bool, float]], most: int) -> None:
    clock = Clock()
    connections = Connections(most, clock=clock)
    for refused, wait_s in events:
        clock.now += wait_s
        if refused:
            connections.refused(clock.now, wait_s)
        else:
            connections.answered()
        assert 1 <= connections.allowed <= most
        assert 1 <= connections.rates.lowest <= most


def test_while_it_is_held_nothing_is_let_in() -> None:
    async def main() -> float:
        connections = Connections(4)
        began = time.monotonic()
        connections.refused(began, 0.15)
        async with connections.slot():
            return time.monotonic() - began

    assert anyio.run(main) >= 0.14


def test_a_cap_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Connections(0)


def refusals(*, adaptive: bool) -> int:
    """Of 60 questions, asked 12 at a time of a server that takes 3.

    Time is the loop's turns, so that no machine is slow.
    """
    clock = Clock()
    connections = Connections(12, adaptive=adaptive, clock=clock)
    under_way = 0

    async def turns(count: int) -> None:
        for _ in range(count):
            await anyio.lowlevel.checkpoint()

    async def tick() -> None:
        while True:
            await turns(1)
            clock.now += 1

    async def ask() -> None:
        nonlocal under_way
        while True:
            async with connections.slot() as began:
                if under_way < 3:
                    under_way += 1
                    await turns(20)
                    under_way -= 1
                    connections.answered()
                    return
                await turns(1)
                connections.refused(began, 0)
            await turns(10)

    async def main() -> None:
        async with anyio.create_task_group() as ticking:
            ticking.start_soon(tick)
            async with anyio.create_task_group() as tasks:
                for _ in range(60):
                    tasks.start_soon(ask)
            ticking.cancel_scope.cancel()

    anyio.run(main)
    return connections.rates.refused


def test_with_adaptation_a_server_that_has_too_much_refuses_less() -> None:
    assert 0 < refusals(adaptive=True) < refusals(adaptive=False) / 2


def test_planned_refusals_are_counted_and_every_question_is_answered() -> None:
    async def main(url: str) -> Connections:
        connections = Connections(4)
        async with (
            open_model("openai/x", ModelOptions(base_url=url, connections=connections)) as model,
            anyio.create_task_group() as tasks,
        ):
            for number in range(30):
                tasks.start_soon(model.reply, [UserMessage(f"question {number}")], ())
        return connections

    faults = FaultPlan(0.5, (RequestFault.RATE_LIMITED,), seed=2)
    with LoopbackServer(lambda _: Reply("yes"), faults=faults) as server:
        rates = anyio.run(main, server.base_url).rates
        assert server.counts[RequestFault.NONE] == 30
        assert rates.refused == server.counts[RequestFault.RATE_LIMITED] > 5
    assert (rates.most, rates.lowest) == (4, 1)
