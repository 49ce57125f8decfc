"""What an isolated call costs, against the official evaluator's call without any isolation.

    python -m benchmarks.calls [--quick] [--write]

The same real calls go through every design in one run, interleaved, so that a machine that drifts
drifts for all. The calls are the example calls of 60 ToolHop items where that data stands beside
the project, else the built-in items' gold calls. `--write` puts the tables into
benchmarks/tables.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from func_timeout import func_timeout

from benchmarks.machine import described
from benchmarks.pages import put
from toolhop_sandbox.base import Limits, Policy, Program, Session
from toolhop_sandbox.docker import image
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import ProcessLauncher
from toolhop_tools.examples import example_calls
from toolhop_tools.load import load
from toolhop_tools.model import Hop

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "toolhop" / "ToolHop-60.json"
GAP_S = 0.005
"""Idle time between calls. A model takes a hundred times as long to reply."""
SETTLE_S = 0.03
"""Idle time between a session's start and its first call, for the same reason."""


@dataclass(frozen=True, slots=True)
class Work:
    """One call to make."""

    program: Program
    arguments: dict[str, JSON]


@dataclass
class Row:
    """A design and its latencies in microseconds."""

    name: str
    taken_us: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """The latency that `share` of the calls stayed below."""
        ordered = sorted(self.taken_us)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


Episode = list[Work]
"""The calls of one item: an episode makes them in one session."""


def work() -> tuple[str, list[Episode]]:
    """The calls by item, and where they are from. Kept are those that answer in process."""
    if DATA.exists():
        name = "example calls in the sources of 60 ToolHop items"
        items = load(DATA).items
    else:
        name = "gold calls of the built-in items"
        items = load("builtin").items
    episodes = [[one for hop in item.hops for one in _calls(hop)] for item in items]
    return name, [episode for episode in map(quiet, episodes) if episode]


def _calls(hop: Hop) -> list[Work]:
    if hop.gold is not None:
        return [Work(hop.tool.program, dict(hop.gold.arguments))]
    return [Work(hop.tool.program, call) for call in example_calls(hop.tool.program)[:1]]


def official(one: Work) -> object:
    """ToolHop's evaluator: exec the source, eval the call, in a thread with a time limit."""
    call = f"{one.program.function}(**arguments)"

    def body() -> object:
        names: dict[str, object] = {"arguments": one.arguments}
        exec(one.program.source, names)
        return eval(call, names)

    # Many sources print examples at module level; nobody measures a terminal.
    with contextlib.redirect_stdout(io.StringIO()):
        return json.dumps(func_timeout(10, body), ensure_ascii=False)


def subprocess_call(start: Sequence[str], one: Work) -> None:
    """A new interpreter a call, by whatever command starts it."""
    code = (
        f"{one.program.source}\nimport json\n"
        f"print(json.dumps({one.program.function}(**json.loads({json.dumps(one.arguments)!r}))))"
    )
    subprocess.run([*start, "-c", code], capture_output=True, check=True)


def quiet(calls: Sequence[Work]) -> list[Work]:
    """The calls that return in process: those that raise on purpose are left out."""
    kept = []
    for one in calls:
        try:
            official(one)
        except Exception:  # noqa: BLE001, S112 -- examples may raise on purpose
            continue
        kept.append(one)
    return kept


Caller = Callable[[Work], Awaitable[object]]


async def one_episode(rows: Sequence[tuple[Row, Caller]], calls: Episode, gap_s: float) -> None:
    """The calls of an item, each through every design in turn, with a gap before each."""
    for one in calls:
        for row, make in rows:
            await anyio.sleep(gap_s)
            began = time.perf_counter()
            await make(one)
            row.taken_us.append((time.perf_counter() - began) * 1e6)


