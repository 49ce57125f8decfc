"""The sandbox protocol: a session gives access to programs, whose calls run one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from toolhop_sandbox.outcome import JSON, Outcome

Policy: TypeAlias = Literal["restricted", "none"]
"""``restricted`` compiles under RestrictedPython with our guards; ``none`` relies on the
container alone. See docs/policy.md."""


@dataclass(frozen=True, slots=True)
class Program:
    """A piece of untrusted code, and the function to call in it."""

    source: str
    """Python source; its module level runs before every call, in the call's process."""
    function: str
    """Name of the function to call with keyword arguments."""

    @property
    def digest(self) -> str:
        """SHA-256 of source and function name, in hex."""
        text = f"{self.function}\0{self.source}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call. The defaults follow ToolHop's evaluator if it has a limit."""

    wall_s: float = 10.0
    """Seconds from the call's arrival to its result; ToolHop's evaluator allows 10."""
    memory_mib: int = 256
    """MiB of address space that a call may use beyond the bare worker's own."""
    result_bytes: int = 1_000_000
    """Maximum length of the result as JSON in UTF-8, in bytes."""

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
        """Run `program`'s module level and then its function, in a separate process.

        The process is forked for this call, ahead of time if possible, and nothing that the call
        does outlives it. Calls run one at a time; a second call waits. If cancelled, the process is
        killed before this returns.

        Raises:
            SandboxFault: the worker was lost during the call.
            SandboxUnavailable: a replacement could not be started.
        """
        ...


class Sandbox(Protocol):
    """An isolated place for calls, used as an async context manager that cleans up on exit."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """The isolation in use (engine, image, policy, limits), for the run's manifest."""
        ...

    def session(self, programs: Sequence[Program] = ()) -> AbstractAsyncContextManager[Session]:
        """Lease a worker. `programs` lists what will be called, so that it can be prepared."""
        ...

    async def __aenter__(self) -> Sandbox: ...

    async def __aexit__(self, *exc: object) -> None: ...
