"""What `toolhop export --to` can write: our formats, and those that installed packages add.

A package of one's own adds a format by an entry point of the group ``toolhop.exporters`` whose
object is an `Exporter`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.export.atif import trajectory
from toolhop_agents.export.chat import ChatStyle, write_chats
from toolhop_agents.export.episode_files import with_items, write_episodes
from toolhop_agents.export.episodes import Exported, benchmarks_of, exported, labels
from toolhop_agents.export.facts import Plain
from toolhop_agents.export.files import ExportError, atomic, check_free
from toolhop_agents.export.huggingface import CARD, DATA, write_dataset
from toolhop_agents.export.inspect_log import write_logs
from toolhop_agents.export.parquet import CALLS_FILE, EPISODES_FILE, Written, write_tables
from toolhop_agents.export.sessions import session
from toolhop_env.runs.store import RunStore
from toolhop_tools.load import licence_of
from toolhop_tools.model import Item
from toolhop_tools.packages import added, object_of, wrong_kind

GROUP = "toolhop.exporters"

Exporter: TypeAlias = Callable[[Sequence[RunStore], Path], Iterable[Path]]
"""Writes runs to a folder that it may make, and gives the files that it wrote. It raises an
`ExportError` for what the user can put right."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be written, and where to."""

    stores: Sequence[RunStore]
    out: Path
    overwrite: bool = False
    chats: ChatStyle = field(default_factory=ChatStyle)


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


def _inspect(order: Order) -> Written:
    return write_logs(order.stores, order.out, overwrite=order.overwrite)


def _chat(order: Order) -> Written:
    check_free([order.out], order.overwrite)
    return write_chats(with_items(order.stores), order.out, order.chats)


def _atif(order: Order) -> Written:
    def lines(one: Exported, item: Item | None, name: str, version: str) -> list[Plain]:
        return [trajectory(one, item, name, version)]

    return write_episodes(order.stores, order.out, ".json", lines, overwrite=order.overwrite)


def _session(order: Order) -> Written:
    def lines(one: Exported, item: Item | None, name: str, version: str) -> Iterator[Plain]:
        return session(one, name, version)

    return write_episodes(order.stores, order.out, ".jsonl", lines, overwrite=order.overwrite)


def _predictions(order: Order) -> Written:
    """The official file of answers: of one run, as the file has no place for agents."""
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
        with atomic(path) as beside:
            beside.write_text(text, encoding="utf-8")
    return Written(tuple(files), {"answers": len(found)})


FORMATS: Mapping[str, Callable[[Order], Written]] = {
    "parquet": _parquet,
    "hf": _huggingface,
    "inspect": _inspect,
    "chat": _chat,
    "atif": _atif,
    "hf-session": _session,
    "predictions": _predictions,
}


def write(name: str, order: Order) -> Written:
    """Write runs in the format of that name: one of ours, or one that a package adds.

    Raises:
        MissingExtra: the format needs packages that are not installed.
        ExportError: there is no such format, or it cannot be written.
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
