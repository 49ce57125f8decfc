"""Runs of each benchmark that are killed at planned moments, and resumed to the same table."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_relytoolbench_runs import judge
from tests.env import scenes
from tests.launcher import SERVED, Launched
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_env.runs.segments import segments
from toolhop_env.runs.store import RunStore
from toolhop_tools.readers.native import to_row

pytestmark = pytest.mark.heavy

KILLS = 20
KILL = """
import os, signal
from toolhop_env.runs import store

left = {moment}

def deadly(owner, name):
    function = getattr(owner, name)
    def call(*given, **named):
        global left
        left -= 1
        if left == 0 and not {after}:
            os.kill(os.getpid(), signal.SIGKILL)
        found = function(*given, **named)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    setattr(owner, name, call)
"""
"""Ends the process at the moment given: the number of a step, before it or after it."""
STEPS = """
deadly(store, "to_line")
deadly(store, "write_atomic")
for name in ("add_result", "add_judgements"):
    deadly(store.RunStore, name)
"""
"""The steps that write something."""
PACKING = """
from toolhop_env.runs import packing

packing.PACKING = packing.Packing(begin=3, traces=2)
for name in ("write", "sync", "remove"):
    deadly(packing.Disk, name)
"""
"""The steps of packing, of a run that packs finished episodes two by two."""

GOLDEN = Path(__file__).parents[1] / "golden"
RUNS = {
    "nestools": ("--agent", "all-tools", "--mode", "base,no-types,calls", "--epochs", "4"),
    "toolbehonest": ("--agent", "gold", "--mode", "level-1,level-3", "--epochs", "2",
                     "--judge", "overlap"),
    "relytoolbench": ("--agent", "all-tools", "--epochs", "5"),
    "scenarios": ("--agent", "asks-when-missing", "--epochs", "2"),
}  # fmt: skip


def written(name: str, folder: Path) -> str:
    """A few rows of our own; what ``--data`` is given."""
    folder.mkdir()
    if name == "scenarios":
        path = folder / "family.jsonl"
        path.write_text("".join(json.dumps(to_row(item)) + "\n" for item in scenes.family()))
        return str(path)
    own = json.loads((GOLDEN / f"{name}_own.json").read_text())
    if name == "nestools":
        for file, key in (("test_data", "rows"), ("test_api_ids", "ids")):
            (folder / f"{file}.jsonl").write_text("\n".join(map(json.dumps, own[key])))
        return f"nestools:{folder / 'test_data.jsonl'}"
    if name == "toolbehonest":
        (folder / "rows.json").write_text(json.dumps(own["rows"]))
        return f"toolbehonest:{folder / 'rows.json'}"
    for one, rows in own["sets"].items():
        (folder / f"{one}.json").write_text(json.dumps(rows))
    return f"relytoolbench:{folder}"


@pytest.fixture(params=RUNS)
def flags(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """What a run is begun with, and what every session of it is given."""
    name: str = request.param
    begun = ["--data", written(name, tmp_path / "data"), *RUNS[name], "--sandbox", "process"]
    always = ["--max-samples", "2", "--json"]
    with ExitStack() as stack:
        if name == "relytoolbench":
            server = stack.enter_context(LoopbackServer(judge))
            always += ["--judge", "openai/judge", "--judge-base-url", server.base_url]
        yield begun, always


def session(*flags: str, patch: str = "") -> tuple[int, str, str]:
    env = {**os.environ, "OPENAI_API_KEY": "none"}
    run = Launched("run", *flags, env=env, patch=patch, imports=SERVED)
    said, told = run.communicate()
    return run.returncode, said, told


def timeless(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in one.items() if name != "wall_s"}
        for one in answer["summaries"]
    ]


def test_a_run_that_is_killed_twenty_times_ends_with_the_same_table(
    flags: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    begun, always = flags
    code, whole, told = session(*begun, *always, "--log-dir", str(tmp_path / "whole"))
    assert code == 0, told
    cut = tmp_path / "cut"
    for number in range(KILLS):
        folders = [path.parent for path in cut.glob("*/manifest.json")]
        given = ["--resume", str(folders[0])] if folders else [*begun, "--log-dir", str(cut)]
        patch = KILL.format(moment=2 + number % 6, after=bool(number % 2)) + STEPS
        code, _, told = session(*given, *always, patch=patch)
        assert code == -signal.SIGKILL, (number, code, told)
    (folder,) = (path.parent for path in cut.glob("*/manifest.json"))
    left = sum(trace.ended is None for trace in RunStore.open(folder).traces())
    code, resumed, told = session("--resume", str(folder), *always)
    assert code == 0, told
    assert left, "a kill came in the middle of an episode"
    assert timeless(json.loads(resumed)) == timeless(json.loads(whole))


def test_a_run_that_is_killed_in_packing_ends_with_the_same_table(tmp_path: Path) -> None:
    begun = ["--data", written("scenarios", tmp_path / "data"), *RUNS["scenarios"][:2]]
    begun += ["--epochs", "12", "--sandbox", "process"]
    always = ["--max-samples", "2", "--json"]
    code, whole, told = session(*begun, *always, "--log-dir", str(tmp_path / "whole"))
    assert code == 0, told
    cut, folder = tmp_path / "cut", Path()
    for number in range(KILLS // 2):
        given = ["--resume", str(folder)] if number else [*begun, "--log-dir", str(cut)]
        patch = KILL.format(moment=1 + number, after=bool(number % 2)) + PACKING
        code, _, told = session(*given, *always, patch=patch)
        assert code == -signal.SIGKILL, (number, code, told)
        (folder,) = (path.parent for path in cut.glob("*/manifest.json"))
        names = [one.file for one in RunStore.open(folder).recorded()]
        assert len(names) == len(set(names)), "nothing twice"
    assert len(segments(folder)) > 5
    code, resumed, told = session("--resume", str(folder), *always)
    assert code == 0, told
    assert timeless(json.loads(resumed)) == timeless(json.loads(whole))
    keys = [one.key for one in RunStore.open(folder).attempts() if one.score]
    (other,) = (path.parent for path in (tmp_path / "whole").glob("*/manifest.json"))
    assert sorted(keys) == sorted(one.key for one in RunStore.open(other).results())
