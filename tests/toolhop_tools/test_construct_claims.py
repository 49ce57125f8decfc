"""Promises of documents held against calls, edges that pairs show, and tools that tell ahead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.ahead import contradictions, past, tells_ahead, with_numbers
from toolhop_tools.construct.claims import forms, unlike_arguments
from toolhop_tools.construct.edges import unshown
from toolhop_tools.construct.promised import said_of_records, trials
from toolhop_tools.construct.promises import disagreements, other_failures
from toolhop_tools.construct.replies import Pair, Records
from toolhop_tools.construct.trials import FAILED
from toolhop_tools.construct.unknown import cut_off, lists_all, other_columns, wrong_error
from toolhop_tools.construct.verify import called
from toolhop_tools.model import ToolSchema
from toolhop_tools.readers.folder import builtin

TEXT = "Looks up the code of a port."
KNOWN = {"Old Orun": "or-1", "Velm": "ve-2", "Kess": "ke-3", "Doria": "do-4"}
CALLS: list[dict[str, JSON]] = [{"port": one} for one in KNOWN]


def schema(text: str = TEXT, port: object = "Name of the port.", **more: object) -> ToolSchema:
    own = port if isinstance(port, dict) else {"description": port}
    properties: dict[str, Any] = {"port": {"type": "string", **own}, **more}
    parameters: dict[str, Any] = {"properties": properties, "required": ["port"]}
    return ToolSchema("find_code", text, parameters)


def exact(port: str, form: str = "plain") -> JSON:
    if port not in KNOWN:
        return FAILED
    return {"plain": KNOWN[port], "capitals": KNOWN[port].upper(),
            "spaced": " ".join(KNOWN[port])}[form]  # fmt: skip


def folded(port: str, form: str = "plain") -> JSON:
    return exact(port.strip().title(), form)


def broken(document: ToolSchema, tool: Callable[..., JSON], calls: list[Any]) -> list[str]:
    found = trials(document, calls, partial(called, document.name))
    return [said for one in found if (said := one.wrong([tool(**call) for call in one.calls]))]


def choice(*values: str, text: str = "Form of it.") -> dict[str, object]:
    return {"type": "string", "enum": [*values], "default": values[0], "description": text}


@pytest.mark.parametrize(
    ("document", "tool", "word"),
    [
        (schema(f"{TEXT} Articles before a name are ignored."), exact, "The Old Orun"),
        (schema(port="Name; accents do not matter."), exact, "Orún"),
        (schema(port="Name; hyphens and spaces are interchangeable."), exact, "Old-Orun"),
        (schema(port="Name. Surrounding spaces are ignored."), exact, "  Old Orun "),
        (schema(port="Name. Surrounding spaces are ignored."), folded, ""),
        (schema(port="Name. Accents are not ignored."), exact, ""),
        (schema(port="Name, case-sensitive."), folded, "Case is said to count"),
        (schema(port="Name, case-sensitive."), exact, ""),
        (schema(f"{TEXT} Several names may be given, separated by commas."), exact, "Velm"),
        (schema(f"{TEXT} Several codes are joined with commas."), exact, ""),
        (schema(f'{TEXT} For instance, "Velm" gives "ve-2".'), exact, ""),
        (schema(f'{TEXT} For instance, "Velm" gives "ve-9".'), exact, "'ve-9'"),
        (schema(f'{TEXT} For instance, "Utopia" gives "ut-1".'), exact, "'ut-1'"),
        (schema(f"{TEXT} Returns a three-letter code."), exact, "three-letter"),
        (schema(f"{TEXT} Returns the code in lower case."), exact, ""),
        (schema(f"{TEXT} Returns a date as YYYY-MM-DD."), exact, "YYYY-MM-DD"),
        (schema(form=choice("plain", "capitals")), exact, ""),
        (schema(form=choice("plain", "spaced", text="Spaced has spaces between.")), exact, ""),
        (schema(form=choice("plain", "spaced", text="Plain has spaces between.")), exact, "spaces"),
        (schema(form=choice("spaced", "capitals", text="Capitals are without spaces.")), exact, ""),
    ],
)  # fmt: skip
def test_promises_are_held_against_calls(
    document: ToolSchema, tool: Callable[..., JSON], word: str
) -> None:
    found = broken(document, tool, CALLS)
    assert bool(found) is bool(word)
    assert word in " ".join(found)


def shifted(days: int) -> Callable[..., JSON]:
    def tool(amount: int, unit: str = "days") -> JSON:
        return f"day {amount * (days if unit == 'weeks' else 1)}"

    return tool


@pytest.mark.parametrize(("days", "holds"), [(7, True), (5, False)])
def test_a_unit_is_so_many_times_another(days: int, holds: bool) -> None:
    number = {"type": "integer", "description": "How many."}
    unit = choice("days", "weeks", text="Unit of the amount.")
    parameters: dict[str, Any] = {"properties": {"amount": number, "unit": unit}}
    document = ToolSchema("shift", "Shifts a day.", {**parameters, "required": ["amount"]})
    calls = [{"amount": one} for one in (1, 2, 9)]
    assert (broken(document, shifted(days), calls) == []) is holds


def in_unit(minutes: int) -> Callable[..., JSON]:
    return lambda amount, unit="minutes": amount // (minutes if unit == "hours" else 1)


@pytest.mark.parametrize(("minutes", "holds"), [(60, True), (100, False)])
def test_a_result_in_a_unit_is_so_many_times_less(minutes: int, holds: bool) -> None:
    number = {"type": "integer", "description": "Minutes."}
    unit = choice("minutes", "hours", text="Unit of the result.")
    parameters: dict[str, Any] = {"properties": {"amount": number, "unit": unit}}
    document = ToolSchema("length", "Gives a length.", {**parameters, "required": ["amount"]})
    calls = [{"amount": one} for one in (600, 1230, 4000)]
    assert (broken(document, in_unit(minutes), calls) == []) is holds


@pytest.mark.parametrize(("shift", "holds"), [(0, True), (1, False)])
def test_a_place_that_a_text_states_is_the_one_that_comes(shift: int, holds: bool) -> None:
    text = {"type": "string", "description": "Letters.", "minLength": 1}
    turned = {"type": "boolean", "description": "Backwards, Z being 1 and A 26.", "default": False}
    parameters: dict[str, Any] = {"properties": {"text": text, "turned": turned}}
    document = ToolSchema("places", "Adds places, A being 1.", {**parameters, "required": ["text"]})

    def places(text: str, turned: bool = False) -> JSON:
        found = [ord(one) - 64 for one in text.upper() if one.isalpha()]
        return sum(27 - shift - one if turned else one for one in found)

    assert (broken(document, places, [{"text": "Ab"}, {"text": "Cd"}]) == []) is holds


RECORDS: list[dict[str, JSON]] = [{"port": one, "code": code} for one, code in KNOWN.items()]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (f"{TEXT} It has 4 ports.", ""),
        (f"{TEXT} It knows fifty ports.", ""),
        (f"{TEXT} It knows twelve ports.", "twelve"),
        (f'{TEXT} "Old Orun" is the oldest.', ""),
        (f'{TEXT} "Utopia" is the oldest.', "'Utopia'"),
    ],
)
def test_what_a_document_says_of_its_table_is_so(text: str, word: str) -> None:
    found = [*said_of_records(schema(text), RECORDS, ["port"], ["or-1"])]
    assert word in " ".join(found)
    assert bool(found) is bool(word)


@pytest.mark.parametrize(
    ("port", "word"),
    [
        ("Name of the port.", ""), ("Three-letter code.", "Three-letter"),
        ("Name or three-letter code.", ""), ("Name, in capitals.", "in capitals"),
        ("Name, in capitals or not.", ""), ("Code of the port.", "Code of"),
    ],
)  # fmt: skip
def test_keys_are_of_the_form_that_the_document_asks_for(port: str, word: str) -> None:
    found = [*unlike_arguments(schema(port=port), CALLS, all_of=True)]
    assert word in " ".join(found)
    assert bool(found) is bool(word)


def test_forms_of_values_are_read_out_of_words() -> None:
    def fits(text: str, value: str) -> list[bool]:
        return [test(value) for _, test in forms(text)]

    assert fits("a four-digit number", "1234") == [True]
    assert fits("a 4-digit number", "123") == [False]
    assert fits("as DD.MM.YYYY", "01.02.2003") == [True]
    assert fits("rounded to two decimal places", "1.234") == [False]
    assert fits("an ISO 4217 code", "EUR") == [True]
    assert fits("until a single digit is left", "12") == [False]


@pytest.mark.parametrize(
    ("error", "lacking"),
    [
        ("port: X is not known; known are Velm, Kess, Old Orun", "Doria"),
        ("port: X is not known; known are Velm", "Old Orun"),
        ("port: X is not known; known are Velm, Kess and others", ""),
        ("port: X is not known; known are Velm, Kess, Old Orun, Doria", ""),
        ("port: X is not known, unlike Velm", ""),
    ],
)
def test_an_error_lists_all_that_is_known_or_says_that_it_does_not(
    error: str, lacking: str
) -> None:
    assert cut_off(error, [*KNOWN]) == lacking


ALL = "A port that is not known gives an error that lists the known ones."


@pytest.mark.parametrize(
    ("text", "promised"),
    [
        (ALL, True),
        ("Others give an error that says all known names.", True),
        ("An unknown port gives an error listing the available ports.", True),
        ("The error lists every port that is known.", True),
        ("What is not in the table gives an error that lists what is known.", True),
        ("A port that is not known gives an error that lists some of the known ones.", False),
        ("An unknown port gives an error that names the first known ones.", False),
        ("Unknown names give an error that says that the name is not known.", False),
        ("An unknown form gives an error that lists the valid forms.", False),
        (TEXT, False),
    ],
)
def test_an_error_is_said_to_list_all(text: str, promised: bool) -> None:
    own = schema(f"{TEXT} {text}", form=choice("plain", "capitals"))
    assert bool(lists_all(own, "port")) is promised
    calls: list[Any] = [*CALLS]
    part: JSON = {"error": "port: Qqxvarmunde is not known; known are Old Orun, Velm, ..."}
    every: JSON = {"error": f"port: Qqxvarmunde is not known; known are {', '.join(KNOWN)}"}
    told = wrong_error(own, "port", part, calls, [*KNOWN.values()])
    assert ("'Kess'" in told) is promised
    assert wrong_error(own, "port", every, calls, [*KNOWN.values()]) == ""


def test_an_error_lists_what_is_known_beside_the_other_arguments() -> None:
    own = schema(f"{TEXT} {ALL}")
    calls: list[Any] = [{"port": one, "year": 1 + (at > 1)} for at, one in enumerate(KNOWN)]
    part: JSON = {"error": "port: Qqxvarmunde is not known, unlike Old Orun, Velm"}
    assert wrong_error(own, "port", part, calls, []) == ""


ROWS: list[dict[str, Any]] = [
    {"port": "Old Orun", "land": "Tarsen", "code": "or-1", "twin": "Velm"},
    {"port": "Velm", "land": "Mirand", "code": "ve-2", "twin": "The Old Orun"},
]


@pytest.mark.parametrize(
    ("document", "tried"),
    [
        (schema("Looks up a port by its name and gives its land or code."),
         ["Tarsen", "Mirand", "or-1", "ve-2"]),
        (schema("Looks up a port by its name or code."), ["Tarsen", "Mirand"]),
        (schema(port="Name of the port, or its land."), []),
        (schema(port="Name of the port, in upper or lower case."),
         ["Tarsen", "Mirand", "or-1", "ve-2"]),
        (schema(port="Name of the port, under an alias as well."), []),
    ],
)  # fmt: skip
def test_values_of_other_columns_are_no_keys(document: ToolSchema, tried: list[str]) -> None:
    assert other_columns(document, "port", ROWS, {"port": "port"}) == tried


def test_numbers_of_later_calls_are_tried_as_options() -> None:
    number = {"type": "integer", "description": "Days later.", "default": 0, "maximum": 50}
    own = schema(days=number, size={**number, "enum": [0, 45]}).parameters
    later: list[Any] = [{"date": "1900-01-01", "amount": 45, "far": 60, "is": True}, {"base": 7}]
    assert [*with_numbers(own, later)] == [{"days": 45}, {"days": 7}]


def test_a_later_call_is_made_with_what_an_earlier_hop_was_given() -> None:
    written: dict[str, JSON] = {"country": "{1}", "year": 1900, "other": "{3}"}
    made: dict[str, JSON] = {"country": "Tarsen", "year": 1900, "other": "x"}
    found = [*past(written, made, {1, 2}, {"mountain": "Orun", "height": 3})]
    assert found == [{"country": "Orun", "year": 1900, "other": "x"}]


@pytest.mark.parametrize(
    ("port", "word"),
    [
        ({"description": "Name, at most 40 characters.", "maxLength": 80}, "40"),
        ({"description": "Name, at most 80 characters.", "maxLength": 80}, ""),
        ("Name (optional).", "optional"),
        ("Optional name.", "optional"),
        ({"description": "One of A, B or C.", "enum": ["A", "B"]}, "'c'"),
        ({"description": "One of A or B.", "enum": ["A", "B"]}, ""),
    ],
)
def test_limits_in_words_are_those_of_the_schema(port: object, word: str) -> None:
    found = " ".join(disagreements(schema(port=port)))
    assert word in found
    assert bool(found) is bool(word)
    size = {"type": "integer", "minimum": 0, "maximum": 9, "description": "From 1 to 9."}
    assert "1 to 9" in " ".join(disagreements(schema(size={**size, "default": 3})))


def pairs(*given: dict[str, JSON]) -> list[Pair]:
    return [Pair(arguments=one, result=1) for one in given]


@pytest.mark.parametrize(
    ("own", "given", "lacking"),
    [
        ({"type": "integer"}, [1, 2], ["negative", "0"]),
        ({"type": "integer"}, [1, -2, 0], []),
        ({"type": "integer", "minimum": 1}, [1, 2], []),
        ({"type": "integer", "minimum": 2, "maximum": 36}, [2, 5], ["36"]),
        ({"type": "number", "minimum": 1}, [1, 2], ["fraction"]),
        ({"type": "number", "minimum": 1}, [1, 2.5], []),
        ({"type": "string"}, ["a"], ["empty text", "beyond A to Z"]),
        ({"type": "string", "minLength": 1}, ["a b", "é1"], []),
        ({"type": "string", "minLength": 1}, ["a", "é"], ["two words", "digit"]),
        ({"type": "string", "minLength": 1, "pattern": "^[a-z]+$"}, ["a"], []),
        ({"type": "string", "minLength": 1}, ["2001-02-03"], ["end of a year"]),
        ({"type": "string", "minLength": 1}, ["2001-02-03", "2000-02-29"], []),
        ({"type": "string", "enum": ["a", "b"]}, ["a"], ["b"]),
        ({"type": "boolean", "default": False}, [False], ["true"]),
        ({"type": "array"}, [[1]], ["empty list"]),
        ({"type": "array", "minItems": 1}, [[1]], []),
    ],
)
def test_pairs_show_the_edges_of_what_the_document_allows(
    own: dict[str, Any], given: list[JSON], lacking: list[str]
) -> None:
    needed: list[JSON] = [] if "default" in own else ["x"]
    parameters: dict[str, Any] = {"properties": {"x": own}, "required": needed}
    found = " ".join(unshown(pairs(*({"x": one} for one in given)), parameters))
    assert bool(found) is bool(lacking)
    assert all(one in found for one in lacking)


def test_a_default_shows_its_own_choice() -> None:
    flag = {"type": "boolean", "default": False}
    parameters: dict[str, Any] = {"properties": {"x": {"type": "integer", "minimum": 1}, "y": flag}}
    assert [*unshown(pairs({"x": 1}, {"x": 1, "y": True}), {**parameters, "required": ["x"]})] == []


@pytest.mark.parametrize(
    ("results", "answers", "tells"),
    [
        ([["355"], ["43"]], ["355", "43"], True),
        ([["Leads to Velm with the code 355."], ["To Orun with 43."]], ["355", "43"], True),
        ([["Leads to Velm with the code 35512."], ["To Orun."]], ["35512", "43"], True),
        ([["Leads to Velm with the code 14."], ["To Orun."]], ["14", "43"], False),
        ([["355"], ["12"]], ["355", "43"], False),
        ([["Velm"], ["Orun"]], ["355", "43"], False),
        ([], [], False),
    ],
)
def test_what_tells_a_later_answer_is_found(
    results: list[list[str]], answers: list[str], tells: bool
) -> None:
    assert tells_ahead(results, answers) is tells


def records(key: str, answer: str, *rows: dict[str, JSON]) -> Records:
    lookup = {"parameters": {key: key}, "answer": answer}
    return Records.model_validate({"records": [*rows], "lookup": lookup})


@pytest.mark.parametrize(
    ("field", "values", "said", "found"),
    [
        ("calling_code", (1, 2, 3), "calling code", 0),
        ("calling_code", (9, 2, 3), "calling code", 1),
        ("country_calling_code", (9, 8, 7), "country calling code", 1),
        ("calling_code", (9, 8, 7), "height", 0),
        ("provisional_calling_code", (9, 8, 7), "provisional calling code", 0),
        ("calling_code", (1, 2, 7), "calling code", 0),
        ("calling_code", (1, 8, 7), "calling code", 1),
    ],
)
def test_two_tables_of_an_item_do_not_contradict_each_other(
    field: str, values: tuple[int, ...], said: str, found: int
) -> None:
    names = ("Orun", "Velm", "Kess")
    first = [{"mountain": f"M{at}", "country": name, field: value}
             for at, (name, value) in enumerate(zip(names, values, strict=True))]  # fmt: skip
    second = [{"country": name, "calling_code": at} for at, name in enumerate(names, 1)]
    earlier = records("mountain", "country", *first)  # type: ignore[arg-type]
    later = records("country", "calling_code", *second)  # type: ignore[arg-type]
    assert len([*contradictions(earlier, later, said, ["Orun", "1"])]) == found


def test_no_built_in_document_is_refused_for_a_promise() -> None:
    tools = {hop.tool.name: hop.tool for item in builtin().items for hop in item.hops}
    for item in builtin().items:
        for hop in item.hops:
            call = dict(hop.gold.arguments) if hop.gold else {}
            document = tools[hop.tool.name].schema
            assert [*unlike_arguments(document, [call], all_of=True)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{TEXT} It raises a ValueError for other names.", 1),
        (f"{TEXT} For an unknown name it returns an empty text.", 1),
        (f'{TEXT} A name that is not known gives "none".', 1),
        (f"{TEXT} A name that is not known gives an error.", 0),
        (f"{TEXT} Unknown names give an object with an error.", 0),
    ],
)
def test_failures_are_said_to_be_what_every_made_tool_does(text: str, found: int) -> None:
    assert len([*other_failures(schema(text), lookup=True)]) == found


def test_what_may_be_asked_for_is_no_promise() -> None:
    assert broken(schema(f"{TEXT} Options allow ignoring accents."), exact, CALLS) == []
    assert broken(schema(port="Name; whether accents are ignored is open."), exact, CALLS) == []
