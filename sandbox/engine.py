"""The Docker sandbox: workers in containers that hold nothing worth taking.

Each container has no network, a read-only root, no capabilities, no way to new privileges, its own
IPC namespace, a user that owns nothing, and limits on processes, memory and processors; its image
holds no shell. The worker adds what `sandbox.worker.lockdown` tells. Nothing secret is mounted,
passed or set inside.

A container ends when its owner does: the worker reads end-of-file on the control socket, and the
engine removes it (`auto_remove`). What is left of a frozen one is swept at the next start, by the
owner's label: only containers whose owner is gone, never those of a run beside this one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from sandbox import image, owner
from sandbox.base import Limits
from sandbox.errors import SandboxFault, SandboxUnavailable
from sandbox.link import WorkerLink
from sandbox.outcome import JSON
from sandbox.process import WORKER_ENVIRONMENT

if TYPE_CHECKING:
    from docker import DockerClient

log = logging.getLogger(__name__)
T = TypeVar("T")

START_S = 60.0
"""A container is ready in 0.2 s on an idle engine; bursts and slow disks get this long."""
WORKER_MIB = 96
"""Memory of the worker itself: the zygote, two standbys, one more under way."""
PIDS = 48
MOUNT = "/run/toolhop"
CONTROL = "control.sock"
LABEL = "toolhop.sandbox"
OWNER_LABEL = "toolhop.owner"
STARTED_LABEL = "toolhop.started"


@dataclass
class DockerWorker:
    """A worker in a container of its own."""

    engine: DockerEngine
    container_id: str
    link: WorkerLink

    async def stop(self) -> None:
        """Hang up, and have the container removed whatever state it is in."""
        self.link.close()
        await self.engine.remove(self.container_id)


@dataclass
class DockerEngine:
    """Starts workers as containers of the engine that DOCKER_HOST names. A `Launcher`."""

    limits: Limits = field(default_factory=Limits)
    base: str | None = None
    """Image with python3 to lay the worker over; None makes one from this interpreter."""
    runtime: str | None = None
    """Container runtime, such as ``runsc``; None is the engine's default."""

    def __post_init__(self) -> None:
        self._client: DockerClient | None = None
        self._image = image.tag(self.base)
        self._facts: dict[str, JSON] = {}

    @property
    def description(self) -> Mapping[str, JSON]:
        """What isolates, for manifests."""
        return {"kind": "docker", "image": self._image, "runtime": self.runtime, **self._facts}

    async def check(self) -> None:
        """Find out whether the engine answers.

        Raises:
            SandboxUnavailable: it does not.
        """
        version = await self._in_thread(lambda client: client.version())
        self._facts["engine"] = str(version.get("Version", ""))

    async def prepare(self) -> None:
        """See `Launcher.prepare`."""
        await self.check()
        await self._in_thread(sweep)
        await self.build(only_if_missing=True)

    async def build(self, *, only_if_missing: bool = False) -> str:
        """Make the image and return its name.

        Raises:
            SandboxUnavailable: no engine, or the base cannot be had.
        """
        from docker.errors import APIError, BuildError, ImageNotFound

        def make(client: DockerClient) -> None:
            if only_if_missing:
                with contextlib.suppress(ImageNotFound):
                    client.images.get(self._image)
                    return
            if self.base is None:
                import_host_image(client, self._image)
            else:
                build_over(client, self._image, self.base)

        try:
            await self._in_thread(make)
        except (APIError, BuildError) as error:
            raise SandboxUnavailable(
                f"the sandbox image {self._image} cannot be made: {error}",
                fix="toolhop sandbox doctor",
            ) from error
        return self._image

    async def start(self) -> DockerWorker:
        """See `Launcher.start`."""
        folder = Path(await anyio.to_thread.run_sync(control_folder))
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        container_id = ""
        try:
            listener.setblocking(False)
            listener.bind(str(folder / CONTROL))
            # The container's user is another one; the folder above is closed to all others.
            await anyio.to_thread.run_sync((folder / CONTROL).chmod, 0o666)
            listener.listen(1)
            container_id = await self._in_thread(lambda client: self._run(client, folder))
            with anyio.fail_after(START_S):
                await anyio.wait_readable(listener)
            link = WorkerLink(listener.accept()[0])
            await link.greet(START_S)
            self._facts.update(link.facts)
            return DockerWorker(self, container_id, link)
        except (TimeoutError, SandboxFault) as error:
            await self.remove(container_id)
            raise SandboxFault(f"a container did not come up: {error or 'no answer'}") from error
        finally:
            listener.close()
            # Nobody else can connect once the socket's name is gone.
            shutil.rmtree(folder.parent, ignore_errors=True)

    def _run(self, client: DockerClient, folder: Path) -> str:
        from docker.errors import APIError
        from docker.types import LogConfig, Mount

        memory = f"{self.limits.memory_mib + WORKER_MIB}m"
        try:
            container = client.containers.create(
                self._image,
                [*image.entry_command(), f"{MOUNT}/{CONTROL}"],
                auto_remove=True,
                cap_drop=["ALL"],
                environment=WORKER_ENVIRONMENT,
                ipc_mode="none",
                labels=labels(),
                log_config=LogConfig(type="none"),
                mem_limit=memory,
                memswap_limit=memory,
                mounts=[Mount(MOUNT, str(folder), type="bind", read_only=True)],
                nano_cpus=1_000_000_000,
                network_mode="none",
                pids_limit=PIDS,
                read_only=True,
                runtime=self.runtime,
                security_opt=["no-new-privileges:true"],
                user="65534:65534",
                working_dir="/",
            )
            container.start()
        except APIError as error:
            raise SandboxUnavailable(
                f"the engine refused a container: {error.explanation or error}",
                fix="toolhop sandbox doctor",
            ) from error
        return str(container.id)

    async def remove(self, container_id: str) -> None:
        """Remove a container for certain; one that is gone already is no error."""
        from docker.errors import APIError

        if not container_id:
            return
        with contextlib.suppress(APIError, SandboxUnavailable):
            await self._in_thread(
                lambda client: client.api.remove_container(container_id, force=True)
            )

    async def _in_thread(self, work: Callable[[Any], T]) -> T:
        """Run `work` with the client in a thread; the docker package blocks."""
        return await anyio.to_thread.run_sync(lambda: work(self._connected()))

    def _connected(self) -> DockerClient:
        if self._client is None:
            self._client = connect()
        return self._client


