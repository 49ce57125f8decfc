"""Read ToolHop's official JSON unchanged, and write it from any data set.

A row has ``id question answer sub_task tools functions domain answer_type previous_answer_type``
(spec METRICS.md 3.1). We may add ``gold_calls``, a list parallel to ``functions`` whose elements
are null or ``{"arguments": {...}, "source": "..."}``, with a ``reading`` if the answer's position
in the result is known; and ``shown``, which describes how the tools are shown if it differs from
their definition (`toolhop_tools.benchmarks.toolhop.shown_field`). Other fields are kept in
`Item.extra`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolhop.shown_field import FIELD, read_shown, shown_field
from toolhop_tools.errors import DataError, DataProblem, counted, shown
from toolhop_tools.model import TOOLHOP, DataSet, GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.pairing import Slot, pair, property_names
from toolhop_tools.readers.datafile import parse_rows, read_bytes
from toolhop_tools.readers.fetch import Pin, Source
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Record, Survey, collect, read_gold, read_tool_schema
from toolhop_tools.readers.tool_names import own_names
from toolhop_tools.reading import reading_to_json

FIELDS = (
    "id",
    "question",
    "answer",
    "sub_task",
    "tools",
    "functions",
    "domain",
    "answer_type",
    "previous_answer_type",
    "gold_calls",
    FIELD,
)

PIN = Pin(
    repository="bytedance-research/ToolHop",
    revision="b439d7279af359fda46e8117ae4f0245b75f5c6b",
    path="data/ToolHop.json",
    size_bytes=19_720_396,
    sha256="0a51f71a44b7025645e452123af3caf2e348301922af91778e268db0188a7fab",
)
"""The file to which the Git LFS pointer refers at this revision (spec METRICS.md 3.1)."""
SOURCE = Source(TOOLHOP, (PIN,), "CC-BY-4.0", main=PIN.name)


def survey_data(path: str, *, last_wins: bool) -> Survey:
    """Read a file in the official format; without a path the fetched file, which must match the
    pin.

    Raises:
        DataNotFetched: no path is given, and the pinned file is not in the cache folder.
        DataError: no rows could be read.
    """
    if path:
        return survey(Path(path), last_wins=last_wins)
    return survey(SOURCE.here(), last_wins=last_wins, name=TOOLHOP)


READER = Reader("ToolHop's 995 items, after `toolhop data fetch`", survey_data, SOURCE)


def read(path: Path, *, last_wins: bool = False) -> DataSet:
    """Read the data set in a file of official rows; see `survey` for the arguments.

    Raises:
        DataError: lists every row that cannot be used.
    """
    return survey(path, last_wins=last_wins).usable()


def survey(path: Path, *, last_wins: bool = False, name: str = "") -> Survey:
    """Read a file of official rows, broken ones included.

    Args:
        path: a JSON list of rows, or JSON Lines if the suffix is ``.jsonl``.
        last_wins: if tools of one row share a name, follow the official evaluator: it always runs
            the code of the last function. Every hop keeps its schema under the shared name, all
            have the last one's program, and `Item.tools` contains only the last schema (the
            official request lists both). Gold calls of replaced code are dropped. If False, the
            second tool becomes ``name_2``.
        name: name of the data set; the file's stem if empty.

    Raises:
        DataError: no rows could be read from the file.
    """
    origin = str(path)
    rows = parse_rows(read_bytes(path), lines=path.suffix.lower() == ".jsonl", origin=origin)
    return survey_rows(rows, name=name or path.stem, origin=origin, last_wins=last_wins)


def survey_rows(
    rows: Sequence[tuple[str, JSON]], *, name: str, origin: str, last_wins: bool = False
) -> Survey:
    """As `survey`, for parsed rows, each with its place, such as ``row 1``."""
    items, problems = collect(rows, lambda identity, row: _item(identity, row, last_wins))
    return Survey(DataSet(name, origin, tuple(items)), tuple(problems))


def _item(identity: str, row: Record, last_wins: bool) -> Item | None:
    question, answer = row.text("question"), row.answer("answer")
    tasks, sources = _tasks(row), _sources(row)
    golds = _golds(row, len(sources))
    domain, answer_type = row.label("domain"), row.label("answer_type")
    previous = row.label("previous_answer_type", wanted=False)
    if not row.errors and len(sources) != len(tasks):
        expected = f"{counted(len(tasks), 'function')}, as many as tools"
        row.note("count", "functions", expected=expected, given=str(len(sources)))
    if row.errors:
        return None
    hops = _hops(tasks, sources, golds, answer)
    hops = _last_program(hops) if last_wins else own_names(hops)
    extra = {key: value for key, value in row.value.items() if key not in FIELDS}
    item = Item(identity, question, answer, hops, domain, answer_type, previous, extra)
    if FIELD in row.value:
        item = read_shown(row.within(FIELD, row.mapping(FIELD)), item)
    return None if row.errors else item


def _tasks(row: Record) -> list[tuple[str, str, ToolSchema]]:
    """Return sub-question, sub-answer and schema of each task, joined by sub-question."""
    before = row.errors
    answers = row.within("sub_task", row.mapping("sub_task"))
    schemas = row.within("tools", row.mapping("tools"))
    if row.errors > before:
        return []
    if not answers.value:
        row.note("missing", "sub_task", expected="at least one sub-question", given="none")
    for question in answers.value:
        if question not in schemas.value:
            answers.note("no-tool", question, expected="a tool of the same key", given="none")
    tasks = []
    for question, schema in schemas.value.items():
        if question not in answers.value:
            expected = "a sub-answer of the same key"
            schemas.note("no-answer", question, expected=expected, given="none")
        elif not isinstance(schema, dict):
            given = shown(schema)
            schemas.note("wrong-type", question, expected="a tool schema", given=given)
        else:
            reader = schemas.within(question, schema)
            tasks.append((question, answers.answer(question), read_tool_schema(reader)))
    return tasks


def _sources(row: Record) -> list[str]:
    sources = row.sequence("functions")
    for index, source in enumerate(sources):
        if not isinstance(source, str):
            where = f"functions[{index}]"
            row.note("wrong-type", where, expected="Python source as text", given=shown(source))
    return [source for source in sources if isinstance(source, str)]


def _golds(row: Record, wanted: int) -> Sequence[GoldCall | None]:
    if row.value.get("gold_calls") is None:
        return [None] * wanted
    given = row.sequence("gold_calls")
    if given and wanted and len(given) != wanted:
        expected = f"{wanted} entries, one a function"
        row.note("count", "gold_calls", expected=expected, given=str(len(given)))
    entries = {f"[{index}]": entry for index, entry in enumerate(given)}
    reader = row.within("gold_calls", entries)
    return [read_gold(reader, name) for name in entries]


def _hops(
    tasks: Sequence[tuple[str, str, ToolSchema]],
    sources: Sequence[str],
    golds: Sequence[GoldCall | None],
    answer: str,
) -> tuple[Hop, ...]:
    """Return the hops in the order of the functions; names may still be shared."""
    slots = [
        Slot(schema.name, property_names(schema.parameters), _same(sub_answer, answer))
        for _, sub_answer, schema in tasks
    ]
    hops = []
    for index, source, gold in zip(pair(sources, slots), sources, golds, strict=True):
        question, sub_answer, schema = tasks[index]
        tool = Tool(schema, Program(source, schema.name))
        hops.append(Hop(question, sub_answer, tool, gold))
    return tuple(hops)


def _same(one: str, other: str) -> bool:
    return one.strip().lower() == other.strip().lower()


def _last_program(hops: Sequence[Hop]) -> tuple[Hop, ...]:
    last = {hop.tool.name: hop.tool.program for hop in hops}
    return tuple(
        hop
        if last[hop.tool.name] == hop.tool.program
        else replace(hop, tool=replace(hop.tool, body=last[hop.tool.name]), gold=None)
        for hop in hops
    )


def to_text(dataset: DataSet, path: str | Path) -> str:
    """Return the text of a file of official rows: JSON Lines if `path` ends in ``.jsonl``. It has
    no final newline.

    Raises:
        DataError: as `to_rows`.
    """
    rows = to_rows(dataset)
    if Path(path).suffix.lower() == ".jsonl":
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return json.dumps(rows, ensure_ascii=False, indent=2)


def to_rows(dataset: DataSet) -> list[dict[str, JSON]]:
    """Convert the data set to official rows; reading them again gives equal items.

    Schemas get the names of their functions (``name_2`` becomes ``name`` again). An id of digits
    becomes a number, as in the official file.

    Raises:
        DataError: an item does not fit the format: two hops share a sub-question, or a tool's name
            is not its function's.
    """
    problems = [problem for item in dataset.items for problem in _unwritable(item)]
    if problems:
        raise DataError("the official format cannot hold it", problems, origin=dataset.origin)
    return [_row(item) for item in dataset.items]


def _unwritable(item: Item) -> list[DataProblem]:
    where = f"id {item.id}"
    if item.benchmark != TOOLHOP or not item.hops:
        given = f"an item of {item.benchmark} with {counted(len(item.hops), 'hop')}"
        return [DataProblem("foreign-item", where, "", "a ToolHop item with hops", given)]
    if bodies := [name for name, tool in item.tools.items() if not _is_program(tool)]:
        expected = "tools with a program"
        return [DataProblem("no-program", where, "tools", expected, ", ".join(bodies))]
    problems = []
    questions = [hop.question for hop in item.hops]
    for number, question in enumerate(questions, 1):
        if question in questions[: number - 1]:
            expected = "a sub-question of its own: they are keys there"
            field = f"hop {number}"
            problems.append(DataProblem("shared-question", where, field, expected, shown(question)))
    plain = tuple(replace(hop, tool=_plain(hop.tool)) for hop in item.hops)
    if not item.order and item.hops not in (plain, own_names(plain)):
        names = ", ".join(f"{hop.tool.name} for {hop.tool.program.function}" for hop in item.hops)
        expected = "tools named as their functions"
        problems.append(DataProblem("foreign-name", where, "hops", expected, names))
    return problems


def _is_program(tool: Tool) -> bool:
    return isinstance(tool.body, Program)


def _plain(tool: Tool) -> Tool:
    return replace(tool, schema=replace(tool.schema, name=tool.program.function))


def _row(item: Item) -> dict[str, JSON]:
    tools: dict[str, JSON] = {hop.question: _schema_object(hop.tool) for hop in item.hops}
    row: dict[str, JSON] = {
        "id": int(item.id) if re.fullmatch(r"0|[1-9][0-9]{0,14}", item.id) else item.id,
        "question": item.question,
        "answer": item.answer,
        "sub_task": {hop.question: hop.answer for hop in item.hops},
        "tools": tools,
        "functions": [hop.tool.program.source for hop in item.hops],
        "domain": item.domain,
        "answer_type": item.answer_type,
        "previous_answer_type": item.previous_answer_type,
    }
    if any(hop.gold for hop in item.hops):
        row["gold_calls"] = [_gold(hop.gold) for hop in item.hops]
    if item.order:
        row[FIELD] = shown_field(item)
    return {**row, **item.extra}


def _schema_object(tool: Tool) -> dict[str, JSON]:
    parameters: Mapping[str, JSON] = tool.schema.parameters
    description = tool.schema.description
    return {
        "name": tool.program.function,
        "description": description,
        "parameters": dict(parameters),
    }


def _gold(gold: GoldCall | None) -> JSON:
    if gold is None:
        return None
    call: dict[str, JSON] = {"arguments": dict(gold.arguments), "source": gold.source}
    return call if gold.reading is None else {**call, "reading": reading_to_json(gold.reading)}
