"""The user simulator: what is told, to whom, and what never is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.env.scenes import OPEN, hiding, plain, unmatched
from toolhop_env.user import ASK_BACK, UNKNOWN, UserReply, faithful, user_reply
from toolhop_sandbox.outcome import JSON
from toolhop_tools.load import load
from toolhop_tools.model import EpisodeAction, Item
from toolhop_tools.scenarios.label import Hidden, Label, Scenario, labelled


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
        ("What is the name of the country?", None),
        ("Who is the country?", None),
    ],
    ids=["name", "about", "case", "with the tool", "plural", "description", "the name of", "who"],
)
def test_a_value_is_told_to_whoever_asks_for_it(question: str, about: str | None) -> None:
    assert said(hiding(), question, about) == "The country is Norway."


@pytest.mark.parametrize(
    ("question", "about"),
    [("How old is the king?", None), ("What do you say?", "year"), ("Which day?", "date")],
)
def test_whoever_asks_for_something_else_hears_that_the_user_does_not_know(
    question: str, about: str | None
) -> None:
    assert said(hiding(), question, about) in {UNKNOWN, ASK_BACK}


def test_a_question_that_names_nothing_is_asked_back_once() -> None:
    vague = "Could you please clarify what is missing?"
    assert said(hiding(), vague) == ASK_BACK
    assert said(hiding(), vague, None, vague) == UNKNOWN
    assert said(hiding(), "Which country?", None, vague) == "The country is Norway."
    assert said(hiding(), "How many people?") == UNKNOWN


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
    assert said(item, "Origin city?") == "The origin city is Bergen."
    twice = hiding(one, replace(one, hop=2, value="Rome"))
    assert said(twice, "?", "origin_city") == (
        "The origin city is Bergen. Another origin city is Rome."
    )


NOUNS = {
    "architecture-1": ("building", 1, "building"),
    "astronomy-1": ("moon", 1, "moon"),
    "chemistry-1": ("compound", 1, "substance"),
    "computing-1": ("language", 1, "programming language"),
    "film-1": ("ceremony", 1, "number of the ceremony"),
    "food-2": ("food", 1, "food in the jar"),
    "geography-1": ("river", 1, "river"),
    "literature-3": ("title", 1, "novel"),
    "mathematics-1": ("solid", 1, "solid"),
    "medicine-1": ("weight_kg", 1, "weight of the patient in kilograms"),
    "medicine-2": ("drug", 1, "drug"),
    "music-1": ("aria", 1, "aria"),
    "sport-1": ("city", 1, "city"),
    "transport-2": ("event", 2, "canal"),
    "zoology-1": ("adjective", 1, "adjective"),
}
"""By built-in item: the parameter, the hop and the kind of the value that is not said."""
REWORDED = """
architecture-1 Which building do you mean? | What is the building called? | Name the building.
astronomy-1 Which moon? | What's the name of the moon you have in mind? | I need to know the moon.
chemistry-1 Which substance is it? | What compound should I look up? | Please name the compound.
computing-1 Which programming language do you mean? | What language was it? | Tell me the language.
film-1 Which ceremony is it? | What number does the ceremony have? | Which Academy Awards?
food-2 What food is in the jar? | Which food? | What was in the jar? | The jar holds what?
geography-1 Which river? | What is the river's name? | On which river do they lie?
literature-3 Which novel? | What is the title? | Which book do you mean? | What's the novel's title?
mathematics-1 Which solid? | What kind of solid is meant? | The name of the solid, please.
medicine-1 How much does the patient weigh? | What is the weight? | What weight, in kilograms?
medicine-2 Which drug? | What is the drug called?
music-1 Which aria? | What is the aria called?
sport-1 Which city? | In what city were the games held?
transport-2 Which canal? | What event do you mean?
zoology-1 Which adjective? | What is the adjective that you mean?
"""
UNRELATED = """
architecture-1 Who is the architect? | In which year was the prize given? | What is the answer?
astronomy-1 Which planet does it circle? | How many years does it take? | Is it large?
chemistry-1 What is the formula? | In which year was it discovered? | May I use the web?
computing-1 Who designed the programming language? | Which letters come out? | What is the port?
film-1 Who directed it? | On which day was it held? | How old was he?
food-2 On which day was the food opened? | On which date was it opened? | Do you like it?
geography-1 How long is the river? | What is the calling code? | How long is it?
literature-3 Who is the author? | When was the treaty signed? | Are you sure?
mathematics-1 How many faces are there? | What is n? | Should I round?
medicine-1 How tall is the patient? | Which drug is it? | How large is the vial?
medicine-2 How many hours lie between doses? | On which day does it begin? | Who is the doctor?
music-1 In which opera is the aria sung? | Who is the composer? | What time is it?
sport-1 Which country lost? | What is the year? | How long is a marathon?
zoology-1 Which animal is it? | How many chromosomes does it have? | Is the result final?
"""


@cache
def hidden_of(name: str) -> Item:
    """A built-in item without a value; what it is called does not matter."""
    (item,) = (one for one in load("builtin").items if one.id == name)
    parameter, hop, kind = NOUNS[name]
    value = 7141 if name == "medicine-1" else "Qorvel"
    label = Label(
        Scenario.MISSING_PARAMETER, name, False, EpisodeAction.ASK_USER, True, (hop,),
        (Hidden(hop, parameter, value, f"the {kind}", (parameter,)),),
    )  # fmt: skip
    return labelled(item, label, f"{name}~missing-parameter")


def given(table: str) -> tuple[list[str], list[str]]:
    """The questions of a table, by whether the user answers with the hidden value."""
    found: tuple[list[str], list[str]] = [], []
    for line in table.strip().splitlines():
        name, _, questions = line.partition(" ")
        for question in questions.split(" | "):
            reply = said(hidden_of(name), question)
            told = "Qorvel" in reply or "7141" in reply
            found[not told].append(f"{name} {question}")
    return found


def test_most_rewordings_are_understood_and_no_unrelated_question_gets_the_value() -> None:
    understood, missed = given(REWORDED)
    told, _ = given(UNRELATED)
    assert len(understood) >= 0.8 * (len(understood) + len(missed)), missed
    assert len(understood) + len(missed) >= 40
    assert told == []


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
