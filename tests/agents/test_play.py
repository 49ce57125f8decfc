from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agents.cli.play import choose, play
from agents.play.prompt import history_file, open_history
from agents.runs.store import read_trace
from env.score import Score, Void, score
from env.trace import Ending, FeedbackSet, Trace
from tests.agents.items import hop, small_item, tool
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import DataSet, Item
from toolhop_tools.official import to_rows

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from agents.cli import main; main()", "play"]
HOSTILE = """
def echo(size=0):
    return "[bold]red[/bold] \\x9b31m \\u202e back" + "x" * size
"""
RIGHT = """capital {"country": "Norway"}
length text=Oslo
power(base=4)
:answer 16
"""

Player = Callable[..., Result]


def hostile_item() -> Item:
    echo = tool("echo", HOSTILE, {"size": {"type": "integer"}}, [])
    question = "What?\x1b[2J [link=http://x]here[/link] \x07"
    return Item("hostile", question, "x", (hop("Q", "x", echo),), "Other", "text")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    items = (small_item(), small_item("small-2"), hostile_item())
    path = tmp_path / "items.json"
    path.write_text(json.dumps(to_rows(DataSet("test", "here", items))), encoding="utf-8")
    return path


@pytest.fixture
def player(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Player:
    monkeypatch.setenv("COLUMNS", "200")
    flags = ["--data", str(data), "--log-dir", str(tmp_path / "logs")]
    flags += ["--sandbox", "process", "--policy", "none"]

    def run(lines: str | bytes, *arguments: str) -> Result:
        result = CliRunner().invoke(play, [*arguments, *flags], input=lines)
        assert result.exit_code == 0, (result.output, result.exception)
        return result

    return run


def traces(folder: Path) -> list[Trace]:
    paths = sorted((folder / "logs").glob("*/episodes/*.jsonl"))
    return [read_trace(path) for path in paths]


# --- a whole game


def test_an_item_is_played_from_a_pipe(player: Player, tmp_path: Path) -> None:
    out = player(RIGHT, "small-1").stdout
    for text in (
        "What is the squared length of the capital of Norway (small-1)?",
        'turn 1/9> capital {"country": "Norway"}',
        'ok  "Oslo"',
        "strict rule       right",
        "official rule     right",
        "hops solved       3 of 3",
        "calls             3, 0 failed",
    ):
        assert text in out
    (trace,) = traces(tmp_path)
    verdict = score(trace)
    assert isinstance(verdict, Score)
    assert verdict.strict
    assert (trace.started.player, trace.started.mode) == ("person", "mandatory")
    assert "For every step you must call" in trace.started.messages[0].content
    folder = next((tmp_path / "logs").iterdir())
    assert json.loads((folder / "manifest.json").read_text())["status"] == "success"
    assert (folder / "items.jsonl").exists()
    assert str(folder / "episodes" / "small-1_mandatory_e1_a1.jsonl") in out


def test_a_form_asks_for_each_argument(player: Player, tmp_path: Path) -> None:
    lines = "capital\n\nNorway\nlower\nUPPER\nlength\n:cancel\npower\n4\n\n:answer 16\n"
    out = player(lines, "small-1").stdout
    assert 'country is required; "" gives the empty text' in out
    assert 'style takes one of "plain", "upper", not "lower"' in out
    assert "no call was made" in out
    (trace,) = traces(tmp_path)
    assert [call.raw.arguments for call in trace.calls] == [
        '{"country": "Norway", "style": "upper"}',
        '{"base": 4}',
    ]


def test_what_is_typed_reaches_the_simulator_unmended(player: Player, tmp_path: Path) -> None:
    lines = 'capital {"country": "Norway",}\ncapitol {}\npower base="4" && power base=4\n'
    out = player(lines, "small-1").stdout
    (trace,) = traces(tmp_path)
    codes = [call.error for call in trace.calls]
    assert codes == ["not_json", "unknown_tool", "wrong_type", None]
    assert [call.turn for call in trace.calls] == [1, 2, 3, 3]
    assert trace.calls[0].raw.arguments == '{"country": "Norway",}'
    assert "failed, not_json  The call was not run." in out
    assert "You left without an answer." in out
    assert "3 failed (not_json 1, unknown_tool 1, wrong_type 1)" in out


def test_feedback_changes_on_the_fly_and_tells_no_more_than_a_model_is_told(
    player: Player, tmp_path: Path
) -> None:
    lines = "power x=1\n:feedback minimal\n:feedback\npower x=1\n:history\n"
    out = player(lines, "small-1").stdout
    assert out.count("failed, missing_argument") == 2
    assert out.count("failed  The call failed.") == 2
    assert "Feedback is minimal; :feedback detailed or minimal sets it." in out
    (trace,) = traces(tmp_path)
    assert [e.level for e in trace.events if isinstance(e, FeedbackSet)] == ["minimal"]


def test_going_back_forks_the_trace(player: Player, tmp_path: Path) -> None:
    lines = "power x=1\nlength text=Peru\n:back 5\n:back 2\n:history\n" + RIGHT
    out = player(lines, "small-1").stdout
    assert "only 2 turns have been taken" in out
    assert "Back before turn 1" in out
    assert "No turn has been taken yet." in out
    assert "the branch you went back from: beside it" in out
    left, ended = traces(tmp_path)
    assert isinstance(score(left), Void)
    assert len(left.replies) == 2
    verdict = score(ended)
    assert isinstance(verdict, Score)
    assert (verdict.strict, verdict.failed_calls) == (True, 0)


def test_gold_is_told_only_if_asked_for(player: Player, tmp_path: Path) -> None:
    lines = "capital country=Norway\n:score\n:answer 3\n"
    hidden, shown = (player(lines, "small-1", *flag).stdout for flag in ([], ["--show-gold"]))
    assert "hops solved: 1 of 3" in hidden
    assert "strict rule       wrong" in hidden
    # The trace's path has the time of day in it.
    after = hidden.partition("turn 1/9>")[2].splitlines()
    assert "16" not in "".join(line for line in after if "episodes" not in line)
    assert "power → 16" in shown
    assert "gold answer       16" in shown


def test_all_commands_say_something(player: Player, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    lines = f"""
:help
:tools
:tool capital
:tool nothing
:question
:history
:back
:back x
:save
:save {copy}
:save {copy}
:save {tmp_path}/none/copy
:save \0
:answer
:unknown
nothing
:quit
"""
    out = player(lines, "small-1").stdout
    for text in (
        ":answer TEXT",
        "style  string",
        "the tools are: capital, length, power",
        "no turn has been taken yet",
        "say how many turns",
        "Every step is already in",
        f"Saved the game so far to {copy}",
        "is there already; name another file",
        "cannot be written",
        "say what you answer",
        "there is no command :unknown",
        "'nothing' is no tool",
    ):
        assert text in out
    assert read_trace(copy).started.item == "small-1"


# --- modes, limits, ends


def test_direct_mode_has_no_tools(player: Player, tmp_path: Path) -> None:
    out = player("capital\n:tools\n:answer 16\n", "small-1", "--mode", "direct").stdout
    assert "There are no tools in this mode" in out
    assert "there are none in direct mode" in out
    (trace,) = traces(tmp_path)
    assert trace.started.tools == ()


def test_the_last_turn_is_announced(player: Player, tmp_path: Path) -> None:
    out = player("power base=4\npower base=4\n:tools\n", "small-1", "--turn-limit", "2").stdout
    assert "This is the last turn" in out
    assert "That was the last turn, and it was no answer." in out
    (trace,) = traces(tmp_path)
    assert trace.ended
    assert trace.ended.ending is Ending.OUT_OF_TURNS


@pytest.mark.parametrize(
    "lines",
    [b"", b"\xff\xfe {\n", "größe ü=ß\n", "capital", "capital\n", "\r\n\x1b[A\n", "x" * 100_000],
)
def test_odd_input_ends_in_a_score(player: Player, lines: str | bytes) -> None:
    assert "You left without an answer." in player(lines, "small-1").stdout


def test_foreign_text_cannot_reach_the_terminal(player: Player) -> None:
    out = player("echo {}\necho size=5000\n:history\n", "hostile").stdout
    assert not set(out) & set("\x1b\x07\x9b\u202e")
    assert "What?\\x1b[2J [link=http://x]here[/link] \\x07" in out
    assert "[bold]red[/bold] \\x9b31m \\u202e back" in out
    assert "more characters" in out


# --- the choice of the item


def test_items_are_picked_by_seed() -> None:
    items = tuple(small_item(f"small-{number}") for number in range(20))
    dataset = DataSet("test", "here", items)
    picked = {choose(dataset, "random", seed).id for seed in range(30)}
    assert len(picked) > 5
    assert choose(dataset, "random", 3) == choose(dataset, "random", 3)
    assert choose(dataset, "small-1?", 3).id in {f"small-1{n}" for n in range(10)}
    assert choose(dataset, "small-7", 3).id == "small-7"
    with pytest.raises(BadChoice, match="no item 'smal-7' in test; the nearest ids are small-7"):
        choose(dataset, "smal-7", 3)


def test_a_random_item_says_how_to_get_it_again(player: Player) -> None:
    first = player("")
    again = player("", "--seed", first.stderr.split("--seed ")[1].split()[0])
    assert again.stderr == first.stderr
    assert "picked at random" in first.stderr


def shell(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments, "--data", str(data), "--log-dir", str(data.parent / "logs")],
        cwd=ROOT,
        env=os.environ | environment,
        input=":quit\n",
        text=True,
        capture_output=True,
        timeout=60,
    )


def test_unknown_items_end_with_code_2_and_the_nearest_ids(data: Path) -> None:
    ended = shell(data, "smal-1")
    assert ended.returncode == 2
    assert "the nearest ids are small-1, small-2" in ended.stderr
    assert ended.stdout == ""


def test_a_poor_terminal_encoding_ends_no_game(data: Path) -> None:
    arguments = ("small-1", "--sandbox", "process", "--policy", "none")
    ended = shell(data, *arguments, PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "small-1 ? Geography" in ended.stdout


def test_help_loads_no_terminal_library() -> None:
    code = "import sys, agents.cli.play; print({'prompt_toolkit', 'rich'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ended.stdout.strip() == "set()", ended.stderr


# --- history


def test_history_is_private_and_never_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = history_file()
    assert path == tmp_path / "state" / "toolhop" / "play_history"
    history: Any = open_history(path)
    history.append_string("capital \udcff")
    assert "capital ?" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert history_file().is_relative_to(Path.home())
    (tmp_path / "file").write_text("")
    open_history(tmp_path / "file" / "play_history").append_string("kept in memory")
