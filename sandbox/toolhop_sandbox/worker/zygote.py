"""The worker's first process: it forks a standby for each call, and ends it.

It never reads a byte that untrusted code wrote: it holds only the control channel, and knows no
programs, arguments or results. So a call can leave nothing in it, and one worker can serve episode
after episode.

When the host goes away, the control channel ends, and so does the worker, with everything in it. In
a container it is PID 1, or the child of a PID 1 that ends with it (`toolhop_sandbox.attach.relay`),
and the engine then removes the container.

    python -m toolhop_sandbox.worker.zygote PATH      connect to the control socket at PATH
    python -m toolhop_sandbox.worker.zygote --fd N    take over the control socket of descriptor N
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Set
from typing import NoReturn

from toolhop_sandbox.worker import landlock, lockdown, paths, standby, wire

FORK_TRIES, PAUSE_S = 10, 0.002
"""Attempts to fork, and the pause between them: a fork fails while a call's threads use up the
process limit; they are gone within milliseconds of ending."""
REPORTED = ("landlock", "seccomp")
"""Lockdown steps that not every kernel offers."""
DESCRIPTOR = struct.Struct("=i")
DESCRIPTOR_BYTES = socket.CMSG_SPACE(DESCRIPTOR.size)


class Zygote:
    """Forks standbys and ends them, as ordered by packets on the control socket."""

    def __init__(self, control: socket.socket, *, in_container: bool) -> None:
        self.control = control
        self.pids: dict[int, int] = {}
        """Process ids by standby number, until the host orders the end. A standby that ended by
        itself stays, as a zombie, so that no other process gets its id."""
        # Checked as well, since elsewhere a reset as root would kill the whole machine.
        self.in_container = in_container and 1 in (os.getpid(), os.getppid())
        """Whether all processes that it sees, except PID 1, are its own."""
        self.base_bytes = lockdown.address_space_bytes()
        self.prepared = lockdown.Prepared(paths.readable(), paths.stdlib_folder())

    def hello(self) -> None:
        """Send the greeting, which describes this worker."""
        facts = {
            "python": sys.version.split()[0],
            "pid_1": self.in_container,
            "landlock_abi": landlock.abi(),
            **self.probe(),
        }
        self.control.send(wire.packet(wire.HELLO, 0, json.dumps(facts).encode()))

    def probe(self) -> dict[str, bool]:
        """Return which of `REPORTED` a standby can actually take, as tested in a child."""
        pid = os.fork()
        if pid == 0:
            done = self.prepared.lock(self.control.fileno())
            taken = {name for (name, _), one in zip(lockdown.STEPS, done, strict=True) if one}
            os._exit(sum(1 << place for place, name in enumerate(REPORTED) if name in taken))
        code = max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        return {name: bool(code >> place & 1) for place, name in enumerate(REPORTED)}

    def serve(self) -> None:
        """Handle packets until the host closes the control socket."""
        while self.receive():
            pass

    def receive(self) -> bool:
        """Handle one packet; return False if the host is gone."""
        data, ancillary, _, _ = self.control.recvmsg(wire.PACKET_BYTES, DESCRIPTOR_BYTES)
        if not data:
            return False
        letter, number, rest = wire.unpack(data)
        if letter == wire.SPAWN:
            for (spent,) in wire.NUMBER.iter_unpack(rest):
                self.end(spent)
            self.spawn(number, DESCRIPTOR.unpack(ancillary[0][2])[0])
        elif letter == wire.KILL:
            self.end(number)
        elif letter == wire.END:
            status = self.end(number, wire.MILLISECONDS.unpack(rest)[0])
            packed = b"" if status is None else wire.STATUS.pack(*status)
            self.control.send(wire.packet(wire.ENDED, number, packed))
        elif letter == wire.RESET:
            self.reset({kept for (kept,) in wire.NUMBER.iter_unpack(rest)})
            self.control.send(wire.packet(wire.RESET, number))
        elif letter == wire.PING:
            alive = 1 + sum(not _ended(pid) for pid in self.pids.values())
            self.control.send(wire.packet(wire.PING, number, wire.NUMBER.pack(alive)))
        return True

    def spawn(self, number: int, connection: int) -> None:
        """Fork a standby, and give it the connection.

        If there is no room, its connection is closed, and the host asks for another.
        """
        for _ in range(FORK_TRIES):
            with contextlib.suppress(OSError):
                pid = lockdown.plain_fork()
                if pid == 0:
                    self.become_standby(connection)
                self.pids[number] = pid
                break
            time.sleep(PAUSE_S)
        os.close(connection)

    def become_standby(self, connection: int) -> NoReturn:
        """In a child: serve one call, and never return into the zygote's loop."""
        code = wire.FAULT_EXIT_CODE
        try:
            if not self.in_container:
                # In a container everything ends with PID 1.
                lockdown.die_with_parent()
            standby.serve(connection, self.base_bytes, self.prepared)
            code = 0
        finally:
            os._exit(code)

    def end(self, number: int, patience_ms: int = 0) -> tuple[int, bool] | None:
        """End a standby and its process group, and reap it.

        Returns its exit code and whether it had to be killed; None if it was never forked. Most
        have ended by themselves before. The host waits for nothing else meanwhile, so this may
        block.

        Args:
            number: number of the standby.
            patience_ms: milliseconds that it may take to end by itself.
        """
        pid = self.pids.pop(number, None)
        if pid is None:
            return None
        deadline_s = time.monotonic() + patience_ms / 1000
        while not (ended := _ended(pid)) and time.monotonic() < deadline_s:
            time.sleep(PAUSE_S / 2)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), not ended

    def reset(self, kept: Set[int] = frozenset()) -> None:
        """End all standbys except those `kept`.

        In a container, if none is kept, it kills every process except PID 1, even unknown ones.
        """
        if self.in_container and not kept:
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        for number in self.pids.keys() - kept:
            self.end(number)
        if not self.pids:
            # Orphans that PID 1 adopted.
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _ended(pid: int) -> bool:
    """Whether a child has ended. It is not reaped, so its id is not reused."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def connect(arguments: list[str]) -> socket.socket:
    """Return the control socket that the command line names."""
    if arguments[:1] == ["--fd"]:
        return socket.socket(fileno=int(arguments[1]))
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(arguments[0])
    return control


def main() -> None:
    """Serve the host that the command line names."""
    run(connect(sys.argv[1:]), in_container=os.getpid() == 1)


def run(control: socket.socket, *, in_container: bool) -> None:
    """Serve until the host is gone, then leave nothing behind."""
    lockdown.die_with_parent()
    for _, take in lockdown.WORKER_STEPS:
        take()
    standby.warm()
    zygote = Zygote(control, in_container=in_container)
    zygote.hello()
    try:
        zygote.serve()
    finally:
        with contextlib.suppress(OSError):
            zygote.control.close()
        zygote.reset()


if __name__ == "__main__":
    main()
