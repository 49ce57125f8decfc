"""What a call costs over each way to a container: a mounted socket, or attached streams.

    python -m benchmarks.transports [--calls N]

The two take turns within one run, so that a machine that drifts drifts for both. DOCKER_HOST may
name any engine; where only streams reach it, the first column is left out.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import AsyncExitStack

import anyio

from benchmarks.machine import described
from toolhop_sandbox.base import Limits, Program, Session
from toolhop_sandbox.docker import containers
from toolhop_sandbox.docker.engine import DockerEngine, Transport
from toolhop_sandbox.outcome import Returned
from toolhop_sandbox.pool import PooledSandbox

ECHO = Program("def echo(text):\n    return text", "echo")
SMALL, LARGE = "a word or two", "x" * 900_000
ROUND = 25
"""Calls of one way before it is the other's turn."""
BUSY_S = 3.0


def ways() -> list[Transport]:
    """The ways to the engine that DOCKER_HOST names."""
    return ["socket", "attach"] if containers.is_local(containers.engine_address()) else ["attach"]


def opened(way: Transport, workers: int = 1) -> PooledSandbox:
    """A sandbox over one way, with the default limits and policy."""
    return PooledSandbox(DockerEngine(transport=way), Limits(), max_workers=workers)


async def one_call(session: Session, text: str) -> float:
    """Microseconds of a call."""
    began = time.perf_counter()
    outcome = await session.call(ECHO, {"text": text})
    taken = (time.perf_counter() - began) * 1e6
    if outcome != Returned(json.dumps(text)):
        raise TypeError(f"echo gave {str(outcome)[:200]}")
    return taken


async def latencies(calls: int) -> list[tuple[str, dict[Transport, list[float]]]]:
    """Microseconds by kind of call and way."""
    kinds = (("5 ms gaps", 0.005, SMALL), ("back to back", 0.0, SMALL), ("900 kB", 0.005, LARGE))
    found = []
    async with AsyncExitStack() as stack:
        sessions = {}
        for way in ways():
            pool = await stack.enter_async_context(opened(way))
            sessions[way] = await stack.enter_async_context(pool.session([ECHO]))
        for name, gap_s, text in kinds:
            taken: dict[Transport, list[float]] = {way: [] for way in sessions}
            for number in range(-1, max(1, calls // ROUND)):
                for way, session in sessions.items():
                    for _ in range(ROUND):
                        await anyio.sleep(gap_s)
                        one = await one_call(session, text)
                        # The first round compiles and warms up.
                        taken[way] += [one] if number >= 0 else []
            found.append((name, taken))
    return found


async def rate(way: Transport, callers: int) -> float:
    """Calls a second, `callers` at a time, each with a container of its own."""
    done = 0
    async with opened(way, callers) as pool:

        async def caller() -> None:
            nonlocal done
            async with pool.session([ECHO]) as session:
                await one_call(session, SMALL)
                end = time.perf_counter() + BUSY_S
                while time.perf_counter() < end:
                    await one_call(session, SMALL)
                    done += 1

        async with anyio.create_task_group() as tasks:
            for _ in range(callers):
                tasks.start_soon(caller)
    return done / BUSY_S


def report(calls: int) -> str:
    """Measure everything; a table."""
    columns = ways()
    lines = [described(), "", f"| what | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for name, taken in anyio.run(latencies, calls):
        for share in (0.5, 0.95):
            cells = []
            for way in columns:
                ordered = sorted(taken[way])
                cells.append(f"{ordered[int(share * (len(ordered) - 1))]:,.0f}")
            lines.append(f"| {name}, p{share * 100:.0f} µs | {' | '.join(cells)} |")
    for callers in (1, 2):
        cells = [f"{anyio.run(rate, way, callers):,.0f}" for way in columns]
        lines.append(f"| calls a second, {callers} at a time | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300, help="of each kind over each way")
    print(report(parser.parse_args().calls))


if __name__ == "__main__":
    main()
