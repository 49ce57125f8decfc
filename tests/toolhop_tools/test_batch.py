"""Many calls in one process end as they do one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from toolhop_sandbox.base import Limits, Program
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Died, Outcome, Raised, Returned, TimedOut
from toolhop_tools.batch import MOST_CUT, Arguments, CallRun, in_batches, load_call, run_batch

SETS: list[dict[str, JSON]] = [{"a": number} for number in range(20)]
SOURCES = {
    "returns": "def f(a):\n    return {'é': a}",
    "raises": "def f(a):\n    if a % 3 == 0:\n        raise ValueError(a)\n    return a",
    "no json": "def f(a):\n    return {1, 2} if a == 4 else float('nan') if a == 5 else a",
    "mutates": "def f(a, seen=[]):\n    return a",
    "does not compile": "def f(a:\n    return a",
    "not defined": "def g(a):\n    return a",
    "refused": "import os\ndef f(a):\n    return a",
    "raises above": "1 / 0\ndef f(a):\n    return a",
    "half a pair": "def f(a):\n    return '\\ud800'",
    "other parameters": "def f(b):\n    return b",
    "own json": "json = str = len = None\ndef f(a):\n    return a",
    "ends in a comment": "def f(a):\n    return a  # and then",
    "a parameter named as a built-in": "def f(a, type=None):\n    return a",
    "long results": "def f(a):\n    return 'x' * 150_000",
    "driver's name": "def f(a):\n    run_argument_sets = a\n    return a",
}


async def outcomes(program: Program) -> tuple[list[CallRun | None], list[Outcome]]:
    opened = await open_sandbox("process", limits=Limits(wall_s=1.0), max_workers=1)
    async with opened as sandbox, sandbox.session() as session:
        together = await run_batch(session, program, SETS)
        alone = [await session.call(program, one) for one in SETS]
    return together, alone


def without_line(outcome: Outcome) -> Outcome:
    return replace(outcome, line=None) if isinstance(outcome, Raised) else outcome


@pytest.mark.parametrize("name", SOURCES)
def test_calls_together_end_as_alone(name: str) -> None:
    together, alone = anyio.run(outcomes, Program(SOURCES[name], "f"))
    told = [run and without_line(run.outcome) for run in together]
    assert told == [without_line(one) for one in alone]


def calls_of(program: Program, answer: Callable[[Program, Arguments], Outcome]) -> int:
    """How many calls a batch of all sets takes, where `answer` is the sandbox."""
    calls, made = in_batches(program, SETS), 0
    try:
        step = next(calls)
        while True:
            made += 1
            step = calls.send(answer(*step))
    except StopIteration:
        return made


def test_a_module_level_that_raises_costs_two_calls() -> None:
    program = Program("1 / 0\n", "f")
    assert calls_of(program, lambda *_: Raised("ZeroDivisionError", "division by zero", 1)) == 2


def test_a_driver_that_the_tool_breaks_costs_one_call() -> None:
    program = Program("len = None\ndef f(a):\n    return a\n", "f")

    def answer(called: Program, _: Arguments) -> Outcome:
        return Returned("1") if called == program else Raised("TypeError", "not callable", 9)

    assert calls_of(program, answer) == 1 + len(SETS)


def test_one_call_without_an_end_is_found() -> None:
    source = "def f(a):\n    while a == 7:\n        pass\n    return a"
    program = Program(source, "f")

    async def run() -> list[CallRun | None]:
        opened = await open_sandbox("process", limits=Limits(wall_s=1.0), max_workers=1)
        async with opened as sandbox, sandbox.session() as session:
            return await run_batch(session, program, SETS)

    found = [run and type(run.outcome) for run in anyio.run(run)]
    assert found == [TimedOut if one["a"] == 7 else Returned for one in SETS]


def test_a_tool_without_an_end_is_given_up() -> None:
    program = Program("def f(a):\n    while True:\n        pass", "f")
    made: list[Program] = []

    def answer(called: Program, _: Arguments) -> Outcome:
        made.append(called)
        return TimedOut(1.0)

    assert calls_of(program, answer) == len(made) <= MOST_CUT + 3
    assert made.count(program) == MOST_CUT


def test_a_forged_report_is_not_believed() -> None:
    source = "import json\ndef f(a):\n    raise SystemExit('x')"
    found, alone = anyio.run(outcomes, Program(source, "f"))
    assert [run and without_line(run.outcome) for run in found] == [
        without_line(one) for one in alone
    ]
    assert not any(run and isinstance(run.outcome, Returned | Died) for run in found)


def test_the_driver_keeps_the_lines_and_takes_a_free_name() -> None:
    program = Program("def f(run_argument_sets):\n    return 1\n", "f")
    step = load_call(program)
    assert step is not None
    driver, _ = step
    assert driver.source.startswith(program.source)
    assert driver.function not in program.source
    assert load_call(Program("f = 1", "no name")) is None
    assert load_call(Program("f = 1", "class")) is None
