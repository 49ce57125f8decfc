from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.env.made import object_schema, validator
from toolhop_env.call_forms import Form, MalformedCall
from toolhop_env.feedback import (
    MINIMAL_TEXT,
    REPORT_CHARS,
    Feedback,
    Level,
    error_code,
    render,
)
from toolhop_env.reading import CallFormat
from toolhop_env.verdicts import BEFORE_RUNNING, Call, ErrorCode, Problem, Rejected
from toolhop_sandbox.outcome import (
    JSON,
    Died,
    NotJson,
    Outcome,
    OutOfMemory,
    Raised,
    Refused,
    Returned,
    TimedOut,
    TooLarge,
)
from toolhop_tools.failures import tells_of_error

SCHEMA = object_schema(
    "year",
    year={"type": "integer", "minimum": 1},
    unit={"type": "string", "enum": ["m", "km"]},
)
REJECTED = {
    "not_json": (
        "f",
        "{'year': 1}",
        "The call was not run. The arguments are not JSON: \"{'year': 1}\". Give a JSON object "
        "(Expecting property name enclosed in double quotes: line 1 column 2 (char 1)).",
    ),
    "not_object": (
        "f",
        "[1]",
        "The call was not run. The arguments must be a JSON object, but are [1].",
    ),
    "unknown_tool": (
        "g",
        "{}",
        'The call was not run. There is no tool "g". The tools are: f.',
    ),
    "missing_argument": (
        "f",
        "{}",
        "The call was not run. f needs the argument `year`, which is missing.",
    ),
    "unexpected_argument": (
        "f",
        '{"year": 1, "yaer": 2}',
        "The call was not run. f takes no argument `yaer` (given: 2); only year, unit.",
    ),
    "wrong_type": (
        "f",
        '{"year": "1"}',
        'The call was not run. The argument `year` must be of type integer, but is "1".',
    ),
    "not_in_enum": (
        "f",
        '{"year": 1, "unit": "mile"}',
        'The call was not run. The argument `unit` must be one of "m", "km", but is "mile".',
    ),
    "schema_violation": (
        "f",
        '{"year": 0}',
        "The call was not run. The argument `year`, given as 0, must satisfy: minimum 1.",
    ),
}
OUTCOMES: dict[str, tuple[Outcome, str]] = {
    "raised": (Raised("ValueError", "no such year"), "f failed with ValueError: no such year"),
    "raised without words": (Raised("KeyError", ""), "f: KeyError"),
    "returned_error": (Returned('{"error": "no such year"}'), '{"error": "no such year"}'),
    "timed_out": (TimedOut(2.5), "f gave no result within 2.5 seconds and was stopped."),
    "out_of_memory": (OutOfMemory(64), "f needed more than 64 MiB of memory and was stopped."),
    "refused": (Refused("imports os", 3), "f cannot be run here: imports os"),
    "too_large": (
        TooLarge(2_000_000, 1_000),
        "The result of f has 2,000,000 bytes; at most 1,000 fit.",
    ),
    "result_not_json": (
        NotJson("a set"),
        "f returned something that is no JSON value: a set",
    ),
    "died": (Died("signal 9"), "f ended without a result: signal 9"),
}
CALL = Call("f", {"year": 1})


@pytest.mark.parametrize("name", REJECTED)
def test_detailed_words_for_a_rejected_call(name: str) -> None:
    tool, arguments, text = REJECTED[name]
    verdict = validator(SCHEMA).check(tool, arguments)
    assert render(Level.DETAILED, tool, verdict, None) == Feedback(text, ErrorCode(name))


@pytest.mark.parametrize("name", OUTCOMES)
def test_detailed_words_for_a_failed_call(name: str) -> None:
    outcome, text = OUTCOMES[name]
    feedback = render(Level.DETAILED, "f", CALL, outcome)
    assert feedback == Feedback(text, ErrorCode(name.split(" ")[0]))
    assert not feedback.ok


def test_every_code_has_its_words() -> None:
    # Malformed calls have words of their own, below; refusals in the tests of approval.
    said = {ErrorCode(name.split(" ")[0]) for name in (*REJECTED, *OUTCOMES)}
    elsewhere = {ErrorCode.MALFORMED_CALL, ErrorCode.NOT_APPROVED}
    assert said | elsewhere == set(ErrorCode)
    rejected = {ErrorCode(name) for name in REJECTED}
    assert rejected | elsewhere == BEFORE_RUNNING


def test_words_for_a_malformed_call() -> None:
    found = MalformedCall(Form.TAGS, "f", "{}")
    for call_format, how in ((CallFormat.NATIVE, "function calling"), (CallFormat.TEXT, "NAME")):
        verdict = Rejected((found.problem(call_format),))
        said = render(Level.DETAILED, "f", verdict, None)
        assert said.error is ErrorCode.MALFORMED_CALL
        assert "could not be read: it is written as mark-up in the text." in said.text
        assert how in said.text
        assert render(Level.MINIMAL, "f", verdict, None).text == MINIMAL_TEXT


def test_minimal_words_are_the_same_whatever_failed() -> None:
    verdicts = [validator(SCHEMA).check(tool, text) for tool, text, _ in REJECTED.values()]
    said = {render(Level.MINIMAL, "f", verdict, None).text for verdict in verdicts}
    said |= {render(Level.MINIMAL, "f", CALL, outcome).text for outcome, _ in OUTCOMES.values()}
    assert said == {MINIMAL_TEXT}


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("value", [None, 0, "", [], "no match found", {"error": None, "n": 1}])
def test_a_success_reads_the_same_at_every_level(level: Level, value: JSON) -> None:
    text = json.dumps(value)
    assert render(level, "f", CALL, Returned(text)) == Feedback(text)


