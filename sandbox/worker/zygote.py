"""The worker's first process: it forks a standby for each call, kills on demand, and waits.

It never reads a byte that untrusted code wrote: it holds the control channel alone, and knows no
program, no arguments and no result. What it knows at the start it knows at the end, so a call
can leave nothing in it, and one worker can serve episode after episode.

When the host goes away the control channel ends, and so does the worker, with everything in it.
In a container it is PID 1, and the engine then removes the container.

    python -m sandbox.worker.zygote PATH      connect to the control socket at PATH
    python -m sandbox.worker.zygote --fd N    take over the control socket of descriptor N
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Set

from sandbox.worker import lockdown, standby, wire

FORK_S = 2.0
"""How long a fork may be refused before the worker gives up; killed threads leave in ms."""
FORK_PAUSE_S = 0.002


class Zygote:
    """Forks standbys and reports their ends over the control socket."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.pids: dict[int, int] = {}
        """Standby number to process id."""
        self.in_container = os.getpid() == 1
        self.base_bytes = lockdown.address_space_bytes()
        self.prepared = lockdown.Prepared(standby.readable())

    def hello(self) -> None:
        """Tell the host what this worker is."""
        landlock, seccomp = self.probe()
        facts = {
            "python": sys.version.split()[0],
            "pid_1": self.in_container,
            "landlock": landlock,
            "landlock_abi": self.prepared.landlock_abi,
            "seccomp": seccomp,
        }
        self.control.send(wire.packet(wire.HELLO, 0, json.dumps(facts).encode()))

    def probe(self) -> tuple[bool, bool]:
        """Whether a standby will really get Landlock and seccomp, tried in a child."""
        pid = os.fork()
        if pid == 0:
            landlock, seccomp = self.prepared.lock()
            os._exit(landlock + 2 * seccomp)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return bool(code & 1), bool(code & 2)

    def serve(self) -> None:
        """Handle packets and children until the host closes the control socket."""
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(wake_read, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == wake_read:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake_read, 512)
                    self.reap()
                elif not self.receive():
                    return

    def receive(self) -> bool:
        """Handle one packet; False when the host is gone."""
        data, descriptors, _, _ = socket.recv_fds(self.control, wire.PACKET_BYTES, 1)
        if not data:
            return False
        letter, number, rest = wire.unpack(data)
        if letter == wire.SPAWN:
            self.spawn(number, descriptors[0])
        elif letter == wire.KILL:
            self.kill(number)
        elif letter == wire.RESET:
            self.reset({kept for (kept,) in wire.NUMBER.iter_unpack(rest)})
            self.control.send(wire.packet(wire.RESET, number))
        elif letter == wire.PING:
            self.control.send(wire.packet(wire.PING, number))
        return True

    def spawn(self, number: int, descriptor: int) -> None:
        """Fork a standby that holds the connection `descriptor` and nothing else of ours."""
        pid = self.fork()
        if pid == 0:
            # The child must never return into this loop, whatever happens.
            code = wire.FAULT_EXIT_CODE
            try:
                if not self.in_container:
                    # In a container the end of PID 1 is the end of all.
                    lockdown.die_with_parent()
                standby.serve(descriptor, self.base_bytes, self.prepared)
                code = 0
            finally:
                os._exit(code)
        os.close(descriptor)
        self.pids[number] = pid

    def fork(self) -> int:
        """Fork, waiting for room where a killed call's threads still count against the limit.

        Raises:
            OSError: there was none for `FORK_S` seconds.
        """
        for _ in range(int(FORK_S / FORK_PAUSE_S)):
            with contextlib.suppress(BlockingIOError):
                return lockdown.plain_fork()
            time.sleep(FORK_PAUSE_S)
        return lockdown.plain_fork()

    def kill(self, number: int) -> None:
        """End a standby and its process group; one that already ended is no error."""
        pid = self.pids.get(number)
        if pid is not None:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    kill(pid, signal.SIGKILL)

    def reset(self, kept: Set[int] = frozenset()) -> None:
        """Kill and reap all standbys but those `kept`.

        With none kept, PID 1 kills every process there is: also one that it does not know.
        """
        if self.in_container and not kept:
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        for number in self.pids.keys() - kept:
            self.kill(number)
        while self.pids.keys() - kept:
            self.reap(os.WEXITED)

    def reap(self, options: int = os.WNOHANG) -> None:
        """Wait for ended children and report each to the host."""
        flags = os.WNOHANG if options == os.WNOHANG else 0
        while True:
            try:
                pid, status = os.waitpid(-1, flags)
            except ChildProcessError:
                self.pids.clear()
                return
            if pid == 0:
                return
            self.report(pid, os.waitstatus_to_exitcode(status))
            if flags == 0:
                return

    def report(self, pid: int, exit_code: int) -> None:
        """Tell the host that a standby ended. Orphans adopted by PID 1 have no number."""
        for number, known in self.pids.items():
            if known == pid:
                del self.pids[number]
                rest = wire.STATUS.pack(exit_code)
                with contextlib.suppress(OSError):
                    self.control.send(wire.packet(wire.EXIT, number, rest))
                return


def connect(arguments: list[str]) -> socket.socket:
    """The control socket that the command line names."""
    if arguments[:1] == ["--fd"]:
        return socket.socket(fileno=int(arguments[1]))
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(arguments[0])
    return control


def main() -> None:
    """Serve until the host is gone, then leave nothing behind."""
    control = connect(sys.argv[1:])
    lockdown.die_with_parent()
    lockdown.hide()
    lockdown.no_new_privileges()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        # Calls inherit these: what they print goes nowhere.
        os.dup2(null, standard)
    os.close(null)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    standby.warm()
    zygote = Zygote(control)
    zygote.hello()
    try:
        zygote.serve()
    finally:
        with contextlib.suppress(OSError):
            zygote.control.close()
        zygote.reset()


if __name__ == "__main__":
    main()
