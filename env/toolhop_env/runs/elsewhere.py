"""Segments stored in an object store, or anywhere else that fsspec supports.

A segment is moved in four steps: it is uploaded, read back and compared by size and digest, a
pointer to it is written here, and only then is the local file removed. If the process is killed in
between, the local file remains, and the next move uploads the same content under the same name.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from toolhop_env.extras import install_command
from toolhop_env.runs.files import StoreError, reported
from toolhop_tools import regular
from toolhop_tools.secrets import public_url


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Location, size and digest of a segment stored elsewhere."""

    url: str
    size: int
    sha256: str


_POINTER = TypeAdapter(Elsewhere)


def checked_url(text: str) -> str:
    """Check a URL that is to be written to a manifest, and return it without final slashes.

    Raises:
        ValueError: it is not a usable URL, or it contains secrets.
    """
    parts = public_url(text)
    if not parts.scheme or "::" in text:
        raise ValueError(f"{text!r} is no URL of a folder, such as s3://bucket/runs")
    if not parts.netloc and not parts.path.strip("/"):
        raise ValueError(f"{text!r} names no folder; give one, such as s3://bucket/runs")
    if parts.scheme in ("memory", "data"):
        raise ValueError(
            f"{text!r} keeps nothing once the process has ended; give a store that does, such as "
            "s3://bucket/runs"
        )
    return text.rstrip("/")


def check(url: str) -> None:
    """Check that a URL's store is supported, without contacting it.

    Raises:
        StoreError: it is not.
    """
    _system(url)


def read(pointer: Path) -> Elsewhere:
    """Read a pointer.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        return _POINTER.validate_json(regular.content(pointer, below=2))
    except OSError as error:
        raise StoreError(f"{pointer} cannot be read for where the traces are: {error}") from error
    except ValueError as error:
        raise StoreError(
            f"{pointer} does not say where the traces are, as a JSON object of url, size and "
            "sha256; put back a copy of it"
        ) from error


def to_text(place: Elsewhere) -> bytes:
    """Return the content of a pointer file."""
    return json.dumps(asdict(place)).encode() + b"\n"


def put(path: Path, url: str) -> Elsewhere:
    """Upload a file to `url` and verify it by reading it back.

    Raises:
        StoreError: the upload failed, or what was read back differs.
    """
    with reported(path):
        content = regular.content(path, below=2)
    place = Elsewhere(url, len(content), hashlib.sha256(content).hexdigest())
    system, name = _system(url)
    try:
        system.makedirs(name.rpartition("/")[0], exist_ok=True)
        system.pipe_file(name, content)
        system.invalidate_cache()
        there = system.cat_file(name)
    except Exception as error:  # each store has its own errors
        raise StoreError(f"{url} cannot be written: {_said(error)}") from error
    if (len(there), hashlib.sha256(there).hexdigest()) != (place.size, place.sha256):
        raise StoreError(
            f"{url} holds {len(there)} bytes that are not the {place.size} that were put there; "
            "the traces stay here"
        )
    return place


def fetched(place: Elsewhere, start: int = 0, end: int | None = None) -> bytes:
    """Return the bytes from `start` to `end` of a segment stored elsewhere.

    Raises:
        StoreError: they cannot be read, or the content is not what was uploaded.
    """
    system, name = _system(place.url)
    end = place.size if end is None else end
    try:
        if getattr(system, "local_file", False):  # reading a pipe or device might never end
            os.close(regular.descriptor(Path(name), below=0))
        if (start, end) == (0, place.size):
            found: bytes = system.cat_file(name)
        else:
            found = system.cat_file(name, start=start, end=end)
            if len(found) == place.size:  # a server without range support
                found = found[start:end]
    except Exception as error:  # each store has its own errors
        raise StoreError(f"{place.url} cannot be read: {_said(error)}") from error
    if len(found) != end - start:
        raise StoreError(
            f"{place.url} gives {len(found)} bytes for {end - start}: it is not what was put there"
        )
    if len(found) == place.size and hashlib.sha256(found).hexdigest() != place.sha256:
        raise StoreError(f"{place.url} is not what was put there: its SHA-256 differs")
    return found


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise StoreError(
            f"{url} needs the package fsspec, which is not installed: {_install()}"
        ) from (error)
    try:
        system, name = url_to_fs(url)
    except Exception as error:  # as above; some stores look for credentials here
        raise StoreError(f"{url} cannot be used: {_said(error)}; see {_install()}") from error
    return system, name


def _install() -> str:
    return f"{install_command('fsspec')}, and the package of the store itself, such as s3fs"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
