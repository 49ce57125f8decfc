"""Finished traces packed together, so that a large run has thousands of files, not a million.

    segments/NAME.traces.jsonl.gz    the traces, one gzip member each: `zcat` reads them
    segments/NAME.results.jsonl.gz   index of results and locations; derived from the traces
    segments/NAME.elsewhere.json     in place of the traces: where they were moved to

NAME is a number and a digest of the traces, such as ``000001-3fa9c2d17b60``. A segment is written
once and never changed, so its index is validated by the segment alone, without looking at each
trace.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import to_json

from toolhop_env.attempt import Place
from toolhop_env.runs import elsewhere
from toolhop_env.runs import index as run_index
from toolhop_env.runs.elsewhere import Elsewhere
from toolhop_env.runs.files import (
    EPISODES,
    SEGMENTS,
    StoreError,
    entries,
    file_name,
    reported,
    write_atomic,
)
from toolhop_env.runs.index import IndexLine
from toolhop_tools import regular

TRACES, RESULTS, ELSEWHERE = ".traces.jsonl.gz", ".results.jsonl.gz", ".elsewhere.json"
LEVEL = 6
"""Compression level of gzip. Traces of 5 kB take 55 µs each; level 9 makes them no smaller, and
level 1 takes 38 µs but makes them 5 % larger."""
CHUNK = 1 << 20
_NAME = re.compile(
    r"((\d{6,})-[0-9a-f]{12})(\.traces\.jsonl\.gz|\.elsewhere\.json|\.results\.jsonl\.gz)"
)
_GZIP = 31
"""Value of zlib's `wbits` for a gzip member."""
LARGEST_UNPACKED = 256 << 20
"""Maximum unpacked size of a trace or an index, in bytes."""
TOO_LARGE = f"it unpacks to more than {LARGEST_UNPACKED:,} bytes"
_NO_INDEX = (OSError, EOFError, zlib.error, ValueError, TypeError, KeyError, RecursionError)


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of a run, stored here or elsewhere."""

    folder: Path
    """The folder ``segments`` in the run's folder."""
    name: str

    @property
    def path(self) -> Path:
        """Path of the traces if they are stored here."""
        return self.folder / f"{self.name}{TRACES}"

    @property
    def index(self) -> Path:
        """Path of the index."""
        return self.folder / f"{self.name}{RESULTS}"

    @property
    def pointer(self) -> Path:
        """Path of the pointer to traces stored elsewhere."""
        return self.folder / f"{self.name}{ELSEWHERE}"

    def moved(self) -> Elsewhere:
        """Return the location of traces stored elsewhere.

        Raises:
            StoreError: the pointer cannot be read, or the traces are neither here nor elsewhere.
        """
        if not self.pointer.exists():
            raise StoreError(
                f"the segment {self.name} of {self.folder.parent} is lost: {self.path.name} is not "
                "there; put back a copy of its files"
            )
        return elsewhere.read(self.pointer)

    def place(self, offset: int, length: int) -> Place:
        """Return the location of a trace in this segment."""
        return Place(self.name, offset, length)

    def size(self) -> int:
        """Return the packed size of the traces, in bytes.

        Raises:
            StoreError: they are neither here nor elsewhere.
        """
        try:
            return self.path.stat().st_size
        except OSError:
            return self.moved().size

    def member(self, place: Place) -> bytes:
        """Return the lines of one trace, without reading the rest of the segment.

        Raises:
            StoreError: they cannot be read, or have been changed since packing.
        """
        start, end = place.offset, place.offset + place.length
        try:
            with regular.reading(self.path, below=2) as file:
                file.seek(start)
                packed = file.read(place.length)
        except FileNotFoundError:
            packed = elsewhere.fetched(self.moved(), start, end)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error}") from error
        try:
            return _unpacked(packed)
        except (OSError, EOFError, zlib.error) as error:
            raise self._damaged(start, error) from error

    def members(self) -> Iterator[tuple[Place, bytes]]:
        """Yield the location and lines of every trace, in order, one at a time.

        Raises:
            StoreError: a trace cannot be read, or has been changed since packing.
        """
        offset = length = 0
        lines: list[bytes] = []
        one = zlib.decompressobj(_GZIP)
        for packed in self._chunks():
            left = packed
            while left:
                try:
                    lines.append(one.decompress(left, LARGEST_UNPACKED - sum(map(len, lines)) + 1))
                except zlib.error as error:
                    raise self._damaged(offset, error) from error
                if one.unconsumed_tail:
                    raise self._damaged(offset, TOO_LARGE)
                length += len(left) - len(one.unused_data)
                left = one.unused_data
                if one.eof:
                    yield Place(self.name, offset, length), b"".join(lines)
                    offset, length, lines = offset + length, 0, []
                    one = zlib.decompressobj(_GZIP)
        if length:
            raise self._damaged(offset, "it is cut short")

    def _chunks(self) -> Iterator[bytes]:
        try:
            with regular.reading(self.path, below=2) as file:
                while chunk := file.read(CHUNK):
                    yield chunk
        except FileNotFoundError:
            yield elsewhere.fetched(self.moved())
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error}") from error

    def _damaged(self, offset: int, why: object) -> StoreError:
        return StoreError(
            f"the segment {self.name} of {self.folder.parent} is damaged at byte {offset}: {why}; "
            "put back a copy of its file"
        )

    def results(self, mentioning: str = "") -> list[IndexLine] | None:
        """Return the lines of the index; None if it is lost or was written by other code.

        They describe the traces as packed, whatever happened to them since: the segment's name
        identifies its content.

        Args:
            mentioning: an item, episode or file; lines that do not mention it are left out.
        """
        try:
            packed = regular.content(self.index, below=2)
            head, *texts = _unpacked(packed).splitlines(keepends=True)
            if head != self._head(json.loads(head)["size"], len(texts)):
                return None
            wanted = to_json(mentioning) if mentioning else b""
            lines = [run_index.from_line(text) for text in texts if wanted in text]
        except _NO_INDEX:
            return None
        own = (line.attempt.place and line.attempt.place.segment == self.name for line in lines)
        return lines if all(own) else None

    def check_size(self) -> None:
        """Check that the traces exist, with the size stated in the index if there is one.

        Raises:
            StoreError: they are lost or damaged.
        """
        size = self.size()
        try:
            with regular.reading(self.index, below=2) as raw, gzip.open(raw) as file:
                packed = json.loads(file.readline())["size"]
        except _NO_INDEX:
            return
        if size != packed:
            raise self._damaged(min(size, packed), f"it has {size} bytes, and had {packed}")

    def check(self) -> None:
        """Check that traces stored here match the digest in the segment's name.

        Raises:
            StoreError: they do not match, or are lost.
        """
        self.check_size()
        digest = hashlib.sha256()
        if self.path.exists():
            for chunk in self._chunks():
                digest.update(chunk)
            if digest.hexdigest()[:12] != self.name.partition("-")[2]:
                raise self._damaged(0, "its SHA-256 is not the one in its name")

    def content_of_index(self, lines: Sequence[IndexLine]) -> bytes:
        """Return the content of an index with these lines."""
        whole = [self._head(self.size(), len(lines)), *map(run_index.to_line, lines)]
        return gzip.compress(b"".join(whole), LEVEL, mtime=0)

    def write_index(self, lines: Sequence[IndexLine]) -> None:
        """Replace the index atomically.

        Raises:
            StoreError: it cannot be written.
        """
        write_atomic(self.index, self.content_of_index(lines))

    def _head(self, size: int, count: int) -> bytes:
        own = {"segment": self.name, "size": size, "traces": count}
        return json.dumps({**run_index.facts(), **own}).encode() + b"\n"


