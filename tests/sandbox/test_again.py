"""Processes that are used again: whatever code did to one, it is what it was, or it is no more."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.base import Limits, Program
from sandbox.link import WorkerLink
from sandbox.outcome import Returned
from sandbox.pool import PooledSandbox
from sandbox.process import WORKER_ENVIRONMENT, ProcessLauncher, ProcessWorker
from sandbox.standbys import Loadable
from sandbox.worker import seccomp
from tests.attacks.suite import children
from tests.sandbox.conformance import Box, opened

ROOT = Path(__file__).parents[2]

PUT_BACK = {
    "returns": "return 1",
    "raises": "raise ValueError('no')",
    "patches": """
        import builtins, sys, json, os
        builtins.len = lambda _: 42
        builtins.canary = sys.canary = "left"
        json.dumps = os.write = None
        sys.setrecursionlimit(50)
        sys.setswitchinterval(1.0)
        sys.modules.clear()
    """,
    "patches-the-worker": """
        import sys
        worker = sys.modules["sandbox.worker.standby"]
        for name in ("call", "enter", "rehearse", "Frames", "Head", "load_and_call"):
            setattr(worker, name, None)
    """,
    "fills-memory": "return len(bytearray(b'x' * 1_000_000))",
    "many-small-objects": "return len([str(number) for number in range(10_000)])",
    "rounds-upwards": "import ctypes; return ctypes.CDLL(None).fesetround(0x800)",
    "writes-to-constants": """
        import ctypes
        ctypes.memmove(id("a text of the worker's own, or of the library's"), b"\\7", 1)
        ctypes.memmove(id(199) + 24, b"\\7\\0\\0\\0", 4)
    """,
    "writes-to-types": """
        import ctypes
        for kind in (int, str, dict, list, tuple, type, ValueError):
            ctypes.memset(id(kind) + kind.__basicsize__ // 2, 0x41, 8)
    """,
    "closes-what-it-may": """
        import ctypes
        libc = ctypes.CDLL(None)
        for descriptor in (6, 7):
            libc.close(descriptor)
        libc.dup2(6, 4)
    """,
    "writes-on-its-connection": """
        import ctypes
        ctypes.CDLL(None).send(4, b"\\0\\0\\0\\2r1" + b"junk" * 1000, 4006, 0)
    """,
    "prints": "print('x' * 100_000)",
    "takes-a-connection-for-itself": """
        import ctypes
        ctypes.CDLL(None).recvmsg(3, bytes(56), 0)
    """,
    "reads-ahead": """
        import ctypes
        ctypes.CDLL(None).recv(4, bytes(100), 100, 0)
    """,
    "spins": "while True: pass",
    "spins-in-c": "import itertools; sum(itertools.repeat(0))",
    "sleeps": "import time; time.sleep(100)",
    "waits": "import select; select.select([4], [], [], 100)",
    "recurses": """
        def deep(number):
            return number and deep(number - 1)
        return deep(900)
    """,
}
"""Bodies of a function without a policy, after which the process can be put back."""

NOT_PUT_BACK = {
    "touches-too-much": "return len(bytearray(b'x' * 3_000_000))",
    "grows-its-stack": """
        import sys
        sys.setrecursionlimit(10_000)
        def deep(number):
            return number and [*map(deep, [number - 1])]
        return len(deep(3000))
    """,
}
"""The same, after which it is ended instead."""

ENDED = {
    "opens-a-file": "open('/dev/null')",
    "maps-memory": "import mmap; mmap.mmap(-1, 4096)",
    "takes-much-memory": "return len(bytearray(50_000_000))",
    "makes-a-thread": "import threading; threading.Thread(target=print).start()",
    "asks-for-its-id": "import os; os.getpid()",
    "handles-signals": "import signal; signal.signal(signal.SIGALRM, print)",
    "sets-a-timer": "import signal; signal.setitimer(signal.ITIMER_REAL, 1)",
    "raises-its-limits": ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))"),
    "looks-at-its-processor-time": "import time; return time.process_time()",
    "writes-to-its-feed": "import os; os.write(3, b'x')",
    "writes-to-its-image": "import os; os.write(5, b'x')",
    "sends-to-its-feed": "import ctypes; ctypes.CDLL(None).send(3, b'x', 1, 0)",
    "duplicates-its-feed": "import os; os.dup2(3, 6)",
    "closes-its-image": "import os; os.close(5)",
    "reads-its-image": "import os; os.preadv(5, [bytearray(100)], 0)",
    "forks": "import os; os.fork()",
    "changes-protection": """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.mprotect(ctypes.c_void_p(id(1) & ~4095), 4096, 7)
    """,
    "shrinks-its-heap": "import ctypes; ctypes.CDLL(None).sbrk(ctypes.c_long(-8192))",
}
"""The same, of what the kernel ends a process for."""

ALLOWED = {23, 7, 271, 270, 24, 96, 201, 35, 318, 228, 229, 230}
"""Numbers of the calls that go through with arguments of zero: they wait, or tell the time."""
REFUSED = {11, 28, 25}
KERNELS = {335, 336}
"""uretprobe and uprobe, which kernels let past every program (6.11 and later): they do nothing but
in code that the kernel itself has placed."""
SWEPT = range(463)

CALLS = {
    f"call-{number}": f"import ctypes; return ctypes.CDLL(None).syscall({number}, 0, 0, 0, 0, 0, 0)"
    for number in SWEPT
}


def function(body: str) -> str:
    return "def f():\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")


@pytest.fixture(scope="module")
def played() -> dict[str, dict[str, Any]]:
    """What became of each case, by its name."""
    if seccomp.narrow("x86_64") is None or not sys.platform.startswith("linux"):
        pytest.skip("processes are used again on Linux and x86-64 only")
    cases = [
        {"name": name, "source": function(body), "after_s": after_s}
        for table, after_s in ((PUT_BACK, 1.5), (NOT_PUT_BACK, 5.0), (ENDED, 5.0), (CALLS, 0.05))
        for name, body in table.items()
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.again_play"],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    first, *lines = map(json.loads, done.stdout.splitlines())
    assert first == {"usable": True}, "this kernel lets no process be put back"
    return {line["name"]: line for line in lines}


HONEST = [4, [1, 2], '{"a": 1.5}', 2**0.5, 0.1 + 0.2, 0, False, False, 1000, 0.005, "int"]


@pytest.mark.parametrize("name", PUT_BACK)
def test_a_process_is_put_back_whatever_code_did(
    played: dict[str, dict[str, Any]], name: str
) -> None:
    told = played[name]
    assert told["put_back"]
    assert told["registers"], "its registers are not what they were"
    assert json.loads(told["honest"].removeprefix("r")) == HONEST
    assert told["put_back_again"]
    assert told["table"] is False, "it can read what calls before have written to"
    assert told["memory"], "its memory is not what it was"


def test_a_process_that_is_handed_a_call_is_put_back_after_it_took_it_or_not_at_all(
    played: dict[str, dict[str, Any]],
) -> None:
    answers = played["dismissed-early"]["answers"]
    told = [json.loads(answer.removeprefix("r")) for answer in answers if answer is not None]
    assert told == [HONEST] * len(told)


@pytest.mark.parametrize("name", NOT_PUT_BACK)
def test_a_process_that_became_another_is_ended(
    played: dict[str, dict[str, Any]], name: str
) -> None:
    told = played[name]
    assert told["answer"].startswith("r")
    assert told["put_back"] is False


@pytest.mark.parametrize("name", ENDED)
def test_what_the_kernel_keeps_for_a_process_cannot_be_changed(
    played: dict[str, dict[str, Any]], name: str
) -> None:
    assert played[name]["ended"] == -31


def test_no_other_kernel_call_goes_through(played: dict[str, dict[str, Any]]) -> None:
    ended = {number for number in SWEPT if played[f"call-{number}"]["ended"] == -31}
    assert played["call-231"]["ended"] == 0, "exit_group ends it"
    assert set(SWEPT) - ended - {231} - KERNELS == ALLOWED | REFUSED
    for number in REFUSED:
        assert played[f"call-{number}"]["answer"] == "r-1"


# -- from outside ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with opened(lambda: PooledSandbox(ProcessLauncher(), Limits(wall_s=8), "none")) as found:
        yield found


def standbys(box: Box) -> set[int]:
    worker: Any = box.pool._started[0]
    return set(children(worker.process.pid))


def loadable(box: Box, program: Program) -> Loadable:
    found = box.pool.cached(program)
    assert isinstance(found, Loadable)
    return found


def test_many_calls_take_few_processes(box: Box) -> None:
    program = Program("def f(n):\n    return n * 2", "f")
    seen: set[int] = set()
    for number in range(100):
        assert box.call(program, {"n": number}) == Returned(str(number * 2))
        seen |= standbys(box)
    assert len(seen) < 12
    assert not loadable(box, program).once


MORE = {
    "a-file": ("import os\ndef f():\n    return len(os.listdir(os.path.dirname(os.__file__))) > 9"),
    "a-thread": (
        "import threading\ndef f():\n    got = []\n"
        "    one = threading.Thread(target=got.append, args=(1,))\n"
        "    one.start()\n    one.join()\n    return got == [1]"
    ),
    "memory": "def f():\n    return len(bytearray(100_000_000)) == 10**8",
    "time": (
        "import time\ndef f():\n    end = time.monotonic() + 4\n"
        "    while time.monotonic() < end: pass\n    return True"
    ),
    "at-module-level": "import os\nPID = os.getpid()\ndef f():\n    return PID > 0",
}


@pytest.mark.parametrize("name", MORE)
def test_a_program_that_needs_more_gets_it(box: Box, name: str) -> None:
    program = Program(MORE[name], "f")
    for _ in range(2):
        assert box.call(program) == Returned("true")
        assert loadable(box, program).once, "it is not tried twice"


def test_what_is_drawn_by_chance_does_not_come_again(box: Box) -> None:
    source = "import os, random\ndef f():\n    return [random.random(), os.urandom(9).hex()]"
    program = Program(source, "f")
    drawn = [box.call(program) for _ in range(30)]
    assert len(set(map(str, drawn))) == 30
    assert not loadable(box, program).once


def test_a_call_finds_nothing_of_the_one_before(box: Box) -> None:
    source = """
import builtins, gc
KEPT = []
def f(word):
    found = getattr(builtins, "left", None), len(KEPT)
    builtins.left = word
    KEPT.append(word)
    gc.freeze()
    return found
"""
    program = Program(source, "f")
    for word in map(str, range(30)):
        assert box.call(program, {"word": word}) == Returned("[null, 0]")


def test_a_worker_that_cannot_put_back_forks_for_each_call() -> None:
    """As where the kernel, or the engine, does not let a parent do it."""
    with opened(lambda: PooledSandbox(Unable(), Limits(), "none")) as box:
        link = box.pool._started[0].link
        assert link.facts["used_again"] is False
        program = Program("import os\ndef f():\n    return os.getpid()", "f")
        ids = [box.call(program) for _ in range(5)]
        assert all(isinstance(one, Returned) for one in ids)
        assert len(set(map(str, ids))) == 5


UNABLE = """
from sandbox.worker import ptrace, zygote
def stop(pid):
    raise PermissionError(1, "Operation not permitted")
ptrace.stop = stop
zygote.main()
"""


class Unable(ProcessLauncher):
    """Starts workers that may not stop their children."""

    async def start(self) -> ProcessWorker:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220 -- as ProcessLauncher does
                [sys.executable, "-c", UNABLE, "--fd", str(theirs.fileno())],
                env={**WORKER_ENVIRONMENT, "PYTHONPATH": str(ROOT)},
                pass_fds=[theirs.fileno()],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        worker = ProcessWorker(process, WorkerLink(ours))
        await worker.link.greet(20)
        return worker
