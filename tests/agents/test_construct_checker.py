"""`toolhop construct --checker`: another model has to come to the gold; errors of it cost yield."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agents import command
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ledger import NAME as LEDGER
from toolhop_agents.construct.ledger import StepLedger
from toolhop_agents.construct.nested.session import NestSettings, construct_nested
from toolhop_agents.construct.session import Ended, construct
from toolhop_agents.construct.settings import Settings
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.scripted.constructor.atlas import journey
from toolhop_agents.scripted.constructor.model import answered, constructing, script
from toolhop_env.messages import Reply
from toolhop_tools.construct.nested.seeds import written
from toolhop_tools.construct.seeds import World, proposed
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

FILES = (
    folders.ITEMS, folders.CERTIFICATES, folders.BOOKS, folders.FUNNEL, folders.REFUSED,
)  # fmt: skip
SEEDS = proposed("Geography", 1, (2, 7), World.CLOSED)
QUESTION = journey("geography-1", "Geography").question()
CHECKED: dict[str, Any] = {"checker": "scripted/honest"}


def settings(**more: Any) -> Settings:  # noqa: ANN401 -- a test passes settings of many types
    plain = {"model": "scripted/honest", "sandbox": "process", "least_yield": 0.0, "examples": 20}
    return Settings(**{**plain, **more})


def made(folder: Path, wanted: Settings) -> Ended:
    if not folders.is_made(folder):
        folders.make(folder, wanted.model_dump(mode="json"), SEEDS)
    ended = anyio.run(construct, folder, wanted)
    assert ended.fault is None
    return ended


def book(folder: Path) -> dict[str, Any]:
    [found] = folders.read_books(folder)
    return found


def rebuilt(folder: Path) -> dict[str, Any]:
    [found] = [one for one in book(folder)["criteria"] if one["criterion"] == "rebuilt"]
    return {**found["figure"], "holds": found["holds"]}


def replies(folder: Path) -> list[dict[str, Any]]:
    return [*StepLedger(folder, more=False).rows("reply")]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An item that no other model has read. A copy that is made with a checker asks it alone."""
    folder = tmp_path_factory.mktemp("plain") / "made"
    assert made(folder, settings()).accepted == 1
    assert not (folder / folders.REFUSED).exists()
    return folder


def copied(plain: Path, to: Path) -> Path:
    """The ledger of a folder, and nothing that was made of it."""
    to.mkdir()
    shutil.copy(plain / LEDGER, to)
    return to


def test_a_checker_is_asked_once_by_the_real_client_and_sees_question_and_documents_alone(
    plain: Path, tmp_path: Path
) -> None:
    seen: list[Request] = []
    honest = constructing("honest")

    def says(request: Request) -> Reply:
        seen.append(request)
        return honest(request)

    folder = copied(plain, tmp_path / "made")
    with LoopbackServer(says) as server:
        own: dict[str, Any] = {"checker": "openai/reader", "checker_base_url": server.base_url}
        wanted = settings(**own, price="0,0", checker_price="1000000,0")
        assert made(folder, wanted).accepted == 1
        assert made(folder, wanted).accepted == 1
    [request] = seen
    assert (request.body["temperature"], request.body["model"]) == (0.0, "reader")
    said = json.loads(request.messages[-1].content)
    assert said.keys() == {"stage", "question", "tools"}
    [item] = load(folder / folders.ITEMS).items
    assert said["question"] == item.question == QUESTION
    shown = {one["name"]: one for one in said["tools"]}
    assert shown == {hop.tool.name: hop.tool.schema.to_openai()["function"] for hop in item.hops}
    whole = json.dumps(request.body)
    for hop in item.hops:
        assert hop.question not in whole
        assert hop.answer not in whole
    assert (len(replies(folder)), book(folder)["replies"]) == (18, 18)
    last = replies(folder)[-1]
    assert (last["stage"], last["model"]) == ("rebuild", "reader")
    # Its tokens cost its own price.
    assert book(folder)["cost_usd"] is None
    assert last["usage"]["cost_usd"] == pytest.approx(last["usage"]["input_tokens"])
    found = rebuilt(folder)
    assert (found["model"], found["agreed_at_first"], found["holds"]) == (
        "openai/reader", True, True,
    )  # fmt: skip
    assert [one["value"] for one in found["steps"]] == [hop.answer for hop in item.hops]
    assert (folder / folders.ITEMS).read_bytes() == (plain / folders.ITEMS).read_bytes()


