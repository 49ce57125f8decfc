"""The folder of training data: neutral lines, their items, trainers' formats, a card."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhop_agents.align.card import drawn, figures, page
from toolhop_agents.align.kinds import AlignError
from toolhop_agents.align.line import DPO_FILE, ITEMS_FILE, SFT_FILE, Chat, Pair, trained_in
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.writers import FORMATS, TrainingRow, dataset_info, rows_for
from toolhop_agents.export.files import atomic, write_text
from toolhop_env.extras import require
from toolhop_tools.errors import why
from toolhop_tools.load import load
from toolhop_tools.model import Item
from toolhop_tools.readers.native import to_row

CARD, DRAWN = "README.md", "drawn.jsonl"


def check_new(out: Path, formats: Sequence[str]) -> None:
    """Check that a folder holds nothing yet, and that the formats can be written.

    Raises:
        AlignError: it does.
        MissingExtra: a format needs a package that is not installed.
    """
    if any(FORMATS[name].suffix == ".parquet" for name in formats):
        require("pyarrow", extra="export", what="--for verl")
    if out.is_dir() and any(out.iterdir()):
        raise AlignError(f"{out} has files already", fix="give another --out")


def write_folder(
    out: Path,
    lines: Sequence[Chat | Pair],
    items: Iterable[Item],
    dropped: Mapping[str, int],
    *,
    formats: Sequence[str],
    template: ChatTemplate,
    seed: int,
) -> dict[str, Any]:
    """Write lines of one form, with all that is made from them, and return their counts.

    The folder appears whole: it is written aside and renamed.

    Raises:
        AlignError: the template cannot render a line, or `out` has files by now.
        ExportError: a file cannot be written.
    """
    final = out.resolve()
    out = final.with_name(f".{final.name}.partial")
    shutil.rmtree(out, ignore_errors=True)  # of a command that was killed
    lines = [*{trained_in(line): line for line in lines}.values()]
    used = {line.item for line in lines}
    write_items(out, (item for item in items if item.id in used))
    name = SFT_FILE if all(isinstance(line, Chat) for line in lines) else DPO_FILE
    _write_lines(out / name, (line.model_dump(mode="json") for line in lines))
    _write_lines(out / DRAWN, drawn(lines, seed))
    left_out = {**dropped}
    for form in formats:
        losses = _write_format(out / form, form, lines, template)
        left_out |= {f"{form}: {reason}": count for reason, count in losses.items()}
    counts = figures(lines, left_out)
    write_text(out / CARD, page(counts, formats, template.name), overwrite=False)
    try:
        out.rename(final)
    except OSError as error:
        raise AlignError(
            f"{final} cannot be written: {why(error)}", fix="give another --out"
        ) from None
    return counts


def _write_format(
    out: Path, name: str, lines: Sequence[Chat | Pair], template: ChatTemplate
) -> Mapping[str, int]:
    """Write a trainer's files, and return the counts of dropped lines by reason."""
    rows, dropped = rows_for(name, lines, template)
    suffix = FORMATS[name].suffix
    for dataset, listed in rows.items():
        path = out / f"{dataset}{suffix}"
        if suffix == ".parquet":
            _write_parquet(path, listed)
        else:
            _write_lines(path, listed)
    if name == "llamafactory":
        info = dataset_info((dataset, f"{dataset}{suffix}") for dataset in rows)
        write_text(out / "dataset_info.json", json.dumps(info, indent=2), overwrite=False)
    return dropped


def edited(folder: Path, lines: Sequence[Chat | Pair], template: ChatTemplate) -> list[str]:
    """Return the names of trainers' files that differ from those written from the lines.

    Raises:
        AlignError: the template cannot render a line.
    """
    with tempfile.TemporaryDirectory() as aside:
        for form in (name for name in FORMATS if (folder / name).is_dir()):
            _write_format(Path(aside) / form, form, lines, template)
        made, found = (
            {(f"{form}/{one.name}", one.read_bytes())
             for form in FORMATS for one in (top / form).glob("*") if one.is_file()}
            for top in (Path(aside), folder)
        )  # fmt: skip
    return sorted({name for name, _ in made ^ found})


def _write_parquet(path: Path, rows: Sequence[TrainingRow]) -> None:
    import pyarrow
    from pyarrow import parquet

    with atomic(path) as beside:
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), beside)


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    # Lone surrogates are written as the escapes that they were.
    text = text.encode("utf-8", "backslashreplace").decode()
    write_text(path, text, overwrite=False)


def write_items(out: Path, items: Iterable[Item]) -> None:
    """Write the items of a folder.

    Raises:
        ExportError: the file cannot be written.
    """
    _write_lines(out / ITEMS_FILE, map(to_row, items))


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
