from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.env.made import called, started
from toolhop_env.feedback import MINIMAL_TEXT, render
from toolhop_env.levels import (
    MOST_CHARS,
    PARTS,
    PLACES,
    Level,
    LevelError,
    Part,
    Template,
    Verbosity,
    added,
    level_of,
    read_template,
)
from toolhop_env.trace import FeedbackSet, Trace, from_lines, to_line
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected, Repair
from toolhop_sandbox.outcome import Outcome, Raised, Returned, TimedOut

REJECTED = Rejected(
    (
        Problem(ErrorCode.MISSING_ARGUMENT, "year", "", "a value"),
        Problem(ErrorCode.WRONG_TYPE, "unit", '"{code}"', "integer"),
    )
)
CALL = Call("f", {"year": 1})


def said(text: str, verdict: Call | Rejected = REJECTED, outcome: Outcome | None = None) -> str:
    return render(Template("own", text), "f", verdict, outcome).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{tool}: {code}", "f: missing_argument"),
        ("{path} {allowed}", "year a value"),
        ("{problem}", "f needs the argument `year`, which is missing."),
        ('{"error": "{code}", "x": {}}', '{"error": "missing_argument", "x": {}}'),
        ("{given}|{message}", "|"),
        ("[rejected]\nno: {code}\n[failed]\nran: {message}", "no: missing_argument"),
    ],
)
def test_places_are_filled_for_a_rejected_call(text: str, expected: str) -> None:
    assert said(text) == expected


def test_what_was_put_in_is_not_looked_at_again() -> None:
    assert '"{code}"' in said("{problems}")
    assert "missing_argument" not in said("{problems}")


def test_a_call_that_ran_has_a_message_and_no_problems() -> None:
    outcome = Raised("ValueError", "no such year")
    assert said("{code}/{problems}/{message}", CALL, outcome) == (
        "raised//f failed with ValueError: no such year"
    )
    sections = "[rejected]\nno: {code}\n[failed]\nran: {code}"
    assert said(sections, CALL, outcome) == "ran: raised"
    assert said("{detailed}", CALL, outcome) == render(Level.DETAILED, "f", CALL, outcome).text


def test_a_success_reads_the_same_at_a_template_level() -> None:
    assert said("{code} {tool}", CALL, Returned('"1815"')) == '"1815"'


def test_a_template_that_comes_to_nothing_says_the_minimal_words() -> None:
    assert said("{message}") == MINIMAL_TEXT


@given(st.text(max_size=60))
def test_whatever_template_is_taken_says_something(text: str) -> None:
    with suppress(LevelError):
        assert render(Template("own", text), "f", REJECTED, None).text


def test_an_unknown_place_is_refused_and_the_known_ones_are_listed() -> None:
    with pytest.raises(LevelError, match=r"\{codes\}") as caught:
        Template("own", "{codes}")
    assert all(f"{{{place}}}" in str(caught.value) for place in PLACES)


@pytest.mark.parametrize("name", ["", "detailed", "minimal", "a b", "../x", "x" * 41, "-x"])
def test_names_that_cannot_be_told_apart_or_filed_are_refused(name: str) -> None:
    with pytest.raises(LevelError):
        Template(name, "{code}")


@pytest.mark.parametrize("text", ["", " \n ", "x" * (MOST_CHARS + 1)])
def test_empty_and_huge_templates_are_refused(text: str) -> None:
    with pytest.raises(LevelError, match="characters"):
        Template("own", text)


def test_levels_as_flags_give_them(tmp_path: Path) -> None:
    path = tmp_path / "hint.txt"
    path.write_text("{code}\n", encoding="utf-8")
    assert level_of("minimal") is Level.MINIMAL
    assert level_of(str(path)) == Template("hint", "{code}")
    assert level_of(f"mine={path}") == read_template(path, "mine") == Template("mine", "{code}")


@pytest.mark.parametrize("given", ["nope", "x=/nowhere/at/all", "."])
def test_a_level_that_is_none_is_told(given: str) -> None:
    with pytest.raises(LevelError):
        level_of(given)


def test_a_template_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe{code}")
    with pytest.raises(LevelError, match=r"bytes\.txt"):
        read_template(tmp_path / "bytes.txt")


