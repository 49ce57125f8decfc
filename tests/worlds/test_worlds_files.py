"""Files of made items, and a million items of which few are made."""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolhop_agents.environment.core import Environments
from toolhop_agents.runs.job import prepare
from toolhop_agents.runs.settings import RunSettings
from toolhop_tools.errors import DataError
from toolhop_tools.load import load
from toolhop_tools.model import Item
from toolhop_tools.readers import worlds
from toolhop_tools.worlds import items, wording
from toolhop_tools.worlds.spec import Spec, parse

SERIES = parse("seed=5,items=25")
MILLION = "worlds:seed=5,items=1000000"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "made.jsonl"
    worlds.write(SERIES, path)
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Indexes of the items that are asked for."""
    indexes, item_at = list[int](), worlds.item_at

    def counted(spec: Spec, index: int) -> Item:
        indexes.append(index)
        return item_at(spec, index)

    monkeypatch.setattr(worlds, "item_at", counted)
    return indexes


def test_a_file_gives_the_items_of_its_series(written: Path) -> None:
    head, *rows = written.read_bytes().splitlines()
    assert json.loads(head)["knobs"] == ["hops=3-5,joins=some,tools=12,near=world,"
        "styles=records+values+service+tables,listing=no,size=2,page=0,units=no,codes=no,failures=0,"
        "forms=0+1+2+3"]  # fmt: skip
    assert len(rows) == 25
    assert max(map(len, rows)) < 1000
    again = load(written)
    assert [item.digest for item in again.items] == [json.loads(row)["digest"] for row in rows]
    assert again.by_id["w5-24"].question == json.loads(rows[24])["question"]
    assert not written.with_name("made.jsonl.part").exists()


def test_what_was_cut_off_is_gone_on_with(written: Path, asked: list[int]) -> None:
    whole = written.read_bytes()
    lines = whole.splitlines(keepends=True)
    part = written.with_name("made.jsonl.part")
    part.write_bytes(b"".join(lines[:22]) + lines[22][:40])
    written.unlink()
    worlds.write(SERIES, written)
    assert asked == [21, 22, 23, 24]
    assert written.read_bytes() == whole


def test_what_another_generator_began_is_begun_anew(written: Path, asked: list[int]) -> None:
    whole = written.read_bytes()
    part = written.with_name("made.jsonl.part")
    part.write_bytes(whole.replace(b'"generator": ', b'"generator": 9', 1))
    worlds.write(SERIES, written)
    assert asked == list(range(25))
    assert written.read_bytes() == whole


def test_one_process_writes_a_file(written: Path) -> None:
    whole = written.read_bytes()
    with written.with_name("made.jsonl.part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another process writes it"):
            worlds.write(SERIES, written)
    assert written.read_bytes() == whole


@pytest.fixture
def next_generator(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    asks = wording.hop_questions
    monkeypatch.setattr(items, "VERSION", items.VERSION + 1)
    monkeypatch.setattr(items, "hop_questions", lambda *given: [f"Now: {q}" for q in asks(*given)])
    yield
    worlds._block.cache_clear()


def test_a_file_of_another_generator_says_what_differs(written: Path, next_generator: None) -> None:
    with pytest.raises(DataError) as raised:
        load(written)
    assert len(raised.value.problems) == 25
    problem = str(raised.value.problems[0])
    assert re.fullmatch(
        r"id w5-0: digest: expected the digest \w{12}, made by generator 1; given \w{12}, made by "
        r"generator 2", problem
    )  # fmt: skip


def test_a_file_whose_items_another_generator_makes_alike_is_read(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "VERSION", items.VERSION + 1)
    assert len(load(written).items) == 25
    worlds._block.cache_clear()


def test_few_of_a_million_items_are_made(asked: list[int]) -> None:
    job = prepare(RunSettings(data=MILLION, sandbox="process"))
    environments = Environments(RunSettings(data=MILLION, sandbox="process"))
    assert len(job.items) == len(environments.items) == 1_000_000
    assert environments.items["w5-20"].id == "w5-20"
    assert load(MILLION).around(job.items[30:31]).by_id.keys() >= {"w5-30", "w5-99"}
    assert len(load(MILLION).around(()).items) == 100
    assert max(asked) == 99
