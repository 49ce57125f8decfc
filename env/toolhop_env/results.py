"""What the calls of a trace returned, and whether an answer is in it."""

from __future__ import annotations

from toolhop_env.feedback import result_value
from toolhop_env.trace import Called
from toolhop_sandbox.outcome import Returned
from toolhop_tools.answers import holds


def holds_answer(call: Called, answer: str) -> bool:
    """Whether a call succeeded and its result is `answer`, or has it as a leaf (by value)."""
    if call.error is not None or not isinstance(call.outcome, Returned):
        return False
    return holds(result_value(call.outcome), answer)