@pytest.mark.parametrize("name", ["wrong", "refuses", "malformed", "orders"])
def test_a_checker_that_errs_costs_yield_and_nothing_else(
    plain: Path, tmp_path: Path, name: str
) -> None:
    folder = copied(plain, tmp_path / "made")
    ended = made(folder, settings(checker=f"scripted/{name}"))
    assert (ended.accepted, ended.rejected) == (0, 1)
    assert (folder / folders.ITEMS).read_bytes() == b""
    assert (folder / folders.CERTIFICATES).read_bytes() == b""
    # What it alone refused is the very item that is accepted without it.
    assert (folder / folders.REFUSED).read_bytes() == (plain / folders.ITEMS).read_bytes()
    assert (book(folder)["refused"], rebuilt(folder)["holds"]) == (True, False)
    asked = [row for row in replies(folder) if row["stage"].startswith("rebuild")]
    # Of what is no plan the constructor hears nothing; else its tool and its plan go back once.
    others = len(replies(folder)) - len(asked)
    assert (len(asked), others) == ((2, 17) if name in {"malformed", "orders"} else (2, 19))


def step(tool: str, path: list[Any], **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 -- as a reply has them
    return {"asks": "x", "tool": tool, "arguments": arguments, "answer_path": path}


NAME = "__import__('os').abort()"
START = journey("geography-1", "Geography").start
COUNTRY = step("find_country_of_mountain", [], mountain=START)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([COUNTRY, step("sum_digits", [], number="{1}")], "is not valid under the parameters"),
        ([step("find_country_of_mountain", [], mountain=NAME)], "is not known"),
        ([step("find_country_of_mountain", ["__class__", 0], mountain=START)], "break off"),
        ([step("sum_digits", [], number=7)], "come to"),
    ],
)
def test_a_plan_is_run_as_calls_of_the_tools_and_nothing_more(
    plain: Path, tmp_path: Path, steps: list[dict[str, Any]], says: str
) -> None:
    text = json.dumps({"steps": steps})
    folder = copied(plain, tmp_path / "made")
    with LoopbackServer(lambda request: Reply(text)) as server:
        own = {"checker": "openai/other", "checker_base_url": server.base_url}
        assert made(folder, settings(**own)).accepted == 0
    assert says in rebuilt(folder)["why"]
    assert (folder / folders.REFUSED).read_bytes() == (plain / folders.ITEMS).read_bytes()


Change = Callable[[Mapping[str, Any], dict[str, Any]], None]


