"""Our containers and images in an engine: labels, search, clean-up, and the client for requests.

All functions block, so async code calls them in threads. `docker` is imported lazily, as that takes
0.2 s, which runs in the process sandbox need not spend.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolhop_sandbox import owner
from toolhop_sandbox.docker import folders, image
from toolhop_sandbox.docker.outage import EngineLost
from toolhop_sandbox.errors import SandboxUnavailable

if TYPE_CHECKING:
    from docker import DockerClient

LABEL = "toolhop.sandbox"
OWNER_LABEL = "toolhop.owner"
STARTED_LABEL = "toolhop.started"
MARK_LABEL = "toolhop.mark"
IMAGE_LABEL = "toolhop.image"
HOME_LABEL = "toolhop.home"
DEFAULT_SOCKET = "/var/run/docker.sock"
TIMEOUT_S = 120
"""Seconds that one request may take; building an image on a slow disk takes a minute."""
GONE_S = 20
"""Seconds to wait for a container that is being removed; normally 40 ms suffice."""

START_ENGINE = "start the engine: `sudo systemctl start docker`, or `dockerd &` as root"
OR_PROCESS = "or accept less isolation by --sandbox process: tools then run as your user"


def _innermost(error: BaseException) -> str:
    """Return the operating system's reason, without the wrapping of the libraries in between."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error)[:300]


def connect() -> DockerClient:
    """Return a client for the engine named by DOCKER_HOST, or for the default one.

    Raises:
        EngineLost: no engine answers; the fix says which of the usual reasons applies.
    """
    import docker
    from docker.errors import DockerException

    client: DockerClient | None = None
    try:
        _knock()
        client = docker.from_env(timeout=TIMEOUT_S)
        client.ping()
    except (DockerException, OSError) as error:
        if client is not None:
            client.close()
        reason = _innermost(error)
        raise EngineLost(
            f"no Docker engine answers at {engine_address()}: {reason}",
            fix=f"{why_unreachable()}; {OR_PROCESS}",
        ) from error
    return client


def _knock() -> None:
    """Connect to a local engine's socket and close the connection.

    If this fails within the docker package, the package leaks its socket and hides the reason.
    """
    address = engine_address()
    if is_local(address):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.connect(address.partition("://")[2])


def engine_address() -> str:
    """Return the address of the engine."""
    return os.environ.get("DOCKER_HOST") or f"unix://{DEFAULT_SOCKET}"


def is_local(address: str) -> bool:
    """Whether an engine at this address can be expected to see this machine's files."""
    return address.startswith(("unix://", "http+unix://"))


def why_unreachable() -> str:
    """Return a fix for an engine that does not answer, for the likeliest reason on this machine."""
    address = engine_address()
    if not is_local(address):
        return f"see that the engine at {address} runs and can be reached, or unset DOCKER_HOST"
    path = Path(address.partition("://")[2])
    try:
        path.stat()
    except PermissionError:
        return _no_permission(path)
    except OSError:
        return _no_socket(path)
    if not os.access(path, os.R_OK | os.W_OK):
        return _no_permission(path)
    return f"{path} is there but nothing answers; {START_ENGINE}"


def _no_permission(path: Path) -> str:
    return (
        f"this user may not use {path}: `sudo usermod -aG docker $USER` and log in again "
        "(members of that group are as good as root), or use rootless Docker"
    )


def _no_socket(path: Path) -> str:
    if os.environ.get("DOCKER_HOST"):
        return f"DOCKER_HOST names {path}, which is not there: correct it or unset it"
    if not _installed():
        return "Docker is not installed: https://docs.docker.com/engine/install"
    return f"Docker is installed but not running; {START_ENGINE}"


def _installed() -> bool:
    import shutil

    return any(shutil.which(name) for name in ("dockerd", "docker", "podman")) or any(
        Path(folder, "dockerd").exists() for folder in ("/usr/sbin", "/sbin", "/usr/local/sbin")
    )


def labels(mark: str = "") -> dict[str, str]:
    """Return labels that identify the owner; `mark` distinguishes launchers of one process."""
    started = str(int(time.time()))
    return {LABEL: "1", OWNER_LABEL: owner.me(), STARTED_LABEL: started, MARK_LABEL: mark}


