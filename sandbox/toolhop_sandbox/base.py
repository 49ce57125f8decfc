"""The sandbox protocol: programs are opened in a session, and called there one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from toolhop_sandbox.outcome import JSON, Outcome

Policy: TypeAlias = Literal["restricted", "none"]
"""``restricted`` compiles under RestrictedPython with guards of ours; ``none`` trusts the
container alone. See docs/policy.md."""


@dataclass(frozen=True, slots=True)
class Program:
    """A piece of untrusted code and the function in it that is called."""

    source: str
    """Python text; its module level runs before every call, in the call's own process."""
    function: str
    """Name of the function to call with keyword arguments."""

    @property
    def digest(self) -> str:
        """SHA-256 of source and function name, in hex."""
        text = f"{self.function}\0{self.source}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use. The defaults follow ToolHop's evaluator where it has one."""

    wall_s: float = 10.0
    """Seconds from the call's arrival to its result; ToolHop's evaluator allows 10."""
    memory_mib: int = 256
    """Address space the call may add to the bare worker's own."""
    result_bytes: int = 1_000_000
    """Length of the result's JSON in UTF-8."""

    def __post_init__(self) -> None:
        for name, least, most in (
            ("wall_s", 0.01, 3600),
            ("memory_mib", 16, 65536),
            ("result_bytes", 100, 64_000_000),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}; it must be from {least} to {most}")


class Session(Protocol):
    """One episode's exclusive use of an isolated worker."""

    async def call(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        """Run `program`'s module level and then its function, in a process of its own.

        It is forked for the call, before the call arrives where that can be.
        Nothing that the call does outlives it. One call is under way at a time; a second one
        waits. Cancelling kills the call's process before it returns.

        Raises:
            SandboxFault: the worker was lost under the call.
            SandboxUnavailable: a replacement could not be started.
        """
        ...


class Sandbox(Protocol):
    """Something that isolates calls. An async context manager: leaving it leaves nothing."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """What isolates (engine, image, policy, limits), for the run's manifest."""
        ...

    def session(self, programs: Sequence[Program] = ()) -> AbstractAsyncContextManager[Session]:
        """Lease a worker. `programs` names what will be called, so that it can be made ready."""
        ...

    async def __aenter__(self) -> Sandbox: ...

    async def __aexit__(self, *exc: object) -> None: ...
