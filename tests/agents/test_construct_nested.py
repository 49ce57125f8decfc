"""`toolhop construct nested`: nested tasks are made, resumed, rejected, played, scored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from studies.constructor.nest_plants import READ
from studies.constructor.nest_plants_later import ALL, LATER
from studies.constructor.serving import nest_plant_of, respond
from tests.agents import command
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.folder import LEDGER, StepLedger
from toolhop_agents.construct.nested import session
from toolhop_agents.construct.nested.session import NestSession, NestSettings
from toolhop_agents.construct.session import Ended, construct
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env.messages import Reply
from toolhop_tools.construct.nested.seeds import NestSeed, written
from toolhop_tools.load import load, survey

FILES = (
    *(session.DATA, session.IDS, session.PROMPTS, session.PROVENANCE),
    *(folders.BOOKS, folders.FUNNEL),
)


SERVED: dict[str, str] = {}


@pytest.fixture(scope="module", autouse=True)
def served() -> Iterator[None]:
    """All scripts, for `settings`."""
    with LoopbackServer(respond) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "none-is-needed")
        SERVED["base_url"] = server.base_url
        yield


def settings(model: str, **more: Any) -> NestSettings:
    return NestSettings(**{"model": model, "least_yield": 0.0, **SERVED, **more})


def made(folder: Path, wanted: NestSettings, seeds: list[NestSeed]) -> Ended:
    folders.make(folder, wanted.model_dump(mode="json"), seeds)
    return anyio.run(partial(construct, kind=NestSession), folder, wanted)


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
    wanted = settings("openai/honest", distractors=1)
    ended = made(tmp_path / "made", wanted, seeds)
    assert (ended.fault, ended.accepted, ended.rejected) == (None, 6, 0)
    assert ended.took.replies == 2 * 6  # code and text of each
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
        "code-checked", "form", "gold-scored", "text", "no-duplicate",
    }  # fmt: skip
    assert book["reading"] == "unread"


def faulty(kinds: list[str], *, stubborn: bool) -> list[NestSeed]:
    numbers = [[*ALL].index(kind) + 1 + stubborn * len(ALL) for kind in kinds]
    whole = written("Harbour", max(numbers), [3], [2])
    return [whole[number - 1] for number in numbers]


SOME = ["nest-broken-code", "nest-wrong-edge-type", "nest-unknown-keyword", "nest-loose-call",
        "nest-value-missing", "nest-tool-name"]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("stubborn", [False, True])
def test_every_planted_fault_is_repaired_or_rejected(tmp_path: Path, stubborn: bool) -> None:
    kinds = [kind for kind in ALL if kind not in READ]
    wanted = settings("openai/faulty", max_samples=4)
    made(tmp_path / "made", wanted, faulty(kinds, stubborn=stubborn))
    books = rows(tmp_path / "made" / folders.BOOKS)
    assert len(books) == len(kinds) > len(LATER)
    for book in books:
        kind, again = nest_plant_of(book["item"])
        assert again == stubborn
        assert book["accepted"] != stubborn, kind
        assert any(step["replies"] > 1 or step["checks"] for step in book["steps"]), kind


def test_a_repair_says_the_line_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    made(tmp_path / "made", settings("openai/faulty"), faulty(SOME, stubborn=True))
    noted = {nest_plant_of(book["item"])[0]: book["problems"][0] for book in
             rows(tmp_path / "made" / folders.BOOKS)}  # fmt: skip
    assert "no Python code: line " in noted["nest-broken-code"]
    assert "make them the same" in noted["nest-wrong-edge-type"]
    assert "unexpected keyword argument 'colour'" in noted["nest-unknown-keyword"]
    assert "It does not say" in noted["nest-value-missing"]


# -- readers --------------------------------------------------------------------------------------


def reply_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The gold calls as a reader writes them."""
    responses = {api["api_name"]: [*api["responses"]] for api in row["api"]}
    return [
        {"api_name": call["api_name"], "parameters": call["parameters"],
         "responses": dict(zip(responses[call["api_name"]], call["responses"], strict=True))}
        for call in row["call"]
    ]  # fmt: skip


