"""What a chat teaches, where a reply comes from, and the verdicts on it."""

from __future__ import annotations

from enum import StrEnum

from toolhop_tools.errors import ToolsError


class AlignError(ToolsError):
    """Training data that cannot be made, read or used. The message says why, and the fix."""

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(f"{message}\n  fix: {fix}")


class Kind(StrEnum):
    """What a chat teaches; in all but the first, a detour comes before the solution."""

    ORIGINAL = "original"
    REPAIRED = "repaired"
    """A failed call, which is not trained."""
    UNMATCHED = "unmatched"
    """Asking for other tools; without others, giving up."""
    MISSING = "missing"
    """Asking the user for a value."""


class Source(StrEnum):
    """Origin of a reply, best first."""

    SAMPLE = "sample"
    """A model's reply, executed from the same context as the others."""
    RUN = "run"
    FORK = "fork"
    """A reply of a run, executed in another context of the same episode."""
    TWIN = "twin"
    """The action or gold call that the item's label asks for."""
    FAULT = "fault"
    """A gold call that was broken on purpose."""


class Verdict(StrEnum):
    """Verdict on a reply, or (the last three, and other) on a whole trajectory."""

    CORRECT = "correct"
    """Calls of the next hop's tool with the gold result."""
    ANSWER = "answer"
    """The right answer, after the last hop."""
    INDECISIVE = "indecisive"
    """An accepted action: asking the user, changing tools or giving up."""
    HALLUCINATED = "hallucinated"
    """A call that was rejected, or has a made-up tool or value."""
    OTHER = "other"
    """Anything else: a wrong answer, a detour, or a fault of the infrastructure."""
    SUCCESS = "success"
    FAILURE = "failure"
    HALLUCINATION = "hallucination"


class PairType(StrEnum):
    """Verdicts of the chosen and of the rejected reply (Relign, section 3)."""

    CORRECT_HALLUCINATED = "correct>hallucinated"
    CORRECT_INDECISIVE = "correct>indecisive"
    INDECISIVE_HALLUCINATED = "indecisive>hallucinated"
    ANSWER_CALL = "answer>call"
    SUCCESS_FAILURE = "success>failure"
    SUCCESS_HALLUCINATION = "success>hallucination"
    FAILURE_HALLUCINATION = "failure>hallucination"

    @property
    def whole(self) -> bool:
        """Whether it compares whole trajectories."""
        return self in {*list(PairType)[4:]}

    def allows(self, chosen: Verdict, rejected: Verdict) -> bool:
        """Whether replies with these verdicts form such a pair."""
        if self is PairType.ANSWER_CALL:
            return chosen is Verdict.ANSWER and rejected in CALLS
        return self == f"{chosen}>{rejected}"


CALLS = {Verdict.CORRECT, Verdict.INDECISIVE, Verdict.HALLUCINATED, Verdict.OTHER}
"""Verdicts of calls that are worse than a right answer."""
