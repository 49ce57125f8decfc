"""What a training loop gets: resets and steps through one environment, against `toolhop run`.

    python -m benchmarks.environment [--resets N] [--sandbox process]

Two figures, each in one run. Memory: N resets of ten steps, the memory of this process after a
tenth of them and at the end. Speed: oracle episodes of the built-in items one after another, the
environment's beside a run's with one episode at a time, its traces on disk.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from pathlib import Path

import anyio

from benchmarks.machine import described
from toolhop_agents.environment.core import CallOf
from toolhop_agents.environment.plain import PlainEnvironment, PlainEnvironments
from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_env.messages import Message
from toolhop_tools.model import Item

STEPS, ROUNDS = 10, 5


def resident_mib() -> float:
    """Memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * 4096 / 2**20


def resets(pool: PlainEnvironments, count: int) -> tuple[float, float, float]:
    """Resets of `STEPS` steps each: MiB after a tenth and at the end, seconds in all."""
    environment, early = pool.environment(), 0.0
    items = itertools.cycle(pool.items.values())
    began = time.perf_counter()
    for number in range(count):
        item = next(items)
        environment.reset(item.id)
        gold = itertools.cycle([hop for hop in item.hops if hop.gold is not None])
        for _ in range(STEPS):
            hop = next(gold)
            arguments = hop.gold.arguments if hop.gold is not None else {}
            environment.step(CallOf(hop.tool.name, arguments))
        if number == count // 10:
            early = resident_mib()
    environment.close()
    return early, resident_mib(), time.perf_counter() - began


def oracle(environment: PlainEnvironment, item: Item) -> None:
    """One episode of the oracle."""
    environment.reset(item.id)
    play, done = choose("oracle"), False
    while not done:
        messages: tuple[Message, ...] = environment.conversation
        done = environment.step(play(item, 0, messages, True)).done


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--resets", type=int, default=1000)
    parser.add_argument("--sandbox", choices=["docker", "process"], default="docker")
    given = parser.parse_args()
    print(f"Environments, {given.sandbox}. {described()}\n")
    settings = RunSettings(data="builtin", sandbox=given.sandbox, turn_limit=STEPS + 1)
    with PlainEnvironments(settings, most=1) as pool:
        early, late, wall_s = resets(pool, given.resets)
        print(f"| {given.resets} resets, {given.resets * STEPS} steps | figure |\n|---|---:|")
        print(f"| memory after a tenth, and at the end | {early:.1f}, {late:.1f} MiB |")
        print(f"| a step, resets included | {wall_s / given.resets / STEPS * 1000:.2f} ms |\n")
        ratios, ours, theirs = [], [], []
        for _ in range(ROUNDS):
            environment, began = pool.environment(), time.perf_counter()
            for item in pool.items.values():
                oracle(environment, item)
            ours.append((time.perf_counter() - began) / len(pool.items))
            with tempfile.TemporaryDirectory() as folder:
                changes = {"agent": "oracle", "max_samples": 1, "log_dir": Path(folder)}
                began = time.perf_counter()
                anyio.run(execute, settings.model_copy(update=changes))
                theirs.append((time.perf_counter() - began) / len(pool.items))
            ratios.append(theirs[-1] / ours[-1])
    print("| oracle episodes, one at a time | ms an episode |\n|---|---:|")
    print(f"| environment | {statistics.median(ours) * 1000:.1f} |")
    print(f"| toolhop run, its start included | {statistics.median(theirs) * 1000:.1f} |")
    print(f"| episodes a second, environment by run | {statistics.median(ratios):.2f} |")


if __name__ == "__main__":
    main()
