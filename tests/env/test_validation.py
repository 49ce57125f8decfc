from __future__ import annotations

from typing import Any

import pytest

from tests.env.made import object_schema, validator
from toolhop_env.verdicts import BEFORE_RUNNING, Call, ErrorCode, Problem, Rejected

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "year": {"type": "integer", "minimum": 1},
        "unit": {"type": "string", "enum": ["m", "km"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "gone": False,
        "any": True,
    },
    "required": ["year"],
}


def codes(text: str, schema: dict[str, Any] = SCHEMA, name: str = "f") -> list[tuple[str, str]]:
    verdict = validator(schema).check(name, text)
    if isinstance(verdict, Call):
        return []
    assert verdict.code is verdict.problems[0].code
    assert all(problem.code in BEFORE_RUNNING for problem in verdict.problems)
    return [(problem.code.value, problem.path) for problem in verdict.problems]


TABLE: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "fits": ('{"year": 1}', []),
    "white space around is json's own": (' \t\r\n{"year": 1}\n', []),
    "any": ('{"year": 1, "any": [null, {"x": 1}]}', []),
    "a nested object is open": ('{"year": 1, "place": {"lat": 1, "extra": 2}}', []),
    "5.0 is an integer": ('{"year": 5.0}', []),
    "1e2 is an integer": ('{"year": 1e2}', []),
    "null where it may be": ('{"year": 1, "note": null}', []),
    "not_json": ("year=1", [("not_json", "")]),
    "empty": ("", [("not_json", "")]),
    "single quotes": ("{'year': 1}", [("not_json", "")]),
    "trailing text": ('{"year": 1}""', [("not_json", "")]),
    "byte order mark": ('\ufeff{"year": 1}', [("not_json", "")]),
    "no-break space": ('\u00a0{"year": 1}', [("not_json", "")]),
    "nan": ('{"year": NaN}', [("not_json", "")]),
    "infinity": ('{"year": -Infinity}', [("not_json", "")]),
    "too large a float": ('{"year": 1e999}', [("not_json", "")]),
    "a key twice": ('{"year": 1, "year": 1}', [("not_json", "")]),
    "a key twice inside": ('{"year": 1, "any": [{"a": 1, "a": 1}]}', [("not_json", "")]),
    "half a surrogate pair": ('{"year": 1, "any": "\\ud800"}', [("not_json", "")]),
    "half a pair as key": ('{"year": 1, "\\udc00": 1}', [("not_json", "")]),
    "a whole pair": ('{"year": 1, "any": "\\ud83d\\ude00"}', []),
    "array": ("[]", [("not_object", "")]),
    "null": ("null", [("not_object", "")]),
    "string": ('"{}"', [("not_object", "")]),
    "missing": ("{}", [("missing_argument", "year")]),
    "missing inside": ('{"year": 1, "place": {}}', [("missing_argument", "place.lat")]),
    "unexpected": ('{"year": 1, "yaer": 1}', [("unexpected_argument", "yaer")]),
    "a schema of false": ('{"year": 1, "gone": 1}', [("unexpected_argument", "gone")]),
    "wrong type": ('{"year": "1"}', [("wrong_type", "year")]),
    "5.5 is no integer": ('{"year": 5.5}', [("wrong_type", "year")]),
    "true is no integer": ('{"year": true}', [("wrong_type", "year")]),
    "null is no integer": ('{"year": null}', [("wrong_type", "year")]),
    "wrong item": ('{"year": 1, "tags": ["a", 2]}', [("wrong_type", "tags[1]")]),
    "no alternative's type": ('{"year": 1, "note": 5}', [("wrong_type", "note")]),
    "not in enum": ('{"year": 1, "unit": "M"}', [("not_in_enum", "unit")]),
    "of a wrong type and not in enum": (
        '{"year": 1, "unit": 5}',
        [("wrong_type", "unit"), ("not_in_enum", "unit")],
    ),
    "violation": ('{"year": 0}', [("schema_violation", "year")]),
    "everything, in order of precedence": (
        '{"unit": "x", "zz": 1, "tags": [1], "place": {}}',
        [
            ("missing_argument", "year"),
            ("missing_argument", "place.lat"),
            ("unexpected_argument", "zz"),
            ("wrong_type", "tags[0]"),
            ("not_in_enum", "unit"),
        ],
    ),
}


@pytest.mark.parametrize(("text", "problems"), TABLE.values(), ids=TABLE)
def test_codes(text: str, problems: list[tuple[str, str]]) -> None:
    assert codes(text) == problems


def test_the_text_comes_before_the_name() -> None:
    assert codes("x", name="g") == [("not_json", ""), ("unknown_tool", "")]
    assert codes("[]", name="g") == [("not_object", ""), ("unknown_tool", "")]
    assert codes('{"zz": 1}', name="g") == [("unknown_tool", "")]


def test_without_tools_every_name_is_unknown() -> None:
    verdict = validator({}, "f")
    verdict.documents.clear()
    rejected = verdict.check("f", "{}")
    assert isinstance(rejected, Rejected)
    assert rejected.problems == (
        Problem(ErrorCode.UNKNOWN_TOOL, "", '"f"', "none: no tools are offered"),
    )


def test_arguments_reach_the_tool_as_they_were_read() -> None:
    verdict = validator(SCHEMA).check("f", '{"year": 5.0}')
    assert isinstance(verdict, Call)
    assert isinstance(verdict.arguments["year"], float)


