"""Finding and redacting files that contain a secret (`toolhop_tools.secrets`)."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from toolhop_env.runs.files import MANIFEST, held, reported, sync_folder, write_atomic
from toolhop_env.runs.segments import TRACES, Segment, packed
from toolhop_tools.secrets import holds_secret, redacted_bytes


def holders(folder: Path) -> Iterator[Path]:
    """Yield the texts and packed traces below `folder` that contain a secret; skip other files.

    Raises:
        StoreError: a file cannot be read.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with reported(path):
                if holds_secret(path) or any(redacted_bytes(one) != one for one in _packed(path)):
                    yield path


def redact(path: Path) -> None:
    """Redact a file found by `holders`, atomically; affected indexes are rebuilt when read.

    Raises:
        StoreError: the file cannot be read or written, or its run is being played.
    """
    run = next((one for one in path.parents if (one / MANIFEST).is_file()), None)
    with held(run) if run else contextlib.nullcontext(), reported(path):
        if not path.name.endswith(TRACES):
            write_atomic(path, path.read_bytes())  # which redacts
            return
        segment = Segment(path.parent, path.name.removesuffix(TRACES))
        content, _ = packed(map(redacted_bytes, _packed(path)))
        segment.index.unlink(missing_ok=True)
        # First under its old name, so that it is never there twice or missing.
        write_atomic(path, content)
        number = segment.name.partition("-")[0]
        path.rename(path.with_name(f"{number}-{hashlib.sha256(content).hexdigest()[:12]}{TRACES}"))
        sync_folder(path.parent)


def _packed(path: Path) -> Iterator[bytes]:
    if path.name.endswith(TRACES):
        segment = Segment(path.parent, path.name.removesuffix(TRACES))
        yield from (lines for _, lines in segment.members())
