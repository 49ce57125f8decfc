"""Read NesTools' official files.

``test_data*.jsonl`` has one row per line: ``test_id api task call field``. Rows are matched by
``test_id`` with those of other files beside it, whose names have the same ending (or none):

    test_api_ids*.jsonl         ``api_ids``, parallel to ``api``; without it tools are numbered
    test_prompt*.jsonl          ``prompt``, the official one: the tools in its list are shown,
                                including distractors
    test_no_conjunctions*.jsonl ``task`` in other words, for the mode of that name
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataError, DataProblem, counted, shown
from toolhop_tools.model import DataSet, Described, Item, Tool, ToolSchema
from toolhop_tools.readers.datafile import fields_of, parse_rows, read_bytes
from toolhop_tools.readers.fetch import GITHUB, Pin, Source
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Record, Survey, collect

DATA = "test_data"
IDS, PROMPTS, REWRITTEN = "test_api_ids", "test_prompt", "test_no_conjunctions"
WITHOUT_CONJUNCTIONS = "no-conjunctions"
"""Mode that uses the wording in `REWRITTEN`."""
PIN = Pin(
    "hhan1018/NesTools",
    "fb617f396d61ead9f857a48f9ea7cf12fa522450",
    "data/test_data.jsonl",
    size_bytes=2_683_323,
    host=GITHUB,
)
NAMES = replace(PIN, path="inference/build_test_prompt/test_api_ids.jsonl", size_bytes=None)
SOURCE = Source("nestools", (PIN, NAMES), "Apache-2.0", main=PIN.name)
FIELDS = ("test_id", "api", "task", "call", "field")
TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "list": "array",
    "bool": "boolean",
    "dict": "object",
}
"""JSON Schema's type for each type name in the files."""


def survey(path: str, *, last_wins: bool = False) -> Survey:
    """Read the files; without a path, the fetched ones.

    Raises:
        DataNotFetched: no path is given, and the files are not in the cache folder.
        DataError: a file has no rows.
    """
    del last_wins  # tools are distinguished by id
    path = path or str(SOURCE.here())
    home = Path(path)
    beside = {name: _beside(home, name) for name in (IDS, PROMPTS, REWRITTEN)}
    rows = parse_rows(read_bytes(home), lines=True, origin=path)
    _check_kind(rows[0][1], path)
    if (ids := beside[IDS]) is not None:
        _check_ids(rows, ids, home)
    numbers: dict[str, int] = {}
    items, problems = collect(
        rows, lambda identity, row: _item(identity, row, beside, numbers), id_field="test_id"
    )
    if beside[IDS] is None:
        given = "none: tools have numbers of their own, and published answers do not fit"
        problems.append(DataProblem("no-ids", path, "", f"{IDS}*.jsonl beside", given, "finding"))
    return Survey(DataSet(home.stem, path, tuple(items)), tuple(problems))


KINDS = {
    "response": "answers: play them by --agent predictions:FILE",
    "api_ids": f"ids of tools: they go beside {DATA}.jsonl",
    "prompt": f"prompts: they go beside {DATA}.jsonl",
}
"""Content of NesTools' other files, by a field that only they have."""


def _check_kind(row: JSON, path: str) -> None:
    """Check that the rows are tasks.

    Raises:
        DataError: the rows belong to another file of NesTools.
    """
    given = row if isinstance(row, dict) else {}
    for field, what in KINDS.items():
        if field in given and "api" not in given:
            fix = f"give {DATA}.jsonl, whose rows have {', '.join(FIELDS)}"
            raise DataError(f"these rows are not tasks but {what}", origin=path, fix=fix)


def _check_ids(
    rows: Sequence[tuple[str, JSON]], ids: Mapping[str, Mapping[str, JSON]], home: Path
) -> None:
    """Check that the ids file covers the rows of the data.

    Raises:
        DataError: it belongs to other rows, for example because one file is only an excerpt.
    """
    wanted = [str(row.get("test_id")) for _, row in rows if isinstance(row, dict)]
    missing = [one for one in wanted if one not in ids]
    if missing:
        raise DataError(
            f"{IDS}*.jsonl beside it has no ids of {counted(len(missing), 'row')} of "
            f"{len(wanted)}, such as test_id {missing[0]}: it is of another part of the data",
            origin=str(home),
            fix="put the file of the same rows beside it",
        )