@pytest.mark.parametrize("level", Level)
def test_a_valid_call_without_outcome_is_our_mistake(level: Level) -> None:
    with pytest.raises(ValueError, match="run it before rendering"):
        render(level, "f", CALL, None)


def test_many_problems_are_cut() -> None:
    problems = [Problem(ErrorCode.MISSING_ARGUMENT, f"a{n}", "", "") for n in range(8)]
    text = render(Level.DETAILED, "f", Rejected(tuple(problems)), None).text
    assert text.count("which is missing") == 5
    assert text.endswith("And 3 more.")


def test_a_problem_of_the_whole_names_no_argument() -> None:
    verdict = validator({"type": "array"}).check("f", "{}")
    text = render(Level.DETAILED, "f", verdict, None).text
    assert text.endswith("The arguments must be of type array, but are {}.")


def test_a_result_too_deep_to_look_into_is_a_result() -> None:
    text = "[" * 100_000 + "]" * 100_000
    assert error_code(CALL, Returned(text)) is None


ERRORS: dict[str, JSON] = {
    "error": "Error",
    "error with words": "Error: no data for 'X'.",
    "without space": "error:nothing",
    "shouted": "ERROR - bad input",
    "bracketed": "[ERROR] bad input",
    "a python name": "ValueError: invalid literal",
    "a dotted name": "json.decoder.JSONDecodeError: Expecting value",
    "a repr": "KeyError('x')",
    "kind of error": "Type error: expected text",
    "internal": "Internal server error",
    "occurred": "An unexpected error occurred.",
    "occured, as in ToolHop": "an error occured when call f: no",
    "unexpected": "Unexpected error occurred",
    "while": "Error while parsing the date",
    "doing": "Error processing name: empty",
    "in": "Error in line 3: bad",
    "traceback": "Traceback (most recent call last):\n  File",
    "exception": "Exception: no",
    "space before": "\n Error: no",
    "a number and words": "Error: 5 is not a year",
    "in a list": ["Error: no"],
    "key": {"error": "no such year"},
    "key with more": {"error": "no such year", "year": None, "result": 5},
    "key with details": {"error": {"code": 404, "message": "bad"}},
    "key true": {"error": True, "message": "bad"},
    "key with a list": {"error": ["bad"]},
    "message key": {"error_message": "bad"},
    "exception key": {"exception": "ValueError"},
    "errors and nothing else": {"errors": [{"message": "bad"}], "data": None},
    "no success": {"success": False, "message": "bad"},
    "status": {"status": "Error", "message": "bad"},
    "object in a list": [{"error": "bad"}],
}
RESULTS: dict[str, JSON] = {
    "about errors": "Error analysis",
    "hyphen": "Error-correcting code",
    "field": "Error correction in: a history",
    "handling": "Error handling: a chapter",
    "a statistic": "Standard error: 0.5",
    "a measured error": "Error: 0.5",
    "a measured error in percent": "Error: ±2.5 %",
    "a mean": "Mean error: 3",
    "terror": "Terror: a film",
    "exceptional": "Exceptional: yes",
    "exception as a word": "Exception to the rule",
    "a film": "Errors in Judgment",
    "the first": "The first error occurred in 1947.",
    "none occurred": "No error occurred.",
    "later in the text": "The tool has no error: fine",
    "nothing found": "Person not found in the database.",
    "a warning": "Warning: default value used.",
    "empty": "",
    "two in a list": ["Error: a title", "Error: another"],
    "a list of results": ["Paris", "Error"],
    "none": {"error": None},
    "empty text": {"error": ""},
    "said to be none": {"error": "None", "value": 5},
    "false": {"error": False},
    "a measurement": {"error": 0.5, "value": 3},
    "zero": {"error": 0},
    "a count": {"errors": 3},
    "no errors": {"errors": []},
    "found misspellings": {"errors": ["teh"], "corrected": "the"},
    "of a mission": {"mission": "Apollo 13", "status": "failed"},
    "success": {"success": True},
    "success unknown": {"success": None},
    "inside": {"result": {"error": "no"}},
    "key of another case": {"Error": "a film"},
    "null": None,
    "a number": 5,
}


@pytest.mark.parametrize("value", ERRORS.values(), ids=ERRORS)
def test_what_tells_of_an_error(value: JSON) -> None:
    assert tells_of_error(value)
    assert error_code(CALL, Returned(json.dumps(value))) is ErrorCode.RETURNED_ERROR


@pytest.mark.parametrize("value", RESULTS.values(), ids=RESULTS)
def test_what_is_a_result(value: JSON) -> None:
    assert not tells_of_error(value)
    assert error_code(CALL, Returned(json.dumps(value))) is None


@given(st.text("eror :!-.,0 9a\n", max_size=30).map("Error".__add__) | st.text())
def test_any_text_can_be_judged(text: str) -> None:
    assert tells_of_error(text) in {True, False}
    assert tells_of_error([text]) is tells_of_error(text)


def test_a_long_text_is_judged_at_once() -> None:
    for text in ("Error " + "a " * 500_000, "a." * 500_000, "an " + "b" * 10**6, " " * 10**6):
        assert not tells_of_error(text)


def test_a_report_of_an_error_is_short() -> None:
    """A longer result is not looked into, which would hold up other episodes."""
    call = Call("f", {})
    short, long = ({"error": "x" * size} for size in (1_000, REPORT_CHARS))
    assert error_code(call, Returned(json.dumps(short))) is ErrorCode.RETURNED_ERROR
    assert error_code(call, Returned(json.dumps(long))) is None
