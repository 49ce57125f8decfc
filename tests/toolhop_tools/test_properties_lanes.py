"""Lanes: processes that check, what they survive, and tools that no examples can be made for."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.toolhop_tools.checked import subject
from tests.waiting import until
from toolhop_env.rejection import Rejections
from toolhop_sandbox.base import Limits
from toolhop_sandbox.errors import SandboxUnavailable
from toolhop_tools.batch import Arguments
from toolhop_tools.model import ToolSchema
from toolhop_tools.properties.check import CheckJob
from toolhop_tools.properties.lanes import Lane, check_all, wait_for
from toolhop_tools.properties.model import (
    PROPERTIES,
    Fails,
    Gold,
    Holds,
    NotApplicable,
    Rejection,
    Subject,
    ToolReport,
)
from toolhop_tools.properties.store import Store

ROOT = Path(__file__).parents[2]
LIMITS = Limits(wall_s=1.0, memory_mib=128)
GOOD = "def f(n):\n    return 2 * n\n"


def checked(
    *tools: Subject,
    silent_s: float = 30.0,
    lanes: int = 1,
    properties: tuple[str, ...] = tuple(PROPERTIES),
) -> list[ToolReport]:
    job = CheckJob(Rejections, LIMITS, "process", properties=properties, count=5)
    return check_all(tools, job, lanes=lanes, silent_s=silent_s)


def kinds(report: ToolReport) -> dict[str, str]:
    return {found.property: found.kind for found in report.failed}


def busy_machine() -> None:
    """Check two tools with five programs on one processor, in a process of its own.

    One tool needs a third of its second, and several of them beside the others; one never ends.
    """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    source = (
        "import time\n\ndef f(n):\n    began = time.process_time()\n"
        "    while time.process_time() - began < 0.3:\n        pass\n    return n\n"
    )
    one = {"n": {"enum": [1]}}
    tools = subject(source, one), subject("def f(n):\n    while True: pass\n", one)
    spins = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        for report in checked(*tools, properties=("valid-input",)):
            print(kinds(report).get("valid-input", "holds"))  # noqa: T201
    finally:
        for spin in spins:
            spin.kill()


@pytest.mark.heavy
def test_a_busy_machine_is_no_verdict_on_a_tool_and_hides_none() -> None:
    program = "from tests.toolhop_tools.test_properties_lanes import busy_machine; busy_machine()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["holds", "no result in time"], done.stderr


def text(pattern: str) -> dict[str, Any]:
    return {"s": {"type": "string", "pattern": pattern}}


def test_a_pattern_without_an_end_costs_its_own_tool_alone() -> None:
    endless = subject(
        "def f(s):\n    return s\n", text("^(?=(a+)+$)(b|a)*c$"), golds=[Gold({"s": "x"}, "x", "")]
    )
    hanging, good = checked(endless, subject(GOOD), silent_s=1.5)
    assert kinds(hanging)["valid-input"] == "the check hangs"
    assert kinds(hanging)["gold-call"] == "gold call is invalid"
    assert isinstance(hanging.verdicts["signature"], Holds)
    assert isinstance(hanging.verdicts["loads"], Holds)
    assert not good.failed


ANY = "def f(**given):\n    return 1\n"
LOOP: dict[str, Any] = {"$ref": "#/properties/t"}
UNUSUAL: Mapping[str, Any] = {
    "values of all types": {"e": {"enum": [1, "1", None, True, 1.5, [1], {"a": 1}]}},
    "types in a list": {"t": {"type": ["string", "null", "integer"]}},
    "nullable": {"t": {"type": "string", "nullable": True}},
    "a tuple": {"t": {"type": "array", "prefixItems": [{"type": "string"}], "items": False}},
    "a tree": {"t": {"type": "object", "properties": {"kid": LOOP, "v": {"type": "integer"}}}},
    "twenty thousand choices": {"e": {"enum": [f"v{n}" for n in range(20_000)]}},
    "a slow pattern": text("^(a+)+$"),
    "true and false": {"n": True, "m": {"type": "integer"}},
    "a format that nobody knows": {"n": {"type": "string", "format": "unheard-of"}},
}
IMPOSSIBLE: Mapping[str, Any] = {
    "a reference to itself": {"t": {"$ref": "#/properties/t"}},
    "references in a circle": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#/properties/a"}},
    "no choice": {"e": {"enum": []}},
    "choices of another type": {"e": {"type": "string", "enum": [1, 2]}},
    "an endless object": {"t": {"type": "object", "properties": {"t": LOOP}, "required": ["t"]}},
    "too many names": {f"p{n}": {"type": "string"} for n in range(2000)},
    "too long a list": {"t": {"type": "array", "minItems": 10**9}},
    "a pattern of another language": text("(?<=a+)b"),
    "no number": {"n": {"type": "integer", "minimum": 5, "maximum": 1}},
}


def test_unusual_schemas_are_checked_and_impossible_ones_are_named() -> None:
    names = [*UNUSUAL, *IMPOSSIBLE]
    reports = checked(*(subject(ANY, {**UNUSUAL, **IMPOSSIBLE}[name]) for name in names), lanes=2)
    told = dict(zip(names, reports, strict=True))
    for name in UNUSUAL:
        assert not kinds(told[name]).keys() & {"valid-input", "bad-input", "loads"}, name
    for name in IMPOSSIBLE:
        assert kinds(told[name])["valid-input"] == "no examples can be made", name
        assert isinstance(told[name].verdicts["loads"], Holds), name


BROKEN = {
    "": "no entry function",
    "def f(n:\n": "does not compile",
    "def other(n):\n    return n\n": "no entry function",
    "raise SystemExit(3)\ndef f(n): return n\n": "raises SystemExit before any call",
    "while True: pass\ndef f(n): return n\n": "no result in time",
    "import numpyx\ndef f(n): return n\n": "refused by the policy",
    "async def f(n):\n    return n\n": "refused by the policy",
}


def test_sources_that_cannot_be_called_are_named() -> None:
    reports = checked(*(subject(source) for source in BROKEN), lanes=2)
    assert [kinds(report)["loads"] for report in reports] == list(BROKEN.values())
    for report in reports:
        assert isinstance(report.verdicts["valid-input"], NotApplicable)


def lane(tmp_path: Path) -> Lane:
    store = Store(tmp_path, "set")
    return Lane(CheckJob(Rejections, LIMITS, "process", count=5, store=store))


def finish(one: Lane) -> None:
    while not one.idle:
        wait_for([one])
        one.look()


def test_a_lane_that_is_killed_is_told_of_and_replaced(tmp_path: Path) -> None:
    slow = subject("def f(n):\n    while n > 90: pass\n    return n\n")
    with lane(tmp_path) as one:
        before = set(multiprocessing.active_children())
        one.give(1, subject(GOOD), ["loads"])
        finish(one)
        (process,) = set(multiprocessing.active_children()) - before
        one.give(2, slow, ["valid-input", "signature"])
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        finish(one)
        failed = one.verdicts["valid-input"]
        assert isinstance(failed, Fails)
        assert failed.found[0].kind == "the check dies"
        assert isinstance(one.verdicts["signature"], Holds)
        one.give(3, subject(GOOD), ["valid-input"])
        finish(one)
        assert one.verdicts == {"valid-input": Holds(5)}
    # Another thread of the executor may have waited for the process first, and note it a bit later.
    until(lambda: set(multiprocessing.active_children()) == before, "no process left behind")


def test_tests_of_one_tool_share_its_lane_and_a_loss_is_remembered(tmp_path: Path) -> None:
    endless = subject("def f(s):\n    return s\n", text("^(?=(a+)+$)(b|a)*c$"))
    with lane(tmp_path) as one:
        one.silent_s = 0.5
        for name in ("valid-input", "json-result", "bad-input"):
            one.give(1, endless, [name])
            finish(one)
            verdict = one.verdicts[name]
            assert isinstance(verdict, Fails)
            assert verdict.found[0].kind == "the check hangs"


def broken_rejections() -> Rejection:
    def reject(schema: ToolSchema, arguments: Arguments) -> str | None:
        raise ZeroDivisionError("a bug")

    return reject


def test_a_fault_of_the_checker_is_told_as_one() -> None:
    job = CheckJob(broken_rejections, LIMITS, "process", count=5)
    (report,) = check_all([subject(GOOD)], job)
    assert kinds(report) == {"bad-input": "the check itself fails"}
    (found,) = report.failed
    assert "ZeroDivisionError: a bug (test_properties_lanes.py" in found.reported


def test_a_lane_says_what_it_lacks_in_the_sandboxs_own_words() -> None:
    said = pickle.loads(pickle.dumps(SandboxUnavailable("no engine", fix="start it")))  # noqa: S301 -- our own
    assert (type(said), said.message, said.fix) == (SandboxUnavailable, "no engine", "start it")


def test_a_certified_call_is_judged_as_certificates_are() -> None:
    source = "def f(n):\n    return f'There are {2 * n} of them.'\n"
    golds = [Gold({"n": 3}, "6", "search", certified) for certified in (True, False)]
    certified, plain = checked(*(subject(source, golds=[gold]) for gold in golds))
    assert certified.verdicts["gold-call"] == Holds(1)
    assert kinds(plain) == {"gold-call": "gold call gives another value"}
