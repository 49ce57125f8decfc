"""`toolhop construct`: items are made, proven, resumed and rejected, by scripted constructors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.session import Ended, Settings, construct
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
