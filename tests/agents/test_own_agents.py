"""Agents of a user's own by `--agent MODULE:NAME`, as docs/own-agents.md shows them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents import command
from tests.inline import inline_sandbox
from toolhop_agents.scripted.choose import UnknownAgent, own_agent
from toolhop_env.notebook import play
from toolhop_tools.load import load

pytestmark = pytest.mark.heavy
PAGE = Path(__file__).parents[2] / "docs" / "own-agents.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the page's example."""
    page = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_agents.py").write_text(code, encoding="utf-8")
    return tmp_path


def run(folder: Path, agent: str, *more: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which has imported no module of the folder's."""
    flags = ("--sandbox", "process", "--limit", "2", "--log-dir", "logs", "--json", *more)
    return subprocess.run(
        [*command.TOOLHOP, "run", "--agent", agent, *flags],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("call_format", ["native", "text"])
def test_the_pages_agent_plays(folder: Path, call_format: str) -> None:
    done = run(folder, "my_agents:FirstTool", "--call-format", call_format)
    assert done.returncode == 0, done.stderr
    (one,) = json.loads(done.stdout)["summaries"]
    assert (one["agent"], one["episodes"], one["errored"]) == ("my_agents:FirstTool", 2, 0)
    if call_format == "native":
        assert one["calls"]["value"] == 1


def test_the_pages_agent_is_of_the_type_that_the_page_names(folder: Path) -> None:
    typed = "from my_agents import FirstTool\nfrom toolhop_agents.models.base import Agent\n"
    (folder / "typed.py").write_text(f"{typed}agent: Agent = FirstTool()\n", encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "typed.py"]
    done = subprocess.run(mypy, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_what_an_agent_raises_ends_its_episodes_alone_and_says_where(folder: Path) -> None:
    (folder / "breaks.py").write_text(
        "class Breaks:\n    async def reply(self, messages, tools):\n        return 1 // 0\n\n"
        "class Text:\n    async def reply(self, messages, tools):\n        return 'hello'\n",
        encoding="utf-8",
    )
    done = run(folder, "breaks:Breaks")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "(breaks.py, line 3)" in done.stderr
    assert "Traceback" not in done.stderr
    said = run(folder, "breaks:Text").stderr.split()
    assert "returned str; return toolhop_env.messages.Reply" in " ".join(said)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("nowhere_at_all:Agent", "No module named 'nowhere_at_all'"),
        ("my_agents:Nobody", "has no attribute 'Nobody'"),
        ("my_agents:Reply", "which has no `async def reply`"),
        ("oracel:0.3", "there is no agent 'oracel:0.3'"),
    ],
)
def test_a_name_that_leads_to_no_agent_is_wrong_use(folder: Path, agent: str, said: str) -> None:
    done = run(folder, agent)
    assert done.returncode == 2
    assert said in done.stderr
    assert "constant:TEXT" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "logs").exists()


def test_built_in_names_come_first_and_the_clash_is_said(folder: Path) -> None:
    (folder / "constant.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from toolhop_agents.cli import main; main()", "run", "--agent",
         "constant:Agent", "--limit", "1", "--sandbox", "process", "--json"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "constant:Agent is the built-in constant, not the module's" in done.stderr
    with pytest.raises(UnknownAgent, match="there is no agent"):
        own_agent("nowhere_at_all:Agent")


def test_values_are_short_where_a_person_reads_them() -> None:
    item = load("builtin").by_id["geography-1"]
    with play(item, sandbox=inline_sandbox()) as episode:
        score = episode.answer("<b>42</b>")
        trace = episode.trace
    for value in (item, trace, score):
        assert len(repr(value)) < 300
        html = getattr(value, "_repr_html_", str)()
        assert html.startswith("<table>")
        assert "<b>" not in html
    assert "geography-1" in repr(item)
    assert "geography-1" in repr(trace)
    assert "strict 0" in repr(score)
