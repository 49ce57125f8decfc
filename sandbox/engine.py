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
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from sandbox import containers, folders, image
from sandbox.base import Limits
from sandbox.errors import SandboxFault, SandboxUnavailable
from sandbox.link import WorkerLink
from sandbox.outage import EngineLost, Outage
from sandbox.outcome import JSON
from sandbox.process import WORKER_ENVIRONMENT

if TYPE_CHECKING:
    from docker import DockerClient

T = TypeVar("T")

START_S = 60.0
"""A container is ready in 0.2 s on an idle engine; bursts and slow disks get this long."""
LOOK_S = 0.5
"""How often a container that has not connected yet is looked after."""
CREATES = 2
"""Containers started at a time. The engine starts them one after another anyway: eight at once
each take eight times as long, and one may run into `START_S`."""
WORKER_MIB = 96
"""Memory of the worker itself: the zygote, two standbys, one more under way."""
PIDS = 48
MOUNT = "/run/toolhop"

NO_SHARED_PATH = (
    "the engine must run on this machine and see its files: use a local engine (unset DOCKER_HOST, "
    "or point it to a unix:// socket), mount /tmp under the same path where this runs in a "
    "container itself, or pass --sandbox process"
)
NEVER_CONNECTED = (
    "see that the engine runs on this machine and not in a virtual machine or behind a forwarded "
    "socket, and that its runtime lets a container reach a socket of the host (runsc: "
    "--host-uds=open; SELinux: --security-opt label=disable); or pass --sandbox process"
)


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
        self._creates = anyio.Semaphore(CREATES)
        self._outage = Outage()
        # Two starts that miss the image at once must not both make it.
        self._making = threading.Lock()
        self._doubtful: set[str] = set()
        """Containers by name or id that may still be there, as the engine did not say."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """What isolates, for manifests."""
        return {"kind": "docker", "image": self._image, "runtime": self.runtime, **self._facts}

    async def check(self) -> None:
        """Find out whether the engine answers, and is of this machine.

        Raises:
            SandboxUnavailable: it does not, or is not.
        """
        address = containers.engine_address()
        if not containers.is_local(address):
            raise SandboxUnavailable(
                f"the engine at {address} is on another machine", fix=NO_SHARED_PATH
            )
        version = await self._in_thread(lambda client: client.version())
        self._facts["engine"] = str(version.get("Version", ""))

    async def prepare(self) -> None:
        """See `Launcher.prepare`."""
        await self.check()
        await self._in_thread(containers.sweep)
        await anyio.to_thread.run_sync(folders.sweep_folders)
        await self.build(only_if_missing=True)

    async def close(self) -> None:
        """See `Launcher.close`: removes what could not be removed before, and hangs up."""
        for container in list(self._doubtful):
            await self.remove(container)
        client, self._client = self._client, None
        if client is not None:
            await anyio.to_thread.run_sync(client.close)

    async def build(self, *, only_if_missing: bool = False) -> str:
        """Make the image and return its name.

        Raises:
            SandboxUnavailable: no engine, or the base cannot be had.
        """
        from docker.errors import APIError

        try:
            await self._in_thread(
                lambda client: self._make(client, only_if_missing=only_if_missing)
            )
        except APIError as error:
            raise SandboxUnavailable(
                f"the sandbox image {self._image} cannot be made: {error}",
                fix="toolhop sandbox doctor",
            ) from error
        return self._image

    def _make(self, client: DockerClient, *, only_if_missing: bool) -> None:
        with self._making:
            self._make_alone(client, only_if_missing=only_if_missing)

    def _make_alone(self, client: DockerClient, *, only_if_missing: bool) -> None:
        before = containers.image_id(client, self._image)
        if before and only_if_missing:
            return
        if self.base is None:
            containers.import_host_image(client, self._image)
        else:
            containers.build_over(client, self._image, self.base)
        if before and before != containers.image_id(client, self._image):
            # It has lost its name. One in use stays until `toolhop sandbox clean`.
            containers.discard_image(client, before)

    async def start(self) -> DockerWorker:
        """See `Launcher.start`. An engine that went away is waited for, `BACK_S` at most."""
        while True:
            try:
                worker = await self._start_once()
            except EngineLost as error:
                await self._outage.wait(error)
            else:
                self._outage.over()
                return worker

    async def _start_once(self) -> DockerWorker:
        async with self._creates:
            folder = await anyio.to_thread.run_sync(folders.control_folder)
            try:
                return await self._start(folder)
            finally:
                # Nobody else can connect once the socket's name is gone.
                folders.discard(folder)

    async def _start(self, folder: Path) -> DockerWorker:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.setblocking(False)
            listener.bind(str(folder / folders.SOCKET))
            # The container's user is another one; the folder above is closed to all others.
            await anyio.to_thread.run_sync((folder / folders.SOCKET).chmod, 0o666)
            listener.listen(1)
            container_id = await self._in_thread(lambda client: self._run(client, folder))
            link: WorkerLink | None = None
            try:
                await self._connected(listener, container_id)
                link = WorkerLink(listener.accept()[0])
                await link.greet(START_S)
            except BaseException:
                # Also on cancellation: nobody else knows of this container.
                if link is not None:
                    link.close()
                with anyio.CancelScope(shield=True):
                    await self.remove(container_id)
                raise
        self._facts.update(link.facts)
        return DockerWorker(self, container_id, link)

    async def _connected(self, listener: socket.socket, container_id: str) -> None:
        """Wait for the worker to connect, as long as its container is there."""
        for _ in range(int(START_S / LOOK_S)):
            with anyio.move_on_after(LOOK_S):
                await anyio.wait_readable(listener)
                return
            if not await self._in_thread(lambda client: _is_running(client, container_id)):
                raise SandboxUnavailable(
                    "a container was started, but its worker ended without connecting to "
                    f"{listener.getsockname()}",
                    fix=NEVER_CONNECTED,
                )
        raise SandboxFault(f"a container did not connect within {START_S:g} s")

    def _run(self, client: DockerClient, folder: Path) -> str:
        """Create and start a container; its id. An image that is gone or spoilt is made again."""
        from docker.errors import APIError, ImageNotFound

        try:
            try:
                return self._run_once(client, folder)
            except ImageNotFound:
                # Somebody cleared up since this run began.
                self._make(client, only_if_missing=True)
            except APIError as error:
                if not _lacks_python(error):
                    raise
                self._make(client, only_if_missing=False)
            return self._run_once(client, folder)
        except APIError as error:
            raise _refusal(error) from error

    def _run_once(self, client: DockerClient, folder: Path) -> str:
        from docker.errors import APIError, ImageNotFound

        name = containers.new_name()
        # Where the engine hangs up before it answers, nobody knows whether it is there.
        self._doubtful.add(name)
        try:
            container_id = self._create(client, folder, name)
            client.api.start(container_id)
        except ImageNotFound:
            self._doubtful.discard(name)
            raise
        except APIError:
            # One that never ran is not removed by the engine.
            containers.discard(client, name)
            self._doubtful.discard(name)
            raise
        self._doubtful.discard(name)
        return container_id

    def _create(self, client: DockerClient, folder: Path, name: str) -> str:
        from docker.types import LogConfig, Mount

        memory = f"{self.limits.memory_mib + WORKER_MIB}m"
        container = client.containers.create(
            self._image,
            [*image.entry_command(), f"{MOUNT}/{folders.SOCKET}"],
            auto_remove=True,
            cap_drop=["ALL"],
            environment=WORKER_ENVIRONMENT,
            ipc_mode="none",
            labels=containers.labels(),
            log_config=LogConfig(type="none"),
            mem_limit=memory,
            memswap_limit=memory,
            mounts=[Mount(MOUNT, str(folder), type="bind", read_only=True)],
            nano_cpus=1_000_000_000,
            name=name,
            network_mode="none",
            pids_limit=PIDS,
            read_only=True,
            runtime=self.runtime,
            security_opt=["no-new-privileges:true"],
            # An engine that is stopped would wait 10 s for a worker that has nothing to save.
            stop_signal="SIGKILL",
            user="65534:65534",
            working_dir="/",
        )
        return str(container.id)

    async def remove(self, container_id: str) -> None:
        """Remove a container for certain; one that is gone already is no error."""
        # Until the engine has said so; `close` asks again, and the next start sweeps.
        self._doubtful.add(container_id)
        with contextlib.suppress(SandboxUnavailable):
            await self._in_thread(lambda client: containers.discard(client, container_id))
            self._doubtful.discard(container_id)

    async def _in_thread(self, work: Callable[[Any], T]) -> T:
        """Run `work` with the client in a thread; the docker package blocks."""
        return await anyio.to_thread.run_sync(self._with_client, work)

    def _with_client(self, work: Callable[[Any], T]) -> T:
        from requests.exceptions import RequestException

        if self._client is None:
            self._client = containers.connect()
        try:
            return work(self._client)
        except RequestException as error:
            raise EngineLost(
                f"the Docker engine stopped answering: {error}", fix=containers.why_unreachable()
            ) from error


def _is_running(client: DockerClient, container_id: str) -> bool:
    from docker.errors import NotFound

    try:
        state = client.api.inspect_container(container_id)["State"]
    except NotFound:
        return False
    return bool(state.get("Running"))


def _lacks_python(error: Any) -> bool:  # noqa: ANN401 -- docker's APIError, imported lazily
    """Whether a container could not start because its image does not hold what is run."""
    reason = str(error.explanation or error)
    return image.HOME in reason and "no such file or directory" in reason


def _refusal(error: Any) -> SandboxUnavailable:  # noqa: ANN401 -- docker's APIError, imported lazily
    """What it means that the engine refused a container, an `APIError`."""
    reason = str(error.explanation or error)
    fix = "toolhop sandbox doctor"
    if "bind source path does not exist" in reason:
        fix = NO_SHARED_PATH
    elif "runtime" in reason.lower():
        fix = "docker info names the runtimes of this engine; toolhop sandbox doctor lists them"
    return SandboxUnavailable(f"the engine refused a container: {reason}", fix=fix)
