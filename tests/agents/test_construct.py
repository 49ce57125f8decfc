"""`toolhop construct`: items are made, proven, resumed and rejected, by scripted constructors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.session import Ended, Settings, construct
from toolhop_agents.scripted.constructor.model import plant_of
from toolhop_agents.scripted.constructor.plants import PLANTS
from toolhop_tools.construct.accept import Criterion
from toolhop_tools.construct.seeds import Seed, World, proposed
from toolhop_tools.load import load

FILES = (folders.ITEMS, folders.CERTIFICATES, folders.BOOKS, folders.FUNNEL)


def settings(model: str, **more: Any) -> Settings:  # noqa: ANN401 -- a test passes settings of many types
    plain = {"sandbox": "process", "least_yield": 0.0, "examples": 20, **more}
    return Settings(model=model, **plain)


def made(folder: Path, wanted: Settings, seeds: list[Seed] | None = None) -> Ended:
    seeds = seeds or proposed("Geography", 1, (2, 7), World.CLOSED)
    folders.make(folder, wanted.model_dump(mode="json"), seeds)
    return anyio.run(construct, folder, wanted)


def books(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / folders.BOOKS).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_an_honest_constructor_makes_an_item_that_is_a_data_set_like_any_other(
    tmp_path: Path,
) -> None:
    ended = made(tmp_path / "made", settings("scripted/honest"))
    assert (ended.fault, ended.accepted, ended.rejected) == (None, 1, 0)
    [book] = books(tmp_path / "made")
    found = {one["criterion"]: one["holds"] for one in book["criteria"]}
    assert found == dict.fromkeys(set(Criterion) - {Criterion.OFFICIAL_SAFE}, True)
    [item] = load(tmp_path / "made" / folders.ITEMS).items
    assert len(item.hops) == 3
    assert all(hop.gold is not None for hop in item.hops)
    assert item.extra["family"] == "geography-1"


def book_of(folder: Path, kind: str) -> dict[str, Any]:
    [book] = [one for one in books(folder) if plant_of(one["item"])[0] == kind]
    return book


REPAIRED = ("wrong-constant", "leaked-in-document", "wrong-pair", "jump")
STUBBORN = ("set-order", "constant-tool", "literal-answer")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of a constructor that plants a fault of its own in each."""
    kinds = [*PLANTS]
    numbers = [kinds.index(one) + 1 for one in REPAIRED]
    numbers += [kinds.index(one) + 1 + len(kinds) for one in STUBBORN]
    seeds = [Seed(f"geography-{number}", "Geography") for number in numbers]
    folder = tmp_path_factory.mktemp("faulty") / "made"
    ended = made(folder, settings("scripted/faulty", at_a_time=3), seeds)
    assert ended.fault is None
    return folder


@pytest.mark.parametrize("kind", REPAIRED)
def test_a_fault_that_is_repaired_when_told_ends_in_an_item(faulty: Path, kind: str) -> None:
    book = book_of(faulty, kind)
    # They are the same item but for the fault, so that one of them is kept.
    assert book["accepted"] or book["why"].startswith("it is the question of")
    assert any(step["replies"] > 1 or step["returned"] for step in book["steps"])


@pytest.mark.parametrize("kind", STUBBORN)
def test_a_fault_that_stays_is_rejected_with_the_reason(faulty: Path, kind: str) -> None:
    book = book_of(faulty, kind)
    assert not book["accepted"]
    assert book["place"] == [PLANTS[kind].stage.value, PLANTS[kind].hop]
    assert book["problems"]


def test_a_repair_prompt_carries_the_call_that_shows_the_fault(faulty: Path) -> None:
    [book] = [one for one in books(faulty) if plant_of(one["item"])[0] == "set-order"]
    told = " ".join(book["problems"])
    assert "same-result" in told
    assert "look_up_country(country=" in told


def test_the_funnel_counts_what_passes_at_first_and_in_the_end(faulty: Path) -> None:
    counts = json.loads((faulty / folders.FUNNEL).read_text())
    rows = {row["stage"]: row for row in counts["stages"]}
    assert counts["items"] == len(REPAIRED) + len(STUBBORN)
    assert rows["code"]["first"] < rows["code"]["passed"] <= rows["code"]["begun"]
    assert rows["decompose"]["first"] == counts["items"]