def is_official(path: Path) -> bool:
    """Whether a file's first row has NesTools' fields."""
    return fields_of(path) >= {"test_id", "api", "call"}


READER = Reader(
    "NesTools' test_data.jsonl, with test_api_ids.jsonl beside it",
    survey,
    SOURCE,
    fits=is_official,
)


def _beside(home: Path, name: str) -> Mapping[str, Mapping[str, JSON]] | None:
    """Return the rows of another file by their ``test_id``; None if there is no such file."""
    own = home.name.replace(DATA, name, 1) if DATA in home.name else f"{name}.jsonl"
    for path in (home.with_name(own), home.with_name(f"{name}.jsonl")):
        if path.is_file() and path != home:
            rows = parse_rows(read_bytes(path), lines=True, origin=str(path))
            return {str(row.get("test_id")): row for _, row in rows if isinstance(row, dict)}
    return None


def _item(
    identity: str,
    row: Record,
    beside: Mapping[str, Mapping[str, Mapping[str, JSON]] | None],
    numbers: dict[str, int],
) -> Item | None:
    task, field = row.text("task"), row.label("field")

    def other(name: str) -> Record | None:
        """Return the matching row of another file; None if there is no such file."""
        rows = beside[name]
        return None if rows is None else replace(row, value=rows.get(identity, {}), path=name)

    apis = list(_objects(row, "api"))
    ids = other(IDS)
    given = _ids(ids, len(apis)) if ids else [_number(one.value, numbers) for one in apis]
    tools = [_tool(one, number) for one, number in zip(apis, given, strict=True)]
    names = [tool.name for tool in tools]
    for place, name in enumerate(names):
        if name in names[:place]:
            row.note("shared-name", f"api[{place}]", expected="a name of its own", given=name)
    by_name = {tool.name: tool for tool in tools}
    calls: list[JSON] = [_call(one, by_name) for one in _objects(row, "call")]
    prompt, rewritten = other(PROMPTS), other(REWRITTEN)
    on_offer = tools if prompt is None else _of_prompt(prompt, tools)
    wordings = {WITHOUT_CONJUNCTIONS: rewritten.text("task")} if rewritten else {}
    extra = {name: value for name, value in row.value.items() if name not in FIELDS}
    if row.errors:
        return None
    return Item(
        id=identity,
        question=task,
        answer="",
        hops=(),
        domain=field.partition("/")[0],
        answer_type="calls",
        extra={**extra, "field": field},
        others=tuple(_own_names(on_offer)),
        benchmark="nestools",
        wordings=wordings,
        gold={"calls": calls},
    )


def item_of(row: Mapping[str, JSON]) -> Item:
    """Build the item of one row, its tools numbered from 1.

    Raises:
        DataError: the row cannot be used; every fault is listed.
    """
    record = Record(row, f"id {row.get('test_id')}")
    item = _item(str(row.get("test_id")), record, dict.fromkeys((IDS, PROMPTS, REWRITTEN)), {})
    if item is None:
        raise DataError("the row cannot be used", record.notes)
    return item


def _objects(row: Record, name: str) -> Iterator[Record]:
    for place, value in enumerate(row.sequence(name)):
        if isinstance(value, dict):
            yield row.within(f"{name}[{place}]", value)
        else:
            row.note("wrong-type", f"{name}[{place}]", expected="an object", given=shown(value))


def _ids(row: Record, count: int) -> Sequence[int]:
    found = [one for one in row.sequence("api_ids") if isinstance(one, int)]
    if len(found) != count or len(set(found)) != count:
        text = f"{count} different numbers, one for each api"
        row.note("wrong-ids", "api_ids", expected=text, given=shown(row.value.get("api_ids")))
        return range(count)
    return found


def _number(api: Mapping[str, JSON], numbers: dict[str, int]) -> int:
    """Return the tool's number in the file, from 1."""
    return numbers.setdefault(json.dumps(api, sort_keys=True), len(numbers) + 1)


