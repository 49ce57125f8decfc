"""The host's end against a worker that is played by the test, over real socket pairs."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import anyio
import pytest

from tests.waiting import CEILING_S, until_async
from toolhop_sandbox import control as module
from toolhop_sandbox.base import Limits, Program
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.link import CODE_BYTES, PRIMED, WorkerLink
from toolhop_sandbox.outcome import (
    Died,
    NotJson,
    Outcome,
    OutOfMemory,
    Raised,
    Refused,
    Returned,
    TimedOut,
    TooLarge,
)
from toolhop_sandbox.standbys import Compiled, Loadable, loadable
from toolhop_sandbox.worker import wire

LIMITS = Limits(wall_s=1.0, result_bytes=1000)
PROGRAM = Program("def f(): pass", "f")
CODE = Compiled(b"code")


class FakeWorker:
    """Plays a zygote and its standbys in a thread.

    Every standby answers its request with `reply` and ends with `exit_code`; None for either
    means that it does not.
    """

    def __init__(self, reply: bytes | None = b"", exit_code: int | None = 0) -> None:
        self.host, self.control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.reply, self.exit_code = reply, exit_code
        self.requests: list[bytes] = []
        self.spawned: list[int] = []
        self.killed: list[int] = []
        self.garbled = False
        self.had_to_kill = False
        self.full = False
        """It says of every standby that there was no room to fork it."""
        self.resets = 0
        self.silent = False
        """It takes packets and answers none."""
        self.hang_up_at_request = False
        self._connections: dict[int, socket.socket] = {}
        self._threads = [threading.Thread(target=self._serve)]

    def start(self) -> None:
        self._threads[0].start()

    def close(self) -> None:
        self.host.close()
        for thread in self._threads:
            thread.join(CEILING_S)
            assert not thread.is_alive()
        for connection in self._connections.values():
            connection.close()

    def send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.control.send(data)

    def hang_up(self) -> None:
        self.control.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        with self.control:
            self.send(wire.packet(wire.HELLO, 0, json.dumps({"python": "3"}).encode()))
            while True:
                try:
                    data, descriptors, _, _ = socket.recv_fds(self.control, 4096, 1)
                except OSError:
                    return
                if not data:
                    return
                letter, number, rest = wire.unpack(data)
                if letter == wire.SPAWN:
                    for (spent,) in wire.NUMBER.iter_unpack(rest):
                        self._handle(wire.KILL, spent, [])
                self._handle(letter, number, descriptors)

    def _handle(self, letter: bytes, number: int, descriptors: list[int]) -> None:
        if letter == wire.SPAWN:
            self.spawned.append(number)
            connection = socket.socket(fileno=descriptors[0])
            self._connections[number] = connection
            thread = threading.Thread(target=self._stand_by, args=(number, connection))
            self._threads.append(thread)
            thread.start()
        elif letter == wire.KILL:
            self.killed.append(number)
        elif letter == wire.END and not self.silent:
            self.killed.append(number)
            code = -9 if self.exit_code is None else self.exit_code
            killed = self.had_to_kill or self.exit_code is None
            status = b"xx" if self.garbled else wire.STATUS.pack(code, killed)
            self.send(wire.packet(wire.ENDED, number, b"" if self.full else status))
        elif letter in (wire.RESET, wire.PING) and not self.silent:
            self.resets += letter == wire.RESET
            counted = wire.NUMBER.pack(1) if letter == wire.PING else b""
            self.send(wire.packet(letter, number, counted))

    def _stand_by(self, number: int, connection: socket.socket) -> None:
        request = self._request(connection)
        if not request:
            return
        self.requests.append(request)
        if self.hang_up_at_request:
            self.hang_up()
            return
        with contextlib.suppress(OSError):
            if self.reply is not None:
                connection.sendall(self.reply)
            if self.exit_code is not None:
                connection.shutdown(socket.SHUT_RDWR)

    def _request(self, connection: socket.socket) -> bytes:
        """All frames of one request: a LOAD is followed by a RUN."""
        data = b""
        for _ in range(2):
            head = connection.recv(wire.LENGTH.size, socket.MSG_WAITALL)
            if len(head) < wire.LENGTH.size:
                return b""
            data += connection.recv(wire.LENGTH.unpack(head)[0], socket.MSG_WAITALL)
            if data[:1] != wire.LOAD:
                break
        return data


@contextlib.contextmanager
def playing(worker: FakeWorker) -> Iterator[WorkerLink]:
    link = WorkerLink(worker.host)
    worker.start()
    try:
        yield link
    finally:
        link.close()
        worker.close()


async def call(link: WorkerLink, limits: Limits = LIMITS) -> Outcome:
    return await link.call(loadable(CODE, PROGRAM, limits, "none"), b"{}")


def outcome_of(worker: FakeWorker, limits: Limits = LIMITS) -> Outcome:
    async def run(link: WorkerLink) -> Outcome:
        await link.greet(5)
        return await call(link, limits)

    with playing(worker) as link:
        return anyio.run(run, link)


def frame(letter: bytes, body: bytes) -> bytes:
    return wire.frame(letter, body)


def told(**fields: object) -> bytes:
    return frame(wire.OUTCOME, json.dumps(fields).encode())


UNREADABLE = Died("the reply was none of the protocol; the code may have written it itself")
EXIT_0 = Died("the process ended with exit code 0 and no result")

REPLIES: dict[str, tuple[bytes, Outcome]] = {
    "result": (frame(wire.RESULT, b'{"a": 1}'), Returned('{"a": 1}')),
    "what-follows-is-ignored": (frame(wire.RESULT, b"1") + b"garbage", Returned("1")),
    "raised": (
        told(kind="raised", error="E", message="m", line=3),
        Raised("E", "m", 3),
    ),
    "raised-at-length": (
        told(kind="raised", error="E" * 5000, message="m" * 5000, line=None),
        Raised("E" * 200, "m" * 4000),
    ),
    "not-json": (told(kind="not_json", reason="r" * 9000), NotJson("r" * 4000)),
    "too-large": (told(kind="too_large", size_bytes=2000, limit_bytes=7), TooLarge(2000, 1000)),
    "out-of-memory": (told(kind="out_of_memory", limit_mib=7), OutOfMemory(256)),
    "result-above-the-limit": (frame(wire.RESULT, b"1" * 1001), TooLarge(1001, 1000)),
    "frame-above-the-cap": (frame(wire.RESULT, b"1" * 70_000), UNREADABLE),
    "claims-4-gb": (b"\xff\xff\xff\xffr", UNREADABLE),
    "empty-frame": (b"\0\0\0\0", UNREADABLE),
    "unknown-letter": (frame(b"z", b"x"), UNREADABLE),
    "code-for-a-call": (frame(wire.CODE, b"x"), UNREADABLE),
    "outcome-is-no-json": (frame(wire.OUTCOME, b"{"), UNREADABLE),
    "outcome-of-no-kind": (told(kind="x"), UNREADABLE),
    "outcome-with-a-wrong-type": (told(kind="raised", error=1, message="m"), UNREADABLE),
    "outcome-is-no-utf-8": (frame(wire.OUTCOME, b'{"kind": "\xff"}'), UNREADABLE),
    "returned-as-outcome": (told(kind="returned", json_text="{"), UNREADABLE),
    "timed-out-as-outcome": (told(kind="timed_out", limit_s=1.0), UNREADABLE),
    "died-as-outcome": (told(kind="died", reason="x"), UNREADABLE),
    "refused-by-a-call": (told(kind="refused", reason="x"), UNREADABLE),
    "no-reply": (b"", EXIT_0),
    "half-a-length": (b"\0\0", EXIT_0),
    "truncated": (frame(wire.RESULT, b"12345")[:-1], EXIT_0),
}


@pytest.mark.parametrize("name", REPLIES)
def test_replies(name: str) -> None:
    reply, expected = REPLIES[name]
    assert outcome_of(FakeWorker(reply)) == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "Expecting"),
        (b"NaN", "NaN is no JSON"),
        (b"[-Infinity]", "-Infinity is no JSON"),
        (b"1e999", "1e999 is no JSON"),
        (b"\xff", "utf-8"),
        (b"[" * 999, ""),
        (b"", "Expecting value"),
    ],
)
def test_results_that_are_no_json(body: bytes, reason: str) -> None:
    outcome = outcome_of(FakeWorker(frame(wire.RESULT, body)))
    assert isinstance(outcome, NotJson)
    assert reason in outcome.reason


@pytest.mark.parametrize(
    ("exit_code", "expected"),
    [
        (-9, OutOfMemory(256)),
        (-24, Died("the process was ended for its use of processor time")),
        (-11, Died("the process was ended by signal 11")),
        (3, Died("the process ended with exit code 3 and no result")),
    ],
)
def test_ends_without_a_reply(exit_code: int, expected: Outcome) -> None:
    assert outcome_of(FakeWorker(b"", exit_code)) == expected


def test_a_standby_that_never_answers_is_killed() -> None:
    worker = FakeWorker(None, None)
    assert outcome_of(worker, replace(LIMITS, wall_s=0.05)) == TimedOut(0.05)
    assert worker.killed == worker.spawned[:1]


def test_a_standby_that_answers_in_part_is_killed() -> None:
    worker = FakeWorker(b"\0\0\0\x09r", None)
    assert outcome_of(worker, replace(LIMITS, wall_s=0.05)) == TimedOut(0.05)


def test_the_request_is_what_the_worker_reads() -> None:
    worker = FakeWorker(frame(wire.RESULT, b"1"))
    outcome_of(worker)
    letter, request = worker.requests[0][:1], worker.requests[0][1:]
    assert letter == wire.LOAD
    size = wire.LENGTH.unpack_from(request)[0]
    assert request[4 : 4 + size].decode().splitlines() == ["f", "none", "256", "3", "1000"]
    assert request[4 + size :] == b"code" + wire.RUN + b"{}"


def test_a_standby_is_ready_and_each_call_takes_one() -> None:
    worker = FakeWorker(frame(wire.RESULT, b"1"))

    async def run(link: WorkerLink) -> None:
        await link.greet(5)
        await worker_has(worker, 1)
        for done in range(1, 4):
            assert await call(link) == Returned("1")
            await worker_has(worker, 1 + done)

    with playing(worker) as link:
        anyio.run(run, link)
    assert worker.killed == [1, 2, 3]


async def worker_has(worker: FakeWorker, count: int) -> None:
    await until_async(lambda: len(worker.spawned) == count, f"{count} standbys")


def primable(count: int) -> list[Loadable]:
    programs = [Program(f"def f(): return {number}", "f") for number in range(count)]
    return [loadable(CODE, program, LIMITS, "none") for program in programs]


def test_a_primed_program_is_sent_ahead_and_its_call_is_the_arguments_alone() -> None:
    worker = FakeWorker(frame(wire.RESULT, b"1"))
    (program,) = primable(1)

    async def run(link: WorkerLink) -> None:
        await link.greet(5)
        link.prime(program)
        await worker_has(worker, 1 + 1)
        # The primed one is not replaced after one call; a spare, and then a primed one, are.
        for expected in (2, 4, 5):
            assert await link.call(program, b"{}") == Returned("1")
            await worker_has(worker, expected)

    with playing(worker) as link:
        anyio.run(run, link)
    assert worker.killed[0] == 2, "the first call took the primed one"
    loads = [request for request in worker.requests if request[:1] == wire.LOAD]
    assert len(loads) == 3


def test_no_more_standbys_are_primed_than_allowed_and_the_next_when_one_was_called() -> None:
    worker = FakeWorker(frame(wire.RESULT, b"1"))
    programs = primable(PRIMED + 2)

    async def run(link: WorkerLink) -> None:
        await link.greet(5)
        for program in (*programs, programs[0]):
            link.prime(program)
        await worker_has(worker, 1 + PRIMED)
        link.prime(programs[0])
        assert list(link._primed) == programs[:PRIMED]
        assert await link.call(programs[1], b"{}") == Returned("1")
        await until_async(lambda: programs[PRIMED] in link._primed)
        assert programs[PRIMED + 1] not in link._primed
        await worker_has(worker, 2 + PRIMED)

    with playing(worker) as link:
        anyio.run(run, link)


def test_a_program_too_long_to_be_sent_at_once_is_sent_whole_with_its_call() -> None:
    worker = FakeWorker(frame(wire.RESULT, b"1"))
    code = bytes(2_000_000)
    program = loadable(Compiled(code), PROGRAM, LIMITS, "none")

    async def run(link: WorkerLink) -> None:
        await link.greet(5)
        link.prime(program)
        for _ in range(3):
            assert await link.call(program, b"{}") == Returned("1")

    with playing(worker) as link:
        anyio.run(run, link)
    assert [code in request for request in worker.requests] == [True] * 3


def test_a_spare_that_ended_is_passed_over() -> None:
    worker = FakeWorker(frame(wire.RESULT, b"1"))

    async def run(link: WorkerLink) -> Outcome:
        await link.greet(5)
        await worker_has(worker, 1)
        worker._connections[1].shutdown(socket.SHUT_RDWR)
        return await call(link)

    with playing(worker) as link:
        assert anyio.run(run, link) == Returned("1")


def faulty(
    worker: FakeWorker, use: Callable[[WorkerLink], object], monkeypatch: pytest.MonkeyPatch
) -> str:
    """The fault that comes of using a link, with little patience."""
    monkeypatch.setattr(module, "ANSWER_S", 0.1)

    async def run(link: WorkerLink) -> None:
        await link.greet(5)
        await worker_has(worker, 1)
        await use(link)  # type: ignore[misc]

    with playing(worker) as link, pytest.raises(SandboxFault) as caught:
        anyio.run(run, link)
    return str(caught.value)


def test_a_control_socket_closed_under_a_call_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = FakeWorker(None, None)
    worker.hang_up_at_request = True
    assert "the worker" in faulty(
        worker, lambda link: call(link, replace(LIMITS, wall_s=0.1)), monkeypatch
    )


def test_a_worker_that_does_not_report_an_end_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = FakeWorker(None, None)
    worker.silent = True
    message = faulty(worker, lambda link: call(link, replace(LIMITS, wall_s=0.05)), monkeypatch)
    assert message == "the worker did not answer within 0.1 s"


@pytest.mark.parametrize("method", ["ping", "reset"])
def test_a_worker_that_does_not_answer_is_a_fault(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = FakeWorker()
    worker.silent = True
    message = faulty(worker, lambda link: getattr(link, method)(), monkeypatch)
    assert "did not answer" in message


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (b"", "the worker"),
        (b"xx", "cannot be understood"),
    ],
)
def test_garbage_on_the_control_socket_is_a_fault(
    packet: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = FakeWorker()
    worker.silent = True

    async def use(link: WorkerLink) -> None:
        if packet:
            worker.send(packet)
        else:
            worker.hang_up()
        await link.ping()

    assert message in faulty(worker, use, monkeypatch)


def test_a_report_of_an_end_that_cannot_be_read_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = FakeWorker()
    worker.exit_code, worker.garbled = 0, True

    async def use(link: WorkerLink) -> None:
        await call(link)

    assert "reported an end in 2 bytes" in faulty(worker, use, monkeypatch)


@pytest.mark.parametrize(
    ("greeting", "message"),
    [
        (b"", "the worker"),
        (b"x", "cannot be understood"),
        (wire.packet(wire.PING, 0), "began with"),
        (wire.packet(wire.HELLO, 0, b"{"), "greeting cannot be read"),
        (wire.packet(wire.HELLO, 0, b"3"), "greeting cannot be read"),
        (None, "said nothing within 0.05 s"),
    ],
)
def test_a_greeting_that_is_none_is_a_fault(greeting: bytes | None, message: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link = WorkerLink(ours)
    with theirs:
        if greeting:
            theirs.send(greeting)
        elif greeting is not None:
            theirs.shutdown(socket.SHUT_RDWR)
        with pytest.raises(SandboxFault, match=message):
            anyio.run(link.greet, 0.05)
    link.close()


def test_cancelling_kills_and_the_next_call_is_answered() -> None:
    worker = FakeWorker(None, None)

    async def run(link: WorkerLink) -> Outcome:
        await link.greet(5)
        with anyio.move_on_after(0.05) as scope:
            await call(link, replace(LIMITS, wall_s=60))
        assert scope.cancelled_caught
        await worker_has(worker, 1 + 1)
        await until_async(lambda: worker.killed == worker.spawned[:1])
        # A standby reads its reply when it is asked.
        worker.reply = frame(wire.RESULT, b"2")
        return await call(link)

    with playing(worker) as link:
        assert anyio.run(run, link) == Returned("2")


def test_reset_makes_new_standbys() -> None:
    worker = FakeWorker(frame(wire.RESULT, b"1"))

    async def run(link: WorkerLink) -> Outcome:
        await link.greet(5)
        await link.reset()
        await worker_has(worker, 2)
        return await call(link)

    with playing(worker) as link:
        assert anyio.run(run, link) == Returned("1")
    assert worker.resets == 1


COMPILED: dict[str, tuple[bytes, int, object]] = {
    "too long": (
        wire.LENGTH.pack(CODE_BYTES + 1) + wire.CODE,
        0,
        Raised("SyntaxError", f"the compiled source is longer than {CODE_BYTES} bytes"),
    ),
    "code": (frame(wire.CODE, b"abc"), 0, Compiled(b"abc")),
    "refused": (told(kind="refused", reason="no", line=2), 0, Refused("no", 2)),
    "syntax": (
        told(kind="raised", error="SyntaxError", message="bad", line=1),
        0,
        Raised("SyntaxError", "bad", 1),
    ),
    "crash": (b"", -11, Raised("SyntaxError", "the source crashed Python's compiler")),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiling(name: str) -> None:
    reply, exit_code, expected = COMPILED[name]
    worker = FakeWorker(reply, exit_code)

    async def run(link: WorkerLink) -> object:
        await link.greet(5)
        return await link.compile(PROGRAM, "restricted", LIMITS)

    with playing(worker) as link:
        assert anyio.run(run, link) == expected


def test_a_process_that_had_no_room_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = FakeWorker()
    worker.full = True
    assert "no room" in faulty(worker, call, monkeypatch)


def test_a_process_that_hangs_up_and_goes_on_is_told_from_one_that_ran_out_of_memory() -> None:
    worker = FakeWorker(b"", -9)
    assert outcome_of(worker) == OutOfMemory(256)
    worker = FakeWorker(b"", -9)
    worker.had_to_kill = True
    assert outcome_of(worker) == Died("the process closed its connection and gave no result")


def test_a_fault_of_ours_in_compiling_is_a_fault() -> None:
    worker = FakeWorker(b"", wire.FAULT_EXIT_CODE)

    async def run(link: WorkerLink) -> None:
        await link.greet(5)
        await link.compile(PROGRAM, "restricted", LIMITS)

    with playing(worker) as link, pytest.raises(SandboxFault, match="bug of the sandbox"):
        anyio.run(run, link)
