"""How questions are worded: sentences, and what each says."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.draw import Stuck, draw
from toolhop_tools.worlds.expression import (
    Entity,
    Expression,
    Follow,
    Gap,
    Link,
    Named,
    Pick,
    Rank,
    Read,
    Which,
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
        assert hops < 4 or len(sentences) > 1, question
        assert max(len(sentence.split()) for sentence in sentences) <= 45, question
        assert not re.search(r"  | [,.?]|,,|[{}]", question), question


def worded(asked: Expression, form: int, world: World = SHIPS) -> str:
    return word(asked, world, (form,), random.Random(1))


@pytest.mark.parametrize(
    ("asked", "questions"),
    [
        (
            Follow("ship", "owner", SHIP),
            ("Which company owns {1}?", "What is the name of the company that owns {1}?",
             "Name {1}'s owner.", "Give the name of whichever company owns {1}."),
        ),
        (
            Read("harbour", "quays", Pick("harbour", (CALLS,), rank=Rank("opened", most=True))),
            ("What is the quay length, in metres, of the harbour with the latest opening date "
             "among those visited by {0}?",
             "What is the quay length of the harbour that has the latest opening date among those "
             "visited by {1}? Answer in metres.",
             "Give the quay length, in metres, of the harbour with the latest opening date of any "
             "harbour visited by {0}.",
             "State the quay length of the harbour with the latest opening date out of those "
             "visited by {1}. Answer in metres."),
        ),
        (
            Read("ship", "launched", LONGEST),
            ("What is the launch date, as YYYY-MM-DD, of the longest ship registered at the home "
             "harbour of {1}?",
             "What is the launch date of the longest of the ships registered at the harbour that "
             "is home to {1}? Answer as YYYY-MM-DD.",
             "Give the launch date, as YYYY-MM-DD, of the longest ship among those registered at "
             "{1}'s home harbour.",
             "State the launch date of the longest of all the ships registered at whichever "
             "harbour is home to {1}. Answer as YYYY-MM-DD."),
        ),
        (
            Gap("ship", "power", SHIP, OTHER),
            ("What is the difference in engine power, in kilowatts, between {0} and {2}?",
             "What is the difference in engine power between {0} and {2}? Answer in kilowatts.",
             "Give the difference in engine power, in kilowatts, between {0} and {2}.",
             "By how much does the engine power of {0} differ from that of {2}? "
             "Answer in kilowatts."),
        ),
        (
            Which("ship", "length", True, SHIP, OTHER),
            ("Of {0} and {2}, which is longer?", "Which is longer, {0} or {2}?",
             "Which ship is longer: {0} or {2}?", "Which of these two is longer: {0} or {2}?"),
        ),
    ],
    ids=["follow", "degree", "adjective", "gap", "which"],
)  # fmt: skip
def test_a_construction_has_four_forms(asked: Expression, questions: tuple[str, ...]) -> None:
    names = (f"the ship {SHIP.name}", f"the {SHIP.name}", f"the ship {OTHER.name}")
    assert [worded(asked, form) for form in range(4)] == [each.format(*names) for each in questions]


@pytest.mark.parametrize("form", range(4))
def test_a_superlative_names_what_is_compared(form: int) -> None:
    """Which station is "the highest" would be anybody's guess."""
    railways = make(domains()["railways"], "names", "values")
    line = Link("line", Named("line", next(iter(railways.tables["line"]))), "line")
    for attribute, said in (
        ("altitude", "highest-lying"),
        ("platform", "greatest platform length"),
    ):
        asked: Entity = Pick("station", (line,), rank=Rank(attribute, most=True))
        assert f"the {said}" in worded(asked, form, railways)