@dataclass
class ReaderServer:
    """Readers that know the gold calls by the task's text, and err as their names say."""

    gold: dict[str, list[dict[str, Any]]]
    shown: list[list[str]] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        given = json.loads(str(request.messages[-1].content))
        assert {*given} == {"stage", "task", "tools"}
        self.shown.append([tool["api_name"] for tool in given["tools"]])
        ids = {tool["api_name"]: tool["api_id"] for tool in given["tools"]}
        calls = json.loads(json.dumps(self.gold[given["task"]]))
        for call in calls:
            call["api_id"] = ids[call["api_name"]]
        if request.model.startswith("wrong"):
            calls[0]["parameters"]["harbour"] = "Elsewhere"
        if request.model.startswith("broken"):
            calls[0]["api_name"] = "no_such_tool"
        return Reply("I cannot say." if request.model == "mute" else json.dumps(calls))


def read_by(tmp_path: Path, name: str, readers: str, votes: int = 0) -> tuple[Ended, Path, Any]:
    """Three tasks, read; their texts are those that are written without readers as well."""
    seeds = written("Harbour/Berths", 3, [3], [2])
    if not (tmp_path / "unread").exists():
        made(tmp_path / "unread", settings("openai/honest"), seeds)
    gold = {row["task"]: reply_of(row) for row in rows(tmp_path / "unread" / session.DATA)}
    voices = ReaderServer(gold)
    names = tuple(f"openai/{one}" for one in readers.split())
    with LoopbackServer(voices) as server:
        wanted = settings(
            "openai/honest", readers=names, votes=votes or len(names), repairs=1,
            reader_base_url=(server.base_url,) * len(names), max_samples=1,
        )  # fmt: skip
        ended = made(tmp_path / name, wanted, seeds)
    assert server.errors == []
    return ended, tmp_path / name, voices


@pytest.mark.parametrize(
    ("readers", "reading"),
    [
        ("right right2 right3", "read"),
        ("right right2 mute", "read"),
        ("right broken right2", "read"),
        ("right mute broken", "disputed"),
        ("right right2 wrong", "disputed"),
        ("right", "read"),
        ("wrong", "disputed"),
    ],
)
def test_readers_have_to_agree_and_none_to_make_other_calls(
    readers: str, reading: str, tmp_path: Path
) -> None:
    ended, folder, _ = read_by(tmp_path, "read", readers)
    assert ended.fault is None
    assert ended.accepted == (3 if reading == "read" else 0)
    for book in rows(folder / folders.BOOKS):
        assert book["reading"] == reading
        [figure] = [one["figure"] for one in book["criteria"] if one["criterion"] == "read"]
        assert [ballot["model"] for ballot in figure["ballots"]] == figure["readers"]
        assert figure["agree"] == sum(name.startswith("right") for name in readers.split())
    assert {row["reading"] for row in rows(folder / session.PROVENANCE)} <= {"read"}


def test_what_readers_make_of_a_text_goes_back_to_its_writer(tmp_path: Path) -> None:
    _, folder, voices = read_by(tmp_path, "read", "wrong right")
    assert len(voices.shown) == 3 * 2  # a text that is not changed is not read again
    for book in rows(folder / folders.BOOKS):
        assert "other calls than yours" in book["problems"][0]
        assert "Elsewhere" in book["problems"][0]


def test_votes_go_round_and_each_sees_the_tools_in_an_order_of_its_own(tmp_path: Path) -> None:
    _, folder, voices = read_by(tmp_path, "read", "right right2", 5)
    [figure, *_] = [one["figure"] for one in rows(folder / folders.BOOKS)[0]["criteria"]
                    if one["criterion"] == "read"]  # fmt: skip
    voted = [(ballot["model"], ballot["sample"]) for ballot in figure["ballots"]]
    assert voted == [("openai/right", 1), ("openai/right2", 1), ("openai/right", 2),
                     ("openai/right2", 2), ("openai/right", 3)]  # fmt: skip
    assert len({*map(tuple, voices.shown)}) > 3
    _, other, _ = read_by(tmp_path, "again", "right right2", 5)
    for name in (session.DATA, session.PROVENANCE):
        assert (other / name).read_bytes() == (folder / name).read_bytes()


