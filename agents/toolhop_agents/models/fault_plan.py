"""Faults that the loopback server injects, chosen by a seed rather than by the clock."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from enum import StrEnum


class RequestFault(StrEnum):
    """How the server ends a request."""

    NONE = "none"
    """A normal response with the responder's reply."""
    RATE_LIMITED = "rate_limited"
    """429 with ``Retry-After: 0``."""
    SERVER_ERROR = "server_error"
    """500 with a JSON error."""
    BAD_GATEWAY = "bad_gateway"
    """502 with an HTML page."""
    HANG = "hang"
    """No response until the server stops."""
    CUT = "cut"
    """The connection is closed midway through the body."""
    NOT_JSON = "not_json"
    """200 with a body that is not JSON."""
    NO_CHOICES = "no_choices"
    """200 with a completion that has no choices."""
    UNAUTHORIZED = "unauthorized"
    """401."""
    BAD_REQUEST = "bad_request"
    """400."""


RECOVERABLE = (
    RequestFault.RATE_LIMITED,
    RequestFault.SERVER_ERROR,
    RequestFault.BAD_GATEWAY,
    RequestFault.CUT,
    RequestFault.NOT_JSON,
    RequestFault.NO_CHOICES,
)
"""Infrastructure faults that an immediate retry fixes."""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Chooses the fault of each request.

    The fault depends on the seed, the messages and how often they were sent before, not on other
    requests to the server. Identical conversations share that count.
    """

    rate: float = 0.0
    """Fraction of requests that get a fault, 0 to 1."""
    kinds: tuple[RequestFault, ...] = RECOVERABLE
    """Faults to draw from, each equally likely."""
    seed: int = 0
    consecutive_max: int = 2
    """Maximum number of consecutive faults for the same messages; the next request succeeds."""
    sequence: tuple[RequestFault, ...] = ()
    """Faults of the first requests in order of arrival; later requests get none. If given, the
    fields above are ignored."""

    def decide(self, conversation: str, attempt: int, arrival: int) -> RequestFault:
        """Choose the fault of one request.

        Args:
            conversation: a digest of its messages.
            attempt: number of earlier requests with the same messages.
            arrival: number of earlier requests of any kind.
        """
        if self.sequence:
            return self.sequence[arrival] if arrival < len(self.sequence) else RequestFault.NONE
        row = 0
        fault = RequestFault.NONE
        for number in range(attempt + 1):
            fault = self._drawn(conversation, number)
            if fault is RequestFault.NONE:
                row = 0
            elif row == self.consecutive_max:
                fault, row = RequestFault.NONE, 0
            else:
                row += 1
        return fault

    def _drawn(self, conversation: str, number: int) -> RequestFault:
        text = f"{self.seed}:{conversation}:{number}"
        draw = random.Random(hashlib.sha256(text.encode()).digest())
        return (
            draw.choice(self.kinds)
            if self.kinds and draw.random() < self.rate
            else RequestFault.NONE
        )
