"""Many calls in one process end as they do one by one."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from sandbox.base import Limits, Program
from sandbox.choose import open_sandbox
from sandbox.outcome import JSON, Died, Outcome, Raised, Returned, TimedOut
from toolhop_tools.batch import BatchOutcome, Skipped, driven, run_batch

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


async def outcomes(
    program: Program, sets: list[dict[str, JSON]], *, wall_s: float = 1.0
) -> tuple[list[BatchOutcome], list[Outcome]]:
    opened = await open_sandbox("process", limits=Limits(wall_s=wall_s))
    async with opened as sandbox, sandbox.session() as session:
        together = await run_batch(session, program, sets, size=8)
        alone = [await session.call(program, one) for one in sets[:8]]
    return together, alone


def without_line(outcome: BatchOutcome) -> BatchOutcome:
    return replace(outcome, line=None) if isinstance(outcome, Raised) else outcome


@pytest.mark.parametrize("name", SOURCES)
def test_calls_together_end_as_alone(name: str) -> None:
    together, alone = anyio.run(outcomes, Program(SOURCES[name], "f"), SETS)
    assert len(together) == len(SETS)
    assert [without_line(one) for one in together[:8]] == [without_line(one) for one in alone]


def test_one_call_without_an_end_is_found() -> None:
    source = "def f(a):\n    while a == 7:\n        pass\n    return a"
    program = Program(source, "f")

    async def run() -> list[BatchOutcome]:
        opened = await open_sandbox("process", limits=Limits(wall_s=0.3))
        async with opened as sandbox, sandbox.session() as session:
            return await run_batch(session, program, SETS)

    found = anyio.run(run)
    assert [isinstance(one, TimedOut) for one in found] == [one["a"] == 7 for one in SETS]


def test_a_tool_without_an_end_is_given_up() -> None:
    program = Program("def f(a):\n    while True:\n        pass", "f")

    async def run() -> list[BatchOutcome]:
        opened = await open_sandbox("process", limits=Limits(wall_s=0.1))
        async with opened as sandbox, sandbox.session() as session:
            return await run_batch(session, program, SETS, most_cut=2)

    assert {type(one) for one in anyio.run(run)} <= {TimedOut, Skipped}


def test_a_forged_report_is_not_believed() -> None:
    source = "import json\ndef f(a):\n    raise SystemExit('x')"
    found, alone = anyio.run(outcomes, Program(source, "f"), SETS)
    assert [without_line(one) for one in found[:8]] == [without_line(one) for one in alone]
    assert not any(isinstance(one, Returned | Died) for one in found)


def test_the_driver_keeps_the_lines_and_takes_a_free_name() -> None:
    program = Program("def f(run_argument_sets):\n    return 1\n", "f")
    driver = driven(program)
    assert driver is not None
    assert driver.source.startswith(program.source)
    assert driver.function not in program.source
    assert driven(Program("f = 1", "no name")) is None
    assert driven(Program("f = 1", "class")) is None
