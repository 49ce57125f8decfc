"""What goes wrong at the loopback server, and when: decided by a seed, not by the clock."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from enum import StrEnum

from env.messages import RawCall, Reply


class Fault(StrEnum):
    """One way for a request to end."""

    NONE = "none"
    """It is answered as the responder says."""
    RATE_LIMITED = "rate_limited"
    """429 with ``Retry-After: 0``."""
    SERVER_ERROR = "server_error"
    """500 with a JSON error."""
    BAD_GATEWAY = "bad_gateway"
    """502 with an HTML page."""
    HANG = "hang"
    """No answer until the server stops."""
    CUT = "cut"
    """The connection is closed in the middle of the body."""
    NOT_JSON = "not_json"
    """200 with a body that is not JSON."""
    NO_CHOICES = "no_choices"
    """200 with a completion without choices."""
    EMPTY_CONTENT = "empty_content"
    """A reply that says nothing and calls nothing."""
    UNAUTHORIZED = "unauthorized"
    """401."""
    BAD_REQUEST = "bad_request"
    """400."""
    MALFORMED_ARGUMENTS = "malformed_arguments"
    """The model's slip: the arguments' text ends in the middle."""
    UNKNOWN_TOOL = "unknown_tool"
    """The model's slip: it calls tools that do not exist."""
    PARALLEL = "parallel"
    """The model's habit: every call is made twice, under two ids."""


SHAPING = frozenset({Fault.MALFORMED_ARGUMENTS, Fault.UNKNOWN_TOOL, Fault.PARALLEL})
"""The model's own faults: a client must pass them on, not repair or retry them."""

RECOVERABLE = (
    Fault.RATE_LIMITED,
    Fault.SERVER_ERROR,
    Fault.BAD_GATEWAY,
    Fault.CUT,
    Fault.NOT_JSON,
    Fault.NO_CHOICES,
)
"""The infrastructure's faults that a retry mends at once."""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which request meets which fault.

    What a conversation meets depends on the seed, its messages and how often these messages
    were sent before; not on what else the server is asked meanwhile. Conversations that are
    equal to the word share that count.
    """

    rate: float = 0.0
    """Share of requests that meet a fault, 0 to 1."""
    kinds: tuple[Fault, ...] = RECOVERABLE
    """The faults to draw from, equally likely."""
    seed: int = 0
    consecutive_max: int = 2
    """After so many faults in a row that are not `SHAPING`, the same messages are answered."""
    sequence: tuple[Fault, ...] = ()
    """If given, the faults of the first requests in order of arrival; then none. The fields
    above are not used."""

    def decide(self, conversation: str, attempt: int, arrival: int) -> Fault:
        """The fault of one request.

        Args:
            conversation: what tells its messages from others; a digest of them.
            attempt: how often the same messages were sent before, from 0.
            arrival: how many requests came before, from 0.
        """
        if self.sequence:
            return self.sequence[arrival] if arrival < len(self.sequence) else Fault.NONE
        row = 0
        fault = Fault.NONE
        for number in range(attempt + 1):
            fault = self._drawn(conversation, number)
            if fault is Fault.NONE or fault in SHAPING:
                row = 0
            elif row == self.consecutive_max:
                fault, row = Fault.NONE, 0
            else:
                row += 1
        return fault

    def _drawn(self, conversation: str, number: int) -> Fault:
        text = f"{self.seed}:{conversation}:{number}"
        draw = random.Random(hashlib.sha256(text.encode()).digest())
        return draw.choice(self.kinds) if self.kinds and draw.random() < self.rate else Fault.NONE


def shaped(reply: Reply, fault: Fault) -> Reply:
    """`reply` with the model's own fault in it; as it is for other faults, or without calls."""
    match fault:
        case Fault.MALFORMED_ARGUMENTS:
            calls = (
                replace(c, arguments=c.arguments[: len(c.arguments) // 2]) for c in reply.calls
            )
        case Fault.UNKNOWN_TOOL:
            calls = (replace(call, name=f"{call.name}_v2") for call in reply.calls)
        case Fault.PARALLEL:
            calls = (twin for call in reply.calls for twin in (call, _again(call)))
        case _:
            return reply
    return replace(reply, calls=tuple(calls))


def _again(call: RawCall) -> RawCall:
    return replace(call, id=f"{call.id}_again")
