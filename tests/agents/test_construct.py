"""`toolhop construct`: items are made, proven, resumed and rejected, by scripted constructors."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agents import command
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ledger import NAME as LEDGER
from toolhop_agents.construct.ledger import LedgerError, StepLedger
from toolhop_agents.construct.session import Ended, construct
from toolhop_agents.construct.settings import Settings
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.scripted.constructor.atlas import Journey, journey
from toolhop_agents.scripted.constructor.hostile import KINDS
from toolhop_agents.scripted.constructor.model import constructing, plant_of
from toolhop_env.messages import Reply, Usage
from toolhop_tools.construct.accept import Criterion, hazards
from toolhop_tools.construct.seeds import Seed, World, proposed
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

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
    assert found == dict.fromkeys(
        set(Criterion) - {Criterion.OFFICIAL_SAFE, Criterion.DIRECT, Criterion.REBUILT}, True
    )
    [item] = load(tmp_path / "made" / folders.ITEMS).items
    assert len(item.hops) == 3
    assert all(hop.gold is not None for hop in item.hops)
    assert item.extra["family"] == "geography-1"


def book_of(folder: Path, kind: str) -> dict[str, Any]:
    [book] = [one for one in books(folder) if plant_of(one["item"])[0] == kind]
    return book


REPAIRED = (
    *("wrong-constant", "leaked-in-document", "wrong-pair", "jump", "skips-a-hop", "key-twice"),
    *("later-answer-as-choice", "answer-of-pieces", "idle-option", "wrong-at-the-call"),
    *("wrong-format-of-key", "text-that-tells-ahead", "tables-that-contradict"),
)
STUBBORN = ("set-order", "constant-tool", "literal-answer", "nearest-key")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of a constructor that plants a fault of its own in each."""
    kinds = [*KINDS]
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
    assert book["place"] == [KINDS[kind].stage.value, KINDS[kind].hop]
    assert book["problems"]


def test_a_repair_prompt_carries_the_call_that_shows_the_fault(faulty: Path) -> None:
    [book] = [one for one in books(faulty) if plant_of(one["item"])[0] == "set-order"]
    noted = " ".join(book["problems"])
    assert "same-result" in noted
    assert "look_up_country(country=" in noted


