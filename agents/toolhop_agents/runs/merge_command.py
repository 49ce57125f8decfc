"""`toolhop merge`: combine the parts of a run played separately with `--shard`.

Nothing is played or scored: traces and judges' answers are copied unchanged, segments whole.
Segments in an object store stay there, and the new run refers to them. The manifest is written
last, so an interrupted merge leaves no run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import click

from toolhop_agents.cli.options import setting_option
from toolhop_agents.runs.manifest import folder_name
from toolhop_agents.runs.settings import OPERATIONAL, RunSettings
from toolhop_agents.table import print_tables, table_console
from toolhop_agents.terminal import say
from toolhop_env.extras import require
from toolhop_env.runs import elsewhere
from toolhop_env.runs.files import EPISODES, SEGMENTS, StoreError, fresh_folder, reported
from toolhop_env.runs.judgements import JUDGEMENTS
from toolhop_env.runs.packing import move, pack
from toolhop_env.runs.segments import segments
from toolhop_env.runs.store import ITEMS, RunStore
from toolhop_env.spending import Spent
from toolhop_env.summary import summarize_run
from toolhop_sandbox.outcome import JSON

OF_A_PART = frozenset({"shard", *OPERATIONAL}) - {"judge", "judge_votes"}
"""Settings in which the parts of a run may differ. The judge may not: figures are based on
one judge's answers."""
SAME = ("format", "benchmark", "prompt", "predictions_digest", "model_file", "data", "versions")
"""Fields in which the manifests of all parts must agree, besides the settings."""


@click.command(context_settings={"show_default": True})
@click.argument("parts", nargs=-1, required=True, metavar="RUN...",
                type=click.Path(path_type=Path))  # fmt: skip
@setting_option("log_dir")
@setting_option("segments_to")
def merge(parts: tuple[Path, ...], log_dir: Path, segments_to: str | None) -> None:
    """Join the parts of a run that --shard split, and print the table.

    Give all parts, in any order; each has to be finished. They stay unchanged, and so do segments
    that a part moved to an object store: the run points to them. --segments-to moves the others
    there too.

    \b
        toolhop run --shard 1/2 ...     # on one machine
        toolhop run --shard 2/2 ...     # on another, with the same options
        toolhop merge FIRST SECOND
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    store = merged_run([RunStore.open(part) for part in parts], log_dir, segments_to=segments_to)
    say(f"run: {store.folder}")
    print_tables(table_console(), summarize_run(store.results()))


def merged_run(
    parts: Sequence[RunStore], log_dir: Path, name: str = "", segments_to: str | None = None
) -> RunStore:
    """Merge the parts of a run into a new folder; the parts are not changed.

    Args:
        parts: all parts, in any order. None may be in use.
        log_dir: parent of the new folder.
        name: name of the folder; derived from time and agent if empty.
        segments_to: object store to which local segments are moved (`packing.move`), after finished
            episodes are packed; None keeps them here.

    Raises:
        StoreError: parts are missing, duplicate, unfinished, damaged, or of different runs; or the
            folder cannot be written. If segments cannot be moved, the run is still created, and the
            message says how to move them later.
        MissingExtra: `segments_to` is given, and fsspec is not installed.
    """
    if segments_to is not None:
        require("fsspec", extra="fsspec", what="--segments-to")
        elsewhere.check(segments_to)
    manifests = _in_order(parts)
    stores = [part for part, _ in manifests]
    facts = [fact for _, fact in manifests]
    settings = RunSettings.model_validate(facts[0]["settings"])
    folder = fresh_folder(log_dir, name or folder_name(settings), EPISODES)
    store = RunStore(folder)
    try:
        with reported(folder):
            shutil.copyfile(stores[0].folder / ITEMS, folder / ITEMS)
            names: set[str] = set()
            for part in stores:
                _copy(part, store, names)
            os.sync()
        store.repair_index()
        pack(store)
        store.write_manifest(_manifest(facts, segments_to))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if segments_to is not None:
        _move(store, segments_to)
    return store


def _move(store: RunStore, url: str) -> None:
    try:
        with store.held():
            pack(store, all_left=True)
            move(store, url)
    except StoreError as error:
        raise StoreError(
            f"{store.folder} is the whole run, but not all of its segments are moved: {error}\n"
            f"  fix: `toolhop run --resume {store.folder}` moves what is left; it plays nothing"
        ) from error


def _in_order(parts: Sequence[RunStore]) -> list[tuple[RunStore, dict[str, Any]]]:
    """Return the parts with their manifests in shard order, checking that all are there and
    match.
    """
    found: dict[int, tuple[RunStore, dict[str, Any]]] = {}
    first: tuple[RunStore, dict[str, Any]] | None = None
    for part in parts:
        facts = part.manifest
        shard = (facts.get("settings") or {}).get("shard")
        if shard is None:
            raise StoreError(f"{part.folder} is no part of a run: it was played without --shard")
        if first is None:
            first = part, facts
        elif differ := _differ(first[1], facts):
            raise StoreError(
                f"{part.folder} is no part of the run of {first[0].folder}: they differ in "
                f"{', '.join(differ)}"
            )
        if facts["status"] != "success":
            raise StoreError(
                f"{part.folder} is not finished ({facts['status']}): resume it with "
                f"`toolhop run --resume {part.folder}`"
            )
        number = shard[0]
        if number in found:
            raise StoreError(
                f"{found[number][0].folder} and {part.folder} are both part {number}: give one"
            )
        found[number] = part, facts
    if first is None:
        raise StoreError("no part is given: give the folders that `toolhop run --shard` made")
    count = first[1]["settings"]["shard"][1]
    if missing := [number for number in range(1, count + 1) if number not in found]:
        named = ", ".join(f"{number}/{count}" for number in missing)
        raise StoreError(f"of {count} parts these are missing: {named}; give all of them")
    return [found[number] for number in range(1, count + 1)]


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of the entries that show that two manifests belong to different runs."""
    differ = [name for name in SAME if one.get(name) != other.get(name)]
    ours, theirs = one.get("settings") or {}, other.get("settings") or {}
    differ += [
        f"the setting {name}"
        for name in RunSettings.model_fields
        if name not in OF_A_PART and ours.get(name) != theirs.get(name)
    ]
    counts = [(facts.get("shard") or (0, 0))[1] for facts in (ours, theirs)]
    if counts[0] != counts[1]:
        differ.append(f"the number of parts ({counts[0]} and {counts[1]})")
    return differ


