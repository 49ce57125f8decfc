"""How questions are worded: sentences, and what each says."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.draw import Stuck, draw
from toolhop_tools.worlds.expression import (
    Condition,
    Entity,
    Expression,
    Follow,
    Gap,
    Link,
    Named,
    Pick,
    Rank,
    Read,
    Spelled,
    Sum,
    Text,
    Total,
    Which,
)
from toolhop_tools.worlds.expression import (
    Test as Bound,
)
from toolhop_tools.worlds.knobs import Joins, Knobs
from toolhop_tools.worlds.wording import word
from toolhop_tools.worlds.world import World, make

SHIPS = make(domains()["shipping"], "names", "values")
SHIP, OTHER = (Named("ship", name) for name in list(SHIPS.tables["ship"])[:2])
HOME = Follow("ship", "home", SHIP)
CALLS = Link("calls", SHIP, "ship", backward=True)
LONGEST = Pick("ship", (Link("home", HOME, "harbour"),), rank=Rank("length", most=True))


def questions(hops: int) -> Iterator[str]:
    for seed, domain in enumerate(domains().values()):
        world, drawn = make(domain, f"{seed}", f"{seed}"), random.Random(seed)
        for joins in Joins:
            try:
                asked = draw(world, Knobs(hops=(hops, hops), joins=joins), drawn)
            except Stuck:
                continue
            yield word(asked, world, (0, 1, 2, 3), drawn)


@pytest.mark.parametrize("hops", range(2, 9))
def test_long_questions_have_several_sentences(hops: int) -> None:
    for question in questions(hops):
        sentences = re.split(r"(?<=[.?]) (?!Answer)", question)
        assert len(sentences) >= hops // 2, question
        assert max(len(sentence.split()) for sentence in sentences) <= 32, question
        assert not re.search(r"  | [,.?]|,,|[{}]", question), question


def worded(asked: Expression, form: int, world: World = SHIPS) -> str:
    return word(asked, world, (form,), random.Random(1))


@pytest.mark.parametrize(
    ("asked", "questions"),
    [
        (
            Follow("ship", "owner", SHIP),
            ("Which company owns {0}?", "Name the company that owns {0}.") * 2,
        ),
        (
            Read("harbour", "area", Pick("harbour", (CALLS,), rank=Rank("opened", most=True))),
            ("Of the harbours visited by {0}, take the last to open. What is the "
             "area of that harbour? Answer in hectares.",
             "Of the harbours visited by {0}, find the last to open. Give the "
             "area of that harbour. Answer in hectares.") * 2,
        ),
        (
            Read("ship", "launched", LONGEST),
            ("Take the longest ship registered at the harbour where {0} is registered (ship A). "
             "When was ship A launched? Answer as YYYY-MM-DD.",
             "Find the longest ship registered at the harbour where {0} is registered (ship A). "
             "When was ship A launched? Answer as YYYY-MM-DD.",
             "Take the longest of the ships registered at the home harbour of {0} (ship A). "
             "When was ship A launched? Answer as YYYY-MM-DD.",
             "Find the longest ship registered at the harbour where {0} is registered (ship A). "
             "When was ship A launched? Answer as YYYY-MM-DD."),
        ),
        (
            Gap("ship", "power", SHIP, OTHER),
            ("What is the difference in engine power between {0} and {1}? "
             "Answer in kilowatts.",) * 4,
        ),
        (
            Which("ship", "length", True, SHIP, OTHER),
            ("Which is longer, {0} or {1}?", "Which ship is longer: {0} or {1}?") * 2,
        ),
        (
            Spelled(Text.INITIALS, "captain", Follow("ship", "first_captain", SHIP)),
            ("What are the initials of the captain who first commanded {0}? "
             "Answer in capitals without dots or spaces.",
             "Give the initials of the captain who first commanded {0}. "
             "Answer in capitals without dots or spaces.",
             "What are the initials of the first captain of {0}? "
             "Answer in capitals without dots or spaces.",
             "Give the initials of the captain who first commanded {0}. "
             "Answer in capitals without dots or spaces."),
        ),
        (
            Spelled(Text.DIGITS, "ship", SHIP),
            ("What number does the code of {0} contain?",
             "Give the number that the code of {0} contains.") * 2,
        ),
    ],
    ids=["follow", "verb", "adjective", "gap", "which", "initials", "digits"],
)  # fmt: skip
def test_a_construction_has_plain_forms(asked: Expression, questions: tuple[str, ...]) -> None:
    names = (f"the ship {SHIP.name}", f"the ship {OTHER.name}")
    assert [worded(asked, form) for form in range(4)] == [each.format(*names) for each in questions]


BUILT = Link("builder", Named("shipyard", next(iter(SHIPS.tables["shipyard"]))), "shipyard")
HOMES = Link("home", Named("harbour", next(iter(SHIPS.tables["harbour"]))), "harbour")
BEFORE = Condition("launched", Bound.BELOW, "1990-01-01")
TANKER = Condition("class", Bound.IS, "tanker")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            Pick("ship", (BUILT,), (BEFORE,)),
            "Of the ships built by {0}, which is the only one that was launched before",
        ),
        (Pick("ship", (BUILT,), (TANKER,)), "the only tanker built by {0}"),
        (Pick("ship", (BUILT, HOMES)), "the only ship built by {0} and registered at {1}"),
        (
            Total("ship", Sum.TOTAL, "power", (BUILT,), (BEFORE, TANKER)),
            "Consider the tankers built by {0}. Give the total engine power of those launched",
        ),
    ],
)
def test_a_relation_stands_next_to_the_noun(asked: Expression, said: str) -> None:
    end, home = BUILT.end, HOMES.end
    assert isinstance(end, Named)
    assert isinstance(home, Named)
    assert said.format(f"the {end.name}", home.name) in worded(asked, 1)


@pytest.mark.parametrize("hops", range(2, 9))
def test_only_the_last_sentence_asks(hops: int) -> None:
    for question in questions(hops):
        before, _, last = question.removesuffix("?").rpartition("? ")
        assert not before or last.startswith("Answer "), question
        sentences = question.split(". ")
        assert len(set(sentences)) == len(sentences), question


@pytest.mark.parametrize("form", range(4))
def test_a_superlative_names_what_is_compared(form: int) -> None:
    """Which station is "the longest" would be anybody's guess."""
    railways = make(domains()["railways"], "names", "values")
    line = Link("line", Named("line", next(iter(railways.tables["line"]))), "line")
    for attribute, said in (("altitude", "highest"), ("platform", "longest platform")):
        asked: Entity = Pick("station", (line,), rank=Rank(attribute, most=True))
        assert f"the {said}" in worded(asked, form, railways)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (
            Which("ship", "length", True, SHIP, OTHER),
            "Compare {0} with {1}, and take the longer one (ship A).",
        ),
        (
            Which("ship", "length", True, SHIP, Pick("ship", (BUILT,), (BEFORE,))),
            "Compare that ship with {0}, and take the longer one (ship A).",
        ),
        (
            Pick("ship", (BUILT,), (BEFORE,)),
            "Of the ships built by {2}, take the only one that was launched before 1 January 1990.",
        ),
        (
            Pick("ship", (BUILT,), (BEFORE,), rank=Rank("length", most=True)),
            "Consider the ships built by {2}. Of those launched before 1 January 1990, "
            "take the longest.",
        ),
    ],
)
def test_what_is_chosen_comes_after_what_it_is_chosen_from(chosen: Entity, said: str) -> None:
    end = BUILT.end
    assert isinstance(end, Named)
    names = (f"the ship {SHIP.name}", f"the ship {OTHER.name}", f"the {end.name}")
    question = worded(Read("harbour", "opened", Follow("ship", "home", chosen)), 0)
    assert said.format(*names) in question


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (Pick("ship", (BUILT,), (BEFORE,)), "Of the ships built by {0}, take the only one that"),
        (
            Follow("ship", "owner", Pick("ship", (BUILT,), rank=Rank("length", most=True))),
            "Take the longest ship built by {0}. What is the share capital of the company",
        ),
    ],
)
def test_what_is_chosen_has_a_sentence_of_its_own(chosen: Entity, said: str) -> None:
    end = BUILT.end
    assert isinstance(end, Named)
    kind, attribute = ("company", "capital") if isinstance(chosen, Follow) else ("ship", "length")
    assert worded(Read(kind, attribute, chosen), 0).startswith(said.format(f"the {end.name}"))


def test_a_clause_of_place_follows_several() -> None:
    """The newest observatory where she worked may be none of hers."""
    world = make(domains()["observatories"], "names", "values")
    guest = Named("astronomer", next(iter(world.tables["astronomer"])))
    worked = Link("guest", guest, "astronomer", backward=True)
    newest = Pick("observatory", (worked,), rank=Rank("founded", most=True))
    assert f"the newest of the observatories where {guest.name}" in worded(newest, 0, world)
