"""How fast properties are checked: examples a second, batches against calls, two workers.

    python -m benchmarks.properties            # prints the table; some minutes
    python -m benchmarks.properties --write    # also into benchmarks/tables.md

Uses the built-in tools. Ratios of one run say more than absolute figures, which follow the load.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.pages import put
from toolhop_env.rejection import Rejections
from toolhop_sandbox.base import Limits
from toolhop_tools.load import load
from toolhop_tools.properties import harness
from toolhop_tools.properties.bench import calling
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.check import CheckJob
from toolhop_tools.properties.lanes import check_all
from toolhop_tools.properties.model import BASE, Subject, ToolReport, subjects

LIMITS = Limits(wall_s=2.0)
EXAMPLES = 50
FEW, MANY = 6, 60
"""Tools for the comparison of calls, and for whole checks; pytest has all."""


def batches(tools: Sequence[Subject]) -> tuple[float, float]:
    """Executions a second: in batches, and one call each."""
    took = {"batched": 0.0, "alone": 0.0}
    runs = 0
    ways = {"batched": harness.run_batched, "alone": harness.run_alone}
    with calling("auto", limits=LIMITS, settings=[BASE]) as call:
        for tool in tools:
            case = Case(tool, call, Rejections(), count=EXAMPLES, seed=0)
            valid = case.valid
            case.alone(valid[0])  # compiles; batches compile their driver in the measured time
            for name, way in ways.items():
                started = time.perf_counter()
                way(call, BASE, tool.tool.program, valid)
                took[name] += time.perf_counter() - started
            runs += len(valid)
    return runs / took["batched"], runs / took["alone"]


def whole(tools: Sequence[Subject], lanes: int) -> float:
    """Examples a second that all properties judged, once every lane is at work."""
    done: list[tuple[float, int]] = []

    def note(report: ToolReport) -> None:
        verdicts = report.verdicts.values()
        done.append((time.perf_counter(), sum(getattr(v, "executed", 0) for v in verdicts)))

    check_all(tools, CheckJob(Rejections, LIMITS, count=EXAMPLES), lanes=lanes, on_report=note)
    # From the last lane's first report on: what each has begun by then evens out with what it
    # ends with.
    began, later = done[lanes - 1][0], done[lanes:]
    return sum(number for _, number in later) / (later[-1][0] - began)


def plugin(workers: int) -> float:
    """Seconds of pytest over all built-in tools, its start included."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += [
            "--toolhop-data",
            "builtin",
            "--toolhop-examples",
            "20",
            "-n",
            str(workers),
            "--rootdir",
            folder,
        ]
        started = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
        return time.perf_counter() - started


def table() -> str:
    """The figures as Markdown."""
    tools = subjects(load("builtin").items)
    batched, alone = batches(tools[:FEW])
    load_before = os.getloadavg()[0]
    one, two = (whole(tools[:MANY], lanes) for lanes in (1, 2))
    n1_s, n2_s = plugin(1), plugin(2)
    load_1 = os.getloadavg()[0]
    rows = [
        ("executions a second, a call each", f"{alone:,.0f}", "1.0"),
        ("executions a second, in batches", f"{batched:,.0f}", f"{batched / alone:.1f}"),
        ("judged examples a second, 1 lane", f"{one:,.0f}", "1.0"),
        (
            "judged examples a second, 2 lanes",
            f"{two:,.0f}",
            f"{two / one:.2f}",
        ),
        ("`pytest -n 1`, seconds", f"{n1_s:.1f}", "1.0"),
        ("`pytest -n 2`, seconds", f"{n2_s:.1f}", f"{n1_s / n2_s:.2f}"),
    ]
    lines = ["| what | figure | ratio |", "|---|---:|---:|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    note = (
        f"{os.cpu_count()} processors for the lanes, the engine and the tools; load "
        f"{load_before:.1f} before the lanes, {load_1:.1f} at the end."
    )
    if load_before > 1:
        note += (
            " The machine was busy with other things before it began, and these ratios are "
            "not to be relied on: run it again on an idle one."
        )
    return "\n".join([*lines, "", note])


def main() -> None:
    """Print the table, and put it into the page where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--write", action="store_true", help="put the table into benchmarks/tables.md"
    )
    arguments = parser.parse_args()
    made = table()
    print(made)
    if arguments.write:
        put("properties", made)


if __name__ == "__main__":
    main()
