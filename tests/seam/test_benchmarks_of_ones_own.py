"""Two benchmarks in a package outside of the tree go through every command.

`tests/seam/pack` stands for an installed package: two modules of about 60 lines, one by planning
and one by episodes, and the entry points that name them. No file of the product knows them.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.command import TOOLHOP, toolhop
from toolhop_agents.models.loopback import FaultPlan, LoopbackServer, Request, RequestFault
from toolhop_env.messages import Reply
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Errored

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

PACK = Path(__file__).parent / "pack"
PLANS = ("--data", "wordplan", "--agent", "gold")
ERRANDS = ("--data", "errand", "--agent", "shop")


@pytest.fixture(scope="module", autouse=True)
def installed() -> Iterator[None]:
    """The package can be imported, and its entry points are found."""
    sys.path.insert(0, str(PACK))
    importlib.invalidate_caches()
    yield
    sys.path.remove(str(PACK))


def judge_says_polite(_: Request) -> Reply:
    return Reply('{"polite": true}')


def played(*flags: str, to: Path) -> tuple[Path, dict[str, object]]:
    """A run, and the figures of its one group."""
    done = toolhop("run", *flags, "--sandbox", "process", "--log-dir", str(to), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return Path(answer["run"]), answer["summaries"][0]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    return played(*PLANS, "--judge", "overlap", to=tmp_path_factory.mktemp("plans"))


@pytest.fixture(scope="module")
def errands(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    folder = tmp_path_factory.mktemp("errands")
    with LoopbackServer(judge_says_polite) as server:
        judge = ("--judge", "openai/judge", "--judge-base-url", server.base_url)
        found = played(*ERRANDS, *judge, to=folder)
        assert sum(server.counts.values()) == 2, "one question of several episodes is asked once"
    return found


def test_a_judge_that_cannot_be_asked_stops_no_episode(
    errands: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    down = FaultPlan(rate=1.0, kinds=(RequestFault.UNAUTHORIZED,), consecutive_max=10**6)
    with LoopbackServer(judge_says_polite, faults=down) as server:
        judge = ("--judge", "openai/judge", "--judge-base-url", server.base_url)
        where = ("--sandbox", "process", "--log-dir", str(tmp_path), "--json")
        done = toolhop("run", *ERRANDS, *judge, *where, "--max-samples", "1")
        assert sum(server.counts.values()) == 1
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"], told["summaries"][0]["episodes"]) == (1, "error", 6)
    assert "the judge openai/judge could not be asked" in told["fault"]
    with LoopbackServer(judge_says_polite) as server:
        again = ("--judge-base-url", server.base_url, "--json")
        done = toolhop("run", "--resume", told["run"], *again)
    summary, whole = json.loads(done.stdout)["summaries"][0], errands[1]
    assert (done.returncode, summary["polite"]) == (0, whole["polite"])


def test_a_judge_with_a_bug_stops_neither_the_run_nor_the_others_of_its_list(
    errands: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    alone, summary = played(*ERRANDS, "--judge", "broken", to=tmp_path / "alone")
    assert summary["polite"] is None
    lines = [json.loads(line) for line in (alone / "judgements.jsonl").read_text().splitlines()]
    assert {one["cause"] for one in lines} == {"raised KeyError ('price')"}
    assert {one["answer"] for one in lines} == {None}
    with LoopbackServer(judge_says_polite) as server:
        model = ("--judge", "broken,openai/judge", "--judge-base-url", server.base_url)
        _, summary = played(*ERRANDS, *model, to=tmp_path / "both")
        assert (summary["judge"], summary["polite"]) == (
            "broken,openai/judge",
            errands[1]["polite"],
        )
        again = toolhop("run", "--resume", str(alone), *model, "--json")
    assert json.loads(again.stdout)["summaries"][0]["polite"] == errands[1]["polite"]


BREAKS = {
    "prompt": "the benchmark 'broken': prompt raised KeyError on broken-{}",
    "prompt-none": "the benchmark 'broken': prompt gave None on broken-{}",
    "gold": "the benchmark 'broken': gold raised KeyError on broken-{}",
    "agent": "the benchmark 'broken': agent looks raised KeyError on broken-{}",
    "agent-none": "the benchmark 'broken': agent looks gave None on broken-{}",
    "described": "the benchmark 'broken': described tool look raised KeyError",
    "described-none": "the benchmark 'broken': described tool look gave None",
    "item": "the reader 'broken' of an installed package gave broken-{}, whose gold",
}


def broken(part: str, first: int, to: Path) -> subprocess.CompletedProcess[str]:
    where = ("--sandbox", "process", "--max-samples", "1", "--log-dir", str(to), "--json")
    return toolhop("run", "--data", f"broken:{part}@{first}", "--agent", "looks", *where)


@pytest.mark.parametrize(
    ("part", "first"), [("prompt", 0), ("prompt-none", 0), ("gold", 0), ("item", 3)]
)
def test_a_broken_package_is_named_before_the_run_starts(
    part: str, first: int, tmp_path: Path
) -> None:
    done = broken(part, first, tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert BREAKS[part].format(first) in done.stderr
    assert "Traceback" not in done.stderr


OF_AN_EPISODE = ("agent", "agent-none", "described", "described-none")


@pytest.mark.parametrize("part", OF_AN_EPISODE)
def test_a_part_that_breaks_in_an_episode_ends_it_alone(part: str, tmp_path: Path) -> None:
    done = broken(part, 2, tmp_path)
    told = json.loads(done.stdout)
    (summary,) = told["summaries"]
    assert (done.returncode, told["status"]) == (1, "success")
    store = RunStore.open(Path(told["run"]))
    faults = [one.verdict.reason for one in store.results() if isinstance(one.verdict, Errored)]
    assert len(faults) == summary["errored"] == summary["episodes"] - 2 > 0
    assert all(BREAKS[part].format(n) in fault for n, fault in enumerate(faults, start=2))
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("part", [part for part in BREAKS if part not in {"item", *OF_AN_EPISODE}])
def test_a_part_that_breaks_in_the_run_is_named_and_episodes_are_kept(
    part: str, tmp_path: Path
) -> None:
    done = broken(part, 2, tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"], told["summaries"][0]["episodes"]) == (1, "error", 2)
    assert BREAKS[part].format(2) in told["fault"]
    assert "Traceback" not in done.stderr


def value(summary: dict[str, object], measure: str) -> float:
    figure = summary[measure]
    assert isinstance(figure, dict), (measure, figure)
    return float(figure["value"])


def test_a_plan_is_scored_by_its_own_measures_and_a_judge(
    plans: tuple[Path, dict[str, object]],
) -> None:
    folder, summary = plans
    assert summary["benchmark"] == "wordplan"
    assert [value(summary, name) for name in ("same_plan", "recall", "alike")] == [1.0, 1.0, 1.0]
    assert value(summary, "turns") == 1
    assert len((folder / "judgements.jsonl").read_bytes().splitlines()) == 6


def test_an_episode_of_recorded_tools_ends_by_its_own_action(
    errands: tuple[Path, dict[str, object]],
) -> None:
    folder, summary = errands
    assert (value(summary, "paid"), value(summary, "polite")) == (0.5, 1.0)
    assert (summary["errors"], summary["endings"]) == ({"raised": 6}, {"answered": 6})
    trace = next(RunStore.open(folder).traces())
    assert trace.final_text == "0"


@pytest.mark.parametrize("which", ["plans", "errands"])
def test_scoring_again_asks_nobody_and_gives_the_same(
    which: str, request: pytest.FixtureRequest
) -> None:
    folder, summary = request.getfixturevalue(which)
    again = toolhop("score", "--json", str(folder))
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == [summary]


def test_figures_are_shown_by_the_groups_that_it_names(
    plans: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    folder, _ = plans
    whole, *parts = json.loads(toolhop("score", "--json", "--by", "length", str(folder)).stdout)
    assert [(one["part"], one["episodes"]) for one in (whole | {"part": ""}, *parts)] == [
        ("", 6),
        *((text, 2) for text in "123"),
    ]
    other, _ = played("--data", "wordplan", "--agent", "do-nothing", to=tmp_path)
    done = toolhop("compare", "--by", "length", "--allow-differences", str(folder), str(other))
    assert done.returncode == 0, done.stderr
    assert "length" in done.stdout


@pytest.mark.parametrize("which", ["plans", "errands"])
def test_every_reader_of_runs_takes_it(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder, _ = request.getfixturevalue(which)
    first = next(iter(sorted((folder / "episodes").iterdir()))).stem
    commands = (
        ("show", str(folder)),
        ("show", str(folder), first),
        ("replay", str(folder), "--verify"),
        ("replay", str(folder), "--episode", first),
        ("diagnose", str(folder)),
        ("report", str(folder), "--out", str(tmp_path / "page.html")),
        ("export", str(folder), "--to", "parquet", "--out", str(tmp_path / "out")),
    )
    for command in commands:
        done = toolhop(*command)
        assert done.returncode in (0, 1 if command[0] == "diagnose" else 0), (command, done.stderr)
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_runs_compare_by_the_benchmarks_measures(
    errands: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    other, _ = played("--data", "errand", "--agent", "do-nothing", to=tmp_path)
    done = toolhop("compare", "--allow-differences", "--json", str(errands[0]), str(other))
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert '"paid"' in text
    assert '"polite"' not in text, "the second run has no judge: the measure has no figure there"


def test_runs_of_two_benchmarks_are_not_compared(
    plans: tuple[Path, dict[str, object]], errands: tuple[Path, dict[str, object]]
) -> None:
    done = toolhop("compare", str(plans[0]), str(errands[0]))
    assert done.returncode == 2
    assert "wordplan" in done.stderr
    assert "errand" in done.stderr


def test_an_ablation_of_feedback_forks_its_episodes(tmp_path: Path) -> None:
    flags = ("--sandbox", "process", "--log-dir", str(tmp_path), "--json")
    done = toolhop("ablate", *ERRANDS, "--mode", "shop", *flags)
    assert done.returncode == 0, done.stderr
    assert '"paid"' in done.stdout


@pytest.mark.parametrize("flags", [PLANS, ERRANDS], ids=["plans", "errands"])
def test_a_killed_run_resumes(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Killed once some episodes are finished; what is finished is not played again."""
    command = [*TOOLHOP, "run", *flags, "--epochs", "40", "--sandbox", "process", "--max-samples",
               "1", "--judge", "overlap", "--log-dir", str(tmp_path)]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACK), *sys.path])}
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not (found := list(tmp_path.glob("*/episodes/*"))) or len(found) < 5:
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    folder = next(tmp_path.iterdir())
    before = {path.name: path.read_bytes() for path in (folder / "episodes").iterdir()}
    done = toolhop("run", "--resume", str(folder), "--json", "--judge", "overlap")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["status"], answer["summaries"][0]["episodes"]) == ("success", 240)
    after = {name: (folder / "episodes" / name).read_bytes() for name in before}
    assert after == before
    again = toolhop("score", "--json", str(folder))
    assert json.loads(again.stdout) == answer["summaries"]


