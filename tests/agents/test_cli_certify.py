"""`toolhop certify`, and runs over what it proved."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents import command
from tests.launcher import Launched
from tests.toolhop_tools.rows import write
from tests.waiting import CEILING_S, until
from toolhop_tools.certify.file import SHIPPED
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

LENGTH = "def word_length(word):\n    return len(word)\n"
SQUARE = "def square(number):\n    return number * number\n# square(4)\n"


def tool(name: str, parameter: str, kind: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {parameter: {"type": kind}},
        "required": [parameter],
    }
    return {"name": name, "description": "A tool.", "parameters": schema}


def made(identity: object, *, square: str = SQUARE) -> dict[str, Any]:
    """A row of two hops, written for these tests."""
    questions = "How many letters has Oslo?", "What is the square of 4?"
    return {
        "id": identity,
        "question": "What is the square of the number of letters of Oslo?",
        "answer": "16",
        "sub_task": dict(zip(questions, ("4", "16"), strict=True)),
        "tools": dict(
            zip(
                questions,
                (tool("word_length", "word", "string"), tool("square", "number", "integer")),
                strict=True,
            )
        ),
        "functions": [LENGTH, square],
        "domain": "Words",
        "answer_type": "number",
        "previous_answer_type": "number",
    }


WRONG = "def square(number):\n    return number + number\n# square(4)\n"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return str(write(tmp_path, [made(1), made(2, square=WRONG), made(3)]))


def toolhop(*arguments: str, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = command.toolhop(*arguments, cwd=folder, env={**os.environ, "COLUMNS": "150"})
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def certify(rows: str, folder: Path, *more: str, code: int = 0) -> dict[str, Any]:
    done = toolhop(
        "certify",
        "--data",
        rows,
        "--sandbox",
        "process",
        "--json",
        "--exit-zero",
        *more,
        folder=folder,
        code=code,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_certify_then_play_what_is_proven(rows: str, tmp_path: Path) -> None:
    told = certify(rows, tmp_path)
    assert {k: n for k, n in told["verdicts"].items() if n} == {"proven": 2, "defective": 1}
    assert {k: n for k, n in told["hops"].items() if n} == {"proven": 5, "defective": 1}
    assert told["defects"] == {"code returns another value": 1}
    assert told["not_proven"] == [
        '2/2 square: code returns another value: the right call returns 8, the gold is "16"; '
        "square(number=4) returns 8"
    ]
    path = tmp_path / told["file"]
    before = path.read_bytes()
    assert certify(rows, tmp_path)["verdicts"] == told["verdicts"]
    assert path.read_bytes() == before

    play = ("run", "--data", rows, "--sandbox", "process", "--json")
    [one] = json.loads(toolhop(*play, "--certified-only", folder=tmp_path).stdout)["summaries"]
    assert (one["episodes"], one["strict"]["value"], one["proven"]) == (2, 1.0, 2)
    table = toolhop("score", *map(str, (tmp_path / "logs").iterdir()), folder=tmp_path).stdout
    assert "All items are proven." in table
    assert "proven items" not in table
    only = toolhop(*play[:-1], "--certified-only", "determined", folder=tmp_path).stdout
    assert "Selected (determined): 2 of 3 items: hops 2.0 (all 2.0), words of the" in only
    everything = json.loads(toolhop(*play, "--certificates", str(path), folder=tmp_path).stdout)
    [one] = everything["summaries"]
    assert (one["episodes"], one["proven"]) == (3, 2)
    assert one["strict"]["value"] == pytest.approx(2 / 3)
    assert one["strict_proven"]["value"] == 1.0
    # The run's folder stands alone: it knows which items were proven.
    path.unlink()
    table = toolhop("score", everything["run"], folder=tmp_path).stdout
    assert "strict, proven items" in table
    assert "100.00 [34.2, 100.0] (n=2)" in table
    assert "Selected (determined): 2 of 3 items" in table


def test_a_run_without_certificates_shows_no_line_for_them(rows: str, tmp_path: Path) -> None:
    done = toolhop("run", "--data", rows, "--sandbox", "process", folder=tmp_path)
    assert "proven" not in done.stdout


def test_tables_and_one_certificate(rows: str, tmp_path: Path) -> None:
    flags = ("certify", "--data", rows, "--sandbox", "process", "--out", "c.jsonl")
    done = toolhop(*flags, folder=tmp_path, code=1)
    assert toolhop(*flags, "--exit-zero", folder=tmp_path).stdout == done.stdout
    toolhop(*flags, "--sample-id", "1", folder=tmp_path)  # which is proven
    assert "code returns another value" in done.stdout
    assert "other values" in done.stdout
    assert "c.jsonl" in done.stderr
    page = toolhop(
        "certify", "--data", rows, "--out", "c.jsonl", "--item", "3", folder=tmp_path
    ).stdout
    assert 'word_length(word="Oslo")' in page
    assert "number is the answer of hop 1" in page
    page = toolhop(
        "certify", "--data", rows, "--out", "c.jsonl", "--item", "2", folder=tmp_path
    ).stdout
    assert "seen:    square(number=4)" in page
    shown = toolhop(
        "certify", "--data", rows, "--out", "c.jsonl", "--item", "3", "--json", folder=tmp_path
    )
    assert json.loads(shown.stdout)["hops"][1]["arguments"] == {"number": 4}


def test_stale_certificates_are_refused_and_made_anew(rows: str, tmp_path: Path) -> None:
    certify(rows, tmp_path)
    write(tmp_path, [made(1), made(2), made(3)])
    play = ("run", "--data", rows, "--certified-only", "--sandbox", "process")
    refused = toolhop(*play, folder=tmp_path, code=2)
    assert "id 2: the item has changed" in refused.stderr
    assert "toolhop certify" in refused.stderr
    shown = toolhop("certify", "--data", rows, "--item", "2", folder=tmp_path, code=2)
    assert "the item has changed" in shown.stderr
    assert certify(rows, tmp_path)["verdicts"]["proven"] == 3
    toolhop(*play, folder=tmp_path)


def test_rows_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    broken = made(2)
    broken["sub_task"] = {}
    rows = str(write(tmp_path, [made(1), broken, "no row"]))
    flags = ("certify", "--data", rows, "--sandbox", "process")
    done = toolhop(*flags, folder=tmp_path, code=1)
    assert "2 rows cannot be used" in done.stderr
    assert "id 2: sub_task" in done.stderr
    told = certify(rows, tmp_path)
    assert told["certified"] == 1
    assert {one["where"] for one in told["broken"]} == {"id 2", "row 3"}


def test_what_the_gold_call_returned_is_shown_with_what_helps(tmp_path: Path) -> None:
    rates = """RATES = {"chf": 2, "eur": 1, "usd": 3}

