"""Questions with their words masked."""

from __future__ import annotations

from dataclasses import replace

from studies.worlds_masked import exchanged, masked, names_alone
from toolhop_tools.load import load


def test_names_and_numbers_are_left_and_labels_are_not() -> None:
    question = (
        "Take the ship of Asta-Lo A Winter in Velm over 5,000 tonnes (ship A). "
        "Ship A's captain is older than port B?"
    )
    assert masked(question) == (
        "____ ____ ____ ____ Asta-Lo A Winter ____ Velm ____ 5,000 ____ (____). "
        "____'____ ____ ____ ____ ____ ____?"
    )
    assert masked("What is the book A Winter?") == "____ ____ ____ ____ A Winter?"


def test_names_alone_tell_nothing_of_sentences() -> None:
    short = "Take the ship of Asta-Lo A Winter. Is it over 5,000 tonnes?"
    long = "Of Asta-Lo A Winter, take the ship, and say whether it weighs more than 5,000 or not."
    assert names_alone(short) == names_alone(long) == "Asta-Lo A Winter ____ 5,000"


def test_questions_are_exchanged_between_worlds_of_one_type_of_answer() -> None:
    (item,) = load("builtin").items[:1]
    items = [
        replace(item, question=f"{world} {kind}", answer_type=kind, extra={"family": world})
        for world, kind in (("w1", "date"), ("w1", "date"), ("w2", "date"), ("w2", "town"))
    ]
    assert [each.question for each in exchanged(items)] == ["w2 date", "w2 date", "w1 date"]
