"""The privileges that a process gives up before it touches untrusted code.

Every step has a name and is listed in one of three tables, in order of execution: `WORKER_STEPS`
run once in the zygote, for it and everything that it forks; `STEPS` run in each standby before a
call arrives, so that they do not delay the call; `USE_STEPS` run when the program's limits are
known. Whatever does not depend on the standby is prepared in the zygote (`Prepared`).

The cost per standby, on a 2-core machine: rlimits 20 µs, Landlock 130, seccomp 400 (350 even with a
program of one instruction, as the kernel runs it for every call number upon installation).
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct

from toolhop_sandbox.worker import landlock, seccomp

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
CONNECTION = 3
"""Descriptor of a standby's connection, whatever its number in the zygote."""
MOST_DESCRIPTORS = 24
"""Maximum number of open descriptors of a call."""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> bool:
    return result == 0


def die_with_parent() -> bool:
    """Let the kernel kill this process when its parent ends."""
    return _check(_libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0))


# --- in the zygote


def hide() -> bool:
    """Give `/proc/<pid>/mem` and `/proc/<pid>/fd` to root, and forbid tracing (dumpable 0).

    Without this step a tool wrote a forged frame through `/proc/1/fd` and read the zygote's memory.
    """
    return _check(_libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))


def no_new_privileges() -> bool:
    """Give up set-uid programs, as Landlock and seccomp require."""
    return _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


_CAPABILITIES_VERSION = 0x20080522
_READ_SEARCH = 1 << 2
"""CAP_DAC_READ_SEARCH, which lets root read a Python in a home folder that is closed to others.
Landlock decides what may be read at all."""


def drop_capabilities() -> bool:
    """Give up all of root's capabilities except reading files that are closed to others.

    Some capabilities need no system call that seccomp rejects: raising one's own limits, or
    reporting a page to the kernel as broken.
    """
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    # A process without that capability cannot keep it, so it keeps none.
    return any(
        _check(_libc.capset(header, struct.pack("=6I", kept, kept, 0, 0, 0, 0)))
        for kept in (_READ_SEARCH, 0)
    )


def silence() -> bool:
    """Connect standard input, output and error to /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
    return True


WORKER_STEPS = (
    ("not dumpable", hide),
    ("no new privileges", no_new_privileges),
    ("no capabilities", drop_capabilities),
    ("no standard streams", silence),
)


# --- in each standby


class Prepared:
    """Resources prepared in the zygote, which a standby only has to apply."""

    def __init__(self, readable: tuple[str, ...], listed: str) -> None:
        """Build the ruleset and the seccomp program.

        Args:
            readable: files, and folders of files, that stay readable.
            listed: folder below which names can be listed, as imports need.
        """
        self.ruleset = landlock.ruleset(readable, listed)
        """Descriptor of the Landlock ruleset; None if there is none."""
        program = seccomp.program(platform.machine(), seccomp.OWN_PID) or b""
        self.filter = ctypes.create_string_buffer(program, len(program))
        """The seccomp program; empty if there is none."""
        wanted = struct.pack("=I", seccomp.OWN_PID)
        # An instruction has 8 bytes, the last 4 are its operand.
        self.pid_at = [at for at in range(4, len(program), 8) if program[at : at + 4] == wanted]
        """Offsets in the program where the process's own id belongs."""
        self.connection = CONNECTION

    def lock(self, connection: int) -> list[bool]:
        """Take `STEPS` and return which succeeded. Afterwards the connection is at `CONNECTION`."""
        self.connection = connection
        return [take(self) for _, take in STEPS]


def give_up_files(prepared: Prepared) -> bool:
    """Apply the Landlock ruleset."""
    return prepared.ruleset is not None and landlock.restrict(prepared.ruleset)


def lead_a_session(_: Prepared) -> bool:
    """Start a new session and process group, which can be killed as a whole."""
    os.setsid()
    return True


def place_connection(prepared: Prepared) -> bool:
    """Move the connection to `CONNECTION`, replacing the zygote's descriptor there."""
    if prepared.connection != CONNECTION:
        os.dup2(prepared.connection, CONNECTION)
    return True


def close_descriptors(prepared: Prepared) -> bool:
    """Close every descriptor above 2 except the connection, notably the zygote's control socket."""
    place_connection(prepared)
    os.closerange(CONNECTION + 1, 256)
    return True


def _limit(which: int, most: int) -> bool:
    resource.setrlimit(which, (most, most))
    return True


def filter_calls(prepared: Prepared) -> bool:
    """Apply the seccomp program (`toolhop_sandbox.worker.seccomp`)."""
    program = prepared.filter
    if not len(program):
        return False
    for place in prepared.pid_at:
        struct.pack_into("=I", program, place, os.getpid())
    # The kernel copies both before the call returns.
    described = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(program))
    return _check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described, 0, 0))


STEPS = (
    ("own session", lead_a_session),
    ("landlock", give_up_files),
    ("descriptors", close_descriptors),
    ("file size", lambda _: _limit(resource.RLIMIT_FSIZE, 0)),
    ("open files", lambda _: _limit(resource.RLIMIT_NOFILE, MOST_DESCRIPTORS)),
    # With a limit of 0 the kernel may still pipe a core to a program, but not with 1 (core(5)).
    ("core dumps", lambda _: _limit(resource.RLIMIT_CORE, 1)),
    ("locked memory", lambda _: _limit(resource.RLIMIT_MEMLOCK, 0)),
    # All of a user's processes share this count, so one that fills it up affects others.
    ("queued signals", lambda _: _limit(resource.RLIMIT_SIGPENDING, 0)),
    ("seccomp", filter_calls),
)


# --- when the limits of a program are known


def _limit_memory(memory_bytes: int, _: int) -> None:
    _limit(resource.RLIMIT_AS, memory_bytes)


def _limit_time(_: int, cpu_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))


USE_STEPS = (("memory", _limit_memory), ("processor time", _limit_time))


def limit_use(memory_bytes: int, cpu_s: int) -> None:
    """Limit address space and processor time: a signal at `cpu_s`, a kill one second later."""
    for _, take in USE_STEPS:
        take(memory_bytes, cpu_s)


# --- what the zygote forks with


def address_space_bytes() -> int:
    """Return this process's address space in bytes (statm counts pages)."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 -- pathlib costs the zygote memory
        return int(file.read().split()[0]) * resource.getpagesize()


_fork = ctypes.PyDLL(None, use_errno=True).fork


def plain_fork() -> int:
    """Fork without Python's own preparations, which make a child copy 100 pages (240 µs).

    They serve programs with threads, of which the zygote has none, and the hooks of imported
    modules, of which only `random`'s matters; the child calls it itself.

    Raises:
        OSError: the system has no room for another process.
    """
    pid: int = _fork()
    if pid < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return pid
