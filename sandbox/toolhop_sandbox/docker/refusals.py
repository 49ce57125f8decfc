"""Reasons why an engine did not run one of our containers, and their fixes."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Any

from toolhop_sandbox.docker import image
from toolhop_sandbox.errors import SandboxUnavailable

NO_SHARED_PATH = (
    "pass --transport attach; a mounted socket needs an engine that runs on this machine and sees "
    "its files: a local one (unset DOCKER_HOST, or point it to a unix:// socket), with /tmp "
    "mounted under the same path where this runs in a container itself"
)
NEVER_CONNECTED = (
    "pass --transport attach; for a mounted socket, see that the engine runs on this machine and "
    "not in a virtual machine or behind a forwarded socket, and that its runtime lets a container "
    "reach a socket of the host (runsc: --host-uds=open; SELinux: --security-opt label=disable)"
)


ENGINE_NAMES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}


class Unshared(SandboxUnavailable):
    """The engine's containers share no socket with this machine."""


def lacks_python(error: Any) -> bool:  # noqa: ANN401 -- docker's APIError, imported lazily
    """Whether a container could not start because its image lacks the interpreter."""
    reason = str(error.explanation or error)
    return image.HOME in reason and "no such file or directory" in reason


def refusal(error: Any) -> SandboxUnavailable:  # noqa: ANN401 -- docker's APIError, imported lazily
    """Convert the `APIError` with which the engine refused a container to an error with a fix."""
    reason = str(error.explanation or error)
    message = f"the engine refused a container: {reason}"
    fix = "toolhop sandbox doctor"
    if "bind source path does not exist" in reason:
        return Unshared(message, fix=NO_SHARED_PATH)
    if "runtime" in reason.lower():
        fix = "docker info names the runtimes of this engine; toolhop sandbox doctor lists them"
    return SandboxUnavailable(message, fix=fix)


def see_that_it_knows(runtime: str, info: Mapping[str, Any]) -> None:
    """Check that the engine knows a runtime. Shims given by path or full name are not checked.

    Raises:
        SandboxUnavailable: the engine has only other runtimes.
    """
    known = info.get("Runtimes") or {}
    if known and runtime not in known and not {".", "/"} & set(runtime):
        raise SandboxUnavailable(
            f"the engine has no runtime {runtime!r}; it has {', '.join(sorted(known))}",
            fix=f"pass one of these, or install {runtime} and name it in the engine's daemon.json",
        )


def see_that_it_fits(version: Mapping[str, Any]) -> None:
    """Check that an image built from this interpreter can run in the engine.

    Raises:
        SandboxUnavailable: the engine's platform differs.
    """
    machine = platform.machine().lower()
    here = f"{sys.platform}/{ENGINE_NAMES.get(machine, machine)}"
    there = f"{version.get('Os', '')}/{version.get('Arch', '')}"
    if there != here:
        minor = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SandboxUnavailable(
            f"the engine runs {there} containers, and this interpreter is of {here}: no image for "
            "that engine can be made of it",
            fix=f"pass --sandbox-base python:{minor}-slim",
        )
