"""`toolhop check`, `toolhop call` and `pytest --toolhop-data`, as a person runs them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents import command
from tests.agents.command import TOOLHOP
from tests.attacks.process_tree import children, lives
from tests.toolhop_tools.checked import row, rows_text, subject
from tests.waiting import CEILING_S, until
from toolhop_tools.load import load
from toolhop_tools.properties.model import NOT_ASKED, OF_NO_HOP, PROPERTIES
from toolhop_tools.readers import native

ROOT = Path(__file__).parents[2]
GOOD = subject("def f(n):\n    return 2 * n\n")
BAD = subject("def g(n):\n    return [1][n // 40]\n", name="g")
PROCESS = ("--sandbox", "process", "--examples", "12", "--max-samples", "1")


def toolhop(
    folder: Path, *arguments: str, check: tuple[int, ...] = (0, 1)
) -> subprocess.CompletedProcess[str]:
    done = command.toolhop(*arguments, cwd=folder)
    assert done.returncode in check, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(rows_text(GOOD, BAD), encoding="utf-8")
    return path


def checked(folder: Path, *arguments: str) -> dict[str, Any]:
    done = toolhop(folder, "check", "--data", *arguments, *PROCESS, "--json")
    report: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode == 0) is report["holds"]
    return report


def test_a_failing_tool_is_told_with_a_call_that_shows_it(data: Path) -> None:
    done = toolhop(data.parent, "check", "--data", "tools.json", *PROCESS, check=(1,))
    assert "2::g  valid-input: raises IndexError" in done.stdout
    assert "2 tools (0 distractors), 1 with failures" in done.stderr
    (line,) = [text.strip() for text in done.stdout.splitlines() if "toolhop call" in text]
    pasted = toolhop(data.parent, *shlex.split(line)[1:], check=(1,))
    assert json.loads(pasted.stdout)["error"] == "IndexError"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """On the good tool and the bad one, without any options."""
    path = tmp_path_factory.mktemp("report") / "tools.json"
    path.write_text(rows_text(GOOD, BAD), encoding="utf-8")
    return checked(path.parent, "tools.json")


def test_the_report_counts_examples_by_property_and_tool(report: dict[str, Any]) -> None:
    assert list(report["properties"]) == list(PROPERTIES)
    good, bad = report["tools"]
    assert {name: v["verdict"] for name, v in good["verdicts"].items()} == {
        name: "not applicable" if name in {"gold-call", "examples"} else "holds"
        for name in PROPERTIES
    }
    assert good["verdicts"]["valid-input"]["executed"] == 12
    assert bad["verdicts"]["valid-input"]["found"][0]["arguments"] == {"n": 40}
    assert all(v["executed"] for v in good["verdicts"].values() if v["verdict"] == "holds")


def test_the_same_seed_gives_the_same_report_with_and_without_a_store(
    data: Path, report: dict[str, Any]
) -> None:
    one = checked(data.parent, "tools.json", "--store", "a/c")
    again = checked(data.parent, "tools.json", "--store", "a/c", "--property", "valid-input")
    assert one == report
    found = [each["tools"][1]["verdicts"]["valid-input"]["found"] for each in (one, again)]
    assert found[0] == found[1]
    assert len(list((data.parent / "a" / "c" / "tools").iterdir())) == 1
    assert sorted(path.name for path in data.parent.iterdir()) == ["a", "tools.json"]


def test_tools_and_properties_are_chosen(data: Path) -> None:
    report = checked(data.parent, "tools.json", "--tool", "f", "--property", "valid-input")
    assert [tool["id"] for tool in report["tools"]] == ["1::f"]
    assert list(report["properties"]) == ["valid-input"]
    report = checked(data.parent, "tools.json", "--sample-id", "2", "--property", "signature")
    assert [tool["id"] for tool in report["tools"]] == ["2::g"]


def test_distractors_are_tools_too_and_are_counted(tmp_path: Path) -> None:
    one, other, third = load("builtin").items[:3]
    strange, known = third.hops[0].tool, other.hops[0].tool
    items = [replace(one, others=(known, strange)), replace(other, others=(strange,))]
    lines = [json.dumps(native.to_row(item)) + "\n" for item in items]
    (tmp_path / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    report = checked(tmp_path, "rows.jsonl", "--property", "loads", "--property", "gold-call")
    hops = [f"{item.id}::{hop.tool.name}" for item in (one, other) for hop in item.hops]
    found = {tool["id"]: tool for tool in report["tools"]}
    assert [*found] == [*hops, f"{one.id}::{strange.name}"]
    assert [id_ for id_, tool in found.items() if tool["distractor"]] == [*found][-1:]
    (distractor,) = (tool for tool in report["tools"] if tool["distractor"])
    assert distractor["verdicts"]["loads"]["verdict"] == "holds"
    assert distractor["verdicts"]["gold-call"]["reason"] == OF_NO_HOP
    done = toolhop(tmp_path, "check", "--data", "rows.jsonl", "--property", "loads", *PROCESS)
    assert f"{len(found)} tools (1 distractor), 0 with failures" in done.stderr
    assert "gold-call was not asked" not in done.stderr


BROKEN = {
    "does not compile": "def f(n:\n",
    "no entry function": "def other(n):\n    return n\n",
    "module missing": (
        "try:\n    import numpy\nexcept ImportError:\n    raise\ndef f(n):\n    return n\n"
    ),
    "refused by the policy": "import os\ndef f(n):\n    return n\n",
}


def test_broken_rows_are_findings_and_the_others_are_checked(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{**row(subject(s)), "id": k} for k, s in BROKEN.items()]
    rows.append({**row(GOOD), "id": "good"})
    unanswered = {**row(GOOD), "id": "unanswered"}
    del unanswered["sub_task"]["What?"]
    invalid = {**row(GOOD), "id": "invalid"}
    invalid["tools"]["What?"]["parameters"]["properties"] = {"n": {"type": "whole"}}
    (tmp_path / "rows.json").write_text(json.dumps([*rows, unanswered, invalid]))
    report = checked(tmp_path, "rows.json")
    loads = {tool["item"]: tool["verdicts"]["loads"] for tool in report["tools"]}
    assert loads.pop("good")["verdict"] == "holds"
    assert {item: v["found"][0]["kind"] for item, v in loads.items()} == {k: k for k in BROKEN}
    assert {"id unanswered", "id invalid"} <= {error["where"] for error in report["errors"]}
    assert "bad-schema" in {error["rule"] for error in report["errors"]}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("check", "--data", "nowhere.json"), "no file or folder"),
        (("check", "--data", "tools.json", "--tool", "h"), "no tool 'h'"),
        (("check", "--data", "tools.json", "--property", "beauty"), "'beauty'"),
        (("check", "--data", "tools.json", "--sample-id", "9"), "no item '9'"),
        (("check", "--data", "tools.json", "--examples", "0"), "--examples"),
        (("check", "--data", "empty.json"), "empty.json"),
        (("check", "--data", "tools.json", "--store", "tools.json/x", *PROCESS), "--store"),
        (("call", "--data", "tools.json", "h", "{}"), "no tool 'h'"),
        (("call", "--data", "tools.json", "f", "[1]"), "not a JSON object"),
        (("call", "--data", "tools.json", "f", "{"), "is not JSON"),
        (("call", "--data", "tools.json", "f"), "ARGUMENTS"),
        (("call", "--data", "tools.json", "f", "{}", "{}", "--after"), "--after"),
    ],
)
def test_bad_input_gets_a_message_and_exit_code_2(
    data: Path, arguments: tuple[str, ...], told: str
) -> None:
    (data.parent / "empty.json").write_text("[]")
    done = toolhop(data.parent, *arguments, check=(2,))
    assert told in done.stderr


def test_audit_page_names_tools_and_copies_no_text(tmp_path: Path) -> None:
    source = "def f(word):\n    if word == 'Rumpelstiltskin': raise ValueError('Rumpelstiltskin')\n"
    one = subject(source + "    return 1\n", {"word": {"type": "string"}})
    (tmp_path / "t.json").write_text(rows_text(one, BAD))
    report = toolhop(tmp_path, "check", "--data", "t.json", *PROCESS, "--json", check=(1,)).stdout
    (tmp_path / "report.json").write_text(report)
    script = [sys.executable, "studies/toolhop_audit.py", str(tmp_path / "report.json")]
    page = subprocess.run(script, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert "| message of its own | 1 |" in page
    assert "**message of its own: raises ValueError** (tools: 1)" in page
    assert "**raises IndexError** (tools: 1)" in page
    assert "item 2 `g`, called with `n` = 40" in page
    assert "a text of 15 letters" in page
    assert "Rumpelstiltskin" not in page


def test_a_call_shows_what_a_counter_example_needs(tmp_path: Path) -> None:
    source = (
        "seen = []\ndef f(items):\n    seen.append(items)\n    items.sort()\n    return len(seen)\n"
    )
    items = {"items": {"type": "array", "items": {"type": "integer"}}}
    (tmp_path / "t.json").write_text(rows_text(subject(source, items)))
    call = ("call", "--data", "t.json", "1::f", '{"items": [2, 1]}')
    flags = ("--sandbox", "process")

    def value(*more: str) -> object:
        return json.loads(toolhop(tmp_path, *call, *more, *flags).stdout)["value"]

    assert value() == 1
    assert value('{"items": []}') == 2
    assert value("--after") == {"items": [1, 2]}
    bad = ("call", "--data", "t.json", "1::f", '{"items": 3}', "--as-model", *flags)
    assert "`items` must be of type array" in toolhop(tmp_path, *bad, check=(1,)).stdout


def lanes_of(parent: int) -> set[int]:
    """The processes of the lanes that a command has started, by the server that forks them."""
    named = {one: Path(f"/proc/{one}/cmdline").read_bytes() for one in children(parent)}
    (server,) = [one for one, line in named.items() if b"forkserver" in line]
    return set(children(server))


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_is_left_when_it_is_ended(tmp_path: Path, sent: signal.Signals) -> None:
    command = [*TOOLHOP, "check", "--data", "builtin", "--sandbox", "process", "--max-samples", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as running:
        assert running.stderr is not None
        assert "/126 " in running.stderr.readline()
        lanes = lanes_of(running.pid)
        assert len(lanes) == 2
        running.send_signal(sent)
        told = running.communicate(timeout=CEILING_S)[1]
    assert running.returncode == (-sent if sent is signal.SIGKILL else 130)
    assert "Traceback" not in told
    until(lambda: not any(map(lives, lanes)), "the lanes' end")


def without_calls(report: dict[str, Any]) -> dict[str, Any]:
    """A copy without the command lines, which name the sandbox."""
    copy: dict[str, Any] = json.loads(json.dumps(report))
    for tool in copy["tools"]:
        for verdict in tool["verdicts"].values():
            for one in verdict.get("found", ()):
                del one["calls"]
    return copy


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
def test_the_same_verdicts_in_docker(data: Path, report: dict[str, Any]) -> None:
    inside = toolhop(
        data.parent,
        "check",
        "--data",
        "tools.json",
        "--sandbox",
        "docker",
        "--examples",
        "12",
        "--json",
    )
    told = json.loads(inside.stdout)
    assert without_calls(told) == without_calls(report)


def test_built_in_tools_have_every_property(tmp_path: Path) -> None:
    """Some of them, with few examples: `toolhop check --data builtin` is for all."""
    report = checked(tmp_path, "builtin", "--sample-id", "*-1", "--limit", "1")
    assert report["holds"]
    assert len(report["tools"]) > 2
    assert report["properties"]["gold-call"]["executed"] > 2


@pytest.mark.data
def test_real_tools_are_checked_without_a_crash(tmp_path: Path, toolhop_60: Path) -> None:
    report = checked(tmp_path, str(toolhop_60), "--limit", "1", "--examples", "6")
    verdicts = [v for tool in report["tools"] for v in tool["verdicts"].values()]
    assert len(verdicts) == len(PROPERTIES) * len(report["tools"]) > 0
    assert all(v["executed"] or v["verdict"] == "not applicable" for v in verdicts)


# --- gold calls and certificates


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Two items: one that the words of its question solve, and one that nothing solves."""
    path = tmp_path / "asked.json"
    text = {"name": {"type": "string"}}
    rows = []
    for number, gold in ((1, "Hello, Malta!"), (2, "elsewhere")):
        one = subject("def f(name):\n    return 'Hello, ' + name + '!'\n", text)
        question = f"What is the greeting of Malta, number {number}?"
        made = row(one)
        tool = {**made["tools"]["What?"], "description": f"Greets, number {number}."}
        made |= {"id": number, "question": question, "answer": gold}
        made |= {"sub_task": {question: gold}, "tools": {question: tool}}
        rows.append(made)
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_certified_calls_are_run_and_the_others_are_told_of(asked: Path) -> None:
    folder = asked.parent
    certify = ("certify", "--data", "asked.json", "--out", "c.jsonl", "--sandbox", "process",
               "--exit-zero")  # fmt: skip
    toolhop(folder, *certify, check=(0,))
    only = ("--property", "gold-call")
    report = checked(folder, "asked.json", *only, "--certificates", "c.jsonl")
    one, two = (tool["verdicts"]["gold-call"] for tool in report["tools"])
    assert (one["verdict"], one["executed"]) == ("holds", 1)
    assert (two["verdict"], two["executed"]) == ("not applicable", 0)
    assert two["reason"].startswith("no certificate proves a call of it; item 2 is ")


