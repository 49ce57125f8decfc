"""`toolhop construct`: items are made, proven, read, resumed and rejected, by scripted models."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from studies.constructor.atlas import Journey, journey
from studies.constructor.serving import respond
from tests.agents import command
from tests.waiting import CEILING_S
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.folder import LEDGER, LedgerError, StepLedger
from toolhop_agents.construct.session import Ended, construct
from toolhop_agents.construct.settings import Settings
from toolhop_agents.models.loopback import LoopbackServer, Request, RequestResponder
from toolhop_env.messages import Reply, Usage, UserMessage
from toolhop_env.runs.files import held
from toolhop_tools.construct.accept import Criterion, hazards
from toolhop_tools.construct.seeds import Seed, World, proposed
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

FILES = (folders.ITEMS, folders.CERTIFICATES, folders.BOOKS, folders.FUNNEL)
READERS = ("openai/honest@1", "openai/honest@2", "openai/honest@3")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where all scripts are served."""
    with LoopbackServer(respond) as server:
        yield server.base_url


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none-is-needed")


def settings(address: str, script: str = "honest", **more: Any) -> Settings:
    plain = {"sandbox": "process", "least_yield": 0.0, "examples": 20, "base_url": address}
    return Settings(model=f"openai/{script}", **{**plain, **more})


def read_by(address: str, *readers: str, **more: Any) -> dict[str, Any]:
    names = readers or READERS
    return {"readers": names, "reader_base_url": (address,) * len(names), "wording": 0, **more}


def made(folder: Path, wanted: Settings, seeds: list[Seed] | None = None) -> Ended:
    seeds = seeds or proposed("Geography", 1, (2, 7))
    folders.make(folder, wanted.model_dump(mode="json"), seeds)
    return anyio.run(construct, folder, wanted)


def books(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / folders.BOOKS).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def book_of(folder: Path, wanted: Settings, seeds: list[Seed] | None = None) -> dict[str, Any]:
    """The one item's line in the books."""
    ended = made(folder, wanted, seeds)
    assert ended.fault is None
    [book] = books(folder)
    return book


def verdicts(book: dict[str, Any]) -> dict[str, bool]:
    return {row["criterion"]: row["holds"] for row in book["criteria"]}


def row_of(book: dict[str, Any], criterion: Criterion) -> dict[str, Any]:
    return next(row for row in book["criteria"] if row["criterion"] == criterion)


UNASKED = {Criterion.READ, Criterion.WORDING, Criterion.CLOSED_BOOK, Criterion.OFFICIAL_SAFE}


def test_an_honest_constructor_makes_an_item_that_is_a_data_set_like_any_other(
    tmp_path: Path, address: str
) -> None:
    book = book_of(tmp_path / "made", settings(address))
    assert verdicts(book) == dict.fromkeys({*Criterion} - UNASKED, True)
    [item] = load(tmp_path / "made" / folders.ITEMS).items
    assert len(item.hops) == 3
    assert all(hop.gold is not None for hop in item.hops)
    assert (item.extra["family"], item.extra["reading"]) == ("geography-1", "unread")


def test_readers_a_second_implementation_wording_and_a_closed_book_let_a_right_item_pass(
    tmp_path: Path, address: str
) -> None:
    own = read_by(address, wording=2, closed_book="openai/honest@4", closed_book_base_url=address)
    book = book_of(tmp_path / "made", settings(address, **own))
    assert verdicts(book) == dict.fromkeys({*Criterion} - {Criterion.OFFICIAL_SAFE}, True)
    figure = row_of(book, Criterion.READ)["figure"]
    assert (figure["agree"], figure["votes"], figure["sibling"]) == (3, 3, True)
    assert [ballot["model"] for ballot in figure["ballots"]] == [*READERS]
    changes = row_of(book, Criterion.WORDING)["figure"]["changes"]
    assert [change["noticed"] for change in changes] == [True, True]
    assert [step["stage"] for step in book["steps"]].count("second") == 3
    [item] = load(tmp_path / "made" / folders.ITEMS).items
    assert item.extra["reading"] == "read"
    assert not (tmp_path / "made" / folders.REFUSED).read_bytes()


