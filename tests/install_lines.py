"""Runs every line of README and docs that installs something, in environments that are bare.

    python -m tests.install_lines [--all|--readme]

Light lines share one environment, begun with nothing but pip; those that bring a harness, torch or
Ray run with ``--all``, each in an environment of its own, as their versions exclude each other.
Needs the network: `make test-install-lines`, and with all of them `make test-install`. With
``--readme`` README's lines alone, beside the dependencies that this interpreter has.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAVY = ("inspect", "openenv", "ray", "sentence-transformers", "train", "trl", "verifiers")
"""Extras that run with ``--all`` alone."""
FILLED = {"EXTRA": "otel", "git+URL": "git+https://toolhop.invalid/toolhop-env"}
"""What stands for placeholders."""
CLONED = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": f"url.file://{ROOT}.insteadOf",
    "GIT_CONFIG_VALUE_0": "https://toolhop.invalid/toolhop-env",
}
"""Git's settings by which that URL is this checkout."""

_LINE = re.compile(r"pip install ([^`#|\n]*)")


def install_lines() -> dict[str, str]:
    """What follows ``pip install``, by line, with the page that has it first."""
    found: dict[str, str] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for line in _LINE.findall(page.read_text(encoding="utf-8")):
            found.setdefault(line.strip(), page.name)
    return found


def is_heavy(line: str) -> bool:
    """Whether it installs an extra that brings much."""
    return any(f"[{extra}]" in line for extra in HEAVY)


def _try(folder: Path, lines: Sequence[str], *, bare: bool = True) -> bool:
    """Run lines in one environment made for them; whether all of them installed something.

    One that is not `bare` has what this interpreter has, but for editable packages.
    """
    venv.create(folder, with_pip=True)
    if not bare:
        place = sysconfig.get_path("purelib", vars={"base": str(folder)})
        Path(place, "beside.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    done = True
    for line in lines:
        for placeholder, value in FILLED.items():
            line = line.replace(placeholder, value)
        pip = (str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q")
        ended = subprocess.run(
            [*pip, "install", *shlex.split(line)],
            cwd=ROOT,
            env={**os.environ, **CLONED},
            capture_output=True,
            text=True,
        )
        done = done and ended.returncode == 0
        print("FAILED" if ended.returncode else "ok", f"pip install {line}", flush=True)  # noqa: T201
        if ended.returncode:
            print(ended.stderr)  # noqa: T201
    starts = subprocess.run([str(folder / "bin" / "toolhop"), "--help"], capture_output=True)
    return done and starts.returncode == 0


def main() -> None:
    """Try them; exit code 1 where one fails."""
    lines, bare = install_lines(), "--readme" not in sys.argv
    if not bare:
        lines = {line: page for line, page in lines.items() if page == "README.md"}
    groups = [[line for line in lines if not is_heavy(line)]]
    if "--all" in sys.argv:
        groups += [[line] for line in lines if is_heavy(line)]
    failed = False
    for group in groups:
        with tempfile.TemporaryDirectory(prefix="toolhop-lines-") as name:
            failed = not _try(Path(name) / "venv", group, bare=bare) or failed
    sys.exit(failed)


if __name__ == "__main__":
    main()
