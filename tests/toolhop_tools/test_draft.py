"""A tool schema from a tool's source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import toolhop_tools
from toolhop_tools.draft import CannotDraft, draft
from toolhop_tools.readers.folder import builtin

SOURCE = '''
from typing import Any, Literal, Optional, Union

LIMIT = 3

def _helper(x): return x

def look(value: str, want: Literal["name", "capital"], count: int = 3, odds: "list[float]" = (),
         *, names: Optional[dict[str, int]] = None, most: int = LIMIT, either: int | str = 1,
         any: Any = None) -> str:
    """Looks a thing
    up.

    Only this paragraph is left out.

    Args:
        value: What to look for, which may
            take two lines: it does.
        want (str): Which fact.
        count: How many.

    Returns:
        value: of the thing.
    """
'''


def properties(source: str) -> dict[str, Any]:
    parameters = draft(source).schema["parameters"]
    assert isinstance(parameters, dict)
    found = parameters["properties"]
    assert isinstance(found, dict)
    return found


def test_signature_hints_and_docstring_make_the_schema() -> None:
    found = draft(SOURCE)
    assert (found.schema["name"], found.schema["description"]) == ("look", "Looks a thing up.")
    assert properties(SOURCE) == {
        "value": {
            "type": "string",
            "description": "What to look for, which may take two lines: it does.",
        },
        "want": {"type": "string", "enum": ["name", "capital"], "description": "Which fact."},
        "count": {"type": "integer", "description": "How many.", "default": 3},
        "odds": {"type": "array", "items": {"type": "number"}},
        "names": {"type": "object", "additionalProperties": {"type": "integer"}},
        "most": {"type": "integer"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1},
        "any": {},
    }
    parameters = found.schema["parameters"]
    assert isinstance(parameters, dict)
    assert parameters["required"] == ["value", "want"]
    jsonschema_rs.meta.validate(parameters)


def test_what_the_docstring_leaves_open_is_told() -> None:
    said = draft(SOURCE).missing
    assert [line.split()[2] for line in said] == ["odds", "names", "most", "either", "any"]
    assert "no docstring" in draft("def f(): pass").missing[0]


def test_the_function_is_the_one_named_or_of_the_files_name_or_the_only_public_one() -> None:
    source = "def clean(a: int): ...\ndef rate(b: bool): ...\n"
    assert draft(source, "clean").schema["name"] == "clean"
    assert draft(source, file_name="rate").schema["name"] == "rate"
    assert draft(source, "clean", file_name="rate").schema["name"] == "clean"
    assert draft("def _a(): ...\ndef b(): ...", file_name="x").schema["name"] == "b"
    with pytest.raises(CannotDraft, match=r"functions are: clean, rate\n.*--function rate"):
        draft(source, file_name="rates")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(x): ...", "line 1: the parameter x has no type hint"),
        ("\ndef f(x: date): ...", "line 2: the type hint date of x is not a JSON type"),
        ("def f(x: list[date]): ...", "not a JSON type"),
        ("def f(x: 'a b'): ...", "not a JSON type"),
        ("def f(x: None): ...", "not a JSON type"),
        ("def f(x: Literal[a]): ...", "not a JSON type"),
        ("def f(x: set[int]): ...", "not a JSON type"),
        ("def f(*x: int): ...", "line 1: *x takes arguments without a name"),
        ("def f(**x: int): ...", "*x takes arguments without a name"),
        ("def f(x: int, /): ...", "x is positional only"),
        ("def _f(x: int): ...", "no public function"),
        ("def a(): ...\ndef b(): ...", "has no function"),
        ("\nasync def f(x: int): ...", "line 2: f is an async function"),
        ("x = 1", "no public function"),
        ("def f(", "line 1:"),
        ("\0", "null bytes"),
    ],
)
def test_what_no_schema_can_be_made_of_is_named(source: str, said: str) -> None:
    with pytest.raises(CannotDraft) as raised:
        draft(source)
    assert said in str(raised.value)


def test_a_function_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(CannotDraft, match="no function 'h'; its functions are: f, g"):
        draft("def f(): ...\ndef g(): ...", "h")


def test_drafts_of_the_built_in_tools_are_their_schemas() -> None:
    """These say more besides (bounds, formats), and nothing else of names, types and needs."""
    programs = {tool.program: tool for item in builtin().items for tool in item.tools.values()}
    for program, tool in programs.items():
        made: Any = draft(program.source, program.function).schema["parameters"]
        known: Any = tool.schema.parameters
        assert made["required"] == list(known["required"]), tool.name
        types = {name: one.get("type") for name, one in made["properties"].items()}
        assert types == {n: one["type"] for n, one in known["properties"].items()}, tool.name


def test_the_starter_has_the_schemas_of_its_tools() -> None:
    """Of the set that `toolhop data new` writes."""
    home = Path(toolhop_tools.__file__).parent / "starter" / "moons"
    sources = sorted(home.glob("*.py"))
    assert len(sources) == 3
    for source in sources:
        made = draft(source.read_text())
        assert made.schema == json.loads(source.with_suffix(".json").read_text())
        assert not made.missing
