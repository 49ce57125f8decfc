"""Putting a process back to what it was before it saw any code, from a twin that never ran.

The zygote does this to its own children, with ptrace, when their call is over. It reads nothing
that untrusted code wrote: of the process it looks at its size, at how often it had to be given a
page, and at which pages are its own.

A process and its twin were one until the fork between them. From there on a page can only differ
if one of the two has written to it, and then that one alone maps it: the kernel says of each page
whether one process does (`/proc/<pid>/pagemap`, bit 56). All such pages are written anew with what
the twin has there. Their content and their places lie in an *image*, a file in memory that the
process can read and cannot write, so that one kernel call of the process itself, which the zygote
makes it make, fetches them all: `preadv`, 0.1 ms for 1.3 MB. (What writes into another process's
memory is closed by the default profile of Docker before 23, or takes 3 µs a page.) Then the
registers are put back, and nothing else is left: the process could make no kernel call that leaves
anything (`sandbox.worker.seccomp.narrow`), except that its stack may have grown, which shows in
its size.

Whatever is not as it should be ends the process. Another one is forked, and that is all it costs.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import resource
import socket
import struct
import time

from sandbox.worker import pages, ptrace, seccomp
from sandbox.worker.ptrace import Changed, Ended, Registers

MOST_PAGES, MOST_PIECES = 1024, 1024
"""More than that is not put back. A call that writes to so many pages is dearer than a fork, and
so many pieces are all that one kernel call takes (UIO_MAXIOV)."""
TABLE_BYTES = MOST_PIECES * 16
"""Beginning of the image: address and length of each piece. Their content follows."""
CPU_S = 2
"""Processor time that a call may take in a process that is used again; it is counted in whole
seconds, so it may be one less. A program that takes longer runs in a standby of its own."""
TRIES, TRY_S = 50, 0.001
"""How often, and how long after, it is tried to find a twin waiting."""
SMALL_PAGES = 8
"""Writable parts of no more pages, of which each library has one, are put back unseen."""

_RECVMSG, _PREADV = 47, 295
_SIOCOUTQ = 0x5411
"""Asks a socket how much of what it sent was not read yet."""
_SYSCALL = b"\x0f\x05"
"""The instruction of a kernel call."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
)  # fmt: skip
_libc.ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class Image:
    """What a process is put back from, made before it is forked.

    The context is the fork: after it, only the process has the table in its memory.
    """

    def __init__(self) -> None:
        """Make an empty one. Raises OSError where there is no room."""
        with contextlib.ExitStack() as undo:
            self.written = os.memfd_create("image", os.MFD_CLOEXEC)
            """Descriptor for the zygote, which keeps it."""
            undo.callback(os.close, self.written)
            os.ftruncate(self.written, TABLE_BYTES)
            self.read = os.open(f"/proc/self/fd/{self.written}", os.O_RDONLY | os.O_CLOEXEC)
            """Descriptor for the process, which cannot write through it."""
            undo.callback(os.close, self.read)
            place = _libc.mmap(None, TABLE_BYTES, mmap.PROT_READ, mmap.MAP_SHARED, self.read, 0)
            if place is None or place == ctypes.c_void_p(-1).value:
                raise OSError(ctypes.get_errno(), "no room for an image's table")
            self.table: int = place
            """Address of the table."""
            undo.pop_all()

    def __enter__(self) -> Image:
        return self

    def __exit__(self, *exc: object) -> None:
        _libc.munmap(self.table, TABLE_BYTES)
        os.close(self.read)
        if exc[0] is not None:
            os.close(self.written)


def _waiting(twin: int) -> list[int]:
    """Stop a twin where it waits for a connection; its general registers.

    It says that it is ready a moment before it does wait.

    Raises:
        OSError, Changed: it is not there.
    """
    for _ in range(TRIES):
        ptrace.stop(twin)
        general = ptrace.general(twin)
        if general[ptrace.ORIG_RAX] == _RECVMSG:
            return general
        ptrace.go_on(twin)
        time.sleep(TRY_S)
    raise Changed


