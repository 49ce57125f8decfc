"""What goes wrong at the loopback server, and when: decided by a seed, not by the clock."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from enum import StrEnum


class RequestFault(StrEnum):
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
"""The infrastructure's faults that a retry fixes at once."""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which request meets which fault.

    What a conversation meets depends on the seed, its messages and how often these messages
    were sent before; not on what else the server is asked meanwhile. Conversations that are
    equal to the word share that count.
    """

    rate: float = 0.0
    """Share of requests that meet a fault, 0 to 1."""
    kinds: tuple[RequestFault, ...] = RECOVERABLE
    """The faults to draw from, equally likely."""
    seed: int = 0
    consecutive_max: int = 2
    """After so many faults in a row the same messages are answered."""
    sequence: tuple[RequestFault, ...] = ()
    """If given, the faults of the first requests in order of arrival; then none. The fields
    above are not used."""

    def decide(self, conversation: str, attempt: int, arrival: int) -> RequestFault:
        """The fault of one request.

        Args:
            conversation: what tells its messages from others; a digest of them.
            attempt: how often the same messages were sent before, from 0.
            arrival: how many requests came before, from 0.
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
