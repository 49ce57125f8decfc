"""A person allows or refuses calls, and the trace says so."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pexpect  # type: ignore[import-untyped]
import pytest

from tests.agents.command import toolhop
from toolhop_agents.approval import decision
from toolhop_env.responders import Refusal
from toolhop_env.runs.store import RunStore
from toolhop_env.verdicts import ErrorCode

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning"),
]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("typed", "decided"),
    [
        ("y", None),
        (" YES ", None),
        ("n", Refusal()),
        ("No", Refusal()),
        ("yse", Refusal("yse")),
        ("not before the river is known", Refusal("not before the river is known")),
    ],
)
def test_only_a_clear_yes_allows(typed: str, decided: Refusal | None) -> None:
    assert decision(typed) == decided


def terminal(folder: Path, *more: str) -> pexpect.spawn:
    code = "from toolhop_agents.cli import main; main()"
    flags = ["run", "--approve", "--sandbox", "process", "--sample-id", "geography-1"]
    return pexpect.spawn(
        sys.executable,
        ["-c", code, *flags, "--log-dir", str(folder), *more],
        cwd=str(ROOT),
        env=os.environ | {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        dimensions=(40, 100),
        encoding="utf-8",
        timeout=300,
    )


def test_a_person_is_asked_before_each_call(tmp_path: Path) -> None:
    child = terminal(tmp_path, "--agent", "oracle")
    answers = ["y", "too early", "n"]
    for number, answer in enumerate(answers):
        child.expect_exact("geography-1_mandatory_e1_a1")
        child.expect_exact("run it?")
        if not number:
            child.send("\r")
            child.expect_exact("run it?")
        child.send(answer + "\r")
    child.expect_exact("Failed calls by code")
    child.expect_exact(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    (folder,) = tmp_path.iterdir()
    store = RunStore.open(folder)
    (trace,) = store.traces()
    assert [call.error for call in trace.calls] == [None, *[ErrorCode.NOT_APPROVED] * 2]
    assert [call.outcome is None for call in trace.calls] == [False, True, True]
    told = [call.feedback for call in trace.calls[1:]]
    assert told == [
        "The call was not run. It was not approved: too early",
        "The call was not run. It was not approved.",
    ]
    assert store.manifest["settings"]["approve"] is True
    again = toolhop("replay", str(folder), "--verify", "--json")
    assert again.returncode == 0, again.stderr + again.stdout


def test_ctrl_c_at_the_question_leaves_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    child = terminal(tmp_path, "--agent", "oracle")
    child.expect_exact("run it?")
    child.send("\x03")
    child.expect_exact("episodes are finished")
    child.expect_exact(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    (folder,) = tmp_path.iterdir()
    assert json.loads((folder / "manifest.json").read_text())["status"] == "cancelled"