class _Twin:
    """A twin, stopped for good: what its process is put back to."""

    def __init__(self, pid: int, memory: int, image: int, table: int) -> None:
        """Stop the twin `pid`.

        Args:
            pid: its process id.
            memory: descriptor of its memory.
            image: descriptor of the image, open for writing.
            table: where the image's table is in the memory of process and twin.

        Raises:
            OSError, Changed: it cannot be used.
        """
        general = _waiting(pid)
        self.maps = pages.read(f"/proc/{pid}/maps")
        self.size = pages.mapped(pages.read(f"/proc/{pid}/statm"))
        self._memory, self._image = memory, image
        self._known: set[int] = set()
        self._pieces = self._bytes = 0
        self._table = b""
        at = general[ptrace.RIP] - len(_SYSCALL)
        if os.pread(self._memory, len(_SYSCALL), at) != _SYSCALL:
            raise Changed
        self._after = general[ptrace.RIP]
        self._identification = general[ptrace.EFLAGS] & ptrace.ID_FLAG
        self._waiting = (
            Registers(ptrace.GENERAL, ptrace.LAYOUT.pack(*general)),
            Registers(ptrace.VECTORS, ptrace.registers(pid, ptrace.VECTORS)),
        )
        # The same place in the code, but about to make another call.
        general[ptrace.RIP], general[ptrace.RAX] = at, _PREADV
        general[ptrace.ORIG_RAX] = ptrace.NO_CALL
        general[ptrace.RDI], general[ptrace.RSI] = seccomp.IMAGE, table
        general[ptrace.R10], general[ptrace.R8] = TABLE_BYTES, 0
        self._fetching = general

    def learn(self, addresses: set[int]) -> None:
        """Add pages to those that are put back. Raises Changed where they become too many."""
        new = sorted(addresses - self._known)
        runs: list[tuple[int, int]] = []
        for address in new:
            if runs and sum(runs[-1]) == address:
                runs[-1] = (runs[-1][0], runs[-1][1] + pages.PAGE_BYTES)
            else:
                runs.append((address, pages.PAGE_BYTES))
        known = self._known | addresses
        if len(known) > MOST_PAGES or self._pieces + len(runs) > MOST_PIECES:
            raise Changed
        for first, length in runs:
            content = os.pread(self._memory, length, first)
            if len(content) != length:
                raise Changed
            if os.pwrite(self._image, content, TABLE_BYTES + self._bytes) != length:
                raise Changed
            self._table += struct.pack("=QQ", first, length)
            self._bytes += length
            self._pieces += 1
        self._known = known
        self._fetching[ptrace.RDX] = self._pieces
        self._fetch = Registers(ptrace.GENERAL, ptrace.LAYOUT.pack(*self._fetching))

    def impose(self, pid: int) -> int:
        """Give a stopped process this one's pages and registers, and let it go on.

        Returns:
            How often it has been given a page until now.

        Raises:
            OSError, Changed: it is not put back.
        """
        os.pwrite(self._image, self._table, 0)
        self._fetch.give(pid)
        faults = ptrace.step(pid)
        # The table tells what calls have written to: it is there while it is needed.
        os.pwrite(self._image, bytes(len(self._table)), 0)
        now = ptrace.general(pid)
        if now[ptrace.RAX] != self._bytes or now[ptrace.RIP] != self._after:
            # Code can have the kernel go elsewhere as a process is stopped (rseq).
            raise Changed
        if now[ptrace.EFLAGS] & ptrace.ID_FLAG != self._identification:
            # The one flag that a program can set and the kernel does not let be given back.
            raise Changed
        for registers in self._waiting:
            registers.give(pid)
        ptrace.go_on(pid)
        return faults


