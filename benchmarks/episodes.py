"""What whole episodes cost: this checkout, and another one beside it in the same run.

    python -m benchmarks.episodes [--against PATH] [--episodes N] [--rounds N]

An episode is played by the oracle on a built-in item, in Docker, with its trace on disk; a run of
`toolhop run` plays N of them. Counted are the processor seconds of the run's own processes and of
its containers together (their control groups'), and the seconds it took. PATH is a checkout with
a `.venv/bin/toolhop` of its own; the two take turns, and each round gives a ratio, so that other
work on the machine falls on both. The engine's own work is not counted, nor the making of images:
one episode of each is played before.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker

from benchmarks.machine import described

ROOT = Path(__file__).resolve().parents[1]
CGROUPS = Path("/sys/fs/cgroup")
BUILT_IN_ITEMS = 43
LOOK_S = 0.02
"""How often the containers' clocks are read: what they take after the last time is lost."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one run took, in seconds."""

    host_s: float
    containers_s: float
    wall_s: float

    @property
    def processor_s(self) -> float:
        return self.host_s + self.containers_s


class Containers:
    """Processor time of the containers that one process starts, read while they live."""

    def __init__(self, owner_pid: int) -> None:
        self.owner = f":{owner_pid}:"
        self.taken_s: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    @contextlib.contextmanager
    def watched(self) -> Iterator[Containers]:
        self._thread.start()
        try:
            yield self
        finally:
            self._over.set()
            self._thread.join()

    def _watch(self) -> None:
        client = docker.from_env()
        clocks: dict[str, Path] = {}
        round_ = 0
        while not self._over.wait(LOOK_S):
            if round_ % 3 == 0:
                for one in client.api.containers(filters={"label": "toolhop.sandbox"}):
                    known = one["Id"] in clocks
                    if not known and self.owner in one["Labels"].get("toolhop.owner", ""):
                        with contextlib.suppress(docker.errors.APIError, OSError):
                            clocks[one["Id"]] = clock(client, one["Id"])
            round_ += 1
            for name, path in clocks.items():
                with contextlib.suppress(OSError):
                    self.taken_s[name] = seconds(path)
        client.close()


def clock(client: docker.DockerClient, container_id: str) -> Path:
    """The file in which the kernel counts a container's processor time."""
    pid = client.api.inspect_container(container_id)["State"]["Pid"]
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            return CGROUPS / "cpuacct" / path.lstrip("/") / "cpuacct.usage"
        if not controllers and (CGROUPS / path.lstrip("/") / "cpu.stat").exists():
            return CGROUPS / path.lstrip("/") / "cpu.stat"
    raise OSError(f"no control group of container {container_id} counts its processor time")


def seconds(path: Path) -> float:
    text = path.read_text()
    if path.name == "cpuacct.usage":
        return int(text) / 1e9
    return int(text.split()[1]) / 1e6


def run(checkout: Path, epochs: int, *, limit: int | None = None) -> Taken:
    """Play every built-in item `epochs` times; or the first `limit` of them."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(checkout / ".venv" / "bin" / "toolhop"), "run", "--sandbox", "docker"]
        command += ["--epochs", str(epochs), "--json", "--log-dir", folder]
        command += ["--limit", str(limit)] if limit is not None else []
        before = children_s()
        began = time.perf_counter()
        with (
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder
            ) as process,
            Containers(process.pid).watched() as containers,
        ):
            printed = process.communicate()[0]
        if process.returncode:
            raise RuntimeError(f"{command} ended with {process.returncode}")
        took_s = time.perf_counter() - began
        played = len(list((Path(json.loads(printed)["run"]) / "episodes").iterdir()))
        if played != epochs * (limit or BUILT_IN_ITEMS):
            raise RuntimeError(f"{played} episodes were played")
    if not containers.taken_s and limit is None:
        raise RuntimeError("no container was seen")
    return Taken(children_s() - before, sum(containers.taken_s.values()), took_s)


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(checkouts: list[Path], episodes: int, rounds: int) -> str:
    """Play and compare; a table."""
    epochs = max(1, round(episodes / BUILT_IN_ITEMS))
    found: list[list[Taken]] = [[] for _ in checkouts]
    for one in checkouts:
        run(one, 1, limit=1)
    for _ in range(rounds):
        for one, rows in zip(checkouts, found, strict=True):
            rows.append(run(one, epochs))
    names = ("this checkout", "the other one")
    lines = [f"{epochs * BUILT_IN_ITEMS} oracle episodes a run, {rounds} runs. {described()}", ""]
    lines += ["| median of | processor s | of it host | of it containers | wall s |"]
    lines += ["|---|---:|---:|---:|---:|"]
    for name, rows in zip(names, found, strict=False):
        cells = [
            statistics.median(getattr(row, field) for row in rows)
            for field in ("processor_s", "host_s", "containers_s", "wall_s")
        ]
        lines.append(f"| {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")
    if len(found) == 2:
        ratios = [
            [getattr(a, field) / getattr(b, field) for a, b in zip(*found, strict=True)]
            for field in ("processor_s", "host_s", "containers_s", "wall_s")
        ]
        cells = [statistics.median(some) for some in ratios]
        lines.append(f"| ratio by round | {' | '.join(f'{cell:.2f}' for cell in cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, with a .venv of its own")
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ.pop("TOOLHOP_RUN_LOG_DIR", None)
    checkouts = [ROOT] if options.against is None else [ROOT, options.against.resolve()]
    print(report(checkouts, options.episodes, options.rounds))


if __name__ == "__main__":
    main()