def convert(amount, currency):
    return amount * RATES[currency]
"""
    schema = tool("convert", "currency", "string")
    schema["parameters"]["properties"] |= {"amount": {"type": "integer"}}
    question = "How much is 40 euros in Swiss francs?"

    def certified(description: str) -> list[str]:
        schema["parameters"]["properties"]["currency"]["description"] = description
        row = {
            **made(1), "question": question, "answer": "80", "sub_task": {question: "80"},
            "tools": {question: schema}, "functions": [rates],
            "gold_calls": [{"arguments": {"amount": 40, "currency": "chf"}, "source": "written"}],
        }  # fmt: skip
        return [*certify(str(write(tmp_path, [row])), tmp_path)["not_proven"]]

    (said,) = certified("Swiss francs, euros or US dollars.")
    assert 'convert(amount=40, currency="chf") returns 80' in said
    assert '"chf": say it in the question, or in the parameter' in said
    assert certified("chf for Swiss francs, eur for euros, usd for US dollars.") == []


BAD: dict[str, tuple[str, ...]] = {
    "no data": ("certify", "--data", "nowhere.json"),
    "no item": ("certify", "--data", "builtin", "--sample-id", "nothing"),
    "no such file": ("run", "--certificates", "nowhere.jsonl"),
    "no certificate of it": (
        "certify",
        "--data",
        "builtin",
        "--item",
        "film-1",
        "--out",
        "nowhere.jsonl",
    ),
    "no such claim": ("run", "--certified-only", "sure"),
    "a limit of none": ("certify", "--data", "builtin", "--executions", "0"),
}


def test_certificates_come_with_the_built_in_set_and_making_them_anew_gives_the_same(
    tmp_path: Path,
) -> None:
    shipped = Path(load("builtin").origin) / SHIPPED
    flags = ("--out", "c.jsonl", "--sandbox", "process", "--exit-zero")
    toolhop("certify", *flags, folder=tmp_path)
    made = sorted((tmp_path / "c.jsonl").read_bytes().splitlines(keepends=True))
    assert b"".join(made) == shipped.read_bytes(), "copy what `toolhop certify` makes, sorted"
    assert len(made) == len(load("builtin").items)


@pytest.mark.parametrize(
    "use",
    [
        ("run", "--certified-only", "--sandbox", "process", "--sample-id", "film-1"),
        ("certify", "--item", "film-1"),
        ("perturb", "--sandbox", "process", "--sample-id", "film-1",
         "--into", "missing-tool", "--out", "out.jsonl"),
    ],
    ids=lambda use: use[0],
)  # fmt: skip
def test_certificates_of_the_built_in_set_are_used_at_once(
    use: tuple[str, ...], tmp_path: Path
) -> None:
    toolhop(*use, folder=tmp_path)
    kept = tmp_path / "certificates" / "builtin.jsonl"
    kept.parent.mkdir()
    for left, what in ((b"", "is empty"), (b'{"item": "film-1", "dig', "it was cut off")):
        kept.write_bytes(left)
        assert what in toolhop(*use, *again(use), folder=tmp_path, code=2).stderr
        assert kept.read_bytes() == left


def again(use: tuple[str, ...]) -> tuple[str, ...]:
    return ("--overwrite",) if use[0] == "perturb" else ()


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name: str, tmp_path: Path) -> None:
    done = toolhop(*BAD[name], folder=tmp_path, code=2)
    assert done.stderr.strip()
    assert not (tmp_path / "logs").exists()


def test_a_kill_loses_no_finished_certificate(tmp_path: Path) -> None:
    slow = LENGTH.replace("    return", "    for _ in range(600_000):\n        pass\n    return")
    many = [{**made(number), "functions": [slow, SQUARE]} for number in range(1, 9)]
    rows = str(write(tmp_path, many))
    path = tmp_path / "c.jsonl"
    flags = ("--sandbox", "process", "--out", str(path))
    process = Launched("certify", "--data", rows, *flags, cwd=tmp_path)
    until(lambda: path.exists() and path.stat().st_size, "a certificate")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=CEILING_S)
    assert process.returncode == 130, errors
    assert "the same command resumes" in errors
    kept = path.read_bytes().splitlines()
    assert 0 < len(kept) < 8
    path.write_bytes(path.read_bytes() + b'{"item": "5", "dig')
    told = certify(rows, tmp_path, "--out", str(path))
    assert told["verdicts"]["proven"] == 8
    assert path.read_bytes().splitlines()[: len(kept)] == kept
    assert len(path.read_bytes().splitlines()) == 8


@pytest.mark.docker
@pytest.mark.data  # ToolHop-60.json beside the project
def test_the_oracle_solves_every_proven_real_item(
    docker_engine: None, toolhop_60: Path, tmp_path: Path
) -> None:
    some = ("--limit", "16-22", "--sandbox", "docker", "--json")
    certified = toolhop("certify", "--data", str(toolhop_60), *some, "--exit-zero", folder=tmp_path)
    told = json.loads(certified.stdout)
    assert told["verdicts"]["proven"] >= 1
    done = toolhop(
        *("run", "--data", str(toolhop_60), "--certified-only", "--mode", "mandatory", *some),
        folder=tmp_path,
    )
    [one] = json.loads(done.stdout)["summaries"]
    assert one["episodes"] == told["verdicts"]["proven"]
    assert one["strict"]["value"] == 1.0