def test_a_trace_whose_package_is_not_installed_says_so(
    plans: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    """A process of its own: this one has the package."""
    folder = tmp_path / "run"
    shutil.copytree(plans[0], folder)
    (folder / "results.jsonl").unlink()
    done = subprocess.run([*TOOLHOP, "score", str(folder)], capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no benchmark 'wordplan' here" in done.stderr
    assert "Traceback" not in done.stderr


def simulated(folder: Path) -> Path:
    """One errand whose price is asked of a model."""
    from toolhop_tools.load import load
    from toolhop_tools.model import Simulated, Tool
    from toolhop_tools.readers import native

    item = load("errand").items[2]
    price, finish = item.others
    body = Simulated("You know what things cost.")
    row = native.to_row(replace(item, others=(Tool(price.schema, body), finish)))
    path = folder / "simulated.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return path


def test_a_model_answers_in_the_place_of_a_simulated_tool(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(request: Request) -> Reply:
        asked.append(request.messages[0].content)
        return Reply('{"price": 2}')

    flags = ("--data", str(simulated(tmp_path)), "--agent", "shop")
    with LoopbackServer(answer) as server:
        model = ("--simulator", "openai/shopkeeper", "--simulator-base-url", server.base_url)
        folder, summary = played(*flags, *model, to=tmp_path)
    assert asked == ["You know what things cost."] * 2
    assert value(summary, "paid") == 1.0
    trace = next(RunStore.open(folder).traces())
    assert trace.calls[0].feedback == '{"price": 2}'
    replay = toolhop("replay", str(folder), "--verify")
    assert replay.returncode == 0, replay.stdout


def test_a_simulated_tool_without_a_model_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    done = toolhop("run", "--data", str(simulated(tmp_path)), "--agent", "shop")
    assert done.returncode == 2
    assert "--simulator" in done.stderr
