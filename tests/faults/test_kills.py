"""A run that is killed at random moments, again and again, and resumed each time.

The model is a server of our own, so that what is asked twice can be counted.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tests.agents.items import small_item
from tests.faults.engines import CEILING_S, until
from tests.launcher import SERVED, Launched
from toolhop_agents.models.loopback import LoopbackServer, Request, RequestResponder
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import item_of, responder
from toolhop_env.attempt import Attempt
from toolhop_env.messages import AssistantMessage, Reply
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.model import DataSet

ROOT = Path(__file__).parents[2]
ITEMS, KILLS, AT_A_TIME = 32, 50, 2
AGENT, SEED = "repairing:0.4", 5

Turn = tuple[str, int]
"""An item, and how many replies its conversation had."""


class Log:
    """A responder that writes down what it was asked, and answers no more than it may.

    What is past the limit waits for the next one: how far a run comes between two kills is the
    test's to say, not the machine's.
    """

    def __init__(self, data: DataSet) -> None:
        self._data = data
        self._answer: RequestResponder = responder(data, choose(AGENT), SEED)
        self._may = threading.Condition()
        self._limit = sys.maxsize
        self.asked: list[Turn] = []

    def limit(self, count: int) -> None:
        """Answer until this many were asked."""
        with self._may:
            self._limit = count
            self._may.notify_all()

    def has(self, count: int) -> bool:
        return len(self.asked) >= count

    def __call__(self, request: Request) -> Reply:
        spoken = sum(isinstance(message, AssistantMessage) for message in request.messages)
        with self._may:
            self.asked.append((item_of(self._data, request.messages).id, spoken))
            place = len(self.asked)
            self._may.wait_for(lambda: place <= self._limit, CEILING_S)
        time.sleep(0.003)
        return self._answer(request)


def start(output: Path, *arguments: str) -> Launched:
    """The command as a process of its own, which adds what it prints to a file."""
    with output.open("a") as file:
        return Launched(
            *arguments, cwd=ROOT, env={**os.environ, "OPENAI_API_KEY": "none"}, imports=SERVED,
            stdout=file.fileno(), stderr=file.fileno(),
        )  # fmt: skip


def begun(log_dir: Path) -> Path | None:
    """The run's folder, once it is one."""
    return next((path.parent for path in log_dir.glob("*/manifest.json")), None)


def paid(folder: Path) -> set[Turn]:
    """The replies that are on the disk."""
    return {
        (trace.started.item, number)
        for trace in RunStore.open(folder).traces()
        for number in range(len(trace.replies))
    }


def comparable(results: Iterator[Attempt]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """All of the scores but seconds."""
    found = {}
    for one in results:
        assert isinstance(one.verdict, Score), one
        conduct = asdict(one.verdict.conduct)
        timeless = {name: conduct[name] for name in conduct if name not in ("wall_s", "tool_s")}
        found[one.item, one.mode, one.epoch] = {**timeless, **one.verdict.values}
    return found


def test_nothing_finished_is_paid_for_twice_and_nothing_is_lost(tmp_path: Path) -> None:
    items = tuple(small_item(f"small-{number}") for number in range(1, ITEMS + 1))
    path = tmp_path / "items.json"
    data = DataSet("small", str(path), items)
    path.write_text(json.dumps(to_rows(data)), encoding="utf-8")
    log, rng = Log(data), random.Random(11)
    output = tmp_path / "said"
    with LoopbackServer(log) as server:
        flags = ["run", "--data", str(path), "--sandbox", "process", "--model", "openai/x"]
        flags += ["--base-url", server.base_url, "--max-samples", str(AT_A_TIME), "--seed", "5"]
        flags += ["--turn-limit", "20"]
        undisturbed = start(output, *flags, "--log-dir", str(tmp_path / "whole"))
        assert undisturbed.wait() == 0, output.read_text()
        whole, log.asked = list(log.asked), []
        folder = killed(output, flags, tmp_path / "killed", log, rng)
        log.limit(sys.maxsize)
        assert start(output, "run", "--resume", str(folder)).wait() == 0, output.read_text()
        assert not server.errors
    assert "Traceback" not in output.read_text()
    other = begun(tmp_path / "whole")
    assert other
    check(folder, other, log.asked, whole)


def killed(output: Path, flags: list[str], log_dir: Path, log: Log, rng: random.Random) -> Path:
    """Kill the run over and over; each time, see that what it has is never asked for again."""
    have: set[Turn] = set()
    for number in range(KILLS):
        folder, before = begun(log_dir), len(log.asked)
        again = ("--resume", str(folder)) if folder else (*flags[1:], "--log-dir", str(log_dir))
        log.limit(before + (2 if number % 2 else 4))  # 50 kills, and the run is not through
        run = start(output, "run", *again)
        if number % 2:
            time.sleep(rng.random() * 0.25)  # while it starts, or soon after
        else:
            until(partial(log.has, before + rng.randrange(1, 5)), "requests")
            time.sleep(rng.random() * 0.02)
        run.kill()
        assert run.wait() == -signal.SIGKILL
        assert not have & set(log.asked[before:]), (
            "a reply that was on the disk was asked for again"
        )
        folder = begun(log_dir)
        have = paid(folder) if folder else set()
    assert folder
    assert RunStore.open(folder).manifest["status"] != "success", "each kill met a run"
    assert len(have) > 10, "it came on, in spite of all"
    return folder


def check(folder: Path, undisturbed: Path, asked: list[Turn], whole: list[Turn]) -> None:
    store, other = RunStore.open(folder), RunStore.open(undisturbed)
    assert comparable(store.results()) == comparable(other.results())
    assert len(list(store.results())) == ITEMS
    manifest = store.manifest
    assert manifest["status"] == "success"
    assert len(manifest["sessions"]) > KILLS // 3
    # Each turn was asked for once, but for those that were under way when a kill came.
    assert set(asked) == set(whole)
    assert len(whole) == len(set(whole))
    twice = {turn: count for turn, count in Counter(asked).items() if count > 1}
    assert sum(twice.values()) - len(twice) <= KILLS * AT_A_TIME
    # Each reply is counted once, though attempts that went on hold those of the ones before.
    assert manifest["spent"]["replies"] == len(whole)
    assert sum(attempt.spent.replies for attempt in store.attempts()) == len(whole)
    assert sum(attempt.prefix_turns > 0 for attempt in store.attempts()) > 4
    # A trace that nobody can read, or an index that is not what the traces say, would show here.
    lines = {one.episode: one for one in store.results()}
    (folder / "results.jsonl").unlink()
    assert {one.episode: one for one in store.results()} == lines