def connect() -> DockerClient:
    """A client of the engine that DOCKER_HOST, or its default, names.

    Raises:
        SandboxUnavailable: none answers.
    """
    import docker
    from docker.errors import DockerException

    where = os.environ.get("DOCKER_HOST", "the default socket")
    try:
        client = docker.from_env(timeout=120)
        client.ping()
    except DockerException as error:
        raise SandboxUnavailable(
            f"no Docker engine answers at {where}: {error}",
            fix="start the engine (`sudo systemctl start docker`, or `dockerd &` as root), "
            "set DOCKER_HOST, or pass --sandbox process",
        ) from error
    return client


def labels() -> dict[str, str]:
    """Labels that tell whose container it is."""
    return {LABEL: "1", OWNER_LABEL: owner.me(), STARTED_LABEL: str(int(time.time()))}


def sweep(client: DockerClient) -> int:
    """Remove our containers whose owner is gone; how many there were. Never raises for one."""
    from docker.errors import APIError

    removed = 0
    for summary in client.api.containers(all=True, filters={"label": LABEL}):
        if owner.is_gone(summary.get("Labels", {}).get(OWNER_LABEL, "")):
            with contextlib.suppress(APIError):
                client.api.remove_container(summary["Id"], force=True)
                removed += 1
    return removed


def control_folder() -> str:
    """A fresh folder to mount, inside one that only this user can enter.

    The path of a Unix socket may have 107 bytes, so it stands directly in a short place.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    place = runtime if runtime and len(runtime) < 40 and Path(runtime).is_dir() else "/tmp"  # noqa: S108 -- mkdtemp makes a private folder in it
    private = Path(tempfile.mkdtemp(prefix="toolhop-", dir=place))
    folder = private / "c"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    return str(folder)


def import_host_image(client: DockerClient, name: str) -> None:
    """Make the image from this machine's interpreter and give it to the engine."""
    with tempfile.TemporaryDirectory(prefix="toolhop-") as folder:
        archive = Path(folder) / "image.tar"
        image.build_from_host(archive)
        repository, _, tag = name.partition(":")
        with archive.open("rb") as stream:
            client.api.import_image(
                src=stream, repository=repository, tag=tag, changes=["LABEL toolhop.image=1"]
            )


def build_over(client: DockerClient, name: str, base: str) -> None:
    """Lay the worker over `base`, which the engine pulls if it is not there."""
    import io

    client.images.build(
        fileobj=io.BytesIO(image.build_context(base)), custom_context=True, tag=name, rm=True
    )
