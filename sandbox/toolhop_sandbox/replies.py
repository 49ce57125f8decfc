"""Reading of a standby's replies: bytes that untrusted code may have written itself.

Nothing in them is trusted. A frame's size is checked before it is read, its content is parsed as
data, and the limits it states are replaced by those the host knows. So a call that forges its reply
can claim a result or an exception, as it could by returning or raising, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import socket
from dataclasses import dataclass
from typing import NoReturn

import anyio.to_thread

from toolhop_sandbox import json_text
from toolhop_sandbox.base import Limits
from toolhop_sandbox.outcome import (
    OUTCOME,
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
from toolhop_sandbox.worker import wire

SIGKILL, SIGXCPU = -9, -24
FIRST_BYTES, CHUNK_BYTES = 16_384, 262_144
"""Sizes of the first and of later reads. Most replies are short; a large buffer for each would
cost more than the reply."""
TEXT_CHARS, NAME_CHARS = 4000, 200
"""Maximum lengths that `Raised` promises; the worker truncates to them, and so does the host, as
a reply may be forged."""
OUTCOME_BYTES = 65_536
"""Maximum size of an outcome other than a result. The worker's own take at most 50,400 bytes:
two texts of the lengths above, 12 bytes per character. It is parsed on the event loop, where 1
MB takes up to 0.3 s."""
MOST_LINES, MOST_BYTES = 1_000_000, 1 << 40
"""Bounds above any source's line count and any result's size. A forged number may have thousands of
digits."""
READ_AT_ONCE_CHARS = 32_768
"""Maximum length of a result parsed on the event loop: it takes at most 7 ms, while 1 MB takes
up to 220."""
OVERSIZED = b"?"
"""Letter, unused by the protocol, that marks a frame whose stated length exceeds the limit."""
FORGED = "the reply was none of the protocol; the code may have written it itself"


@dataclass(frozen=True, slots=True)
class StandbyEnded:
    """A standby that ended without sending a frame."""

    exit_code: int
    overdue: bool
    """Whether the host had it killed at the time limit."""
    hung_up: bool = False
    """Whether the host had it killed because it closed its connection but went on running."""


async def send_all(connection: socket.socket, data: bytes) -> None:
    """Send `data`. A receiver that is gone is not an error; how it ended is queried afterwards."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        try:
            sent = connection.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            await asyncio.get_running_loop().sock_sendall(connection, memoryview(data)[sent:])


async def read_frame(connection: socket.socket, cap_bytes: int) -> bytes | None:
    """Return a frame without its length; None if the connection ends before the frame does.

    A frame longer than `cap_bytes` is not read; one with the letter `OVERSIZED` is returned
    instead. Data after a complete frame is ignored.
    """
    # The event loop's own method, for speed: anyio's portable wait took 42 µs
    # instead of 14, and 230 instead of 40 after an idle 5 ms.
    receive = asyncio.get_running_loop().sock_recv
    data, length = b"", wire.LENGTH.size
    try:
        while len(data) < length:
            more = await receive(connection, FIRST_BYTES)
            if not more:
                return None
            data += more
        length += wire.LENGTH.unpack_from(data)[0]
        if not wire.LENGTH.size < length <= cap_bytes + wire.LENGTH.size:
            return OVERSIZED + str(length).encode()
        chunks, missing = [data], length - len(data)
        while missing > 0:
            more = await receive(connection, min(missing, CHUNK_BYTES))
            if not more:
                return None
            chunks.append(more)
            missing -= len(more)
    except ConnectionResetError:
        return None
    return b"".join(chunks)[wire.LENGTH.size : length]


async def read_answer(
    answer: bytes | StandbyEnded, limits: Limits, *, compiling: bool = False
) -> Outcome:
    """Return the outcome of a call, from a standby's frame or its end without one.

    Args:
        answer: the frame without its length, or the end.
        limits: limits of the call.
        compiling: whether the standby was asked to compile, so that it may refuse.
    """
    if isinstance(answer, StandbyEnded):
        return _ending(answer, limits)
    letter, body = answer[:1], answer[1:]
    if letter == wire.RESULT:
        return await _returned(body, limits)
    if letter != wire.OUTCOME or len(body) > OUTCOME_BYTES:
        return Died(FORGED)
    try:
        outcome = OUTCOME.validate_json(body, strict=True)
    except ValueError:
        return Died(FORGED)
    return _trusted(outcome, limits, compiling=compiling)


def _trusted(outcome: Outcome, limits: Limits, *, compiling: bool) -> Outcome:
    """Return what code may state about itself in an outcome, within the promised lengths."""
    match outcome:
        case Raised(error, message, line):
            known = line is not None and 0 < line <= MOST_LINES
            return Raised(error[:NAME_CHARS], message[:TEXT_CHARS], line if known else None)
        case NotJson(reason):
            return NotJson(reason[:TEXT_CHARS])
        case TooLarge(size_bytes):
            size_bytes = min(max(size_bytes, limits.result_bytes + 1), MOST_BYTES)
            return TooLarge(size_bytes, limits.result_bytes)
        case OutOfMemory():
            return OutOfMemory(limits.memory_mib)
        case Refused() if compiling:
            return outcome
        case _:
            # A worker never sends the others: the host derives them from how the process ended.
            return Died(FORGED)


async def _returned(body: bytes, limits: Limits) -> Outcome:
    if len(body) > limits.result_bytes:
        return TooLarge(len(body), limits.result_bytes)
    try:
        text = body.decode("utf-8")
        if len(text) <= READ_AT_ONCE_CHARS:
            json.loads(text, parse_constant=_refuse, parse_float=_finite)
        else:
            # In a thread, so that other episodes are not blocked.
            await anyio.to_thread.run_sync(json_text.check, text)
    except (ValueError, RecursionError) as error:
        return NotJson(f"the result cannot be read as JSON: {str(error)[:200]}")
    return Returned(text)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text[:20])


def _ending(ending: StandbyEnded, limits: Limits) -> Outcome:
    """Return the outcome of a standby that ended without an answer."""
    if ending.overdue:
        return TimedOut(limits.wall_s)
    if ending.hung_up:
        return Died("the process closed its connection and gave no result")
    if ending.exit_code == SIGKILL:
        # The kernel killed it, for memory; we did not.
        return OutOfMemory(limits.memory_mib)
    if ending.exit_code == SIGXCPU:
        # Its threads used up the processor time, or it sent the signal itself.
        return Died("the process was ended for its use of processor time")
    if ending.exit_code < 0:
        return Died(f"the process was ended by signal {-ending.exit_code}")
    return Died(f"the process ended with exit code {ending.exit_code} and no result")
