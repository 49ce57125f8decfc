"""`toolhop play` from a pipe. Tools are answered by a table, but for one game in a sandbox."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.agents.command import toolhop
from tests.agents.items import hop, small_item, tool
from tests.canned import CannedSandbox
from tests.env import scenes
from toolhop_agents.play.command import choose, play
from toolhop_agents.play.prompt import history_file, open_history
from toolhop_env.benchmarks import score
from toolhop_env.runs.catalog import read_trace
from toolhop_env.runs.files import StoreError
from toolhop_env.score import Errored, Score
from toolhop_env.trace import Ending, FeedbackSet, Trace
from toolhop_sandbox.base import Program
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import (
    DataSet,
    EpisodeAction,
    Item,
    RecordedTable,
    Simulated,
    Tool,
    ToolSchema,
    canonical,
)

ROOT = Path(__file__).parents[2]
HOSTILE = """
def echo(size=0):
    return "[bold]red[/bold] \\x9b31m \\u202e back" + "x" * size
"""
RIGHT = """capital {"country": "Norway"}
length text=Oslo
power(base=4)
:answer 16
"""

Agent = Callable[..., Result]


def hostile_item() -> Item:
    echo = tool("echo", HOSTILE, {"size": {"type": "integer"}}, [])
    question = "What?\x1b[2J [link=http://x]here[/link] \x07"
    return Item("hostile", question, "x", (hop("Q", "x", echo),), "Other", "text")


def answered(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    """What the tools of the two items return, without a sandbox."""
    match program.function, dict(arguments):
        case "capital", {"country": "Norway", **more}:
            return Returned('"OSLO"' if more.get("style") == "upper" else '"Oslo"')
        case "length", {"text": str(text)}:
            return Returned(str(len(text)))
        case "power", {"base": int(base)}:
            return Returned(str(base**2))
        case "echo", {**more}:
            size = more.get("size", 0)
            assert isinstance(size, int)
            return Returned(
                json.dumps("[bold]red[/bold] \x9b31m \u202e back" + "x" * size, ensure_ascii=False)
            )
        case _:
            return Raised("KeyError", "no such row")


async def open_canned(*_: object, **__: object) -> CannedSandbox:
    return CannedSandbox(answered)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    items = (small_item(), small_item("small-2"), hostile_item())
    path = tmp_path_factory.mktemp("data") / "items.json"
    path.write_text(json.dumps(to_rows(DataSet("test", "here", items))), encoding="utf-8")
    return path


@pytest.fixture
def agent(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("COLUMNS", "200")
    # A process for each call is what a game costs; the sandbox has tests of its own.
    monkeypatch.setattr("toolhop_agents.play.command.open_sandbox", open_canned)
    flags = ["--data", str(data), "--log-dir", str(tmp_path / "logs")]

    def run(lines: str | bytes, *arguments: str, charset: str = "utf-8") -> Result:
        runner = CliRunner(charset=charset)
        result = runner.invoke(play, [*arguments, *flags], input=lines)
        assert result.exit_code == 0, (result.output, result.exception)
        return result

    return run


def traces(folder: Path) -> list[Trace]:
    paths = sorted((folder / "logs").glob("*/episodes/*.jsonl"))
    return [read_trace(path) for path in paths]


# --- a whole game


def test_an_item_is_played_from_a_pipe(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolhop_agents.play.command.open_sandbox", open_sandbox)
    out = agent(RIGHT, "small-1", "--sandbox", "process", "--policy", "none").stdout
    for text in (
        "What is the squared length of the capital of Norway (small-1)?",
        'turn 1/9> capital {"country": "Norway"}',
        'ok  "Oslo"',
        "strict                    right",
        "official                  right",
        "hops solved               3/3",
        "calls                     3, 0 failed",
    ):
        assert text in out
    (trace,) = traces(tmp_path)
    verdict = score(trace)
    assert isinstance(verdict, Score)
    assert verdict.value("strict") == 1
    assert (trace.started.agent, trace.started.mode) == ("person", "mandatory")
    assert "For every step you must call" in trace.started.messages[0].content
    folder = next((tmp_path / "logs").iterdir())
    assert json.loads((folder / "manifest.json").read_text())["status"] == "success"
    assert (folder / "items.jsonl").exists()
    assert str(folder / "episodes" / "small-1_mandatory_e1_a1.jsonl") in out


def test_a_form_asks_for_each_argument(agent: Agent, tmp_path: Path) -> None:
    lines = "capital\n\nNorway\nlower\nUPPER\nlength\n:cancel\npower\n4\n\n:answer 16\n"
    out = agent(lines, "small-1").stdout
    assert 'country is required; "" gives the empty text' in out
    assert 'style takes one of "plain", "upper", not "lower"' in out
    assert "no call was made" in out
    (trace,) = traces(tmp_path)
    assert [call.raw.arguments for call in trace.calls] == [
        '{"country": "Norway", "style": "upper"}',
        '{"base": 4}',
    ]


def test_what_is_typed_reaches_the_simulator_as_it_is(agent: Agent, tmp_path: Path) -> None:
    lines = 'capital {"country": "Norway",}\ncapitol {}\npower base="4" && power base=4\n'
    out = agent(lines, "small-1").stdout
    (trace,) = traces(tmp_path)
    codes = [call.error for call in trace.calls]
    assert codes == ["not_json", "unknown_tool", "wrong_type", None]
    assert [call.turn for call in trace.calls] == [1, 2, 3, 3]
    assert trace.calls[0].raw.arguments == '{"country": "Norway",}'
    assert "failed, not_json  The call was not run." in out
    assert "You left without an answer." in out
    assert "3 failed (not_json 1, unknown_tool 1, wrong_type 1)" in out


def test_feedback_changes_on_the_fly_and_says_no_more_than_a_model_sees(
    agent: Agent, tmp_path: Path
) -> None:
    lines = "power x=1\n:feedback minimal\n:feedback\npower x=1\n:history\n"
    out = agent(lines, "small-1").stdout
    assert out.count("failed, missing_argument") == 2
    assert out.count("failed  The call failed.") == 2
    assert "Feedback is minimal; :feedback detailed, minimal, code, " in out
    (trace,) = traces(tmp_path)
    assert [e.level for e in trace.events if isinstance(e, FeedbackSet)] == ["minimal"]


def test_going_back_forks_the_trace(agent: Agent, tmp_path: Path) -> None:
    lines = "power x=1\nlength text=Peru\n:back 5\n:back 2\n:history\n" + RIGHT
    out = agent(lines, "small-1").stdout
    assert "only 2 turns have been taken" in out
    assert "Back before turn 1" in out
    assert "No turn has been taken yet." in out
    assert "the branch you went back from: beside it" in out
    left, ended = traces(tmp_path)
    assert isinstance(score(left), Errored)
    assert len(left.replies) == 2
    verdict = score(ended)
    assert isinstance(verdict, Score)
    assert (verdict.value("strict"), verdict.conduct.failed_calls) == (1, 0)


def test_a_retry_reports_the_first_failure_at_another_level(agent: Agent, tmp_path: Path) -> None:
    lines = ":retry minimal\n:retry loud\npower x=1\nlength text=Peru\n:retry minimal\n:answer 16\n"
    out = agent(lines, "small-1").stdout
    assert "no call has failed yet" in out
    assert "name a feedback level: :retry detailed, minimal, code, " in out
    assert "failed  The call failed." in out
    left, ended = traces(tmp_path)
    assert (len(left.replies), len(ended.replies), ended.started.feedback) == (2, 2, "minimal")
    assert isinstance(score(ended), Score)


def test_hops_and_gold_are_shown_only_if_asked_for(agent: Agent, tmp_path: Path) -> None:
    lines = "capital country=Norway\n:score\n:answer 3\n"
    flags: list[list[str]] = [[], ["--show-hops"], ["--show-gold"]]
    hidden, hops, shown = (agent(lines, "small-1", *flag).stdout for flag in flags)
    # The trace's path has the time of day in it, and the result is told when the game is over.
    during = hidden.partition("turn 1/9>")[2].partition("strict")[0]
    assert "calls: 1, failed: 0; turn 2/9 is next" in during
    assert "hops" not in during
    assert "16" not in during
    assert "hops reached: 1 of 3" in hops
    assert "power → 16" not in hops
    assert "strict                    wrong" in hidden
    assert "power → 16" in shown
    assert "gold answer               16" in shown
    names = [trace.started.agent for trace in traces(tmp_path)]
    assert sorted(names) == ["person", "person:gold", "person:hops"]


def test_a_game_that_goes_on_says_what_was_shown_in_either_part(
    agent: Agent, tmp_path: Path
) -> None:
    agent("capital country=Norway\n", "small-1", "--show-gold")
    (left,) = (tmp_path / "logs").iterdir()
    again = ["--resume", str(left), "--show-hops", "--log-dir", str(tmp_path / "logs")]
    assert CliRunner().invoke(play, again, input=":answer 16\n").exit_code == 0
    assert sorted(trace.started.agent for trace in traces(tmp_path)) == [
        "person:gold",
        "person:gold+hops",
    ]


def test_a_check_says_what_is_wrong_and_takes_no_turn(agent: Agent, tmp_path: Path) -> None:
    lines = """
