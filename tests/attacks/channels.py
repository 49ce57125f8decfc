"""Measures how fast two concurrent calls can signal to each other, in bits a second.

    python -m tests.attacks.channels process|docker [WORD ...] [--bits 100] [--rate 20] [--open]

Two workers, one call each, agree on a start by the clock, and on a slot a bit. Prints of each way
how many bits came right, and what that is worth: the capacity of a binary symmetric channel with
that share of errors. A way that is closed ends with what refused it, or has about half of its bits
right. With words, only the ways in whose names one of them stands; with `--open`, only those that
a step of the hardening closes, measured without that step. The last figure of a line is the
machine's load when the way was tried.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import anyio

from tests.attacks.sabotage import ContainerWithout, Without
from tests.attacks.steps import CONTAINER, Step, steps
from tests.attacks.suite import MAKERS
from toolhop_sandbox.base import Limits, Program, Session
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_sandbox.pool import PooledSandbox

KNOWN = [1, 0] * 8
"""Bits sent ahead, from which the receiver learns what a 1 looks like."""
COMMON = """
import ctypes, os, threading, time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
libc.mmap.restype = ctypes.c_void_p
PAGE = ctypes.cast(libc.puts, ctypes.c_void_p).value & ~4095
WORD = ctypes.c_uint32.from_address(PAGE).value
X86 = os.uname().machine == "x86_64"
FUTEX, TGKILL, SYSINFO = (202, 234, 99) if X86 else (98, 131, 179)
SET_TID_ADDRESS = 218 if X86 else 96
# Else a few threads take all the address space.
threading.stack_size(65536)
libc.mallopt(-8, 1)

