"""RelyToolBench's sets of queries (`solvable_queries/test_instruction`): one list of rows per file.

``relytoolbench:PATH`` reads a set, or the sets ``G*.json`` in a folder. Options may follow PATH:
``?set=NAME`` if the file is not named after its set, ``&schemas=fixed`` for schemas with all
optional parameters, ``&replies=FOLDER`` for recorded replies of the services
(``CATEGORY/TOOL_for_CATEGORY/API.json``, an object that maps the ``str()`` of the arguments' dict
to the reply), ``&gold=FILE`` for known calls and answers (`KnownGold`).

The APIs are services that cannot be called here. Schemas have the official form, including one bug:
an API shows its optional parameters only if it has required ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, ValidationError

from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.benchmarks.relytoolbench.replies import filled, recorded, response, service_name
from toolhop_tools.errors import DataError, DataNotFound, DataProblem, shown
from toolhop_tools.model import (
    ActionChoice,
    DataSet,
    EpisodeAction,
    Item,
    RecordedTable,
    Tool,
    ToolSchema,
)
from toolhop_tools.readers.datafile import fields_of, parse_list
from toolhop_tools.readers.fetch import GITHUB, Pin, Source
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Record, Survey, collect

NAME = "relytoolbench"
KINDS = {"with_unmatched_tools": "unmatched", "missing_all_arguments": "missing"}
"""Sets with unsolvable tasks, by a part of their name; all others are solvable (official rule)."""
GROUPS = ("G1_instruction", "G2_category", "G3_instruction")
SETS = tuple(
    f"{group}{part}"
    for group in GROUPS
    for part in ("", "_missing_all_arguments", "_with_unmatched_tools")
)
"""Official names of the sets."""
QUERIES = "solvable_queries/test_instruction"
"""Path of the sets within the release."""
OTHER_SETS = ("G1_category", "G1_tool", "G2_instruction")
"""StableToolBench's sets in the same folder; they are in no official table."""
TYPES = {"NUMBER": "integer", "STRING": "string", "BOOLEAN": "boolean"}
"""Official mapping from the data's type to the schema's; any other type becomes a string."""
DESCRIPTION_CHARS, NAME_CHARS = 256, 64
RETURNS = {
    "give_answer": EpisodeAction.FINISH,
    "give_up_and_restart": EpisodeAction.GIVE_UP,
    "give_up_and_change_tools": EpisodeAction.GIVE_UP,
    "give_up_and_talk_to_user": EpisodeAction.GIVE_UP,
}
"""Values of ``return_type`` in ``Finish``; each ends the episode, as in the official runs."""
FINISH = Tool(
    ToolSchema(
        "Finish",
        "Call this to end the task: with the answer for the user, or to give up. Give up where "
        "the query cannot be handled: restart, ask for other tools, or ask the user for what is "
        "missing.",
        {
            "type": "object",
            "properties": {
                "return_type": {"type": "string", "enum": list(RETURNS)},
                "final_answer": {
                    "type": "string",
                    "description": "What the user is told; wanted with give_answer.",
                },
            },
            "required": ["return_type"],
        },
    ),
    ActionChoice("return_type", RETURNS),
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options after the path."""

    set: str = ""
    schemas: str = "published"
    replies: Path | None = None
    gold: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)
    """`KnownGold` by item, as JSON."""


class KnownGold(BaseModel):
    """Known gold of a row made from an executable item: a line of ``gold=FILE``.

    The official rows have no field for it.
    """

    model_config = ConfigDict(extra="forbid")
    row: str
    """Id of the item, such as ``G1_instruction-1``."""
    answer: str
    calls: list[KnownCall]
    """Calls that lead to the answer, in order."""


class KnownCall(BaseModel):
    """A call that leads to the answer."""

    model_config = ConfigDict(extra="forbid")
    name: str
    """Name of the function, as shown."""
    arguments: dict[str, Any]
    from_results: list[str]
    """Arguments whose value comes from an earlier result. All others follow from the query, even
    if it words them differently."""


def kind_of(name: str) -> str:
    """Return the kind of a set's tasks by its name: ``solvable``, ``missing`` or ``unmatched``."""
    return next((kind for part, kind in KINDS.items() if part in name), "solvable")


def group_of(name: str) -> str:
    """Return the group of a set; its own name if it belongs to none."""
    return next((group for group in GROUPS if name.startswith(group)), name)


def _files(path: Path) -> list[Path]:
    """Return the sets in a folder, possibly the release's root; a file is returned as it is."""
    inner = path / QUERIES
    home = inner if inner.is_dir() else path
    return sorted(home.glob("G*.json")) if path.is_dir() else [path]


def is_official(path: Path) -> bool:
    """Whether a file, or the first set in a folder, begins with a RelyToolBench row."""
    return fields_of(min(_files(path), default=path)) >= {"api_list", "query_id"}


def survey(path: Path, options: Options) -> Survey:
    """Read one set, or all sets in a folder, broken rows included.

    Raises:
        DataError: nothing could be read.
    """
    files = _files(path)
    if not files:
        raise DataNotFound("no set G*.json in this folder", origin=str(path))
    names = [options.set or file.stem for file in files]
    if unknown := [one for one in names if options.set and one not in (*SETS, *OTHER_SETS)]:
        raise DataError(
            f"?set={unknown[0]} is not a set",
            origin=str(path),
            fix=f"give one of {', '.join(SETS)}",
        )
    if options.set and len(files) > 1:
        message = f"?set={options.set} names one set, and there are {len(files)}"
        raise DataError(message, origin=str(path), fix="leave the option out")
    items: list[Item] = []
    problems: list[DataProblem] = []
    for file in files:
        name = options.set or file.stem
        rows = parse_list(file, _mistaken)
        numbered = [(where, _with_id(row)) for where, row in rows]
        found, noted = collect(numbered, lambda one, row, name=name: _item(one, row, name, options))  # type: ignore[misc]
        items += found
        prefix = f"{name} " if len(files) > 1 else ""
        if name not in (*SETS, *OTHER_SETS):
            expected, given = (
                "the name of a set",
                f"{name}: its tasks are taken for {kind_of(name)}",
            )
            noted.append(DataProblem("unknown-set", file.name, "", expected, given, "finding"))
        problems += [replace(one, where=f"{prefix}{one.where}") for one in noted]
    return Survey(DataSet(NAME, str(path), tuple(items)), tuple(problems))


def _mistaken(whole: dict[str, JSON]) -> str:
    """Describe a file from another folder of the official code that has the same name as a set."""
    if whole and all(isinstance(one, dict) and "answer" in one for one in whole.values()):
        return "converted answers: play them by --agent predictions:FILE"
    if whole and all(isinstance(one, int) for one in whole.values()):
        return "ids of queries (test_query_ids): give the file of that name in test_instruction"
    return ""


def _with_id(row: JSON) -> JSON:
    """Return the row with its query's id in the id field that readers expect."""
    if not isinstance(row, dict):
        return row
    rest = {key: value for key, value in row.items() if key != "id"}
    return {**rest, "id": row["query_id"]} if "query_id" in row else rest


def _item(identity: str, row: Record, name: str, options: Options) -> Item | None:
    query, kind = row.text("query"), kind_of(name)
    tools: dict[tuple[str, str], Tool] = {}
    taken, numbers = {FINISH.name}, dict[str, JSON]()
    for number, api in enumerate(row.sequence("api_list")):
        place = f"api_list[{number}]"
        if not isinstance(api, dict):
            row.note("wrong-type", place, expected="an API", given=shown(api))
            continue
        entry = row.within(place, api)
        tool = _tool(entry, options, taken)
        taken.add(tool.name)
        key = str(api.get("tool_name")), str(api.get("api_name"))
        if key in tools:
            expected, given = "an API of its own", f"{key[1]} of {key[0]} again, left out"
            entry.note("same-api", "api_name", expected=expected, given=given, level="finding")
            continue
        tools[key] = tool
        numbers[tool.name] = _numbers(api)
    relevant = _relevant(row)
    unknown = [one for one in relevant if one not in tools]
    if kind != "unmatched" and unknown and not row.errors:
        given = f"{unknown[0][0]}: {unknown[0][1]}"
        row.note("unknown-api", "relevant APIs", expected="APIs of api_list", given=given)
    known = options.gold.get(f"{name}-{identity}", {})
    needed = [tools[one].name for one in relevant if one in tools]
    if known and _called(known) != {*needed}:
        expected = f"known calls of the relevant APIs ({', '.join(needed)})"
        row.note("other-gold", "gold", expected=expected, given=", ".join(sorted(_called(known))))
    if row.errors:
        return None
    gold: dict[str, JSON] = {
        "set": name,
        "kind": kind,
        "relevant": [*needed],
        "numbers": numbers,
        **known,
    }
    extra = {key: row.value[key] for key in ("orig_query",) if key in row.value}
    extra["family"] = f"{group_of(name)}-{identity}"  # the same query in all sets of a group
    return Item(
        f"{name}-{identity}", query, "", (), group_of(name), kind, extra=extra,
        others=(*tools.values(), FINISH), benchmark=NAME, gold=gold,
    )  # fmt: skip


def _called(known: Mapping[str, JSON]) -> set[str]:
    calls = known["calls"] if isinstance(known["calls"], list) else []
    return {str(one["name"]) for one in calls if isinstance(one, dict)}


def _relevant(row: Record) -> list[tuple[str, str]]:
    found = []
    for number, one in enumerate(row.sequence("relevant APIs")):
        if isinstance(one, list) and len(one) == 2 and all(isinstance(part, str) for part in one):
            found.append((str(one[0]), str(one[1])))
        else:
            place = f"relevant APIs[{number}]"
            row.note("wrong-type", place, expected="a tool's and an API's name", given=shown(one))
    return found


def _tool(api: Record, options: Options, taken: set[str]) -> Tool:
    category, tool_name = api.label("category_name"), api.text("tool_name")
    api_name, description = api.text("api_name"), api.label("api_description", wanted=False)
    tool, function = service_name(tool_name), service_name(api_name, reserved=True)
    name = f"{function}_for_{tool}"[-NAME_CHARS:]
    if name in taken:
        expected, given = "a name of its own", f"the name {name} again"
        api.note("same-name", "api_name", expected=expected, given=given, level="finding")
        others = (f"{name[: NAME_CHARS - 4]}_{number}" for number in count(2))
        name = next(other for other in others if other not in taken)
    text = f"An API of the tool {tool}."
    if description.strip():
        text += f" {description.strip().replace(api_name, name)[:DESCRIPTION_CHARS]}"
    required, optional = (
        _parameters(api, field) for field in ("required_parameters", "optional_parameters")
    )
    if options.schemas == "published" and not required:
        optional = {}
    parameters: dict[str, JSON] = {
        "type": "object",
        "properties": {**optional, **required},
        "required": list(required),
        "optional": [one for one in optional if one not in required],
    }
    form = api.value.get("template_response")
    made = form is not None
    reply: JSON = response(filled(form)) if made else {"error": NO_REPLY, "response": ""}
    known = {}
    if options.replies is not None and tool_name:
        known = recorded(options.replies, (category, tool, function, service_name(api_name)), api)
    instruction = SIMULATE.format(api=api_name, tool=tool_name, category=category)
    table = RecordedTable(known, Returned(json.dumps(reply, ensure_ascii=False)), instruction, made)
    return Tool(ToolSchema(name, text, parameters), table)


NO_REPLY = "No reply of this service to these arguments is known."
SIMULATE = (
    "You stand in for the service {api} of {tool} (category {category}). Reply with an object "
    "of two fields: `error`, empty where the call is good, and `response`, what the service "
    "gives. Where the arguments make no sense, say so in `error`."
)


def _parameters(api: Record, field: str) -> dict[str, JSON]:
    """Return the schemas by name, in data order."""
    found: dict[str, JSON] = {}
    given = api.value.get(field)
    if not isinstance(given, list):
        api.note("wrong-type", field, expected="a list", given=shown(given))
        return {}
    for number, one in enumerate(given):
        if not isinstance(one, dict):
            api.note("wrong-type", f"{field}[{number}]", expected="a parameter", given=shown(one))
            continue
        entry = api.within(f"{field}[{number}]", one)
        name, kind = service_name(entry.text("name"), reserved=True), entry.text("type")
        text = entry.label("description", wanted=False)
        shape: dict[str, JSON] = {
            "type": TYPES.get(kind, "string"), "description": text[:DESCRIPTION_CHARS],
        }  # fmt: skip
        if str(one.get("default", "")):
            shape["example_value"] = one.get("default")
        found[name] = shape
    return found


def _numbers(api: Mapping[str, JSON]) -> list[JSON]:
    """Return the names of NUMBER parameters, which official schemas declare as integers."""
    given = [api.get(field) for field in ("required_parameters", "optional_parameters")]
    each = [one for found in given if isinstance(found, list) for one in found]
    return [
        service_name(str(one.get("name")), reserved=True)
        for one in each
        if isinstance(one, dict) and one.get("type") == "NUMBER"
    ]


def options_of(text: str) -> tuple[Path, Options]:
    """Parse the path and the options after the colon.

    Raises:
        DataError: an option is unknown, or has an invalid value.
    """
    path, _, query = text.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := sorted(given.keys() - {"set", "schemas", "replies", "gold"}):
        fix = "give set, schemas, replies, gold"
        raise DataError(f"no option {unknown[0]!r}", origin=text, fix=fix)
    if given.get("schemas", "published") not in ("published", "fixed"):
        raise DataError(f"schemas={given['schemas']}", origin=text, fix="give published or fixed")
    replies = Path(given["replies"]) if given.get("replies") else None
    if replies is not None and not replies.is_dir():
        raise DataNotFound("there is no such folder of replies", origin=str(replies))
    gold = _known_gold(Path(given["gold"])) if given.get("gold") else {}
    return Path(path), Options(
        given.get("set", ""), given.get("schemas", "published"), replies, gold
    )


def _known_gold(path: Path) -> dict[str, Mapping[str, JSON]]:
    """Read `KnownGold` by item.

    Raises:
        DataError: there is no such file, or a line has another form.
    """
    if not path.is_file():
        raise DataNotFound("there is no such file of known answers", origin=str(path))
    found: dict[str, Mapping[str, JSON]] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            one = KnownGold.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            message = f"line {number} is no known answer: {place}: {first['msg']}"
            fix = "give the gold.jsonl that `toolhop data export --to relytoolbench` wrote"
            raise DataError(message, origin=str(path), fix=fix) from None
        found[one.row] = one.model_dump(mode="json", exclude={"row"})
    return found


def _survey(path: str, *, last_wins: bool) -> Survey:
    del last_wins
    file, options = options_of(path)
    return survey(SOURCE.here() if file == Path() else file, options)


SOURCE = Source(
    NAME,
    tuple(
        Pin(
            "X-LANCE/ToolHallucination",
            "f89158c471c806a9c12229cf91165a4132780411",
            f"solvable_queries/test_instruction/{group}{part}.json",
            host=GITHUB,
        )
        for group in ("G1_instruction", "G2_category", "G3_instruction")
        for part in ("", "_missing_all_arguments", "_with_unmatched_tools")
    ),
    "Apache-2.0; the queries stem from ToolBench",
)
READER = Reader("RelyToolBench's nine sets", _survey, SOURCE, fits=is_official)
