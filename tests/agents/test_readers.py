"""`toolhop certify --readers`: models on a real server read items blind; their plans are run."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import command
from tests.agents.test_cli_certify import made
from tests.launcher import Launched
from tests.toolhop_tools.rows import write
from tests.waiting import Gate
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env.messages import Message, Reply, Usage
from toolhop_tools.blind.siblings import gold_plan
from toolhop_tools.certify.file import read
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]


def step(tool: str, path: list[str | int] | None = None, **arguments: object) -> dict[str, Any]:
    return {"asks": "it", "tool": tool, "arguments": arguments, "answer_path": path}


def plan(*steps: dict[str, Any], **more: str) -> str:
    return json.dumps({"steps": [*steps], **more})


SQUARED = step("square", number="{1}")
RIGHT = plan(step("word_length", word="Oslo"), SQUARED)
REPLIES = {
    "right": RIGHT,
    "thoughtful": f"<think>{{1}} {plan(step('square', number=3))}</think>\n```json\n{RIGHT}\n```",
    "lucky": plan(step("word_length", word="Rome"), SQUARED),
    "wrong": plan(step("word_length", word="Oslo!"), SQUARED),
    "elsewhere": plan(step("square", number=4)),
    "breaking": plan(step("word_length", ["letters"], word="Oslo"), SQUARED),
    "doubting": plan(not_given="the country"),
    "malformed": "I would count the letters.",
    "unfounded": plan(step("cube", number=4)),
}


class Server:
    """A server of readers who reply as their names say."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        """Requests by model."""
        self.bodies: list[dict[str, Any]] = []
        self.conversations: list[tuple[Message, ...]] = []
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self.asked[request.model] += 1
            self.bodies.append(dict(request.body))
            self.conversations.append(request.messages)
        name = request.model
        if name.startswith("plain-"):
            if "response_format" in request.body:
                raise ValueError("response_format is not known here")
            name = name.removeprefix("plain-")
        repaired = len(request.messages) > 2
        text = REPLIES["right"] if name == "clumsy" and repaired else REPLIES.get(name, "[")
        return Reply(text, usage=Usage(100, 10))


@pytest.fixture
def server() -> Iterator[tuple[Server, str]]:
    readers = Server()
    with LoopbackServer(readers) as loopback:
        yield readers, loopback.base_url


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return str(write(tmp_path, [made(1), made(2)]))


Certify = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def certify(rows: str, tmp_path: Path, server: tuple[Server, str]) -> Certify:
    def run(*more: str, readers: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        given = ("--readers", readers, "--reader-base-url", server[1]) if readers else ()
        done = command.toolhop(
            *("certify", "--data", rows, "--sandbox", "process", "--out", "c.jsonl", "--exit-zero"),
            *(*given, *more),
            cwd=tmp_path, env={**os.environ, "COLUMNS": "150"},
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def votes(certify: Certify, name: str, *more: str) -> dict[str, int]:
    figures = json.loads(certify("--json", *more, readers=f"openai/{name}").stdout)
    counts: dict[str, int] = figures["readings"]["votes"][f"openai/{name}"]
    return {vote: count for vote, count in counts.items() if count}


VOTES = {
    "right": "agrees", "thoughtful": "agrees", "lucky": "luck", "wrong": "differs",
    "elsewhere": "elsewhere", "breaking": "breaks", "doubting": "doubts",
    "malformed": "malformed", "unfounded": "malformed", "clumsy": "agrees",
    "plain-right": "agrees",
}  # fmt: skip


@pytest.mark.parametrize("name", VOTES)
def test_each_reader_has_its_vote(name: str, certify: Certify, server: tuple[Server, str]) -> None:
    assert votes(certify, name, "--votes", "1", "--limit", "1") == {VOTES[name]: 1}
    # At most one repair, of the form alone; and one request more where no JSON can be promised.
    repaired = VOTES[name] == "malformed" or name == "clumsy"
    assert server[0].asked[name] == 1 + repaired + name.startswith("plain-")


def test_readers_see_question_and_documents_alone(
    certify: Certify, server: tuple[Server, str]
) -> None:
    votes(certify, "right", "--votes", "4")
    first = server[0].bodies[0]
    assert first["response_format"] == {"type": "json_object"}
    assert "tools" not in first
    shown = [json.loads(messages[-1].content) for messages in server[0].conversations]
    assert all(set(question) == {"question", "tools"} for question in shown)
    assert all(
        set(tool) == {"name", "description", "parameters"} for one in shown for tool in one["tools"]
    )
    text = json.dumps(server[0].bodies)
    assert "def square" not in text
    assert "What is the square of 4?" not in text  # a sub-question
    orders = {tuple(tool["name"] for tool in question["tools"]) for question in shown}
    assert len(orders) == 2


def test_claims_stand_apart(certify: Certify, tmp_path: Path, rows: str) -> None:
    alone = json.loads(certify("--json").stdout)
    assert alone["readings"]["unread"] == 2
    assert "unread" in certify().stdout
    assert "claims: executed, determined, unread\n" in certify("--item", "1").stdout
    figures = json.loads(certify("--json", readers="openai/right,openai/lucky").stdout)
    assert {claim: row["items"] for claim, row in figures["claims"].items()} == {
        "executed": 2, "determined": 2, "read": 2,
    }  # fmt: skip
    assert figures["readings"]["effective_readers"]["number"] is None  # no vote varies
    assert figures["claims"]["read"]["hops"] == 4
    shown = certify("--item", "1").stdout
    assert "read, 3 votes" in shown
    assert "claims: executed, determined, read\n" in shown
    assert "claims:  executed, determined, read (100% of plans come to it)" in shown
    assert "openai/lucky #1: luck" in shown
    assert 'word_length(word="Rome")' in shown
    assert json.loads(certify("--item", "1", "--json").stdout)["reading"]["status"] == "read"
    # Another reader differs: disputed, and nothing to play.
    figures = json.loads(certify("--json", readers="openai/right,openai/wrong").stdout)
    assert (figures["readings"]["disputed"], figures["claims"]["read"]["items"]) == (2, 0)
    assert "disputed 1: agrees 2, differs 1" in certify().stdout
    play = ("run", "--data", rows, "--sandbox", "process", "--certificates", "c.jsonl", "--json")
    done = command.toolhop(*play, "--certified-only", "read", cwd=tmp_path)
    assert done.returncode == 2
    assert "none of the 2 chosen items is read" in done.stderr
    done = command.toolhop(*play, "--certified-only", "executed", cwd=tmp_path)
    assert json.loads(done.stdout)["summaries"][0]["episodes"] == 2


def test_certified_calls_are_read_as_agreeing(tmp_path: Path) -> None:
    """A reader who plans the certified calls, and leaves the places of values open, agrees."""
    certificates = tmp_path / "c.jsonl"
    flags = ("certify", "--data", "builtin", "--sandbox", "process", "--out", str(certificates))
    command.toolhop(*flags, "--limit", "12", cwd=tmp_path)
    items = load("builtin").by_id
    plans = {
        held.item: gold.model_dump_json()
        for held in read(certificates)
        if (gold := gold_plan(items[held.item], held)) is not None
    }
    by_question = {items[name].question: text for name, text in plans.items()}

    def knows(request: Request) -> Reply:
        return Reply(by_question[json.loads(request.messages[-1].content)["question"]])

    chosen = [part for name in plans for part in ("--sample-id", name)]
    with LoopbackServer(knows) as loopback:
        asked = ("--readers", "openai/gold", "--votes", "1", "--reader-base-url", loopback.base_url)
        done = command.toolhop(*flags, *chosen, *asked, "--json", cwd=tmp_path)
    figures = json.loads(done.stdout)["readings"]
    assert figures["votes"]["openai/gold"]["agrees"] == len(plans) >= 6
    assert figures["no_sibling"] <= 3


def test_what_was_paid_for_is_not_asked_for_again(
    certify: Certify, server: tuple[Server, str], tmp_path: Path
) -> None:
    certify(readers="openai/right")
    assert server[0].asked.total() == 6
    path = tmp_path / "c.readings.jsonl"
    before = path.read_bytes()
    certify(readers="openai/right")
    assert (server[0].asked.total(), path.read_bytes()) == (6, before)
    # A lost reading is made of the replies that were kept.
    lines = before.splitlines(keepends=True)
    kept = [line for line in lines if b'"kind": "reply"' in line]
    assert len(kept) == 6
    path.write_bytes(b"".join(kept) + b'{"kind": "rea')
    assert certify("--json", readers="openai/right").stdout.count('"agrees": 6') == 1
    told = command.toolhop("explain", str(tmp_path / "c.jsonl"), "--methods").stdout
    assert " Blind readers (models openai/right; " in told
    assert told.endswith(" planned the calls of 2 items: 2 read.\n")
    assert server[0].asked.total() == 6
    # Another version of an item is read anew.
    write(tmp_path, [made(1), {**made(2), "question": "Square the number of letters of Oslo."}])
    certify(readers="openai/right")
    assert server[0].asked.total() == 9


def test_a_kill_asks_for_nothing_twice(
    rows: str, server: tuple[Server, str], tmp_path: Path
) -> None:
    write(tmp_path, [made(number) for number in range(1, 7)])
    gate = Gate(server[0], 7)
    path = tmp_path / "c.readings.jsonl"
    with LoopbackServer(gate) as loopback:
        flags = (
            *("certify", "--data", rows, "--sandbox", "process"),
            *("--out", str(tmp_path / "c.jsonl")),
            *("--readers", "openai/right", "--reader-base-url", loopback.base_url),
            *("--max-samples", "2"),
        )
        process = Launched(*flags, cwd=tmp_path)
        gate.wait(clients=2)
        process.kill()
        process.communicate()
        gate.open()
        kept = path.read_bytes().count(b'"kind": "reply"')
        asked = gate.asked
        assert 0 < kept < 18
        done = command.toolhop(*flags, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["claims"]["read"]["items"] == 6, done.stderr
    assert gate.asked - asked == 18 - kept


BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "a blank name": (("--readers", "openai/a,,openai/b"), "blank name"),
    "no name": (("--readers", ""), "it is empty"),
    "a name twice": (("--readers", "openai/a,openai/a"), "names openai/a twice"),
    "no vote": (("--readers", "openai/a", "--votes", "0"), "--votes"),
    "too few votes": (("--readers", "openai/a,openai/b", "--votes", "1"), "at least 2 votes"),
    "no provider": (("--readers", "a"), "names no provider"),
    "votes alone": (("--votes", "2"), "--votes goes with --readers"),
    "no address": (("--readers", "openai/a", "--reader-base-url", "here"), "is not an address"),
    "two addresses": (
        ("--readers", "openai/a", "--reader-base-url", "http://a/v1", "--reader-base-url",
         "http://b/v1"),
        "given 2 times and there are 1 readers",
    ),
    "no price": (("--readers", "openai/a", "--reader-price", "cheap"), "--reader-price"),
    "no temperature": (("--readers", "openai/a", "--reader-temperature", "hot"), "hot"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, certify: Certify, tmp_path: Path) -> None:
    given, message = BAD[name]
    assert message in certify(*given, code=2).stderr
    assert not (tmp_path / "c.jsonl").exists()


def test_a_server_that_fails(certify: Certify, rows: str, tmp_path: Path) -> None:
    gone = ("--reader-base-url", "http://127.0.0.1:9/v1", "--readers", "openai/a")
    assert "no server answers" in certify(*gone, code=1).stderr

    def fails(request: Request) -> Reply:
        raise RuntimeError("out of order")

    with LoopbackServer(fails) as broken:
        given = ("--readers", "openai/a", "--reader-base-url", broken.base_url)
        assert "out of order" in certify(*given, "--max-retries", "0", code=1).stderr
    # What was found by search is kept.
    assert len((tmp_path / "c.jsonl").read_bytes().splitlines()) == 2


@pytest.mark.parametrize("line", ['{"kind": "reply"}', '{"kind": "reading"}', "5", "[]", "{}"])
def test_a_line_that_is_not_of_readings(line: str, certify: Certify, tmp_path: Path) -> None:
    certify()
    (tmp_path / "c.readings.jsonl").write_text(f"{line}\n")
    assert "line 1 is neither a reply nor a reading" in certify(code=2).stderr
