"""Workers that leave out steps, forked from one process that has imported what they need.

To start an interpreter and warm it up is most of what a worker costs; there is one for each step.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.attacks import process_tree
from toolhop_sandbox.process import WORKER_ENVIRONMENT

SOURCE = """
import json, os, socket, sys
from toolhop_sandbox.worker import landlock, lockdown, paths, seccomp, standby, zygote

standby.warm()
orders = socket.socket(fileno=int(sys.argv[1]))

def reap(flags):
    try:
        while os.waitpid(-1, flags)[0]:
            pass
    except ChildProcessError:
        pass

while True:
    data, descriptors, _, _ = socket.recv_fds(orders, 65536, 1)
    if not data:
        break
    reap(os.WNOHANG)
    order = json.loads(data)
    pid = os.fork()
    if pid == 0:
        orders.close()
        os.setsid()
        os.environ.update(order["environment"])
        exec(order["without"])
        zygote.run(socket.socket(fileno=descriptors[0]), in_container=False)
        os._exit(0)
    os.close(descriptors[0])
    orders.send(str(pid).encode())
reap(0)
"""


@dataclass(frozen=True, slots=True)
class Forked:
    """A worker, with what its launcher uses of `subprocess.Popen`."""

    pid: int

    def wait(self, timeout: float = 10.0) -> int:
        """Wait until it has ended."""
        deadline_s = time.monotonic() + timeout
        while process_tree.lives(self.pid):
            if time.monotonic() > deadline_s:
                raise subprocess.TimeoutExpired("worker", timeout)
            time.sleep(0.005)
        return 0

    def kill(self) -> None:
        """End it."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Mother:
    """The process that forks them."""

    orders: socket.socket

    def fork(self, control: int, without: str, environment: Mapping[str, str]) -> Forked:
        """A worker that runs `without` before it serves the control socket."""
        order = json.dumps({"without": without, "environment": dict(environment)})
        socket.send_fds(self.orders, [order.encode()], [control])
        return Forked(int(self.orders.recv(100)))


@contextmanager
def mother() -> Iterator[Mother]:
    """One, whose streams and those of its workers lead to a file, as a container's may."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    root = str(Path(__file__).parents[2] / "sandbox")
    with ours, tempfile.TemporaryFile() as streams:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", SOURCE, str(theirs.fileno())],
                cwd="/",
                env={**WORKER_ENVIRONMENT, "PYTHONPATH": root},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=streams,
                stderr=streams,
                start_new_session=True,
            )
        try:
            yield Mother(ours)
        finally:
            ours.close()
            process.wait()
