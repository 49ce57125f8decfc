"""How an episode in play stands: pure views of its trace."""

from __future__ import annotations

from dataclasses import dataclass

from toolhop_env.benchmark import Milestone
from toolhop_env.benchmarks import named
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import Reply
from toolhop_env.reading import tagged_answer
from toolhop_env.trace import Called, Trace

TAG = "<answer>"


@dataclass(frozen=True, slots=True)
class EpisodeProgress:
    """Where the agent is."""

    turn: int
    """The turn to be taken, from 1."""
    turn_limit: int | None
    calls: int
    failed: int
    milestones: tuple[Milestone, ...]
    """The benchmark's steps of the way, each reached or not."""

    @property
    def reached(self) -> int:
        """Milestones that were reached."""
        return sum(one.reached for one in self.milestones)

    @property
    def last(self) -> bool:
        """Whether only an answer can come of the turn."""
        return self.turn_limit is not None and self.turn >= self.turn_limit

    @property
    def place(self) -> str:
        """The turn in a few letters, such as ``2/9``."""
        return str(self.turn) if self.turn_limit is None else f"{self.turn}/{self.turn_limit}"

    def status(self, milestone: str | None) -> str:
        """The same in a line, such as ``hops 1/3 · turn 2/9 · calls 4, failed 1``.

        Without the name of a milestone it does not say how many are reached.
        """
        tells = milestone and self.milestones
        way = f"{milestone}s {self.reached}/{len(self.milestones)} · " if tells else ""
        return f"{way}turn {self.place} · calls {self.calls}, failed {self.failed}"


def progress(trace: Trace, limits: EpisodeLimits) -> EpisodeProgress:
    """Where the agent of a trace is."""
    return EpisodeProgress(
        turn=len(trace.replies) + 1,
        turn_limit=limits.turns,
        calls=len(trace.tool_calls),
        failed=sum(call.error is not None for call in trace.tool_calls),
        milestones=tuple(named(trace.started.benchmark).presentation.milestones(trace)),
    )


@dataclass(frozen=True, slots=True)
class TakenTurn:
    """A turn that was taken."""

    turn: int
    calls: tuple[Called, ...]
    answer: str | None
    """The final answer, where the turn gave it."""


def taken(trace: Trace) -> tuple[TakenTurn, ...]:
    """All turns, in order."""
    return tuple(
        TakenTurn(
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
        NoSuchTurn: `steps` is not a number, or more than were taken.
    """
    done = len(trace.replies)
    steps = steps or "1"
    if not (steps.isascii() and steps.isdigit() and 0 < len(steps) < 10 and int(steps) > 0):
        raise NoSuchTurn(f"`:back {steps}`: say how many turns, as in :back 2")
    if int(steps) > done:
        have = {0: "no turn has been taken yet", 1: "only one turn has been taken"}
        raise NoSuchTurn(have.get(done, f"only {done} turns have been taken"))
    return done + 1 - int(steps)


def answer_reply(trace: Trace, text: str, wall_s: float = 0.0) -> Reply:
    """The final reply: in the answer tag where the prompt asks for it and the text brings none."""
    asked = any(TAG in message.content for message in trace.started.messages)
    bare = asked and tagged_answer(text) is None
    return Reply(f"{TAG}{text}</answer>" if bare else text, wall_s=wall_s)
