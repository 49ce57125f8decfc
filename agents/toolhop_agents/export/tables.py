"""Runs as two parquet tables, written while the traces are read. Needs pyarrow.

They can also be written as a folder for `datasets.load_dataset(PATH)`, with a data set card.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolhop_agents.export.columns import (
    CALL,
    CALLS,
    MESSAGE,
    Column,
    ColumnKind,
    calls_of,
    episode_columns,
    row,
)
from toolhop_agents.export.episodes import Exported
from toolhop_agents.export.files import atomic
from toolhop_env.benchmark import Benchmark
from toolhop_env.extras import require
from toolhop_sandbox.outcome import JSON

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

GROUP_ROWS = 500
"""Rows buffered before a write; at about 10 KB per conversation, a few megabytes."""
COMPRESSION = "zstd"
EPISODES_FILE, CALLS_FILE = "episodes.parquet", "calls.parquet"


@dataclass(frozen=True, slots=True)
class Written:
    """The files and rows written by an export."""

    files: tuple[Path, ...]
    rows: dict[str, int]
    """Number of rows by kind: episodes, calls, samples."""


def write_tables(
    episodes: Iterable[Exported], folder: Path, benchmarks: Iterable[Benchmark]
) -> Written:
    """Write `episodes.parquet` and `calls.parquet` to `folder`; other files are left alone.

    Both files appear only once they are complete. Memory does not grow with the number of episodes.

    Args:
        episodes: attempts, consumed while they are written.
        folder: destination, created if missing.
        benchmarks: benchmarks of the episodes.

    Raises:
        MissingExtra: pyarrow is not installed.
        ExportError: a file cannot be written.
    """
    require("pyarrow", extra="export", what="parquet")
    paths = (folder / EPISODES_FILE, folder / CALLS_FILE)
    with ExitStack() as stack:
        episodes_path, calls_path = (stack.enter_context(atomic(path)) for path in paths)
        columns = episode_columns(benchmarks)
        attempts = stack.enter_context(_Table(episodes_path, columns))
        calls = stack.enter_context(_Table(calls_path, CALLS))
        for one in episodes:
            attempts.add(row(columns, one))
            for call in calls_of(one):
                calls.add(row(CALLS, call))
    return Written(paths, {"episodes": attempts.rows, "calls": calls.rows})


@dataclass
class _Table:
    """A parquet file that is written row by row."""

    path: Path
    columns: Sequence[Column[Any]]
    rows: int = 0
    _held: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> _Table:
        from pyarrow.parquet import ParquetWriter

        self._schema = schema(self.columns)
        self._writer: ParquetWriter = ParquetWriter(
            self.path, self._schema, compression=COMPRESSION
        )
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()

    def add(self, values: dict[str, Any]) -> None:
        self._held.append(values)
        self.rows += 1
        if len(self._held) >= GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        from pyarrow import Table

        if self._held:
            self._writer.write_table(Table.from_pylist(self._held, schema=self._schema))
            self._held.clear()


def schema(columns: Sequence[Column[Any]]) -> pyarrow.Schema:
    """Return the pyarrow schema; each field's metadata has its meaning and unit."""
    import pyarrow

    types = _types()
    fields = []
    for column in columns:
        metadata = {"description": column.about}
        if column.unit:
            metadata["unit"] = column.unit
        fields.append(pyarrow.field(column.name, types[column.kind], metadata=metadata))
    return pyarrow.schema(fields)


def _types() -> dict[ColumnKind, pyarrow.DataType]:
    import pyarrow

    text = pyarrow.string()
    call = pyarrow.struct([(name, text) for name in CALL])
    fields = [(name, pyarrow.list_(call) if name == "calls" else text) for name in MESSAGE]
    return {
        ColumnKind.TEXT: text,
        ColumnKind.TEXTS: pyarrow.list_(text),
        ColumnKind.BOOL: pyarrow.bool_(),
        ColumnKind.INT: pyarrow.int64(),
        ColumnKind.FLOAT: pyarrow.float64(),
        ColumnKind.TIME: pyarrow.timestamp("ms", tz="UTC"),
        ColumnKind.MESSAGES: pyarrow.list_(pyarrow.struct(fields)),
    }


# -- for Hugging Face ------------------------------------------------------------------------------

DATA, CARD = "data", "README.md"
SPLIT = "train"
"""Name of the only split, which `load_dataset` uses for undivided data."""
Tables = Mapping[str, tuple[str, Sequence[Column[Any]]]]
"""File and columns of each configuration, by name; the first is the default."""
_DTYPES = {
    ColumnKind.TEXT: "string",
    ColumnKind.BOOL: "bool",
    ColumnKind.INT: "int64",
    ColumnKind.FLOAT: "float64",
    ColumnKind.TIME: "timestamp[ms, tz=UTC]",
}
HUB_LICENCES = frozenset(
    {
        "apache-2.0", "mit", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
        "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0",
        "odbl", "odc-by", "pddl", "gpl-3.0", "lgpl-3.0", "agpl-3.0", "bsd-3-clause", "openrail",
        "cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0",
    }
)  # fmt: skip
"""Names of licences on the Hugging Face hub."""


