"""Load data sets by name or path, and choose items from one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from toolhop_tools.benchmarks import READ
from toolhop_tools.benchmarks.toolhop.reader import READER as TOOLHOP
from toolhop_tools.errors import BadChoice, DataError, DataNotFound, ToolsError
from toolhop_tools.model import DataSet, Item, samples_of
from toolhop_tools.packages import BadPackage, Registry
from toolhop_tools.readers import folder, native
from toolhop_tools.readers.fetch import Source
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Survey

READERS = Registry(
    "toolhop.readers",
    Reader,
    {
        "builtin": "toolhop_tools.readers.folder:BUILTIN",
        **{name: f"toolhop_tools.benchmarks.{name}.reader:READER" for name in READ},
        "folder": "toolhop_tools.readers.folder:FOLDER",
        "worlds": "toolhop_tools.readers.worlds:READER",
    },
)
"""Readers by data set name. Your package can add a `Reader` through an entry point."""


def load(
    name_or_path: str | Path, *, last_wins: bool = False, skip_broken: bool = False
) -> DataSet:
    """Load a data set in which every row can be used.

    Args:
        name_or_path: the name of a reader, such as ``builtin`` or ``toolhop``, optionally with what
            to read (``toolhop:rows.json``); or a path. A path is read by the benchmark that its
            first row matches; otherwise a file is read as ToolHop's official format (``.json`` or
            ``.jsonl``) and a folder as the built-in set's layout (`toolhop_tools.readers.folder`).
            ``./builtin`` is a path.
        last_wins: official behaviour for tools that share a name (`toolhop.survey`).
        skip_broken: leave out rows with errors, as long as at least one can be used.

    Raises:
        DataNotFound: no reader has that name and nothing is at that path.
        DataNotFetched: ``toolhop`` is not in the cache folder.
        DataError: lists every row that cannot be used.
        BadPackage: the reader of an installed package cannot be used.
    """
    if str(name_or_path) == "builtin":
        return folder.builtin()
    return survey(name_or_path, last_wins=last_wins).usable(skip_broken=skip_broken)


def _of_package(name: str, reader: Reader, path: str, *, last_wins: bool) -> Survey:
    """Call the reader of an installed package, which may break in any way."""
    what = "raised"
    try:
        found = reader.survey(path, last_wins=last_wins)
        for item in samples_of(found.dataset.items) if isinstance(found, Survey) else ():
            what = f"gave {item.id}, whose gold or tools cannot be read:"
            str(item.digest)
    except (ToolsError, OSError):
        raise
    except Exception as error:
        raise BadPackage(
            f"the reader {name!r} of an installed package {what} {type(error).__name__}: {error}; "
            f"repair its function `survey`"
        ) from error
    if not isinstance(found, Survey):
        raise BadPackage(
            f"the reader {name!r} of an installed package returned {found!r}; its function "
            f"`survey` must return a Survey"
        )
    return found


def survey(name_or_path: str | Path, *, last_wins: bool = False) -> Survey:
    """As `load`, but return errors and findings as values; raises if nothing could be read."""
    given = str(name_or_path)
    name, colon, path = given.partition(":")
    try:
        reader = _reader(name, colon) if isinstance(name_or_path, str) else None
        if reader is not None:
            return (
                reader.survey(path, last_wins=last_wins)
                if name in READERS.own
                else _of_package(name, reader, path, last_wins=last_wins)
            )
        if not given or not Path(given).exists():
            raise _unknown(given)
        if Path(given).is_file() and native.is_native_file(Path(given)):
            return Survey(native.read_file(Path(given)), ())
        for own in READERS.own:
            if (reader := READERS.get(own)) and reader.fits and reader.fits(Path(given)):
                return reader.survey(given, last_wins=last_wins)
        if Path(given).is_dir():
            return folder.FOLDER.survey(given, last_wins=last_wins)
        return TOOLHOP.survey(given, last_wins=last_wins)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", origin=given) from None


def readers() -> dict[str, Reader]:
    """Return every reader by name: built-in ones first, then those of installed packages.

    Raises:
        BadPackage: the reader of an installed package cannot be used.
    """
    return _named(READERS.names())


def _named(names: Iterable[str]) -> dict[str, Reader]:
    return {name: reader for name in names if (reader := READERS.get(name))}


def source_of(name: str) -> Source:
    """Return the official files of a data set.

    Raises:
        KeyError: the data set has no known files.
        BadPackage: the reader of an installed package cannot be used.
    """
    reader = READERS.get(name)
    if reader is None or reader.source is None:
        raise KeyError(name)
    return reader.source


def licence_of(name: str) -> str:
    """Return the licence of a data set by its name; empty if unknown."""
    if name == "builtin":
        return "Apache-2.0"  # the project's own
    return source_of(name).licence if name in READ else ""


def _reader(name: str, colon: str) -> Reader | None:
    """Return the named reader; None for a path, which precedes other packages' readers."""
    is_path = not name.isidentifier() or (not colon and Path(name).exists())
    if name not in READERS.own and is_path:
        return None
    reader = READERS.get(name)
    return None if reader is not None and reader.wants_path and not colon else reader


