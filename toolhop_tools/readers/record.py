"""Read one JSON object of a data file field by field: faults are noted, never raised."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import jsonschema_rs

from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataError, DataProblem, ProblemLevel, counted, shown
from toolhop_tools.model import DataSet, GoldCall, Item, ToolSchema
from toolhop_tools.reading import reading_from_json

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything found while reading a data file."""

    dataset: DataSet
    """The usable items."""
    problems: tuple[DataProblem, ...]
    """Errors and findings, in the order of the file."""
    fix: str = ""
    """How to fix the errors, if correcting the named fields is not enough."""

    @property
    def errors(self) -> tuple[DataProblem, ...]:
        """Problems that make rows unusable."""
        return tuple(problem for problem in self.problems if problem.level == "error")

    def usable(self, *, skip_broken: bool = False) -> DataSet:
        """Return the data set if every row can be used (with `skip_broken`, at least one).

        Raises:
            DataError: rows cannot be used; lists every error.
        """
        errors = self.errors
        if not errors or (skip_broken and self.dataset.items):
            return self.dataset
        rows = counted(len({error.where for error in errors}), "row")
        message = f"{counted(len(errors), 'error')} in {rows}"
        raise DataError(message, errors, origin=self.dataset.origin, fix=self.fix)


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object with its place and the list in which its faults are noted.

    For a faulty field the readers return a stand-in of the right type, so that later fields are
    read too; check `errors` before building a value.
    """

    value: Mapping[str, JSON]
    where: str
    notes: list[DataProblem] = field(default_factory=list)
    path: str = ""

    @property
    def errors(self) -> int:
        """Number of errors noted so far."""
        return sum(note.level == "error" for note in self.notes)

    def note(
        self, rule: str, name: str, *, expected: str, given: str, level: ProblemLevel = "error"
    ) -> None:
        """Note a fault of the field `name` (empty for the object as a whole)."""
        place = _step(self.path, name)
        self.notes.append(DataProblem(rule, self.where, place, expected, given, level))

    def within(self, name: str, value: Mapping[str, JSON]) -> Record:
        """Return a record for an object inside this one."""
        return replace(self, value=value, path=_step(self.path, name))

    def text(self, name: str) -> str:
        """Read a required, non-blank text."""
        given = self.value.get(name, _MISSING)
        if isinstance(given, str) and given.strip():
            return given
        rule = "missing" if given is _MISSING else "wrong-type"
        self.note(rule, name, expected="text that is not blank", given=self._given(name))
        return ""

    def label(self, name: str, *, wanted: bool = True) -> str:
        """Read an optional text; if `wanted`, an absent or blank one is a finding."""
        given = self.value.get(name, "")
        if not isinstance(given, str):
            self.note("wrong-type", name, expected="text", given=shown(given))
            return ""
        if wanted and not given.strip():
            self.note("no-label", name, expected="text", given=self._given(name), level="finding")
        return given

    def answer(self, name: str) -> str:
        """Read an answer. ToolHop's are always text: a number is read as its JSON text.

        That is a finding, and so is blank text, which is returned unchanged.
        """
        given = self.value.get(name, _MISSING)
        if isinstance(given, str):
            if not given.strip():
                self.note(
                    "blank-answer", name, expected="an answer", given="blank text", level="finding"
                )
            return given
        if isinstance(given, int | float) and not isinstance(given, bool):
            self.note(
                "number-answer",
                name,
                expected="an answer as text",
                given=f"{shown(given)}, taken as text",
                level="finding",
            )
            return json.dumps(given)
        rule = "missing" if given is _MISSING else "wrong-type"
        self.note(rule, name, expected="an answer as text", given=self._given(name))
        return ""

    def mapping(self, name: str) -> dict[str, JSON]:
        """Read an object."""
        given = self.value.get(name, _MISSING)
        if isinstance(given, dict):
            return given
        rule = "missing" if given is _MISSING else "wrong-type"
        self.note(rule, name, expected="an object", given=self._given(name))
        return {}

    def sequence(self, name: str) -> Sequence[JSON]:
        """Read a list with at least one element."""
        given = self.value.get(name, _MISSING)
        if isinstance(given, list) and given:
            return given
        rule = "missing" if given is _MISSING else "wrong-type"
        self.note(rule, name, expected="a list that is not empty", given=self._given(name))
        return []

    def _given(self, name: str) -> str:
        return shown(self.value[name]) if name in self.value else "nothing"


def _step(path: str, name: str) -> str:
    """Return ``path.name``, ``path[2]``, or, for a sentence, ``path["Who is the …"]``."""
    if re.fullmatch(r"\[\d+\]", name) or not name:
        return f"{path}{name}"
    if re.fullmatch(r"[\w.-]{1,64}(\[\d+\])?", name):
        return f"{path}.{name}".removeprefix(".")
    short = name if len(name) <= 40 else f"{name[:39]}…"
    return f"{path}[{json.dumps(short, ensure_ascii=False)}]"


def collect(
    rows: Iterable[tuple[str, JSON]],
    read: Callable[[str, Record], Item | None],
    *,
    id_field: str = "id",
) -> tuple[list[Item], list[DataProblem]]:
    """Read every row with `read`, which receives its id and fields.

    A row that is not an object, has no id (a whole number or text) or repeats an earlier id is an
    error and is not passed to `read`.
    """
    items: list[Item] = []
    problems: list[DataProblem] = []
    places: dict[str, str] = {}
    for where, row in rows:
        record = Record(row if isinstance(row, dict) else {}, where)
        if not isinstance(row, dict):
            record.note("wrong-type", "", expected="an object", given=shown(row))
        elif identity := _read_id(record, places, id_field):
            places[identity] = where
            item = read(identity, replace(record, where=f"id {identity}"))
            items += [] if item is None or record.errors else [item]
        problems += record.notes
    return items, problems


def _read_id(record: Record, places: Mapping[str, str], field: str) -> str:
    given = record.value.get(field)
    whole = isinstance(given, int) and not isinstance(given, bool)
    identity = str(given) if whole else given
    if not isinstance(identity, str) or not identity.strip():
        given_text = shown(given) if field in record.value else "nothing"
        record.note("no-id", field, expected="a whole number or text", given=given_text)
        return ""
    if identity in places:
        seen = f"{shown(given)}, the id of {places[identity]} too"
        record.note("duplicate-id", field, expected="an id of its own", given=seen)
        return ""
    return identity


def read_tool_schema(record: Record) -> ToolSchema:
    """Read a tool schema: name, description, and a JSON Schema of the arguments object.

    OpenAI's ``{"type": "function", "function": {...}}`` is unwrapped. A missing description and a
    schema without ``type`` are findings; ``type`` is then added.
    """
    inner = record.value.get("function")
    if record.value.get("type") == "function" and isinstance(inner, dict):
        record = record.within("function", inner)
    name = record.text("name")
    description = record.label("description")
    for unknown in sorted(record.value.keys() - {"name", "description", "parameters"}):
        record.note(
            "unknown-field",
            unknown,
            expected="name, description, parameters",
            given=f"{unknown}, left out",
            level="finding",
        )
    parameters = record.mapping("parameters")
    if "parameters" in record.value and isinstance(record.value["parameters"], dict):
        parameters = _read_schema(record.within("parameters", parameters))
    return ToolSchema(name, description, parameters)


def _read_schema(record: Record) -> dict[str, JSON]:
    schema = dict(record.value)
    if "type" not in schema:
        record.note("no-type", "type", expected='"object"', given="nothing, added", level="finding")
        schema = {"type": "object", **schema}
    if schema["type"] != "object":
        record.note("not-object", "type", expected='"object"', given=shown(schema["type"]))
    elif fault := schema_fault(schema):
        path, message = fault
        record.note("bad-schema", path, expected="a valid JSON Schema", given=message)
    return schema


def schema_fault(schema: Mapping[str, JSON]) -> tuple[str, str] | None:
    """Return why `schema` cannot validate arguments, as (path, reason); None if it can.

    Patterns and references are checked too. An external reference is a fault and is never fetched:
    ``jsonschema_rs.meta.validate`` would ask the network for an unknown ``$schema``.
    """
    try:
        jsonschema_rs.validator_for(dict(schema), retriever=_refuse)
    except jsonschema_rs.ValidationError as error:
        path = ".".join(str(part) for part in error.instance_path)
        return path, error.message.split("\n")[0][:160]
    except (ValueError, OverflowError, RecursionError, jsonschema_rs.ReferencingError) as error:
        return "", str(error).split("\n")[0][:160]
    return None


def _refuse(uri: str) -> JSON:
    raise LookupError(f"{uri} is outside of the schema")


def read_gold(record: Record, name: str) -> GoldCall | None:
    """Read a gold call ``{"arguments": {...}, "source": "..."}``; None for null."""
    given = record.value[name]
    if given is None:
        return None
    if not isinstance(given, dict):
        record.note("wrong-type", name, expected="an object or null", given=shown(given))
        return None
    inner = record.within(name, given)
    reading = None
    if given.get("reading") is not None:
        try:
            reading = reading_from_json(given["reading"])
        except ValueError:
            expected = "where in the result the answer stands"
            inner.note("wrong-type", "reading", expected=expected, given=shown(given["reading"]))
    return GoldCall(inner.mapping("arguments"), inner.text("source"), reading)