def segments(run: Path) -> list[Segment]:
    """Return the segments of a run, in order, including lost ones, which cannot be read.

    A segment is lost if only its index is left, or if its number is missing: segments are numbered
    without gaps.
    """
    names, lost = _named(run / SEGMENTS)
    if lost:  # or packed between two steps of the listing
        names, lost = _named(run / SEGMENTS)
    return [Segment(run / SEGMENTS, name) for name in sorted(names | lost)]


def _named(folder: Path) -> tuple[set[str], set[str]]:
    """Return the names of segments that have any file, and the numbers of those that have none."""
    found = [match for one in entries(folder) if (match := _NAME.fullmatch(one.name))]
    numbers = {int(match[2]) for match in found}
    wanted = range(1, max(numbers, default=0))
    return {match[1] for match in found}, {f"{n:06}" for n in wanted if n not in numbers}


def packed(traces: Iterable[bytes]) -> tuple[bytes, list[tuple[int, int]]]:
    """Pack traces into a segment's content; also return the offset and length of each."""
    members: list[bytes] = []
    places: list[tuple[int, int]] = []
    offset = 0
    for content in traces:
        members.append(gzip.compress(content, LEVEL, mtime=0))
        places.append((offset, len(members[-1])))
        offset += places[-1][1]
    return b"".join(members), places


def next_segment(run: Path, content: bytes) -> Segment:
    """Return the new segment that `content` will be written to."""
    number = max((int(one.name.partition("-")[0]) for one in segments(run)), default=0) + 1
    return Segment(run / SEGMENTS, f"{number:06}-{hashlib.sha256(content).hexdigest()[:12]}")


def _unpacked(packed: bytes) -> bytes:
    """Unpack a gzip member. Raises EOFError, zlib.error: it is invalid, truncated or too large."""
    one = zlib.decompressobj(_GZIP)
    content = one.decompress(packed, LARGEST_UNPACKED + 1)
    if not one.eof:
        raise EOFError(TOO_LARGE if len(content) > LARGEST_UNPACKED else "it is cut short")
    return content


def file_of(content: bytes) -> str:
    """Return the former file name of a packed trace, from its first line; empty if that fails."""
    try:
        found = json.loads(content[: content.find(b"\n") + 1])["episode"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return f"{file_name(found)}.jsonl" if isinstance(found, str) else ""


def remove_packed(run: Path, file: str, place: Place) -> None:
    """Remove the file of a packed trace, left behind when packing was killed.

    Raises:
        StoreError: the file differs from the packed trace.
    """
    path = run / EPISODES / file
    with reported(path):
        if regular.content(path, below=2) != Segment(run / SEGMENTS, place.segment).member(place):
            raise StoreError(
                f"{path} is not the trace of that name in the segment {place.segment}: the file "
                "was changed after it was packed; move it away"
            )
        path.unlink()


def sweep(run: Path) -> None:
    """Remove temporary files that killed processes left behind. The caller must hold the run."""
    for entry in entries(run / SEGMENTS):
        if entry.name.startswith("."):
            path = Path(entry.path)
            with reported(path):
                path.unlink()
