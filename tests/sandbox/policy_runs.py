"""Running a source with the policy and without, and telling how it ended."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

from toolhop_sandbox.worker.policy import compile_restricted, restricted_globals


def plain(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "tool"}
    exec(compile(source, "<tool>", "exec", dont_inherit=True), namespace)  # noqa: S102
    return namespace


def restricted(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = restricted_globals()
    exec(compile_restricted(source), namespace)  # noqa: S102
    return namespace


def outcome(run: Callable[[str], dict[str, Any]], source: str) -> tuple[str, str, str]:
    try:
        with decimal.localcontext():
            value = run(source)["result"]
    except Exception as error:  # noqa: BLE001 -- sources may raise anything
        return "raised", type(error).__name__, str(error)
    return "returned", type(value).__name__, repr(value)
