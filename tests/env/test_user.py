"""The user simulator: what is told, to whom, and what never is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.env.scenes import OPEN, gold, hiding, plain, unmatched
from toolhop_env.user import ASK_BACK, UNKNOWN, UserReply, faithful, user_reply
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item
from toolhop_tools.scenarios.label import Hidden


def said(item: Item, question: str, about: str | None = None, *earlier: str) -> str:
    arguments: dict[str, JSON] = {"question": question}
    arguments |= {} if about is None else {"about": about}
    return user_reply(item, [{"question": one} for one in earlier], arguments).text


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Which one is it?", "country"),
        ("?", "COUNTRY"),
        ("Please tell me more.", "capital_of.country"),
        ("Well?", "the parameter `country` of capital_of"),
        ("Which country do you mean?", None),
    ],
    ids=["about", "case", "with the tool", "in words", "no about"],
)
def test_a_value_is_told_to_whoever_names_its_parameter(question: str, about: str | None) -> None:
    assert said(hiding(), question, about) == "The country is Norway."


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("How old is the king?", None),
        ("Which country?", "year"),
        ("Which city, and of which country?", None),
        ("Which country?", ""),
    ],
)
def test_whoever_names_something_else_hears_that_the_user_does_not_know(
    question: str, about: str | None
) -> None:
    assert said(hiding(), question, about) in {UNKNOWN, ASK_BACK}


def test_a_question_that_names_nothing_is_asked_back_once() -> None:
    vague = "Could you please clarify what is missing?"
    assert said(hiding(), vague) == ASK_BACK
    assert said(hiding(), vague, None, vague) == UNKNOWN
    assert said(hiding(), vague, "country", vague) == "The country is Norway."
    assert said(hiding(), vague, "king") == UNKNOWN


def test_what_stands_beside_a_value_in_the_call_names_it() -> None:
    """Tools that take conditions have one parameter for all of them."""
    where: list[JSON] = [{"column": "birthplace", "operator": "=", "value": "Velmora"}]
    item = hiding(Hidden(1, "where.0.value", "Velmora", "the town"))
    asking = replace(item.hops[0], gold=gold(where=where))
    item = replace(item, hops=(asking, *item.hops[1:]))
    for about in ("birthplace", "where", "the town"):
        assert said(item, "?", about) == "The town is Velmora."
    assert said(item, "?", "column") == UNKNOWN


@pytest.mark.parametrize("item", [plain(), unmatched(reserve=True), replace(plain(), gold={})])
def test_without_hidden_values_the_user_knows_nothing_and_sounds_the_same(item: Item) -> None:
    assert said(item, "Which country?") in {UNKNOWN, ASK_BACK}
    assert said(item, "What is missing?") == ASK_BACK
    for question in ("What is the answer?", "What is the capital of Norway?", "How many people?"):
        assert said(item, question, "city") in {UNKNOWN, ASK_BACK}


@pytest.mark.parametrize("answer", ["Oslo", "the Oslo", "717,710", 717710.0])
def test_no_answer_is_ever_told(answer: JSON) -> None:
    item = hiding(Hidden(2, "city", answer, "a certain city"))
    for about in ("city", "a certain city", None):
        assert str(answer) not in said(item, "Which city do the people live in?", about)


def test_no_answer_is_told_as_a_date_in_other_notation() -> None:
    item = hiding(Hidden(2, "day", "1905-06-07", "a certain day"))
    assert said(item, "Which day?") == "The day is 1905-06-07."
    answered = replace(item.hops[0], answer="June 7, 1905")
    assert "1905" not in said(replace(item, hops=(answered, *item.hops[1:])), "Which day?")


def test_several_values_are_told_in_sentences() -> None:
    one = Hidden(1, "origin_city", "Bergen", "the origin city")
    two = Hidden(2, "goalCity", "Narvik", "the goal city")
    item = hiding(one, two, replace(one, hop=2))
    assert said(item, "Which city?", "goal city") == "The goal city is Narvik."
    assert said(item, "Which one?", "origin_city") == "The origin city is Bergen."
    twice = hiding(one, replace(one, hop=2, value="Rome"))
    assert said(twice, "?", "origin_city") == (
        "The origin city is Bergen. Another origin city is Rome."
    )


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
    assert reply == UserReply("The country is Norway.", ("Norway",))
    assert faithful(text, reply, hiding()) is holds


def test_words_of_the_question_are_no_secret() -> None:
    item = replace(plain(), question=f"{OPEN} It is Oslo.")
    assert faithful("I do not know more than Oslo.", UserReply(UNKNOWN), item)