def test_a_text_with_every_value_and_another_meaning_is_only_seen_by_readers(
    tmp_path: Path,
) -> None:
    kinds = sorted(READ)
    made(tmp_path / "made", settings("openai/faulty"), faulty(kinds, stubborn=True))
    accepted = {nest_plant_of(book["item"])[0]: book["accepted"] for book in
                rows(tmp_path / "made" / folders.BOOKS)}  # fmt: skip
    assert accepted == dict.fromkeys(kinds, True)


def keys(folder: Path) -> list[str]:
    return [row["key"] for row in StepLedger(folder, more=False).rows("reply")]


def test_what_a_limit_or_a_kill_stopped_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    seeds = written("Harbour", 8, [2, 3], [1, 2])
    more = {"distractors": 1, "max_samples": 1}
    assert made(tmp_path / "whole", settings("openai/clumsy", **more), seeds).accepted == 8
    limited = settings("openai/clumsy", run_token_limit=15_000, **more)
    ended = made(tmp_path / "cut", limited, seeds)
    assert "--run-token-limit is reached" in ended.stopped_by
    paid = keys(tmp_path / "cut")
    assert 0 < len(paid) < len(keys(tmp_path / "whole"))
    with (tmp_path / "cut" / LEDGER).open("ab") as file:
        file.write(b'{"kind": "reply", "key": "cut')
    again = anyio.run(
        partial(construct, kind=NestSession), tmp_path / "cut", settings("openai/clumsy", **more)
    )
    assert (again.accepted, again.stopped_by, again.fault) == (8, "", None)
    assert keys(tmp_path / "cut")[: len(paid)] == paid
    assert sorted(keys(tmp_path / "cut")) == sorted(keys(tmp_path / "whole"))
    for name in FILES:
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "builtin.jsonl"
    done = command.toolhop("certify", "--data", "builtin", "--limit", "6", "--sandbox", "process",
                           "--exit-zero", "--out", str(path))  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


NESTED = ("construct", "nested")


@pytest.mark.heavy
def test_certified_items_become_tasks_whose_gold_gets_all(
    certificates: Path, tmp_path: Path
) -> None:
    out = tmp_path / "made"
    done = command.toolhop(
        *NESTED, "from-items", "--data", "builtin", "--certificates", str(certificates),
        "--out", str(out), "--sandbox", "process", "--json",
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
    begin = (*NESTED, "from-pool", "--data", "builtin", "--certificates", str(certificates),
             "--items", "4", "--depth", "2-3", "--width", "1-2", "--licence", "own",
             "--distractors", "2", "--sandbox", "process", "--model", "openai/honest",
             "--base-url", SERVED["base_url"],
             "--edges", "model",
             "--json")  # fmt: skip
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
    shown = command.toolhop("construct", "show", str(tmp_path / "one"))
    assert "task" in shown.stdout
    plan = command.toolhop(*begin[:-1], "--dry-run", "--json")
    assert json.loads(plan.stdout)["tasks"] == 4


CODE = ("from-domain", "A", "--items", "1", "--out", "x", "--model", "a/b")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("from-domain", "A", "--model", "a/b", "--out", "x"), "Missing option '--items'"),
        (("from-domain", "A", "--items", "1", "--model", "a/b"), "--out is missing"),
        (("from-domain", "A", "--items", "1", "--out", "x"), "Missing option '--model'"),
        ((*CODE, "--depth", "1-9"), "'1-9' is not a range within 2 to 6"),
        (("from-pool", "--data", "builtin", "--items", "1", "--out", "x", "--structure", "chain",
          "--width", "2"), "--structure chain is not possible"),
        (("from-pool", "--data", "builtin", "--items", "1", "--out", "x", "--edges", "model"),
         "--model is missing"),
        (("from-items", "--data", "builtin", "--out", "x", "--certificates", "none"),
         "there are no certificates"),
        ((*CODE, "--votes", "2"), "--votes goes with --readers"),
        ((*CODE, "--readers", "a/b,"), "has a blank name"),
        ((*CODE, "--readers", "a/b,a/b"), "names a/b twice"),
        ((*CODE, "--readers", "a/b,a/c", "--votes", "1"), "give at least 2"),
    ],
)  # fmt: skip
def test_wrong_use_ends_with_a_message(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = command.toolhop(*NESTED, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "x").exists()
