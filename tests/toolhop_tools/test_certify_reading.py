"""What a question names, and whether a result is the gold."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.judging import judge, literal, official_holds
from toolhop_tools.certify.mentions import mentions
from toolhop_tools.dates import NOTATIONS, dates_in, in_notation, notation, whole_date
from toolhop_tools.reading import Match, answer_at, read_result, reading_from_json, reading_to_json
from toolhop_tools.words import words

QUESTIONS: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "a name": ("Who is the mother of Ada Lovelace?", [], {"names": ("Ada Lovelace",)}),
    "an earlier answer": (
        "Who is the mother of Ada Lovelace?",
        ["Ada Lovelace"],
        {"names": (), "answers": ((0, "Ada Lovelace"),)},
    ),
    "however it is capitalised": (
        "Who is the mother of Ada Of Leeds?",
        ["Ada of Leeds"],
        {"answers": ((0, "Ada of Leeds"),)},
    ),
    "a longer answer first": (
        "What is the first name of Ada Lovelace?",
        ["Ada", "Ada Lovelace"],
        {"answers": ((1, "Ada Lovelace"),)},
    ),
    "equal answers, one place each": (
        "What is the concatenation of 9 and 9?",
        ["1991", "9", "9"],
        {"answers": ((1, "9"), (2, "9"))},
    ),
    "equal answers, one place": ("Square 9.", ["9", "9"], {"answers": ((1, "9"),)}),
    "an article is no answer": ("What is a word of n?", ["a", "n"], {"answers": ((1, "n"),)}),
    "a letter": ("Put a and n together.", ["a", "n"], {"answers": ((0, "a"), (1, "n"))}),
    "a title with small words": (
        "Three Men on a Horse is a play by whom?",
        [],
        {"names": ("Three Men on a Horse",)},
    ),
    "quoted": ('Who sang "let it be"?', [], {"quoted": ("let it be",), "names": ("let it be",)}),
    "a quoted letter": ('How many "s" are in it?', [], {"quoted": ("s",), "names": ()}),
    "numbers": ("What is 7 years before 1999?", ["1999"], {"numbers": ("7",)}),
    "ordinals": ("What is the third digit?", [], {"numbers": ("3",), "ordinals": ("3",)}),
    "ordinals in digits": ("Who won the 82nd prize?", [], {"numbers": ("82",), "ordinals": ()}),
    "letters to join": (
        "What comes between S and T?",
        ["ST"],
        {"quoted": ("S", "T"), "names": ()},
    ),
    "a numeral system": ("What is 12 in hexadecimal?", [], {"numbers": ("12", "16")}),
    "a year behind a name": (
        "How many lived in Wells in 1901?",
        [],
        {"numbers": ("1901",), "names": ("Wells in 1901", "Wells")},
    ),
    "a date": (
        "Which day follows 20 January 2024?",
        [],
        {"dates": ("2024-01-20",), "numbers": ()},
    ),
}


@pytest.mark.parametrize("case", QUESTIONS.values(), ids=QUESTIONS)
def test_what_a_question_names(case: tuple[str, list[str], dict[str, Any]]) -> None:
    question, earlier, wanted = case
    found = mentions(question, earlier)
    assert {name: getattr(found, name) for name in wanted} == wanted


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=4))
def test_any_question_can_be_read(question: str, earlier: list[str]) -> None:
    found = mentions(question, earlier)
    assert all(earlier[hop] == answer for hop, answer in found.answers)


# --- judging

RESULTS: dict[str, tuple[str, object, Match | None]] = {
    "a text": ("Ada Byron", "ada byron", Match.VALUE),
    "a leaf": ("Ada", {"names": [{"first": "Ada"}]}, Match.VALUE),
    "a number by value": ("324.0", 324, Match.VALUE),
    "a float": ("324", {"x": 324.0}, Match.VALUE),
    "another number": ("10", 1, None),
    "a longer number": ("15", 1532, None),
    "a date in another notation": ("January 31, 1912", "1912-01-31", Match.DATE),
    "one of two dates": ("January 31, 1912", "31 January 1912 to 1912-02-03", None),
    "letters with a stroke": ("Jorgen Lodz", "Jørgen Łódź", Match.ACCENTS),
    "another date": ("January 31, 1912", "1912-01-30", None),
    "accents": ("José Muñoz", "Jose Munoz", Match.ACCENTS),
    "a list": ("[1, 2]", {"factors": [1, 2]}, Match.ELEMENTS),
    "a list as Python writes it": ("[True, 'a']", [True, "a"], Match.ELEMENTS),
    "a list in another order": ("[1, 2]", [2, 1], None),
    "a truth value is no number": ("[1]", [True], None),
    "a sentence": ("Ada Byron", "The author is Ada Byron.", Match.WORDS),
    "a part of a name": ("Ada", "It was Ada Byron.", Match.WORDS),
    "a date in a text": ("January 31, 1912", {"fate": "lost on 31 January 1912"}, None),
    "a part of a word": ("Ada", "It is in Canada.", None),
    "a number in a sentence": ("15", "The sum is 15.", Match.WORDS),
    "two numbers in a sentence": ("15", "It is 15 or 16.", None),
    "a part of a number": ("15", "The sum is 15.5.", None),
    "a quoted letter": ("s", "The letter is 's'.", Match.WORDS),
    "a letter that is a word": ("a", "It is a letter.", None),
    "an error": ("Ada", {"error": "Ada is not known"}, None),
    "a key": ("Ada", {"Ada": 1}, None),
    "before a hyphen": ("Ada Byron", "By Ada Byron-King.", None),
    "after a hyphen": ("Cyr", "It is Saint-Cyr.", None),
    "after an apostrophe": ("Neill", "It was O'Neill.", None),
    "someone's": ("Ada Byron", "It was Ada Byron's idea.", Match.WORDS),
    "the greater part of a name": ("Ada Byron", "By Countess Ada Byron in 1843.", Match.WORDS),
    "a name behind a capital that is none": ("Ada", "Writer Ada, of Ockham.", Match.WORDS),
    "a place with what it is in": ("Holt Park", "Holt Park, Dunmere", Match.WORDS),
    "the year of an ISO date": ("1976", {"opened": "1976-09-12"}, Match.WORDS),
    "a year beside a date": ("1976", "On 1976-09-12, 4 years on.", None),
    "the year of one of two dates": ("1976", "1976-09-12 to 1977-01-02", None),
    "the day of a date": ("12", "Opened on September 12, 1976.", None),
    "an exponent": ("2", "1.3e+02", None),
    "nothing": ("Ada", None, None),
    "a huge number": ("1", 10**300, None),
}


@pytest.mark.parametrize("case", RESULTS.values(), ids=RESULTS)
def test_a_result_is_judged(case: tuple[str, object, Match | None]) -> None:
    gold, result, match = case
    value = read_result(json.dumps(result))
    found = judge(gold, value, {})
    assert (found.match if found else None) is match
    if found is not None and match is not Match.ACCENTS:
        again = reading_from_json(reading_to_json(found))
        given = answer_at(value, again)
        assert given is not None
        assert same_answer(gold, given)


def test_what_the_arguments_said_is_no_answer() -> None:
    assert judge("Ada", "Ada is known.", {"name": "Ada"}) is None
    assert judge("Ada", "The first name of Ada Byron is Ada.", {"name": "Ada Byron"}) is not None
    assert judge("Ada", "The result for Ada Byron is here.", {"name": "Ada Byron"}) is None
    assert judge("Ada", '{"first": "Ada"}', {"name": "Ada Byron"}) is not None
    assert judge("15", "15 and 4 make 15.", {"a": 15, "b": 4}) is None
    assert judge("19", "15 and 4 make 19.", {"a": 15, "b": 4}) is not None


def test_an_integer_too_long_for_python_is_read_as_text() -> None:
    assert isinstance(read_result("9" * 5000), str)
    assert judge("9", read_result("9" * 5000), {}) is None


def test_a_date_is_answered_in_the_notation_of_the_gold() -> None:
    found = judge("31 January 1912", {"born": "1912-01-31"}, {})
    assert found is not None
    assert answer_at({"born": "1912-02-01"}, found) == "1 February 1912"


def test_a_result_of_another_form_has_no_answer_there() -> None:
    found = judge("Ada", {"names": ["Ada"]}, {})
    assert found is not None
    others: list[JSON] = [{}, [], "Ada", {"names": []}, None]
    others += [{"names": "Ada"}, {"names": {"0": "Ada"}}]
    assert [answer_at(value, found) for value in others] == [None] * 7


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=30),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=6,
    ),
    st.text(max_size=12),
)
def test_whatever_is_judged_can_be_read_back(result: Any, gold: str) -> None:
    value = read_result(json.dumps(result))
    found = judge(gold, value, {})
    if found is not None:
        assert answer_at(value, found) is not None


def test_the_official_rule_is_told_beside() -> None:
    assert official_holds("10", '"1532"')
    assert not official_holds("Ada", '"Bo"')


@pytest.mark.parametrize("text", ["[1, 'a']", '{"a": 1}', "(1, 2)"])
def test_literals(text: str) -> None:
    assert literal(text) is not None


@pytest.mark.parametrize("text", ["Ada", "[", "[x]", "", "[" * 5000])
def test_no_literals(text: str) -> None:
    assert literal(text) is None


# --- dates and words


@given(st.dates(min_value=dt.date(1000, 1, 1)), st.sampled_from(NOTATIONS))
def test_dates_are_read_in_every_notation(day: dt.date, form: str) -> None:
    text = in_notation(day, form)
    assert whole_date(text) == day
    assert in_notation(day, notation(text)) == text
    assert [date for _, date in dates_in(f"It was on {text}, they say.")] == [day]


@pytest.mark.parametrize("text", ["2024-13-01", "February 30, 2000", "1/2/2024", "1912", "soon"])
def test_no_dates(text: str) -> None:
    assert whole_date(text) is None


def test_words_leave_case_accents_and_marks_aside() -> None:
    assert words("José's 1,234.5 Muñoz, [7, 8]") == ("jose", "1234.5", "munoz", "7", "8")