def serving(change: Change, *, stubborn: bool) -> Callable[[Request], Reply]:
    """The honest constructor with a change of its replies: at first alone, or whatever is said."""
    honest = script("honest")

    def play(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
        own = json.loads(honest(inputs, repairs))
        inputs = {**inputs, "said": " ".join(repairs)}
        if stubborn or not any("nother model" in one for one in repairs):
            change(inputs, own)
        return json.dumps(own)

    return lambda request: answered(play, request.messages)


THE_COUNTRY = "of the country in which"
OF_THE_START = ("of the mountain in its country,", "of the mountain by the name of")
"""Words that the documents have, and no tool does it."""


def of_the_start(inputs: Mapping[str, Any], reply: dict[str, Any]) -> None:
    if inputs["stage"] == "question":
        reply["question"] = reply["question"].replace(THE_COUNTRY, OF_THE_START[0])


def of_another(inputs: Mapping[str, Any], reply: dict[str, Any]) -> None:
    """A hop more than there is, in the plan and in what is made of it."""
    if inputs["stage"] == "decompose":
        reply["hops"][1]["question"] = "What is the calling code of the country of {1}?"
    if inputs["stage"] == "question" and "country of {1}" in str(inputs["sub_questions"]):
        other = f"of the country {THE_COUNTRY}"
        reply["question"] = reply["question"].replace(THE_COUNTRY, other)


def each_time_another(inputs: Mapping[str, Any], reply: dict[str, Any]) -> None:
    """The conversation holds the last repair alone: two ways to be wrong, in turn."""
    if inputs["stage"] == "question":
        other = OF_THE_START["in its country" in inputs["said"]]
        reply["question"] = reply["question"].replace(THE_COUNTRY, other)


def passes(change: Change, folder: Path, *, stubborn: bool = False, **more: Any) -> Ended:  # noqa: ANN401 -- settings
    with LoopbackServer(serving(change, stubborn=stubborn)) as server:
        wanted = settings(model="openai/any", base_url=server.base_url, **more)
        ended = made(folder, wanted)
        asked = server.requests
        assert made(folder, wanted).accepted == ended.accepted
        assert server.requests == asked
    return ended


def test_a_question_that_is_read_otherwise_goes_back_with_what_was_read(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    assert passes(of_the_start, folder, **CHECKED).accepted == 1
    [item] = load(folder / folders.ITEMS).items
    assert item.question == QUESTION
    found = rebuilt(folder)
    assert (found["holds"], found["agreed_at_first"], found["questions"]) == (True, False, 2)
    assert (folder / folders.REFUSED).read_bytes() == b""
    stages = [(row["stage"], row["hop"]) for row in replies(folder)][-6:]
    # Sub-questions that are read as they are meant say that the question is at fault.
    assert stages == [
        ("rebuild", 0), *(("rebuild-hop", hop) for hop in (1, 2, 3)), ("question", 0),
        ("rebuild", 0),
    ]  # fmt: skip
    steps = {(one["stage"], one["hop"]): one for one in book(folder)["steps"]}
    assert steps["rebuild", 0]["passed"]
    assert steps["rebuild", 0]["returned"]
    assert steps["rebuild-hop", 3]["passed"]
    assert steps["question", 0]["checks"] == ["rebuilt"]
    rows = {
        row["stage"]: row for row in json.loads((folder / folders.FUNNEL).read_text())["stages"]
    }
    assert (rows["rebuild"]["begun"], rows["rebuild"]["first"], rows["rebuild"]["passed"]) == (
        1, 0, 1,
    )  # fmt: skip


def test_one_that_stays_is_refused_kept_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    assert passes(of_the_start, tmp_path / "unchecked", stubborn=True).accepted == 1
    assert passes(of_the_start, folder, stubborn=True, **CHECKED).accepted == 0
    [refused] = load(folder / folders.REFUSED).items
    assert OF_THE_START[0] in refused.question
    assert "the mountain in its country" in rebuilt(folder)["why"]
    assert book(folder)["place"] == ["question", 0]
    shown = command.toolhop("construct", "--show", str(folder))
    assert "refused by the checker alone: 1 (refused.jsonl)" in shown.stdout
    assert "rebuild-hop" in shown.stdout
    item = command.toolhop("construct", "--show", str(folder), "--item", "geography-1")
    assert "-- rebuild: rebuilt: it says that no tool gives this" in item.stdout
    assert "rebuild-hop of hop 2" in item.stdout


def test_repairs_are_counted_as_others_and_sub_questions_are_asked_once(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    assert passes(each_time_another, folder, stubborn=True, repairs=1, **CHECKED).accepted == 0
    stages = [row["stage"] for row in replies(folder)]
    assert stages[-7:] == ["question", "rebuild", *["rebuild-hop"] * 3, "question", "rebuild"]
    assert book(folder)["place"] == ["accept", 0]
    [refused] = load(folder / folders.REFUSED).items
    assert OF_THE_START[1] in refused.question


def test_a_sub_question_that_no_tool_answers_goes_back_to_its_hop_and_then_to_the_plan(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "made"
    assert passes(of_another, tmp_path / "unchecked").accepted == 1
    assert passes(of_another, folder, **CHECKED).accepted == 1
    [item] = load(folder / folders.ITEMS).items
    assert item.question == QUESTION
    assert "country of" not in " ".join(hop.question for hop in item.hops)
    steps = {(one["stage"], one["hop"]): one for one in book(folder)["steps"]}
    assert "rebuilt" in steps["decompose", 0]["checks"]
    assert (steps["rebuild-hop", 2]["passed"], ("rebuild-hop", 3) in steps) == (False, False)
    assert passes(of_another, tmp_path / "stays", stubborn=True, **CHECKED).accepted == 0


def test_what_is_cut_off_while_the_checker_is_asked_goes_on_to_the_same_bytes(
    tmp_path: Path,
) -> None:
    whole, asked = tmp_path / "whole", list[str]()
    play = serving(of_the_start, stubborn=False)

    def says(request: Request) -> Reply:
        asked.append(json.dumps(request.body["messages"]))
        return play(request)

    with LoopbackServer(says) as server:
        wanted = settings(
            model="openai/any", base_url=server.base_url, checker="openai/other",
            checker_base_url=server.base_url,
        )  # fmt: skip
        made(whole, wanted)
        paid = [row["key"] for row in replies(whole)]
        lines = (whole / LEDGER).read_bytes().splitlines(keepends=True)
        first = next(at for at, line in enumerate(lines) if b'"stage": "rebuild"' in line)
        # The verdict on the whole item, which takes a second to find, stands before.
        for cut in range(first, len(lines)):
            folder = tmp_path / str(cut)
            folder.mkdir()
            (folder / LEDGER).write_bytes(b"".join(lines[:cut]) + lines[cut][:20])
            left, before = sum(b'"kind": "reply"' in line for line in lines[cut:]), len(asked)
            made(folder, wanted)
            assert len(asked) - before == left
            assert [row["key"] for row in replies(folder)] == paid
            for name in FILES:
                assert (folder / name).read_bytes() == (whole / name).read_bytes(), (cut, name)


def test_limits_hold_for_what_the_checker_takes(plain: Path, tmp_path: Path) -> None:
    took = book(plain)["input_tokens"] + book(plain)["output_tokens"]
    folder = copied(plain, tmp_path / "run")
    wanted = settings(**CHECKED, run_token_limit=took)
    assert "--run-token-limit is reached" in made(folder, wanted).stopped_by
    assert len(replies(folder)) == len(replies(plain))
    folder = copied(plain, tmp_path / "item")
    made(folder, settings(**CHECKED, token_limit=took))
    assert "--token-limit is reached" in book(folder)["why"]
    assert not (folder / folders.REFUSED).read_bytes()
    # A price of the one is none of the other.
    folder = tmp_path / "cost"
    ended = made(folder, settings(**CHECKED, price="1,1", cost_limit=1.0))
    assert ended.stopped_by == ""
    assert book(folder)["cost_usd"] is None


def test_a_checker_that_never_answers_ends_the_session_with_its_name(
    plain: Path, tmp_path: Path
) -> None:
    over = threading.Event()

    def silent(request: Request) -> Reply:
        over.wait(20)
        return Reply("late")

    folder = tmp_path / "made"
    with LoopbackServer(silent) as server:
        own = {"checker": "openai/silent", "checker_base_url": server.base_url}
        wanted = settings(**own, timeout_s=0.2, max_retries=1)
        folders.make(folder, wanted.model_dump(mode="json"), SEEDS)
        shutil.copy(plain / LEDGER, folder)
        ended = anyio.run(construct, folder, wanted)
        over.set()
    assert "openai/silent" in str(ended.fault)
    assert "no reply within 0.2 s" in str(ended.fault)
    assert "--timeout" in str(ended.fault)


def test_what_is_planned_to_be_asked_counts_the_checker(tmp_path: Path) -> None:
    begin = ("construct", "--domain", "Sport", "--items", "3", "--hops", "3", "--model",
             "scripted/honest", "--dry-run")  # fmt: skip
    without = json.loads(command.toolhop(*begin, "--json").stdout)
    plan = json.loads(command.toolhop(*begin, "--checker", "scripted/honest", "--json").stdout)
    assert plan["replies_least"] == without["replies_least"] + 3
    assert plan["checker"] == "scripted/honest"
    text = command.toolhop(*begin, "--checker", "scripted/honest").stdout
    assert "scripted/honest writes 3" in text


def test_nested_tasks_are_checked_by_the_same_flags(tmp_path: Path) -> None:
    with LoopbackServer(constructing("honest")) as server:
        own: dict[str, Any] = {"checker": "openai/reader", "checker_base_url": server.base_url}
        wanted = NestSettings(**{"model": "scripted/honest", "least_yield": 0.0, **own})
        seeds = written("Harbour", 2, [3], [2])
        folders.make(tmp_path / "made", wanted.model_dump(mode="json"), seeds)
        ended = anyio.run(construct_nested, tmp_path / "made", wanted)
        assert (ended.fault, ended.accepted, server.requests) == (None, 2, 2)
