"""Questions with their words masked."""

from __future__ import annotations

from studies.worlds_masked import masked


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
