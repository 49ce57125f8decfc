"""`toolhop why`: planted failures, whose cause is known, through the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from tests.agents import planted
from tests.agents.command import toolhop
from tests.agents.tables import RUNS
from tests.env.made import scored
from tests.launcher import SERVED, Launched
from tests.waiting import until
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.why.folder import right
from toolhop_env.messages import Reply
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Errored, Parts
from toolhop_tools.model import Item
from toolhop_tools.readers import native

ENVIRONMENT = {**os.environ, "OPENAI_API_KEY": "none"}
pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]
Made = Callable[[int, str], Item]


def told(*arguments: str, code: int = 0) -> str:
    """What the command prints; on standard error if it is to fail."""
    done = toolhop(*arguments)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def played(folder: Path, items: Sequence[Item], agent: str, *flags: str) -> Path:
    """A run of these items by a planted agent."""
    return _run(folder, items, "--agent", f"tests.agents.planted:{agent}", *flags)


def served(folder: Path, items: Sequence[Item], base_url: str) -> Path:
    """A run of these items by a model at an address."""
    return _run(folder, items, "--model", "openai/planted", "--base-url", base_url)


def _run(folder: Path, items: Sequence[Item], *flags: str) -> Path:
    data = folder / "items.jsonl"
    data.write_text("".join(json.dumps(native.to_row(item)) + "\n" for item in items))
    logs = folder / "logs"
    told("run", "--data", str(data), "--sandbox", "process", "--log-dir", str(logs), *flags)
    (run,) = logs.iterdir()
    return run


def repaired(run: Path, *flags: str) -> dict[str, dict[str, Any]]:
    """What the repairs of a run show, by item."""
    shown = json.loads(told("why", str(run), "--repair", "--json", *flags))
    return {one["item"]: one for one in shown}


def single() -> list[Item]:
    """60 items with a failure each: every kind at every step, four times."""
    plants = [f"{kind}@{step}" for kind, step in product(planted.KINDS, range(3))]
    made: Sequence[Made] = (planted.chain, planted.branches)
    both = zip(range(60), cycle(plants), strict=False)
    return [made[number // 15 % 2](number, plant) for number, plant in both]


def double() -> list[Item]:
    """60 items with two failures each: every two kinds at every two steps, but a skipped step only
    as the later one, as the agent says nothing of it that a later call could lose.
    """
    kinds = product([kind for kind in planted.KINDS if kind != "skip"], planted.KINDS)
    steps = [(0, 1), (0, 2), (1, 2)]
    plants = [f"{a}@{at}+{b}@{later}" for (a, b), (at, later) in product(kinds, steps)]
    made: Sequence[Made] = (planted.chain, planted.branches)
    return [made[number % 2](number, plant) for number, plant in enumerate(plants)]


def causes(found: dict[str, dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(one["cause"] for one in found.values()))


def test_60_planted_failures_are_the_cause(tmp_path: Path) -> None:
    found = repaired(played(tmp_path, single(), "Planted"), "--continuations", "6")
    assert causes(found) == {"first divergence": 60}
    for one in found.values():
        trial = one["trials"]["first"]
        assert [*one["trials"]] == ["first"]
        assert (trial["identical"], trial["low"], trial["high"]) == (True, None, None)
        assert (trial["as_played"], trial["repaired"]) == (0, 1)


def test_60_planted_pairs_of_failures_are_the_cause_together(tmp_path: Path) -> None:
    found = repaired(played(tmp_path, double(), "Threaded"), "--continuations", "6")
    assert causes(found) == {"both together": 60}
    for one in found.values():
        shares = {name: (t["as_played"], t["repaired"]) for name, t in one["trials"].items()}
        assert shares["first"] == shares.get("next", (0, 0)) == (0, 0)
        assert shares["both"] == (0, 1)


def test_in_text_the_gold_call_is_written_as_text(tmp_path: Path) -> None:
    run = played(tmp_path, single()[:10], "Planted", "--call-format", "text")
    assert causes(repaired(run, "--continuations", "6")) == {"first divergence": 10}


def test_no_cause_is_named_where_no_repair_helps(tmp_path: Path) -> None:
    run = played(tmp_path, [*single()[:5], planted.chain(7, "")], "Hopeless")
    found = repaired(run, "--continuations", "6")
    assert causes(found) == {"not found": 5, "no call to repair": 1}
    assert found["chain-07:"]["divergence"]["kind"] == "wrong_conclusion"
    assert found["chain-07:"]["trials"] == {}


def test_continuations_that_differ_have_an_interval(tmp_path: Path) -> None:
    flags = ("--max-samples", "1")
    run = played(tmp_path, [planted.chain(3, "wrong_value@1")], "Wavering", *flags)
    (one,) = repaired(run, *flags).values()
    trial = one["trials"]["first"]
    assert one["cause"] == "first divergence"
    assert (trial["pairs"], trial["as_played"], trial["repaired"]) == (8, 1 / 8, 7 / 8)
    assert not trial["identical"]
    assert 0 < trial["low"] < 6 / 8 < trial["high"] < 1


def test_the_divergence_that_is_repaired_is_shown_and_not_one_made_good(tmp_path: Path) -> None:
    run = played(tmp_path, [planted.chain(3, "skip@2")], "MadeGood")
    (one,) = repaired(run).values()
    assert (one["divergence"]["kind"], one["cause"]) == ("never_called", "first divergence")
    assert one["divergence"] == one["repairs"][0]["divergence"]
    (folder,) = run.parent.glob("*_why_*")
    shown = told("why", str(folder))
    assert "never_called" in shown
    assert "malformed" not in shown


def test_what_comes_right_by_itself_was_lost_by_chance(tmp_path: Path) -> None:
    (one,) = repaired(played(tmp_path, [planted.chain(3, "wrong_value@0")], "Once")).values()
    assert (one["cause"], [*one["trials"]]) == ("chance", ["first"])


def test_each_epoch_has_continuations_of_its_own(tmp_path: Path) -> None:
    run = played(tmp_path, single()[:2], "Planted", "--epochs", "3")
    shown = json.loads(told("why", str(run), "--repair", "--json", "--continuations", "6"))
    assert [(one["cause"], one["trials"]["first"]["pairs"]) for one in shown] == [
        ("first divergence", 6)
    ] * 6
    (folder,) = run.parent.glob("*_why_*")
    traces = [*RunStore.open(folder / "first-repaired").traces()]
    parents = Counter(trace.started.parent for trace in traces)
    assert len(parents) == 6
    assert {*parents.values()} == {6}
    seeds = {trace.started.seed for trace in traces}
    assert seeds.isdisjoint(trace.started.seed for trace in RunStore.open(run).traces())


def test_without_repair_nothing_is_played(tmp_path: Path) -> None:
    run = played(tmp_path, [*single()[:3], planted.chain(7, "")], "Planted")
    before = sorted(tmp_path.rglob("*"))
    shown = told("why", str(run))
    assert "made_up" in shown
    done = toolhop("why", str(run), "--repair", "--dry-run")
    said = " ".join(done.stderr.split())
    # As played 4, 3 and 2 replies, and with the repair one less of each.
    assert "3 lost episodes, 3 with a gold call" in said
    assert "about 120 model calls" in said
    assert sorted(tmp_path.rglob("*")) == before


def test_a_limit_holds_for_all_runs_together_and_the_rest_is_played_later(tmp_path: Path) -> None:
    run = played(tmp_path, double()[:4], "Threaded")
    flags = ("--continuations", "6", "--max-samples", "1")
    whole = repaired(run, *flags)
    (other,) = run.parent.glob("*_why_*")
    said = told("why", str(run), "--repair", *flags, "--run-call-limit", "150", code=1)
    (folder,) = {*run.parent.glob("*_why_*")} - {other}
    assert "--run-call-limit is reached" in said
    assert f"resume with: toolhop why --repair {folder}" in said
    assert "not finished" in told("why", str(folder))
    calls = sum(
        len([c for c in trace.tool_calls if c.turn > trace.started.prefix_turns])
        for arm in folder.iterdir()
        if arm.is_dir()
        for trace in RunStore(arm).traces()
    )
    assert 150 <= calls <= 153
    # As a kill leaves a run that has no manifest yet.
    (folder / "both-repaired" / "episodes").mkdir(parents=True)
    shown = json.loads(told("why", str(folder), "--repair", "--run-call-limit", "9999", "--json"))
    assert {one["item"]: one for one in shown} == whole
    assert {one.name for one in folder.iterdir()} == {one.name for one in other.iterdir()}
    assert json.loads(told("why", str(folder), "--json")) == shown


@pytest.mark.parametrize(
    ("number", "left", "cause"), [(7, 6, "first divergence"), (6, 0, "not finished")]
)
def test_errored_continuations_are_left_out_and_played_again(
    number: int, left: int, cause: str, tmp_path: Path
) -> None:
    run = played(tmp_path, [planted.chain(3, "wrong_value@1")], "Breaks")
    planted.Breaks.broken = True
    once = ("--continuations", str(number), "--retry-on-error", "0")
    said = told("why", str(run), "--repair", *once, code=1)
    (folder,) = run.parent.glob("*_why_*")
    assert f"resume with: toolhop why --repair {folder}" in said
    (one,) = json.loads(told("why", str(folder), "--json"))
    pairs = one["trials"]["first"]["pairs"] if one["trials"] else 0
    assert (one["cause"], pairs) == (cause, left)
    (one,) = json.loads(told("why", str(folder), "--repair", "--json"))
    assert (one["cause"], one["trials"]["first"]["pairs"]) == ("first divergence", number)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--dry-run",), "go with --repair"),
        (("--max-samples", "2"), "go with --repair"),
        (("--episode", "nobody"), "no lost episode nobody"),
        (("--repair", "--continuations", "5"), "--continuations"),
        (("--repair", "--base-url", "http://127.0.0.1:9/v1"), "--base-url"),
    ],
)
def test_bad_requests_are_told_and_play_nothing(
    lost: Path, flags: tuple[str, ...], said: str
) -> None:
    before = sorted(lost.parent.iterdir())
    assert said in told("why", str(lost), *flags, code=2)
    assert sorted(lost.parent.iterdir()) == before


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two lost episodes."""
    return played(tmp_path_factory.mktemp("lost"), single()[:2], "Planted")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 2}'])
