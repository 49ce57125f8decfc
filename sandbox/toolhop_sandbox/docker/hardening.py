"""The hardening of a container, step by step, as options for the engine."""

from __future__ import annotations

from typing import Any

from toolhop_sandbox.docker.meeting import USER

PIDS = 48
"""Maximum number of processes: the zygote, eleven standbys, and the threads of a call."""
LIMITS = {"core": 1, "fsize": 0, "memlock": 0, "msgqueue": 0, "nofile": 64, "sigpending": 0}
"""Resource limits of each process. Not `nproc`: the kernel counts a user's processes across all
containers, so containers would affect one another."""


def hardening(memory_mib: int) -> dict[str, dict[str, Any]]:
    """Return the options of the docker package's `containers.create`, by step.

    The worker adds the steps of `worker.lockdown`; these hold even if Landlock or seccomp are
    missing, and limit a call's total use.
    """
    memory = f"{memory_mib}m"
    return {
        "no network": {"network_mode": "none"},
        "read-only root": {"read_only": True},
        "no capabilities": {"cap_drop": ["ALL"]},
        "no new privileges": {"security_opt": ["no-new-privileges:true"]},
        "no shared memory": {"ipc_mode": "none"},
        "user": {"user": f"{USER}:{USER}"},
        "processes": {"pids_limit": PIDS},
        "memory": {"mem_limit": memory, "memswap_limit": memory},
        "one processor": {"nano_cpus": 1_000_000_000},
        "limits of a process": {
            "ulimits": [{"name": one, "soft": most, "hard": most} for one, most in LIMITS.items()]
        },
        "groups of its own": {"cgroupns": "private"},
        "no log": {"log_config": {"type": "none"}},
    }


def options(memory_mib: int) -> dict[str, Any]:
    """Return the options of all steps together."""
    return {key: one for step in hardening(memory_mib).values() for key, one in step.items()}
