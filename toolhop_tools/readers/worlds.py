"""Read generated items: by their spec, or from a file that refers to them.

Such a file has a header line, ``{"toolhop_worlds": 1, "generator": ..., "spec": ..., "items":
...}``, with the knobs of each spec, and one line per item: index and digest and, for human readers,
question, answer, chain, family and difficulty. To read it, each item is generated again and its
digest compared.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import overload

from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular
from toolhop_tools.errors import DataError, DataProblem, why
from toolhop_tools.growing import append, locked
from toolhop_tools.model import DataSet, Item, ItemsOnDemand
from toolhop_tools.readers.datafile import fields_of
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Survey
from toolhop_tools.worlds import items
from toolhop_tools.worlds.spec import BENCHMARKS, Series, Spec, knobs_text, parse, referred

MARK = "toolhop_worlds"
"""Field that identifies the header; its value is the format version."""
FORMAT = 1
BLOCKS = 32
"""Number of cached blocks: 640 items, about 30 MB."""
SHA256_BYTES = 32
OTHERWISE = "made-otherwise"
FIX = "install the toolhop-env whose generator made the file, or make the file again"


@lru_cache(maxsize=BLOCKS)
def _block(spec: Spec, number: int, generator: int) -> tuple[Item, ...]:
    del generator  # only part of the cache key
    return items.block(spec, number)


def item_at(spec: Spec, index: int) -> Item:
    """Return an item; its block is cached for a while."""
    return _block(spec, index // items.BLOCK, items.VERSION)[index % items.BLOCK]


def is_made(item: Item) -> bool:
    """Whether the generator reproduces exactly this item from the reference in its row."""
    place = referred(item)
    return place is not None and item_at(*place).digest == item.digest


@dataclass(frozen=True)
class Listing:
    """The items that a file lists, by line (from 0, without the header)."""

    path: str
    generator: int
    indexes: array[int]
    digests: bytes
    """Concatenated digests of `SHA256_BYTES` each."""

    def digest(self, line: int) -> str:
        """Return the digest of the item at a line."""
        return self.digests[SHA256_BYTES * line : SHA256_BYTES * (line + 1)].hex()

    def differs(self, line: int, item: Item) -> list[DataProblem]:
        """Report how a regenerated item differs from the listed one; empty if it does not."""
        expected = f"the digest {self.digest(line)[:12]}, made by generator {self.generator}"
        given = f"{item.digest[:12]}, made by generator {items.VERSION}"
        problem = DataProblem(OTHERWISE, f"id {item.id}", "digest", expected, given)
        return [] if item.digest == self.digest(line) else [problem]


class MadeItems(ItemsOnDemand):
    """The items of a series, or those that a file lists."""

    def __init__(
        self, series: Series, listing: Listing | None = None, at: range | None = None
    ) -> None:
        """Select all items, or those at some indexes of the series, or lines of the listing."""
        self.series, self.listing = series, listing
        count = len(series if listing is None else listing.indexes)
        self.at = range(count) if at is None else at

    def __len__(self) -> int:
        return len(self.at)

    @overload
    def __getitem__(self, key: int) -> Item: ...
    @overload
    def __getitem__(self, key: slice) -> MadeItems: ...
    def __getitem__(self, key: int | slice) -> Item | MadeItems:
        """Return an item, or a slice whose items are generated on demand as well.

        Raises:
            IndexError: there is no such item.
            DataError: the file lists a different item for this generator version.
        """
        if isinstance(key, slice):
            return MadeItems(self.series, self.listing, self.at[key])
        item = self.made(line := self.at[key])
        if self.listing and (problems := self.listing.differs(line, item)):
            raise DataError("it lists another item", problems, origin=self.listing.path, fix=FIX)
        return item

    def place(self, at: int) -> tuple[Spec, int]:
        """Return the spec and index of the item at one of the positions in `at`."""
        return self.series.place(at if self.listing is None else self.listing.indexes[at])

    def made(self, at: int) -> Item:
        """Return the generated item, ignoring the listing."""
        return item_at(*self.place(at))

    @property
    def generator(self) -> int:
        """Version of the generator."""
        return items.VERSION

    @property
    def digest(self) -> str:
        """SHA-256 of specs and version, or of the listed digests in order."""
        text = f"generator {items.VERSION}\n{self.series.specs}\n{self.at}"
        if self.listing:
            text = "\n".join(map(self.listing.digest, self.at))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def by_id(self) -> Mapping[str, Item]:
        """Items by id."""
        return _ById(self)


@dataclass(frozen=True)
class _ById(Mapping[str, Item]):
    made: MadeItems

    def _find(self, identity: str) -> int:
        index, made = self.made.series.index_of(identity), self.made
        return made.at.index(made.listing.indexes.index(index) if made.listing else index)

    def __getitem__(self, identity: str) -> Item:
        try:
            return self.made[self._find(identity)]
        except ValueError:
            raise KeyError(identity) from None

    def __contains__(self, identity: object) -> bool:
        try:
            return self._find(str(identity)) >= 0
        except ValueError:
            return False

    def __iter__(self) -> Iterator[str]:
        places = map(self.made.place, self.made.at)
        return (spec.id_of(index) for spec, index in places)

    def __len__(self) -> int:
        return len(self.made)


def survey(path: str, *, last_wins: bool = False) -> Survey:
    """Read the items of a spec (`toolhop_tools.worlds.spec.parse`), or of a file that refers to
    items.

    Raises:
        BadChoice: the spec cannot be parsed.
        DataError: the file cannot be read, or the generator no longer makes the benchmark's items.
    """
    del last_wins  # no two tools of an item share a name
    if os.path.isfile(path):  # noqa: PTH113 -- False for a spec that is too long for a path
        return _survey_file(Path(path))
    series = parse(path)
    fixed = BENCHMARKS.get(series.text.partition(",")[0])
    if fixed and fixed.generator != items.VERSION:
        raise DataError(
            f"its items are of generator {fixed.generator}, and this is {items.VERSION}",
            origin=f"worlds:{path}",
            fix="install the toolhop-env that has it, or give seed= and tier= for new ones as hard",
        )
    name = series.text if fixed else f"worlds:{series.text}"
    origin = f"toolhop_tools.worlds, generator {items.VERSION}"
    return Survey(DataSet(name, origin, MadeItems(series)), ())


READER = Reader(
    "items without end, made of a seed: worlds:seed=7,items=200,hops=3-5",
    survey,
    fits=lambda path: MARK in fields_of(path),
)


def _survey_file(path: Path) -> Survey:
    made, problems = MadeItems(*_read(path)), list[DataProblem]()
    if made.listing and made.listing.generator != items.VERSION:
        for line in made.at:
            problems += made.listing.differs(line, made.made(line))
    return Survey(DataSet(path.stem, str(path), made), tuple(problems), FIX)


def _read(path: Path) -> tuple[Series, Listing]:
    number, indexes, digests = 1, array("Q"), bytearray()
    try:
        with regular.reading(path, below=0) as file:
            head = json.loads(file.readline())
            series, generator = parse(head["spec"]), int(head["generator"])
            if head[MARK] != FORMAT:
                message = f"its format is {head[MARK]!r}; this toolhop-env reads {FORMAT}"
                raise DataError(message, origin=str(path), fix="install a newer one")
            for line in file:
                number += 1
                row = json.loads(line)
                series.place(row["index"])
                indexes.append(row["index"])
                digests += bytes.fromhex(row["digest"]).rjust(SHA256_BYTES)[:SHA256_BYTES]
    except (ValueError, LookupError, TypeError, OverflowError):
        message = f"line {number} is not of a file that `toolhop worlds make` wrote"
        raise DataError(message, origin=str(path), fix="make the file again") from None
    return series, Listing(str(path), generator, indexes, bytes(digests))


def write(series: Series, path: Path, on_item: Callable[[], None] = lambda: None) -> None:
    """Write a file that refers to the items of a series.

    The file grows beside `path`, as ``NAME.part``, and is renamed when complete. A partial file of
    the same series and generator from an earlier call is continued.

    Args:
        series: the items to list.
        path: the file; it is replaced.
        on_item: called for each item written.

    Raises:
        DataError: the file cannot be written, or another process is writing it.
        BadChoice: as `items.block`.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        descriptor = regular.descriptor(part, os.O_RDWR | os.O_CREAT, below=0)
        try:
            if not locked(descriptor) or not os.path.samestat(os.fstat(descriptor), part.lstat()):
                raise DataError("another process writes it", origin=str(part), fix="wait for it")
            done = _kept(descriptor, _head(series))
            for index in range(len(series)):
                if index >= done:
                    append(descriptor, _row(series, index), sync=False)
                on_item()
            os.fsync(descriptor)
            part.replace(path)
        finally:
            os.close(descriptor)
    except OSError as error:
        fix = "give another file, or make room"
        raise DataError(f"cannot be written: {why(error)}", origin=str(path), fix=fix) from None


def _kept(descriptor: int, head: bytes) -> int:
    """Return the number of items after this header in a partial file; anything else is removed."""
    with open(descriptor, "rb", closefd=False) as file:
        count, end = -1, 0
        for line in file:
            if not line.endswith(b"\n") or (count < 0 and line != head):
                break
            count, end = count + 1, end + len(line)
    os.ftruncate(descriptor, end)
    if count < 0:
        append(descriptor, head, sync=False)
    return max(0, count)


def _head(series: Series) -> bytes:
    knobs: list[JSON] = [knobs_text(spec.knobs) for spec in series.specs]
    return _line({MARK: FORMAT, "generator": items.VERSION, "spec": series.text,
                  "items": len(series), "knobs": knobs})  # fmt: skip


def _row(series: Series, index: int) -> bytes:
    item = item_at(*series.place(index))
    chain = " ".join(hop.tool.name for hop in item.hops)
    return _line({"index": index, "digest": item.digest, "question": item.question,
                  "answer": item.answer, "chain": chain, "family": item.extra["family"],
                  items.HARD: item.extra[items.HARD]})  # fmt: skip


def _line(row: dict[str, JSON]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"
