"""Runs as two parquet tables, written as the traces are read. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

GROUP_ROWS = 500
"""Rows held before they are written: a conversation has about 10 KB, so some megabytes."""
COMPRESSION = "zstd"
EPISODES_FILE, CALLS_FILE = "episodes.parquet", "calls.parquet"


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    files: tuple[Path, ...]
    rows: dict[str, int]
    """Rows by what they are: episodes, calls, samples."""


def write_tables(
    episodes: Iterable[Exported], folder: Path, benchmarks: Iterable[Benchmark]
) -> Written:
    """Write `episodes.parquet` and `calls.parquet` to `folder`; other files there stay.

    Both appear once they are whole. Memory does not grow with the number of episodes.

    Args:
        episodes: attempts, taken as they are written.
        folder: made where it is not there.
        benchmarks: of the episodes.

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
    """A parquet file that rows are added to."""

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
    """The columns as pyarrow has them; meaning and unit are each field's metadata."""
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
