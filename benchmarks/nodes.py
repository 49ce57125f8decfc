"""Episodes a minute by the number of nodes of a cluster, with a model that is slow.

    .adapters/ray/bin/python -m benchmarks.nodes [--wait 1.0] [--at-a-time 4]

The model is a server on this machine that waits for each reply, so that processors are not what
bounds it; nodes are processes of this machine. The time counted is from the first request to the
last reply. Beside it, what the driver took of a processor.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import anyio

from benchmarks.machine import described
from tests.adapters.nodes import SlowModel, cluster
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_tools.load import load


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nodes", description=__doc__)
    parser.add_argument("--wait", type=float, default=1.0, help="Seconds a reply takes.")
    parser.add_argument("--at-a-time", type=int, default=4, help="Episodes on each node.")
    parser.add_argument("--epochs", type=int, default=3)
    given = parser.parse_args()
    print(described())
    base = 0.0
    with cluster() as nodes:
        for count in (1, 2, 3):
            nodes.have(count)
            rate, driver = measured(nodes.address, given.wait, given.at_a_time, given.epochs)
            base = base or rate
            print(
                f"{count} nodes: {rate:6.1f} episodes a minute ({rate / base:.2f} times one node), "
                f"driver {driver:.0%} of a processor",
                flush=True,
            )
    return 0


def measured(address: str, wait_s: float, at_a_time: int, epochs: int) -> tuple[float, float]:
    model = SlowModel(load("builtin"), wait_s)
    began: list[float] = []

    def asked(count: int) -> None:
        if count == 1:
            began.append(time.perf_counter())

    model.on_asked = asked
    with tempfile.TemporaryDirectory() as folder, LoopbackServer(model) as server:
        settings = RunSettings(
            agent=None, model="openai/x", base_url=server.base_url, sandbox="process",
            turn_limit=20, max_samples=at_a_time, epochs=epochs, log_dir=Path(folder),
            executor="ray", ray_address=address,
        )  # fmt: skip
        ends: list[float] = []
        cpu = time.process_time()
        run = anyio.run(
            partial(execute, on_result=lambda _: ends.append(time.perf_counter())), settings
        )
        cpu = time.process_time() - cpu
    if run.status != "success":
        raise SystemExit(f"the run ended with {run.status}: {run.fault}")
    took_s = ends[-1] - began[0]
    return 60 * len(ends) / took_s, cpu / took_s


if __name__ == "__main__":
    sys.exit(main())