def _tool(api: Record, number: int) -> Tool:
    name, description = api.text("api_name"), api.label("api_description")
    parameters, responses = _fields(api, "parameters"), _fields(api, "responses")
    required = _texts(api, "required")
    for one in required:
        if one not in parameters:
            api.note("unknown-name", "required", expected="names of parameters", given=shown(one))
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {key: _schema(value) for key, value in parameters.items()},
        "required": list(required),
    }
    facts: dict[str, JSON] = {"id": number, "responses": dict(responses)}
    odd: dict[str, JSON] = {
        key: value["type"] for key, value in parameters.items() if value["type"] not in TYPES
    }
    if odd:
        facts["types"] = odd
    return Tool(ToolSchema(name, description, schema), Described(facts))


def _schema(parameter: Mapping[str, JSON]) -> dict[str, JSON]:
    """Convert to JSON Schema; a type that JSON Schema lacks is left out."""
    kind = TYPES.get(str(parameter["type"]))
    if kind is None:
        return {key: value for key, value in parameter.items() if key != "type"}
    return {**parameter, "type": kind}


def _fields(api: Record, name: str) -> dict[str, dict[str, JSON]]:
    """Return the descriptions of parameters or responses, each with its type."""
    found: dict[str, dict[str, JSON]] = {}
    for key, value in api.mapping(name).items():
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(kind, str):
            found[key] = value
        else:
            given = shown(kind) if kind is not None else shown(value)
            place, wanted = api.within(name, {}), "an object with a type, such as str"
            place.note("wrong-type", key, expected=wanted, given=given)
    return found


def _texts(row: Record, name: str) -> list[str]:
    given = row.value.get(name)
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        return [str(one) for one in given]
    row.note("wrong-type", name, expected="a list of texts", given=shown(given))
    return []


def _call(call: Record, tools: Mapping[str, Tool]) -> JSON:
    """Return a gold call, its placeholders keyed by the names of the responses."""
    name, parameters = call.text("api_name"), call.mapping("parameters")
    texts = _texts(call, "responses")
    if name and name not in tools:
        call.note("no-tool", "api_name", expected="the name of an api of the row", given=name)
    if name not in tools:
        return None
    facts = tools[name].facts
    wanted = facts["responses"] if isinstance(facts["responses"], dict) else {}
    if len(texts) != len(wanted):
        expected = f"{len(wanted)} placeholders, as the api has responses"
        call.note("wrong-count", "responses", expected=expected, given=shown(list(texts)))
        return None
    responses: JSON = dict(zip(wanted, texts, strict=True))
    return {"name": name, "id": facts["id"], "parameters": parameters, "responses": responses}


def _of_prompt(row: Record, own: Sequence[Tool]) -> Sequence[Tool]:
    """Return the tools in the official prompt, in its order. The list is a Python
    literal on a line of its own.
    """
    text = row.text("prompt")
    lines = (line.strip() for line in text.split("\n"))
    for line in (line for line in lines if line.startswith("[{") and line.endswith("}]")):
        try:
            found = ast.literal_eval(line)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if all(isinstance(one, dict) and isinstance(one.get("api_id"), int) for one in found):
            apis = [row.within(f"prompt[{place}]", one) for place, one in enumerate(found)]
            numbers = ((one, one.value["api_id"]) for one in apis)
            tools = [_tool(one, number) for one, number in numbers if isinstance(number, int)]
            shown_ids = {tool.facts["id"] for tool in tools}
            missing = {tool.name for tool in own if tool.facts["id"] not in shown_ids}
            if missing:
                given = f"a list without {', '.join(sorted(missing))}"
                row.note("no-tool", "prompt", expected="the row's own tools", given=given)
            return tools
    if text:
        row.note("no-list", "prompt", expected="a line with a list of tools", given="none")
    return own


def _own_names(tools: Sequence[Tool]) -> Iterator[Tool]:
    """Yield the tools under unique names; the prompt shows each by its original name."""
    taken: set[str] = set()
    for tool in tools:
        name, number = tool.name, 2
        while name in taken:
            name, number = f"{tool.name}_{number}", number + 1
        taken.add(name)
        if name == tool.name:
            yield tool
        else:
            schema = replace(tool.schema, name=name)
            yield Tool(schema, Described({**tool.facts, "api_name": tool.name}))