@pytest.mark.parametrize("level", [*Level, Template("own", "{code}: é\n{problems}")])
def test_traces_hold_the_level_with_its_text(level: Verbosity) -> None:
    events = (started(feedback=level), replace(called("born"), level=level), FeedbackSet(level))
    lines = [to_line(event) for event in events]
    assert from_lines(lines) == Trace(events)
    shown = json.loads(lines[0])["feedback"]
    assert shown == (
        level.value if isinstance(level, Level) else {"name": "own", "text": level.text}
    )


RAN: dict[str, tuple[Outcome, str, str, str]] = {
    # outcome, fault, argument, allowed
    "raised": (Raised("KeyError", "'x'"), "raised, KeyError, no match", "", ""),
    "outage": (TimedOut(2.5), "timed_out, outage", "", ""),
    "fields": (
        Returned('{"error": "no such year", "code": 404, "param": "year", "allowed": [1, 2]}'),
        "returned_error, 404, no match",
        "year",
        "1, 2",
    ),
    "inner": (
        Returned('[{"error": {"type": "Busy", "field": "unit", "options": ["m", "km"]}}]'),
        "returned_error, Busy",
        "unit",
        "m, km",
    ),
    "type": (Returned('{"error": "busy", "message": "no"}'), "returned_error, busy", "", ""),
    "sentence": (Returned('"Error: year must be one of 1, 2"'), "returned_error", "", ""),
}


@pytest.mark.parametrize("name", RAN)
def test_levels_of_a_tools_own_failure_read_its_fields_and_never_its_sentence(name: str) -> None:
    outcome, fault, argument, allowed = RAN[name]
    lines = [f"{MINIMAL_TEXT}\nCode: {fault}"]
    lines += [f"Argument: {argument}"] if argument else []
    lines += [f"Allowed: {allowed}"] if allowed else []
    assert render(Level.ALLOWED, "f", CALL, outcome).text == "\n".join(lines)
    assert render(Level.CODE, "f", CALL, outcome).text == lines[0]
    # A tool's own failure cannot be repaired by its schema.
    assert render(Level.SUGGESTION, "f", CALL, outcome).text == "\n".join(lines)


def test_a_rejected_call_is_said_part_by_part() -> None:
    verdict = replace(REJECTED, repair=Repair("f", {"year": 5}, ("type_converted",)))
    texts = {level: render(level, "f", verdict, None).text for level in Level}
    assert texts[Level.SUGGESTION] == (
        "The call failed.\nCode: missing_argument\nArgument: year\nAllowed: a value\n"
        'Suggestion: {"name": "f", "arguments": {"year": 5}}'
    )
    assert texts[Level.COMPLETE] == f"{texts[Level.ALLOWED]}\nMessage: {texts[Level.DETAILED]}"
    assert render(Level.SUGGESTION, "f", REJECTED, None).text == texts[Level.ALLOWED]


@given(st.text(max_size=300))
def test_each_level_says_all_of_the_levels_that_it_contains(message: str) -> None:
    texts = {level: render(level, "f", CALL, Raised("E", message)).text for level in Level}
    pairs = [(one, other) for one in Level for other in Level if added(one, other)]
    contained = [pair for pair in pairs if pair[1] is not Level.DETAILED]
    assert len(contained) == 20
    assert all(texts[other].startswith(texts[one]) for one, other in contained)
    longest = max(len(texts[Level.DETAILED]), len(MINIMAL_TEXT))
    assert len(texts[Level.PLACEBO]) in {longest, len(MINIMAL_TEXT)}
    assert longest == len(texts[Level.PLACEBO]) or longest <= len(MINIMAL_TEXT) + 1
    assert texts[Level.COMPLETE].endswith(texts[Level.DETAILED])


def test_every_level_has_its_parts_and_every_part_a_level_that_adds_it_alone() -> None:
    assert set(PARTS) == set(Level)
    alone = {parts for one in Level for other in Level if len(parts := added(one, other)) == 1}
    assert alone == {(part,) for part in Part}
    assert added("own", "detailed") == added("detailed", "allowed") == ()


def test_a_stored_template_may_bear_the_name_of_a_newer_level(tmp_path: Path) -> None:
    assert Template("code", "{code}").name == "code"
    (tmp_path / "code").write_text("{code}", encoding="utf-8")
    with pytest.raises(LevelError, match="built in"):
        level_of(str(tmp_path / "code"))
