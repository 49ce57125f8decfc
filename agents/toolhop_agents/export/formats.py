"""The formats of `toolhop export --to`: built-in ones, and those of installed packages.

A package adds a format with an entry point in the group ``toolhop.exporters`` whose object is an
`Exporter`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.export.chat import ChatStyle, write_chats
from toolhop_agents.export.episodes import Exported, Plain, benchmarks_of, exported, labels, places
from toolhop_agents.export.files import ExportError, atomic, check_free, write_text
from toolhop_agents.export.inspect_log import write_logs
from toolhop_agents.export.tables import (
    CALLS_FILE,
    CARD,
    DATA,
    EPISODES_FILE,
    Written,
    write_dataset,
    write_tables,
)
from toolhop_agents.export.traces import session, trajectory
from toolhop_env.runs.files import file_name
from toolhop_env.runs.store import RunStore
from toolhop_tools.load import licence_of
from toolhop_tools.model import Item
from toolhop_tools.packages import added, object_of, wrong_kind

GROUP = "toolhop.exporters"

Exporter: TypeAlias = Callable[[Sequence[RunStore], Path], Iterable[Path]]
"""Writes runs to a folder, which it may create, and returns the files written. It raises an
`ExportError` for problems that the user can fix."""


@dataclass(frozen=True, slots=True)
class Order:
    """A requested export: the runs, the destination and the options."""

    stores: Sequence[RunStore]
    out: Path
    overwrite: bool = False
    chats: ChatStyle = field(default_factory=ChatStyle)


STAGING = ".writing"
"""Folder for incomplete files, so that finding the remains of a killed export is fast, however
many complete files there are."""

Lines = Callable[[Exported, Item | None, str, str], Iterable[Plain]]
"""Converts an attempt to JSON objects, one per line. The arguments are the attempt, its item,
its unique name, and the version of the package that played it."""


def _episodes(suffix: str, lines: Lines, order: Order) -> Written:
    """Write RUN/EPISODE`suffix` for each episode that counts; other files are left alone."""
    stores, folder = order.stores, order.out
    targets = [folder / place for place in places(stores)]
    for target in targets:
        check_free(target.iterdir() if target.is_dir() else [target], order.overwrite)
    count = 0
    for store, target in zip(stores, targets, strict=True):
        place = target.relative_to(folder).as_posix()
        version = store.manifest.get("versions", {}).get("toolhop-env") or ""
        for one, item in with_items([store]):
            if one.counts:
                name = one.trace.started.episode
                written = lines(one, item, f"{place}/{name}", version)
                _write(target, file_name(name) + suffix, written)
                count += 1
        with contextlib.suppress(OSError):
            (target / STAGING).rmdir()
    return Written(tuple(targets), {"episodes": count})


def with_items(stores: Sequence[RunStore]) -> Iterator[tuple[Exported, Item | None]]:
    """Yield every attempt of the runs with its item, or None if the run does not store the item."""
    for store in stores:
        settings = store.manifest.get("settings") or {}
        items = store.items(last_wins=settings.get("last_wins") is True).by_id
        for one in exported([store]):
            yield one, items.get(one.attempt.item)


def _write(folder: Path, name: str, lines: Iterable[Plain]) -> None:
    staged = folder / STAGING / name
    with atomic(folder / name, staged) as beside, beside.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _parquet(order: Order) -> Written:
    check_free((order.out / name for name in (EPISODES_FILE, CALLS_FILE)), order.overwrite)
    return write_tables(exported(order.stores), order.out, benchmarks_of(order.stores))


def _huggingface(order: Order) -> Written:
    names = (CARD, f"{DATA}/{EPISODES_FILE}", f"{DATA}/{CALLS_FILE}")
    check_free((order.out / name for name in names), order.overwrite)
    stores = order.stores
    data = {str(store.manifest.get("data", {}).get("name")) for store in stores}
    licences = [licence_of(name) for name in sorted(data)]
    return write_dataset(
        exported(stores), order.out, benchmarks_of(stores), labels(stores), licences
    )


def _chat(order: Order) -> Written:
    check_free([order.out], order.overwrite)
    return write_chats(with_items(order.stores), order.out, order.chats)


def _atif(one: Exported, item: Item | None, name: str, version: str) -> list[Plain]:
    return [trajectory(one, item, name, version)]


def _session(one: Exported, _: Item | None, name: str, version: str) -> Iterator[Plain]:
    return session(one, name, version)


def _predictions(order: Order) -> Written:
    """Write the official answer file of one run; the file has no field for an agent."""
    if len(order.stores) != 1:
        raise ExportError("--to predictions writes one run; give one")
    (store,) = order.stores
    place = {identity: number for number, identity in enumerate(store.items().by_id)}
    found = [one for one in exported([store]) if one.counts and not one.attempt.errored]
    found.sort(key=lambda one: (one.attempt.mode, place.get(one.attempt.item, 0)))
    binding = binding_of(found[0].attempt.benchmark) if found else None
    if binding is None or binding.predictions is None:
        raise ExportError(f"{store.folder} is of no benchmark with an official file of answers")
    if len({(one.attempt.item, one.attempt.mode) for one in found}) < len(found):
        raise ExportError("the official file has one answer an item; the run has several epochs")
    texts = binding.predictions.write([one.trace for one in found])
    files = {order.out / name if name else order.out: text for name, text in texts.items()}
    check_free(files, order.overwrite)
    for path, text in files.items():
        write_text(path, text, overwrite=order.overwrite)
    return Written(tuple(files), {"answers": len(found)})


FORMATS: Mapping[str, Callable[[Order], Written]] = {
    "parquet": _parquet,
    "hf": _huggingface,
    "inspect": lambda order: write_logs(order.stores, order.out, overwrite=order.overwrite),
    "chat": _chat,
    "atif": partial(_episodes, ".json", _atif),
    "hf-session": partial(_episodes, ".jsonl", _session),
    "predictions": _predictions,
}


def write(name: str, order: Order) -> Written:
    """Write runs in a format, either built-in or added by a package.

    Raises:
        MissingExtra: the format needs packages that are not installed.
        ExportError: no such format exists, or it cannot be written.
        StoreError: a run cannot be read.
    """
    if name in FORMATS:
        return FORMATS[name](order)
    found = added(GROUP)
    if name not in found:
        known = ", ".join([*FORMATS, *sorted(found)])
        raise ExportError(
            f"there is no format {name!r}; there are {known}. A package adds one by an entry "
            f"point of {GROUP}"
        )
    exporter = object_of(found[name])
    if not callable(exporter):
        raise wrong_kind(found[name], exporter, "function")
    check_free(order.out.iterdir() if order.out.is_dir() else [order.out], order.overwrite)
    files = tuple(exporter(order.stores, order.out))
    return Written(files, {"files": len(files)})
