"""Processes that wait for one call, as the host sees them, and the programs they are given."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from sandbox.base import Limits, Policy, Program
from sandbox.worker import wire


@dataclass(frozen=True, slots=True)
class Compiled:
    """Code as the worker compiled it, opaque here: never unpacked outside a standby."""

    code: bytes


@dataclass(slots=True, eq=False)
class Loadable:
    """A program as a standby takes it, to be called any number of times."""

    frame: bytes
    limits: Limits
    once: bool = False
    """Whether it needs a standby for each call, as it has shown: it makes kernel calls, or takes
    more memory or time, than one that is used again may."""


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
    once: bool
    """Whether it is a process for this call alone; else it was put back for it, and will be."""
    killed: bool = False

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
