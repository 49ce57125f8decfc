"""The page for writers of tools, by its own commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from shlex import split

import pytest

from tests.agents.command import toolhop

PAGE = Path(__file__).parents[2] / "docs" / "writing-tools.md"


def blocks() -> list[str]:
    """What the page has its reader paste into a shell, in order."""
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def shell(script: str, folder: Path) -> str:
    """Run a script as a reader does who has `toolhop` on the path; its standard output.

    Raises:
        CalledProcessError: a command of it fails.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's data set, before any of its last block's commands."""
    home = tmp_path_factory.mktemp("page")
    shell("\n".join(blocks()[:-1]), home)
    return home / "mine"


def test_the_page_ends_in_a_proven_item(folder: Path) -> None:
    said = shell(blocks()[-1], folder)
    assert re.search(r"proven +│ +1 │ 100.0 % │ +3 │ 100.0 %", said)
    assert re.search(r"oracle +│ +strict +│ +100.00", said)
    assert (folder / "certificates" / "mine.jsonl").is_file()


MISTAKES = {
    "not said": ("items.json", "minutes does a crossing of", "is it for", "ambiguous", "field"),
    "unknown": ("items.json", "Brindle Quay?", "it?", "unproven", "nothing but the source tells"),
    "wrong table": ("crossing.py", '"minutes": 82', '"minutes": 83', "defective", "returns 83"),
    "constant": (
        "ferry_line.py",
        "    for name",
        '    return "Heron Line"\n    for name',
        "unproven",
        "20 of 20",
    ),
    "module": (
        "clock_after.py",
        "import re",
        "import re\nimport subprocess",
        "refused by our policy or limits",
        "'subprocess' is not available",
    ),
}


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize(("file", "old", "new", "verdict", "why"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_found_as_the_page_says(
    file: str, old: str, new: str, verdict: str, why: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "ferries", tmp_path / "ferries")
    changed = tmp_path / "ferries" / file
    source = changed.read_text("utf-8").replace(old, new)
    changed.write_text(source.replace("leaves Brindle Quay at", "leaves at"), encoding="utf-8")
    done = toolhop(
        "certify", "--data", ".", "--out", "found.jsonl", "--sandbox", "process", cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    found = json.loads((tmp_path / "found.jsonl").read_text("utf-8").splitlines()[-1])
    assert found["verdict"] == verdict
    assert why in json.dumps(found["hops"], ensure_ascii=False).replace("\\", "")


def test_the_commands_for_a_new_folder_can_be_pasted(tmp_path: Path) -> None:
    _, *commands = toolhop("data", "new", "my items", cwd=tmp_path).stdout.splitlines()
    assert [split(one)[-1] for one in commands] == ["my items", "my items"]


@pytest.mark.usefixtures("inline")
def test_the_item_of_a_new_folder_is_proven(tmp_path: Path) -> None:
    toolhop("data", "new", "mine", cwd=tmp_path)
    done = toolhop("certify", "--data", "mine", "--out", "proven.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
