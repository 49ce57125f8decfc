"""Questions read back: each way to read them, as the answer that it comes to."""

from __future__ import annotations

import random

import pytest

from toolhop_tools.worlds.domain import domains, parse
from toolhop_tools.worlds.draw import Stuck, draw
from toolhop_tools.worlds.expression import Undefined, evaluate
from toolhop_tools.worlds.knobs import Joins, Knobs
from toolhop_tools.worlds.readings import Reader
from toolhop_tools.worlds.wording import word
from toolhop_tools.worlds.world import Row, Value, World, make

DOMAIN = """
about = "Players and those who trained them."
[types.town]
names = "town"
count = [2, 2]
[types.coach]
plural = "coaches"
names = "{person}"
count = [3, 3]
attributes.born = {kind = "year", noun = "year of birth", low = 1950, high = 1980, verb = "born", most = "youngest", least = "oldest"}
relations.birthplace = {to = "town", noun = "birthplace", linked = "born in {}", clause = "where {} was born"}
[types.player]
names = "{person}"
count = [4, 4]
attributes.born = {kind = "year", noun = "year of birth", low = 1990, high = 1999, verb = "born", most = "youngest", least = "oldest"}
attributes.weight = {kind = "number", noun = "weight", unit = "kilograms", low = 50, high = 99, most = "heaviest", least = "lightest", more = "heavier", less = "lighter"}
relations.birthplace = {to = "town", noun = "birthplace", linked = "born in {}", clause = "where {} was born"}
relations.coach = {to = "coach", noun = "coach", linked = "trained by {}", clause = "who trained {}"}
"""  # noqa: E501 - an inline table is one line
COACHES: dict[str, Row] = {
    "Ada": {"born": 1960, "birthplace": "Ost"},
    "Ben": {"born": 1970, "birthplace": "Pol"},
    "Cyr": {"born": 1975, "birthplace": "Ost"},
}
PLAYERS: dict[str, Row] = {
    "Dag": {"code": "PL-4821", "born": 1990, "weight": 70, "birthplace": "Pol", "coach": "Ada"},
    "Eli": {"born": 1991, "weight": 80, "birthplace": "Pol", "coach": "Cyr"},
    "Fay": {"born": 1995, "weight": 90, "birthplace": "Ost", "coach": "Cyr"},
    "Gus": {"born": 1999, "weight": 60, "birthplace": "Ost", "coach": "Ben"},
}
TABLES: dict[str, dict[str, Row]] = {
    "town": {"Ost": {}, "Pol": {}}, "coach": COACHES, "player": PLAYERS,
}  # fmt: skip
READER = Reader(World(parse("small", DOMAIN), TABLES))


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (
            "What is the weight of the heaviest player trained by the youngest coach who was born "
            "after 1950 and born in Pol?",
            {60, 80},
        ),
        (
            "What is the year of birth of the coach of the lightest player who was born after 1990 "
            "and born in Pol?",
            {1970, 1975},
        ),
        (
            "Give the year of birth of the coach who trained the lightest player who was born "
            "after 1990 and born in Pol.",
            {1970, 1975},
        ),
        (
            "What is the total weight of the players trained by the youngest coach "
            "who was born after 1950 and born in Pol? "
            "Answer in kilograms.",
            {60, 80},
        ),
        (
            "Who was born later, the coach of Dag or the coach of the lightest player who was born "
            "after 1990 and born in Pol?",
            {"Ben", "Cyr"},
        ),
        (
            "Take the birthplace of Ada. Then take the birthplace of Ben. Who is the youngest "
            "coach born in that town?",
            {"Ben", "Cyr"},
        ),
        (
            "Take the coach who trained the lightest player who was born after 1990 and born in "
            "Pol. In what year was that coach born?",
            {1970, 1975},
        ),
    ],
    ids=["link", "role", "clause", "total", "either", "that", "first sentence"],
)
def test_other_readings_are_found(question: str, answers: set[Value]) -> None:
    assert READER.readings(question) == answers


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (
            "What initials does the coach of Dag have? Answer in capitals without dots or spaces.",
            {"A"},
        ),
        ("What number does the code of Dag contain?", {4821}),
        ("What is the number in the code of the coach of Dag?", set()),
        ("Who is the youngest coach born in Ost before 1972?", {"Ada"}),
        ("Name the only player born in Pol heavier than 75 kilograms.", {"Eli"}),
        ("Name the only player born in Pol.", set()),
        ("Name the tallest player born in Pol.", set()),
        ("Take the town of Ada. Name the youngest coach born in that town.", set()),
        ("What is the weight of Dag in pounds? Answer in pounds.", set()),
        ("What is the weight of Dag? Answer in pounds to one decimal place.", {154.3}),
        (
            "Compare Dag with Fay, and take the lighter one. What is the weight of that player?",
            {70},
        ),
        (
            "Compare Eli with Fay, and take the one born later (player A). "
            "Name the coach of player A.",
            {"Cyr"},
        ),
        (
            "Of the players born in Pol, find the only one heavier than 75 kilograms. "
            "Name the coach of that player.",
            {"Cyr"},
        ),
        (
            "Of the players born in Pol heavier than 65 kilograms, take the youngest. "
            "Name the coach of that player.",
            {"Cyr"},
        ),
        (
            "Take the lightest of the players born in Ost (player A). Name the coach of player A.",
            {"Ben"},
        ),
    ],
)
def test_one_reading_or_none(question: str, answers: set[Value]) -> None:
    """A superlative leaves one answer whether a condition comes within it or after it."""
    assert READER.readings(question) == answers


@pytest.mark.parametrize("name", domains())
def test_what_is_written_can_be_read(name: str) -> None:
    drawn = random.Random(name)
    world = make(domains()[name], name, name)
    reader, read = Reader(world), 0
    for at in range(28):
        knobs = Knobs(hops=(at % 7 + 2,) * 2, joins=list(Joins)[at % 3], units=True, codes=True)
        try:
            asked = draw(world, knobs, drawn)
            answer = evaluate(asked, world)
        except (Stuck, Undefined):
            continue
        question = word(asked, world, (at % 4,) if at % 2 else (0, 1, 2, 3), drawn)
        assert answer in reader.readings(question), question
        read += 1
    assert read > 14
