"""A large hostile result holds up nobody: it is checked off the event loop, token by token."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Awaitable, Callable

import anyio
import pytest

from toolhop_sandbox import json_text
from toolhop_sandbox.base import Limits
from toolhop_sandbox.outcome import Died, NotJson, Outcome, Raised, Returned
from toolhop_sandbox.replies import OUTCOME_BYTES, READ_AT_ONCE_CHARS, read_answer
from toolhop_sandbox.worker import call, wire

HOSTILE = "[" + ",".join(["[]"] * 333_000) + "]"
"""Of 1 MB, what takes json.loads longest: many small containers, which the collector visits."""


def answer(text: str) -> bytes:
    return wire.RESULT + text.encode()


async def longest_pause_s(work: Callable[[], Awaitable[object]]) -> float:
    """The longest time that another task of the loop has to wait while `work` is done."""
    longest, over = 0.0, False

    async def others() -> None:
        nonlocal longest
        before = time.perf_counter()
        while not over:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, before = max(longest, now - before), now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        await asyncio.sleep(0)
        await work()
        over = True
    return longest


@pytest.mark.heavy
def test_other_tasks_go_on_while_a_hostile_result_is_read() -> None:
    async def on_the_loop() -> None:
        json.loads(HOSTILE)

    async def ours() -> None:
        assert isinstance(await read_answer(answer(HOSTILE), Limits()), Returned)

    async def run() -> tuple[float, float]:
        # Of some tries the best each: other work on the machine makes pauses longer, never shorter.
        return (
            min([await longest_pause_s(ours) for _ in range(3)]),
            min([await longest_pause_s(on_the_loop) for _ in range(3)]),
        )

    pause_s, control_s = anyio.run(run)
    assert pause_s < control_s / 2


@pytest.mark.parametrize(
    ("chars", "elsewhere"), [(READ_AT_ONCE_CHARS, False), (READ_AT_ONCE_CHARS + 1, True)]
)
def test_a_large_result_is_read_in_a_thread(
    chars: int, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    check = json_text.check

    def watched(text: str) -> None:
        threads.append(threading.current_thread())
        check(text)

    monkeypatch.setattr(json_text, "check", watched)
    text = json.dumps("x" * (chars - 2))
    assert anyio.run(read_answer, answer(text), Limits()) == Returned(text)
    assert [one is not threading.main_thread() for one in threads] == [True] * elsewhere


LARGE = "x" * READ_AT_ONCE_CHARS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f'["{LARGE}", NaN]', "no JSON at character"),
        (f'["{LARGE}", 1e999]', "1e999 is no JSON"),
        (f'["{LARGE}"', "unexpected ''"),
        (f'["{LARGE}"]]', "unexpected ']'"),
        (f'{{"{LARGE}" 1}}', "unexpected '1'"),
        ("[" * 40_000, "nested more than 500 deep"),
        ("1" * 40_000, "more than 4300 digits"),
        (f'"{LARGE}\n"', "no JSON at character 0"),
    ],
)
def test_a_large_result_that_is_no_json(text: str, reason: str) -> None:
    outcome: Outcome = anyio.run(read_answer, answer(text), Limits())
    assert isinstance(outcome, NotJson)
    assert reason in outcome.reason


@pytest.mark.parametrize(("more_bytes", "read"), [(0, True), (1, False)])
def test_an_outcome_is_read_up_to_its_cap(more_bytes: int, read: bool) -> None:
    fields = {"kind": "raised", "error": "E", "message": "", "line": 1}
    fields["message"] = "x" * (OUTCOME_BYTES - len(json.dumps(fields)) + more_bytes)
    frame = wire.OUTCOME + json.dumps(fields).encode()
    assert isinstance(anyio.run(read_answer, frame, Limits()), Raised if read else Died)


def test_the_longest_outcome_of_a_worker_is_below_the_cap() -> None:
    frame = call.outcome(
        "raised", error="\U0001f600" * call.NAME_CHARS, message="\U0001f600" * call.MESSAGE_CHARS
    )
    assert len(frame) <= OUTCOME_BYTES


PIECES = (
    "[", "]", "{", "}", ",", ":", '"a"', '"é"', r'"\n"', r'"\x"', r'"\u12"', r'"\ud83d"',
    "1", "-", "0", "01", "1.5", "1.", ".5", "1e5", "1E-5", "1e999", "-0", "true", "false", "null",
    "nul", "NaN", "-Infinity", ".", "\ufeff", "\x0b", " ", "\t",
)  # fmt: skip


def _refuse(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(text)
    return value


def accepted(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def test_it_accepts_what_the_standard_library_does() -> None:
    draw = random.Random(0)

    def library(text: str) -> object:
        return json.loads(text, parse_constant=_refuse, parse_float=_refuse)

    texts = {
        "".join(draw.choices([*PIECES, " ", "\t"], k=draw.randrange(8))) for _ in range(20_000)
    }
    texts |= {json.dumps([text, {text: [1, -2.5e-7, None, True]}]) for text in list(texts)[:500]}
    differing = [
        text for text in texts if accepted(library, text) != accepted(json_text.check, text)
    ]
    assert differing == []
    assert sum(accepted(library, text) for text in texts) > 500
