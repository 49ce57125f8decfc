"""The Docker sandbox: workers in containers that hold nothing worth stealing.

Each container has no network, a read-only root, no capabilities, no way to gain new privileges, its
own IPC namespace, a user that owns nothing, and limits on processes, memory and processors; its
image has no shell. The worker adds the measures in `worker.lockdown`. Nothing secret is mounted,
passed or set inside.

Host and worker communicate over a socket mounted into the container or, if the engine is on another
machine or in a virtual one, over the container's standard streams (`toolhop_sandbox.attach`).

A container ends when its owner does: the worker reads end-of-file on the control socket, and the
engine removes the container (`auto_remove`). What is left of a frozen container is removed at the
next start, by its owner label: only containers whose owner is gone, never those of a concurrent
run.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args
from uuid import uuid4

import anyio
import anyio.to_thread

from toolhop_sandbox.attach.tunnel import Tunnel
from toolhop_sandbox.base import Limits
from toolhop_sandbox.docker import containers, folders, hardening, image
from toolhop_sandbox.docker.meeting import meeting
from toolhop_sandbox.docker.outage import EngineLost, Outage
from toolhop_sandbox.docker.refusals import (
    NO_SHARED_PATH,
    Unshared,
    lacks_python,
    refusal,
    see_that_it_fits,
    see_that_it_knows,
)
from toolhop_sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_sandbox.link import WorkerLink
from toolhop_sandbox.outcome import JSON
from toolhop_sandbox.process import worker_environment

if TYPE_CHECKING:
    from docker import DockerClient

log = logging.getLogger(__name__)

T = TypeVar("T")
Transport: TypeAlias = Literal["auto", "socket", "attach"]
TRANSPORTS: tuple[str, ...] = get_args(Transport)

CLOSES = 3
"""Attempts to remove remaining containers if the engine drops the connection; the next start
removes what is left after that."""
START_S = 60.0
"""Seconds that a container may take to start: 0.2 s if idle, more under load."""
ENDED_S = 2.0
"""Seconds that an engine may take to record a container's end; 0.2 s under load."""
CREATES = 2
"""Maximum number of containers started at a time. The engine starts them one after another
anyway: eight at once each take eight times as long, and one may exceed `START_S`."""
WORKER_MIB = 96
"""Memory of the worker itself in MiB: the zygote, and up to eleven standbys of 1.5 MB."""
RELAY_MIB = 32
"""Memory of the relay in MiB, if one is used."""
MOUNT = "/run/toolhop"
ATTACHES = (
    "The engine's containers share no socket with this machine, so calls go over their standard "
    "streams: held by the same walls, 1 to 2 ms slower a call"
)
NO_SIGN_OF_LIFE = "toolhop sandbox build, or see what toolhop sandbox doctor says"


@dataclass
class DockerWorker:
    """A worker in its own container."""

    engine: DockerEngine
    container_id: str
    link: WorkerLink
    tunnel: Tunnel | None = None
    """Carries the link's packets if the container shares no socket; else None."""

    async def stop(self) -> None:
        """Close the link and remove the container, whatever its state."""
        self.link.close()
        if self.tunnel is not None:
            await anyio.to_thread.run_sync(self.tunnel.stop)
        await self.engine.remove(self.container_id)