@dataclass(frozen=True, slots=True)
class Container:
    """One of our containers, from this run or another."""

    id: str
    state: str
    """State as reported by the engine: ``created``, ``running``, ``exited``, ``dead`` ..."""
    owner: str
    started_s: int
    """Unix time of its start; 0 if the label is missing."""
    image: str

    @property
    def orphaned(self) -> bool:
        """Whether the process that started it has certainly ended."""
        return owner.is_gone(self.owner)


def ours(client: DockerClient) -> Iterator[Container]:
    """Yield all our containers in the engine, running or not, from any run."""
    for summary in client.api.containers(all=True, filters={"label": LABEL}):
        marks = summary.get("Labels") or {}
        started = marks.get(STARTED_LABEL, "")
        yield Container(
            id=summary["Id"],
            state=summary.get("State", ""),
            owner=marks.get(OWNER_LABEL, ""),
            started_s=int(started) if started.isdecimal() else 0,
            image=summary.get("Image", ""),
        )


def maps_users(client: DockerClient) -> bool:
    """Whether container users are mapped to other host users: rootless, or with userns-remap."""
    options = client.info().get("SecurityOptions") or []
    return any(word in option for option in options for word in ("rootless", "userns"))


def sweep(client: DockerClient) -> int:
    """Remove our containers whose owner is gone, ignoring failures; return their number."""
    return sum(discard(client, one.id) for one in ours(client) if one.orphaned)


def sweep_marked(client: DockerClient, mark: str) -> int:
    """Remove all containers started under `mark`, and return their number."""
    found = client.api.containers(all=True, filters={"label": f"{MARK_LABEL}={mark}"})
    return sum(discard(client, summary["Id"]) for summary in found)


def discard(client: DockerClient, container_id: str) -> bool:
    """Remove a container in any state; return False if it was already gone.

    Returns once it is gone, even if the engine itself is already removing it.
    """
    from docker.errors import APIError, NotFound
    from requests.exceptions import RequestException

    try:
        client.api.remove_container(container_id, force=True, v=True)
    except NotFound:
        return False
    except APIError:
        with contextlib.suppress(APIError, RequestException):
            client.api.wait(container_id, timeout=GONE_S, condition="removed")
    return True


def image_id(client: DockerClient, name: str) -> str:
    """Return the id of an image; empty if no image has this name."""
    from docker.errors import ImageNotFound

    try:
        return str(client.images.get(name).id)
    except ImageNotFound:
        return ""


def discard_image(client: DockerClient, name: str) -> bool:
    """Remove an image by name or id; return False if a container, even an ended one, uses it."""
    from docker.errors import APIError, ImageNotFound

    if client.api.containers(all=True, filters={"ancestor": name}):
        return False
    try:
        client.api.remove_image(name)
    except ImageNotFound:
        return True
    except APIError:
        return False
    return True


def import_host_image(client: DockerClient, name: str) -> None:
    """Build the image from this machine's interpreter and import it into the engine."""
    repository, _, tag = name.partition(":")
    home = f"{HOME_LABEL}={json.dumps(owner.home())}"
    with tempfile.TemporaryDirectory(prefix=folders.prefix()) as folder:
        archive = Path(folder) / "image.tar"
        image.build_from_host(archive)
        with archive.open("rb") as stream:
            reported = client.api.import_image(
                src=stream,
                repository=repository,
                tag=tag,
                changes=[f"LABEL {IMAGE_LABEL}=1", f"LABEL {home}", image.ENVIRONMENT],
            )
    # The engine answers 200 before it has read the archive; later errors are in the body.
    if '"error"' in reported:
        raise SandboxUnavailable(
            f"the engine could not import the sandbox image: {reported.strip()[-300:]}",
            fix="free some disk space (docker system df), then: toolhop sandbox build",
        )


def build_over(client: DockerClient, name: str, base: str) -> None:
    """Build the image on top of `base`, which the engine pulls if it is missing.

    Raises:
        SandboxUnavailable: the base is not available.
    """
    reported = client.api.build(
        fileobj=io.BytesIO(image.build_context(base)),
        custom_context=True,
        tag=name,
        rm=True,
        labels={IMAGE_LABEL: "1", HOME_LABEL: owner.home()},
        decode=True,
    )
    # Read to its end: docker's own `images.build` stops at an error and leaks the connection.
    errors = [part["error"] for part in reported if "error" in part]
    if errors:
        raise SandboxUnavailable(
            f"the sandbox image cannot be laid over {base}: {errors[-1]}",
            fix=f"see that the engine can pull it: docker pull {base}",
        )