def write_dataset(
    episodes: Iterable[Exported],
    folder: Path,
    benchmarks: Sequence[Benchmark],
    runs: Sequence[str],
    licences: Sequence[str],
) -> Written:
    """Write the tables to `folder`/data, then the data set card.

    `licences` are those of the data sets played; an unknown one is an empty string.

    Raises:
        MissingExtra: pyarrow is not installed.
        ExportError: a file cannot be written.
    """
    written = write_tables(episodes, folder / DATA, benchmarks)
    tables: Tables = {
        "episodes": (EPISODES_FILE, episode_columns(benchmarks)),
        "calls": (CALLS_FILE, CALLS),
    }
    digests = {name: _digest(folder / DATA / file) for name, (file, _) in tables.items()}
    text = card(runs, tables, written.rows, digests, licences)
    with atomic(folder / CARD) as path:
        path.write_text(text, encoding="utf-8")
    return Written((folder / CARD, *written.files), written.rows)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def card(
    runs: Sequence[str],
    tables: Tables,
    rows: Mapping[str, int],
    digests: Mapping[str, str],
    licences: Sequence[str],
) -> str:
    """Return the data set's card: metadata for libraries, then a page for people."""
    known = sorted(set(licences)) if all(licences) else ()
    head = [f"{key}: {json.dumps(value)}" for key, value in hub_licence(known).items()]
    parts = ["---", *head, *_metadata(tables, digests), "---", "", "# Episodes of tool use", ""]
    named = ", ".join(f"`{name}`" for name in runs)
    parts += [
        f"Exported by toolhop-env from {named}: {rows['episodes']} attempts at episodes and "
        f"{rows['calls']} tool calls.",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'episodes = load_dataset("PATH", split="{SPLIT}")',
        f'calls = load_dataset("PATH", "calls", split="{SPLIT}")',
        "```",
        "",
        "Figures are taken over rows with `counts`: an episode may have had several attempts. "
        "Errored attempts have no scores. Questions, answers and tool results come from the items "
        "that were played, and stand under the licence of their data set.",
    ]
    for name, (_, columns) in tables.items():
        parts += ["", f"## {name}", "", *table(columns)]
    return "\n".join(parts) + "\n"


def hub_licence(licences: Sequence[str]) -> dict[str, JSON]:
    """Return the licence fields of the card, with the hub's names if it has them."""
    names: list[JSON] = [name.strip().lower().replace(" ", "-") for name in licences]
    if not names or names == ["own"]:
        return {"license": "unknown"}
    if HUB_LICENCES.issuperset(map(str, names)):
        return {"license": names[0] if len(names) == 1 else names}
    return {"license": "other", "license_name": ", ".join(licences)}


def table(columns: Sequence[Column[Any]]) -> Iterator[str]:
    """Yield the columns as a Markdown table."""
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for column in columns:
        unit = f"; {column.unit}" if column.unit else ""
        yield f"| `{column.name}` | {column.kind} | {column.about}{unit} |"


def _metadata(tables: Tables, digests: Mapping[str, str]) -> Iterator[str]:
    yield "pretty_name: Episodes of tool use"
    yield "tags: [toolhop, tool-use, agent-traces]"
    yield "configs:"
    for place, (name, (file, _)) in enumerate(tables.items()):
        yield f"- config_name: {name}"
        if place == 0:
            yield "  default: true"
        # `load_dataset` caches data under the folder's name and a hash of this metadata. If the
        # metadata did not depend on the content, a folder of the same name would get old rows.
        yield f"  description: sha256 {digests[name]}"
        yield "  data_files:"
        yield f"  - split: {SPLIT}"
        yield f"    path: {DATA}/{file}"
    yield "dataset_info:"
    for name, (_, columns) in tables.items():
        yield f"- config_name: {name}"
        yield "  features:"
        for column in columns:
            # JSON is valid YAML.
            yield f"  - {json.dumps({'name': column.name, **_feature(column.kind)})}"


def _feature(kind: ColumnKind) -> dict[str, Any]:
    if kind is ColumnKind.TEXTS:
        return {"list": "string"}
    if kind is ColumnKind.MESSAGES:
        calls = [{"name": name, "dtype": "string"} for name in CALL]
        return {
            "list": [
                {"name": name, **({"list": calls} if name == "calls" else {"dtype": "string"})}
                for name in MESSAGE
            ]
        }
    return {"dtype": _DTYPES[kind]}