X: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
SCHEMAS: dict[str, tuple[dict[str, Any], str, list[tuple[str, str]]]] = {
    "no schema takes nothing": ({}, '{"a": 1}', [("unexpected_argument", "a")]),
    "additional names allowed": ({"additionalProperties": True}, '{"a": 1}', []),
    "additional names of a type": (
        {"additionalProperties": {"type": "string"}},
        '{"a": 1}',
        [("wrong_type", "a")],
    ),
    "additional names forbidden, once each": (
        {"properties": {}, "additionalProperties": False},
        '{"a": 1, "b": 2}',
        [("unexpected_argument", "a"), ("unexpected_argument", "b")],
    ),
    "forbidden inside": (
        {"properties": {"o": {"properties": {"x": True}, "additionalProperties": False}}},
        '{"o": {"x": 1, "y": 2}}',
        [("unexpected_argument", "o.y")],
    ),
    "forbidden inside with no names": (
        {"properties": {"o": {"type": "array", "items": {"additionalProperties": False}}}},
        '{"o": [{}, {"y": 2}]}',
        [("unexpected_argument", "o[1].y")],
    ),
    "unevaluated": (
        {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
        '{"a": 1, "b": 2}',
        [("unexpected_argument", "b")],
    ),
    "names by pattern": ({"patternProperties": {"^x": True}}, '{"x1": 1, "y": 2}', []),
    "a pattern forbidden": (
        {"patternProperties": {"^x": False}},
        '{"x1": 1}',
        [("unexpected_argument", "x1")],
    ),
    "too many items is no name": (
        {"properties": {"l": {"prefixItems": [True], "items": False}}},
        '{"l": [1, 2]}',
        [("schema_violation", "l[1]")],
    ),
    "required and not described": ({"required": ["a"]}, '{"a": 1}', []),
    "a nullable object's own problem": (
        {"properties": {"o": {"anyOf": [X, {"type": "null"}]}}},
        '{"o": {}}',
        [("missing_argument", "o.x")],
    ),
    "a nullable object's problem inside": (
        {"properties": {"o": {"anyOf": [X, {"type": "null"}]}}},
        '{"o": {"x": 1}}',
        [("wrong_type", "o.x")],
    ),
    "a nullable enum": (
        {"properties": {"o": {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}}},
        '{"o": "b"}',
        [("not_in_enum", "o")],
    ),
    "constants as alternatives": (
        {"properties": {"o": {"oneOf": [{"const": "a"}, {"const": "b"}]}}},
        '{"o": "c"}',
        [("not_in_enum", "o")],
    ),
    "two of oneOf": (
        {"properties": {"o": {"oneOf": [{"type": "integer"}, {"minimum": 2}]}}},
        '{"o": 5}',
        [("schema_violation", "o")],
    ),
    "neither alternative": (
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "{}",
        [("schema_violation", "")],
    ),
    "one needs the other": (
        {"properties": {"a": True, "b": True}, "dependentRequired": {"a": ["b"]}},
        '{"a": 1}',
        [("missing_argument", "b")],
    ),
    "two rules of one value": (
        {"properties": {"a": {"minLength": 3, "pattern": "^z"}}},
        '{"a": "x"}',
        [("schema_violation", "a"), ("schema_violation", "a")],
    ),
    "names of a reference": (
        {"$ref": "#/$defs/p", "$defs": {"p": {"properties": {"a": {"type": "integer"}}}}},
        '{"a": "x"}',
        [("wrong_type", "a")],
    ),
    "format is a remark": ({"properties": {"a": {"format": "date"}}}, '{"a": "x"}', []),
    "the whole of a wrong type": ({"type": "array"}, "{}", [("wrong_type", "")]),
    "invalid: names and required still hold": (
        {"properties": {"a": {"type": "float"}}, "required": ["a"]},
        '{"b": 1}',
        [("missing_argument", "a"), ("unexpected_argument", "b")],
    ),
    "invalid: types do not": ({"properties": {"a": {"type": "float"}}}, '{"a": []}', []),
    "invalid: nothing is fetched": (
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}},
        '{"a": 1}',
        [],
    ),
    "invalid: no file is read": (
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        '{"a": 1}',
        [],
    ),
    "invalid: properties of another kind": ({"properties": [], "required": "a"}, "{}", []),
}


@pytest.mark.parametrize(("schema", "text", "problems"), SCHEMAS.values(), ids=SCHEMAS)
def test_schemas(schema: dict[str, Any], text: str, problems: list[tuple[str, str]]) -> None:
    assert codes(text, schema) == problems


def test_what_is_allowed_is_said_in_the_documents_own_words() -> None:
    schema = object_schema(
        a={"type": "string", "minLength": 3},
        b={"enum": [1, 2]},
        c={"oneOf": [{"type": "integer"}, {"type": "number"}]},
        d={"anyOf": [{"type": "integer"}, {"type": "null"}]},
        e={"anyOf": [{"minLength": 3}, {"pattern": "^z"}]},
        f={"propertyNames": {"maxLength": 1}},
    )
    arguments: dict[str, Any] = {"a": "x", "b": 3, "c": 1, "d": "x", "e": "x", "f": {"xx": 1}}
    problems = validator(schema).problems("f", arguments)
    assert {problem.path: (problem.given, problem.allowed) for problem in problems} == {
        "a": ('"x"', "minLength 3"),
        "b": ("3", "one of 1, 2"),
        "c": ("1", "exactly one of its alternatives to fit; more than one does"),
        "d": ('"x"', "integer or null"),
        "e": ('"x"', 'one of these: minLength 3; or pattern "^z"'),
        "f": ('{"xx": 1}', "propertyNames: maxLength 1"),
    }


def test_a_long_value_is_not_said_again() -> None:
    long = {"a": "x" * 100_000}
    (problem,) = validator(object_schema(a={"maxLength": 3})).problems("f", long)
    assert len(problem.given) <= 120
    assert problem.allowed == "maxLength 3"
