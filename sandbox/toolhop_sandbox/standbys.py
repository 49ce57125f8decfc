"""Standbys, which are processes that wait for one call each, and the programs given to them."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from toolhop_sandbox.base import Limits, Policy, Program
from toolhop_sandbox.worker import wire


@dataclass(frozen=True, slots=True)
class Compiled:
    """Code compiled by the worker; opaque here, as it is never unpacked outside a standby."""

    code: bytes


@dataclass(slots=True, eq=False)
class Loadable:
    """A program in the form that standbys load, to be called any number of times."""

    frame: bytes
    limits: Limits


def loadable(compiled: Compiled, program: Program, limits: Limits, policy: Policy) -> Loadable:
    """Pack everything that a standby needs before the arguments arrive."""
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
    """Whether the worker was asked to end it, and reported how it ended."""

    @property
    def waits(self) -> bool:
        """Whether it is still ready to be called.

        It sends nothing before it is asked, so a readable connection means that it has ended.
        """
        try:
            self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close the connection. A standby that still waits then ends by itself."""
        self.connection.close()
