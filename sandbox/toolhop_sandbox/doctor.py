"""Checks of what this machine can run, with fixes for what it cannot.

    diagnosis = await examine()
    diagnosis.auto       "docker", "process" or None
    diagnosis.checks     what was checked, whether it passed, and how to fix it

A failed check need not stop a run: a machine without an engine uses the process sandbox. Both
sandboxes are actually started and called, as a run would.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio.to_thread

from toolhop_sandbox.base import Program
from toolhop_sandbox.docker import containers, image, upkeep
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.errors import SandboxError, SandboxUnavailable
from toolhop_sandbox.outcome import Returned
from toolhop_sandbox.pool import Launcher, PooledSandbox
from toolhop_sandbox.process import ProcessLauncher
from toolhop_sandbox.worker import landlock, seccomp

if TYPE_CHECKING:
    from docker import DockerClient

Runs: TypeAlias = Literal["docker", "process"]

LEAST_DISK_BYTES = 1 << 30
"""Minimum free disk space. The image takes 60 MB and building it as much again; on a fuller disk
other things fail first."""
LEAST_MEMORY_BYTES = 1 << 30
"""Minimum available memory: two workers of 352 MiB, and the run itself."""
PROBE = Program("def probe(a):\n    return a + 1", "probe")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    """How to fix it; empty if it passed or cannot be fixed."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks, and the conclusions from them."""

    checks: tuple[Check, ...]
    auto: Runs | None
    """The sandbox that `--sandbox auto` uses; None if that fails."""
    runs: tuple[Runs, ...] = field(default=())
    """Sandboxes in which a test call succeeded."""


async def examine() -> Diagnosis:
    """Run all checks. Takes 1-2 s, and longer if the image has to be built.

    Problems of the machine are reported, never raised.
    """
    checks = [_platform(), _python()]
    engine, about = await anyio.to_thread.run_sync(_engine)
    checks += [engine, *about]
    runs: list[Runs] = []
    if engine.ok:
        called = await _call("call in a container", DockerEngine())
        checks.append(called)
        runs += ["docker"] if called.ok else []
    checks += [_landlock(), _user_namespaces(), _memory(), _shared_memory(), _temporary_folder()]
    launcher = ProcessLauncher()
    called = await _call("call in a process", launcher)
    checks += [_seccomp(launcher.facts), called]
    runs += ["process"] if called.ok else []
    # `auto` checks only the engine, so that a broken one is reported and not silently skipped.
    takes: Runs = "docker" if engine.ok else "process"
    return Diagnosis(tuple(checks), takes if takes in runs else None, tuple(runs))


async def _call(name: str, launcher: Launcher) -> Check:
    """Start a sandbox and call a function in it, as a run does."""
    started = time.monotonic()
    try:
        async with PooledSandbox(launcher, max_workers=1) as box, box.session([PROBE]) as session:
            ready = time.monotonic()
            outcome = await session.call(PROBE, {"a": 1})
            called = time.monotonic()
    except SandboxUnavailable as error:
        return Check(name, ok=False, detail=error.message, fix=error.fix)
    except SandboxError as error:
        return Check(name, ok=False, detail=str(error), fix="try again; if it stays, report it")
    if outcome != Returned("2"):
        return Check(name, ok=False, detail=f"1 + 1 gave {outcome}", fix="report it")
    start_ms, call_ms = (ready - started) * 1000, (called - ready) * 1000
    return Check(name, ok=True, detail=f"ready in {start_ms:.0f} ms, called in {call_ms:.1f} ms")


def _platform() -> Check:
    system, machine = platform.system(), platform.machine()
    detail = f"{system} {platform.release()} on {machine}"
    if system != "Linux":
        fix = "use a Linux machine or virtual machine: Docker's own on this system is not reached"
        return Check("platform", ok=False, detail=detail, fix=fix)
    if seccomp.program(machine, 1) is None:
        return Check("platform", ok=False, detail=f"{detail}: no seccomp filter for this processor")
    return Check("platform", ok=True, detail=detail)


def _python() -> Check:
    detail = f"{platform.python_version()} ({sys.executable})"
    return Check("Python", ok=sys.version_info >= (3, 11), detail=detail)


def _engine() -> tuple[Check, list[Check]]:
    """Check whether the engine can be used; also return further checks of it."""
    name = "Docker engine"
    address = containers.engine_address()
    try:
        client = containers.connect()
    except SandboxUnavailable as error:
        return Check(name, ok=False, detail=error.message, fix=error.fix), []
    try:
        info = client.info()
        detail = _about(client, info)
        about = [_runtimes(info), _limits(info), _image(client)]
        if containers.is_local(address):
            about.insert(2, _disk(info))
        else:
            detail = f"at {address}, reached over attached streams: {detail}"
        return Check(name, ok=True, detail=detail), about
    finally:
        client.close()


