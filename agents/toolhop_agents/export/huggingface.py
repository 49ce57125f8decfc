"""Runs as a folder that `datasets.load_dataset(PATH)` reads: the tables and a card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhop_agents.export.columns import CALL, CALLS, MESSAGE, Column, ColumnKind, episode_columns
from toolhop_agents.export.episodes import Exported
from toolhop_agents.export.files import atomic
from toolhop_agents.export.parquet import CALLS_FILE, EPISODES_FILE, Written, write_tables
from toolhop_env.benchmark import Benchmark
from toolhop_sandbox.outcome import JSON

DATA, CARD = "data", "README.md"
SPLIT = "train"
"""Name of the one split, as `load_dataset` has it for data that is not divided."""
Tables = Mapping[str, tuple[str, Sequence[Column[Any]]]]
"""File and columns by configuration; the first is the default."""
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
"""The Hugging Face hub's names of licences."""


def write_dataset(
    episodes: Iterable[Exported],
    folder: Path,
    benchmarks: Sequence[Benchmark],
    runs: Sequence[str],
    licences: Sequence[str],
) -> Written:
    """Write the tables to `folder`/data, then the card that leads to them. `licences` are those of
    the data sets that were played, empty where one is not known.

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
    """The data set's card: metadata that libraries read, then a page for people."""
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
    """The head's licence: in the hub's name, as far as it has one."""
    names: list[JSON] = [name.strip().lower().replace(" ", "-") for name in licences]
    if not names or names == ["own"]:
        return {"license": "unknown"}
    if HUB_LICENCES.issuperset(map(str, names)):
        return {"license": names[0] if len(names) == 1 else names}
    return {"license": "other", "license_name": ", ".join(licences)}


def table(columns: Sequence[Column[Any]]) -> Iterator[str]:
    """The columns as a table in Markdown."""
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
        # `load_dataset` keeps what it read under the folder's name and a hash of this metadata:
        # without a word on the content it gives the rows of another export to a like-named folder.
        yield f"  description: sha256 {digests[name]}"
        yield "  data_files:"
        yield f"  - split: {SPLIT}"
        yield f"    path: {DATA}/{file}"
    yield "dataset_info:"
    for name, (_, columns) in tables.items():
        yield f"- config_name: {name}"
        yield "  features:"
        for column in columns:
            # JSON is YAML.
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