def test_a_folder_that_cannot_be_read_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "why.json").write_text(text, encoding="utf-8")
    assert "why.json cannot be read" in told("why", str(tmp_path), code=2)
    assert "there is no folder" in told("why", str(tmp_path / "nowhere"), code=2)


def test_what_cannot_be_continued_is_told(lost: Path, tmp_path: Path) -> None:
    shutil.copytree(lost, tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    kept = json.loads(manifest.read_text())
    for name, value in (("keep_thoughts", "off"), ("approve", True)):
        changed = {**kept, "settings": {**kept["settings"], name: value}}
        manifest.write_text(json.dumps(changed))
        assert "cannot be continued" in told("why", str(tmp_path / "run"), "--repair", code=2)


def test_a_benchmark_whose_episodes_are_not_right_or_wrong_has_no_lost_ones(tmp_path: Path) -> None:
    with tarfile.open(RUNS) as packed:
        packed.extractall(tmp_path, filter="data")
    said = " ".join(told("why", str(tmp_path / "runs" / "relytoolbench"), code=2).split())
    assert (
        "no lost episodes to look at, as RePR, official of relytoolbench is not yes or no" in said
    )


def test_an_episode_without_a_value_is_not_lost() -> None:
    shares: list[Parts | None] = [None, (0, 1), (1, 1)]
    ends = [scored("scenarios", "item", "bare", {"decided": share}) for share in shares]
    assert [right(one) for one in ends] == [None, False, True]
    assert right(replace(ends[1], verdict=Errored("broken"))) is None


def test_one_episode_alone_is_repaired(lost: Path) -> None:
    name = single()[1].id
    found = repaired(lost, "--continuations", "6", "--episode", name)
    assert causes(found) == {"first divergence": 1}
    assert [*found] == [name]
    (folder,) = lost.parent.glob("*_why_*")
    assert "leave these out" in told("why", str(folder), "--repair", "--episode", name, code=2)
    arm = folder / "first-repaired"
    assert "toolhop why --repair" in told("run", "--resume", str(arm), code=2)
    moved = lost.parent.parent / "elsewhere" / folder.name
    shutil.move(folder, moved)
    said = told("why", str(moved), code=2)
    assert "needs this run beside it; move both" in " ".join(said.split())
    shutil.rmtree(moved)


def test_repairs_that_are_killed_go_on_and_lose_nothing(tmp_path: Path) -> None:
    """At a served model, killed in the first stage and in the last."""
    items = double()[:3]
    asked: Counter[str] = Counter()

    def slow(request: Request) -> Reply:
        asked[json.dumps(request.body["messages"], sort_keys=True)] += 1
        time.sleep(0.01)
        return planted.Threaded().native(request.messages)

    with LoopbackServer(slow) as server:
        run = served(tmp_path, items, server.base_url)
        flags = ("--continuations", "6", "--max-samples", "2")
        before = server.requests
        whole = repaired(run, *flags)
        needed = server.requests - before
        (other,) = run.parent.glob("*_why_*")
        session: tuple[str, ...] = (str(run), "--repair", *flags)
        before = server.requests
        for more in (5, needed - 10):
            killed(server, before + more, session)
            (folder,) = {*run.parent.glob("*_why_*")} - {other}
            session = (str(folder), "--repair")
        shown = json.loads(told("why", *session, "--json"))
        # Two episodes at a time: a kill costs at most a reply of each.
        assert server.requests - before <= needed + 4
    assert {one["item"]: one for one in shown} == whole
    assert causes(whole) == {"both together": 3}
    for arm in folder.iterdir():
        scored = Counter(one.key for one in RunStore(arm).results()) if arm.is_dir() else Counter()
        assert set(scored.values()) <= {1}


def killed(server: LoopbackServer, wanted: int, session: tuple[str, ...]) -> None:
    """Run the command, and kill it once the server was asked so often."""
    child = Launched("why", *session, env=ENVIRONMENT, imports=SERVED,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    until(lambda: server.requests >= wanted or child.poll() is not None, "requests")
    child.kill()
    assert child.wait() == -9


def test_no_key_goes_to_an_address_that_nobody_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackServer(lambda _: Reply("<answer>unknown</answer>")) as server:
        run = served(tmp_path, [planted.chain(1, "")], server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-7731")
        before = server.requests
        said = told("why", str(run), "--repair", code=2)
        assert "would send it OPENAI_API_KEY" in said
        assert f"give --base-url {server.base_url}" in said
        assert server.requests == before
        named = ("--base-url", server.base_url, "--continuations", "6")
        told("why", str(run), "--repair", *named)
        assert server.requests > before
        (folder,) = run.parent.glob("*_why_*")
        said = told("why", str(folder), "--repair", code=2)
        assert "would send it OPENAI_API_KEY" in said
