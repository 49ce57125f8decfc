"""What is kept of what is drawn, and why the rest is not."""

from __future__ import annotations

import pytest

from tests.worlds.small import HILLS, SMALL
from toolhop_tools.worlds.checks import Reason, meaning, spare_elsewhere
from toolhop_tools.worlds.expression import (
    Condition,
    Expression,
    Follow,
    Gap,
    Link,
    Named,
    Pick,
    Rank,
    Read,
    Sum,
    Total,
    Which,
)
from toolhop_tools.worlds.expression import Test as Compared  # pytest collects names in Test*
from toolhop_tools.worlds.world import World

ON_ULM = (Link("river", Named("river", "Ulm"), "river"),)
ON_VOD = (Link("river", Named("river", "Vod"), "river"),)
BELOW_KAR = (Link("hills", Named("hill", "Kar"), "hill"),)
BELOW_LIN = (Link("hills", Named("hill", "Lin"), "hill"),)
BY_OST = (Link("hills", Named("town", "Ost"), "town", backward=True),)
HIGHEST_BY_OST = Pick("hill", BY_OST, rank=Rank("height", most=True))
SECOND = (Condition("people", Compared.ABOVE, 3), Condition("people", Compared.BELOW, 6))
OST = Pick("town", BELOW_KAR + BELOW_LIN)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (Total("town", Sum.COUNT, "", ON_ULM), Reason.GUESSABLE),
        (
            Read("town", "people", Pick("town", ON_ULM, rank=Rank("people", most=False))),
            Reason.CIRCLE,
        ),
        (Follow("hill", "owner", HIGHEST_BY_OST), Reason.CIRCLE),
        (Pick("town", ON_ULM, rank=Rank("founded", most=True)), Reason.UNDEFINED),
        (Pick("town", ON_ULM, SECOND[:1]), Reason.UNDEFINED),
        (Pick("town", ON_ULM, rank=Rank("people", most=True)), Reason.SPARE_PART),
        (Pick("town", ON_ULM, SECOND), Reason.SPARE_PART),
        (Pick("town", BELOW_KAR + BELOW_LIN, SECOND[:0]), None),
        (Pick("town", BELOW_KAR + BELOW_LIN + ON_ULM), Reason.SPARE_PART),
        (Pick("town", ON_VOD), None),
        (Follow("town", "river", OST), Reason.SPARE_HOP),
        (Read("town", "people", OST), None),
        (Read("town", "people", Which("town", "founded", True, OST, Named("town", "Rin"))), None),
        (Gap("town", "people", OST, Named("town", "Rin")), None),
    ],
    ids=str,
)
def test_what_is_no_good_question_is_refused(asked: Expression, reason: Reason | None) -> None:
    verdict = meaning(asked, SMALL)
    assert (verdict if isinstance(verdict, Reason) else None) == reason


def owned_by(town: str) -> World:
    """The small world, with another owner of a hill."""
    hills = HILLS | {"Kar": HILLS["Kar"] | {"owner": town}}
    return World(SMALL.domain, SMALL.tables | {"hill": hills})


OWNER = Follow("hill", "owner", Named("hill", "Kar"))


@pytest.mark.parametrize(
    ("owners", "spare"),
    [(["Sal", "Rin"], None), (["Ost", "Ost"], OWNER), (["Ost", "Sal"], OWNER), ([], None)],
    ids=["always another", "always the same", "as often the same", "no other world"],
)
def test_a_hop_whose_result_serves_in_other_worlds_is_to_spare(
    owners: list[str], spare: Expression | None
) -> None:
    asked = Read("town", "people", OWNER)
    assert spare_elsewhere(asked, SMALL, [owned_by(town) for town in owners]) == spare
