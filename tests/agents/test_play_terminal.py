"""`toolhop play` in a real terminal, as a person uses it."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect  # type: ignore[import-untyped]
import pytest

from tests.agents.items import small_item
from toolhop_agents.play.prompt import history_file, open_history
from toolhop_env.benchmarks import score
from toolhop_env.runs.catalog import read_trace
from toolhop_env.score import Score
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.model import DataSet

pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")

ROOT = Path(__file__).parents[2]
ENTER, TAB, CTRL_C, CTRL_D, UP = "\r", "\t", "\x03", "\x04", "\x1b[A"


class Terminal:
    """Types, and waits for what the screen shows."""

    def __init__(self, folder: Path, columns: int = 80, arguments: tuple[str, ...] = ()) -> None:
        data = folder / "items.json"
        rows = to_rows(DataSet("test", "here", (small_item(),)))
        data.write_text(json.dumps(rows), encoding="utf-8")
        flags = ["--data", str(data), "--log-dir", str(folder / "logs")]
        flags += ["--sandbox", "process", "--policy", "none"]
        code = "from toolhop_agents.cli import main; main()"
        environment = {"XDG_STATE_HOME": str(folder / "state"), "TERM": "xterm"}
        self.child = pexpect.spawn(
            sys.executable,
            ["-c", code, "play", *(arguments or ("small-1", *flags))],
            cwd=str(ROOT),
            env=os.environ | environment | {"PROMPT_TOOLKIT_NO_CPR": "1"},
            dimensions=(40, columns),
            encoding="utf-8",
            timeout=300,
        )
        self.seen = self.child.logfile_read = io.StringIO()

    def type(self, keys: str) -> Terminal:
        """Press keys."""
        self.child.send(keys)
        return self

    def sees(self, *texts: str) -> Terminal:
        """Wait for texts, in order."""
        for text in texts:
            self.child.expect_exact(text)
        return self

    def ends(self) -> None:
        """Wait for the end, without a fault."""
        self.child.expect_exact(pexpect.EOF)
        self.child.close()
        assert self.child.exitstatus == 0


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    started = Terminal(tmp_path)
    yield started
    started.child.close(force=True)


def test_a_game_in_a_terminal(terminal: Terminal, tmp_path: Path) -> None:
    terminal.sees("squared length", "Tools: ", "capital", "length", "power")
    terminal.sees("turn 1/9 · calls 0, failed 0", "turn 1/9>")
    # Only letters that change are drawn: a completion may come as its last letters alone.
    # The name is completed, and the form asks for what the schema lists.
    terminal.type("cap" + TAB).sees("ital").type(ENTER).sees("country:")
    terminal.type(ENTER).sees("country is required").type("Norway" + ENTER)
    terminal.sees("style:").type(":back" + ENTER).sees("country:").type("Norway" + ENTER)
    terminal.sees("style:").type("u" + TAB).sees("pper").type(ENTER).sees('"OSLO"')
    terminal.sees("turn 2/9 · calls 1, failed 0", "turn 2/9>").type(":tool capital" + ENTER).sees(
        "country", "required"
    )
    terminal.type(":check power x=1" + ENTER).sees("needs the argument `base`").sees("turn 2/9>")
    terminal.type(":feedback m" + TAB).sees("inimal").type(ENTER)
    terminal.sees("Feedback is minimal").type("power x=1" + ENTER)
    terminal.sees("The call would fail. No turn is taken yet.", "[y/N]").type(ENTER)
    terminal.sees("No call was made.", "turn 2/9>").type("power x=1" + ENTER)
    terminal.sees("[y/N]").type("y" + ENTER).sees("The call failed.")
    terminal.sees("turn 3/9>").type("length" + ENTER).sees("text:").type(CTRL_C)
    terminal.sees("no call was made", "turn 3/9>").type(":back" + ENTER)
    terminal.sees("Back before turn 2", "turn 2/9>").type(CTRL_C).sees(":quit leaves")
    terminal.type("length text=Oslo" + ENTER).sees("ok", "4").sees("turn 3/9>")
    terminal.type(":answer 16" + ENTER).sees("strict", "right", "trace").ends()
    opening = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.seen.getvalue()).partition(
        "turn 1/9 ·"
    )[0]
    assert max(map(len, opening.splitlines())) <= 80
    left, ended = map(read_trace, sorted((tmp_path / "logs").glob("*/episodes/*.jsonl")))
    assert len(left.replies) == 2
    verdict = score(ended)
    assert isinstance(verdict, Score)
    conduct = verdict.conduct
    assert (verdict.value("strict"), conduct.turns, conduct.calls) == (1, 3, 2)
    assert "+length text=Oslo" in (tmp_path / "state" / "toolhop" / "play_history").read_text()


def test_lines_of_the_last_game_come_back_and_ctrl_d_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for line in ("power base=5", ":score"):
        open_history(history_file()).append_string(line)
    terminal = Terminal(tmp_path, columns=30)
    terminal.sees("turn 1/9>").type(UP + UP + ENTER).sees("ok", "25").sees("turn 2/9>")
    terminal.type(":score" + ENTER).sees("calls: 1, failed: 0").sees("turn 2/9>")
    terminal.type(CTRL_D).sees("You left without an answer.", "--resume").ends()
    (left,) = (tmp_path / "logs").iterdir()
    again = ("--resume", str(left), "--log-dir", str(tmp_path / "again"))
    terminal = Terminal(tmp_path, arguments=again)
    terminal.sees("turn 2/9>").type(":answer 16" + ENTER).sees("strict", "right").ends()
