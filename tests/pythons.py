"""The pure half of the tests, the sandbox's and the attacks, on other versions of Python.

    python -m tests.pythons [PYTHON ...]

PYTHON is an interpreter, such as ``python3.13`` or ``/usr/bin/python3.13``. Without one those of
`VERSIONS` are tried that are on PATH, and it is said which are not. Each gets an environment in
``.pythons/``, made anew when pyproject.toml changes. The sandbox's image is built from whichever
interpreter runs. Exit code 1 where a test failed, 2 where there is no interpreter to try.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".pythons"
VERSIONS = ("3.12", "3.13")
"""Newer ones that pyproject.toml names."""
TESTS = (
    ("-n", "0", "--pure"),
    ("-n", "auto", "tests/sandbox", "tests/attacks"),
)


def version_of(python: str) -> str | None:
    """An interpreter's version, such as ``3.13.1``; None where it does not run."""
    found = shutil.which(python)
    if found is None:
        return None
    code = "import platform; print(platform.python_version())"
    done = subprocess.run([found, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None  # a shim may stand for none


def environment(python: str, version: str) -> Path:
    """The folder with the commands of an interpreter's environment.

    Raises:
        subprocess.CalledProcessError: it could not be made.
    """
    folder = FOLDER / version
    made_of = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = folder / "made-of"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != made_of:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
        subprocess.run([*pip, "-e", ".[dev]"], cwd=ROOT, check=True)
        stamp.write_text(made_of, encoding="utf-8")
    return folder / "bin"


def tried(python: str, version: str) -> list[str]:
    """Run the tests: the last line of each part."""
    commands = environment(python, version)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    lines = []
    for part in TESTS:
        command = [str(commands / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *part]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            print(done.stdout, flush=True)
        outcome = "ok" if done.returncode == 0 else "FAILED"
        lines.append(
            f"{version} {' '.join(part)}: {outcome}, {done.stdout.strip().splitlines()[-1]}"
        )
    return lines


def main() -> int:
    """Try each interpreter, and print a line for each part of the tests."""
    parser = argparse.ArgumentParser(prog="python -m tests.pythons", description=__doc__)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    named = parser.parse_args().pythons
    versions = {name: version_of(name) for name in named or [f"python{v}" for v in VERSIONS]}
    missing = [name for name, version in versions.items() if version is None]
    if named and missing:
        parser.error(f"{missing[0]} is no interpreter that runs; give the path of one")
    lines = [line for name, version in versions.items() if version for line in tried(name, version)]
    print("\n".join(lines))
    if missing:
        print(f"not tried, as they are not on PATH: {', '.join(missing)}")
    if not lines:
        return 2
    return 1 if any(": FAILED" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
