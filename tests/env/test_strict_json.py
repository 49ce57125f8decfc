from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.env.made import object_schema, validator
from toolhop_env.validation import MOST_LEVELS, MOST_PROBLEMS, read_object, strict_json
from toolhop_env.verdicts import Rejected

SCHEMA = object_schema(
    "year", year={"type": "integer"}, tags={"type": "array", "items": {"type": "string"}}, any=True
)

LONG = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"tags": ["x"] * (LONG // 5)}),
        json.dumps({"tags": list(range(LONG // 8))}),
        json.dumps({f"k{n}": n for n in range(LONG // 20)}),
        json.dumps({"any": "\\" * (LONG // 2)}),
        "{" * LONG,
        "[" * LONG,
        '{"a":' * (LONG // 5),
        " " * LONG,
        '"' * LONG,
        '{"a":' + "9" * LONG + "}",
        "{" + ",".join(f'"k{n}":1' for n in range(LONG // 10)) + ',"k9":1}',
    ],
    ids=lambda text: text[:12],
)
def test_a_megabyte_is_read_at_once(text: str) -> None:
    began = time.process_time()
    verdict = validator(SCHEMA).check("f", text)
    assert time.process_time() - began < 1.5
    assert isinstance(verdict, Rejected)
    assert len(verdict.problems) <= MOST_PROBLEMS
    assert len(repr(verdict)) < 20_000


def test_nesting_has_a_limit_of_its_own() -> None:
    def nested(levels: int) -> str:
        return "[" * levels + "]" * levels

    strict_json(nested(MOST_LEVELS))
    for levels in (MOST_LEVELS + 1, 500, 5_000, 100_000):
        with pytest.raises(ValueError, match=f"more than {MOST_LEVELS} levels"):
            strict_json(nested(levels))


def test_huge_numbers_are_refused_in_our_words() -> None:
    assert strict_json("9" * 1000) == int("9" * 1000)
    with pytest.raises(ValueError, match="a number has 5000 digits; at most 1000 are read"):
        strict_json("9" * 5000)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON_VALUES, st.sampled_from([None, 2]), st.booleans())
def test_strict_json_reads_what_is_json(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert strict_json(f" {text}\n") == value


@given(st.text() | st.text("{}[]\",:0123456789.eE+-tfnN \\u'"))
def test_reading_never_raises(text: str) -> None:
    value, problem = read_object(text)
    assert isinstance(value, dict)
    if problem is None:
        assert json.loads(text) == value
