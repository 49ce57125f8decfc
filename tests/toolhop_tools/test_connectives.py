"""Tasks without words of order."""

from __future__ import annotations

import pytest

from toolhop_tools.perturb.connectives import without_connectives


@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ("Find a ferry. Then, book it. Finally pay.", "Find a ferry. Book it. Pay."),
        ("First of all, find it; after that, pay.", "Find it; Pay."),
        ("Find it, then book it, and finally pay.", "Find it, book it, and pay."),
        ("Find it and then book it.", "Find it and book it."),
        ("Once it is found, book it.", "Once it is found, book it."),
        ('Play "And Then There Were None".', 'Play "And Then There Were None".'),
        ("Strengthen it. The next day, rest.", "Strengthen it. The next day, rest."),
        ("In addition to it, rest.", "In addition to it, rest."),
        ("Next week pay. Next, rest.", "Next week pay. Rest."),
        ("Bigger is better than then.", "Bigger is better than then."),
        ("", ""),
    ],
)
def test_words_of_order_go_and_others_stay(task: str, wanted: str) -> None:
    assert without_connectives(task) == wanted


def test_a_value_that_would_change_keeps_the_task_as_it_is() -> None:
    task = "Save the note Wait. Then run. Finally pay."
    assert without_connectives(task, ["Wait. Then run"]) == task
    assert without_connectives(task, ["nowhere in it"]) == "Save the note Wait. Run. Pay."
