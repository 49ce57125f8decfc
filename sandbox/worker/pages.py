"""What the kernel says of the pages of another process's memory."""

from __future__ import annotations

import array
import contextlib
import ctypes
import mmap
import os
from typing import TypeAlias

from sandbox.worker.ptrace import Changed

PAGE_BYTES = mmap.PAGESIZE
Parts: TypeAlias = list[tuple[int, int]]
"""First and last address of parts of a process's memory."""

_CHUNK = 512
"""Bytes of the page map that are compared at a time."""
_OWN, _SWAPPED = 1 << 63 | 1 << 56, 1 << 62
"""Of a page in the page map: there and mapped by this process alone; not there but written out."""
_THERE = 1 << 63 | _SWAPPED
_RSEQ_BYTES = 32


def read(path: str) -> bytes:
    """A file of /proc. Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        chunks = []
        while chunk := os.read(file, 1 << 16):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(file)


def mapped(statm: bytes) -> int:
    """How many pages there is room for in a process's memory, from /proc/<pid>/statm."""
    return int(statm.split()[0])


def writable(maps: bytes) -> Parts:
    """The parts that a program can write to, from /proc/<pid>/maps.

    Raises:
        Changed: one of them is shared with other processes.
    """
    found = []
    for line in maps.splitlines():
        span, rights = line.split(maxsplit=2)[:2]
        if b"w" in rights:
            if rights[3:] != b"p":
                raise Changed
            first, last = span.split(b"-")
            found.append((int(first, 16), int(last, 16)))
    return found


def _own_pages(first: int, entries: bytes, before: bytes) -> list[int]:
    """Addresses of the pages that no other process maps, where `entries` differs from `before`."""
    found = []
    for at in range(0, len(entries), _CHUNK):
        piece = entries[at : at + _CHUNK]
        if piece != before[at : at + _CHUNK]:
            for place, entry in enumerate(array.array("Q", piece), at // 8):
                if entry & _OWN == _OWN or entry & _SWAPPED:
                    found.append(first + place * PAGE_BYTES)
    return found


class Watched:
    """A process's pages in parts of its memory, looked at again and again."""

    def __init__(self, page_map: int, parts: Parts) -> None:
        """Begin to watch, by a descriptor of the process's page map."""
        self._file, self._parts = page_map, parts
        self._seen = [b""] * len(parts)

    def own(self) -> set[int]:
        """Addresses of the pages that it alone maps, at least of those new since the last look.

        Raises:
            Changed: the page map is cut short.
        """
        found: set[int] = set()
        for place, (first, last) in enumerate(self._parts):
            size = (last - first) // PAGE_BYTES * 8
            entries = os.pread(self._file, size, first // PAGE_BYTES * 8)
            if len(entries) != size:
                raise Changed
            found.update(_own_pages(first, entries, self._seen[place]))
            self._seen[place] = entries
        return found


def same(pids: tuple[int, int], parts: Parts, base: int) -> bool:
    """Whether two stopped processes have the same in parts of their memory.

    But for the number of the processor that each ran on last, which the kernel writes there.

    Args:
        pids: of the processes.
        parts: of their memory.
        base: of their thread's own data (register FS).

    Raises:
        OSError: their memory cannot be read.
    """
    own = base + _rseq_offset()
    with contextlib.ExitStack() as files:
        (maps, one), (other_maps, two) = (_opened(pid, files) for pid in pids)
        for first, last in parts:
            size, at = (last - first) // PAGE_BYTES * 8, first // PAGE_BYTES * 8
            entries = (array.array("Q", os.pread(file, size, at)) for file in (maps, other_maps))
            for page, (a, b) in enumerate(zip(*entries, strict=True), first // PAGE_BYTES):
                # What neither has got yet is the same for both.
                if (a | b) & _THERE and not _same_page(one, two, page * PAGE_BYTES, own):
                    return False
    return True


def _opened(pid: int, files: contextlib.ExitStack) -> tuple[int, int]:
    """A process's page map and memory."""
    found = []
    for name in ("pagemap", "mem"):
        found.append(os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC))
        files.callback(os.close, found[-1])
    return found[0], found[1]


def _same_page(one: int, two: int, at: int, own: int) -> bool:
    """Whether two memories have the same at `at`, but for what is the kernel's at `own`."""
    a, b = os.pread(one, PAGE_BYTES, at), os.pread(two, PAGE_BYTES, at)
    place = own - at
    blank = slice(place, place + _RSEQ_BYTES)
    return a == b or (0 <= place < PAGE_BYTES and _without(a, blank) == _without(b, blank))


def _without(content: bytes, blank: slice) -> bytes:
    return content[: blank.start] + content[blank.stop :]


def _rseq_offset() -> int:
    """Where, from the thread's base, the C library lets the kernel write (rseq, glibc 2.35)."""
    try:
        return ctypes.c_ssize_t.in_dll(ctypes.CDLL(None), "__rseq_offset").value
    except ValueError:
        return 0