@pytest.mark.parametrize(
    ("reader", "vote"),
    [("wrong", "differs"), ("refuses", "doubts"), ("malformed", "malformed")],
)
def test_an_item_that_readers_dispute_is_rejected_and_kept_apart(
    tmp_path: Path, address: str, reader: str, vote: str
) -> None:
    own = read_by(address, *(f"openai/{reader}@{n}" for n in (1, 2, 3)), second="off")
    book = book_of(tmp_path / "made", settings(address, repairs=1, **own))
    assert (book["accepted"], book["place"]) == (False, ["question", 0])
    assert {row["vote"] for row in row_of(book, Criterion.READ)["figure"]["ballots"]} == {vote}
    [item] = load(tmp_path / "made" / folders.REFUSED).items
    assert item.extra["reading"] == "disputed"


def test_one_reader_of_three_who_doubts_is_outvoted_and_one_who_differs_is_not(
    tmp_path: Path, address: str
) -> None:
    for reader, accepted in (("refuses", True), ("wrong", False)):
        own = read_by(address, *READERS[:2], f"openai/{reader}", second="off", repairs=0)
        assert book_of(tmp_path / reader, settings(address, **own))["accepted"] is accepted


def test_what_readers_dispute_goes_to_whoever_writes_the_question_as_plans_with_results(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def vague_at_first(request: Request) -> Reply:
        texts = [one.content for one in request.messages if isinstance(one, UserMessage)]
        if '"stage": "question"' not in texts[0] or len(texts) > 1:
            asked.extend(texts[1:])
            return respond(request)
        plan = journey("geography-1", "Geography")
        return Reply(json.dumps({"question": f"What is to be found at {plan.start}?"}))

    with LoopbackServer(vague_at_first) as server:
        own = read_by(server.base_url, second="off")
        book = book_of(tmp_path / "made", settings(server.base_url, **own))
    assert book["accepted"]
    [prompt] = asked
    assert "Readers who see the question and the documents alone" in prompt
    assert "No tool gives this" in prompt


KINDS = {
    "mute-error": "code",
    "forgives-articles": "code",
    "wrong-pair": "facts",
    "leaked-in-document": "refine",
    "wrong-constant": "code",
    "skips-a-hop": "refine",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_that_is_repaired_once_it_is_named_ends_in_an_item(
    tmp_path: Path, address: str, kind: str
) -> None:
    book = book_of(tmp_path / "made", settings(address, f"faulty:{kind}"))
    assert book["accepted"]
    assert any(step["replies"] > 1 or step["returned"] for step in book["steps"])


@pytest.mark.parametrize("kind", ["set-order", "constant-tool", "literal-answer", "nearest-key"])
def test_a_fault_that_stays_is_rejected_with_the_reason(
    tmp_path: Path, address: str, kind: str
) -> None:
    book = book_of(tmp_path / "made", settings(address, f"faulty:{kind}:stubborn", repairs=1))
    assert not book["accepted"]
    assert book["place"] == ["call" if kind == "literal-answer" else "code", 2]
    assert book["problems"]


def test_a_broken_contract_goes_back_with_the_smallest_call_that_shows_it(
    tmp_path: Path, address: str
) -> None:
    book = book_of(tmp_path / "made", settings(address, "faulty:mute-error:stubborn", repairs=1))
    [message] = [text for text in book["problems"] if "contract's errors" in text]
    assert 'look_up_country(country="' in message
    assert '{"error": "no"}; the document says {"error": "country: ' in message


def with_second(change: Callable[[str], str], *readers: str) -> RequestResponder:
    """A server whose readers, as writers of a function, change the honest one."""

    def reply(request: Request) -> Reply:
        own = respond(request)
        first = next(one.content for one in request.messages if isinstance(one, UserMessage))
        if '"stage": "second"' in first and request.model in readers and '"hop": 3' in first:
            code = json.loads(own.content)
            return replace(own, content=json.dumps({**code, "code": change(code["code"])}))
        return own

    return reply


def off_by_one(code: str) -> str:
    return code.replace("return total", "return total + (total > 9)")


@pytest.mark.parametrize(
    ("readers", "place", "word"),
    [
        (("honest@1",), None, ""),
        (("honest@1", "honest@2"), ["code", 3], "two functions that others wrote"),
    ],
)
def test_a_third_function_tells_who_is_at_fault_where_the_second_differs(
    tmp_path: Path, readers: tuple[str, ...], place: list[Any] | None, word: str
) -> None:
    with LoopbackServer(with_second(off_by_one, *readers)) as server:
        own = read_by(server.base_url, repairs=1)
        book = book_of(tmp_path / "made", settings(server.base_url, **own))
    assert book.get("place") == place
    assert word in " ".join(book.get("problems", ()))


def test_domains_are_named_and_merged_and_asked_for_once(tmp_path: Path) -> None:
    asked: list[str] = []
    broken = threading.Event()

    def counted(request: Request) -> Reply:
        text = next(one.content for one in request.messages if isinstance(one, UserMessage))
        asked.append(text)
        if broken.is_set() and '"domain"' in text.splitlines()[1]:
            raise ValueError("no domain today")
        return respond(request)

    seeds = [*proposed("Geography", 1, (2, 7)), *proposed("Music", 1, (2, 7))]
    folder = tmp_path / "made"
    with LoopbackServer(counted) as server:
        wanted = settings(server.base_url, domains=True, max_retries=0)
        broken.set()
        ended = made(folder, wanted, seeds)
        assert (ended.accepted, ended.left) == (2, 0)
        assert "no domain today" in str(ended.fault)
        assert (folder / folders.FUNNEL).exists()
        broken.clear()
        asked.clear()
        assert anyio.run(construct, folder, wanted).fault is None
        assert len(asked) == 3
        anyio.run(construct, folder, wanted)
        assert len(asked) == 3
    assert {item.domain for item in load(folder / folders.ITEMS).items} == {"Geography"}


def test_replies_in_a_fence_and_after_thoughts_make_the_same_item(
    tmp_path: Path, address: str
) -> None:
    def talkative(request: Request) -> Reply:
        own = respond(request)
        draft = '<think>First {"a": 1}?</think>Here it is:\n```json\n'
        return replace(own, content=f"{draft}{own.content}\n```\nI hope this helps.")

    assert book_of(tmp_path / "plain", settings(address))["accepted"]
    with LoopbackServer(talkative) as server:
        assert book_of(tmp_path / "talkative", settings(server.base_url))["accepted"]
    plain, other = (load(tmp_path / n / folders.ITEMS).items for n in ("plain", "talkative"))
    assert plain == other


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, address: str) -> Path:
    """Items of a constructor that errs at first, made without a break."""
    folder = tmp_path_factory.mktemp("whole") / "made"
    assert made(folder, settings(address, "clumsy"), two()).accepted == 2
    return folder


def two() -> list[Seed]:
    return proposed("Music", 2, (2, 7))


def replies(folder: Path) -> list[str]:
    return [row["key"] for row in StepLedger(folder, more=False).rows("reply")]


def test_a_session_that_a_limit_stopped_goes_on_and_pays_nothing_twice(
    whole: Path, tmp_path: Path, address: str
) -> None:
    folder, wanted = tmp_path / "made", settings(address, "clumsy", run_token_limit=20_000)
    ended = made(folder, wanted, two())
    assert "--run-token-limit is reached" in ended.stopped_by
    paid = replies(folder)
    assert 0 < len(paid) < len(replies(whole))
    # As a kill leaves it: a line without its end.
    with (folder / LEDGER).open("ab") as file:
        file.write(b'{"kind": "reply", "key": "cut')
    again = anyio.run(construct, folder, settings(address, "clumsy"))
    assert (again.accepted, again.stopped_by, again.fault) == (2, "", None)
    assert replies(folder)[: len(paid)] == paid
    assert sorted(replies(folder)) == sorted(replies(whole))
    for name in FILES:
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_an_item_that_may_cost_no_more_is_rejected(tmp_path: Path, address: str) -> None:
    made(tmp_path / "made", settings(address, token_limit=3_000))
    [book] = books(tmp_path / "made")
    assert not book["accepted"]
    assert "--token-limit is reached" in book["why"]
    assert 3_000 <= book["input_tokens"] + book["output_tokens"] < 8_000


def test_a_limit_on_costs_needs_prices(tmp_path: Path, address: str) -> None:
    limits: dict[str, Any] = {"run_cost_limit": 1.0}
    ended = made(tmp_path / "no-price", settings(address, **limits))
    assert "is not known" in ended.stopped_by
    priced = settings(address, price="1,1", run_cost_limit=0.002)
    assert "--run-cost-limit is reached" in made(tmp_path / "price", priced).stopped_by


def test_a_limit_on_an_items_cost_needs_prices_too(tmp_path: Path, address: str) -> None:
    ended = made(tmp_path / "made", settings(address, cost_limit=1.0))
    assert "--cost-limit cannot be kept" in ended.stopped_by
    assert (ended.accepted, len(replies(tmp_path / "made"))) == (0, 1)


def test_replies_that_are_under_way_when_a_limit_is_reached_are_kept(tmp_path: Path) -> None:
    arrived = threading.Barrier(3, timeout=CEILING_S)

    def together(request: Request) -> Reply:
        """The first requests of all items are answered one after another, when all are there."""
        with suppress(threading.BrokenBarrierError):
            time.sleep(0.1 * arrived.wait())
            arrived.abort()
        return respond(request)

    seeds = proposed("Music", 3, (2, 7))
    with LoopbackServer(together) as server:
        wanted = settings(server.base_url, max_samples=3, run_token_limit=10)
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


def test_a_seeds_own_answers_have_to_be_what_the_chain_gives(tmp_path: Path, address: str) -> None:
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
    book = book_of(tmp_path / "right", settings(address), [seed])
    assert book["accepted"]
    [item] = load(tmp_path / "right" / folders.ITEMS).items
    assert (item.question, item.answer) == (plan.question(), total)
    wrong = (*tasks[:2], (tasks[2][0], str(int(total) + 1)))
    other = replace(seed, sub_task=wrong, answer=str(int(total) + 1))
    book = book_of(tmp_path / "wrong", settings(address), [other])
    assert not book["accepted"]
    assert "the seed says" in " ".join(book["problems"])


def test_in_the_real_world_no_record_comes_from_anywhere_but_the_seed(
    tmp_path: Path, address: str
) -> None:
    plan = journey("geography-1", "Geography")
    facts = tuple(dict(one) for one in (*plan.first, *plan.second))
    seed = Seed("geography-1", "Geography", question=plan.question(), facts=facts, world=World.REAL)
    assert book_of(tmp_path / "all", settings(address), [seed])["accepted"]
    book = book_of(tmp_path / "some", settings(address), [replace(seed, facts=facts[:-1])])
    assert (book["accepted"], book["place"]) == (False, ["facts", 2])
    assert "not among the facts" in " ".join(book["problems"])


def construct_(*arguments: str) -> subprocess.CompletedProcess[str]:
    return command.toolhop("construct", *arguments)


def test_the_command_makes_shows_and_goes_on(tmp_path: Path, address: str) -> None:
    out = str(tmp_path / "made")
    begin = ("from-domain", "Sport", "--items", "2", "--model", "openai/honest", "--price", "1,2",
             "--base-url", address)  # fmt: skip
    plan = json.loads(construct_(*begin, "--temperature", "none", "--dry-run", "--json").stdout)
    assert (plan["items"], plan["settings"]["temperature"]) == (2, None)
    some = construct_(*begin, "--out", out, "--sandbox", "process", "--estimate", "1", "--json")
    assert some.returncode == 0, some.stderr
    estimate = json.loads(some.stdout)
    assert (estimate["left"], estimate["made"]) == (1, 1)
    assert estimate["cost_usd"][0] > 0
    rest = construct_("resume", out, "--base-url", address, "--json")
    assert rest.returncode == 0, rest.stderr
    assert json.loads(rest.stdout)["accepted"] == 2
    shown = construct_("show", out)
    assert "whole items" in shown.stdout
    item = construct_("show", out, "--item", "sport-2")
    assert "def look_up_stadium" in item.stdout
    assert "every-hop-needed" in item.stdout
    told = command.toolhop("explain", out, "--methods").stdout
    assert told.startswith("`toolhop construct` tried 2 seeds and accepted 2: ")
    for part in ("model openai/honest; temperature 0.7; ", "tokens.", " of 2 items", ": 2 proven."):
        assert part in told, part
    assert address not in told
    data = f"{out}/{folders.ITEMS}"
    valid = command.toolhop("data", "validate", "--data", data)
    assert valid.returncode == 0, valid.stdout
    kept = command.toolhop(
        "certify", "--data", data, "--out", f"{out}/{folders.CERTIFICATES}", "--sandbox", "process"
    )
    assert "2 certificates of" in kept.stderr
    assert "still hold" in kept.stderr


MODEL = ("--model", "a/b", "--out", "x")
BEGUN = ("from-domain", "A", "--items", "1", *MODEL)
PAID = (*BEGUN, "--run-cost-limit", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("from-domain", "A", "--items", "1"), "Missing option '--model'"),
        (("from-domain", "A", "--items", "1", "--model", "a/b"), "--out is missing"),
        (("from-domain", "A", *MODEL), "Missing option '--items'"),
        ((*BEGUN, "--hops", "1-9"), "'1-9' is not a range within 2 to 7"),
        (("resume", "nowhere"), "has no settings.json"),
        ((*BEGUN, "--closed-book-samples", "2"), "--closed-book-samples goes with"),
        ((*BEGUN, "--cost-limit", "nan"), "nan is not in the range x>0"),
        ((*BEGUN, "--price", "x,y"), "'--price': the price is"),
        ((*BEGUN, "--base-url", "http://u:p@h/v1"), "has a user or a password in it"),
        (("from-domain", " ", "--items", "1", *MODEL), "it is blank; give a name"),
        (("show", "nowhere"), "has no settings.json"),
        ((*BEGUN, "--cache", "/dev/null/x"), "cannot be written"),
        ((*BEGUN, "--prompts", "."), "no folder of prompts"),
        ((*BEGUN, "--second", ""), "'--second': it is blank"),
        ((*BEGUN, "--closed-book", " "), "'--closed-book': it is blank"),
        *(((*BEGUN, flag, ""), f"Invalid value for '{flag}': it is blank")
          for flag in ("--out", "--cache", "--prompts")),
        *(((name, ""), "it is blank; give a path")
          for name in ("show", "resume", "review", "agreement")),
        (("review", "x", "--reviewer", ""), "'--reviewer': it is blank"),
        *(((*BEGUN, flag, "c/d", f"{flag.rstrip('s')}-base-url", "notaurl"),
           "'notaurl' is not an address; give one such as")
          for flag in ("--readers", "--second", "--closed-book")),
        ((*BEGUN, "--base-url", "http://[x"), "'http://[x' is not an address; give one such as"),
        ((*BEGUN, "--second", "off", "--second-base-url", "http://h/v1"),
         "--second-base-url goes with --second"),
        ((*BEGUN, "--readers", "a/b,,c/d"), "--readers"),
        ((*BEGUN, "--readers", "a/b,a/b"), "--readers"),
        ((*BEGUN, "--readers", "a/b,c/d", "--votes", "1"), "--votes"),
        ((*BEGUN, "--wording", "2"), "--wording goes with"),
        ((*BEGUN, "--dry-run", "--estimate", "2"), "--dry-run asks nothing and --estimate makes"),
        (PAID, "pass --price IN,OUT"),
        ((*PAID, "--price", "1,1", "--readers", "x/y", "--second", "off"),
         "pass --reader-price IN,OUT"),
        ((*PAID, "--price", "1,1", "--second", "x/y"), "pass --second-price IN,OUT"),
        ((*PAID, "--price", "1,1", "--closed-book", "x/y"), "pass --closed-book-price IN,OUT"),
        (("nested", *BEGUN, "--cost-limit", "1"), "pass --price IN,OUT"),
    ],
)  # fmt: skip
def test_wrong_use_ends_with_a_message(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = command.toolhop("construct", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_does_not_answer_is_named_by_its_flag(tmp_path: Path, address: str) -> None:
    nobody = ("--readers", "openai/a", "--reader-base-url", "http://127.0.0.1:9/v1")
    out = str(tmp_path / "made")
    begun = ("from-domain", "A", "--items", "1", "--model", "openai/honest", "--base-url", address)
    done = construct_(*begun, *nobody, "--out", out)
    assert done.returncode == 1
    assert "or give its --reader-base-url" in done.stderr


def test_a_folder_that_another_process_works_in_is_being_made(tmp_path: Path, address: str) -> None:
    folder = tmp_path / "made"
    wanted = settings(address)
    folders.make(folder, wanted.model_dump(mode="json"), proposed("A", 1, (2, 7)))
    with held(folder):
        done = construct_("resume", str(folder), "--base-url", address)
    assert "is being made by another process" in done.stderr


@pytest.mark.parametrize("kept", ["[]", "{}", '{"model": 5}', '{"model": "a/b", "more": 1}'])
def test_settings_that_cannot_be_read_end_with_a_message(tmp_path: Path, kept: str) -> None:
    row = json.loads(kept)
    text = json.dumps({**row, "format": folders.FORMAT} if isinstance(row, dict) else row)
    (tmp_path / "settings.json").write_text(text)
    done = construct_("resume", str(tmp_path))
    assert done.returncode == 2
    assert "settings.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_seeds_are_read_strictly(tmp_path: Path) -> None:
    def refused(*rows: dict[str, Any]) -> str:
        path = tmp_path / "seeds.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = construct_("from-seeds", str(path), "--model", "a/b", "--out", str(tmp_path / "x"))
        assert done.returncode == 2
        return done.stderr

    row = {"question": "Which letter is first?", "answer": "b"}
    strict = refused({**row, "answers": 1}, {"question": "x"})
    assert "answers" in strict
    assert "line 2" in strict
    assert "licence" in refused(row)
    assert "allows changed copies" in refused({**row, "licence": "CC BY ND"})
    tasks = {"Which is it?": "a", "What of a?": "c"}
    told = refused({**row, "licence": "MIT", "sub_task": tasks})
    assert "what the last sub-question has" in told


def test_an_item_like_one_of_a_test_set_is_rejected_when_the_files_are_written(
    whole: Path, tmp_path: Path, address: str
) -> None:
    folder = tmp_path / "made"
    shutil.copytree(whole, folder)
    against = settings(address, "clumsy", against=(str(whole / folders.ITEMS),))
    assert anyio.run(construct, folder, against).accepted == 0
    assert all("like a test set" in book["why"] for book in books(folder))
    assert anyio.run(construct, folder, settings(address, "clumsy")).accepted == 2


def test_a_session_stops_where_hardly_an_item_passes_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("toolhop_agents.construct.session.YIELD_ITEMS", 1)
    wanted = settings(address, "clumsy", least_yield=0.5, max_samples=1)
    ended = made(tmp_path / "made", wanted, two())
    assert "--least-yield is not reached: 0 of 1" in ended.stopped_by
    assert (ended.accepted, ended.left) == (1, 1)


def test_what_the_official_rule_finds_by_accident_is_marked_and_rejected_where_asked(
    tmp_path: Path, address: str
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
    made(tmp_path / "marked", settings(address), [seed])
    [item] = load(tmp_path / "marked" / folders.ITEMS).items
    assert item.extra["official_unsafe"]
    made(tmp_path / "safe", settings(address, official_safe=True), [seed])
    [book] = books(tmp_path / "safe")
    assert not book["accepted"]
    assert "official-safe" in [one["criterion"] for one in book["criteria"] if not one["holds"]]


def test_a_cache_pays_for_nothing_twice_in_a_new_folder_and_gives_the_same_bytes(
    tmp_path: Path,
) -> None:
    cache, seeds = tmp_path / "cache", two()[:1]
    with LoopbackServer(respond) as server:
        own: dict[str, Any] = {"address": server.base_url, "cache": cache, "price": "1,1"}
        own["script"] = "clumsy"
        cut = made(tmp_path / "cut", settings(run_token_limit=9_000, **own), seeds)
        assert "--run-token-limit is reached" in cut.stopped_by
        paid = server.requests
        first = made(tmp_path / "first", settings(**own), seeds)
        assert (first.accepted, first.took.cached_replies) == (1, paid)
        assert first.took.replies == server.requests - paid
        asked = server.requests
        # What a cache gives costs nothing: no limit of the run stops it.
        limits: dict[str, Any] = {"run_cost_limit": 0.000001}
        again = made(tmp_path / "again", settings(**own, **limits), seeds)
        assert (again.fault, again.accepted, again.stopped_by) == (None, 1, "")
        assert (server.requests, again.took.replies, again.took.cost_usd) == (asked, 0, 0.0)
        for name in FILES:
            assert (tmp_path / "again" / name).read_bytes() == (
                tmp_path / "first" / name
            ).read_bytes()
        # An item's own limit counts what its replies took, whoever paid.
        dear = settings(**own, token_limit=3_000)
        assert made(tmp_path / "dear", dear, seeds).rejected == 1


def test_what_a_cache_has_without_a_cost_costs_what_the_price_says(tmp_path: Path) -> None:
    cache, seeds = tmp_path / "cache", two()[:1]
    with LoopbackServer(respond) as server:
        own: dict[str, Any] = {"address": server.base_url, "cache": cache}
        made(tmp_path / "first", settings(**own), seeds)
        assert books(tmp_path / "first")[0]["cost_usd"] is None
        asked = server.requests
        made(tmp_path / "again", settings(**own, price="1,1"), seeds)
        assert server.requests == asked
    [book] = books(tmp_path / "again")
    tokens = book["input_tokens"] + book["output_tokens"]
    assert book["cost_usd"] == pytest.approx(tokens / 1_000_000)


def test_limits_on_costs_of_a_folder_that_is_resumed_need_prices(
    tmp_path: Path, address: str
) -> None:
    out = str(tmp_path / "made")
    folders.make(Path(out), settings(address).model_dump(mode="json"), two()[:1])
    done = construct_("resume", out, "--base-url", address, "--run-cost-limit", "1")
    assert (done.returncode, "pass --price IN,OUT" in done.stderr) == (2, True)


def test_what_a_model_knows_without_tools_is_no_item_of_a_closed_world(
    tmp_path: Path, address: str
) -> None:
    plan = journey("geography-1", "Geography")
    seen: list[Request] = []

    def knows(request: Request) -> Reply:
        seen.append(request)
        texts = ("I don't know", f"<answer>{_answer(plan)}</answer>")
        return Reply(texts[len(seen) % 2], usage=Usage(7, 3))

    facts = tuple(dict(record) for record in (*plan.first, *plan.second))
    real = Seed("geography-1", "Geography", question=plan.question(), facts=facts, world=World.REAL)
    with LoopbackServer(knows) as server:
        own = {"closed_book": "openai/any", "closed_book_base_url": server.base_url}
        wanted = settings(address, closed_book_samples=2, **own)
        book = book_of(tmp_path / "closed", wanted)
        assert not book["accepted"]
        assert "without tools" in book["why"]
        # It is asked through the ledger as any other model is, and sees neither tool nor answer.
        assert made(tmp_path / "real", wanted, [real]).accepted == 1
        assert anyio.run(construct, tmp_path / "real", wanted).accepted == 1
    assert len(seen) == 4
    assert seen[0].messages[-1].content.count(plan.question()) == 1
    assert not seen[0].tools
    [book] = books(tmp_path / "real")
    row = row_of(book, Criterion.CLOSED_BOOK)
    assert (row["holds"], row["figure"]["right"], row["figure"]["asked"]) == (True, 1, 2)


def test_a_folder_of_the_version_before_is_not_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    wanted = settings("http://127.0.0.1:9/v1").model_dump(mode="json")
    folders.make(folder, wanted, proposed("Geography", 1, (2, 7)))
    kept = json.loads((folder / "settings.json").read_text())
    (folder / "settings.json").write_text(json.dumps({**kept, "format": folders.FORMAT - 1}))
    done = construct_("resume", str(folder))
    assert done.returncode == 2
    assert "was begun by an earlier version" in done.stderr
    assert "Traceback" not in done.stderr


def _answer(plan: Journey) -> str:
    start = next(one for one in plan.first if one["mountain"] == plan.start)
    return plan.answer(start)
