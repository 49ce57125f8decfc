"""`toolhop construct --kind nestools`: nested tasks are made, resumed, rejected, played, scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agents import command
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ledger import NAME as LEDGER
from toolhop_agents.construct.ledger import StepLedger
from toolhop_agents.construct.nested import session
from toolhop_agents.construct.nested.session import NestSettings, construct_nested
from toolhop_agents.construct.session import Ended
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.scripted.constructor.model import constructing, plant_of
from toolhop_agents.scripted.constructor.nest_plants import READ
from toolhop_agents.scripted.constructor.nest_plants_later import ALL, LATER
from toolhop_tools.construct.nested.seeds import NestSeed, written
from toolhop_tools.load import load, survey

FILES = (
    *(session.DATA, session.IDS, session.PROMPTS, session.PROVENANCE),
    *(folders.BOOKS, folders.FUNNEL),
)


def settings(model: str, **more: Any) -> NestSettings:  # noqa: ANN401 -- a test passes settings of many types
    return NestSettings(**{"model": model, "least_yield": 0.0, **more})


def made(folder: Path, wanted: NestSettings, seeds: list[NestSeed]) -> Ended:
    folders.make(folder, wanted.model_dump(mode="json"), seeds)
    return anyio.run(construct_nested, folder, wanted)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def scores(data: Path, agent: str, to: Path) -> dict[str, float]:
    done = command.toolhop(
        "run", "--data", str(data), "--agent", agent, "--log-dir", str(to), "--json"
    )
    assert done.returncode == 0, done.stderr
    [summary] = json.loads(done.stdout)["summaries"]
    names = ("tree", "format", "selection_f1", "order_f1", "param_f1", "nested_f1", "average")
    return {f"{who}{name}": summary[f"{who}{name}"]["value"] for who in ("", "strict_")
            for name in names}  # fmt: skip


def test_code_of_an_honest_constructor_is_a_data_set_of_nestools(tmp_path: Path) -> None:
    seeds = written("Harbour/Berths", 6, [2, 4, 6], [1, 4])
    wanted = settings("scripted/honest", checker="scripted/honest", distractors=1)
    ended = made(tmp_path / "made", wanted, seeds)
    assert (ended.fault, ended.accepted, ended.rejected) == (None, 6, 0)
    found = survey(str(tmp_path / "made" / session.DATA))
    assert found.problems == ()
    for item, row in zip(found.dataset.items, rows(tmp_path / "made" / session.PROVENANCE),
                         strict=True):  # fmt: skip
        own = {call["name"] for call in item.gold["calls"]}  # type: ignore[union-attr, index, call-overload]
        assert len(item.tools) == 2 * len(own)
        assert {*row["distractors"]} | own == {*item.tools}
        assert (item.extra["field"], row["way"]) == ("Harbour/Berths", "code")
    forms = [(row["depth"], row["width"]) for row in rows(tmp_path / "made" / session.PROVENANCE)]
    assert forms == [(2, 1), (2, 4), (4, 1), (4, 4), (6, 1), (6, 4)]
    figures = scores(tmp_path / "made" / session.DATA, "gold", tmp_path / "logs")
    assert set(figures.values()) == {1.0}
    book = rows(tmp_path / "made" / folders.BOOKS)[0]
    assert {one["criterion"] for one in book["criteria"]} == {
        "code-checked", "form", "gold-scored", "text", "rebuilt", "no-duplicate",
    }  # fmt: skip


def faulty(kinds: list[str], *, stubborn: bool) -> list[NestSeed]:
    numbers = [[*ALL].index(kind) + 1 + stubborn * len(ALL) for kind in kinds]
    whole = written("Harbour", max(numbers), [3], [2])
    return [whole[number - 1] for number in numbers]


SOME = ["nest-broken-code", "nest-wrong-edge-type", "nest-unknown-keyword", "nest-loose-call",
        "nest-value-missing", "nest-tool-name"]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("stubborn", [False, True])
def test_every_planted_fault_is_repaired_or_rejected(tmp_path: Path, stubborn: bool) -> None:
    wanted = settings("scripted/faulty", checker="scripted/honest", at_a_time=4)
    made(tmp_path / "made", wanted, faulty([*ALL], stubborn=stubborn))
    books = rows(tmp_path / "made" / folders.BOOKS)
    assert len(books) == len(ALL) >= 2 * len(LATER)
    for book in books:
        kind, again, _ = plant_of(book["item"], ALL)
        assert again == stubborn
        assert book["accepted"] != stubborn, kind
        assert any(step["replies"] > 1 or step["checks"] for step in book["steps"]), kind


def test_a_repair_says_the_line_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    made(tmp_path / "made", settings("scripted/faulty"), faulty(SOME, stubborn=True))
    noted = {plant_of(book["item"], ALL)[0]: book["problems"][0] for book in
             rows(tmp_path / "made" / folders.BOOKS)}  # fmt: skip
    assert "no Python code: line " in noted["nest-broken-code"]
    assert "make them the same" in noted["nest-wrong-edge-type"]
    assert "has no parameter colour" in noted["nest-unknown-keyword"]
    assert "It does not say" in noted["nest-value-missing"]


def test_what_says_every_value_and_means_another_task_needs_a_reader(tmp_path: Path) -> None:
    kinds = sorted(READ)
    made(tmp_path / "made", settings("scripted/faulty"), faulty(kinds, stubborn=True))
    accepted = {plant_of(book["item"], ALL)[0]: book["accepted"] for book in
                rows(tmp_path / "made" / folders.BOOKS)}  # fmt: skip
    assert accepted == dict.fromkeys(kinds, True)


def keys(folder: Path) -> list[str]:
    return [row["key"] for row in StepLedger(folder, more=False).rows("reply")]


def test_what_a_limit_or_a_kill_stopped_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    seeds = written("Harbour", 8, [2, 3], [1, 2])
    more = {"checker": "scripted/honest", "distractors": 1, "at_a_time": 1}
    assert made(tmp_path / "whole", settings("scripted/clumsy", **more), seeds).accepted == 8
    limited = settings("scripted/clumsy", run_token_limit=15_000, **more)
    ended = made(tmp_path / "cut", limited, seeds)
    assert "--run-token-limit is reached" in ended.stopped_by
    paid = keys(tmp_path / "cut")
    assert 0 < len(paid) < len(keys(tmp_path / "whole"))
    with (tmp_path / "cut" / LEDGER).open("ab") as file:
        file.write(b'{"kind": "reply", "key": "cut')
    again = anyio.run(construct_nested, tmp_path / "cut", settings("scripted/clumsy", **more))
    assert (again.accepted, again.stopped_by, again.fault) == (8, "", None)
    assert keys(tmp_path / "cut")[: len(paid)] == paid
    assert sorted(keys(tmp_path / "cut")) == sorted(keys(tmp_path / "whole"))
    for name in FILES:
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_served_constructor_makes_what_one_in_process_makes(tmp_path: Path) -> None:
    seeds = written("Harbour", 2, [3], [2])
    made(tmp_path / "here", settings("scripted/honest"), seeds)
    with LoopbackServer(constructing("honest")) as server:
        made(tmp_path / "served", settings("openai/any", base_url=server.base_url), seeds)
    here, served = (tmp_path / name / session.DATA for name in ("here", "served"))
    assert here.read_bytes() == served.read_bytes()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "builtin.jsonl"
    done = command.toolhop("certify", "builtin", "--limit", "6", "--sandbox", "process",
                           "--out", str(path))  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


NESTED = ("construct", "--kind", "nestools")


@pytest.mark.heavy
def test_certified_items_become_tasks_whose_gold_gets_all(
    certificates: Path, tmp_path: Path
) -> None:
    out = tmp_path / "made"
    done = command.toolhop(
        *NESTED, "--from", "builtin", "--certificates", str(certificates), "--out", str(out),
        "--sandbox", "process", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the item has no certificate" in done.stderr
    count = json.loads(done.stdout)["accepted"]
    assert count >= 4
    assert len(load(out / session.DATA).items) == count
    assert set(scores(out / session.DATA, "gold", tmp_path).values()) == {1.0}
    assert scores(out / session.DATA, "all-tools", tmp_path)["strict_tree"] == 0.0
    provenance = rows(out / session.PROVENANCE)[0]
    assert provenance["references"][0]["meaning"] == "item"
    assert len(provenance["results"]) == len(provenance["arguments"])


@pytest.mark.heavy
def test_a_pool_gives_the_forms_that_are_asked_for_and_the_same_ones_again(
    certificates: Path, tmp_path: Path
) -> None:
    begin = (*NESTED, "--pool", "builtin", "--certificates", str(certificates), "--items", "4",
             "--depth", "2-3", "--width", "1-2", "--licence", "own", "--distractors", "2",
             "--sandbox", "process", "--model", "scripted/honest", "--edges", "model",
             "--checker", "scripted/honest", "--json")  # fmt: skip
    for name in ("one", "two"):
        done = command.toolhop(*begin, "--out", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["accepted"] == 4
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    found = rows(tmp_path / "one" / session.PROVENANCE)
    assert [(row["depth"], row["width"]) for row in found] == [(2, 1), (2, 2), (3, 1), (3, 2)]
    data = tmp_path / "one" / session.DATA
    assert survey(str(data)).problems == ()
    assert all(len(item.tools) == 3 * len(row["arguments"]) for item, row in
               zip(load(data).items, found, strict=True))  # fmt: skip
    assert set(scores(data, "gold", tmp_path / "logs").values()) == {1.0}
    shown = command.toolhop("construct", "--show", str(tmp_path / "one"))
    assert "rebuild" in shown.stdout
    plan = command.toolhop(*begin[:-1], "--dry-run", "--json")
    assert json.loads(plan.stdout)["tasks"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kind", "nestools", "--out", "x"), "give one of --domain"),
        (("--kind", "nestools", "--domain", "A", "--out", "x"), "--items is missing"),
        (("--kind", "nestools", "--domain", "A", "--items", "1"), "--out is missing"),
        (
            ("--kind", "nestools", "--domain", "A", "--items", "1", "--out", "x"),
            "--model is missing",
        ),
        (
            ("--kind", "nestools", "--domain", "A", "--items", "1", "--out", "x", "--depth", "1-9"),
            "--depth is '1-9'",
        ),
        (
            ("--kind", "nestools", "--pool", "builtin", "--items", "1", "--out", "x", "--structure",
             "chain", "--width", "2"),
            "--structure chain is not to be had",
        ),
        (
            ("--kind", "nestools", "--from", "builtin", "--out", "x", "--depth", "3"),
            "--depth is for --domain and --pool",
        ),
        (("--kind", "nestools", "--from", "builtin", "--out", "x"), "there are no certificates"),
        (("--kind", "nestools", "--domain", "A", "--hops", "3", "--out", "x"), "--hops is for"),
        (("--pool", "builtin", "--model", "a/b", "--out", "x"), "--pool is for --kind nestools"),
    ],
)  # fmt: skip
def test_wrong_use_ends_with_a_message(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = command.toolhop("construct", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "x").exists()