:check power x=1
:check power base=4 && capitol {}
:check power base=4
:check power
:check no call
:feedback minimal
:check power x=1
"""
    out = agent(lines, "small-1").stdout
    assert "The call would not be run. power needs the argument `base`, which is missing." in out
    assert 'There is no tool "capitol"' in out
    assert "Nothing is wrong with it. It was not made: type it." in out
    assert "say which call, with its arguments" in out
    assert "The call would fail." in out
    assert "turn 2/9>" not in out
    (trace,) = traces(tmp_path)
    assert trace.replies == ()


def test_a_game_that_was_left_goes_on(agent: Agent, tmp_path: Path) -> None:
    lines = "capital country=Norway\n:feedback minimal\npower x=1\n:back\nlength text=Oslo\n:quit\n"
    out = agent(lines, "small-1").stdout
    (left,) = (tmp_path / "logs").iterdir()
    assert f"toolhop play --resume {left}" in out

    def resumed(folder: Path, log_dir: str, lines: str, *flags: str) -> Result:
        given = ["--resume", str(folder), "--log-dir", str(tmp_path / log_dir), *flags]
        return CliRunner().invoke(play, given, input=lines)

    done = resumed(left, "again", ":history\n:feedback\npower base=4\n:answer 16\n")
    assert done.exit_code == 0, (done.output, done.exception)
    assert "Feedback is minimal" in done.stdout
    assert "turn 3/9>" in done.stdout
    (path,) = (tmp_path / "again").glob("*/episodes/*.jsonl")
    trace = read_trace(path)
    verdict = score(trace)
    assert isinstance(verdict, Score)
    assert (verdict.value("strict"), verdict.conduct.calls, len(trace.replies)) == (1, 3, 4)
    over = resumed(path.parents[1], "more", "")
    assert isinstance(over.exception, StoreError)
    assert "is over" in str(over.exception)
    assert "leave ITEM out" in resumed(left, "more", "", "small-1").output
    assert "leave --mode out" in resumed(left, "more", "", "--mode", "free").output


def test_all_commands_say_something(agent: Agent, tmp_path: Path) -> None:
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
    out = agent(lines, "small-1").stdout
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
        "'nothing' is not a tool",
    ):
        assert text in out
    assert read_trace(copy).started.item == "small-1"


# --- tools that no program answers


def named(name: str, body: RecordedTable | Simulated | EpisodeAction) -> Tool:
    text: dict[str, JSON] = {"type": "string"}
    schema: dict[str, JSON] = {"type": "object", "properties": {"answer": text}}
    return Tool(ToolSchema(name, f"The {name} tool.", schema), body)


def test_tools_with_any_body_can_be_called(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = RecordedTable({canonical({}): Returned('"recorded"')}, Raised("KeyError", "?"))
    others = (
        named("look", recorded),
        named("oracle", Simulated("You know everything.")),
        named("ask", EpisodeAction.ASK_USER),
        named("change", EpisodeAction.CHANGE_TOOLS),
        named("give_up", EpisodeAction.GIVE_UP),
        named("finish", EpisodeAction.FINISH),
    )
    data = DataSet("test", "here", (replace(small_item(), others=others),))
    monkeypatch.setattr("toolhop_agents.play.command.load", lambda _: data)
    lines = """
