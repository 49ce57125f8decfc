"""Download or import the benchmarks' official data files, and check them.

The package contains none of them. A file with a known digest is stored only if it matches. For
other files the digest is recorded beside the file on first download, as ``FILE.sha256``, and
checked from then on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from toolhop_tools.atomic import atomic
from toolhop_tools.errors import DataNotFetched, FetchError

OnProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of bytes received and the expected total."""

CONNECT_S = 20.0
READ_S = 60.0
"""Read timeout between two chunks, in seconds."""


MOST_BYTES = 200_000_000
"""Maximum size of a file whose size is not known, in bytes."""
HUGGING_FACE, GITHUB = "https://huggingface.co", "https://raw.githubusercontent.com"


@dataclass(frozen=True, slots=True)
class Pin:
    """A file in a repository at a fixed revision, with its digest if known."""

    repository: str
    revision: str
    path: str
    size_bytes: int | None = None
    sha256: str = ""
    """Empty if no digest is published."""
    host: str = HUGGING_FACE

    @property
    def name(self) -> str:
        """The file's name."""
        return Path(self.path).name

    def url(self, endpoint: str = "") -> str:
        """Return the URL at `endpoint`, such as a mirror; by default at the file's own host."""
        place = f"{self.repository}/{self.revision}/{self.path}"
        if self.host == HUGGING_FACE:
            place = f"datasets/{self.repository}/resolve/{self.revision}/{self.path}"
        return f"{(endpoint or self.host).rstrip('/')}/{place}"


@dataclass(frozen=True, slots=True)
class Source:
    """The official files of a data set. A single file is stored in the cache folder itself."""

    name: str
    """Name as in ``--data`` and `toolhop data fetch`."""
    pins: tuple[Pin, ...]
    licence: str
    main: str = ""
    """Name of the file to read; empty to read the folder."""

    @property
    def folder(self) -> Path:
        """Folder of a source with several files."""
        return cache_folder() / f"{self.name}-{self.pins[0].revision[:8]}"

    def file(self, pin: Pin) -> Path:
        """Return the path of one of the files, whether it exists or not."""
        if len(self.pins) > 1:
            return self.folder / pin.name
        name = Path(pin.path)
        return cache_folder() / f"{name.stem}-{pin.revision[:8]}{name.suffix}"

    @property
    def path(self) -> Path:
        """Path to read: a file, or the folder."""
        known = {pin.name: self.file(pin) for pin in self.pins}
        return known[self.main] if self.main else self.folder

    def here(self) -> Path:
        """Return the path to read.

        Raises:
            DataNotFetched: a file is missing, or is not the one that was fetched.
        """
        for pin in self.pins:
            path = self.file(pin)
            if path.exists() and is_pinned(path, pin):
                continue
            missing = f"the official data of {self.name} is not on this machine"
            other = (
                "this is not the pinned file, or the first that was fetched: its SHA-256 differs"
            )
            raise DataNotFetched(
                other if path.exists() else missing,
                origin=str(path),
                fix=f"run `toolhop data fetch {self.name}` (--copy PATH imports a copy), or read a "
                f"file of your own by {self.name}:PATH",
            )
        return self.path


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """``TOOLHOP_CACHE``, or ``toolhop`` in ``XDG_CACHE_HOME`` (if absolute) or ``~/.cache``."""
    environ = os.environ if environ is None else environ
    if own := environ.get("TOOLHOP_CACHE"):
        return Path(own).expanduser()
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "toolhop"


def default_url(pin: Pin, environ: Mapping[str, str] = os.environ) -> str:
    """Return the file's URL at its host; for Hugging Face at ``HF_ENDPOINT`` if that is set."""
    mirror = environ.get("HF_ENDPOINT", "") if pin.host == HUGGING_FACE else ""
    return pin.url(mirror)


def record_of(path: Path) -> Path:
    """Return the path of a file's recorded digest, in the form of ``sha256sum``."""
    return path.with_name(f"{path.name}.sha256")