def _about(client: DockerClient, info: Mapping[str, Any]) -> str:
    version = client.version()
    rootless = any("rootless" in option for option in info.get("SecurityOptions") or [])
    return (
        f"{version.get('Version')} (API {version.get('ApiVersion')}), "
        f"cgroup v{info.get('CgroupVersion', '?')}, {'rootless' if rootless else 'as root'}"
    )


def _runtimes(info: Mapping[str, Any]) -> Check:
    default = str(info.get("DefaultRuntime", ""))
    shims = {"io.containerd.runc.v2", "io.containerd.runtime.v1.linux", default}
    others = sorted(set(info.get("Runtimes") or {}) - shims)
    detail = f"{default} by default; others: {', '.join(others) or 'none'}"
    return Check("container runtimes", ok=True, detail=detail)


def _limits(info: Mapping[str, Any]) -> Check:
    """Check whether the engine enforces limits: rootless engines on cgroup v1 may not."""
    wanted = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "processors"}
    missing = [word for key, word in wanted.items() if not info.get(key, True)]
    if not missing:
        return Check("container limits", ok=True, detail="memory, processes and processors")
    fix = "see docs.docker.com/engine/security/rootless/#limiting-resources"
    return Check("container limits", ok=False, detail=f"not for {', '.join(missing)}", fix=fix)


def _disk(info: Mapping[str, Any]) -> Check:
    folder = Path(str(info.get("DockerRootDir", "")))
    name = "disk of the engine"
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return Check(name, ok=True, detail=f"{folder} cannot be looked at from here")
    fix = "" if free >= LEAST_DISK_BYTES else "toolhop sandbox clean; docker system prune"
    return Check(name, ok=not fix, detail=f"{_size(free)} free at {folder}", fix=fix)


def _image(client: DockerClient) -> Check:
    current = image.tag()
    found = {one.name: one for one in upkeep.images(client) if not one.of_others}
    old = f"; {len(found) - (current in found)} older" if set(found) - {current} else ""
    if current in found:
        return Check(
            "sandbox image", ok=True, detail=f"{current}, {_size(found[current].size_bytes)}{old}"
        )
    state = "stale: the worker has changed since" if found else "not made yet"
    detail = f"{state}{old}; the first run makes {current} in some seconds"
    return Check("sandbox image", ok=True, detail=detail)


def _landlock() -> Check:
    abi = landlock.abi()
    if abi:
        return Check("Landlock", ok=True, detail=f"ABI {abi}")
    fix = "a kernel of 5.13 or later that was started with lsm=landlock,..."
    detail = "not offered: in the process sandbox, tools can read your files"
    return Check("Landlock", ok=False, detail=detail, fix=fix)


def _seccomp(facts: Mapping[str, object]) -> Check:
    if facts.get("seccomp"):
        return Check("seccomp", ok=True, detail="filters are installed")
    detail = "no filter could be installed: in the process sandbox, tools can reach the network"
    return Check("seccomp", ok=False, detail=detail, fix="a kernel with CONFIG_SECCOMP_FILTER")


def _user_namespaces() -> Check:
    name = "user namespaces"
    text = _read("/proc/sys/user/max_user_namespaces")
    closed = _read("/proc/sys/kernel/unprivileged_userns_clone") == "0"
    if text.isdecimal() and int(text) > 0 and not closed:
        return Check(name, ok=True, detail=f"up to {text}")
    fix = "only rootless engines need them: sudo sysctl kernel.unprivileged_userns_clone=1"
    return Check(name, ok=False, detail="not for ordinary users", fix=fix)


def _memory() -> Check:
    lines = dict(line.partition(":")[::2] for line in _read("/proc/meminfo").splitlines())
    free = int(lines.get("MemAvailable", "0 kB").split()[0]) * 1024
    fix = "" if free >= LEAST_MEMORY_BYTES else "close something, or run with --max-samples 1"
    return Check("memory", ok=not fix, detail=f"{_size(free)} available", fix=fix)


def _shared_memory() -> Check:
    try:
        usage = shutil.disk_usage("/dev/shm")  # noqa: S108 -- looked at, not written
    except OSError:
        return Check("shared memory", ok=True, detail="none; tools cannot use any")
    detail = f"{_size(usage.free)} free; tools cannot use it"
    return Check("shared memory", ok=True, detail=detail)


def _temporary_folder() -> Check:
    from toolhop_sandbox.docker import folders

    place = folders.place()
    if os.access(place, os.W_OK | os.X_OK):
        return Check("temporary folder", ok=True, detail=str(place))
    fix = f"sudo chmod 1777 {place}, or set XDG_RUNTIME_DIR"
    return Check("temporary folder", ok=False, detail=f"{place} cannot be written", fix=fix)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
