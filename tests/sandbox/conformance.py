"""The suite that every sandbox has to pass, and the means to play its tables.

A sandbox's test module derives a class from `Conformance` and gives it a fixture `box`. Calls are
made from plain functions through a portal, so that one event loop and one sandbox serve a whole
test process. After every case the same session is asked for a fingerprint of what a call can
find: the case must not have changed it.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.sandbox import attacks, programs
from tests.sandbox.programs import Case
from toolhop_sandbox.base import Limits, Program, Session
from toolhop_sandbox.outcome import JSON, Outcome, Refused, Returned
from toolhop_sandbox.pool import PooledSandbox

FINGERPRINT = """
import builtins, decimal, gc, json, locale, os, resource, signal, sys, threading, time

def descriptors():
    found = []
    for number in range(64):
        try:
            os.fstat(number)
            found.append(number)
        except OSError:
            pass
    return found

def f(a):
    return {
        "argument": a,
        "left": [name for name in ("LEFT", "kept", "send") if name in globals()],
        "builtins": sorted(vars(builtins)),
        "len": len("abc"),
        "json": json.dumps(json.loads("[1]")),
        "modules": sorted(sys.modules),
        "path": sys.path,
        "environment": sorted(os.environ.items()),
        "folder": os.getcwd(),
        "zone": [time.tzname, time.timezone],
        "locale": locale.setlocale(locale.LC_ALL),
        "recursion": sys.getrecursionlimit(),
        "digits": sys.get_int_max_str_digits(),
        "precision": decimal.getcontext().prec,
        "tracing": [sys.gettrace() is None, sys.excepthook is sys.__excepthook__],
        "signals": [str(signal.getsignal(n)) for n in (2, 14, 15)],
        "alarm": signal.alarm(0),
        "collecting": gc.isenabled(),
        "limits": [resource.getrlimit(n) for n in range(16)],
        "threads": threading.active_count(),
        "descriptors": len(descriptors()),
        "seen": [os.path.lexists(p) for p in ("/tmp/toolhop-left", "/dev/shm/toolhop-left")],
    }
"""


class Box:
    """One session of a sandbox, played from plain functions."""

    def __init__(self, portal: BlockingPortal, pool: PooledSandbox, session: Session) -> None:
        self.portal, self.pool, self.session = portal, pool, session
        self.usual = pool.limits
        self.fingerprint = self.probe()

    def call(self, program: Program, arguments: Mapping[str, JSON] | None = None) -> Outcome:
        return self.portal.call(self.session.call, program, arguments or {})

    def play(self, source: str, **arguments: JSON) -> Outcome:
        return self.call(Program(source, "f"), arguments)

    def play_case(self, case: Case) -> Outcome:
        self.pool.limits = Limits(wall_s=case.wall_s, result_bytes=case.result_bytes)
        try:
            return self.call(Program(case.source, "f"), case.arguments)
        finally:
            self.pool.limits = self.usual

    def probe(self) -> dict[str, Any]:
        program = FINGERPRINT if self.pool.policy == "none" else "def f(a):\n    return {'a': a}"
        outcome = self.play(program, a="é")
        assert isinstance(outcome, Returned), outcome
        found: dict[str, Any] = json.loads(outcome.json_text)
        return found

    def check_clean(self) -> None:
        assert self.probe() == self.fingerprint


@contextmanager
def opened(make: Callable[[], PooledSandbox]) -> Iterator[Box]:
    """A box in an event loop of its own."""
    with start_blocking_portal() as portal:
        pool = portal.call(_made, make)
        with (
            portal.wrap_async_context_manager(pool),
            portal.wrap_async_context_manager(pool.session()) as session,
        ):
            yield Box(portal, pool, session)


async def _made(make: Callable[[], PooledSandbox]) -> PooledSandbox:
    return make()


def table(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


class Small:
    """What a sandbox has to do at the least, under either policy."""

    def test_two_programs_do_not_meet(self, box: Box) -> None:
        assert box.play("X = 1\ndef f():\n    return X") == Returned("1")
        outcome = box.play("def f():\n    return X")
        assert getattr(outcome, "error", None) == "NameError"

    def test_a_module_level_runs_for_every_call(self, box: Box) -> None:
        source = "COUNT = []\ndef f():\n    COUNT.append(1)\n    return len(COUNT)"
        assert [box.play(source) for _ in range(3)] == [Returned("1")] * 3

    def test_sets_keep_one_order(self, box: Box) -> None:
        source = "def f():\n    return list({'a', 'b', 'c', 'd', 'é'})"
        assert len({box.play(source) for _ in range(5)}) == 1


class Core(Small):
    """What ordinary programs give, by policy and interpreter; not by the way to it."""

    @table(programs.ORDINARY)
    def test_ordinary(self, box: Box, case: Case) -> None:
        case.check(box.play_case(case))
        box.check_clean()


COPIES = """
import copy

