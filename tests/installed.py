"""Installs this project beside packages whose names are like its folders', and uses it there.

    python -m tests.installed

Makes a fresh environment with openai-agents (whose package is called `agents`), inspect_ai and
gymnasium, installs into it first the wheel and then the project in editable form, and each time
imports theirs, runs `toolhop run`, and checks code of a user's own with mypy; wheel and source
archive are checked as an index does. Takes minutes and the network: `make test-install`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
BESIDE = ("openai-agents", "inspect_ai", "gymnasium")
THEIRS = """
import importlib.metadata, agents, gymnasium, inspect_ai
from agents import Agent
import toolhop_agents.react, toolhop_env.episode, toolhop_sandbox.base, toolhop_tools.load
owners = importlib.metadata.packages_distributions()
assert set(owners["agents"]) == {"openai-agents"}, owners["agents"]
assert Agent.__module__.startswith("agents."), Agent.__module__
assert gymnasium.make("CartPole-v1").reset(seed=1)
ours = [name for name, owner in owners.items() if "toolhop-env" in owner]
print("ours:", *sorted(ours))
"""
TYPED = """
from toolhop_env.notebook import play
from toolhop_tools.load import load

item = load("builtin").by_id["geography-1"]
reveal_type(item.question)
with play(item) as episode:
    reveal_type(episode.question)
"""


def main() -> None:
    """Try both ways; ends at the first step that fails."""
    with tempfile.TemporaryDirectory(prefix="toolhop-installed-") as name:
        folder = Path(name)
        python = folder / "venv" / "bin" / "python"
        venv.create(folder / "venv", with_pip=True)
        pip = (str(python), "-m", "pip", "--disable-pip-version-check", "--quiet")
        _step(folder, "build", *pip, "wheel", str(ROOT), "--no-deps", "-w", str(folder))
        (wheel,) = folder.glob("*.whl")
        _check_for_index(folder)
        # All in one command: only so does pip look for versions that agree with each other.
        _step(folder, "install", *pip, "install", *BESIDE, "mypy", str(wheel))
        for way, what in (("wheel", (str(wheel),)), ("editable", ("-e", str(ROOT)))):
            _step(folder, f"{way}: install", *pip, "install", *what)
            _step(folder, f"{way}: nothing missing", *pip, "check")
            _try(folder, way, python)
            _step(folder, f"{way}: uninstall", *pip, "uninstall", "-y", "toolhop-env")
            _step(folder, f"{way}: theirs stay", str(python), "-c", "from agents import Agent")


def _check_for_index(folder: Path) -> None:
    """Build both archives and have an index's own checks read them, the description rendered."""
    python = folder / "index" / "bin" / "python"
    venv.create(folder / "index", with_pip=True)
    _step(
        folder,
        "install build and twine",
        str(python),
        "-m",
        "pip",
        "-q",
        "install",
        "build",
        "twine",
    )
    _step(folder, "build both", str(python), "-m", "build", "-o", str(folder / "dist"), str(ROOT))
    archives = [str(path) for path in (folder / "dist").iterdir()]
    _step(folder, "twine check", str(python), "-m", "twine", "check", "--strict", *archives)


def _try(folder: Path, way: str, python: Path) -> None:
    """Import both, run the command, and check types, from a folder outside of the project."""
    (folder / "user.py").write_text(TYPED, encoding="utf-8")
    print(_step(folder, f"{way}: imports", str(python), "-c", THEIRS), end="")  # noqa: T201
    toolhop = str(python.with_name("toolhop"))
    logs = f"logs-{way}"
    flags = ("--sandbox", "process", "--limit", "2", "--log-dir", logs)
    said = _step(folder, f"{way}: toolhop run", toolhop, "run", *flags)
    assert "100.00" in said, said
    (run,) = (folder / logs).iterdir()
    _step(folder, f"{way}: toolhop report", toolhop, "report", str(run))
    found = _step(folder, f"{way}: mypy", str(python), "-m", "mypy", "--strict", "user.py")
    assert found.count('Revealed type is "str"') + found.count("builtins.str") >= 2, found


def _step(folder: Path, what: str, *command: str) -> str:
    """Run a command; what it said. Ends the script where it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    print(f"{'ok' if done.returncode == 0 else 'FAILED'}: {what}", flush=True)  # noqa: T201
    if done.returncode:
        sys.exit(f"{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
