"""Tests each adapter in an environment of its own: versions that they need exclude each other.

    python -m tests.adapters [NAME ...]

Makes `.adapters/NAME` with the project in editable form, the adapter's extra and pytest, and runs
the adapter's tests there. Ends with a table; exit code 1 where a test failed or nothing could be
installed. An environment is kept, and made anew when pyproject.toml or this file changes.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".adapters"
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input")
TESTING = ("pytest>=8.3", "pytest-xdist>=3.6")


@dataclass(frozen=True, slots=True)
class Adapter:
    """What an adapter's environment holds, and what is tried there."""

    extra: str
    """Of pyproject.toml; empty for none."""
    tests: tuple[str, ...]
    shown: tuple[str, ...]
    """Distributions whose versions the table names."""
    beside: tuple[str, ...] = ()
    """Installed in the same step."""
    after: tuple[str, ...] = ()
    """Installed in a second step, whatever the project's own bounds say."""
    python: str = ""
    """The least version of Python that its packages take, such as 3.12; any if empty."""


ADAPTERS = {
    "inspect": Adapter(
        "inspect",
        ("test_inspect.py", "test_inspect_served.py"),
        ("inspect_ai", "openai"),
        # Inspect asks OpenAI-compatible servers with it; a litellm that pip chose may have a bound
        # below, and is not used here.
        after=("openai>=3.4,<4",),
        # Inspect's data frames are read with them.
        beside=("pandas", "pyarrow"),
    ),
    "openenv": Adapter("openenv", ("test_openenv.py",), ("openenv", "mcp")),
    # Its harness runs each rollout as a script of uv.
    "verifiers": Adapter("verifiers", ("test_verifiers.py",), ("verifiers", "mcp"), beside=("uv",)),
    # Any torch will do; of this version a wheel without GPU parts is wanted, where pip finds one.
    "trl": Adapter(
        "trl",
        ("test_trl.py", "test_signatures.py"),
        ("trl", "transformers", "torch"),
        beside=("torch==2.13.0",),
    ),
    "train": Adapter(
        "train",
        ("test_train.py",),
        ("trl", "transformers", "torch"),
        beside=("torch==2.13.0",),
    ),
    "gymnasium": Adapter("gymnasium", ("test_gymnasium.py",), ("gymnasium",)),
    "ray": Adapter("ray", ("test_ray.py", "test_ray_spread.py"), ("ray",)),
    # What docs/integrations.md shows in code; NeMo Gym needs an openai that the project does not
    # take.
    "examples": Adapter(
        "",
        ("test_examples.py",),
        ("skyrl-gym",),
        beside=("skyrl-gym>=0.4,<0.5",),
    ),
    # Our own clients with the newer of the two major versions that the project takes.
    "openai": Adapter(
        "",
        (
            "../agents/test_clients.py",
            "../agents/test_thoughts.py",
            "../agents/test_reply_limit.py",
        ),
        ("openai", "litellm"),
        after=("openai>=3.4,<4",),
    ),
    "agentlightning": Adapter(
        "",
        ("test_agentlightning.py",),
        ("agentlightning",),
        beside=("agentlightning>=1.0,<1.1",),
        python="3.12",
    ),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an adapter."""

    name: str
    ok: bool
    says: str
    installed_s: float
    tested_s: float = 0.0


def main() -> int:
    """Try the adapters that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.adapters", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ADAPTERS)}")
    names = parser.parse_args().names or list(ADAPTERS)
    if unknown := [name for name in names if name not in ADAPTERS]:
        parser.error(f"no adapter {unknown[0]!r}; give {', '.join(ADAPTERS)}")
    if not parser.parse_args().names:  # whoever names one wants it
        for name in [name for name in names if interpreter(ADAPTERS[name].python) is None]:
            names.remove(name)
            print(f"left out, as it needs Python {ADAPTERS[name].python} on PATH: {name}")
    found = [tried(name, ADAPTERS[name]) for name in names]
    width = max(map(len, names))
    for one in found:
        times = f"installed in {one.installed_s:.0f} s, tested in {one.tested_s:.0f} s"
        print(f"{one.name:<{width}}  {'ok' if one.ok else 'FAILED'}: {one.says} ({times})")
    if left := [name for name in ADAPTERS if name not in names]:
        print(f"left out: {', '.join(left)}")
    return 0 if all(one.ok for one in found) else 1


def tried(name: str, adapter: Adapter) -> Outcome:
    """Make the environment where it is not there, and run the tests."""
    began = time.monotonic()
    try:
        python = environment(name, adapter)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        said = str(getattr(error, "stderr", error))
        last = [line for line in said.splitlines() if line.strip()][-1:]
        why = f"left out, could not be installed: {' '.join(last)}"
        return Outcome(name, ok=False, says=why, installed_s=time.monotonic() - began)
    installed = time.monotonic()
    tests = [str(Path("tests", "adapters", one)) for one in adapter.tests]
    command = [str(python), "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    end = done.stdout.strip().rpartition("\n")[2]
    counts = re.sub(r"=+|\bin [\d.]+s.*", "", end).strip()
    # Nothing that is skipped there is tried anywhere: it counts as failed.
    ok = done.returncode == 0 and "skipped" not in counts
    says = f"{counts}, with {versions(python, adapter.shown)}"
    return Outcome(name, ok, says, installed - began, time.monotonic() - installed)


def environment(name: str, adapter: Adapter) -> Path:
    """The interpreter of an adapter's environment.

    Raises:
        subprocess.CalledProcessError: pip could not install it.
        FileNotFoundError: there is no Python that it takes.
    """
    folder = FOLDER / name
    python, stamp = folder / "bin" / "python", folder / "made-of"
    made_of = hashlib.sha256(
        repr(adapter).encode() + (ROOT / "pyproject.toml").read_bytes()
    ).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == made_of:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    maker = interpreter(adapter.python)
    if maker is None:
        raise FileNotFoundError(f"it needs Python {adapter.python} or later, which is not on PATH")
    making = [maker, "-m", "venv", str(folder)]
    subprocess.run(making, check=True, text=True, stderr=subprocess.PIPE)
    project = f".[{adapter.extra}]" if adapter.extra else "."
    install(python, "-e", project, *adapter.beside, *TESTING)
    if adapter.after:
        install(python, *adapter.after)
    stamp.write_text(made_of, encoding="utf-8")
    return python


def interpreter(least: str) -> str | None:
    """This Python, or the oldest one on PATH that is new enough where this is too old."""
    if not least or sys.version_info[:2] >= tuple(map(int, least.split("."))):
        return sys.executable
    major, minor = map(int, least.split("."))
    for newer in range(minor, minor + 4):
        found = shutil.which(f"python{major}.{newer}")
        answers = found and subprocess.run([found, "-V"], capture_output=True, check=False)
        if answers and answers.returncode == 0:  # a shim may stand for none
            return found
    return None


def install(python: Path, *what: str) -> None:
    """Install with pip; raises CalledProcessError with what it said."""
    print(f"{python.parents[1].name}: pip install {' '.join(what)}", flush=True)
    subprocess.run(
        [str(python), *PIP, "install", *what],
        cwd=ROOT, check=True, text=True, stderr=subprocess.PIPE,
    )  # fmt: skip


def versions(python: Path, distributions: Sequence[str]) -> str:
    """Of distributions that are installed there."""
    code = (
        "import sys\nfrom importlib.metadata import version\n"
        "print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))"
    )
    found = subprocess.run(
        [str(python), "-c", code, *distributions], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
