"""Looking after what we leave in an engine: images, containers, and what they use.

Nothing without a label of ours is ever touched. All of it blocks: call it in a thread, or from a
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
    """An image of ours."""

    id: str
    name: str
    """With its tag; the id where a newer build took the name."""
    size_bytes: int
    home: str = ""
    """Label of the installation that made it; empty for what an earlier version made."""

    @property
    def of_others(self) -> bool:
        """Whether another installation made it that may still want it."""
        return self.home not in ("", owner.home()) and not owner.home_is_gone(self.home)


@dataclass(frozen=True, slots=True)
class Removed:
    """What `clean` took away."""

    containers: tuple[str, ...]
    images: tuple[Image, ...]
    in_use: tuple[Image, ...]
    """Images it would have removed, had no container been using them."""


@dataclass(frozen=True, slots=True)
class ContainerUsage:
    """A container of ours and the memory it holds now."""

    container: Container
    memory_bytes: int | None
    """None where it ended while it was asked."""


def images(client: DockerClient) -> Iterator[Image]:
    """All images of ours, current and old, by name."""
    marked = client.api.images(filters={"label": f"{containers.IMAGE_LABEL}=1"})
    for summary in marked:
        names = [name for name in summary.get("RepoTags") or [] if name != "<none>:<none>"]
        # Somebody may have tagged ours with a name of their own: that is theirs to remove.
        own = [name for name in names if name.startswith(f"{image.REPOSITORY}:")]
        for name in own or ([] if names else [summary["Id"]]):
            home = (summary.get("Labels") or {}).get(containers.HOME_LABEL, "")
            yield Image(summary["Id"], name, summary["Size"], home)


def size_bytes(client: DockerClient, name: str) -> int:
    """Size of an image."""
    return int(client.images.get(name).attrs["Size"])


def clean(client: DockerClient, *, current: bool = False) -> Removed:
    """Remove containers that ended or whose owner did, and our images but the current one.

    An image that another installation made stays: see `Image.of_others`.

    Args:
        client: of the engine.
        current: remove the current image as well, unless a container uses it.
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
    """What our running containers use, oldest first."""
    running = [one for one in containers.ours(client) if one.state not in ENDED]
    running.sort(key=lambda one: one.started_s)
    # The engine takes 0.8 s for each answer, as it looks twice.
    with ThreadPoolExecutor(max_workers=8) as threads:
        memory = threads.map(lambda one: _memory_bytes(client, one.id), running)
        return [ContainerUsage(one, held) for one, held in zip(running, memory, strict=True)]


def _memory_bytes(client: DockerClient, container_id: str) -> int | None:
    """Memory in use less the page cache, as `docker stats` counts."""
    from docker.errors import APIError

    # ValueError: the answer about one that ends while it is asked is empty.
    with contextlib.suppress(APIError, ValueError):
        reported = client.api.stats(container_id, stream=False, one_shot=True).get(
            "memory_stats", {}
        )
        parts = reported.get("stats", {})
        cache = parts.get("inactive_file", parts.get("total_inactive_file", 0))
        return int(reported["usage"] - cache) if "usage" in reported else None
    return None