:tools
look {}
oracle {}
{"sky": "blue"}
ask answer="Which one?"
the first
change {}
:tool finish
"""
    out = agent(lines + 'finish answer="16"\n', "small-1").stdout
    assert "You know everything." in out
    assert "You answer in the place of the user" in out
    assert "You answered." in out
    agent(lines + "give_up {}\n", "small-1")
    finished, gave_up = traces(tmp_path)
    assert [call.feedback for call in finished.calls][:4] == [
        '"recorded"', '{"sky": "blue"}', '"the first"', '{"new_tools": []}',
    ]  # fmt: skip
    ends = [trace.ended.ending for trace in (finished, gave_up) if trace.ended]
    assert ends == [Ending.ANSWERED, Ending.GAVE_UP]
    assert finished.final_text == "16"


def test_a_labelled_item_has_a_user_of_its_own_and_other_tools_come(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = scenes.unmatched(reserve=True)
    monkeypatch.setattr("toolhop_agents.play.command.load", lambda _: DataSet("s", "", (item,)))
    lines = """
talk_to_user question="Which country?" about=country
change_tools reason="none fits" need="capital of a country"
:tool capital_of
capital_of country=Norway
:answer 717710
"""
    out = agent(lines, item.id).stdout
    assert "You answer in the place of" not in out
    assert "From the next turn on these tools are on offer too:" in out
    (trace,) = traces(tmp_path)
    assert trace.calls[2].outcome is not None, "the new tool was called"
    assert trace.calls[0].feedback == '"I do not know."'


# --- modes, limits, ends


def test_direct_mode_has_no_tools(agent: Agent, tmp_path: Path) -> None:
    out = agent("capital\n:tools\n:answer 16\n", "small-1", "--mode", "direct").stdout
    assert "There are no tools in this mode" in out
    assert "there are none in this mode" in out
    (trace,) = traces(tmp_path)
    assert trace.started.tools == ()


def test_the_last_turn_is_announced(agent: Agent, tmp_path: Path) -> None:
    out = agent("power base=4\npower base=4\n:tools\n", "small-1", "--turn-limit", "2").stdout
    assert "This is the last turn" in out
    assert "That was the last turn, and it was not an answer." in out
    (trace,) = traces(tmp_path)
    assert trace.ended
    assert trace.ended.ending is Ending.OUT_OF_TURNS


@pytest.mark.parametrize(
    "lines",
    [b"", b"\xff\xfe {\n", "größe ü=ß\n", "capital", "capital\n", "\r\n\x1b[A\n", "x" * 100_000],
)
def test_odd_input_ends_in_a_score(agent: Agent, lines: str | bytes) -> None:
    assert "You left without an answer." in agent(lines, "small-1").stdout


def test_foreign_text_cannot_reach_the_terminal(agent: Agent) -> None:
    out = agent("echo {}\necho size=5000\n:history\n", "hostile").stdout
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
    with pytest.raises(BadChoice, match="the nearest ids are small-0, small-1, small-2"):
        choose(dataset, "S", 3)


def test_a_random_item_says_how_to_get_it_again(agent: Agent) -> None:
    first = agent("")
    again = agent("", "--seed", first.stderr.split("--seed ")[1].split()[0])
    assert again.stderr == first.stderr
    assert "picked at random" in first.stderr


def test_unknown_items_end_with_code_2_and_the_nearest_ids(data: Path, tmp_path: Path) -> None:
    ended = toolhop("play", "smal-1", "--data", str(data), "--log-dir", str(tmp_path))
    assert ended.returncode == 2
    assert "the nearest ids are small-1, small-2" in ended.stderr
    assert ended.stdout == ""


def test_unknown_modes_end_with_code_2_and_those_there_are(data: Path, tmp_path: Path) -> None:
    flags = ("--data", str(data), "--log-dir", str(tmp_path))
    ended = toolhop("play", "small-1", "--mode", "plan", *flags)
    assert ended.returncode == 2
    assert "its modes are mandatory, free, direct" in ended.stderr


def test_a_poor_terminal_encoding_ends_no_game(agent: Agent) -> None:
    ended = agent(":quit\n", "small-1", charset="ascii")
    assert "small-1 ? Geography" in ended.stdout


def test_help_loads_no_terminal_library() -> None:
    heavy = "{'prompt_toolkit', 'rich'}"
    code = f"import sys, toolhop_agents.play.command; print({heavy} & set(sys.modules))"
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
