"""What a process gives up before it touches untrusted code: Linux calls through ctypes.

Every step is taken in the standby, before a call arrives, so none of it is on a call's way. What
does not depend on the standby is prepared once, in the zygote (`Prepared`): the Landlock ruleset
and the seccomp program. Measured on a 2-core machine, a standby: rlimits 20 µs; Landlock 430 µs
if each opens six folders itself, 45 with the ruleset made before, 130 with one of 330 files and
folders, which leaves out the packages beside the standard library; seccomp 740 µs if each writes
the program itself, 400 with it written before and as a search tree, of which a program of one
instruction takes 350 (the kernel runs it for every call number when it is installed).

- *dumpable 0*: `/proc/<pid>/mem` and `/proc/<pid>/fd` of the worker belong to root then. Without
  it a tool wrote a forged frame through `/proc/1/fd` and read the zygote's memory.
- *rlimits*: processor time, files, file size 0 (nothing can be written to a disk), no core.
- *Landlock*: the standard library can be read, and no other file, and nothing can be written.
  Closes `/dev/shm` and `/dev/mqueue`, through which a call could leave something for the next
  one. What is installed beside the standard library stays closed too: it may be a data set.
- *capabilities*: where the worker is root's; the zygote gives them up for all. Some need no call
  that seccomp refuses: to raise one's own limits, to tell the kernel that a page is broken.
- *seccomp*: an allow-list of kernel calls (`sandbox.worker.seccomp`).
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct

from sandbox.worker import seccomp

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
PR_SET_THP_DISABLE = 41
SECCOMP_MODE_FILTER = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> bool:
    return result == 0


def hide() -> bool:
    """Make this process's memory and descriptors unreadable for others of the same user."""
    return _check(_libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))


def show() -> bool:
    """Undo `hide`, so that the parent may put the memory back (`sandbox.worker.twins`).

    For a process that Landlock and seccomp hold: no other one like it can look, its parent can.
    """
    return _check(_libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))


def die_with_parent() -> bool:
    """Have the kernel kill this process when its parent ends."""
    return _check(_libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0))


def small_pages() -> bool:
    """Have the kernel keep this process's memory, and its children's, in small pages.

    It never makes one large page of many behind their backs then: among those could be some that a
    process has not written to, and `sandbox.worker.twins` counts on that it could not do so unseen.
    """
    return _check(_libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))


def no_new_privileges() -> bool:
    """Give up set-uid programs; Landlock and seccomp need it."""
    return _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


_CAPABILITIES_VERSION = 0x20080522
_READ_SEARCH = 1 << 2
"""CAP_DAC_READ_SEARCH: a Python in a home that is closed to others can be read by root. What may
be read at all is for Landlock to say."""


def drop_capabilities() -> bool:
    """Give up every power of root's but to read what is closed to others."""
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    # Whoever has not got that one may not keep it either.
    return any(
        _check(_libc.capset(header, struct.pack("=6I", kept, kept, 0, 0, 0, 0)))
        for kept in (_READ_SEARCH, 0)
    )


