"""How far something has come, as it is reported while it goes on."""

from __future__ import annotations

import io
import time
from dataclasses import replace

import pytest
from rich.console import Console

from tests.env.made import scored
from toolhop_agents.cli.progress import Episodes, Steps
from toolhop_env.messages import Origin, Reply, Usage
from toolhop_env.score import Errored
from toolhop_env.summary import summarize
from toolhop_env.trace import Replied


def told(*, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100)
    with Steps(console, "[episodes]", 3) as shown:
        for name in "abc":
            shown.step(name)
    return out.getvalue()


def test_a_terminal_has_a_bar_with_the_count() -> None:
    assert "3/3" in told(terminal=True)
    assert "[episodes]" in told(terminal=True)


def test_on_a_narrow_terminal_the_figures_stand_below_the_bar() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    with Episodes(console, "openai/" + "a-long-name-of-a-model-" * 3, 20):
        pass
    below = "0 turns, 0 tokens, no reply yet, asked 0 s ago"
    assert [line for line in out.getvalue().splitlines() if line.strip() == below]


def test_a_file_has_nothing_from_what_is_done_at_once() -> None:
    assert told(terminal=False) == ""


def test_lines_in_a_file_end_with_all_that_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 6.0, 7.0])
    monkeypatch.setattr("toolhop_agents.cli.progress.time.monotonic", lambda: next(clock))
    out = io.StringIO()
    with Steps(Console(file=out), "items", 2) as shown:
        shown.step()
        shown.step()
    assert out.getvalue() == "1/2 items\n2/2 items\n"


def test_a_leading_measure_that_is_a_mean_of_two_is_shown_as_tables_have_it() -> None:
    right, wrong = (1.0, 1.0), (0.0, 1.0)
    known = [
        {"decided": right, "decided_solvable": right},
        {"decided": right, "decided_solvable": right},
        {"decided": right, "decided_solvable": right},
        {"decided": wrong, "decided_unsolvable": wrong},
    ]
    attempts = [scored("scenarios", f"i{n}", "informed", one) for n, one in enumerate(known)]
    shown = Episodes(Console(file=io.StringIO()), "agent", len(attempts))
    for number, one in enumerate(attempts):
        shown.result(one)
        # Until an unsolvable task is played there is no mean of both.
        assert ("decided rightly" in shown.figures) == (number == 3)
    (summary,) = summarize(attempts)
    figure = summary.figures["decided"]
    assert figure is not None
    assert f"decided rightly {figure.value:.1%}" in shown.figures
    assert figure.value == 0.5


def replied(turn: int, origin: Origin = Origin.ASKED) -> Replied:
    reply = Reply("x", usage=Usage(input_tokens=100, output_tokens=20), origin=origin)
    return Replied(turn=turn, reply=reply)


def test_turns_tokens_and_the_age_of_the_last_reply_are_shown_between_ends() -> None:
    shown = Episodes(Console(file=io.StringIO()), "agent", 20)
    assert "0 turns, 0 tokens, no reply yet, asked 0 s ago" in shown.figures
    shown.event(replied(1))
    shown.event(replied(2))
    shown.event(replied(3, Origin.RESUMED))  # of an earlier attempt: nobody was asked
    assert "2 turns, 240 tokens, last reply 0 s ago" in shown.figures


def test_the_age_grows_on_a_terminal_and_in_a_file_while_nothing_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolhop_agents.cli.progress.QUIET_S", 0.05)
    for terminal in (True, False):
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, width=200)
        with Episodes(console, "agent", 1) as shown:
            shown.event(replied(1))
            while "last reply 1 s ago" not in out.getvalue():
                time.sleep(0.05)
        assert "0/1" in out.getvalue()


def test_errored_episodes_are_counted_and_not_their_attempts_and_the_last_cause_is_told() -> None:
    shown = Episodes(Console(file=io.StringIO()), "agent", 2)
    one = scored("scenarios", "i1", "informed", {"decided": (1.0, 1.0)})
    who = "the model could not be asked: " + "x" * 200
    for attempt in (1, 2, 3):
        shown.result(
            replace(one, attempt=attempt, verdict=Errored(f"{who} HTTP 500: broken\n  fix: x"))
        )
    assert "1 errored: " in shown.figures
    assert "HTTP 500: broken" in shown.figures
    shown.result(replace(one, attempt=4))
    assert "errored" not in shown.figures
