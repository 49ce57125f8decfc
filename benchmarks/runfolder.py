"""What a run folder of many episodes takes, and what one of a million would.

    python -m benchmarks.runfolder [--episodes N ...] [--against N] [--folder FOLDER] [--write]

Short episodes of a scripted agent, played once, are written again and again under names of their
own, by the calls that write a run's traces and results; finished ones are packed on the way as in
a run. Each reader is a process of its own, whose seconds and peak memory are taken. One run is
made without packing, as the baseline. Lines `a + b n` through the sizes that are packed say what
1,000,000 episodes take, with the largest deviation of a measured value from its line. `--write`
puts the tables into benchmarks/tables.md. Seconds are of processors,
start of the command included, unless said otherwise; files are in the page cache when read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks import runs
from benchmarks.machine import described
from benchmarks.pages import put
from toolhop_agents.runs.unit import Units
from toolhop_env.runs.packing import PACKING, Packer, Packing
from toolhop_env.runs.progress import Tally
from toolhop_env.runs.store import RunStore
from toolhop_env.summary import summarize_run
from toolhop_env.trace import Started, Trace

ROOT = Path(__file__).parents[1]
SIZES = (1_000, 10_000, 30_000, 100_000)
AGAINST = 10_000
RECKONED = 1_000_000
NEVER = Packing(begin=sys.maxsize)


def make(folder: Path, episodes: int, packing: Packing) -> None:
    """A run of so many episodes in `folder`."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        runs.play(Path(scratch), 40)
        played = RunStore.open(Path(scratch) / "run")
        store = RunStore.create(
            folder.parent, folder.name, {**played.manifest}, played.items().items
        )
        with store.held(), Packer(store, packing) as packer:
            for trace in again([*played.traces()], episodes):
                with store.sink(trace.started.episode) as write:
                    for event in trace.events:
                        write(event)
                store.add_result(trace.started.episode, trace)
                packer.finished()
            packer.close()
        if packer.fault:
            raise RuntimeError(packer.fault)


def again(traces: Sequence[Trace], episodes: int) -> Iterator[Trace]:
    """The traces in one epoch after the other."""
    for number in range(episodes):
        epoch, place = divmod(number, len(traces))
        started, *events = traces[place].events
        if not isinstance(started, Started):
            raise TypeError("a trace begins with `started`")
        name = f"{started.item}_{started.mode}_e{epoch + 1}_a1"
        yield Trace((replace(started, episode=name, epoch=epoch + 1, seed=epoch), *events))


def open_it(run: Path) -> None:
    """What became of every attempt, none kept."""
    for _ in RunStore.open(run).attempts():
        pass


def figures(run: Path) -> None:
    """The table's figures."""
    summarize_run(RunStore.open(run).results())


