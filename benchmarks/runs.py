"""What a run of many episodes takes: memory, time to open and report, bytes on disk a call.

    python -m benchmarks.runs [--quick] [--write]

The agent makes the gold calls and costs nothing, and the sandbox answers from a script: what is
left is the runner, the traces and the index. Each step is a process of its own, so that its peak
memory is its own. `--write` puts the tables into benchmarks/tables.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from benchmarks.machine import described
from benchmarks.pages import put
from tests.canned import CannedSandbox
from toolhop_agents.models.wire_sending import messages_to_wire
from toolhop_agents.runs.executors.local import Executor, Here
from toolhop_agents.runs.ledger import Ledger, RunLimits
from toolhop_agents.runs.means import Means
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import Units
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.model import ScriptedModel
from toolhop_env.runs.files import EPISODES
from toolhop_env.runs.store import RunStore
from toolhop_env.summary import summarize
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.load import load
from toolhop_tools.model import DataSet

ROOT = Path(__file__).parents[1]
TOOLHOP = [sys.executable, "-c", "from toolhop_agents.cli import main; main()"]
SIZES = (1_000, 10_000)
AT_A_TIME = 10


def answers(data: DataSet) -> Mapping[tuple[str, str], str]:
    """The gold answer to each gold call, by the program's digest and the arguments."""
    return {
        (hop.tool.program.digest, json.dumps(dict(hop.gold.arguments), sort_keys=True)): hop.answer
        for item in data.items
        for hop in item.hops
        if hop.gold
    }