def wanted_digest(path: Path, pin: Pin) -> str:
    """Return the required SHA-256: the pin's, or the recorded one; empty if there is none."""
    if pin.sha256:
        return pin.sha256
    try:
        return record_of(path).read_text(encoding="utf-8").split(maxsplit=1)[0]
    except (OSError, UnicodeDecodeError, IndexError):
        return ""


def is_pinned(path: Path, pin: Pin) -> bool:
    """Whether the file's SHA-256 is the pinned or recorded one (20 MB take 20 ms)."""
    if not path.is_file():
        return False
    if pin.size_bytes is not None and path.stat().st_size != pin.size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == wanted_digest(path, pin)


def fetch(
    *,
    target: Path,
    pin: Pin,
    url: str | None = None,
    progress: OnProgress | None = None,
) -> Path:
    """Download a file unless it already exists, and return its path.

    Args:
        target: where to store it.
        pin: the file.
        url: URL to use instead of `default_url`, such as a mirror's.
        progress: called with every chunk received. Proxies are taken from the environment
            (``HTTPS_PROXY`` and so on).

    Raises:
        FetchError: no response, an error response, a lost connection, or different content. Nothing
            is stored then.
    """
    import httpx  # takes 0.14 s; every command that loads data imports this module

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
        # httpx raises the last two for an unusable proxy.
        reason = str(error) or type(error).__name__
        raise FetchError(f"no download from {url}: {reason}", fix=_by_hand(pin)) from None
    except OSError as error:
        raise _unwritable(target, error) from None
    return target


def adopt(source: Path, *, target: Path, pin: Pin) -> Path:
    """Import a copy downloaded by hand, with the same check, and return its stored path.

    Raises:
        FetchError: the file cannot be read, or is not the pinned one. Nothing is stored then.
    """
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
        f"download {pin.url()} in a browser or on another machine and run `toolhop data fetch "
        "NAME --copy FILE` (of several files their folder); or set HTTPS_PROXY; or name a mirror "
        "by --url URL or HF_ENDPOINT"
    )


def _keep(
    pieces: Iterable[bytes], target: Path, pin: Pin, progress: OnProgress | None, what: str
) -> None:
    """Write to a temporary file, check, rename. Stops reading beyond the pinned size."""
    digest, size, most = hashlib.sha256(), 0, pin.size_bytes or MOST_BYTES
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, error) from None
    with atomic(target, as_is=True) as beside, beside.open("wb") as file:
        for piece in pieces:
            if not size and not pin.sha256 and piece.lstrip()[:1] not in {b"", b"[", b"{"}:
                raise FetchError(f"{what} is not a JSON file; nothing was kept", fix=_by_hand(pin))
            size += len(piece)
            if size > most:
                break
            digest.update(piece)
            file.write(piece)
            if progress:
                progress(size, pin.size_bytes or size)
        if size > most or (pin.size_bytes is not None and size != pin.size_bytes):
            more = "more than " if size > most else ""
            given = f"has {more}{min(size, most):,} bytes, not {most:,}"
            raise FetchError(f"{what} {given}; nothing was kept", fix=_by_hand(pin))
        _check_digest(digest.hexdigest(), target, pin, what)
    if not wanted_digest(target, pin):
        record_of(target).write_text(f"{digest.hexdigest()}  {target.name}\n", encoding="utf-8")


def _check_digest(found: str, target: Path, pin: Pin, what: str) -> None:
    wanted = wanted_digest(target, pin)
    if not wanted or found == wanted:
        return
    fix = _by_hand(pin)
    if not pin.sha256:
        fix = f"{fix}; where the published file has changed and you want it, remove "
        fix += f"{record_of(target)}, which holds the digest of the first"
    raise FetchError(f"{what} has SHA-256 {found}, not {wanted}; nothing was kept", fix=fix)
