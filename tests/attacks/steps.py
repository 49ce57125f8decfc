"""Every step that hardens a call, what it stops, how a test leaves it out, and what notices that.

A step of the worker is left out by source that the harness puts before the worker's own start; one
of the host by a patch of the harness's process. Neither can be reached in production: there is no
switch, argument or environment variable for it.

Several steps often stop the same thing. Then those that come first are left out as well (`behind`),
and the same attack is played with only these left out, to see that the step itself stops it.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

from toolhop_sandbox import control, link, replies
from toolhop_sandbox.docker import hardening, meeting
from toolhop_sandbox.outcome import Outcome, Returned
from toolhop_sandbox.worker import landlock, lockdown, seccomp


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    room: str
    """Where it is taken."""
    name: str
    """As the code names it, where the code has a table of such steps."""
    stops: str
    noticed_by: tuple[str, ...]
    """What must notice its absence: attacks, probes of ``layers/``, functions of `host_probes`."""
    without: str = ""
    """Source that takes it out of a worker that has not begun to serve."""
    behind: tuple[str, ...] = ()
    """Keys of steps that are left out with it, as they stop the same."""
    patch: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    """Takes it out of the host."""
    environment: bool = False
    """Whether it is left out by giving the worker the host's environment."""
    as_root: bool = False
    """Whether an ordinary user has nothing that it takes away."""
    x86_only: bool = False
    """Whether it is left out by call numbers of x86-64."""

    @property
    def key(self) -> str:
        """Names it among all."""
        return f"{self.room}: {self.name}"


def _less(module: str, table: str, name: str) -> str:
    """Source that leaves a named entry out of a table."""
    return f"{module}.{table} = tuple(one for one in {module}.{table} if one[0] != {name!r})"


def _allowing(numbers: str) -> str:
    """Source that lets calls through, whatever their arguments."""
    return (
        "seccomp.PARTS = tuple(one for one in seccomp.PARTS"
        f" if str(one[1]) not in {numbers.split()!r})\n"
        "seccomp.ALLOWED = {**seccomp.ALLOWED, 'x86_64': seccomp.ALLOWED['x86_64'] + "
        f"{' ' + numbers!r}}}"
    )


def _os_without(name: str, instead: str) -> str:
    """Source that gives the zygote another function in place of one of the system's."""
    return (
        f"import os, types\nzygote.os = types.SimpleNamespace(**vars(os) | {{{name!r}: {instead}}})"
    )


_PLACED = "('', lockdown.place_connection) if one[0] == 'descriptors' else one"
SECCOMP, LANDLOCK = "standby: seccomp", "standby: landlock"


def _worker() -> Iterator[Step]:
    make = partial(Step, "zygote")
    notices: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
        "not dumpable": (
            "reading and writing the worker through /proc",
            ("layers/memory_of_the_worker",),
            (LANDLOCK, SECCOMP),
        ),
        "no new privileges": (
            "powers by set-uid programs; neither Landlock nor seccomp can be had without it",
            ("secrets/files_of_the_host", "processes/fork_bomb"),
            (),
        ),
        "no capabilities": ("powers of a worker that is root's", ("layers/powers",), (LANDLOCK,)),
        "no standard streams": ("output that somebody keeps", ("files/devices",), ()),
    }
    for name, _ in lockdown.WORKER_STEPS:
        stops, noticed_by, behind = notices[name]
        off = _less("lockdown", "WORKER_STEPS", name)
        yield make(name, stops, noticed_by, off, behind, as_root=name == "no capabilities")
    yield make(
        "standbys end with it",
        "a call that lives on when its worker was killed",
        ("standbys_end_with_their_worker",),
        "lockdown.die_with_parent = lambda: True",
    )
    yield make(
        "ends whole groups",
        "a child of a call that outlives it",
        ("children_end_with_their_call",),
        _os_without("killpg", "lambda *_: None"),
        (SECCOMP,),
    )
    yield make(
        "ends whole groups when the host hangs up",
        "a child of a call that outlives the run",
        ("children_end_with_their_run",),
        "zygote.Zygote.reset = lambda *_: None",
        (SECCOMP,),
    )
    yield make(
        "ends what leads no group",
        "holding up the worker by a process that has not come that far",
        ("limits/sleeps_in_c",),
        _os_without("kill", "lambda *_: None"),
        ("standby: own session",),
    )
    yield make(
        "seeds random numbers",
        "a call that knows what the next one draws",
        ("calls_draw_other_numbers",),
        "standby.random = type('Unseeded', (), {'seed': staticmethod(lambda: None)})",
    )
    yield make(
        "an environment of its own",
        "keys and passwords in the environment of whoever runs it",
        ("secrets/environment",),
        environment=True,
    )