def _copy(part: RunStore, store: RunStore, names: set[str]) -> None:
    """Copy a part's episodes; `names` contains the traces copied so far."""
    with part.held():
        for segment in segments(part.folder):
            segment.check()
        own = {one.file for one in part.attempts()}
        if both := own & names:
            raise StoreError(
                f"{min(both)} of {part.folder} is in two parts: they are not of one run"
            )
        names |= own
        for name in (EPISODES, SEGMENTS):
            if (part.folder / name).is_dir():
                shutil.copytree(part.folder / name, store.folder / name, dirs_exist_ok=True)
        answers = part.folder / JUDGEMENTS
        if answers.exists():
            content = answers.read_bytes()
            # A truncated last line must not join the first line of the next part.
            cut = b"" if content.endswith(b"\n") else b"\n"
            with (store.folder / JUDGEMENTS).open("ab") as file:
                file.write(content + cut)


def _manifest(parts: Sequence[Mapping[str, Any]], segments_to: str | None) -> dict[str, JSON]:
    """Return the manifest of the whole: the first part's, with times and totals over all parts."""
    first = parts[0]
    kept = segments_to or first["settings"].get("segments_to")
    spent = sum((_spent(part.get("spent") or {}) for part in parts), Spent())
    return {
        **first,
        "settings": {**first["settings"], "shard": None, "segments_to": kept},
        "started_at": min(part["started_at"] for part in parts),
        "ended_at": max(part["ended_at"] for part in parts),
        "spent": asdict(spent),
        "sessions": [one for part in parts for one in part.get("sessions", [])],
    }


def _spent(facts: Mapping[str, Any]) -> Spent:
    known = {field.name for field in fields(Spent)}
    return Spent(**{name: value for name, value in facts.items() if name in known})