def test_a_gold_call_that_nobody_knows_is_not_asked(asked: Path) -> None:
    done = toolhop(asked.parent, "check", "--data", "asked.json", *PROCESS, "--json", check=(0,))
    reasons = {tool["verdicts"]["gold-call"]["reason"] for tool in json.loads(done.stdout)["tools"]}
    assert reasons == {NOT_ASKED}
    assert "gold-call was not asked of 2 tools" in done.stderr


def test_certificates_of_other_data_are_bad_input(asked: Path) -> None:
    folder = asked.parent
    toolhop(
        folder,
        "certify",
        "--data",
        "asked.json",
        "--out",
        "c.jsonl",
        "--sandbox",
        "process",
        "--exit-zero",
        check=(0,),
    )
    asked.write_text(asked.read_text().replace("Hello", "Howdy"))
    flags = ("--certificates", "c.jsonl")
    stale = toolhop(folder, "check", "--data", "asked.json", *flags, *PROCESS, check=(2,))
    assert "no longer hold" in stale.stderr
    missing = toolhop(
        folder, "check", "--data", "asked.json", "--certificates", "d.jsonl", check=(2,)
    )
    assert "there are no certificates at d.jsonl" in missing.stderr


# --- the plugin


def pytest_run(
    folder: Path, *arguments: str, every_plugin: bool = False
) -> subprocess.CompletedProcess[str]:
    """pytest with ours alone of all plugins, since the others take seconds to import."""
    # A clean environment: the tests' own options are not for these.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    if not every_plugin:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        arguments = ("-p", "toolhop_agents.pytest_plugin", *arguments)
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "--rootdir", str(folder), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment, "PYTHONPATH": root},
        timeout=300,
    )


