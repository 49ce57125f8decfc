"""What a report of 1,000 episodes weighs, and how quick it is in a browser.

    python -m benchmarks.report [--episodes N] [--runs N]

The built-in items are played by the repairing agent, in the process sandbox, until there are
enough episodes; `toolhop report` makes the page, and headless Chromium opens it from disk.
Browser times are medians, from the action to the frame after what it leads to is in the document.
Exit code 3 where there is no Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.machine import described
from tests.agents.command import TOOLHOP
from tests.report.browser import Page, started
from toolhop_agents.report.collect import Report, collect
from toolhop_agents.report.conversation import body
from toolhop_agents.report.pack import Chunks
from toolhop_agents.report.page import render
from toolhop_agents.report.runs import open_sources
from toolhop_env.benchmarks import named
from toolhop_env.runs.files import EPISODES
from toolhop_env.runs.store import RunStore
from toolhop_tools.load import load

UNTIL = """
const [act, done] = [new Function(arguments[0]), new Function(arguments[1])];
const finished = arguments[2];
const began = performance.now();
const look = () => (done()
  ? requestAnimationFrame(() => finished(performance.now() - began))
  : setTimeout(look, 0));
act();
look();
"""
"""Runs an action and gives the milliseconds until a condition holds and is painted."""


def play(folder: Path, episodes: int) -> Path:
    """A run of at least so many episodes."""
    epochs = -(-episodes // len(load("builtin").items))
    flags = ("--agent", "repairing:0.3", "--turn-limit", "20", "--epochs", str(epochs))
    where = ("--sandbox", "process", "--log-dir", str(folder))
    done = subprocess.run(
        [*TOOLHOP, "run", *flags, *where], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    (run,) = folder.iterdir()
    return run


def timed(make: Callable[[], Report]) -> tuple[float, Report]:
    """Seconds, and what was made."""
    began = time.perf_counter()
    made = make()
    return time.perf_counter() - began, made


def once_each(run: Path) -> float:
    """Bytes of a packed episode where no item is played twice: epochs of one pack very well."""
    chunks, count = Chunks(), 0
    for trace in RunStore.open(run).traces():
        if trace.started.epoch == 1:
            chunks.add(body(trace, named(trace.started.benchmark)))
            count += 1
    chunks.close()
    return sum(map(len, chunks.done)) / count


def browse(page: Page, report: Report, runs: int) -> list[tuple[str, float]]:
    """Milliseconds by action."""
    rows = report.data["rows"]
    keys = (
        [str(row["key"]) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    )
    page.driver.set_script_timeout(60)

    def took(action: str, condition: str) -> float:
        return float(page.driver.execute_async_script(UNTIL, action, f"return {condition};"))

    def total(text: str) -> str:
        return f"document.getElementById('total')?.textContent.includes({text!r})"

    figures: dict[str, list[float]] = {}
    for number in range(runs):
        page.open()
        ready = page.js("return performance.getEntriesByName('ready')[0].startTime")
        figures.setdefault("load, to the figures", []).append(float(ready))
        page.open("#view=episodes")
        key = keys[(number * 397) % len(keys)]
        steps = (
            (
                "open an episode",
                f"location.hash = '#episode={key}'",
                "document.querySelector('.episode')",
            ),
            (
                "filter by verdict",
                "location.hash = '#view=episodes&verdict=wrong'",
                f"{total(' of ')} || {total('0 of')}",
            ),
            ("all again", "location.hash = '#view=episodes'", f"!({total(' of ')})"),
            (
                "first search, reads every text",
                "location.hash = '#view=episodes&q=missing'",
                total(" of "),
            ),
            (
                "next search",
                "location.hash = '#view=episodes&q=enum+must'",
                f"document.getElementById('search').value.includes('enum') && {total(' of ')}",
            ),
        )
        for name, action, condition in steps:
            figures.setdefault(name, []).append(took(action, condition))
    return [(name, statistics.median(values)) for name, values in figures.items()]


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        print("no Chromium: install the packages chromium and chromium-driver", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as name:
        run = play(Path(name) / "logs", given.episodes)
        read_s, report = timed(lambda: collect(open_sources([run])))
        began = time.perf_counter()
        page = "".join(render(report, title="benchmark")).encode()
        render_s = time.perf_counter() - began
        file = Path(name) / "report.html"
        file.write_bytes(page)
        traces = sum(path.stat().st_size for path in (run / EPISODES).iterdir())
        episodes = sum(map(len, report.chunks))
        once, epochs = once_each(run), report.episodes // len(load("builtin").items)
        with started((chromium, driver)) as browser:
            figures = browse(Page(browser, file), report, given.runs)
    print(described(), "\n")
    print(f"| what ({report.episodes:,} episodes) | figure |\n|---|---:|")
    print(f"| page | {len(page) / 1e6:.2f} MB |")
    each = episodes / report.episodes
    print(f"| of it an episode of an item played {epochs} times | {each:,.0f} bytes |")
    print(f"| an episode of an item played once | {once:,.0f} bytes |")
    print(f"| an episode's trace file | {traces / report.episodes:,.0f} bytes |")
    print(f"| page without episodes | {(len(page) - episodes) / 1e3:,.0f} kB |")
    print(f"| reading and packing | {read_s:.1f} s |")
    print(f"| writing the page | {render_s:.2f} s |")
    for name, value in figures:
        print(f"| {name} | {value:.0f} ms |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
