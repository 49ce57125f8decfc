"""Readers by name, and readers that packages outside of the tree bring."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toolhop_tools.rows import row, write
from toolhop_tools.errors import DataError, DataNotFound
from toolhop_tools.load import READERS, load, readers, survey

ROOT = Path(__file__).parents[2]
PACKAGE = '''
"""Much as the package of docs/writing-tools.md."""
from pathlib import Path

from toolhop_sandbox.outcome import Returned
from toolhop_tools.model import DataSet, Item, RecordedTable, Tool, ToolSchema, canonical
from toolhop_tools.readers.datafile import parse_rows, read_bytes
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Record, Survey, collect


def survey(path, *, last_wins):
    rows = parse_rows(read_bytes(Path(path)), lines=True, origin=path)
    items, problems = collect(rows, item)
    return Survey(DataSet("quiz", path, tuple(items)), tuple(problems))


def item(identity: str, row: Record) -> Item:
    table = RecordedTable({canonical({"q": "a"}): Returned("1")}, Returned("null"))
    tool = Tool(ToolSchema("look_up", "Looks up.", {"type": "object"}), table)
    question, answer = row.text("question"), row.answer("answer")
    gold = {"answer": answer}
    return Item(identity, question, answer, (), "quiz", "", others=(tool,), benchmark="quiz",
                gold=gold)


READER = Reader("questions of a quiz, a line each", survey, wants_path=True)
'''


def installed(home: Path, name: str, source: str, entry: str) -> Path:
    """A folder that looks as pip leaves it: a module, and its metadata with an entry point."""
    info = home / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (home / f"{name}.py").write_text(source, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[toolhop.readers]\n{entry}\n")
    return home


def python(home: Path, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(
        map(str, [home, ROOT, *(ROOT / r for r in ("sandbox", "env", "agents"))])
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
    )


def cli(home: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys; sys.argv[1:] = {list(words)!r}\nfrom toolhop_agents.cli import main; main()"
    )
    return python(home, code, folder)


@pytest.fixture(scope="module")
def quiz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("site"), "quiz", PACKAGE, "quiz = quiz:READER")


def test_a_reader_of_another_package_is_used_by_name(quiz: Path, tmp_path: Path) -> None:
    lines = [{"id": 1, "question": "Which?", "answer": "A"}, {"id": 2, "question": "What?"}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    code = (
        "from toolhop_tools.load import load\n"
        "(one,) = load('quiz:rows.jsonl', skip_broken=True).items\n"
        "print(one.benchmark, one.gold, list(one.tools), one.hops)"
    )
    done = python(quiz, code, tmp_path)
    assert (done.stdout, done.stderr) == ("quiz {'answer': 'A'} ['look_up'] ()\n", "")
    checked = cli(quiz, tmp_path, "data", "validate", "--data", "quiz:rows.jsonl")
    assert "id 2: answer: expected an answer as text; given nothing" in checked.stdout
    shown = cli(quiz, tmp_path, "data", "show", "1", "--data", "quiz:rows.jsonl", "--code")
    assert shown.returncode == 2  # the set has an error, and every command but validate says so
    certified = cli(quiz, tmp_path, "certify", "--data", "quiz:rows.jsonl")
    assert certified.returncode == 2
    assert "1 item cannot be certified, 1 first" in certified.stderr
    checked = cli(quiz, tmp_path, "check", "--data", "quiz:rows.jsonl")  # no tool is a program
    assert "0 tools (0 distractors), 0 with failures, 1 error in the data" in checked.stderr
    assert "quiz:PATH" in cli(quiz, tmp_path, "data", "list").stderr


@pytest.mark.parametrize(
    ("source", "entry", "said"),
    [
        ("import nowhere", "quiz = broken:READER", "ModuleNotFoundError: No module named"),
        ("READER = 5", "quiz = broken:READER", "is a int; expected a Reader"),
        ("", "quiz = broken:READER", "AttributeError"),
    ],
    ids=["no import", "no reader", "nothing of that name"],
)
def test_a_broken_reader_names_its_package(
    tmp_path: Path, source: str, entry: str, said: str
) -> None:
    home = installed(tmp_path / "site", "broken", source, entry)
    code = (
        "from toolhop_tools.load import load\nfrom toolhop_tools.packages import BadPackage\n"
        "try:\n    load('quiz:x')\nexcept BadPackage as error:\n    print(error)\n"
        "print(len(load('builtin').items))"
    )
    done = python(home, code, tmp_path)
    assert done.stderr == ""
    assert "toolhop.readers 'quiz' of broken" in done.stdout
    assert said in done.stdout
    assert "fix: repair or uninstall broken" in done.stdout
    assert int(done.stdout.splitlines()[-1]) == 43  # the product's own readers need no other


@pytest.mark.parametrize(
    ("body", "said"),
    [("raise KeyError('x')", "raised KeyError: 'x'"), ("return None", "returned None")],
)
def test_a_reader_that_breaks_is_named(tmp_path: Path, body: str, said: str) -> None:
    source = PACKAGE.replace("def item(", f"def broken(*_, **__):\n    {body}\n\n\ndef item(")
    source = source.replace("survey, wants_path", "broken, wants_path")
    home = installed(tmp_path / "site", "quiz", source, "quiz = quiz:READER")
    done = cli(home, tmp_path, "run", "--data", "quiz:x")
    assert done.returncode == 2
    assert f"the reader 'quiz' of an installed package {said}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_reader_spoils_no_other(tmp_path: Path) -> None:
    entries = "broken = nowhere:READER\nquiz = quiz:READER"
    home = installed(tmp_path / "site", "quiz", PACKAGE, entries)
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "question": "Which?", "answer": "A"}')
    code = "from toolhop_tools.load import load; print(len(load('quiz:rows.jsonl').items))"
    done = python(home, code, tmp_path)
    assert (done.stdout, done.stderr) == ("1\n", "")
    unknown = cli(home, tmp_path, "run", "--data", "nope")
    assert unknown.returncode == 2
    assert "no data set 'nope'" in unknown.stderr


def test_no_package_replaces_a_reader_of_the_products_own(tmp_path: Path) -> None:
    home = installed(tmp_path / "site", "quiz", PACKAGE, "builtin = quiz:READER")
    code = "from toolhop_tools.load import load; print(load('builtin').name)"
    assert python(home, code, tmp_path).stdout == "builtin\n"


def test_a_file_may_be_given_with_the_name_of_its_reader(tmp_path: Path) -> None:
    path = write(tmp_path, [row()])
    assert load(f"toolhop:{path}") == load(path)
    with pytest.raises(DataNotFound, match="no folder"):
        survey(f"folder:{path}")
    with pytest.raises(DataError, match="no path"):
        survey(f"builtin:{path}")


def test_a_path_wins_over_the_readers_of_packages_and_not_over_the_products_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, [row()], "quiz")
    write(tmp_path, [row()], "builtin")
    monkeypatch.chdir(tmp_path)
    assert len(load("quiz").items) == 1
    assert len(load("builtin").items) == 43
    assert len(load("./builtin").items) == 1
    assert readers().keys() >= READERS.own.keys()
