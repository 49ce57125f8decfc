"""Items of worlds: the same by index, right in both engines and in the sandbox, and not guessed."""

from __future__ import annotations

import itertools

import anyio
import pytest

from toolhop_sandbox.base import Limits
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import Returned
from toolhop_tools.answers import holds
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load, select
from toolhop_tools.model import Item
from toolhop_tools.readers.worlds import item_at
from toolhop_tools.reading import answer_at, read_result
from toolhop_tools.worlds import items
from toolhop_tools.worlds.spec import parse


@pytest.fixture(scope="module")
def made() -> tuple[Item, ...]:
    return items.block(parse("seed=5").specs[0], 1)


def test_an_item_is_the_same_whenever_it_is_made(made: tuple[Item, ...]) -> None:
    spec = parse("seed=5").specs[0]
    assert item_at(spec, 23).digest == made[3].digest
    other = items.block(parse("seed=6").specs[0], 1)
    assert {item.question for item in made}.isdisjoint(item.question for item in other)


def test_items_say_how_hard_they_are(made: tuple[Item, ...]) -> None:
    for item in made:
        hard = item.extra[items.HARD]
        assert isinstance(hard, dict)
        assert hard["hops"] == len(item.hops)
        assert 3 <= len(item.hops) <= 5
        assert hard["tools"] == len(item.tools) == 12
        assert isinstance(hard["fewer_calls_give"], int)


def test_questions_and_hops_are_asked_once(made: tuple[Item, ...]) -> None:
    assert len({item.question for item in made}) == len(made)
    for item in made:
        assert len({hop.question for hop in item.hops}) == len(item.hops)
        assert item.hops[-1].answer == item.answer


def test_tools_are_not_offered_in_the_order_of_hops(made: tuple[Item, ...]) -> None:
    in_order = 0
    for item in made:
        own = list(dict.fromkeys(hop.tool.name for hop in item.hops))
        places = [list(item.tools).index(name) for name in own]
        in_order += all(first < second for first, second in itertools.pairwise(places))
    assert in_order < len(made) / 2


def test_gold_calls_give_their_answers_in_the_sandbox(made: tuple[Item, ...]) -> None:
    async def run() -> list[tuple[str, str | None]]:
        answers = []
        async with (
            await open_sandbox("process", limits=Limits(), max_workers=1) as opened,
            opened.session() as session,
        ):
            for item in made[:8]:
                for hop in item.hops:
                    assert hop.gold is not None
                    assert hop.gold.reading is not None
                    outcome = await session.call(hop.tool.program, hop.gold.arguments)
                    assert isinstance(outcome, Returned), outcome
                    result = read_result(outcome.json_text)
                    assert holds(result, hop.answer)
                    answers.append((hop.answer, answer_at(result, hop.gold.reading)))
        return answers

    answers = anyio.run(run)
    assert answers
    assert all(wanted == given for wanted, given in answers)


def test_a_million_items_are_made_as_they_are_read() -> None:
    data = load("worlds:seed=5,items=1000000")
    assert len(data.items) == 1_000_000
    assert [item.id for item in select(data, limit="21-22")] == ["w5-20", "w5-21"]
    assert data.by_id["w5-20"].digest == data.items[20].digest
    assert "w5-1000000" not in data.by_id


@pytest.mark.parametrize(
    "text", ["hops=9", "tools=-1", "nothing=1", "seed=1,seed=2", "tier=7", "x"]
)
def test_a_wrong_spec_says_what_is_allowed(text: str) -> None:
    with pytest.raises(BadChoice) as raised:
        load(f"worlds:{text}")
    assert raised.value.fix


def test_knobs_that_give_no_items_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "WORLDS", 1)
    monkeypatch.setattr(items, "DRAWS", 1)
    with pytest.raises(BadChoice, match=r"1 worlds give \d+ of 20 items; refused: "):
        items.block(parse("hops=4,tools=4,near=world,styles=values").specs[0], 0)