class Reduced:
    def __reduce__(self):
        return (made, ())

def made():
    found = Reduced()
    found.made = True
    return found

class Owner:
    def __init__(self):
        self.method = self.itself

    def itself(self):
        return self

def f():
    owner = copy.deepcopy(Owner())
    return [hasattr(copy.copy(Reduced()), "made"), owner.method() is owner]
"""


class Conformance(Core):
    """Also what hostile code must not achieve; the box has no policy."""

    def test_copies_are_those_of_python(self, box: Box) -> None:
        assert box.play(COPIES) == Returned("[true, true]")

    @table(attacks.ENDING)
    def test_ending(self, box: Box, case: Case) -> None:
        case.check(box.play_case(case))
        box.check_clean()

    @table(attacks.FORGED)
    def test_forged(self, box: Box, case: Case) -> None:
        case.check(box.play_case(case))
        box.check_clean()

    @pytest.mark.parametrize("name", attacks.ATTEMPTS)
    def test_attempt_is_refused(self, box: Box, name: str) -> None:
        statement = attacks.ATTEMPTS[name]
        if "libc(" in statement and platform.machine() != "x86_64":
            pytest.skip("the table's call numbers are those of x86-64")
        outcome = box.play(attacks.ATTEMPT % statement)
        assert isinstance(outcome, Returned), outcome
        assert json.loads(outcome.json_text).endswith("Error")
        box.check_clean()

    @pytest.mark.parametrize("name", attacks.LEAVING)
    def test_nothing_is_left(self, box: Box, name: str) -> None:
        lines = attacks.LEAVING[name].splitlines()
        source = "def f():\n" + "".join(f"    {line}\n" for line in [*lines, "return 1"])
        outcome = box.play(source)
        if name not in attacks.MAY_LOSE_ITS_REPLY:
            assert outcome == Returned("1")
        box.check_clean()

    def test_random_numbers_do_not_repeat(self, box: Box) -> None:
        source = (
            "import random\ndef f():\n    x = random.random()\n    random.seed(1)\n    return x"
        )
        assert len({box.play(source) for _ in range(3)}) == 3

    def test_a_call_that_answered_and_spins_does_not_hold_up_the_next(self, box: Box) -> None:
        for _ in range(5):
            source = attacks.FORGE + "    send(frame(b'r', b'1'))\n    while True: pass"
            assert box.play(source) == Returned("1")
        box.check_clean()


REFUSED = {
    "import": ("import os\ndef f():\n    pass", 1),
    "import-in-function": ("def f():\n    import socket", 2),
    "built-in": ("def f():\n    return open('/etc/passwd')", 2),
    "eval": ("\ndef f():\n    return eval('1')", 3),
    "interpreter": ("def f():\n    return ().__class__.__bases__", 2),
}


class Restricted(Small):
    """The restricted policy: tools run as ever, and what it refuses never runs."""

    @pytest.mark.parametrize("name", REFUSED)
    def test_refused(self, box: Box, name: str) -> None:
        source, line = REFUSED[name]
        outcome = box.play(source)
        assert isinstance(outcome, Refused), outcome
        assert outcome.line == line
        assert outcome.reason
        box.check_clean()
