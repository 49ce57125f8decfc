"""Processes of the product's own command that need no second to import it.

To start an interpreter and import the product is most of what a short command costs. One server
imports it once and forks a process for each command: a process of its own, with its own id,
environment, folder, standard streams and signals, that ends as the command's own would.

What an import itself does, and what a terminal sees, is tested on `tests.agents.command.TOOLHOP`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
IMPORTED = (
    "anyio._backends._asyncio", "toolhop_agents.runs.execute", "toolhop_agents.certify.command",
    "toolhop_agents.runs.command", "toolhop_agents.ablate.command", "toolhop_sandbox.docker.engine",
    "docker", "encodings.idna",
)  # fmt: skip
SERVED = ("openai.resources.chat", "httpcore")
"""The client of a served model takes a second to import; named by those who need it."""


class Launched(subprocess.Popen[str]):
    """The command with some arguments, under way; used as any `Popen`.

    Args:
        arguments: what follows ``toolhop``.
        cwd: the folder that it runs in; this one's if None.
        env: the whole environment; this one's if None.
        patch: code that runs in the process before the command.
        imports: modules that the server imports before it forks.
    """

    def __init__(
        self,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        patch: str = "",
        imports: tuple[str, ...] = (),
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> None:
        self._order = json.dumps({
            "arguments": arguments,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "patch": patch,
            "imports": imports,
        })  # fmt: skip
        super().__init__(
            ["toolhop", *arguments],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, text=True,
        )  # fmt: skip

    def _execute_child(self, *given: Any) -> None:
        """Have the server fork it, in the place of a fork and an exec here."""
        stdin, _, _, stdout, _, stderr = ends = given[10:16]
        self._status, theirs = os.pipe()
        try:
            self.pid = _ask(self._order, [stdin, stdout, stderr, theirs])
        finally:
            os.close(theirs)
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]

    def _try_wait(self, flags: int) -> tuple[int, int]:
        """As ``waitpid`` answers, from what the server says."""
        if flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        told = os.read(self._status, 16)
        assert told, "the server ended before the process"
        os.close(self._status)
        return self.pid, int(told)

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _ask(order: str, descriptors: list[int]) -> int:
    orders = _server()
    socket.send_fds(orders, [order.encode()], descriptors)
    return int(orders.recv(64))


@functools.cache
def _server() -> socket.socket:
    """The server's socket; it is started when it is first needed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=ROOT, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def end() -> None:
        ours.close()
        process.communicate(timeout=30)

    atexit.register(end)
    return ours


def serve(orders: socket.socket) -> dict[str, Any]:
    """Fork a process for each order, and report how it ended; returns in each of them alone."""
    own_variables = set(os.environ)
    running = selectors.DefaultSelector()
    running.register(orders, selectors.EVENT_READ)
    while True:
        for key, _ in running.select():
            if key.fileobj is not orders:
                pid, status = key.data
                running.unregister(key.fileobj)
                os.close(key.fd)
                with contextlib.suppress(BrokenPipeError):
                    os.write(status, str(os.waitpid(pid, 0)[1]).encode())
                os.close(status)
                continue
            text, descriptors, _, _ = socket.recv_fds(orders, 1 << 20, 4)
            if not text:
                sys.exit()
            order: dict[str, Any] = json.loads(text)
            for name in order["imports"]:
                importlib.import_module(name)
            # An import would have set them in the command's own process.
            set_by_imports = {
                name: value for name, value in os.environ.items() if name not in own_variables
            }
            order["env"] = set_by_imports | order["env"]
            gc.freeze()
            pid = os.fork()
            if pid == 0:
                for place, descriptor in enumerate(descriptors[:3]):
                    os.dup2(descriptor, place)
                os.closerange(3, 1024)
                return order
            for descriptor in descriptors[:3]:
                os.close(descriptor)
            running.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, descriptors[3]))
            orders.send(str(pid).encode())


def become(order: Mapping[str, Any]) -> None:
    """Be the command."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = ["toolhop", *order["arguments"]]
    # Click names the program by it.
    sys.modules["__main__"].__package__ = None
    exec(order["patch"], {})  # noqa: S102 -- the tests' own
    from toolhop_agents.cli import main

    main()


if __name__ == "__main__":
    for module in IMPORTED:
        importlib.import_module(module)
    # Ctrl-C in a terminal is for the tests; they end this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    become(serve(socket.socket(fileno=int(sys.argv[1]))))
