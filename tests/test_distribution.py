"""What is built for others: names, files and entry points of wheel and source archive."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.install_lines import install_lines
from toolhop_env.extras import command_from

ROOT = Path(__file__).parents[1]
ROOMS = {
    "toolhop_sandbox": ROOT / "sandbox",
    "toolhop_tools": ROOT,
    "toolhop_env": ROOT / "env",
    "toolhop_agents": ROOT / "agents",
    "toolhop": ROOT / "agents",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    if find_spec("hatchling") is None:
        assert not os.environ.get("CI"), "CI must have hatchling"
        pytest.skip("hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> dict[str, bytes]:
    """Its files by name."""
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sources() -> set[str]:
    """Every file of the packages, as it is called below site-packages."""
    return {
        path.relative_to(root).as_posix()
        for room, root in ROOMS.items()
        for path in (root / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".LICENSE"
    }


def test_wheel_holds_every_file_of_our_packages_and_nothing_else(wheel: dict[str, bytes]) -> None:
    found = {name for name in wheel if ".dist-info/" not in name}
    assert found == sources()
    assert {name.split("/")[0] for name in found} == set(ROOMS)
    assert {f"{room}/py.typed" for room in ROOMS} <= found
    data = {Path(name).suffix for name in found} - {".py", ".typed"}
    assert {".json", ".css", ".js", ".html"} <= data, "data of commands and pages"


def test_wheel_names_its_commands_plugin_and_licences(wheel: dict[str, bytes]) -> None:
    (points,) = (text for name, text in wheel.items() if name.endswith("/entry_points.txt"))
    found = configparser.ConfigParser()
    found.read_string(points.decode())
    assert found["console_scripts"]["toolhop"] == PROJECT["scripts"]["toolhop"]
    assert found["pytest11"]["toolhop"] == "toolhop_agents.pytest_plugin"
    for place in (found["console_scripts"]["toolhop"], found["pytest11"]["toolhop"]):
        module = place.partition(":")[0].replace(".", "/")
        assert {f"{module}.py", f"{module}/__init__.py"} & set(wheel)
    licences = [name for name in wheel if "/licenses/" in name]
    assert any(name.endswith("/LICENSE") for name in licences)
    assert sum(name.endswith(".LICENSE") for name in licences) == len(
        list((ROOT / "agents/toolhop_agents/report/vendor").glob("*.LICENSE"))
    )


def test_the_page_for_an_index_links_to_no_file(wheel: dict[str, bytes]) -> None:
    (text,) = (text.decode() for name, text in wheel.items() if name.endswith("/METADATA"))
    assert "multi-hop tools" in text
    assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []


def test_the_version_and_the_command_by_module() -> None:
    import toolhop_env

    assert toolhop_env.__version__ == PROJECT["version"]
    by_module, by_name = (
        subprocess.run([*command, "run", "--help"], capture_output=True, text=True, check=True)
        for command in ([sys.executable, "-m", "toolhop_agents"], [command_of()])
    )
    assert by_module.stdout.partition("\n\n")[2] == by_name.stdout.partition("\n\n")[2]


def command_of() -> str:
    found = shutil.which("toolhop", path=str(Path(sys.executable).parent))
    assert found is not None
    return found


def test_no_page_of_the_project_names_a_place_that_stands_for_another() -> None:
    assert "example.org" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


MARKERS = {"py.typed", "__init__.py", "lock"}
"""Names of files that say all by being there."""


def test_no_tracked_file_is_empty_by_accident() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in done.stdout.splitlines()]
    empty = [path for path in files if path.is_file() and not path.stat().st_size]
    assert [path for path in empty if path.name not in MARKERS] == []


def test_certificates_of_the_built_in_set_are_used_from_the_wheel(
    built: Path, tmp_path: Path
) -> None:
    (path,) = built.glob("*.whl")
    shutil.unpack_archive(path, tmp_path / "site", "zip")
    done = subprocess.run(
        [sys.executable, "-c", "from toolhop_agents.cli import main; main()", "perturb",
         "--data", "builtin",
         "--sample-id", "film-1", "--into", "missing-tool", "--sandbox", "process",
         "--out", "made.jsonl"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "made.jsonl").read_text(encoding="utf-8").count("\n") > 1


def test_extras_are_installed_from_where_the_package_came() -> None:
    assert command_from("otel", None) == "pip install 'toolhop-env[otel]'"
    cases: dict[str, dict[str, Any]] = {
        "pip install -e '/a b/toolhop[otel]'": {
            "url": "file:///a%20b/toolhop", "dir_info": {"editable": True}},
        "pip install 'toolhop-env[otel] @ file:///a/toolhop'": {
            "url": "file:///a/toolhop", "dir_info": {}},
        "pip install 'toolhop-env[otel] @ git+https://host/toolhop@c0ffee'": {
            "url": "https://host/toolhop",
            "vcs_info": {"vcs": "git", "commit_id": "c0ffee", "requested_revision": "main"}},
        "pip install 'toolhop-env[otel] @ file:///a/toolhop_env-1-py3-none-any.whl'": {
            "url": "file:///a/toolhop_env-1-py3-none-any.whl", "archive_info": {}},
    }  # fmt: skip
    for command, direct in cases.items():
        assert command_from("otel", direct) == command


def test_pages_and_code_name_no_install_that_an_index_would_have_to_serve() -> None:
    lines = install_lines()
    assert "'.[otel]'" in lines
    named = {name for line in lines for name in re.findall(r"\.\[([\w-]+)\]", line)} - {"EXTRA"}
    assert named <= PROJECT["optional-dependencies"].keys()
    assert [line for line in lines if "toolhop-env" in line and " @ " not in line] == []
    for room, root in ROOMS.items():
        for path in (root / room).rglob("*.py"):
            if path.name != "extras.py":
                assert "pip install 'toolhop-env" not in path.read_text(encoding="utf-8"), path
                assert "pip install toolhop" not in path.read_text(encoding="utf-8"), path


def test_source_archive_can_be_built_tested_and_read(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for room, root in ROOMS.items():
        files = (file for file in (root / room).rglob("*") if file.is_file())
        wanted = {f.relative_to(ROOT).as_posix() for f in files if "__pycache__" not in f.parts}
        assert wanted <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "tests/conftest.py"} <= names
    assert not {name for name in names if name.startswith((".", "logs/", "dist/"))} - {".gitignore"}