def _unknown(name: str) -> DataNotFound:
    try:
        found = readers()
    except BadPackage:  # the fault of another package, unrelated to the request
        found = _named(READERS.own)
    known = [one for one, reader in found.items() if not reader.wants_path]
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return DataNotFound(
        f"no data set {name!r}, and no file or folder at that path{hint}",
        fix=f"give {', '.join(known)}, or the path of a file in ToolHop's official format "
        "(.json, .jsonl) or of a folder laid out as the built-in set",
    )


def select(
    dataset: DataSet, *, limit: str | None = None, sample_ids: Sequence[str] = ()
) -> Sequence[Item]:
    """Choose items, in data set order.

    Args:
        dataset: the data set to choose from.
        limit: ``10`` for the first ten, ``10-20`` for the tenth to the twentieth (from 1,
            inclusive); applied after `sample_ids`. A range may extend past the end.
        sample_ids: ids, or patterns such as ``geography-*``; all items if empty.

    Raises:
        BadChoice: an unknown id (the message lists the nearest ones), a pattern or range that
            matches nothing, or a malformed limit.
    """
    items = _by_ids(dataset, sample_ids) if sample_ids else dataset.items
    if limit is None:
        return items
    first, last = _range(limit)
    chosen = items[first - 1 : last]
    if not chosen:
        raise BadChoice(
            f"--limit {limit} leaves nothing of {len(items)} items",
            fix=f"give a range within 1-{len(items)}",
        )
    return chosen


def _by_ids(dataset: DataSet, sample_ids: Sequence[str]) -> tuple[Item, ...]:
    wanted: set[str] = set()
    for sample_id in sample_ids:
        matches = {sample_id} & dataset.by_id.keys()
        if not matches and re.search(r"[*?[]", sample_id):
            matches = {identity for identity in dataset.by_id if fnmatchcase(identity, sample_id)}
        if not matches:
            raise BadChoice(
                f"no item {sample_id!r} in {dataset.name}; {_nearest(dataset, sample_id)}"
            )
        wanted |= matches
    return tuple(dataset.by_id[identity] for identity in dataset.by_id if identity in wanted)


def _nearest(dataset: DataSet, sample_id: str) -> str:
    ids = list(dataset.by_id)
    close = get_close_matches(sample_id, ids, n=3, cutoff=0.5)
    part = sample_id.casefold().strip()
    holding = [identity for identity in ids if part and part in identity.casefold()]
    if near := [*dict.fromkeys([*close, *holding])][:3]:
        return f"the nearest ids are {', '.join(near)}"
    span = f"{ids[0]} … {ids[-1]}" if len(ids) > 1 else "".join(ids)
    return f"its {len(ids)} ids are {span}; `toolhop data list` shows them"


def _range(limit: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(?:([0-9]{1,9})\s*-)?\s*([0-9]{1,9})\s*", limit)
    if match:
        first, last = int(match[1] or 1), int(match[2])
        if 1 <= first <= last:
            return first, last
    raise BadChoice(
        f"--limit is {limit!r}; give a count such as 10, or a range such as 10-20, from 1"
    )
