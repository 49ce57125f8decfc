"""How a game stands: pure views of its trace."""

from __future__ import annotations

from dataclasses import dataclass

from env.limits import EpisodeLimits
from env.messages import Reply
from env.reading import tagged_answer
from env.score import solved_hops
from env.trace import Called, Trace


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the player is."""

    turn: int
    """The turn to be taken, from 1."""
    turn_limit: int | None
    calls: int
    failed: int
    solved: tuple[bool, ...]
    """By hop: whether a call has returned the hop's gold answer."""

    @property
    def last(self) -> bool:
        """Whether only an answer can come of the turn."""
        return self.turn_limit is not None and self.turn >= self.turn_limit

    @property
    def place(self) -> str:
        """The turn in a few letters, such as ``2/9``."""
        return str(self.turn) if self.turn_limit is None else f"{self.turn}/{self.turn_limit}"


def standing(trace: Trace, limits: EpisodeLimits) -> Standing:
    """Where the player of a trace is."""
    return Standing(
        turn=len(trace.replies) + 1,
        turn_limit=limits.turns,
        calls=len(trace.calls),
        failed=sum(call.error is not None for call in trace.calls),
        solved=solved_hops(trace),
    )


@dataclass(frozen=True, slots=True)
class Taken:
    """A turn that was taken."""

    turn: int
    calls: tuple[Called, ...]
    answer: str | None
    """The final answer, where the turn gave it."""


def taken(trace: Trace) -> tuple[Taken, ...]:
    """All turns, in order."""
    return tuple(
        Taken(
            event.turn,
            tuple(call for call in trace.calls if call.turn == event.turn),
            None if event.reply.calls else event.reply.content,
        )
        for event in trace.replies
    )


class NoSuchTurn(ValueError):
    """There are not that many turns to take back; says how many there are."""


def target_turn(trace: Trace, steps: str) -> int:
    """The turn that is to be taken next after going back `steps` (the text typed; empty is 1).

    Raises:
        NoSuchTurn: `steps` is no number, or more than were taken.
    """
    done = len(trace.replies)
    steps = steps or "1"
    if not (steps.isascii() and steps.isdigit() and 0 < len(steps) < 10 and int(steps) > 0):
        raise NoSuchTurn(f"`:back {steps}`: say how many turns, as in :back 2")
    if int(steps) > done:
        have = {0: "no turn has been taken yet", 1: "only one turn has been taken"}
        raise NoSuchTurn(have.get(done, f"only {done} turns have been taken"))
    return done + 1 - int(steps)


def answer_reply(text: str, wall_s: float) -> Reply:
    """The final reply, in the tag that the prompts ask for unless the text brings its own."""
    content = text if tagged_answer(text) is not None else f"<answer>{text}</answer>"
    return Reply(content, wall_s=wall_s)
