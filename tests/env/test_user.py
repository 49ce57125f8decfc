"""The user simulator: what is told, to whom, and what never is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.env.scenes import OPEN, hiding, plain, unmatched
from toolhop_env.user import ASK_BACK, UNKNOWN, UserReply, faithful, user_reply
from toolhop_sandbox.outcome import JSON
from toolhop_tools.english import content_words
from toolhop_tools.model import Item
from toolhop_tools.scenarios.label import Hidden


def said(item: Item, question: str, about: str | None = None, *earlier: str) -> str:
    arguments: dict[str, JSON] = {"question": question}
    arguments |= {} if about is None else {"about": about}
    return user_reply(item, [{"question": one} for one in earlier], arguments).text


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Which country do you mean?", None),
        ("Which one is it?", "country"),
        ("?", "COUNTRY"),
        ("Please tell me more.", "capital_of.country"),
        ("Which countries?", None),
        ("What is its English name?", None),
    ],
    ids=["name", "about", "case", "with the tool", "plural", "description"],
)
def test_a_value_is_told_to_whoever_asks_for_it(question: str, about: str | None) -> None:
    assert said(hiding(), question, about) == "country: Norway"


@pytest.mark.parametrize(
    ("question", "about"),
    [("How old is the king?", None), ("What do you say?", "year"), ("Which day?", "date")],
)
def test_whoever_asks_for_something_else_hears_that_the_user_does_not_know(
    question: str, about: str | None
) -> None:
    assert said(hiding(), question, about) == UNKNOWN


def test_a_vague_question_is_asked_back_once() -> None:
    vague = "Could you please clarify what is missing?"
    assert said(hiding(), vague) == ASK_BACK
    assert said(hiding(), vague, None, "How old is the king?") == ASK_BACK
    assert said(hiding(), vague, None, vague) == UNKNOWN
    assert said(hiding(), "Which country?", None, vague) == "country: Norway"


@pytest.mark.parametrize("item", [plain(), unmatched(reserve=True), replace(plain(), gold={})])
def test_without_hidden_values_the_user_knows_nothing_and_sounds_the_same(item: Item) -> None:
    assert said(item, "Which country?") == UNKNOWN
    assert said(item, "What is missing?") == ASK_BACK
    for question in ("What is the answer?", "What is the capital of Norway?", "How many people?"):
        assert said(item, question, "city") in {UNKNOWN, ASK_BACK}


@pytest.mark.parametrize("answer", ["Oslo", "the Oslo", "717,710", 717710.0])
def test_no_answer_is_ever_told(answer: JSON) -> None:
    item = hiding(Hidden(2, "city", answer, "a certain city"))
    for about in ("city", "a certain city", None):
        assert said(item, "Which city do the people live in?", about) == UNKNOWN


def test_no_answer_is_told_as_a_date_in_other_notation() -> None:
    item = hiding(Hidden(2, "day", "1905-06-07", "a certain day"))
    assert said(item, "Which day?") == "day: 1905-06-07"
    answered = replace(item.hops[0], answer="June 7, 1905")
    assert said(replace(item, hops=(answered, *item.hops[1:])), "Which day?") == UNKNOWN


def test_several_values_are_told_by_name() -> None:
    one = Hidden(1, "origin_city", "Bergen", "a certain city")
    two = Hidden(2, "goalCity", "Narvik", "a certain city")
    item = hiding(one, two, replace(one, hop=2))
    assert said(item, "Which cities?") == "origin city: Bergen; goal city: Narvik"
    assert said(item, "Which city?", "goal city") == "goal city: Narvik"
    same = hiding(replace(one, parameter="value", kind="a certain height", value=3), two)
    assert said(same, "How high?", "height") == "height: 3"
    twice = hiding(one, replace(one, hop=2, value="Rome"))
    assert said(twice, "?", "origin_city") == "origin city: Bergen; another origin city: Rome"


def test_words_of_asking_are_no_content() -> None:
    assert content_words("Please provide the missing parameter values, it's needed") == frozenset()
    assert content_words("birthDate of the cities") == {"birth", "date", "city"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Oh, I meant Norway.", True),
        ("It is up north.", False),
        ("Norway, with Oslo as its capital", False),
        ("", False),
        ("Norway; 717,710 people live there", False),
    ],
)
def test_a_model_may_word_a_reply_and_not_choose_its_values(text: str, holds: bool) -> None:
    reply = user_reply(hiding(), [], {"question": "Which country?"})
    assert reply == UserReply("country: Norway", ("Norway",))
    assert faithful(text, reply, hiding()) is holds


def test_words_of_the_question_are_no_secret() -> None:
    item = replace(plain(), question=f"{OPEN} It is Oslo.")
    assert faithful("I do not know more than Oslo.", UserReply(UNKNOWN), item)
