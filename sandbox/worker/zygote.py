"""The worker's first process: it forks standbys for calls, puts them back or kills them, and waits.

It never reads a byte that untrusted code wrote: it holds the control channel alone, and knows no
program, no arguments and no result. What it knows at the start it knows at the end, so a call
can leave nothing in it, and one worker can serve episode after episode.

When the host goes away the control channel ends, and so does the worker, with everything in it.
In a container it is PID 1, or the child of one that ends with it (`sandbox.worker.relay`), and the
engine then removes the container.

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
import struct
import sys
import time
from collections.abc import Callable, Set
from typing import NoReturn

from sandbox.worker import again, lockdown, paths, ptrace, standby, twins, wire

FORK_S = 2.0
"""How long a fork may be refused, while no child takes up room, before the worker gives up; killed
threads leave in ms."""
PROBE_MS = 2000
"""How long a process that is used again may take to be ready; 3 ms, unless the machine is busy."""
PAUSE_MS = 2
"""How often a fork that was refused is tried again, and children that are to end are looked for."""
IDLE = 3
"""Processes that were put back and wait without a number, at most: 3 MB each after a few calls."""
DESCRIPTOR = struct.Struct("=i")
DESCRIPTOR_BYTES = socket.CMSG_SPACE(DESCRIPTOR.size)


class Zygote:
    """Forks standbys and reports their ends over the control socket."""

    def __init__(self, control: socket.socket, *, in_container: bool) -> None:
        self.control = control
        self.pids: dict[int, int] = {}
        """Standby number to process id, of those that live as far as is known."""
        self.numbers: dict[int, int] = {}
        """The same by process id, and also of those that were killed and not yet reaped."""
        self.codes: dict[int, int] = {}
        """Standby number to exit code, of those that ended before the host spoke of them."""
        self.awaited: set[int] = set()
        """Standbys whose end the host waits for."""
        self.waiting: dict[int, tuple[int, bool]] = {}
        """Standby number to connection, and whether it is to be one for a single call, of those
        for which there was no room to fork."""
        self.reuses = False
        """Whether processes can be put back here; it is tried before the worker says hello."""
        self.again: dict[int, twins.Again] = {}
        """Process id to process, of those that are used again."""
        self.idle: list[twins.Again] = []
        """Those of them that were put back and have no number."""
        self.announced, self.announce = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        """Where they and their twins say that they are ready."""
        self.refused_s: float | None = None
        """Since when there is none, although no child takes any."""
        # Whatever the caller says: elsewhere, as root, a reset would end the whole machine.
        self.in_container = in_container and 1 in (os.getpid(), os.getppid())
        """Whether all processes that it sees but PID 1 are its own."""
        self.base_bytes = lockdown.address_space_bytes()
        self.prepared = lockdown.Prepared(paths.readable(), paths.stdlib_folder())

    def hello(self) -> None:
        """Tell the host what this worker is."""
        landlock, seccomp = self.probe()
        able = landlock and seccomp and self.prepared.again and again.possible()
        self.reuses = able and self.probe_again()
        facts = {
            "python": sys.version.split()[0],
            "pid_1": self.in_container,
            "landlock": landlock,
            "landlock_abi": self.prepared.landlock_abi,
            "seccomp": seccomp,
            "used_again": self.reuses,
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

    def probe_again(self) -> bool:
        """Whether a process can really be put back here, tried and looked at page by page."""
        with contextlib.suppress(OSError, ValueError, ptrace.Changed):
            one = self.fork_again()
            try:
                poll = select.poll()
                poll.register(self.announced, select.POLLIN)
                while not (one.ready and one.twin) and poll.poll(PROBE_MS):
                    self.hear()
                return one.put_back() and one.is_as_before()
            finally:
                del self.again[one.pid]
                self.end(one.pid)
                one.close()
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(one.pid, 0)
        return False

    def serve(self) -> None:
        """Handle packets until the host closes the control socket.

        Children are reaped in passing: a signal for each end would cost more than all the rest
        of a call here, and mostly the host does not ask.
        """
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        while True:
            killed = len(self.numbers) > len(self.pids)
            idle = not (killed or self.waiting or self.awaited)
            if (idle or poll.poll(PAUSE_MS)) and not self.receive():
                return
            self.reap()
            self.fork_waiting()

    def receive(self) -> bool:
        """Handle one packet; False when the host is gone."""
        data, ancillary, _, _ = self.control.recvmsg(wire.PACKET_BYTES, DESCRIPTOR_BYTES)
        if not data:
            return False
        letter, number, rest = wire.unpack(data)
        if letter in (wire.SPAWN, wire.SPAWN_ONCE):
            for (spent,) in wire.NUMBER.iter_unpack(rest):
                self.dismiss(spent)
            once = letter == wire.SPAWN_ONCE or not self.reuses
            self.waiting[number] = DESCRIPTOR.unpack(ancillary[0][2])[0], once
            self.fork_waiting()
        elif letter == wire.KILL:
            self.dismiss(number)
        elif letter == wire.WAIT:
            self.wait(number)
        elif letter == wire.RESET:
            self.reset({kept for (kept,) in wire.NUMBER.iter_unpack(rest)})
            self.control.send(wire.packet(wire.RESET, number))
        elif letter == wire.PING:
            self.reap()
            alive = wire.NUMBER.pack(1 + self.processes())
            self.control.send(wire.packet(wire.PING, number, alive))
        return True

    def fork_waiting(self) -> None:
        """Fork for those that wait, as far as there is room.

        A call may take it all with threads, and is ended by a packet of the host's: so nothing
        here may wait for room, or end the worker while a call takes it.

        Raises:
            OSError: there was none for `FORK_S` seconds, although no child took any.
        """
        for number, (descriptor, once) in list(self.waiting.items()):
            try:
                pid = self.fork_once(descriptor) if once else self.hand_over(descriptor)
            except OSError:
                now_s = time.monotonic()
                if self.pids or self.refused_s is None:
                    self.refused_s = now_s
                elif now_s - self.refused_s > FORK_S:
                    raise
                return
            self.refused_s = None
            del self.waiting[number]
            os.close(descriptor)
            self.pids[number] = pid
            self.numbers[pid] = number

    def fork_once(self, descriptor: int) -> int:
        """Fork a standby for one call; its process id. Raises OSError where there is no room."""
        pid = lockdown.plain_fork()
        if pid == 0:
            self.become(lambda: standby.serve(descriptor, self.base_bytes, self.prepared))
        return pid

    def hand_over(self, descriptor: int) -> int:
        """Give a connection to a process that was put back, or to a new one; its process id.

        Raises:
            OSError: there is no room for a new one.
        """
        while self.idle:
            one = self.idle.pop()
            with contextlib.suppress(OSError):
                one.hand(descriptor)
                return one.pid
            self.end(one.pid)
        one = self.fork_again()
        try:
            one.hand(descriptor)
        except OSError:
            # It was tried at the start; whatever it is, a process a call does without it.
            self.reuses = False
            self.end(one.pid)
            return self.fork_once(descriptor)
        return one.pid

    def fork_again(self) -> twins.Again:
        """Fork a process for many calls. Raises OSError where there is no room."""
        # What those said who ended must not be taken for what this one says.
        self.hear()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, twins.Image() as image:
            try:
                pid = lockdown.plain_fork()
            except OSError:
                ours.close()
                raise
            if pid == 0:
                feed = theirs.fileno()
                self.become(
                    lambda: again.serve(feed, image.read, image.table, self.announce, self.prepared)
                )
        self.again[pid] = one = twins.Again(pid, ours, image.written, image.table)
        return one

    def become(self, serve: Callable[[], None]) -> NoReturn:
        """In a child: serve, and never return into the zygote's loop."""
        code = wire.FAULT_EXIT_CODE
        try:
            if not self.in_container:
                # In a container the end of PID 1 is the end of all.
                lockdown.die_with_parent()
            serve()
            code = 0
        finally:
            os._exit(code)

    def dismiss(self, number: int) -> None:
        """A standby's call is over: put it back where that can be done, or end it."""
        one = self.again.get(self.pids.get(number, 0))
        if one is None or number in self.awaited or len(self.idle) >= IDLE:
            self.kill(number)
            return
        if not (one.ready and one.twin):
            self.hear()
        try:
            fresh = one.put_back()
        except ptrace.Ended as end:
            self.note_end(end.pid, os.waitstatus_to_exitcode(end.status))
            self.codes.pop(number, None)
            return
        if fresh:
            del self.numbers[one.pid], self.pids[number]
            self.idle.append(one)
        else:
            self.kill(number)

    def hear(self) -> None:
        """Learn who is ready."""
        with contextlib.suppress(BlockingIOError):
            # A pipe gives whole announcements: what is written at once stays together. There are
            # two a fork, and it is read before each: it is never full.
            said = os.read(self.announced, again.READY.size * 512)
            for pid, twin in again.READY.iter_unpack(said):
                if pid in self.again:
                    self.again[pid].ready |= twin == 0
                    self.again[pid].twin = twin or self.again[pid].twin

    def processes(self) -> int:
        """How many there are beside this one, as far as it knows."""
        self.hear()
        twins_ready = sum(one.twin is not None for one in self.again.values())
        return len(self.numbers) + len(self.idle) + twins_ready

    def kill(self, number: int) -> None:
        """End a standby and its process group; one that already ended is no error.

        How it ended is forgotten, unless the host waits for it.
        """
        self.codes.pop(number, None)
        if number in self.waiting:
            os.close(self.waiting.pop(number)[0])
            if number in self.awaited:
                self.tell_end(number, -signal.SIGKILL)
        pid = self.pids.pop(number, None)
        if pid is not None:
            self.end(pid)

    def end(self, pid: int) -> None:
        """End a process and its group, in which its twin is."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)

    def wait(self, number: int) -> None:
        """Report a standby's end, at once or when it comes."""
        if number in self.pids or number in self.waiting:
            self.awaited.add(number)
        else:
            self.tell_end(number, self.codes.pop(number, -signal.SIGKILL))

    def reset(self, kept: Set[int] = frozenset()) -> None:
        """Kill and reap all standbys but those `kept`.

        With none kept, in a container, it kills every process there is but PID 1: also one that
        it does not know.
        """
        if self.in_container and not kept:
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        for number in (self.pids.keys() | self.waiting.keys()) - kept:
            self.dismiss(number) if kept else self.kill(number)
        while self.idle and not kept:
            self.end(self.idle.pop().pid)
        while self.numbers.keys() - self.pids.values():
            self.reap(0)
        self.codes.clear()
        self.awaited.clear()

    def reap(self, options: int = os.WNOHANG) -> None:
        """Take the ends of children: all that have ended, or with options 0 the next one."""
        while self.numbers:
            pid, status = os.waitpid(-1, options)
            if pid == 0:
                return
            self.note_end(pid, os.waitstatus_to_exitcode(status))
            if not options:
                return

    def note_end(self, pid: int, exit_code: int) -> None:
        """Report an end that is waited for, or keep it for when it is asked after."""
        if pid in self.again:
            one = self.again.pop(pid)
            one.close()
            if one in self.idle:
                self.idle.remove(one)
        # Orphans adopted by PID 1 have no number.
        number = self.numbers.pop(pid, None)
        if number is None:
            return
        killed = self.pids.pop(number, None) is None
        if number in self.awaited:
            self.tell_end(number, exit_code)
        elif not killed:
            self.codes[number] = exit_code

    def tell_end(self, number: int, exit_code: int) -> None:
        """Report how a standby ended. A host that is gone is no error."""
        self.awaited.discard(number)
        with contextlib.suppress(OSError):
            self.control.send(wire.packet(wire.EXIT, number, wire.STATUS.pack(exit_code)))


def connect(arguments: list[str]) -> socket.socket:
    """The control socket that the command line names."""
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
    lockdown.hide()
    lockdown.no_new_privileges()
    lockdown.drop_capabilities()
    lockdown.small_pages()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        # Calls inherit these: what they print goes nowhere.
        os.dup2(null, standard)
    os.close(null)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
