"""Read data sets in folders: the built-in one, and users' own in the same layout.

::

    <root>/<domain>/items.json           [{"id", "domain", "question", "answer", "answer_type",
                                           "hops": [{"question", "answer",
                                                     "tool": "<domain>/<name>",
                                                     "arguments": {...}}]}]
    <root>/<domain>/<name>.json          the tool's schema: name, description, parameters
    <root>/<domain>/<name>.py            its code; defines the function <name>

``arguments`` is the hop's gold call and may be absent. Items are
ordered by folder name and then by their order in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataError, DataNotFound, DataProblem, shown
from toolhop_tools.model import DataSet, GoldCall, Hop, Item, Tool
from toolhop_tools.readers.datafile import decode, parse, parse_rows
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Record, Survey, collect, read_tool_schema
from toolhop_tools.readers.tool_names import own_names

ITEMS = "items.json"
FIELDS = ("id", "domain", "question", "answer", "answer_type", "previous_answer_type", "hops")

_PATH = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9_-]+")


@cache
def builtin() -> DataSet:
    """Return the data set that comes with the package; it is read once per process.

    Raises:
        DataError: the installation is damaged.
    """
    return survey_builtin().usable()


def survey_builtin() -> Survey:
    """As `builtin`, with errors and findings as values."""
    root = files("toolhop_tools") / "builtin"
    return survey_folder(root, name="builtin", origin=str(root))


def _survey_builtin(path: str, *, last_wins: bool) -> Survey:
    del last_wins  # no two tools of an item share a name
    if path:
        raise DataError("the built-in set has no path", origin=f"builtin:{path}")
    return survey_builtin()


def _survey_path(path: str, *, last_wins: bool) -> Survey:
    del last_wins
    home = Path(path)
    if not path or not home.is_dir():
        given = repr(path) if path else "no path"
        raise DataNotFound(f"there is no folder: {given} was given", fix="give folder:PATH")
    return survey_folder(home, name=home.resolve().name, origin=path)


BUILTIN = Reader("the items that come with the package", _survey_builtin)
FOLDER = Reader("a folder laid out as the built-in set", _survey_path, wants_path=True)


def survey_folder(root: Traversable, *, name: str, origin: str) -> Survey:
    """Read a folder in the layout above, broken rows included.

    Raises:
        DataError: no subfolder has an ``items.json``.
    """
    rows: list[tuple[str, JSON]] = []
    problems: list[DataProblem] = []
    folders = sorted((entry for entry in root.iterdir() if entry.is_dir()), key=lambda e: e.name)
    domains = [folder.name for folder in folders if (folder / ITEMS).is_file()]
    if not domains:
        raise DataError(f"no folder in it has an {ITEMS}", origin=origin, fix=_fix(root))
    for domain in domains:
        place = f"{domain}/{ITEMS}"
        try:
            found = parse_rows((root / domain / ITEMS).read_bytes(), lines=False, origin=place)
        except DataError as error:
            problems += [_moved(problem, place) for problem in error.problems]
        else:
            rows += [(f"{place} {where}", row) for where, row in found]
    shelf = _Shelf(root)
    items, faults = collect(rows, lambda identity, row: _item(identity, row, shelf))
    found_all = (*problems, *shelf.problems, *faults)
    return Survey(DataSet(name, origin, tuple(items)), found_all)


def _fix(root: Traversable) -> str:
    names = sorted(one.name for one in root.iterdir() if one.name.endswith((".json", ".jsonl")))
    files = f"; or one of the files in it: {', '.join(names[:3])}" if names else ""
    return f"give the folder that holds DOMAIN/{ITEMS}; `toolhop data new` makes one{files}"


def _moved(problem: DataProblem, place: str) -> DataProblem:
    return replace(problem, where=f"{place} {problem.where}".strip())


class _Shelf:
    """The tools of a folder, each read once; their faults are noted under their own path."""

    def __init__(self, root: Traversable) -> None:
        self._root = root
        self._tools: dict[str, Tool | None] = {}
        self.problems: list[DataProblem] = []

    def tool(self, path: str) -> Tool | None:
        """Return the tool ``folder/name``; None if it has errors."""
        if path not in self._tools:
            self._tools[path] = self._read(path)
        return self._tools[path]

    def _read(self, path: str) -> Tool | None:
        folder, name = path.split("/")
        home = self._root / folder
        record = Record({}, path, self.problems)
        before = record.errors
        for suffix in (".json", ".py"):
            if not (home / f"{name}{suffix}").is_file():
                record.note("missing", "", expected=f"a file {path}{suffix}", given="none")
        if record.errors > before:
            return None
        try:
            value = parse((home / f"{name}.json").read_bytes(), f"{path}.json")
            source = decode((home / f"{name}.py").read_bytes(), f"{path}.py")
        except DataError as error:
            self.problems += [_moved(problem, error.origin) for problem in error.problems]
            return None
        if not isinstance(value, dict):
            record.note("wrong-type", "", expected="a tool schema", given=shown(value))
            return None
        schema = read_tool_schema(replace(record, value=value))
        if schema.name not in ("", name):
            expected = f"{name}, the file's name"
            record.note("wrong-name", "name", expected=expected, given=shown(schema.name))
        return None if record.errors > before else Tool(schema, Program(source, name))


def _item(identity: str, row: Record, shelf: _Shelf) -> Item | None:
    question, answer = row.text("question"), row.answer("answer")
    domain, answer_type = row.label("domain"), row.label("answer_type")
    previous = row.label("previous_answer_type", wanted=False)
    hops = own_names(tuple(_hops(row, shelf)))
    extra = {key: value for key, value in row.value.items() if key not in FIELDS}
    return Item(identity, question, answer, hops, domain, answer_type, previous, extra)


def _hops(row: Record, shelf: _Shelf) -> Iterator[Hop]:
    for index, value in enumerate(row.sequence("hops")):
        if not isinstance(value, dict):
            row.note("wrong-type", f"hops[{index}]", expected="an object", given=shown(value))
            continue
        hop = row.within(f"hops[{index}]", value)
        question, answer, path = hop.text("question"), hop.answer("answer"), hop.text("tool")
        arguments = hop.mapping("arguments") if value.get("arguments") is not None else None
        if path and not _PATH.fullmatch(path):
            hop.note("wrong-path", "tool", expected="<folder>/<tool>", given=shown(path))
        elif path and (tool := shelf.tool(path)) is None:
            hop.note("no-tool", "tool", expected="a tool that can be read", given=shown(path))
        elif path and tool:
            gold = None if arguments is None else GoldCall(arguments, "written")
            yield Hop(question, answer, tool, gold)
