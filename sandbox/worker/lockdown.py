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
- *seccomp*: an allow-list of what computing needs. No fork, no exec, no sockets, no signals to
  others, no SysV shared memory, no new namespaces. Threads are allowed. Some calls are allowed in
  part. `prlimit64` on itself only (RLIMIT_CPU of another kills it), `fcntl` and `ioctl` without the
  commands that choose who gets a descriptor's signal, and which (F_SETOWN with F_SETSIG sends
  SIGKILL), and without locks, which others see; `madvise` without what concerns more than the
  caller's own pages; `sendto` and `recvfrom` without out-of-band data, a part of the kernel that
  was exploited from inside a sandbox like this one (CVE-2025-38236); `clone` for threads that
  stay in their namespaces.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
CLONE_THREAD = 0x00010000
CLONE_NEW = 0x7E020000
"""All flags of new namespaces. As root, a thread could have some for itself."""
MSG_OOB = 1
RET_ALLOW, RET_ERRNO, RET_KILL = 0x7FFF0000, 0x00050000, 0x80000000
EPERM, ENOSYS = 1, 38

# BPF opcodes: load a word, jump if equal, jump if greater or equal, jump if bits set, return.
LD, JEQ, JGE, JSET, RET = 0x20, 0x15, 0x35, 0x45, 0x06
OFFSET_NR, OFFSET_ARCH, OFFSET_ARGS = 0, 4, 16

_NAMES = (
    "read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask "
    "rt_sigreturn pread64 readv writev sched_yield mremap dup nanosleep getpid "
    "exit exit_group uname getcwd getuid getgid geteuid getegid gettid futex "
    "sched_getaffinity getdents64 clock_gettime clock_getres clock_nanosleep gettimeofday openat "
    "newfstatat readlinkat faccessat ppoll pselect6 set_robust_list rseq getrandom sysinfo "
    "getrusage times sigaltstack restart_syscall membarrier statx getitimer setitimer getppid "
    "faccessat2 set_tid_address rt_sigpending rt_sigtimedwait eventfd2 epoll_create1 epoll_ctl "
    "epoll_pwait pipe2"
)
# Numbers from the kernel's tables arch/x86/entry/syscalls/syscall_64.tbl and
# include/uapi/asm-generic/unistd.h, in the order of _NAMES.
_X86_64 = (
    "0 1 3 5 8 9 10 11 12 13 14 15 17 19 20 24 25 32 35 39 60 231 63 79 102 104 107 "
    "108 186 202 204 217 228 229 230 96 257 262 267 269 271 270 273 334 318 99 98 100 131 219 324 "
    "332 36 38 110 439 218 127 128 290 291 233 281 293"
)
_AARCH64 = (
    "63 64 57 80 62 222 226 215 214 134 135 139 67 65 66 124 216 23 101 172 93 94 "
    "160 17 174 176 175 177 178 98 123 61 113 114 115 169 56 79 78 48 73 72 99 293 278 179 165 153 "
    "132 128 283 291 102 103 173 439 96 136 137 19 20 21 22 59"
)
# Calls that only x86-64 has, in older spelling: open stat lstat poll access select readlink time
# alarm arch_prctl getdents epoll_wait pipe epoll_create eventfd.
_X86_64_ONLY = "2 4 6 7 21 23 89 201 37 158 78 232 22 213 284"

# Calls allowed for some values of one argument: fcntl by its command (duplicate, flags), ioctl by
# its request (isatty, window size, FIONREAD, FIONBIO, close on exec), madvise by its advice (what
# allocators and thread stacks give: how pages are used, freed, kept from children, guarded),
# prlimit64 by its process (0 is the caller), tgkill by its process (abort signals itself).
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)
_IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_MADVISE_ADVICE = (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 102, 103)

_PARTLY = "clone clone3 fcntl ioctl prlimit64 tgkill madvise sendto recvfrom"
_ARCHITECTURES = {
    # machine: (audit architecture, allowed calls, those of _PARTLY)
    "x86_64": (0xC000003E, f"{_X86_64} {_X86_64_ONLY}", "56 435 72 16 302 234 28 44 45"),
    "aarch64": (0xC00000B7, _AARCH64, "220 435 25 29 261 131 233 206 207"),
}

_libc = ctypes.CDLL(None, use_errno=True)


def _instruction(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jt, jf, k)


_ALLOW, _DENY = _instruction(RET, RET_ALLOW), _instruction(RET, RET_ERRNO | EPERM)
_OWN_PID = 0x7F3A51C4
"""Stands in a prepared program for the id of the process that will install it."""


