"""What each attack may end as, in the words of `suite.told`."""

from __future__ import annotations

from sandbox.base import Policy

LIMITS_S: dict[str, float] = {}
NONE: dict[str, str] = {}
RESTRICTED: dict[str, str] = {}

def allowed(name: str, policy: Policy, word: str) -> bool:
    return True
