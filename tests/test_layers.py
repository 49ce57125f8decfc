"""The rooms import only rooms to their left, and import without effects."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ORDER = ("sandbox", "toolhop_tools", "env", "agents")
CLIENTS = {"openai_model.py", "litellm_model.py"}
"""Imported only when such a model is opened; see tests/agents/test_clients.py."""
WORKER_MAY = {"RestrictedPython", "sandbox", *sys.stdlib_module_names}


def imported(path: Path) -> set[str]:
    """Top-level names of everything that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("layer", ORDER)
def test_layer_imports_only_earlier_layers(layer: str) -> None:
    later = {*ORDER[ORDER.index(layer) + 1 :], "tests", "benchmarks"}
    files = list((ROOT / layer).rglob("*.py"))
    wrong = {str(path): imported(path) & later for path in files}
    assert files
    assert {path: names for path, names in wrong.items() if names} == {}


def test_worker_imports_only_standard_library_and_restrictedpython() -> None:
    files = list((ROOT / "sandbox" / "worker").glob("*.py"))
    wrong = {str(path): imported(path) - WORKER_MAY for path in files}
    assert {path: names for path, names in wrong.items() if names} == {}
    sources = "\n".join(path.read_text(encoding="utf-8") for path in files)
    others = {line for line in sources.splitlines() if line.startswith("from sandbox")}
    assert {line for line in others if not line.startswith("from sandbox.worker")} == set()


@pytest.mark.parametrize("room", ORDER)
def test_package_is_ours_alone(room: str) -> None:
    spec = importlib.util.find_spec(room)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).parent == ROOT / room


def test_importing_everything_prints_nothing_and_loads_no_client() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for layer in ORDER
        for path in sorted((ROOT / layer).rglob("*.py"))
        if not {"builtin", "strategies"} & set(path.relative_to(ROOT).parts)
        and path.name not in {"__init__.py", *CLIENTS}
    ]
    heavy = "{'openai', 'litellm', 'docker', 'hypothesis'}"
    code = f"import sys, importlib\nfor m in {modules!r}: importlib.import_module(m)\n"
    code += f"assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_help_is_instant_because_it_imports_no_command() -> None:
    code = (
        "import sys, contextlib\nfrom agents.cli import main\nsys.argv = ['toolhop', '--help']\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "assert not {'pydantic', 'rich', 'anyio', 'docker'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "Play many episodes" in done.stdout