def _standby() -> Iterator[Step]:
    yield Step(
        "standby",
        "limits of compiling",
        "a source that takes the machine's memory to compile",
        ("compiling_is_limited",),
        "standby.COMPILE_MIB = 1 << 30",
    )
    notices: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
        "own session": (
            "a child of a call that outlives it",
            ("children_end_with_their_call",),
            (SECCOMP,),
        ),
        "landlock": ("files; each right has a row below", ("secrets/files_of_the_host",), ()),
        "descriptors": (
            "speaking to the host as the worker, through its control socket",
            ("frames/forges_for_others",),
            (),
        ),
        "file size": ("filling a disk", ("layers/limits_of_its_own",), ()),
        "open files": (
            "filling the kernel's tables",
            ("leftovers/descriptors", "layers/limits_of_its_own"),
            (),
        ),
        "core dumps": ("memory that is left on a disk", ("layers/limits_of_its_own",), ()),
        "locked memory": (
            "memory that the machine cannot move out",
            ("layers/limits_of_its_own",),
            (),
        ),
        "queued signals": (
            "signalling by a count that all processes of a user share",
            ("layers/limits_of_its_own",),
            (),
        ),
        "seccomp": (
            "most of the kernel; each group of calls has a row below",
            ("processes/fork_bomb", "kernel/sweep_of_calls", "network/unix_sockets"),
            (),
        ),
        "memory": (
            "taking more memory than was promised",
            ("layers/takes_memory", "layers/limits_of_its_own"),
            (),
        ),
        "processor time": (
            "computing on after the host has gone",
            ("layers/limits_of_its_own",),
            (),
        ),
    }
    for table in ("STEPS", "USE_STEPS"):
        for name, _ in getattr(lockdown, table):
            stops, noticed_by, behind = notices[name]
            off = _less("lockdown", table, name)
            if name == "descriptors":
                # The connection has to be where the call looks for it.
                off = f"lockdown.STEPS = tuple({_PLACED} for one in lockdown.STEPS)"
            yield Step("standby", name, stops, noticed_by, off, behind)


_RIGHTS = {
    "TCP": "connections to and from the network",
    "abstract sockets": "sockets of the host that have no path",
    "signals to others": "signals to processes outside of the call's own",
}


def _landlock() -> Iterator[Step]:
    notices: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "run programs": (("layers/starts_a_program",), (SECCOMP,)),
        "write files": (("files/devices", "layers/changes_files"), (SECCOMP,)),
        "read files": (("secrets/files_of_the_host", "memory/its_own_file"), ()),
        "list folders": (("secrets/of_other_processes",), ()),
        "make and remove files": (("layers/changes_files",), (SECCOMP,)),
        "truncate files": (("layers/changes_files",), (SECCOMP,)),
        "control devices": (("layers/controls_a_device",), (SECCOMP,)),
        "TCP": (("layers/connects",), (SECCOMP,)),
        "abstract sockets": (("layers/abstract_socket",), (SECCOMP,)),
        "signals to others": (("layers/signals_its_parent",), (SECCOMP,)),
    }
    for name, *_ in landlock.GROUPS:
        noticed_by, behind = notices[name]
        off = _less("landlock", "GROUPS", name)
        yield Step(
            "landlock", name, _RIGHTS.get(name, f"the right to {name}"), noticed_by, off, behind
        )
    yield Step(
        "landlock",
        "of the interpreter's folder the standard library only",
        "reading installed packages, of which this project may be one",
        ("secrets/installed_packages",),
        "paths.readable = lambda: (paths.stdlib_folder(), "
        "*filter(paths.os.path.exists, ('/lib', '/lib64', '/usr/lib')))",
    )