async def latency(episodes: Sequence[Episode], rounds: int) -> list[tuple[str, Row]]:
    """Latency of the designs that are quick enough to be called often, at gaps and without."""

    async def in_process(one: Work) -> object:
        return official(one)

    names = ("Docker, restricted", "Docker, policy none", "process, restricted")
    with_gaps = [Row("A: official evaluator, no isolation"), *map(Row, names)]
    without = [Row("A: official evaluator, no isolation"), *map(Row, names)]
    async with (
        sandbox("docker", "restricted") as one,
        sandbox("docker", "none") as two,
        sandbox("process", "restricted") as three,
    ):
        for number in range(rounds + 1):
            for calls in episodes:
                programs = [work.program for work in calls]
                async with (
                    one.session(programs) as a,
                    two.session(programs) as b,
                    three.session(programs) as c,
                ):
                    makers: list[Caller] = [in_process, *(partial(_call, s) for s in (a, b, c))]
                    await anyio.sleep(SETTLE_S)
                    await one_episode(list(zip(with_gaps, makers, strict=True)), calls, GAP_S)
                    for pair in zip(without, makers, strict=True):
                        await anyio.sleep(SETTLE_S)
                        await one_episode([pair], calls, 0)
            if number == 0:
                # The first round compiles and warms up.
                for row in (*with_gaps, *without):
                    row.taken_us.clear()
    found = [("5 ms gaps", row) for row in with_gaps]
    return found + [("back to back", row) for row in without]


async def _call(session: Session, one: Work) -> Outcome:
    outcome = await session.call(one.program, one.arguments)
    if not isinstance(outcome, Returned):
        raise TypeError(f"{one.program.function} gave {outcome}")
    return outcome


def sandbox(kind: str, policy: Policy, workers: int = 1) -> PooledSandbox:
    """A fully hardened sandbox with the default limits."""
    launcher = DockerEngine() if kind == "docker" else ProcessLauncher()
    return PooledSandbox(launcher, Limits(), policy, workers)