class Prepared:
    """What the zygote makes ready, so that a standby only has to take it on."""

    def __init__(self, readable: tuple[str, ...], listed: str) -> None:
        """Make ready.

        Args:
            readable: files, and folders of files, that may be read.
            listed: folder below which names may be listed, as imports do.
        """
        self.landlock_abi = landlock_abi()
        self.ruleset = _ruleset(self.landlock_abi, readable, listed)
        """Descriptor of the Landlock ruleset, None where there is none."""
        program = seccomp.wide(platform.machine(), seccomp.OWN_PID)
        self._wide = None if program is None else ctypes.create_string_buffer(program, len(program))
        self._pid_at = (
            [] if program is None else _places(program, struct.pack("=I", seccomp.OWN_PID))
        )
        program = seccomp.narrow(platform.machine())
        self._narrow = (
            None if program is None else ctypes.create_string_buffer(program, len(program))
        )

    @property
    def again(self) -> bool:
        """Whether there is a program for processes that are used again."""
        return self.ruleset is not None and self._narrow is not None

    def lock(self) -> tuple[bool, bool]:
        """Give up files, processes and the network; whether Landlock and seccomp were to be had.

        The caller must have given up new privileges, and be the process that is locked.
        """
        limit_files()
        return self.give_up_files(), self._seccomp()

    def give_up_files(self) -> bool:
        """Take on the Landlock ruleset, and close it."""
        if self.ruleset is None:
            return False
        done = _check(_libc.syscall(_RESTRICT_SELF, self.ruleset, 0))
        os.close(self.ruleset)
        return done

    def _seccomp(self) -> bool:
        if self._wide is None:
            return False
        for place in self._pid_at:
            struct.pack_into("=I", self._wide, place, os.getpid())
        return _install(self._wide)

    def narrow(self, table: int) -> bool:
        """Take on what a process that is used again may do; files are given up before.

        Args:
            table: address of its image's table.
        """
        if self._narrow is None:
            return False
        for half, shift in ((seccomp.TABLE & seccomp.HALF, 0), (seccomp.TABLE >> 32, 32)):
            for place in _places(self._narrow.raw, struct.pack("=I", half)):
                struct.pack_into("=I", self._narrow, place, table >> shift & seccomp.HALF)
        return _install(self._narrow)


def _install(program: ctypes.Array[ctypes.c_char]) -> bool:
    # The kernel copies both before the call returns.
    described = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(program))
    return _check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described, 0, 0))


def _places(program: bytes, wanted: bytes) -> list[int]:
    """Offsets of the operands that are `wanted`; an instruction has 8 bytes, the last 4 are it."""
    return [at for at in range(4, len(program), 8) if program[at : at + 4] == wanted]


# Landlock: call numbers are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _RULE_PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FS_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of file rights that each ABI knows; 16 from ABI 5 on."""


def landlock_abi() -> int:
    """Version of Landlock that the kernel offers, 0 for none."""
    version: int = _libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    return max(version, 0)


def _ruleset(abi: int, readable: tuple[str, ...], listed: str) -> int | None:
    """A ruleset for `Prepared`, that lets nothing else be done to files.

    It also gives up TCP and signals to processes outside, where the kernel's ABI can. None where
    there is no Landlock, or one of the files cannot be named.
    """
    if abi < 1:
        return None
    handled = (1 << _FS_RIGHTS_BY_ABI.get(abi, 16)) - 1
    # ABI 4 adds TCP (bind, connect), ABI 6 scopes (abstract sockets, signals): all are given up.
    fields = [handled] + [3] * ((abi >= 4) + (abi >= 6))
    attribute = struct.pack(f"={len(fields)}Q", *fields)
    ruleset: int = _libc.syscall(_CREATE_RULESET, attribute, len(attribute), 0)
    if ruleset < 0:
        return None
    for path, rights in ((listed, _READ_DIR), *((path, _READ_FILE) for path in readable)):
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", rights, beneath)
        added = _libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
        os.close(beneath)
        if added != 0:
            os.close(ruleset)
            return None
    return ruleset


def limit_files() -> None:
    """No file can grow, few can be open, no core is written.

    With a limit of 1 the kernel hands none to a program either, as it does with 0 (core(5)).
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))


def limit_use(memory_bytes: int, cpu_s: int) -> None:
    """Cap address space, and processor time: a signal at `cpu_s`, the end one second later."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))


def limit_ahead(memory_bytes: int, cpu_s: int) -> None:
    """Like `limit_use`, which may lift these limits later. At `cpu_s` there is but a signal."""
    for limit, value in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CPU, cpu_s)):
        resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))


def address_space_bytes() -> int:
    """Address space of this process as it stands (statm counts pages)."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 -- pathlib costs the zygote memory
        return int(file.read().split()[0]) * resource.getpagesize()


_fork = ctypes.PyDLL(None, use_errno=True).fork


def plain_fork() -> int:
    """Fork without Python's own preparations for it, which make a child copy 100 pages (240 µs).

    They serve programs with threads, of which the zygote has none, and hooks of imported modules:
    of these only `random` has one that matters, and the child calls it itself.

    Raises:
        OSError: the system has no room for another process.
    """
    pid: int = _fork()
    if pid < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return pid
