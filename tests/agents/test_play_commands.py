from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.items import small_item
from toolhop_agents.play.commands import COMMANDS, Command, Misread, Turn, parse, parts
from toolhop_agents.play.form import parameters
from toolhop_agents.play.prompt import candidates, choices
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

TOOLS = ("look", "add")
DOCUMENTS = {name: tool.schema for name, tool in small_item().tools.items()}
WORDS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one, max_size=3)
)


def typed(line: str) -> list[tuple[str, str | None]]:
    found = parse(line, TOOLS)
    assert isinstance(found, Turn), found
    return [(call.name, call.arguments) for call in found.calls]


def misread(line: str) -> str:
    found = parse(line, TOOLS)
    assert isinstance(found, Misread), found
    return found.message


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("look", None),
        ('look {"a": 1}', '{"a": 1}'),
        ('look{"a":1}', '{"a":1}'),
        ('look {"a": 1', '{"a": 1'),
        ("look {a: 1,}", "{a: 1,}"),
        ("look [1]", "[1]"),
        ('look "text"', '"text"'),
        ("look a=1", '{"a": 1}'),
        ("look a=1.10 b=Oslo", '{"a": 1.10, "b": "Oslo"}'),
        ("look a=\"x y\" b='p q'", '{"a": "x y", "b": "p q"}'),
        ('look a=[1, 2]  b={"c": null}', '{"a": [1, 2], "b": {"c": null}}'),
        ("look a=007 b=NaN c=True d=a=b", '{"a": "007", "b": "NaN", "c": "True", "d": "a=b"}'),
        ("look größe=Köln", '{"größe": "Köln"}'),
        ('look(a=1, b="x, y", c=[1,2])', '{"a": 1, "b": "x, y", "c": [1,2]}'),
        (
            "look(a=True, b=None, c='p, q', d=Oslo)",
            '{"a": true, "b": null, "c": "p, q", "d": "Oslo"}',
        ),
        ("look()", "{}"),
    ],
)
def test_calls_are_read_in_every_form(line: str, arguments: str | None) -> None:
    assert typed(line) == [("look", arguments)]


def test_a_call_of_an_unknown_tool_is_for_the_simulator_to_refuse() -> None:
    assert typed("peek {}") == [("peek", "{}")]
    assert typed("peek a=1") == [("peek", '{"a": 1}')]


def test_parallel_calls_are_cut_outside_of_quotes_only() -> None:
    assert typed('look {"a": "x && y"} && add a=1 && look') == [
        ("look", '{"a": "x && y"}'),
        ("add", '{"a": 1}'),
        ("look", None),
    ]
    assert typed("look a='x && y' && add") == [("look", '{"a": "x && y"}'), ("add", None)]
    assert typed("look a=x&&y") == [("look", '{"a": "x&&y"}')]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("loook", "did you mean look?"),
        ("What is it?", "An answer is given with :answer TEXT"),
        ("42", "An answer is given with :answer TEXT"),
        ("quit", "commands begin with a colon: :quit"),
        ("[1]", "a call begins with a tool's name (look, add)"),
        ("look Oslo", "look alone asks for each"),
        ("look a=New York", 'a="two words"'),
        ("look a=", 'a="" is the empty text'),
        ("look a=1 a=2", "a is given twice"),
        ('look a="x', "a quote or bracket is open"),
        ("look a=[1", "a quote or bracket is open"),
        ("look && ", "a call is missing"),
        ("&& look", "a call is missing"),
        (":", "there is no command :"),
        (":hlep", "did you mean :help?"),
        (":h", ":h could be :history or :help"),
    ],
)
def test_slips_are_told_and_take_no_turn(line: str, message: str) -> None:
    assert message in misread(line)


def test_slips_without_tools_say_so() -> None:
    found = parse("Oslo", ())
    assert isinstance(found, Misread)
    assert "there are none in this mode" in found.message


def test_commands() -> None:
    assert parse("  ", TOOLS) is None
    assert parse(":answer  two  words ", TOOLS) == Command("answer", "two  words")
    assert parse(":f minimal", TOOLS) == Command("feedback", "minimal")
    assert parse(":tool look", TOOLS) == Command("tool", "look")
    assert all(parse(f":{name}", TOOLS) == Command(name, "") for name in COMMANDS)


@given(st.text())
def test_no_text_breaks_the_reading(line: str) -> None:
    parse(line, TOOLS)
    parse(f"look {line}", TOOLS)
    parse(f":{line}", TOOLS)
    candidates(line, DOCUMENTS)
    candidates(f"capital {line}", DOCUMENTS)
    candidates(f":{line}", DOCUMENTS)


@given(st.text())
def test_cutting_loses_no_letter_but_the_joints(line: str) -> None:
    assert "&&".join(parts(line)) == line


@settings(max_examples=40)
@given(st.dictionaries(WORDS, VALUES))
def test_json_reaches_the_episode_as_typed(arguments: dict[str, object]) -> None:
    text = json.dumps(arguments)
    assert typed(f"look {text}") == [("look", text)]


@settings(max_examples=40)
@given(st.dictionaries(WORDS, VALUES, min_size=1), st.booleans())
def test_pairs_of_json_values_are_the_object_they_spell(
    arguments: dict[str, object], python: bool
) -> None:
    pairs = [f"{name}={json.dumps(value)}" for name, value in arguments.items()]
    line = f"look({', '.join(pairs)})" if python else f"look {' '.join(pairs)}"
    ((_, text),) = typed(line)
    assert json.loads(text or "") == arguments


# --- completion


def offered(text: str) -> list[str]:
    """The line after each candidate is taken."""
    return [text[: len(text) - one.replaces] + one.text for one in candidates(text, DOCUMENTS)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ["capital ", "length ", "power "]),
        ("ca", ["capital "]),
        ("length text=x && po", ["length text=x && power "]),
        (":fe", [":feedback "]),
        (":feedback m", [":feedback minimal"]),
        (":tool le", [":tool length"]),
        ("capital ", ["capital country=", "capital style="]),
        ("capital country=Peru ", ["capital country=Peru style="]),
        ("capital country=Peru st", ["capital country=Peru style="]),
        ("capital style=", ["capital style=plain", "capital style=upper"]),
        ("capital style=u", ["capital style=upper"]),
        ('capital style="u', ['capital style="upper"']),
        ("capital {", ['capital {"country": ', 'capital {"style": ']),
        ('capital {"co', ['capital {"country": ']),
        ('capital {"country": "Peru", ', ['capital {"country": "Peru", "style": ']),
        ('capital {"style": ', ['capital {"style": "plain"', 'capital {"style": "upper"']),
        ('capital {"style": "u', ['capital {"style": "upper"']),
        ("capital country=", []),
        ("nothing ", []),
        ("capital country=Peru nothing=", []),
    ],
)
def test_tab_goes_on(text: str, lines: list[str]) -> None:
    assert offered(text) == lines


def test_tab_completes_choices_of_a_form() -> None:
    flag: dict[str, JSON] = {"properties": {"on": {"type": "boolean"}}}
    (on,) = parameters(ToolSchema("t", "", flag))
    assert [one.text for one in choices(on, "")] == ["true", "false"]
    assert [one.text for one in choices(on, "f")] == ["false"]
