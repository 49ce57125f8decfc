"""A sandbox that runs the tests' own tools here: for where isolation is not the point."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolhop_sandbox.base import Program
from toolhop_sandbox.canned import CannedSandbox
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned


class Inline(CannedSandbox):
    """Starts no worker; a manifest takes its description for that of the process sandbox."""

    def __init__(self) -> None:
        super().__init__(_ran)

    @property
    def description(self) -> Mapping[str, JSON]:
        """As far as a run is read by it."""
        limits = {"wall_s": 10.0, "memory_mib": 256, "result_bytes": 1_000_000}
        return {"kind": "process", "policy": "restricted", **limits}


def _ran(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    names: dict[str, Any] = {}
    exec(program.source, names)  # noqa: S102 -- tools that stand in the tests
    try:
        return Returned(json.dumps(names[program.function](**arguments)))
    except Exception as error:  # noqa: BLE001 -- whatever a tool raises is its outcome
        return Raised(type(error).__name__, str(error))
