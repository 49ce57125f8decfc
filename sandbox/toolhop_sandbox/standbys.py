"""Processes that wait for one call, as the host sees them, and the programs they are given."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from toolhop_sandbox.base import Limits, Policy, Program
from toolhop_sandbox.worker import wire


@dataclass(frozen=True, slots=True)
class Compiled:
    """Code as the worker compiled it, opaque here: never unpacked outside a standby."""

    code: bytes


@dataclass(slots=True, eq=False)
class Loadable:
    """A program as a standby takes it, to be called any number of times."""

    frame: bytes
    limits: Limits


def loadable(compiled: Compiled, program: Program, limits: Limits, policy: Policy) -> Loadable:
    """Put together what a standby has to know before the arguments come."""
    # The function's name comes from the model's data: a line break in it would shift the rest.
    head = (
        program.function.replace("\n", " "),
        policy,
        limits.memory_mib,
        int(limits.wall_s) + 2,
        limits.result_bytes,
    )
    text = "\n".join(map(str, head)).encode("utf-8", "replace")
    body = wire.LENGTH.pack(len(text)) + text + compiled.code
    return Loadable(wire.frame(wire.LOAD, body), limits)


@dataclass(slots=True)
class Standby:
    """A process that waits for one call."""

    number: int
    connection: socket.socket
    ended: bool = False
    """Whether the worker was asked to end it, and said how it ended."""

    @property
    def waits(self) -> bool:
        """Whether it is there to be called.

        It says nothing before it is asked, so it ended if its connection can be read.
        """
        try:
            self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Hang up. A standby that still waits ends by itself."""
        self.connection.close()