class Again:
    """A process that is used again, as the zygote knows it."""

    def __init__(self, pid: int, feed: socket.socket, image: int, table: int) -> None:
        """Take over a child that runs `sandbox.worker.again`.

        Args:
            pid: its process id.
            feed: our end of where it gets connections from.
            image: descriptor of its image, open for writing.
            table: where the image's table is in its memory.
        """
        self.pid = pid
        self.ready = False
        """Whether it has said that it is, so that it has given up what it is to give up."""
        self.twin: int | None = None
        """Process id of its twin, once that has said so too."""
        self._feed, self._image, self._table = feed, image, table
        # The clock of a process's processor time (see clock_getcpuclockid).
        self._clock = ~pid << 3 | 2
        self._met: tuple[_Twin, pages.Watched, int] | None = None
        self._faults = -1
        self._unread = ctypes.c_int()
        self._incoming = f"/proc/{pid}/fd/{seccomp.INCOMING}"
        self._held = [image]
        """Descriptors to close in the end."""

    def close(self) -> None:
        """Close what is held of it. It ends by itself if it still waits."""
        self._feed.close()
        while self._held:
            os.close(self._held.pop())

    def hand(self, descriptor: int) -> None:
        """Have it answer on a connection. Raises OSError where it has ended, or may not."""
        limit_s = int(time.clock_gettime(self._clock)) + CPU_S
        _, most_s = resource.getrlimit(resource.RLIMIT_CPU)
        if most_s != resource.RLIM_INFINITY and limit_s > most_s:
            raise OSError(errno.EAGAIN, "it has used its processor time up")
        resource.prlimit(self.pid, resource.RLIMIT_CPU, (limit_s, most_s))
        socket.send_fds(self._feed, [b"."], [descriptor])

    def put_back(self) -> bool:
        """Make it what it was before it saw any code; False where it is to be ended instead.

        Raises:
            Ended: it has ended, and this has reaped it.
        """
        if self.twin is None or not self.ready:
            return False
        try:
            twin, watched, size = self._met = self._met or self._meet(self.twin)
            faults = ptrace.stop(self.pid)
            if self._is_between() or pages.mapped(os.pread(size, 64, 0)) != twin.size:
                return False
            # A page becomes its own when it is given to it, at the first write, and not else.
            if faults != self._faults:
                twin.learn(watched.own())
            self._faults = twin.impose(self.pid)
        except Ended as end:
            if end.pid == self.pid:
                raise
            return False
        except (OSError, Changed):
            return False
        return True

    def _is_between(self) -> bool:
        """Whether it has not yet taken the connection that it was handed."""
        failed = _libc.ioctl(self._feed.fileno(), _SIOCOUTQ, ctypes.byref(self._unread))
        return bool(failed or self._unread.value) or os.access(self._incoming, os.F_OK)

    def _meet(self, pid: int) -> tuple[_Twin, pages.Watched, int]:
        """Stop the twin for good, and learn what it is."""
        twin = _Twin(pid, self._open(pid, "mem"), self._image, self._table)
        if pages.read(f"/proc/{self.pid}/maps") != twin.maps:
            raise Changed
        parts = pages.writable(twin.maps)
        large = [part for part in parts if part[1] - part[0] > SMALL_PAGES * pages.PAGE_BYTES]
        small = (range(*part, pages.PAGE_BYTES) for part in parts if part not in large)
        own = pages.Watched(self._open(pid, "pagemap"), large).own()
        twin.learn(own.union(*small))
        watched = pages.Watched(self._open(self.pid, "pagemap"), large)
        return twin, watched, self._open(self.pid, "statm")

    def _open(self, pid: int, name: str) -> int:
        """A file that the kernel has about a process, until `close`."""
        self._held.append(os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC))
        return self._held[-1]

    def is_as_before(self) -> bool:
        """Whether all that it could write to is what its twin has; it is stopped for that."""
        if self._met is None or self.twin is None:
            return False
        ptrace.stop(self.pid)
        base = ptrace.general(self.pid)[ptrace.FS_BASE]
        parts = pages.writable(self._met[0].maps)
        return pages.same((self.pid, self.twin), parts, base)