TOOLS = (
    *("--toolhop-data", "tools.json", "--toolhop-sandbox", "process"),
    *("--toolhop-examples", "12", "--strict-markers"),
)


def test_plugin_makes_a_test_of_each_tool_and_property_for_all_workers_alike(data: Path) -> None:
    done = pytest_run(data.parent, "-p", "xdist", *TOOLS, "-n", "2", "-v")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 17 passed, 4 skipped" in done.stdout
    assert "tools.json::2::g::valid-input" in done.stdout
    assert "raises IndexError" in done.stdout
    lines = {text.strip() for text in done.stdout.splitlines()}
    (line,) = [text for text in lines if text.startswith("toolhop call")]
    pasted = toolhop(data.parent, *shlex.split(line)[1:], check=(1,))
    assert json.loads(pasted.stdout)["error"] == "IndexError"


def test_plugin_stands_beside_other_tests_and_is_chosen_by_mark_and_name(data: Path) -> None:
    (data.parent / "test_own.py").write_text("def test_own():\n    pass\n")
    own = pytest_run(data.parent, *TOOLS, "-m", "not toolhop")
    assert "1 passed, 22 deselected" in own.stdout
    some = pytest_run(data.parent, *TOOLS, "-k", "1 and f and loads")
    assert (some.returncode, "1 passed" in some.stdout) == (0, True)