def test_the_funnel_counts_what_passes_at_first_and_in_the_end(faulty: Path) -> None:
    counts = json.loads((faulty / folders.FUNNEL).read_text())
    rows = {row["stage"]: row for row in counts["stages"]}
    assert counts["items"] == len(REPAIRED) + len(STUBBORN)
    assert rows["code"]["first"] < rows["code"]["passed"] <= rows["code"]["begun"]
    assert rows["decompose"]["first"] == counts["items"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of a constructor that errs at first, made without a break."""
    folder = tmp_path_factory.mktemp("whole") / "made"
    assert made(folder, settings("scripted/clumsy"), two()).accepted == 2
    return folder


def two() -> list[Seed]:
    return proposed("Music", 2, (2, 7), World.CLOSED)


def replies(folder: Path) -> list[str]:
    return [row["key"] for row in StepLedger(folder, more=False).rows("reply")]


def test_a_session_that_a_limit_stopped_goes_on_and_pays_nothing_twice(
    whole: Path, tmp_path: Path
) -> None:
    folder, wanted = tmp_path / "made", settings("scripted/clumsy", run_token_limit=20_000)
    ended = made(folder, wanted, two())
    assert "--run-token-limit is reached" in ended.stopped_by
    paid = replies(folder)
    assert 0 < len(paid) < len(replies(whole))
    # As a kill leaves it: a line without its end.
    with (folder / LEDGER).open("ab") as file:
        file.write(b'{"kind": "reply", "key": "cut')
    again = anyio.run(construct, folder, settings("scripted/clumsy"))
    assert (again.accepted, again.stopped_by, again.fault) == (2, "", None)
    assert replies(folder)[: len(paid)] == paid
    assert sorted(replies(folder)) == sorted(replies(whole))
    for name in FILES:
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_an_item_that_may_cost_no_more_is_rejected(tmp_path: Path) -> None:
    made(tmp_path / "made", settings("scripted/honest", token_limit=3_000))
    [book] = books(tmp_path / "made")
    assert not book["accepted"]
    assert "--token-limit is reached" in book["why"]
    assert 3_000 <= book["input_tokens"] + book["output_tokens"] < 8_000


def test_a_limit_on_costs_needs_prices(tmp_path: Path) -> None:
    limits = {"run_cost_limit": 1.0}
    ended = made(tmp_path / "no-price", settings("scripted/honest", **limits))
    assert "is not known" in ended.stopped_by
    priced = settings("scripted/honest", price="1,1", run_cost_limit=0.002)
    assert "--run-cost-limit is reached" in made(tmp_path / "price", priced).stopped_by


def test_a_limit_on_an_items_cost_needs_prices_too(tmp_path: Path) -> None:
    ended = made(tmp_path / "made", settings("scripted/honest", cost_limit=1.0))
    assert "--cost-limit cannot be kept" in ended.stopped_by
    assert (ended.accepted, len(replies(tmp_path / "made"))) == (0, 1)


def test_replies_that_are_under_way_when_a_limit_is_reached_are_kept(tmp_path: Path) -> None:
    arrived = threading.Barrier(3, timeout=20)
    honest = constructing("honest")

    def together(request: Request) -> Reply:
        """The first requests of all items are answered one after another, when all are there."""
        with suppress(threading.BrokenBarrierError):
            time.sleep(0.1 * arrived.wait())
            arrived.abort()
        return honest(request)

    seeds = proposed("Music", 3, (2, 7), World.CLOSED)
    with LoopbackServer(together) as server:
        wanted = settings("openai/any", base_url=server.base_url, at_a_time=3, run_token_limit=10)
        ended = made(tmp_path / "made", wanted, seeds)
        assert (ended.fault, ended.left) == (None, 3)
        assert len(replies(tmp_path / "made")) == server.requests == 3


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "reply", "key": "x"}',
        '{"kind": "item", "key": "x"}',
        '{"kind": "else"}',
        "[]",
        "x",
    ],
)
def test_a_ledger_with_a_damaged_line_is_named_and_left_as_it_is(tmp_path: Path, line: str) -> None:
    ledger = StepLedger(tmp_path)
    ledger.add("verdict", "one", {"findings": {}})
    ledger.close()
    path = tmp_path / LEDGER
    path.write_text(path.read_text() + line + "\n" + path.read_text())
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="line 2 is no line"):
        StepLedger(tmp_path)
    assert path.read_bytes() == before


def test_a_line_that_the_disk_has_no_room_for_is_not_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = StepLedger(tmp_path)
    ledger.add("verdict", "one", {"findings": {}})
    before, write = (tmp_path / LEDGER).read_bytes(), os.write
    room = iter([10])

    def full(descriptor: int, data: bytes) -> int:
        if (left := next(room, 0)) == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:left])

    monkeypatch.setattr("toolhop_tools.growing.os.write", full)
    with pytest.raises(LedgerError, match="No space left"):
        ledger.add("verdict", "two", {"findings": {}})
    monkeypatch.undo()
    ledger.close()
    assert (tmp_path / LEDGER).read_bytes() == before


def test_a_served_constructor_makes_the_item_that_one_in_process_makes(tmp_path: Path) -> None:
    made(tmp_path / "here", settings("scripted/honest"))
    with LoopbackServer(constructing("honest")) as server:
        wanted = settings("openai/any", base_url=server.base_url)
        ended = made(tmp_path / "served", wanted)
        asked = server.requests
    assert (ended.fault, ended.accepted) == (None, 1)
    assert asked == len(replies(tmp_path / "served"))
    here, served = (load(tmp_path / name / folders.ITEMS).items for name in ("here", "served"))
    assert here == served


def seeded(folder: Path, model: str, seed: Seed) -> dict[str, Any]:
    made(folder, settings(model), [seed])
    [book] = books(folder)
    return book


def test_a_seeds_own_answers_have_to_be_what_the_chain_gives(tmp_path: Path) -> None:
    plan = journey("geography-1", "Geography")
    first = plan.first[0]
    country = str(next(one for one in plan.first if one["mountain"] == plan.start)["country"])
    row = next(one for one in plan.second if one["country"] == country)
    code, total = str(row["calling_code"]), plan.answer(first | {"country": country})
    tasks = (
        (f"In which country does {plan.start} stand?", country),
        (f"What is the calling code of {country}?", code),
        (f"What is the sum of the digits of {code}?", total),
    )
    seed = Seed("geography-1", "Geography", question=plan.question(), sub_task=tasks, answer=total)
    book = seeded(tmp_path / "right", "scripted/honest", seed)
    assert book["accepted"]
    [item] = load(tmp_path / "right" / folders.ITEMS).items
    assert (item.question, item.answer) == (plan.question(), total)
    wrong = (*tasks[:2], (tasks[2][0], str(int(total) + 1)))
    other = replace(seed, sub_task=wrong, answer=str(int(total) + 1))
    book = seeded(tmp_path / "wrong", "scripted/honest", other)
    assert not book["accepted"]
    assert "the seed says" in " ".join(book["problems"])


def test_in_the_real_world_no_record_comes_from_anywhere_but_the_seed(tmp_path: Path) -> None:
    plan = journey("geography-1", "Geography")
    facts = tuple(dict(one) for one in (*plan.first, *plan.second))
    seed = Seed("geography-1", "Geography", question=plan.question(), facts=facts, world=World.REAL)
    assert seeded(tmp_path / "all", "scripted/honest", seed)["accepted"]
    book = seeded(tmp_path / "some", "scripted/honest", replace(seed, facts=facts[:-1]))
    assert (book["accepted"], book["place"]) == (False, ["facts", 2])
    assert "not among the facts" in " ".join(book["problems"])


def construct_(*arguments: str) -> subprocess.CompletedProcess[str]:
    return command.toolhop("construct", *arguments)


def test_the_command_makes_shows_and_goes_on(tmp_path: Path) -> None:
    out = str(tmp_path / "made")
    begin = ("--domain", "Sport", "--items", "2", "--model", "scripted/honest", "--price", "1,2")
    plan = construct_(*begin, "--dry-run", "--json")
    assert json.loads(plan.stdout)["items"] == 2
    some = construct_(*begin, "--out", out, "--sandbox", "process", "--estimate", "1", "--json")
    assert some.returncode == 0, some.stderr
    estimate = json.loads(some.stdout)
    assert (estimate["left"], estimate["made"]) == (1, 1)
    assert estimate["cost_usd"][0] > 0
    rest = construct_("--resume", out, "--json")
    assert (rest.returncode, json.loads(rest.stdout)["accepted"]) == (0, 2)
    shown = construct_("--show", out)
    assert "whole items" in shown.stdout
    item = construct_("--show", out, "--item", "sport-2")
    assert "def look_up_stadium" in item.stdout
    assert "every-hop-needed" in item.stdout
    data = f"{out}/{folders.ITEMS}"
    valid = command.toolhop("data", "validate", data)
    assert valid.returncode == 0, valid.stdout
    kept = command.toolhop(
        "certify", data, "--out", f"{out}/{folders.CERTIFICATES}", "--sandbox", "process"
    )
    assert "2 certificates of" in kept.stderr
    assert "still hold" in kept.stderr


BEGUN = ("--domain", "A", "--items", "1", "--model", "scripted/honest", "--out", "x")
NESTED = (*BEGUN, "--kind", "nestools")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--model is missing"),
        (("--model", "scripted/honest"), "--out is missing"),
        (("--model", "scripted/honest", "--out", "x"), "give SEEDS, or --domain and --items"),
        (("--model", "a/b", "--out", "x", "--hops", "1-9"), "--hops is '1-9'"),
        (("--resume", "nowhere"), "has no settings.json"),
        (("--resume", "nowhere", "--dry-run"), "--dry-run is for"),
        (("--item", "a"), "--item goes with --show"),
        (("--show", "nowhere", "--model", "a/b"), "--model does not go with --show"),
        (("--model", "a/b", "--direct-samples", "2"), "--direct-samples goes with"),
        (("--model", "a/b", "--cost-limit", "nan"), "--cost-limit is nan"),
        (("--model", "a/b", "--price", "x,y"), "--price: the price is"),
        (("--model", "a/b", "--base-url", "http://u:p@h/v1"), "has a user in it"),
        (("--model", "a/b", "--out", "x", "--domain", " ", "--items", "1"), "give SEEDS"),
        (("--show", "nowhere"), "has no settings.json"),
        (
            ("--model", "scripted/x", "--domain", "A", "--items", "1", "--out", "x"),
            "no scripted constructor",
        ),
        (
            ("--model", "scripted/honest", "--domain", "A", "--items", "1", "--out", "x",
             "--cache", "/dev/null/x"),
            "cannot be written",
        ),
        (
            ("--model", "a/b", "--domain", "A", "--items", "1", "--out", "x", "--prompts", "."),
            "no folder of prompts",
        ),
        (
            ("--model", "a/b", "--domain", "A", "--items", "1", "--out", "x", "--world", "real"),
            "takes its facts from SEEDS",
        ),
        ((*BEGUN, "--checker", ""), "--checker is blank; give PROVIDER/MODEL"),
        ((*BEGUN, "--direct-model", " "), "--direct-model is blank"),
        ((*BEGUN, "--dry-run", "--estimate", "2"), "--dry-run asks nothing and --estimate makes"),
        ((*BEGUN, "--cost-limit", "1"), "pass --price IN,OUT"),
        (
            (*BEGUN, "--price", "1,1", "--run-cost-limit", "1", "--checker", "scripted/honest"),
            "pass --checker-price IN,OUT",
        ),
        (
            (*BEGUN, "--price", "1,1", "--cost-limit", "1", "--direct-model", "openai/any",
             "--direct-base-url", "http://127.0.0.1:9/v1"),
            "pass --direct-price IN,OUT",
        ),
        ((*NESTED, "--direct-model", "openai/any"), "--direct-model is for --kind toolhop"),
        ((*NESTED, "--cost-limit", "1"), "pass --price IN,OUT"),
    ],
)  # fmt: skip
def test_wrong_use_ends_with_a_message(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = command.toolhop("construct", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kept", ["[]", "{}", '{"model": 5}', '{"model": "a/b", "more": 1}'])
def test_settings_that_cannot_be_read_end_with_a_message(tmp_path: Path, kept: str) -> None:
    (tmp_path / "settings.json").write_text(kept)
    done = construct_("--resume", str(tmp_path))
    assert done.returncode == 2
    assert "settings.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_seeds_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "seeds.jsonl"
    path.write_text('{"question": "Which letter is first?", "answers": 1}\n{"question": "x"}\n')
    done = construct_(str(path), "--model", "a/b", "--out", str(tmp_path / "x"))
    assert done.returncode == 2
    assert "answers" in done.stderr
    assert "line 2" in done.stderr
    path.write_text('{"question": "Which letter is the first one?"}\n')
    done = construct_(str(path), "--model", "a/b", "--out", str(tmp_path / "x"))
    assert "licence" in done.stderr
    row = {"question": "Which letter is first?", "licence": "CC BY ND", "answer": "b"}
    path.write_text(json.dumps(row) + "\n")
    done = construct_(str(path), "--model", "a/b", "--out", str(tmp_path / "x"))
    assert "allows changed copies" in done.stderr
    tasks = {"Which is it?": "a", "What of a?": "c"}
    path.write_text(json.dumps({**row, "licence": "MIT", "sub_task": tasks}) + "\n")
    done = construct_(str(path), "--model", "a/b", "--out", str(tmp_path / "x"))
    assert "what the last sub-question has" in done.stderr


def test_an_item_like_one_of_a_test_set_is_rejected_when_the_files_are_written(
    whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "made"
    shutil.copytree(whole, folder)
    against = settings("scripted/clumsy", against=(str(whole / folders.ITEMS),))
    assert anyio.run(construct, folder, against).accepted == 0
    assert all("like a test set" in book["why"] for book in books(folder))
    assert anyio.run(construct, folder, settings("scripted/clumsy")).accepted == 2


def test_a_session_stops_where_hardly_an_item_passes_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolhop_agents.construct.session.YIELD_ITEMS", 1)
    wanted = settings("scripted/clumsy", least_yield=0.5, at_a_time=1)
    ended = made(tmp_path / "made", wanted, two())
    assert "--least-yield is not reached: 0 of 1" in ended.stopped_by
    assert (ended.accepted, ended.left) == (1, 1)


def test_what_the_official_rule_finds_by_accident_is_marked_and_rejected_where_asked(
    tmp_path: Path,
) -> None:
    numbers = range(1, 40)
    plans = {n: journey(f"geography-{n}", "Geography") for n in numbers}
    unsafe = next(
        n
        for n, one in plans.items()
        if any(
            hazards(one.answer(row), one.question())
            for row in one.first
            if row["mountain"] == one.start
        )
    )
    seed = Seed(f"geography-{unsafe}", "Geography")
    made(tmp_path / "marked", settings("scripted/honest"), [seed])
    [item] = load(tmp_path / "marked" / folders.ITEMS).items
    assert item.extra["official_unsafe"]
    made(tmp_path / "safe", settings("scripted/honest", official_safe=True), [seed])
    [book] = books(tmp_path / "safe")
    assert not book["accepted"]
    assert "official-safe" in [one["criterion"] for one in book["criteria"] if not one["holds"]]


def test_a_cache_pays_for_nothing_twice_in_a_new_folder_and_gives_the_same_bytes(
    tmp_path: Path,
) -> None:
    cache, seeds = tmp_path / "cache", two()[:1]
    with LoopbackServer(constructing("clumsy")) as server:
        own: dict[str, Any] = {"base_url": server.base_url, "cache": cache, "price": "1,1"}
        cut = made(tmp_path / "cut", settings("openai/any", run_token_limit=9_000, **own), seeds)
        assert "--run-token-limit is reached" in cut.stopped_by
        paid = server.requests
        first = made(tmp_path / "first", settings("openai/any", **own), seeds)
        assert (first.accepted, first.took.cached_replies) == (1, paid)
        assert first.took.replies == server.requests - paid
        asked = server.requests
        # What a cache gives costs nothing: no limit of the run stops it.
        limits = {"run_cost_limit": 0.000001}
        again = made(tmp_path / "again", settings("openai/any", **own, **limits), seeds)
        assert (again.fault, again.accepted, again.stopped_by) == (None, 1, "")
        assert (server.requests, again.took.replies, again.took.cost_usd) == (asked, 0, 0.0)
        for name in FILES:
            assert (tmp_path / "again" / name).read_bytes() == (
                tmp_path / "first" / name
            ).read_bytes()
        # An item's own limit counts what its replies took, whoever paid.
        dear = settings("openai/any", **own, token_limit=3_000)
        assert made(tmp_path / "dear", dear, seeds).rejected == 1


def test_what_a_cache_has_without_a_cost_costs_what_the_price_says(tmp_path: Path) -> None:
    cache, seeds = tmp_path / "cache", two()[:1]
    with LoopbackServer(constructing("honest")) as server:
        own: dict[str, Any] = {"base_url": server.base_url, "cache": cache}
        made(tmp_path / "first", settings("openai/any", **own), seeds)
        assert books(tmp_path / "first")[0]["cost_usd"] is None
        asked = server.requests
        made(tmp_path / "again", settings("openai/any", **own, price="1,1"), seeds)
        assert server.requests == asked
    [book] = books(tmp_path / "again")
    tokens = book["input_tokens"] + book["output_tokens"]
    assert book["cost_usd"] == pytest.approx(tokens / 1_000_000)


def test_limits_on_costs_of_a_folder_that_is_resumed_need_prices(tmp_path: Path) -> None:
    out = str(tmp_path / "made")
    folders.make(Path(out), settings("scripted/honest").model_dump(mode="json"), two()[:1])
    done = construct_("--resume", out, "--run-cost-limit", "1")
    assert (done.returncode, "pass --price IN,OUT" in done.stderr) == (2, True)


def test_what_a_model_knows_without_tools_is_no_item_of_a_closed_world(tmp_path: Path) -> None:
    own = {"direct_model": "scripted/oracle", "direct_samples": 2}
    made(tmp_path / "known", settings("scripted/honest", **own))
    [book] = books(tmp_path / "known")
    assert not book["accepted"]
    assert "without tools" in book["why"]
    [judged] = [one for one in book["criteria"] if one["criterion"] == "direct-model"]
    assert judged["figure"] == {"model": "scripted/oracle", "asked": 2, "right": 2, "share": 1.0}
    # It is asked as any other model, through the ledger, and sees no tool and no answer.
    plan = journey("geography-1", "Geography")
    answers = iter(
        ["<answer>no idea</answer>", f"<answer>{_answer(plan)}</answer>", "I don't know"]
    )
    seen: list[Request] = []

    def says(request: Request) -> Reply:
        seen.append(request)
        return Reply(next(answers), usage=Usage(7, 3))

    facts = tuple(dict(one) for one in (*plan.first, *plan.second))
    real = Seed("geography-1", "Geography", question=plan.question(), facts=facts, world=World.REAL)
    with LoopbackServer(says) as server:
        own = {"direct_model": "openai/any", "direct_base_url": server.base_url}
        wanted = settings("scripted/honest", direct_samples=3, **own)
        ended = made(tmp_path / "real", wanted, [real])
        assert anyio.run(construct, tmp_path / "real", wanted).accepted == 1
    assert (ended.fault, ended.accepted, len(seen)) == (None, 1, 3)
    assert plan.question() in seen[0].messages[-1].content
    assert not seen[0].tools
    [book] = books(tmp_path / "real")
    [judged] = [one for one in book["criteria"] if one["criterion"] == "direct-model"]
    assert (judged["holds"], judged["figure"]["right"], judged["figure"]["asked"]) == (True, 1, 3)


def _answer(plan: Journey) -> str:
    start = next(one for one in plan.first if one["mountain"] == plan.start)
    return plan.answer(start)
