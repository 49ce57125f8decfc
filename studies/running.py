"""What studies of construction share: the command in a process, its ledger, shares."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolhop_env.statistics.wilson import wilson

ENVIRONMENT = {**os.environ, "OPENAI_API_KEY": "no-key-needed"}
TOOLHOP = [sys.executable, "-c", "from toolhop_agents.cli import main; main()"]


def toolhop(*arguments: str) -> list[str]:
    """A command line."""
    return [*TOOLHOP, *arguments]


def run(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with its output as text.

    Raises:
        RuntimeError: it ends with another exit code than 0, and `check` is true.
    """
    done = subprocess.run(
        toolhop(*arguments), capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    if check and done.returncode:
        raise RuntimeError(f"toolhop {' '.join(arguments)}: {done.stderr[-2000:]}")
    return done


@contextmanager
def scripts() -> Iterator[str]:
    """The address of scripted constructors, served by a process that survives kills of others."""
    with subprocess.Popen(
        [sys.executable, "-m", "studies.serve"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 -- a pipe was asked for
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def fresh(folder: Path) -> Path:
    """A folder that is not there yet."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of a ledger of one kind; a line that a kill cut off is left out."""
    found = []
    path = folder / "ledger.jsonl"
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["kind"] == kind:
            found.append(row)
    return found


def interval(part: int, whole: int) -> str:
    """A share with Wilson's 95 % interval, such as ``3 of 4 (30 to 95 %)``."""
    if not whole:
        return "0 of 0"
    low, high = wilson(part / whole, whole)
    return f"{part} of {whole} ({100 * low:.0f} to {100 * high:.0f} %)"


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table as the docs have it, numbers on the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *lines))


def first_object(text: str) -> Mapping[str, Any]:
    """The JSON object that a command printed; empty if there is none."""
    try:
        value: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return {}
    return value