def test_plugin_takes_certificates(asked: Path) -> None:
    folder = asked.parent
    certify = ("certify", "--data", "asked.json", "--out", "c.jsonl", "--sandbox", "process",
               "--exit-zero")  # fmt: skip
    toolhop(folder, *certify, check=(0,))
    data = ("--toolhop-data", "asked.json", "--toolhop-sandbox", "process", "-k", "gold-call")
    done = pytest_run(folder, *data, "-rs", "--toolhop-certificates", "c.jsonl")
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 skipped" in done.stdout
    assert "no certificate proves a call of it" in done.stdout
    missing = pytest_run(folder, *data, "--toolhop-certificates", "d.jsonl")
    assert missing.returncode == 4
    assert "there are no certificates at d.jsonl" in missing.stderr


def test_plugin_tells_of_bad_data(data: Path) -> None:
    nowhere = pytest_run(data.parent, "--toolhop-data", "nowhere.json")
    assert nowhere.returncode == 4
    assert "no file or folder" in nowhere.stderr
    rows = json.loads(data.read_text())
    del rows[0]["sub_task"]["What?"]
    data.write_text(json.dumps(rows))
    broken = pytest_run(data.parent, *TOOLS, "-k", "unusable or loads")
    assert "unusable" in broken.stdout
    assert broken.returncode == 1


def test_plugin_costs_nothing_without_its_option(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "import sys\ndef test_own():\n"
        "    assert 'toolhop_agents.pytest_plugin' in sys.modules\n"
        "    heavy = {'anyio', 'pydantic', 'sandbox', 'toolhop_tools', 'docker'}\n"
        "    assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = pytest_run(tmp_path, "-p", "no:anyio", "-p", "no:hypothesispytest", every_plugin=True)
    assert done.returncode == 0, done.stdout
