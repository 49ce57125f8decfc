"""ToolHop's official data file: downloaded or imported, and kept only if it is the pinned one.

The data is CC-BY-4.0 (bytedance-research/ToolHop on Hugging Face). None of it is shipped here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from toolhop_tools.atomic import atomic
from toolhop_tools.errors import FetchError

OnProgress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes that have come and the bytes that will have come in the end."""

CONNECT_S = 20.0
READ_S = 60.0
"""Longest silence of a server between two pieces."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A file on Hugging Face, down to its content."""

    repository: str
    revision: str
    path: str
    size_bytes: int
    sha256: str

    def url(self, endpoint: str) -> str:
        """Where `endpoint`, such as ``https://huggingface.co`` or a mirror, serves it."""
        place = f"datasets/{self.repository}/resolve/{self.revision}/{self.path}"
        return f"{endpoint.rstrip('/')}/{place}"


TOOLHOP_FILE = Pin(
    repository="bytedance-research/ToolHop",
    revision="b439d7279af359fda46e8117ae4f0245b75f5c6b",
    path="data/ToolHop.json",
    size_bytes=19_720_396,
    sha256="0a51f71a44b7025645e452123af3caf2e348301922af91778e268db0188a7fab",
)
"""The file that its Git LFS pointer names at this revision (spec METRICS.md 3.1)."""


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """``TOOLHOP_CACHE``, or ``toolhop`` in ``XDG_CACHE_HOME`` (if absolute) or ``~/.cache``."""
    if own := environ.get("TOOLHOP_CACHE"):
        return Path(own).expanduser()
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "toolhop"


def cached_file(pin: Pin = TOOLHOP_FILE) -> Path:
    """Where the file is kept, whether it is there or not; the name carries the revision."""
    name = Path(pin.path)
    return cache_folder() / f"{name.stem}-{pin.revision[:8]}{name.suffix}"


def default_url(pin: Pin = TOOLHOP_FILE, environ: Mapping[str, str] = os.environ) -> str:
    """The file at ``HF_ENDPOINT``, or at huggingface.co."""
    return pin.url(environ.get("HF_ENDPOINT") or "https://huggingface.co")


def is_pinned(path: Path, pin: Pin = TOOLHOP_FILE) -> bool:
    """Whether the file's size and SHA-256 are the pinned ones (20 MB take 20 ms)."""
    if not path.is_file() or path.stat().st_size != pin.size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == pin.sha256


def fetch(
    *,
    url: str | None = None,
    target: Path | None = None,
    pin: Pin = TOOLHOP_FILE,
    progress: OnProgress | None = None,
) -> Path:
    """Download the pinned file unless it is there already; gives its path.

    Args:
        url: another place than `default_url`, such as a mirror's; the content must be the same.
        target: where to keep it, instead of `cached_file`.
        pin: the file.
        progress: told of every piece that comes.

    Proxies are taken from the environment (``HTTPS_PROXY`` and so on).

    Raises:
        FetchError: no answer, an error's answer, a connection cut, or another content. Then
            nothing is kept.
    """
    import httpx  # 0.14 s, wanted only here; every command that loads data imports this module

    target = target or cached_file(pin)
    if is_pinned(target, pin):
        return target
    url = url or default_url(pin)
    try:
        timeout = httpx.Timeout(READ_S, connect=CONNECT_S)
        with httpx.stream("GET", url, timeout=timeout, follow_redirects=True) as response:
            response.raise_for_status()
            _keep(response.iter_bytes(), target, pin, progress, f"what {url} serves")
    except httpx.HTTPStatusError as error:
        status = f"{error.response.status_code} {error.response.reason_phrase}".strip()
        raise FetchError(f"{url} answered {status}", fix=_by_hand(pin)) from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:
        # The last two are httpx's words on a proxy that it cannot use.
        reason = str(error) or type(error).__name__
        raise FetchError(f"no download from {url}: {reason}", fix=_by_hand(pin)) from None
    except OSError as error:
        raise _unwritable(target, error) from None
    return target


def adopt(source: Path, *, target: Path | None = None, pin: Pin = TOOLHOP_FILE) -> Path:
    """Import a copy downloaded by hand, under the same check; gives the path it is kept at.

    Raises:
        FetchError: the file cannot be read, or is not the pinned one. Then nothing is kept.
    """
    target = target or cached_file(pin)
    try:
        with source.open("rb") as file:
            _keep(iter(lambda: file.read(1 << 20), b""), target, pin, None, str(source))
    except OSError as error:
        message = f"{source} cannot be copied to {target.parent}: {error.strerror}"
        raise FetchError(message, fix=_by_hand(pin)) from None
    return target


def _unwritable(target: Path, error: OSError) -> FetchError:
    message = f"{target.parent} cannot be written: {error.strerror}"
    return FetchError(message, fix="make room, or set TOOLHOP_CACHE to a folder of yours")


def _by_hand(pin: Pin) -> str:
    return (
        f"download {pin.url('https://huggingface.co')} in a browser or on another machine and run "
        "`toolhop data fetch --from FILE`; or set HTTPS_PROXY; or name a mirror by --url URL or "
        "HF_ENDPOINT"
    )


def _keep(
    pieces: Iterable[bytes], target: Path, pin: Pin, progress: OnProgress | None, what: str
) -> None:
    """Write aside, check, rename. A file that grows past the pinned size is not read on."""
    digest, size = hashlib.sha256(), 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, error) from None
    with atomic(target) as beside, beside.open("wb") as file:
        for piece in pieces:
            size += len(piece)
            if size > pin.size_bytes:
                break
            digest.update(piece)
            file.write(piece)
            if progress:
                progress(size, pin.size_bytes)
        if size != pin.size_bytes:
            more = "more than " if size > pin.size_bytes else ""
            given = f"has {more}{min(size, pin.size_bytes):,} bytes, not {pin.size_bytes:,}"
            raise FetchError(f"{what} {given}; nothing was kept", fix=_by_hand(pin))
        if digest.hexdigest() != pin.sha256:
            given = f"has SHA-256 {digest.hexdigest()}, not {pin.sha256}"
            raise FetchError(f"{what} {given}; nothing was kept", fix=_by_hand(pin))