_GROUPS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    # Group of refused calls: their numbers on x86-64, what notices, and what stops it as well.
    "processes": ("56 57 58 435", ("processes/fork_bomb",), ()),
    "programs": ("59 322", ("layers/starts_a_program",), ("landlock: run programs",)),
    "sockets": ("41 42 49 50 53", ("network/unix_sockets", "network/tcp_and_udp"), ()),
    "uses of a socket": (
        "46 47 48 51 52 54 55",
        ("frames/shuts_the_connection", "frames/passes_descriptors"),
        (),
    ),
    "signals": (
        "62 200 129 222 434 424",
        ("signals/parent_and_all", "signals/other_ways_to_signal"),
        ("landlock: signals to others",),
    ),
    "tracing": ("101 310 311 312 438", ("memory/by_the_debugger",), ()),
    "descriptor tables": ("436 438 434", ("frames/takes_descriptors",), ()),
    "files by name": (
        "76 77 80 81 82 83 84 85 86 87 88 90 91 92 93 94 95 132 133 188 189 190 235 258 259 260 "
        "261 263 264 265 266 268 280 285 316",
        ("files/changes_what_it_cannot_open",),
        (),
    ),
    "locks of files": ("73 72", ("files/locks",), ()),
    "mounts": ("161 165 166 155 428 429 430 431 432 442", ("kernel/mounts",), ()),
    "namespaces": ("272 308", ("kernel/namespaces",), ()),
    "users": ("105 106 113 114 116 117 119 122 123 126", ("kernel/other_users",), ()),
    "System V": ("29 30 31 64 65 66 67 68 69 70 71", ("ipc/system_v",), ()),
    "message queues": ("240 241 242 243 244 245", ("layers/message_queue",), (LANDLOCK,)),
    "keys": ("248 249 250", ("ipc/keyring",), ()),
    "files in memory": ("319 447", ("processes/program_from_memory",), ()),
    "rings": ("425 426 427", ("kernel/io_uring",), ("standby: locked memory",)),
    "clocks": ("159 164 227 305", ("leftovers/clock",), ()),
    "counts of the machine": ("99", ("secrets/counts_of_the_machine",), ()),
    "filters": ("317 444 445 446", ("kernel/filters_of_its_own",), ()),
    "settings of a process": ("157 135 112 109", ("signals/survives_its_parent",), ()),
    "priorities": ("141 142 144 203 251 314", ("limits/more_processor",), ()),
    "helpers of exploits": ("321 323 298 154 300 253", ("kernel/helpers_of_exploits",), ()),
}
_PARTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    # Call that is allowed in part: what the part left out would give, and what notices.
    "clone3": ("processes by flags that a filter cannot see", ("processes/raw_clone",), ()),
    "clone": ("processes, and namespaces of threads", ("processes/fork_bomb",), ()),
    "futex": ("signals between calls of the same moment", ("ipc/shared_futex",), ()),
    "clock_gettime": ("processor time of others", ("secrets/processor_time_of_others",), ()),
    "clock_getres": (
        "learning which processes there are",
        ("secrets/processor_time_of_others",),
        (),
    ),
    "clock_nanosleep": ("waiting for the processor time of others", ("layers/other_requests",), ()),
    "fcntl": ("signals and locks", ("files/locks", "layers/other_requests"), ()),
    "ioctl": ("commands to devices", ("layers/other_requests",), ()),
    "prlimit64": ("limits of others", ("limits/limits_of_others",), ()),
    "tgkill": (
        "signals to others",
        ("layers/signals_its_parent",),
        ("landlock: signals to others",),
    ),
    "madvise": (
        "pages that are not its own",
        ("kernel/poisons_memory", "layers/other_requests"),
        (),
    ),
    "sendto": ("out-of-band data", ("frames/out_of_band",), ()),
    "recvfrom": ("out-of-band data", ("frames/out_of_band",), ()),
}


def _seccomp() -> Iterator[Step]:
    make = partial(Step, "seccomp", x86_only=True)
    for name, _ in seccomp.BEFORE:
        off = _less("seccomp", "BEFORE", name)
        yield make(name, "calls under other numbers", ("processes/refused_architecture",), off)
    for name, number, *_ in seccomp.PARTS:
        stops, noticed_by, behind = _PARTS[name]
        yield make(name, stops, noticed_by, _allowing(str(number)), behind)
    for name, (numbers, noticed_by, behind) in _GROUPS.items():
        stops = f"{len(numbers.split())} calls that are not on the list"
        yield make(name, stops, noticed_by, _allowing(numbers), behind)


