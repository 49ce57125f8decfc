"""Data sets by name or path, and the choice of items from one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from toolhop_tools import fetch, official
from toolhop_tools.builtin import builtin, survey_builtin, survey_folder
from toolhop_tools.errors import BadChoice, DataError, DataNotFetched, DataNotFound
from toolhop_tools.model import DataSet, Item
from toolhop_tools.record import Survey

NAMES = {
    "builtin": "the items that come with the package",
    "toolhop": "ToolHop's 995 items, after `toolhop data fetch`",
}
"""Data sets known by name. Anything else is a path; ``./builtin`` is one too."""


def load(
    name_or_path: str | Path, *, last_wins: bool = False, skip_broken: bool = False
) -> DataSet:
    """A data set of which every row can be used.

    Args:
        name_or_path: ``builtin``, ``toolhop``, a file in ToolHop's official format (``.json`` or
            ``.jsonl``), or a folder laid out as the built-in one (`toolhop_tools.builtin`).
        last_wins: official behaviour for tools that share a name (`official.survey`).
        skip_broken: leave out rows with errors, as long as any can be used.

    Raises:
        DataNotFound: no data set of that name, nothing at that path.
        DataNotFetched: ``toolhop`` is not in the cache folder.
        DataError: lists every row that cannot be used.
    """
    if str(name_or_path) == "builtin":
        return builtin()
    return survey(name_or_path, last_wins=last_wins).usable(skip_broken=skip_broken)


def survey(name_or_path: str | Path, *, last_wins: bool = False) -> Survey:
    """The same with errors and findings as values; raises where nothing could be read."""
    name = str(name_or_path)
    if name == "builtin":
        return survey_builtin()
    if name == "toolhop":
        return official.survey(_fetched(), last_wins=last_wins, name=name)
    path = Path(name_or_path)
    try:
        if path.is_dir():
            return survey_folder(path, name=path.resolve().name, origin=name)
        if not path.exists():
            raise _unknown(name)
        return official.survey(path, last_wins=last_wins)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", origin=name) from None


def _fetched() -> Path:
    path = fetch.cached_file()
    if not path.exists():
        raise DataNotFetched(
            "ToolHop's data file is not on this machine",
            origin=str(path),
            fix="run `toolhop data fetch` (19.7 MB), or `toolhop data fetch --from FILE`",
        )
    if not fetch.is_pinned(path):
        raise DataNotFetched(
            "this is not the pinned file: its SHA-256 differs",
            origin=str(path),
            fix="run `toolhop data fetch`; a file of your own is read by its path",
        )
    return path


def _unknown(name: str) -> DataNotFound:
    near = get_close_matches(name, NAMES, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return DataNotFound(
        f"no data set {name!r}, and no file or folder at that path{hint}",
        fix=f"give {', '.join(NAMES)}, or the path of a file in ToolHop's official format "
        "(.json, .jsonl) or of a folder laid out as the built-in set",
    )


def select(
    dataset: DataSet, *, limit: str | None = None, sample_ids: Sequence[str] = ()
) -> tuple[Item, ...]:
    """Some of the items, in their order in the data set.

    Args:
        dataset: where to choose from.
        limit: ``10`` for the first ten, ``10-20`` for the tenth to the twentieth (from 1, both
            included); counted after `sample_ids`. A range may reach past the end.
        sample_ids: ids, or patterns as ``geography-*``; all items if empty.

    Raises:
        BadChoice: an id that is not there (with the nearest that are), a pattern or a range that
            matches nothing, a limit of another form.
    """
    items = _by_ids(dataset, sample_ids) if sample_ids else dataset.items
    if limit is None:
        return items
    first, last = _range(limit)
    chosen = items[first - 1 : last]
    if not chosen:
        raise BadChoice(f"limit {limit} leaves nothing of {len(items)} items")
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
    return tuple(item for item in dataset.items if item.id in wanted)


def _nearest(dataset: DataSet, sample_id: str) -> str:
    ids = list(dataset.by_id)
    if near := get_close_matches(sample_id, ids, n=3, cutoff=0.5):
        return f"the nearest ids are {', '.join(near)}"
    span = f"{ids[0]} … {ids[-1]}" if len(ids) > 1 else "".join(ids)
    return f"its {len(ids)} ids are {span}; `toolhop data list` shows them"


def _range(limit: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(?:([0-9]{1,9})\s*-)?\s*([0-9]{1,9})\s*", limit)
    if match:
        first, last = int(match[1] or 1), int(match[2])
        if 1 <= first <= last:
            return first, last
    raise BadChoice(f"limit {limit!r} is neither a count as 10 nor a range as 10-20 (from 1)")
