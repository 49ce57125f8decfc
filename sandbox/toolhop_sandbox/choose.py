"""Choice of sandbox: `docker`, `process`, or `auto` for the strongest available."""

from __future__ import annotations

import logging
import os
from typing import Literal, TypeAlias, get_args

from toolhop_sandbox.base import Limits, Policy
from toolhop_sandbox.docker.engine import DockerEngine, Transport
from toolhop_sandbox.errors import SandboxUnavailable
from toolhop_sandbox.pool import Launcher, PooledSandbox
from toolhop_sandbox.process import ProcessLauncher

log = logging.getLogger(__name__)

Kind: TypeAlias = Literal["auto", "docker", "process"]
KINDS: tuple[str, ...] = get_args(Kind)

WEAKER = (
    "No Docker engine can be used, so tools run in the process sandbox. It is weaker: they run as "
    "your user on your machine, held by Landlock, seccomp and resource limits alone."
)


async def open_sandbox(
    kind: Kind = "auto",
    *,
    limits: Limits | None = None,
    policy: Policy = "restricted",
    max_workers: int | None = None,
    base: str | None = None,
    runtime: str | None = None,
    transport: Transport = "auto",
    hash_seed: int = 0,
) -> PooledSandbox:
    """Return a sandbox, to be entered with `async with`.

    Args:
        kind: ``auto`` uses Docker if an engine answers, else a process, with a warning. If an
            option that only Docker supports is given, ``auto`` means ``docker``.
        limits: limits of each call.
        policy: ``restricted`` or ``none``.
        max_workers: maximum number of concurrent sessions; None for one per processor.
        base: Docker only: an image with python3 to add the worker to.
        runtime: Docker only: a container runtime such as ``runsc``.
        transport: Docker only: ``socket``, ``attach``, or ``auto`` for whichever connects.
        hash_seed: seed of string hashes in the worker, which determines the order of sets.

    Raises:
        SandboxUnavailable: `kind` cannot run here.
    """
    limits = limits or Limits()
    workers = max_workers or max(2, os.cpu_count() or 1)
    docker = DockerEngine(
        limits=limits, base=base, runtime=runtime, transport=transport, hash_seed=hash_seed
    )
    if kind == "auto" and (base or runtime or transport != "auto"):
        kind = "docker"
    if kind == "docker" or (kind == "auto" and await answers(docker)):
        launcher: Launcher = docker
    else:
        launcher = ProcessLauncher(hash_seed=hash_seed)
    # More than one per processor would only wait in memory.
    ahead = min(workers, len(os.sched_getaffinity(0)))
    return PooledSandbox(launcher, limits, policy, workers, ahead)


async def answers(engine: DockerEngine) -> bool:
    """Whether this engine can be used for `auto`; if not, log the reason."""
    try:
        await engine.check()
    except SandboxUnavailable as reason:
        log.warning("%s (%s)", WEAKER, reason.message)
        return False
    return True