async def _believed(body: bytes, limits: object) -> Outcome:
    return Returned(body.decode("utf-8", "replace"))


async def _unmeasured(body: bytes, limits: Any) -> Outcome:
    return await _RETURNED(body, mock.Mock(result_bytes=1 << 40))


def _as_said(outcome: Outcome, limits: object, *, compiling: bool) -> Outcome:
    return outcome


async def _uncapped(connection: Any, cap_bytes: int) -> bytes | None:
    return await _READ_FRAME(connection, 1 << 40)


@contextlib.asynccontextmanager
async def _no_time(limit_s: float) -> Any:
    yield


async def _not_reset(*_: object) -> None:
    pass


async def _keeps_a_spare(self: Any) -> None:
    self.facts = {**self.facts, "seccomp": True}
    await _RESET(self)


def _popen_without(*, flag: str = "", option: str = "") -> AbstractContextManager[object]:
    popen = subprocess.Popen

    def started(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        options.pop(option, None)
        return popen([part for part in command if part != flag], **options)

    return mock.patch.object(subprocess, "Popen", started)


_RESET = link.WorkerLink.reset
_RETURNED, _READ_FRAME = replies._returned, replies.read_frame


def _host() -> Iterator[Step]:
    def step(name: str, stops: str, noticed_by: tuple[str, ...], *patched: Any) -> Step:
        return Step("host", name, stops, noticed_by, patch=partial(mock.patch.object, *patched))

    yield step(
        "frame size",
        "filling the host's memory",
        ("layers/beyond_the_cap",),
        *(link, "read_frame", _uncapped),
    )
    yield step("time", "never ending", ("limits/infinite_loop",), asyncio, "timeout", _no_time)
    yield step(
        "result size",
        "results that are longer than was promised",
        ("layers/above_the_limit",),
        *(replies, "_returned", _unmeasured),
    )
    yield step(
        "results are read",
        "results that are no JSON, or that break whoever reads them",
        ("frames/nested_result", "frames/not_a_number", "frames/not_utf_8"),
        *(replies, "_returned", _believed),
    )
    yield step(
        "finite numbers",
        "numbers that come out as infinity",
        ("layers/overflowing_number",),
        *(replies, "_finite", str),
    )
    yield step(
        "what code may say of itself",
        "claims that only the host may make",
        ("frames/claims_to_be_refused", "frames/forged_outcome"),
        *(replies, "_trusted", _as_said),
    )
    yield step(
        "ends what has answered",
        "computing on after the reply",
        ("ended_calls_are_gone",),
        *(control.Control, "kill_now", lambda *_: None),
    )
    yield step(
        "a session is reset",
        "processes that hold another episode's programs",
        ("ended_sessions_leave_no_process",),
        *(link.WorkerLink, "reset", _not_reset),
    )
    yield step(
        "a reset ends what was called",
        "computing on in the next episode",
        ("ended_sessions_leave_no_process",),
        *(control.Control, "reset", _not_reset),
    )
    yield Step(
        "host",
        "keeps no process where calls can make some",
        "a process that another episode's call could have changed",
        ("ended_sessions_leave_no_process",),
        behind=(SECCOMP,),
        patch=partial(mock.patch.object, link.WorkerLink, "reset", _keeps_a_spare),
    )
    yield step(
        "patience with who hangs up",
        "holding up the worker by hanging up and waiting on",
        ("frames/hangs_up",),
        *(link, "HANG_UP_S", 3600.0),
    )
    yield step(
        "long results are read beside",
        "holding up every other episode by a long result",
        ("others_go_on_while_a_result_is_read",),
        *(replies, "READ_AT_ONCE_CHARS", 1 << 40),
    )
    in_folder, path = "host: a worker's folder", "host: a worker's first path"
    for name, of_popen, behind in (
        (in_folder, {"option": "cwd"}, path),
        (path, {"flag": "-P"}, in_folder),
    ):
        yield Step(
            "host",
            name.removeprefix("host: "),
            "running a module of the user's folder outside of the sandbox",
            ("no_module_of_the_users_folder_is_run",),
            behind=(behind,),
            patch=partial(_popen_without, **of_popen),
        )
    yield Step(
        "host",
        "a worker's session",
        "ending it, or stopping it, by the keys of the user's terminal",
        ("no_key_of_the_terminal_reaches_a_worker",),
        patch=partial(_popen_without, option="start_new_session"),
    )
    yield Step(
        "host",
        "a worker's errors",
        "writing on the user's terminal before it has silenced itself",
        ("a_worker_that_cannot_start_prints_nothing",),
        patch=partial(_popen_without, option="stderr"),
    )
    yield step(
        "peer credentials",
        "another user's process that gives itself out for the worker",
        ("another_user_is_turned_away",),
        *(meeting, "peer", lambda _: 0),
    )


CONTAINER = "container"


def _container() -> Iterator[Step]:
    notices: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
        "no network": ("reaching anybody", ("layers/container",), (LANDLOCK,)),
        "read-only root": ("leaving files in it", ("layers/container",), (LANDLOCK,)),
        "no capabilities": ("powers that could be had again", ("layers/container",), (LANDLOCK,)),
        "no new privileges": (
            "powers by set-uid programs",
            ("layers/powers",),
            (LANDLOCK, SECCOMP, "zygote: no new privileges"),
        ),
        "no shared memory": (
            "leaving something for the next call",
            ("ipc/shared_memory",),
            (LANDLOCK,),
        ),
        "user": ("owning anything, or being root", ("layers/its_user",), ()),
        "processes": ("bombs of threads and processes", ("layers/many_threads",), ()),
        "memory": ("taking the machine's memory", ("layers/container",), (LANDLOCK,)),
        "one processor": ("taking the machine's processors", ("layers/container",), (LANDLOCK,)),
        "limits of a process": (
            "the worker's own limits, where they are missing",
            ("layers/limits_of_its_own",),
            tuple(f"standby: {name}" for name in _LIMITED),
        ),
        "groups of its own": ("names of the machine's cgroups", ("layers/container",), (LANDLOCK,)),
        "no log": ("filling a disk by printing", ("nobody_keeps_what_is_printed",), _STREAMS),
    }
    for name in hardening.hardening(0):
        stops, noticed_by, behind = notices[name]
        yield Step(CONTAINER, name, stops, noticed_by, behind=behind)
    for name, limited_by in _LIMITS.items():
        yield Step(
            CONTAINER,
            f"limit of {name}",
            "the worker's own limit, where it is missing" if limited_by else "message queues",
            ("layers/limits_of_its_own",) if limited_by else ("layers/container",),
            behind=(f"standby: {limited_by}",) if limited_by else (LANDLOCK,),
            patch=partial(_without_limit, name),
        )
    yield Step(
        CONTAINER,
        "no swap",
        "taking as much again of the machine's swap",
        ("layers/container",),
        behind=(LANDLOCK,),
        patch=_with_swap,
    )
    yield Step(
        CONTAINER,
        "a reset kills all",
        "a process that has left its call's group",
        ("daemons_end_with_their_session",),
        _os_without("kill", "lambda pid, signal: pid == -1 or os.kill(pid, signal)"),
        (SECCOMP,),
    )


_LIMITS = {
    "core": "core dumps",
    "fsize": "file size",
    "memlock": "locked memory",
    "msgqueue": "",
    "nofile": "open files",
    "sigpending": "queued signals",
}
"""Of a container, by what the worker does in its stead."""
_LIMITED = tuple(filter(None, _LIMITS.values()))


def _without_limit(name: str) -> AbstractContextManager[object]:
    left = {other: most for other, most in hardening.LIMITS.items() if other != name}
    return mock.patch.object(hardening, "LIMITS", left)


def _with_swap() -> AbstractContextManager[object]:
    options = hardening.hardening

    def swapping(memory_mib: int) -> dict[str, dict[str, Any]]:
        steps = options(memory_mib)
        return steps | {"memory": {"mem_limit": steps["memory"]["mem_limit"]}}

    return mock.patch.object(hardening, "hardening", swapping)


_STREAMS = ("zygote: no standard streams",)


def steps() -> dict[str, Step]:
    """All steps but those of the policy, by key."""
    made = (*_worker(), *_standby(), *_landlock(), *_seccomp(), *_host(), *_container())
    return {step.key: step for step in made}
