"""Runs of the product's own command that last long enough to be disturbed, and what must hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents import command
from tests.faults.engines import CEILING_S, until
from tests.launcher import Launched
from toolhop_env.benchmarks import score
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Program
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.model import DataSet, GoldCall, Hop, Item, Tool, ToolSchema

ROOT = Path(__file__).parents[2]
STEP = """
import time

def step(number: int) -> int:
    time.sleep({pause_s})
    {more}
    return number + 1
"""


def item(identity: str, pause_s: float, hops: int, more: str) -> Item:
    """Count to `hops`, with a pause at each step."""
    schema: dict[str, Any] = {
        "type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"],
    }  # fmt: skip
    chain = []
    for number in range(hops):
        name = f"step_{number + 1}"
        source = STEP.format(pause_s=pause_s, more=more or "pass").replace("step(", f"{name}(")
        tool = Tool(ToolSchema(name, "Adds one.", schema), Program(source, name))
        gold = GoldCall({"number": number}, "written")
        chain.append(Hop(f"What follows {number}?", str(number + 1), tool, gold))
    question = f"What is reached from 0 in {hops} steps ({identity})?"
    return Item(identity, question, str(hops), tuple(chain), "Counting", "number")


def data(
    folder: Path, count: int = 4, *, pause_s: float = 0.2, hops: int = 3, more: str = ""
) -> Path:
    """A data file of `count` items."""
    items = tuple(item(f"slow-{n}", pause_s, hops, more) for n in range(1, count + 1))
    path = folder / "items.json"
    path.write_text(json.dumps(to_rows(DataSet("slow", str(path), items))), encoding="utf-8")
    return path


@dataclass
class Played:
    """A run under way as a process of its own."""

    process: Launched
    log_dir: Path

    @property
    def folder(self) -> Path:
        (found,) = self.log_dir.iterdir()
        return found

    @property
    def begun(self) -> bool:
        return self.log_dir.exists() and any(self.log_dir.glob("*/episodes/*.jsonl"))

    def traces(self) -> list[Trace]:
        if not self.begun:
            return []
        return list(RunStore.open(self.folder).traces())

    def calls(self) -> int:
        """Calls that were answered so far."""
        return sum(len(trace.calls) for trace in self.traces())

    def finished(self) -> int:
        return sum(trace.ended is not None for trace in self.traces())

    def wait_for_calls(self, count: int) -> None:
        until(lambda: self.calls() >= count, f"{count} calls")

    def signal(self, how: signal.Signals) -> None:
        self.process.send_signal(how)

    def end(self) -> Ended:
        """Wait for the end of it."""
        out, err = self.process.communicate(timeout=CEILING_S)
        assert "Traceback" not in err, err
        answer = json.loads(out) if out.strip() else {}
        return Ended(self.process.returncode, answer, err)


@dataclass(frozen=True)
class Ended:
    code: int
    answer: Mapping[str, Any]
    said: str

    @property
    def summary(self) -> Mapping[str, Any]:
        (one,) = self.answer["summaries"]
        found: Mapping[str, Any] = one
        return found


def start(
    items: Path,
    log_dir: Path,
    *flags: str,
    address: str = "",
    patch: str = "",
    **environment: str,
) -> Played:
    """Start a run of the oracle on `items`; `patch` is code that runs before it."""
    keep = {name: text for name, text in os.environ.items() if not name.startswith("TOOLHOP")}
    if address:
        keep["DOCKER_HOST"] = address
    command = ["run", "--sandbox", "docker", "--policy", "none"]
    command += ["--json", "--data", str(items), "--log-dir", str(log_dir), *flags]
    process = Launched(*command, cwd=ROOT, env={**keep, **environment}, patch=patch)
    return Played(process, log_dir)


def held(gate: Path, *, after: int) -> str:
    """A patch: the agent's replies wait after the first ones until the file `gate` is there."""
    return f"""
import pathlib, anyio, toolhop_agents.scripted.model as model
real, count = model.ScriptedModel.reply, 0
async def reply(*given):
    global count
    count += 1
    while count > {after} and not pathlib.Path({str(gate)!r}).exists():
        await anyio.sleep(0.05)
    return await real(*given)
model.ScriptedModel.reply = reply
"""


def toolhop(*arguments: str, address: str = "") -> subprocess.CompletedProcess[str]:
    """Another command of the product, run to its end."""
    environment = {**os.environ, **({"DOCKER_HOST": address} if address else {})}
    return command.toolhop(*arguments, cwd=ROOT, env=environment)


def check_whole(folder: Path, *, items: int | None = None) -> int:
    """What holds of a run whatever befell it; the number of items with a score.

    Every line of every file can be read. An episode that has ended scores as right or is
    errored. No item is scored twice. `items` says how many must have a score.
    """
    for path in folder.glob("episodes/*.jsonl"):
        lines = path.read_bytes().split(b"\n")
        for line in lines[:-1]:
            json.loads(line)
    verdicts = [(t.started, score(t)) for t in RunStore.open(folder).traces() if t.ended]
    scored = Counter((s.item, s.epoch) for s, verdict in verdicts if isinstance(verdict, Score))
    assert set(scored.values()) <= {1}, scored
    assert all(v.value("strict") for _, v in verdicts if isinstance(v, Score)), verdicts
    assert items is None or len(scored) == items
    return len(scored)


def check_all_right(ended: Ended, items: int, *, allowed: Sequence[int] | None = None) -> None:
    """The run ended with every item right; `allowed` are the numbers of errored attempts."""
    assert ended.code == 0, ended.said
    assert ended.answer["status"] == "success"
    assert (ended.summary["episodes"], ended.summary["errored"]) == (items, 0)
    assert ended.summary["strict"]["value"] == 1.0
    assert ended.summary["calls"]["value"] == ended.summary["hops_solved"]["count"] / items
    folder = Path(ended.answer["run"])
    check_whole(folder, items=items)
    again = command.toolhop("score", "--json", str(folder))
    assert figures(json.loads(again.stdout)) == figures(ended.answer["summaries"])
    if allowed is not None:
        assert errored_attempts(folder) in allowed


def figures(summaries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All but the seconds, whose last digit depends on the order in which they are summed."""
    return [{key: one[key] for key in one if key != "wall_s"} for one in summaries]


def errored_attempts(folder: Path) -> int:
    traces = list(RunStore.open(folder).traces())
    return sum(not isinstance(score(trace), Score) for trace in traces)