def sandbox(data: DataSet) -> CannedSandbox:
    known, digests = answers(data), dict[Program, str]()

    def answer(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        digest = digests.setdefault(program, program.digest)
        found = known.get((digest, json.dumps(dict(arguments), sort_keys=True)))
        if found is None:
            return Raised("LookupError", "no gold call")
        return Returned(json.dumps(found, ensure_ascii=False))

    made = CannedSandbox(answer)
    made.calls = Forgetful()
    return made


class Forgetful(list[Any]):
    """A list that keeps nothing: the sandbox's record of its calls would be most of the memory."""

    def append(self, value: object) -> None:
        pass


def play(folder: Path, episodes: int) -> dict[str, float]:
    """Play so many episodes into a new run."""
    data = load("builtin")
    items = data.items[: min(40, episodes)]
    settings = RunSettings(modes=("mandatory",), epochs=episodes // len(items), turn_limit=20)
    store = RunStore.create(folder, "run", {"format": 2, "status": "success"}, items)
    oracle = choose("oracle")
    means = Means(sandbox(data), lambda unit: ScriptedModel("o", oracle, unit.item))
    executor = Executor(settings, Here(settings, means, Ledger(RunLimits())), store)
    began = time.perf_counter()
    with store.held():
        anyio.run(executor.run, Units(settings.modes, settings.epochs, items), AT_A_TIME)
    return {"play_s": time.perf_counter() - began, "play_mib": peak_mib()}


def report(folder: Path) -> dict[str, float]:
    """Open a run and make its figures from the index."""
    began = time.perf_counter()
    summaries = summarize(RunStore.open(folder / "run").results())
    took_s = time.perf_counter() - began
    (one,) = summaries
    return {"report_s": took_s, "report_mib": peak_mib(), "episodes": one.episodes}


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def command(*arguments: str) -> float:
    """Seconds of a command of the product, start included."""
    began = time.perf_counter()
    subprocess.run([*TOOLHOP, *arguments], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - began


def alone(step: str, folder: Path, episodes: int) -> dict[str, float]:
    """One of the steps above, in a process of its own."""
    arguments = ["-m", "benchmarks.runs", "--step", step, str(folder), str(episodes)]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


@dataclass
class Sizes:
    """Bytes of a run's traces, summed over a part of its episodes."""

    calls: int = 0
    episodes: int = 0
    plain: int = 0
    """The bare conversations as JSON; the tools' texts are in neither."""
    written: int = 0
    blocks: int = 0
    """What the file system gives to them."""
    each_packed: int = 0
    """Every file by gzip."""
    all_packed: int = 0
    """All of them as one, by xz."""


def sizes(folder: Path, episodes: int = 1_000) -> Sizes:
    found = Sizes()
    together = []
    for path in sorted((folder / "run" / EPISODES).iterdir())[:episodes]:
        content, stat = path.read_bytes(), path.stat()
        together.append(content)
        found.episodes += 1
        found.written += len(content)
        found.blocks += stat.st_blocks * 512
        found.each_packed += len(gzip.compress(content, 6))
    for trace in RunStore.open(folder / "run").traces():
        conversation = json.dumps(messages_to_wire(trace.conversation()), ensure_ascii=False)
        found.plain += len(conversation.encode())
        found.calls += len(trace.calls)
        episodes -= 1
        if not episodes:
            break
    found.all_packed = len(lzma.compress(b"".join(together), preset=1))
    return found


def measured(episodes: int, folder: Path) -> dict[str, float]:
    figures = alone("play", folder, episodes)
    run = str(folder / "run")
    figures |= alone("report", folder, episodes)
    figures["show_s"] = command("show", run)
    figures["score_s"] = command("score", run)
    index = folder / "run" / "results.jsonl"
    figures["index_bytes"] = index.stat().st_size / figures["episodes"]
    index.unlink()
    rebuilt = alone("report", folder, episodes)
    return figures | {"rebuild_s": rebuilt["report_s"]}


def text(rows: Mapping[int, Mapping[str, float]], size: Sizes) -> str:
    """The tables."""
    names = (
        ("peak memory while playing, MiB", "play_mib", "{:.0f}"),
        ("episodes a second", "rate", "{:,.0f}"),
        ("open and report from the index, s", "report_s", "{:.2f}"),
        ("peak memory of that, MiB", "report_mib", "{:.0f}"),
        ("the same with the index lost, s", "rebuild_s", "{:.1f}"),
        ("`toolhop show RUN`, start and table included, s", "show_s", "{:.1f}"),
        ("`toolhop score RUN` (reads every trace), s", "score_s", "{:.1f}"),
    )
    lines = [described(), "", "| what | " + " | ".join(f"{n:,} episodes" for n in rows) + " |"]
    lines.append("|---|" + "---:|" * len(rows))
    for label, name, form in names:
        cells = (form.format(one[name]) for one in rows.values())
        lines.append(f"| {label} | {' | '.join(cells)} |")
    index = max(one["index_bytes"] for one in rows.values()) * size.episodes
    lines += ["", "| on disk, bytes a call | bytes | to the plain JSON |", "|---|---:|---:|"]
    for label, value in (
        ("the bare conversation as JSON", size.plain),
        ("its trace", size.written),
        ("its share of the index", index),
        ("blocks that the file system gives to the trace", size.blocks),
        ("the trace, each file packed by gzip", size.each_packed),
        ("the trace, all files packed as one by xz (here episodes repeat)", size.all_packed),
    ):
        lines.append(f"| {label} | {value / size.calls:,.0f} | {value / size.plain:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the episodes")
    parser.add_argument("--write", action="store_true", help="write benchmarks/tables.md")
    parser.add_argument("--folder", type=Path, help="where to play; the system's temporary folder")
    parser.add_argument("--step", nargs=3, metavar=("STEP", "FOLDER", "EPISODES"))
    options = parser.parse_args()
    if options.step:
        step, folder, episodes = options.step
        figures = play(Path(folder), int(episodes)) if step == "play" else report(Path(folder))
        print(json.dumps(figures))
        return
    rows: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        for episodes in (n // 10 if options.quick else n for n in SIZES):
            folder = Path(scratch) / str(episodes)
            rows[episodes] = measured(episodes, folder)
            rows[episodes]["rate"] = rows[episodes]["episodes"] / rows[episodes]["play_s"]
        found = text(rows, sizes(folder))
    print(found)
    if options.write:
        put("episodes in a run", found)


if __name__ == "__main__":
    main()