def must(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def thread_that_ends(at):
    def run():
        must(libc.syscall(SET_TID_ADDRESS, ctypes.c_void_p(at)))
    # A bare thread: its end is the kernel's wake at the address.
    one = threading.Thread(target=run)
    one.start()
    one.join()

def near():
    mine = os.getpid()
    return [pid for pid in range(max(1, mine - 300), mine + 300) if pid != mine]

def each_of(pids, ask):
    found = []
    for pid in pids:
        try:
            found.append(ask(pid))
        except OSError as error:
            if error.errno not in (2, 3, 22):
                raise
            found.append(0)
    return found

def wait(until):
    while (left := until - time.time()) > 0:
        time.sleep(left)

def send(bits, start, slot):
    for number, bit in enumerate(bits):
        wait(start + number * slot)
        if bit:
            one(start + (number + 1) * slot, slot)

def receive(count, start, slot):
    begin()
    found = []
    for number in range(count):
        found.append(look(start + number * slot, slot))
    return found

def begin():
    pass
"""
FRESH = """
import itertools

FILE = os.open(__import__("_ctypes").__file__, os.O_RDONLY)
BASE = libc.mmap(ctypes.c_void_p(None), ctypes.c_size_t(100 << 20), 0, 34, -1, ctypes.c_long(0))
libc.munmap(ctypes.c_void_p(BASE), ctypes.c_size_t(100 << 20))
PLACES = itertools.product(range(1, 100), range(BASE, BASE + (99 << 20), 4096))

def fresh():
    # The number of a file in /proc that nobody looked at before: that of a mapping.
    for pages, place in PLACES:
        at, size = ctypes.c_void_p(place), ctypes.c_size_t(pages * 4096)
        if libc.mmap(at, size, 1, 0x100002, FILE, ctypes.c_long(0)) == place:
            break
    number = os.lstat(f"/proc/self/map_files/{place:x}-{place + pages * 4096:x}").st_ino
    libc.munmap(at, size)
    return number
"""
FUTEX_WAITS = """
class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

def look(start, slot):
    wait(start)
    left = max(start + 0.9 * slot - time.time(), 0.001)
    soon = ctypes.byref(Time(0, int(left * 1e9)))
    found = libc.syscall(FUTEX, ctypes.c_void_p(PAGE), 0, WORD, soon)
    if found < 0 and ctypes.get_errno() not in (110, 4):
        must(found)
    return [int(found == 0)]
"""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to talk: what sends a 1 in a slot, and what the receiver measures in each."""

    name: str
    one: str
    look: str
    closed_by: tuple[str, ...] = ()
    """Keys of `steps` without which it is open."""


def _after(measure: str) -> str:
    """A receiver that measures what a slot changed."""
    return f"""
def measure():
{measure}

def begin():
    global last, PIDS
    last, PIDS = None, near()

def look(start, slot):
    global last
    if last is None:
        wait(start)
        last = measure()
    wait(start + 0.95 * slot)
    before, last = last, measure()
    return [now - old for old, now in zip(before, last)]
"""


WAYS = (
    Way(
        "futex on a page of libc",
        """
def one(end, slot):
    wait(end - 0.7 * slot)
    must(libc.syscall(FUTEX, ctypes.c_void_p(PAGE), 1, 100))
""",
        FUTEX_WAITS,
        ("seccomp: futex",),
    ),
    Way(
        "futex on a page of libc, woken by the end of a thread",
        """
def one(end, slot):
    wait(end - 0.7 * slot)
    thread_that_ends(PAGE)
""",
        FUTEX_WAITS,
        ("seccomp: futex",),
    ),
    Way(
        "processor time of others",
        """
def one(end, slot):
    while time.time() < end - 0.2 * slot:
        pass
""",
        _after("""
    return each_of(PIDS, lambda pid: time.clock_gettime_ns((~pid << 3) | 2))
"""),
        ("seccomp: clock_gettime",),
    ),
    Way(
        "numbers of pipes",
        """
def one(end, slot):
    while time.time() < end - 0.3 * slot:
        for _ in range(50):
            for each in os.pipe():
                os.close(each)
""",
        _after("""
    most = 0
    for _ in range(1100):
        ends = os.pipe()
        most = max(most, os.fstat(ends[0]).st_ino)
        for each in ends:
            os.close(each)
    return [most]
"""),
    ),
    Way(
        "numbers of files in /proc",
        f"""{FRESH}
def one(end, slot):
    while time.time() < end - 0.3 * slot:
        for _ in range(50):
            fresh()
""",
        FRESH
        + _after("""
    most = 0
    for _ in range(1100):
        most = max(most, fresh())
    return [most]
"""),
    ),
    Way(
        "threads of the machine, by sysinfo",
        """
def one(end, slot):
    gone = threading.Event()
    ready = [threading.Thread(target=gone.wait) for _ in range(20)]
    for each in ready:
        each.start()
    wait(end - 0.02 * slot)
    gone.set()
""",
        """
def look(start, slot):
    wait(start + 0.8 * slot)
    found = ctypes.create_string_buffer(128)
    must(libc.syscall(SYSINFO, found))
    return [int.from_bytes(found.raw[80:82], "little")]
""",
        ("seccomp: counts of the machine",),
    ),
    Way(
        "threads of a process, by stat of /proc",
        """
def one(end, slot):
    gone = threading.Event()
    ready = [threading.Thread(target=gone.wait) for _ in range(20)]
    for each in ready:
        each.start()
    wait(end - 0.02 * slot)
    gone.set()
""",
        """
def begin():
    global PIDS
    PIDS = near()

def look(start, slot):
    wait(start + 0.6 * slot)
    return each_of(PIDS, lambda pid: os.stat(f"/proc/{pid}/task").st_nlink)
""",
    ),
    Way(
        "numbers of threads",
        """
def one(end, slot):
    for _ in range(40):
        each = threading.Thread(target=int)
        each.start()
        each.join()
""",
        _after("""
    numbers = []
    each = threading.Thread(target=lambda: numbers.append(threading.get_native_id()))
    each.start()
    each.join()
    return numbers
"""),
    ),
    Way(
        "signals that wait",
        """
import signal

def one(end, slot):
    ready = []
    def hold():
        signal.pthread_sigmask(signal.SIG_BLOCK, [40])
        me = threading.get_native_id()
        while libc.syscall(TGKILL, os.getpid(), me, 40) == 0 and time.time() < end - 0.6 * slot:
            pass
        wait(end - 0.1 * slot)
    each = threading.Thread(target=hold)
    each.start()
    each.join()
""",
        """
import signal

def begin():
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])

def look(start, slot):
    wait(start + 0.7 * slot)
    full = libc.syscall(TGKILL, os.getpid(), threading.get_native_id(), 40) < 0
    while not full and libc.sigtimedwait(SET, None, ZERO) > 0:
        pass
    return [int(full)]

SET, ZERO = (ctypes.c_ulong * 16)(1 << 39), (ctypes.c_long * 2)()
""",
        ("standby: queued signals", "container: limits of a process"),
    ),
    Way(
        "time that computing takes",
        """
def one(end, slot):
    def burn():
        while time.time() < end - 0.1 * slot:
            pass
    threads = [threading.Thread(target=burn) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
""",
        """
def look(start, slot):
    wait(start + 0.1 * slot)
    begun, turns = time.process_time(), 0
    while time.time() < start + 0.8 * slot:
        turns += 1
    return [-turns]
""",
    ),
)


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one way."""

    right: int
    sent: int
    refused: str = ""
    """What a call said that could not send or receive."""

    def bits_per_s(self, rate: float) -> float:
        """Capacity at `rate` slots a second of a binary symmetric channel with these errors."""
        wrong = 1 - self.right / self.sent
        if self.refused or wrong >= 0.5:
            return 0.0
        spread = sum(-part * math.log2(part) for part in (wrong, 1 - wrong) if part)
        return rate * (1 - spread)


def _pool(kind: str, out: Sequence[Step]) -> PooledSandbox:
    if not out:
        return MAKERS[kind]("none")
    launcher = Without(out=tuple(out)) if kind == "process" else ContainerWithout(out=tuple(out))
    return PooledSandbox(launcher, policy="none")


async def talk(
    kind: str, way: Way, *, bits: int, rate: float, left_out: Sequence[str] = ()
) -> Heard:
    """Send random bits from one worker to another, in sandboxes without the steps `left_out`."""
    everything = steps()
    out = [everything[key] for key in left_out]
    with ExitStack() as undo:
        for step in out:
            undo.enter_context(step.patch())
        return await _talk(_pool(kind, out), way, bits=bits, rate=rate)


async def _talk(sandbox: PooledSandbox, way: Way, *, bits: int, rate: float) -> Heard:
    chance, slot_s = random.Random(7), 1 / rate
    sent = KNOWN + chance.sample([0, 1] * ((bits + 1) // 2), bits)
    sender = Program(f"{COMMON}\n{way.one}", "send")
    receiver = Program(f"{COMMON}\n{way.look}", "receive")
    ended: dict[str, Outcome] = {}

    async def run(session: Session, program: Program, arguments: dict[str, JSON]) -> None:
        ended[program.function] = await session.call(program, arguments)

    async with sandbox as pool:
        pool.limits = Limits(wall_s=len(sent) * slot_s + 20)
        async with (
            pool.session([sender]) as first,
            pool.session([receiver]) as second,
            anyio.create_task_group() as tasks,
        ):
            start_s = time.time() + 1
            timing: dict[str, JSON] = {"start": start_s, "slot": slot_s}
            each: list[JSON] = [*sent]
            tasks.start_soon(run, first, sender, {**timing, "bits": each})
            tasks.start_soon(run, second, receiver, {**timing, "count": len(sent)})
    for said in ended.values():
        if not isinstance(said, Returned):
            return Heard(0, bits, str(said))
    told = ended["receive"]
    assert isinstance(told, Returned)
    return Heard(_right(sent, json.loads(told.json_text)), bits)


def _right(sent: Sequence[int], measured: Sequence[Sequence[float]]) -> int:
    """How many bits after the known ones are told rightly.

    By the measure that tells most of the known ones, and a threshold between their medians.
    """
    known = len(KNOWN)
    heard = [_told(KNOWN, series) for series in zip(*measured, strict=True)]
    best = max(heard, key=lambda told: sum(map(int.__eq__, told, KNOWN)))
    return sum(map(int.__eq__, best[known:], sent[known:]))


def _told(ahead: Sequence[int], series: Sequence[float]) -> list[int]:
    """The bits of one measure."""
    one, zero = (
        statistics.median(found for bit, found in zip(ahead, series, strict=False) if bit == told)
        for told in (1, 0)
    )
    return [int((found > (one + zero) / 2) == (one >= zero)) for found in series]


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description="Measure how fast two calls can talk.")
    parser.add_argument("kind", choices=sorted(MAKERS))
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--bits", type=int, default=100)
    parser.add_argument("--rate", type=float, default=20.0, help="bits sent a second")
    parser.add_argument("--open", action="store_true", help="without the step that closes a way")
    chosen = parser.parse_args()
    for way in WAYS:
        named = not chosen.words or any(word in way.name for word in chosen.words)
        if named and (way.closed_by or not chosen.open):
            out = [
                key
                for key in way.closed_by
                if chosen.open and (chosen.kind == "docker" or not key.startswith(CONTAINER))
            ]
            load = os.getloadavg()[0]
            heard = anyio.run(
                partial(talk, chosen.kind, way, bits=chosen.bits, rate=chosen.rate, left_out=out)
            )
            told = f"{heard.right} of {heard.sent}, {heard.bits_per_s(chosen.rate):.1f} bits/s"
            sys.stdout.write(f"{way.name}: {heard.refused or told}; load {load:.1f}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