def slow_rows(calls: Sequence[Work], count: int) -> list[Row]:
    """New interpreters and containers a call."""
    name = image.tag()
    python = [f"{image.HOME}/bin/python3"]
    started = subprocess.run(
        ["docker", "run", "-d", "--rm", "--network", "none", "--entrypoint", python[0], name,
         "-c", "import time; time.sleep(600)"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    designs = {
        "python -I a call": [sys.executable, "-I"],
        "docker exec a call": ["docker", "exec", started, *python],
        "docker run a call": ["docker", "run", "--rm", "--network", "none", name, *python],
    }
    rows = [Row(design) for design in designs]
    try:
        for one in calls[:count]:
            for row, start in zip(rows, designs.values(), strict=True):
                began = time.perf_counter()
                subprocess_call(start, one)
                row.taken_us.append((time.perf_counter() - began) * 1e6)
    finally:
        subprocess.run(["docker", "rm", "-f", started], capture_output=True, check=False)
    return rows


async def throughput(episodes: Sequence[Episode], callers: int, seconds: float) -> float:
    """Hardened calls a second with `callers` containers, each in the calls of its own episode."""
    done = 0
    async with sandbox("docker", "restricted", callers) as pool:
        async with pool.session([one.program for calls in episodes for one in calls]):
            pass

        async def one_caller(calls: Episode) -> None:
            nonlocal done
            async with pool.session([one.program for one in calls]) as session:
                for one in itertools.cycle(calls):
                    if time.perf_counter() >= end:
                        return
                    await session.call(one.program, one.arguments)
                    done += 1

        end = time.perf_counter() + seconds
        async with anyio.create_task_group() as tasks:
            for calls in episodes[:callers]:
                tasks.start_soon(one_caller, calls)
    return done / seconds


FORKS = """
import os, sys, time
from toolhop_sandbox.worker import lockdown, standby
standby.warm()
print(flush=True)
sys.stdin.readline()
done, end = 0, time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    pid = lockdown.plain_fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    done += 1
print(done)
"""
"""The worker's first process without the rest of a call: it forks, and the child ends at once."""


def forks_a_second(seconds: float) -> float:
    """How many processes as large as the worker this machine forks and ends, on all processors.

    Each call has one of its own, so this is a bound on calls that no work on them can lift.
    """
    command = [sys.executable, "-c", FORKS, str(seconds)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(os.cpu_count() or 1)
    ]
    for process in running:
        if process.stdout is not None:
            process.stdout.readline()
    return sum(int(process.communicate("\n")[0]) for process in running) / seconds


async def first_call(one: Work) -> float:
    """Seconds from nothing to the first answer, the image being there."""
    began = time.perf_counter()
    async with sandbox("docker", "restricted") as pool, pool.session() as session:
        await session.call(one.program, one.arguments)
        return time.perf_counter() - began


async def memory_mib(episodes: Sequence[Episode]) -> tuple[float, float]:
    """Memory of a container that waits for work, and of one in the largest item's session.

    As its control group counts it, less what the page cache could give back.
    """
    import docker

    programs = [one.program for one in max(episodes, key=len)]
    client = docker.from_env()

    def held() -> float:
        worker: Any = pool._started[0]  # noqa: SLF001 -- other containers may run beside it
        stats: Any = client.api.stats(worker.container_id, stream=False)
        memory = stats["memory_stats"]
        inactive = memory["stats"].get("total_inactive_file", 0)
        return float(memory["usage"] - inactive) / 2**20

    try:
        async with sandbox("docker", "restricted") as pool:
            async with pool.session(programs):
                pass
            idle = await anyio.to_thread.run_sync(held)
            async with pool.session(programs):
                await anyio.sleep(1)
                return idle, await anyio.to_thread.run_sync(held)
    finally:
        client.close()


def image_mib() -> float:
    """Size of the image, as the engine counts it."""
    import docker

    client = docker.from_env()
    try:
        return float(client.images.get(image.tag()).attrs["Size"]) / 1e6
    finally:
        client.close()


def episodes_a_second() -> float:
    """Whole episodes with an agent that costs nothing, traces written, on all processors."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--sandbox", "docker", "--epochs", "5", "--json", "--log-dir", folder]
        code = "from toolhop_agents.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, "run", *flags], capture_output=True, text=True, check=True
        )
        store = Path(json.loads(done.stdout)["run"]) / "episodes"
        times = sorted(path.stat().st_mtime for path in store.iterdir())
        return (len(times) - 1) / (times[-1] - times[0])


def report(quick: bool) -> str:
    """Run everything and put it into words."""
    name, episodes = work()
    calls = [one for episode in episodes for one in episode]
    rounds = 1 if quick else 5
    lines = [f"{len(calls)} calls: {name}. {described()}", ""]
    anyio.run(first_call, calls[0])
    rows = anyio.run(latency, episodes, rounds)
    rows += [("one by one", row) for row in slow_rows(calls, 5 if quick else 20)]
    base = next(row for when, row in rows if when == "5 ms gaps").quantile(0.5)
    lines += ["| design | when | p50 µs | p95 µs | p50 to A |", "|---|---|---:|---:|---:|"]
    for when, row in rows:
        p50, p95 = row.quantile(0.5), row.quantile(0.95)
        lines.append(f"| {row.name} | {when} | {p50:,.0f} | {p95:,.0f} | {p50 / base:.2f} |")
    lines += ["", "| what | figure |", "|---|---:|"]
    for callers in (1, 2, 4):
        rate = anyio.run(throughput, episodes, callers, 2.0 if quick else 5.0)
        lines.append(
            f"| hardened calls a second, {callers} callers, a container each | {rate:,.0f} |"
        )
    forks = forks_a_second(2.0 if quick else 5.0)
    lines.append(f"| forks of an idle worker a second that end at once | {forks:,.0f} |")
    firsts = [anyio.run(first_call, calls[0]) for _ in range(3 if quick else 9)]
    lines.append(
        f"| from nothing to the first answer, median | {statistics.median(firsts):.3f} s |"
    )
    lines.append(f"| episodes a second, oracle, built-in items | {episodes_a_second():.1f} |")
    idle, in_use = anyio.run(memory_mib, episodes)
    lines.append(
        f"| memory of an idle container, and of one in use | {idle:.1f}, {in_use:.1f} MiB |"
    )
    lines.append(f"| size of the image | {image_mib():.1f} MB |")
    return "\n".join(lines)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--write", action="store_true", help="write benchmarks/tables.md")
    options = parser.parse_args()
    text = report(options.quick)
    print(text)
    if options.write:
        put("calls", text)


if __name__ == "__main__":
    main()
