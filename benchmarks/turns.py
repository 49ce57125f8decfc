"""What a whole turn costs beside the model: ours against one of inspect_ai, in one run.

    python -m benchmarks.turns [--rounds N] [--sandbox docker|process] [--profile]

A turn is a reply of a scripted model that calls a tool, the call, its result handed back, and the
record of it on disk. Ours makes the call in an isolated process; inspect_ai's mock model calls a
function in process, without isolation. Both play one episode of `SHORT` turns and one of `LONG`, in
turn; what the second takes more is shared out, so that starting and ending count for neither.
Counted are seconds on the clock and of processors, the worker's among them: the latter say more on
a machine that is busy with other things.
`--profile` says where ours goes: the host's own functions, by the time within each.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import docker

from benchmarks.calls import sandbox
from benchmarks.episodes import clock, seconds
from benchmarks.machine import described
from toolhop_agents.react import play
from toolhop_env.episode import Episode
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import Message, RawCall, Reply
from toolhop_env.runs.store import RunStore
from toolhop_env.setting import Setting
from toolhop_sandbox.docker.engine import DockerWorker
from toolhop_sandbox.pool import PooledSandbox
from toolhop_tools.load import load
from toolhop_tools.model import Item, ToolSchema

SHORT, LONG = 5, 55
FIELDS = ("wall_s", "processor_s")
ITEM = "geography-1"
LIMITS = EpisodeLimits(turns=1000, calls=1000)


@dataclass
class Calling:
    """A model that makes one call a turn, and answers after so many."""

    turns: int
    tool: str
    arguments: str
    name: str = "scripted"

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        self.turns -= 1
        if self.turns < 0:
            return Reply("<answer>done</answer>")
        return Reply("Next.", (RawCall(f"c{self.turns}", self.tool, self.arguments),))


def gold_call(item: Item) -> tuple[str, str]:

    hop = next(hop for hop in item.hops if hop.gold is not None)
    if hop.gold is None:
        raise ValueError(f"{item.id} has no gold call")
    return hop.tool.schema.name, json.dumps(dict(hop.gold.arguments))


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds on the clock, and of processors."""

    wall_s: float
    processor_s: float

    def less(self, other: Taken) -> Taken:
        """What it is more than another one, by turn, in milliseconds."""
        share = 1e3 / (LONG - SHORT)
        return Taken(
            (self.wall_s - other.wall_s) * share, (self.processor_s - other.processor_s) * share
        )


def worker_s(pool: PooledSandbox) -> float:
    """Processor time of the pool's only worker and of all that it forked."""
    worker = pool._started[0]  # noqa: SLF001 -- a benchmark looks inside
    if isinstance(worker, DockerWorker):
        client = docker.from_env()
        try:
            return seconds(clock(client, worker.container_id))
        finally:
            client.close()
    pid = worker.process.pid  # type: ignore[attr-defined]  # the other kind there is
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, fields)) / os.sysconf("SC_CLK_TCK")


async def ours(pool: PooledSandbox, store: RunStore, item: Item, turns: int, name: str) -> Taken:
    """An episode of so many turns."""
    before_s = worker_s(pool)
    began, began_s = time.perf_counter(), time.process_time()
    with store.sink(name) as sink:
        episode = Episode(item, pool, Setting(limits=LIMITS), sink=sink, name=name)
        async with episode:
            await play(episode, Calling(turns, *gold_call(item)))
    took_s, used_s = time.perf_counter() - began, time.process_time() - began_s
    made = [called for called in episode.trace.calls if called.error is None]
    if len(made) != turns:
        raise RuntimeError(f"{len(made)} of {turns} calls succeeded")
    return Taken(took_s, used_s + worker_s(pool) - before_s)


def theirs(turns: int, folder: Path) -> Taken:
    """A sample of inspect_ai of so many turns, its log on disk."""
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import Tool, tool

    @tool
    def add() -> Tool:
        async def execute(a: int, b: int) -> int:
            """Add two numbers.

            Args:
                a: the first.
                b: the second.
            """
            return a + b

        return execute

    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "add", {"a": 1, "b": 2}) for _ in range(turns)
    ]
    outputs.append(ModelOutput.from_content("mockllm/model", "done"))
    for output in outputs:
        # Else it counts them, with an encoding from the network.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = Task(dataset=[Sample("add")], solver=[use_tools(add()), generate()])
    model = get_model("mockllm/model", custom_outputs=outputs)
    began, began_s = time.perf_counter(), time.process_time()
    (log,) = evaluate(task, model=model, log_dir=str(folder), display="none", message_limit=10_000)
    took = Taken(time.perf_counter() - began, time.process_time() - began_s)
    messages = (log.samples or [])[0].messages
    if sum(message.role == "tool" for message in messages) != turns:
        raise RuntimeError(f"inspect_ai made another number of calls than {turns}")
    return took


async def measure(kind: str, rounds: int, folder: Path) -> list[tuple[Taken, Taken]]:
    """Milliseconds a turn by round, ours and theirs."""
    item = load("builtin").by_id[ITEM]
    store = RunStore.create(folder, "run", {"format": 3, "status": "success"}, [item])
    found = []
    async with sandbox(kind, "restricted") as pool:
        async with pool.session([tool.program for tool in item.tools.values()]):
            pass
        for number in range(rounds + 1):
            one, other = [await ours(pool, store, item, n, f"{number}-{n}") for n in (SHORT, LONG)]
            # It runs an event loop of its own.
            few, many = [
                await anyio.to_thread.run_sync(theirs, n, folder / "inspect") for n in (SHORT, LONG)
            ]
            found.append((other.less(one), many.less(few)))
    # The first round compiles and warms up.
    return found[1:]


async def profiled(kind: str, folder: Path) -> cProfile.Profile:
    """Where an episode of ours spends its time on the host."""
    item = load("builtin").by_id[ITEM]
    store = RunStore.create(folder, "run", {"format": 3, "status": "success"}, [item])
    profile = cProfile.Profile()
    async with sandbox(kind, "restricted") as pool:
        async with pool.session([]):
            pass  # the worker starts with its first session
        await ours(pool, store, item, SHORT, "warm")
        with profile:
            await ours(pool, store, item, 200, "long")
    return profile


def report(kind: str, rounds: int) -> str:
    """Measure; a table."""
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(measure, kind, rounds, Path(folder))
    lines = [f"Turns of one episode, {rounds} rounds, {kind}. {described()}", ""]
    lines += ["| a turn of | ms | processor ms |", "|---|---:|---:|"]
    for place, name in enumerate(
        ("ours, the call isolated, its worker included", "inspect_ai, the tool in process")
    ):
        wall, used = (
            statistics.median(getattr(row[place], field) for row in found) for field in FIELDS
        )
        lines.append(f"| {name} | {wall:.2f} | {used:.2f} |")
    wall, used = (
        statistics.median(getattr(a, field) / getattr(b, field) for a, b in found)
        for field in FIELDS
    )
    return "\n".join([*lines, f"| ratio by round | {wall:.2f} | {used:.2f} |"])


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sandbox", choices=("docker", "process"), default="docker")
    parser.add_argument("--profile", action="store_true", help="say where our turns go instead")
    options = parser.parse_args()
    os.environ["INSPECT_LOG_LEVEL"] = "error"
    if options.profile:
        with tempfile.TemporaryDirectory() as folder:
            profile = anyio.run(profiled, options.sandbox, Path(folder))
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
    else:
        print(report(options.sandbox, options.rounds))


if __name__ == "__main__":
    main()