@dataclass
class DockerEngine:
    """Starts workers as containers of the engine that DOCKER_HOST names; implements `Launcher`."""

    limits: Limits = field(default_factory=Limits)
    base: str | None = None
    """Image with python3 to add the worker to; None to build one from this interpreter."""
    runtime: str | None = None
    """Container runtime, such as ``runsc``; None for the engine's default."""
    transport: Transport = "auto"
    """Connection between host and worker. ``auto`` uses a mounted socket if that works."""
    hash_seed: int = 0
    """Seed that determines the order of sets; runs keep the default."""

    def __post_init__(self) -> None:
        self._client: DockerClient | None = None
        self._image = image.tag(self.base)
        self._facts: dict[str, JSON] = {}
        self._creates = anyio.Semaphore(CREATES)
        self._outage = Outage()
        # Two concurrent starts that find no image must not both build it.
        self._making = threading.Lock()
        self._mark = uuid4().hex
        """Label of the containers that this launcher starts."""
        self._attaches = self.transport == "attach"
        self._started_once = False
        """Whether a worker has started. If so, a later failure is no fault of the settings."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """The isolation in use, for manifests."""
        transport = "attach" if self._attaches else "socket"
        facts = {"image": self._image, "runtime": self.runtime, "transport": transport}
        return {"kind": "docker", **facts, **self._facts}

    async def check(self) -> None:
        """Check that the engine answers, can be reached as requested, and has the runtime.

        Raises:
            SandboxUnavailable: one of these fails.
        """
        address = containers.engine_address()
        if not containers.is_local(address):
            reason = Unshared(f"the engine at {address} is on another machine", fix=NO_SHARED_PATH)
            if self.transport == "socket":
                raise reason
            self._attach_from_now_on(reason)
        version = await self._in_thread(lambda client: client.version())
        self._facts["engine"] = str(version.get("Version", ""))
        if self.runtime is not None:
            see_that_it_knows(self.runtime, await self._in_thread(lambda client: client.info()))

    async def prepare(self) -> None:
        """See `Launcher.prepare`."""
        await self.check()
        await self._in_thread(containers.sweep)
        await anyio.to_thread.run_sync(folders.sweep_folders)
        await self.build(only_if_missing=True)

    async def close(self) -> None:
        """Remove remaining containers and close the connection; see `Launcher.close`."""
        # If the engine dropped the connection before answering, it may have started more.
        for _ in range(CLOSES if self._client is not None else 0):
            with contextlib.suppress(SandboxUnavailable):
                await self._in_thread(lambda client: containers.sweep_marked(client, self._mark))
                break
        client, self._client = self._client, None
        if client is not None:
            await anyio.to_thread.run_sync(client.close)

    async def build(self, *, only_if_missing: bool = False) -> str:
        """Build the image and return its name.

        Raises:
            SandboxUnavailable: there is no engine, or the base is not available.
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
            see_that_it_fits(client.version())
            containers.import_host_image(client, self._image)
        else:
            containers.build_over(client, self._image, self.base)
        if before and before != containers.image_id(client, self._image):
            # The old image has lost its name. If in use, it stays until `toolhop sandbox clean`.
            containers.discard_image(client, before)

    async def start(self) -> DockerWorker:
        """See `Launcher.start`. If the engine is away, wait for it for up to `BACK_S`."""
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
            if not self._attaches:
                try:
                    return await self._start_mounted()
                except Unshared as reason:
                    if self._started_once:
                        # Other workers connected, so this one was killed, as when the engine stops.
                        raise SandboxFault(reason.message) from reason
                    if self.transport == "socket":
                        raise
                    self._attach_from_now_on(reason)
            return await self._start_attached()

    def _attach_from_now_on(self, reason: Unshared) -> None:
        if not self._attaches:
            self._attaches = True
            log.warning("%s (%s)", ATTACHES, reason.message)

    async def _start_attached(self) -> DockerWorker:
        tunnel = Tunnel()
        container_id = ""
        try:
            container_id = await self._in_thread(lambda client: self._run(client, tunnel))
            tunnel.start()
            link = WorkerLink(tunnel.control)
            await self._greeted(link, container_id)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(tunnel.stop)
                if container_id:
                    await self.remove(container_id)
            raise
        self._started_once = True
        self._facts.update(link.facts)
        return DockerWorker(self, container_id, link, tunnel)

    async def _greeted(self, link: WorkerLink, container_id: str) -> None:
        """Wait until the worker behind a tunnel is ready."""
        try:
            await link.greet(START_S)
        except SandboxFault as fault:
            # Its streams end before the engine has recorded its end.
            deadline_s = anyio.current_time() + ENDED_S
            while await self._in_thread(lambda client: _is_running(client, container_id)):
                if anyio.current_time() > deadline_s:
                    raise
                await anyio.sleep(0.05)
            raise SandboxUnavailable(
                f"a container was started, but its worker ended at once: {fault}",
                fix=NO_SIGN_OF_LIFE,
            ) from fault

    async def _start_mounted(self) -> DockerWorker:
        async with meeting() as place:
            container_id = await self._in_thread(lambda client: self._run(client, place.folder))
            link: WorkerLink | None = None
            try:
                connected = await place.worker(
                    START_S,
                    lambda: self._in_thread(lambda client: _is_running(client, container_id)),
                    lambda: self._in_thread(containers.maps_users),
                )
                link = WorkerLink(connected)
                await link.greet(START_S)
            except BaseException:
                # Also on cancellation, as nothing else knows of this container.
                if link is not None:
                    link.close()
                with anyio.CancelScope(shield=True):
                    await self.remove(container_id)
                raise
        self._started_once = True
        self._facts.update(link.facts)
        return DockerWorker(self, container_id, link)

    def _run(self, client: DockerClient, way: Path | Tunnel) -> str:
        """Create and start a container and return its id; rebuild a missing or broken image."""
        from docker.errors import APIError, ImageNotFound

        try:
            try:
                return self._run_once(client, way)
            except ImageNotFound:
                # The image was removed since this run began.
                self._make(client, only_if_missing=True)
            except APIError as error:
                if not lacks_python(error):
                    raise
                self._make(client, only_if_missing=False)
            return self._run_once(client, way)
        except APIError as error:
            refused = refusal(error)
            if self._started_once and error.is_server_error():
                # It has started workers before, so it is stopping or still starting.
                raise EngineLost(refused.message, fix=refused.fix) from error
            raise refused from error

    def _run_once(self, client: DockerClient, way: Path | Tunnel) -> str:
        from docker.errors import APIError

        container_id = self._create(client, way)
        try:
            if isinstance(way, Tunnel):
                way.attach(client, container_id)
            client.api.start(container_id)
        except APIError:
            # The engine does not remove a container that never ran.
            containers.discard(client, container_id)
            raise
        return container_id

    def _create(self, client: DockerClient, way: Path | Tunnel) -> str:
        from docker.types import Mount
        from docker.utils import version_lt

        if isinstance(way, Tunnel):
            command, mounts, worker_mib = (
                image.entry_command("attach.relay"),
                [],
                WORKER_MIB + RELAY_MIB,
            )
        else:
            command = [*image.entry_command(), f"{MOUNT}/{folders.SOCKET}"]
            mounts = [Mount(MOUNT, str(way), type="bind", read_only=True)]
            worker_mib = WORKER_MIB
        options = hardening.options(self.limits.memory_mib + worker_mib)
        if version_lt(client.api.api_version, "1.41"):
            # Docker before 20.10 has no private cgroup namespaces.
            options.pop("cgroupns", None)
        container = client.containers.create(
            self._image,
            command,
            auto_remove=True,
            environment=worker_environment(self.hash_seed),
            # The default is the container's id, which would make calls differ between workers.
            hostname="toolhop",
            labels=containers.labels(self._mark),
            mounts=mounts,
            runtime=self.runtime,
            stdin_open=isinstance(way, Tunnel),
            # Otherwise a stopping engine waits 10 s for a worker that has nothing to save.
            stop_signal="SIGKILL",
            working_dir="/",
            **options,
        )
        return str(container.id)

    async def remove(self, container_id: str) -> None:
        """Remove a container if it exists; `close` and the next start retry after a failure."""
        with contextlib.suppress(SandboxUnavailable):
            await self._in_thread(lambda client: containers.discard(client, container_id))

    async def _in_thread(self, work: Callable[[Any], T]) -> T:
        """Run `work` with the client in a thread, as the docker package blocks."""
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
