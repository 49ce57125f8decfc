"""A cluster of nodes on this machine, for tests, and a model that takes its time."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

os.environ |= {"RAY_raylet_start_wait_time_s": "150"}  # read as Ray is imported
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from tests.adapters.played import AGENT
from toolhop_agents.models.loopback import Request
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import item_of, metered, responder
from toolhop_env.messages import AssistantMessage, Reply
from toolhop_tools.model import DataSet

STORE_BYTES = 80 << 20
"""Of a node's objects; Ray takes no less than 75 MiB."""

Turn = tuple[str, int]
"""An item, and how many replies its conversation had."""


class Nodes:
    """A head that plays nothing, and nodes that come and go."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": STORE_BYTES},
        )
        # Nodes are added by threads too, which may set no handlers; they end with their head.
        self._cluster._shutdown_at_exit = False
        self.nodes: list[Any] = []

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, **environment: str) -> Any:
        node = self._cluster.add_node(
            num_cpus=1, object_store_memory=STORE_BYTES, env_vars=environment
        )
        self.nodes.append(node)
        return node

    def lose(self, node: Any) -> None:
        """As when the machine is switched off."""
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def have(self, count: int) -> None:
        """See that there are as many."""
        while len(self.nodes) > count:
            self.lose(self.nodes[-1])
        while len(self.nodes) < count:
            self.add()

    def end(self) -> None:
        self._cluster.shutdown()


@contextmanager
def cluster() -> Iterator[Nodes]:
    nodes = Nodes()
    try:
        yield nodes
    finally:
        nodes.end()
        until(lambda: not processes("ray::Host"), "end of the actors, those of lost nodes too")


class SlowModel:
    """A responder that waits as a model does, and writes down what it was asked, and how much at
    once.
    """

    def __init__(self, data: DataSet, wait_s: float, agent: str = AGENT) -> None:
        self._data, self._wait_s = data, wait_s
        self._answer = metered(responder(data, choose(agent), 0))
        self._lock = threading.Lock()
        self.asked: list[Turn] = []
        self.under_way = self.most = 0
        self.on_asked: Callable[[int], None] = lambda _: None
        self.may = threading.Event()
        """While it is not set, nothing is answered."""
        self.may.set()

    def __call__(self, request: Request) -> Reply:
        spoken = sum(isinstance(message, AssistantMessage) for message in request.messages)
        with self._lock:
            self.asked.append((item_of(self._data, request.messages, request.tools).id, spoken))
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self.on_asked(len(self.asked))
        time.sleep(self._wait_s)
        self.may.wait(120)
        try:
            return self._answer(request)
        finally:
            with self._lock:
                self.under_way -= 1

    def twice(self) -> int:
        """Requests for a turn that was asked for before."""
        return sum(count - 1 for count in Counter(self.asked).values())


def processes(*words: str) -> list[int]:
    """Processes of this machine whose command line has all the words."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                line = (
                    (folder / "cmdline")
                    .read_bytes()
                    .replace(b"\0", b" ")
                    .decode("utf-8", "replace")
                )
                if all(word in line for word in words):
                    found.append(int(folder.name))
    return found


def until(true: Callable[[], object], what: str, ceiling_s: float = 90.0) -> None:
    end = time.monotonic() + ceiling_s
    while not true():
        assert time.monotonic() < end, f"no {what} in {ceiling_s} s"
        time.sleep(0.05)


__all__: Sequence[str] = ["Nodes", "SlowModel", "cluster", "processes", "until"]