def resume(run: Path) -> None:
    """What is left to play."""
    store, tally = RunStore.open(run), Tally()
    with store.held():
        count = store.repair_index(tally.add)
    items = store.items().items
    work = Units(("mandatory",), -(-count // len(items)), items)
    done = tally.progress()
    left = sum(unit.key not in done.finished for unit in islice(work, count))
    if left:
        raise RuntimeError(f"{left} of {count} are not finished")


STEPS: Mapping[str, Callable[[Path], None]] = {
    "open": open_it, "figures": figures, "resume": resume,
}  # fmt: skip


LAUNCH = """
import json, os, sys, time
began = time.perf_counter()
child = os.fork()
if not child:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(child, 0)
code = os.waitstatus_to_exitcode(status)
took_s = time.perf_counter() - began
print(json.dumps([code, took_s, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""Runs a command. What a process was before it became another program counts for its peak memory,
so that it is begun by a small one."""


@dataclass(frozen=True, slots=True)
class Took:
    """What a process took."""

    wall_s: float
    processor_s: float
    mib: float


def measured(arguments: Sequence[str]) -> Took:
    """Run a process to its end."""
    launched = [sys.executable, "-S", "-I", "-c", LAUNCH, *arguments]
    done = subprocess.run(launched, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    code, wall_s, processor_s, kib = json.loads(done.stdout)
    if code:
        raise RuntimeError(f"exit code {code}: {' '.join(arguments)}")
    return Took(wall_s, processor_s, kib / 1024)


def on_disk(run: Path) -> dict[str, float]:
    """Files, and bytes of traces and index of a folder."""
    stats = [path.stat() for path in run.rglob("*") if path.is_file()]
    calls = sum(one.spent.calls for one in RunStore.open(run).attempts())
    return {
        "calls": calls,
        "files": len(stats),
        "bytes": sum(stat.st_size for stat in stats),
        "blocks": sum(stat.st_blocks for stat in stats) * 512,
    }


def one_size(folder: Path, episodes: int, *, packs: bool = True) -> dict[str, float]:
    """All figures of a run that is made for it."""
    run = folder / f"{'packed' if packs else 'files'}-{episodes}"
    layout = "packed" if packs else "files"
    step = [sys.executable, "-m", "benchmarks.runfolder", "--step"]
    found = {"episodes": float(episodes)}
    made = measured([*step, f"make-{layout}", str(run), str(episodes)])
    found |= {"make_ms": made.wall_s * 1e3, "make_mib": made.mib}
    last = f"{RunStore.open(run).items().items[-1].id}_mandatory_e{episodes // 40}_a1"
    commands = {
        "show": [*runs.TOOLHOP, "show", str(run), last],
        "score": [*runs.TOOLHOP, "score", str(run)],
        "report": [*runs.TOOLHOP, "report", str(run), "--out", str(folder / "report.html")],
    }
    found |= on_disk(run)
    for name in STEPS:
        commands[name] = [*step, name, str(run), "0"]
    for name, arguments in commands.items():
        took = measured(arguments)
        found |= {f"{name}_s": took.processor_s, f"{name}_mib": took.mib}
        print(f"  {layout} {episodes:,}: {name} {took}", file=sys.stderr)
    found["page_mib"] = (folder / "report.html").stat().st_size / 2**20
    return found


ROWS = (
    ("files", "files", "", "{:,.0f}"),
    ("bytes a call, index included", "bytes", "calls", "{:,.0f}"),
    ("the same in blocks of the file system", "blocks", "calls", "{:,.0f}"),
    ("write an episode, synced, ms on the clock", "make_ms", "episodes", "{:.1f}"),
    ("peak memory of that, MiB", "make_mib", "", "{:,.0f}"),
    ("open: every attempt from the index, s", "open_s", "", "{:.1f}"),
    ("peak memory, MiB", "open_mib", "", "{:,.0f}"),
    ("resume: what is left to play, s", "resume_s", "", "{:.1f}"),
    ("peak memory, MiB", "resume_mib", "", "{:,.0f}"),
    ("figures: all results in memory, s", "figures_s", "", "{:.1f}"),
    ("peak memory, MiB", "figures_mib", "", "{:,.0f}"),
    ("`toolhop show RUN EPISODE`, s", "show_s", "", "{:.1f}"),
    ("peak memory, MiB", "show_mib", "", "{:,.0f}"),
    ("`toolhop score RUN`, every trace, s", "score_s", "", "{:.0f}"),
    ("peak memory, MiB", "score_mib", "", "{:,.0f}"),
    ("`toolhop report RUN`, s", "report_s", "", "{:.0f}"),
    ("peak memory, MiB", "report_mib", "", "{:,.0f}"),
    ("its page, MiB", "page_mib", "", "{:,.0f}"),
)
"""What a row says, the figure, what it is divided by, and how it is written."""


def line(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float, float]:
    """`a` and `b` of the line with the least squares of relative deviations, and the largest."""
    x, y = np.array(sizes), np.array(values)
    (a, b), *_ = np.linalg.lstsq(np.stack([1 / y, x / y], axis=1), np.ones(len(y)), rcond=None)
    return float(a), float(b), float(np.max(np.abs((a + b * x) / y - 1)))


def text(made: Sequence[Mapping[str, float]], plain: Mapping[str, float]) -> str:
    """The table."""
    packed = [one for one in made if one["episodes"] >= 2 * PACKING.begin]
    same = next((one for one in made if one["episodes"] == plain["episodes"]), None)
    heads = [f"{one['episodes']:,.0f}" for one in made]
    lines = [
        described(),
        "",
        f"| what, by episodes | {' | '.join(heads)} | a file an episode, "
        f"{plain['episodes']:,.0f} | packed by that | {RECKONED:,} reckoned | off by at most |",
        "|---|" + "---:|" * (len(heads) + 4),
    ]
    calls = plain["calls"] / plain["episodes"]
    million = {"": 1.0, "episodes": RECKONED, "calls": calls * RECKONED}
    for label, name, each, form in ROWS:
        cells = [form.format(one[name] / one.get(each, 1)) for one in [*made, plain]]
        cells.append(f"{same[name] / plain[name]:.2f}" if same else "-")
        a, b, off = line([one["episodes"] for one in packed], [one[name] for one in packed])
        cells += [form.format((a + b * RECKONED) / million[each]), f"{off:.0%}"]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--against", type=int, default=AGAINST, metavar="N",
                        help="episodes of the run that is not packed")  # fmt: skip
    parser.add_argument("--folder", type=Path, help="where runs are made and removed again")
    parser.add_argument("--write", action="store_true", help="write benchmarks/tables.md")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step, run, episodes = options.step
        if step in STEPS:
            STEPS[step](Path(run))
        else:
            make(Path(run), int(episodes), PACKING if step == "make-packed" else NEVER)
        return
    if sum(one >= 2 * PACKING.begin for one in options.episodes) < 2:
        parser.error(f"give two sizes of at least {2 * PACKING.begin:,}: a line needs two points")
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        plain = one_size(Path(scratch), options.against, packs=False)
        found = text([one_size(Path(scratch), one) for one in options.episodes], plain)
    print(found)
    if options.write:
        put("run folder", found)


if __name__ == "__main__":
    main()
