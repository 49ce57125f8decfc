"""The folder of training data: neutral lines, their items, trainers' formats, a card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhop_agents.align.card import drawn, page
from toolhop_agents.align.line import (
    DPO_FILE,
    ITEMS_FILE,
    SFT_FILE,
    AlignError,
    Chat,
    Pair,
    dumped,
)
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.writers import FORMATS, TrainingRow, dataset_info, rows_for
from toolhop_agents.export.files import atomic, write_text
from toolhop_env.extras import require
from toolhop_tools.load import load
from toolhop_tools.model import Item
from toolhop_tools.readers.native import to_row

CARD, DRAWN = "README.md", "drawn.jsonl"


def write_folder(
    out: Path,
    lines: Sequence[Chat | Pair],
    items: Iterable[Item],
    figures: dict[str, Any],
    *,
    formats: Sequence[str],
    template: ChatTemplate,
    seed: int,
    overwrite: bool,
) -> None:
    """Write lines of one form, with all that is made from them.

    Raises:
        AlignError: the template cannot render a line.
        MissingExtra: a format needs a package that is not installed.
        ExportError: a file cannot be written.
    """
    used = {line.item for line in lines}
    write_items(out, (item for item in items if item.id in used), overwrite=overwrite)
    name = SFT_FILE if all(isinstance(line, Chat) for line in lines) else DPO_FILE
    text = "".join(f"{dumped(line)}\n" for line in lines)
    write_text(out / name, _storable(text), overwrite=overwrite)
    _write_lines(out / DRAWN, drawn(lines, seed), overwrite)
    for one in formats:
        figures["dropped"] |= {
            f"{one}: {reason}": count
            for reason, count in _write_format(out / one, one, lines, template, overwrite).items()
        }
    write_text(out / CARD, page(figures, formats, template.name), overwrite=overwrite)


def _write_format(
    out: Path, name: str, lines: Sequence[Chat | Pair], template: ChatTemplate, overwrite: bool
) -> Mapping[str, int]:
    """Write a trainer's files, and return the counts of dropped lines by reason."""
    rows, dropped = rows_for(name, lines, template)
    suffix = FORMATS[name].suffix
    for dataset, listed in rows.items():
        path = out / f"{dataset}{suffix}"
        if suffix == ".parquet":
            _write_parquet(path, listed)
        else:
            _write_lines(path, listed, overwrite)
    if name == "llamafactory":
        info = dataset_info((dataset, f"{dataset}{suffix}") for dataset in rows)
        write_text(out / "dataset_info.json", json.dumps(info, indent=2), overwrite=overwrite)
    return dropped


def _write_parquet(path: Path, rows: Sequence[TrainingRow]) -> None:
    require("pyarrow", extra="export", what="--for verl")
    import pyarrow
    from pyarrow import parquet

    with atomic(path) as beside:
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), beside)


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]], overwrite: bool) -> None:
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    write_text(path, _storable(text), overwrite=overwrite)


def _storable(text: str) -> str:
    """Return text with lone surrogates as the escapes that they were, as files are UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def write_items(out: Path, items: Iterable[Item], *, overwrite: bool) -> None:
    """Write the items of a folder.

    Raises:
        ExportError: the file cannot be written.
    """
    _write_lines(out / ITEMS_FILE, map(to_row, items), overwrite)


def items_in(folder: Path) -> dict[str, Item]:
    """Return the items of a folder, by id.

    Raises:
        AlignError: the folder has none.
        DataError: they cannot be read.
    """
    path = folder / ITEMS_FILE
    if not path.is_file():
        raise AlignError(
            f"{folder} has no {ITEMS_FILE}", fix="give a folder that `toolhop align` wrote"
        )
    return dict(load(str(path)).by_id)
