"""The process sandbox: the same worker without a container, for machines with no engine.

It is weaker, and says so: calls run as the current user, in the host's process and network
namespaces. They are confined by what the kernel offers an ordinary process: Landlock (files),
seccomp (processes, signals, network) and rlimits. The description says which of these are missing.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from toolhop_sandbox.errors import SandboxUnavailable
from toolhop_sandbox.link import WorkerLink
from toolhop_sandbox.outcome import JSON

START_S = 60.0
"""Seconds that a worker may take to start: 0.2 s on an idle machine, more under load. A worker that
ends earlier is noticed at once."""
STOP_S = 3.0
"""Seconds that a worker may take to end by itself; normally milliseconds."""
WORKER_ENVIRONMENT = {
    # Results do not vary between processes: sets have one order, dates one zone.
    # `worker_environment` can set another order.
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    # No sandbox has time zone data: it is missing everywhere, rather than forbidden here.
    "PYTHONTZPATH": "",
}


def worker_environment(hash_seed: int = 0) -> dict[str, str]:
    """Return a worker's environment, with the seed of string hashes, 0 to 4294967295."""
    return {**WORKER_ENVIRONMENT, "PYTHONHASHSEED": str(hash_seed)}


@dataclass
class ProcessWorker:
    """A worker started as a child of this process."""

    process: subprocess.Popen[bytes]
    link: WorkerLink

    async def stop(self) -> None:
        """Close the connections, upon which the worker ends; kill it if it does not."""
        self.link.close()
        try:
            await anyio.to_thread.run_sync(partial(self.process.wait, timeout=STOP_S))
        except subprocess.TimeoutExpired:
            # Its standbys die with it (PR_SET_PDEATHSIG).
            self.process.kill()
            await anyio.to_thread.run_sync(self.process.wait)


@dataclass
class ProcessLauncher:
    """Starts workers as plain child processes."""

    facts: Mapping[str, JSON] = field(default_factory=dict)
    hash_seed: int = 0
    """Seed that determines the order of sets; runs keep the default."""
    _first: ProcessWorker | None = None
    """The worker whose greeting gave `facts`, until it is taken."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """The isolation in use, for manifests."""
        return {"kind": "process", **self.facts}

    async def prepare(self) -> None:
        """Check the platform, and find out what the kernel offers.

        Raises:
            SandboxUnavailable: this is not Linux.
        """
        if not sys.platform.startswith("linux"):
            raise SandboxUnavailable(
                f"the process sandbox needs Linux, this is {sys.platform}",
                fix="start a Docker engine and pass --sandbox docker",
            )
        self._first = await self._start()
        self.facts = self._first.link.facts

    async def start(self) -> ProcessWorker:
        """See `Launcher.start`."""
        worker, self._first = self._first, None
        return worker or await self._start()

    async def _start(self) -> ProcessWorker:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = _start_worker(theirs.fileno(), self.hash_seed)
        worker = ProcessWorker(process, WorkerLink(ours))
        try:
            await worker.link.greet(START_S)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await worker.stop()
            raise
        return worker

    async def close(self) -> None:
        """See `Launcher.close`."""
        if self._first is not None:
            await self._first.stop()
            self._first = None


def _start_worker(control: int, hash_seed: int) -> subprocess.Popen[bytes]:
    """Start the zygote with the control socket's descriptor and a clean environment.

    It imports no module from the user's folder, and keys in the user's terminal do not end it.
    """
    root = str(Path(__file__).resolve().parent.parent)
    module = ["-P", "-m", "toolhop_sandbox.worker.zygote"]
    return subprocess.Popen(  # noqa: S603 -- our own interpreter and module
        [sys.executable, *module, "--fd", str(control)],
        cwd="/",
        env={**worker_environment(hash_seed), "PYTHONPATH": root},
        pass_fds=[control],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