def _allow_values(number: int, argument: int, values: tuple[int, ...]) -> list[bytes]:
    """Allow the call `number` where the lower half of an argument is one of `values`.

    The kernel reads 32 bits of each argument named here, so the upper half does not matter.
    """
    body = [_instruction(LD, OFFSET_ARGS + 8 * argument)]
    for value in values:
        body += [_instruction(JEQ, value, 0, 1), _ALLOW]
    return [_instruction(JEQ, number, 0, len(body) + 1), *body, _DENY]


def _refuse_bits(number: int, argument: int, bits: int) -> list[bytes]:
    """Allow the call `number` unless the lower half of an argument has one of `bits`."""
    body = [_instruction(LD, OFFSET_ARGS + 8 * argument), _instruction(JSET, bits, 0, 1)]
    return [_instruction(JEQ, number, 0, len(body) + 2), *body, _DENY, _ALLOW]


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as first and last of each unbroken run."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _allow_ranges(ranges: list[tuple[int, int]]) -> list[bytes]:
    """A search tree over call numbers that ends in allow or deny."""
    if len(ranges) == 1:
        first, last = ranges[0]
        jumps = [_instruction(JGE, first, 0, 2), _instruction(JGE, last + 1, 1, 0)]
        return [*jumps, _ALLOW, _DENY]
    middle = len(ranges) // 2
    low, high = _allow_ranges(ranges[:middle]), _allow_ranges(ranges[middle:])
    return [_instruction(JGE, ranges[middle][0], len(low), 0), *low, *high]


def seccomp_filter(machine: str, pid: int) -> bytes | None:
    """The BPF program for `machine`, or None where its call numbers are not known here.

    `pid` may signal itself (abort does), and nobody else.
    """
    if machine not in _ARCHITECTURES:
        return None
    audit, allowed, partly = _ARCHITECTURES[machine]
    number = dict(zip(_PARTLY.split(), map(int, partly.split()), strict=True))
    program = [
        _instruction(LD, OFFSET_ARCH),
        _instruction(JEQ, audit, 1, 0),
        _instruction(RET, RET_KILL),
        _instruction(LD, OFFSET_NR),
        # x32 calls carry this bit and would bypass the numbers below.
        _instruction(JGE, 0x40000000, 0, 1),
        _DENY,
        # With ENOSYS the C library falls back to clone, whose flags can be looked at.
        _instruction(JEQ, number["clone3"], 0, 1),
        _instruction(RET, RET_ERRNO | ENOSYS),
        _instruction(JEQ, number["clone"], 0, 5),
        _instruction(LD, OFFSET_ARGS),
        _instruction(JSET, CLONE_NEW, 2, 0),
        _instruction(JSET, CLONE_THREAD, 0, 1),
        _ALLOW,
        _DENY,
        *_allow_values(number["fcntl"], 1, _FCNTL_COMMANDS),
        *_allow_values(number["ioctl"], 1, _IOCTL_REQUESTS),
        *_allow_values(number["prlimit64"], 0, (0,)),
        *_allow_values(number["tgkill"], 0, (pid,)),
        *_allow_values(number["madvise"], 2, _MADVISE_ADVICE),
        *_refuse_bits(number["sendto"], 3, MSG_OOB),
        *_refuse_bits(number["recvfrom"], 3, MSG_OOB),
        *_allow_ranges(_ranges(sorted({int(text) for text in allowed.split()}))),
    ]
    return b"".join(program)


def _check(result: int) -> bool:
    return result == 0


def hide() -> bool:
    """Make this process's memory and descriptors unreadable for others of the same user."""
    return _check(_libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))


def die_with_parent() -> bool:
    """Have the kernel kill this process when its parent ends."""
    return _check(_libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0))


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
        program = seccomp_filter(platform.machine(), _OWN_PID)
        self._program = None if program is None else ctypes.create_string_buffer(program)
        self._pid_at = [] if program is None else _places(program, struct.pack("=I", _OWN_PID))
        self._length = 0 if program is None else len(program) // 8

    def lock(self) -> tuple[bool, bool]:
        """Give up files, processes and the network; whether Landlock and seccomp were to be had.

        The caller must have given up new privileges, and be the process that is locked.
        """
        limit_files()
        return self._landlock(), self._seccomp()

    def _landlock(self) -> bool:
        if self.ruleset is None:
            return False
        done = _check(_libc.syscall(_RESTRICT_SELF, self.ruleset, 0))
        os.close(self.ruleset)
        return done

    def _seccomp(self) -> bool:
        if self._program is None:
            return False
        for place in self._pid_at:
            struct.pack_into("=I", self._program, place, os.getpid())
        # The kernel copies both before the call returns.
        program = struct.pack("=HxxxxxxQ", self._length, ctypes.addressof(self._program))
        return _check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0))


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
    """No file can grow, few can be open, no core is written."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


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
