"""Upkeep of what we leave in an engine: images, containers, and their resource use.

Only objects with our labels are ever touched. All functions block: call them in a thread, or from a
command that does nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolhop_sandbox import owner
from toolhop_sandbox.docker import containers, image
from toolhop_sandbox.docker.containers import Container

if TYPE_CHECKING:
    from docker import DockerClient

ENDED = ("exited", "dead")


@dataclass(frozen=True, slots=True)
class Image:
    """One of our images."""

    id: str
    name: str
    """Name with tag; the id if a newer build took over the name."""
    size_bytes: int
    home: str = ""
    """Label of the installation that built it; empty for images of earlier versions."""

    @property
    def of_others(self) -> bool:
        """Whether it belongs to another installation that may still need it."""
        return self.home not in ("", owner.home()) and not owner.home_is_gone(self.home)


@dataclass(frozen=True, slots=True)
class Removed:
    """What `clean` removed."""

    containers: tuple[str, ...]
    images: tuple[Image, ...]
    in_use: tuple[Image, ...]
    """Images that could not be removed because containers use them."""


@dataclass(frozen=True, slots=True)
class ContainerUsage:
    """One of our containers, and the memory it uses now."""

    container: Container
    memory_bytes: int | None
    """Memory in bytes; None if the container ended during the query."""


def images(client: DockerClient) -> Iterator[Image]:
    """Yield all our images, current and old, by name."""
    marked = client.api.images(filters={"label": f"{containers.IMAGE_LABEL}=1"})
    for summary in marked:
        names = [name for name in summary.get("RepoTags") or [] if name != "<none>:<none>"]
        # A tag that a user has added to our image is theirs to remove.
        own = [name for name in names if name.startswith(f"{image.REPOSITORY}:")]
        for name in own or ([] if names else [summary["Id"]]):
            home = (summary.get("Labels") or {}).get(containers.HOME_LABEL, "")
            yield Image(summary["Id"], name, summary["Size"], home)


def size_bytes(client: DockerClient, name: str) -> int:
    """Return the size of an image, in bytes."""
    return int(client.images.get(name).attrs["Size"])


def clean(client: DockerClient, *, current: bool = False) -> Removed:
    """Remove containers that ended or lost their owner, and our images except the current one.

    Images of other installations remain: see `Image.of_others`.

    Args:
        client: client of the engine.
        current: whether to remove the current image too, unless a container uses it.
    """
    ended = [one.id for one in containers.ours(client) if one.orphaned or one.state in ENDED]
    gone = tuple(one for one in ended if containers.discard(client, one))
    keep = None if current else image.tag()
    removed: list[Image] = []
    in_use: list[Image] = []
    for one in list(images(client)):
        if one.name != keep and not one.of_others:
            (removed if containers.discard_image(client, one.name) else in_use).append(one)
    return Removed(gone, tuple(removed), tuple(in_use))


def usage(client: DockerClient) -> list[ContainerUsage]:
    """Return the resource use of our running containers, oldest first."""
    running = [one for one in containers.ours(client) if one.state not in ENDED]
    running.sort(key=lambda one: one.started_s)
    # The engine takes 0.8 s per answer, as it samples twice.
    with ThreadPoolExecutor(max_workers=8) as threads:
        memory = threads.map(lambda one: _memory_bytes(client, one.id), running)
        return [ContainerUsage(one, held) for one, held in zip(running, memory, strict=True)]


def _memory_bytes(client: DockerClient, container_id: str) -> int | None:
    """Return memory in use without the page cache, as `docker stats` does."""
    from docker.errors import APIError

    # ValueError: the answer is empty if the container ends during the query.
    with contextlib.suppress(APIError, ValueError):
        reported = client.api.stats(container_id, stream=False, one_shot=True).get(
            "memory_stats", {}
        )
        parts = reported.get("stats", {})
        cache = parts.get("inactive_file", parts.get("total_inactive_file", 0))
        return int(reported["usage"] - cache) if "usage" in reported else None
    return None
