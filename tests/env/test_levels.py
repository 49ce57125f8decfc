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
    PLACES,
    Level,
    LevelError,
    Template,
    Verbosity,
    level_of,
    read_template,
)
from toolhop_env.trace import FeedbackSet, Trace, from_lines, to_line
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected
from toolhop_sandbox.outcome import Outcome, Raised, Returned

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
