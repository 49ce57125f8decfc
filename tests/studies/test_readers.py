"""What real readers replied is replayed: the same votes, without any model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import pytest

from studies.authored import load_items
from studies.blind_replies import Asked, Kept, read_all, second_differs
from studies.readers import FOLDER, listed, table
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env.messages import Reply, UserMessage
from toolhop_tools.blind.votes import Ballot, ReadStatus, Vote, decide

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]
Ballots = Mapping[str, Sequence[Ballot]]


@pytest.fixture(scope="module")
def kept() -> Kept:
    return Kept.open(FOLDER)


@pytest.fixture(scope="module")
def ballots(kept: Kept, inline_module: None) -> Ballots:
    async def replay() -> Ballots:
        return await read_all(kept.items, (), kept, timeout_s=1, at_a_time=1)

    return anyio.run(replay)


def test_every_item_was_read_by_three(kept: Kept, ballots: Ballots) -> None:
    assert kept.readers == ["reader-1", "reader-2", "reader-3"]
    assert len(kept.items) == 64
    assert {len(own) for own in ballots.values()} == {3}


def test_the_votes_are_those_of_the_docs(kept: Kept, ballots: Ballots) -> None:
    disputed: Counter[str] = Counter()
    for item in kept.items:
        disputed[item.sort] += decide(ballots[item.id], 3) is ReadStatus.DISPUTED
    assert disputed == {"right": 1, "A": 0, "B": 8, "C": 6, "D": 8}


def test_the_table_counts_each_reader_and_all_together(kept: Kept, ballots: Ballots) -> None:
    lines = table(kept.items, ballots, kept.readers)
    assert lines[0] == "| sort | items | reader-1 | reader-2 | reader-3 | all together |"
    assert lines[-1].startswith("| all faults | 32 | 22 of 32 (51 to 82 %) |")
    text = "\n".join(listed(kept.items, ballots))
    assert text.count(": read. ") == 10
    assert text.count("right items: disputed. ") == 1


def test_the_right_function_differs_from_each_tool_that_is_not_as_its_document(
    kept: Kept,
) -> None:
    wrong = [item for item in kept.items if item.sort == "A"]
    assert len(wrong) == 8
    for item in wrong:
        assert anyio.run(second_differs, item) is not None
    right = next(item for item in kept.items if item.sort == "right")
    assert anyio.run(second_differs, right) is None


def test_a_reply_is_kept_before_it_is_used_and_asked_for_once(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none-is-needed")
    items = kept.items[:3]
    plans = {item.question: item.author_plan.model_dump_json() for item in items}

    def reads(request: Request) -> Reply:
        [given] = [one.content for one in request.messages if isinstance(one, UserMessage)]
        assert "right_plan" not in given
        return Reply(plans[json.loads(given)["question"]])

    fresh = Kept.open(tmp_path)

    async def ask(asked: Sequence[Asked], own: Kept) -> Ballots:
        return await read_all([*items], asked, own, timeout_s=20, at_a_time=2)

    with LoopbackServer(reads) as server:
        asked = [Asked(name, "openai/reader", server.base_url) for name in ("one", "other")]
        first = anyio.run(ask, asked, fresh)
        assert server.requests == 6
        assert anyio.run(ask, asked, Kept.open(tmp_path)) == first
        assert server.requests == 6
    assert anyio.run(ask, (), Kept.open(tmp_path)) == first
    for item in items:
        expected = {"right": {Vote.AGREES}, "A": {Vote.AGREES}, "B": {Vote.DIFFERS}}
        votes = {ballot.vote for ballot in first[item.id]}
        assert votes <= expected.get(item.sort, {Vote.DOUBTS, Vote.DIFFERS})


@pytest.mark.parametrize(
    ("line", "word"),
    [("{", "line 1"), ('{"id": "a"}', "KeyError"), ('{"id": "a", "sort": "E"}', "line 1")],
)
def test_a_line_that_is_not_an_item_is_named(tmp_path: Path, line: str, word: str) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match=word):
        load_items(path)
