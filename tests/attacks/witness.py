"""In which process a call ran: seen by the host, and stated by the probe from inside.

A probe that is to find what an attack left must run where it could be: in the same worker, in a
process of the same kind that was given the same policy and the same limits. Two are asked after
each attack: one in a process that waited while the attack ran, and one in a process that was
forked after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from toolhop_sandbox.link import WorkerLink
from toolhop_sandbox.outcome import Outcome
from toolhop_sandbox.standbys import Loadable, Standby
from toolhop_sandbox.worker import wire


@dataclass(frozen=True, slots=True)
class Ran:
    """One call's process, as the host knows it."""

    worker: int
    """Identity of the worker's link."""
    standby: int
    """Its number; later ones are higher."""
    kept_ready: bool
    """Whether it held its program before it was called."""
    policy: str
    memory_mib: int


class Witness:
    """Watches all links of this process."""

    def __init__(self) -> None:
        self.ran: list[Ran] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While this is entered, every call is noted."""
        call, ask = WorkerLink.call, WorkerLink._ask
        programs: dict[int, Loadable] = {}

        async def noted_call(link: WorkerLink, program: Loadable, arguments: bytes) -> Outcome:
            programs[id(link)] = program
            return await call(link, program, arguments)

        async def noted_ask(link: WorkerLink, standby: Standby, request: bytes, *rest: Any) -> Any:
            letter = request[wire.LENGTH.size :][:1]
            if letter != wire.COMPILE:
                policy, memory_mib = _given(programs[id(link)].frame)
                ready = letter == wire.RUN
                self.ran.append(Ran(id(link), standby.number, ready, policy, memory_mib))
            return await ask(link, standby, request, *rest)

        with (
            mock.patch.object(WorkerLink, "call", noted_call),
            mock.patch.object(WorkerLink, "_ask", noted_ask),
        ):
            yield


def _given(frame: bytes) -> tuple[str, int]:
    """Policy and memory in a program's frame."""
    at = wire.LENGTH.size + 1
    size = wire.LENGTH.unpack_from(frame, at)[0]
    _, policy, memory_mib, *_ = frame[at + wire.LENGTH.size :][:size].decode().split("\n")
    return policy, int(memory_mib)


def unlike(probe: Ran, attack: Ran, *, made_by: int, forked_after: bool) -> list[str]:
    """How a probe's process differs from one in which the attack's traces would show.

    Args:
        probe: where the probe ran.
        attack: where the attack ran.
        made_by: the number of the last process that was made when the attack ended.
        forked_after: whether it is to be one that was forked after that, or one that waited.
    """
    found = [
        f"the probe's {name} is {getattr(probe, name)!r}, the attack's {getattr(attack, name)!r}"
        for name in ("worker", "kept_ready", "policy", "memory_mib")
        if getattr(probe, name) != getattr(attack, name)
    ]
    if probe.standby == attack.standby:
        found.append("the probe ran in the attack's own process")
    if (probe.standby > made_by) != forked_after:
        when = "after" if forked_after else "before"
        found.append(f"the probe's process is none that was made {when} the attack ended")
    return found
