"""Walks a table of stages: each asked until its checks hold, and sent back where a later one says.

The table is walked from its beginning after every repair. A stage whose inputs are as they were is
judged again and not asked again, so that a repair costs replies only where something changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from toolhop_agents.construct.context import Context
from toolhop_agents.construct.talk import Ask, Elsewhere, Failed, Judge, Passed, Talk
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.replies import ReplyModel
from toolhop_tools.construct.stages import Place, Problem, Stage

MOST_WALKS = 60
"""Walks of one item: a pair of stages could send each other back for long."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why an item is not made."""

    place: Place
    why: str
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class StageRow:
    """A stage of an item as it is now: what is asked, and how the reply is judged."""

    prompt: str
    shape: type[ReplyModel]
    values: Mapping[str, JSON]
    judge: Judge
    ask: Ask


class Table(Protocol):
    """The stages of one item."""

    def places(self) -> Sequence[Place]:
        """The stages that can be seen so far, in order."""
        ...

    def row(self, place: Place) -> StageRow:
        """A stage, as the replies before it make it."""
        ...

    def before(self, place: Place) -> Place | None:
        """The stage that is sent back once where no repair of this one helps."""
        ...

    def keep(self, place: Place, reply: ReplyModel) -> None:
        """Take a reply that passed."""
        ...


@dataclass
class Walk:
    """The conversations of one item."""

    context: Context
    table: Table
    begun: list[Talk] = field(default_factory=list)
    """In order, with those whose inputs have changed since."""
    _talks: dict[Place, Talk] = field(default_factory=dict)
    _back: set[Place] = field(default_factory=set)
    """Stages that have had the one before them repaired; each may once."""
    _stuck: Failed | None = None
    """Where it was that no repair helped, until that stage is passed."""
    _walks: int = 0

    async def run(self) -> Rejection | None:
        """Walk until every stage holds; why that cannot be, if it cannot.

        Raises:
            RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        while self._walks < MOST_WALKS:
            self._walks += 1
            places, at = self.table.places(), 0
            while at < len(places):
                outcome = await self._settle(places[at])
                if isinstance(outcome, Rejection):
                    return outcome
                if outcome is None:
                    break
                places, at = self.table.places(), at + 1
            else:
                return None
        return Rejection(Place(Stage.ACCEPT), f"{MOST_WALKS} walks through its stages are used up")

    def has(self, place: Place) -> bool:
        """Whether a stage was asked, so that it can be sent back."""
        return place in self._talks

    def send_back(self, place: Place, problems: Sequence[Problem]) -> None:
        """Have a stage's reply repaired in the next walk."""
        own = [Problem(p.check, p.message, p.arguments, p.earlier, p.about) for p in problems]
        self._talks[place].send_back(own)

    async def _settle(self, place: Place) -> ReplyModel | Rejection | None:
        """A stage's reply; None where an earlier stage was sent back."""
        row = self.table.row(place)
        talk = self._talk(place, row)
        outcome = await talk.settle(row.ask, row.judge)
        match outcome:
            case Passed():
                reply = outcome.reply
                self.table.keep(place, reply)
                if self._stuck is not None and self._stuck.place == place:
                    self._stuck = None
                return reply
            case Elsewhere(other, problems):
                if not self.has(other):
                    return Rejection(other, problems[0].message, problems)
                self.send_back(other, problems)
                return None
            case Failed(problems=problems):
                self._stuck = self._stuck or outcome
                before = self.table.before(place)
                if before is None or place in self._back or not problems:
                    return Rejection(self._stuck.place, self._stuck.why, self._stuck.problems)
                self._back.add(place)
                self.send_back(before, problems)
                return None

    def _talk(self, place: Place, row: StageRow) -> Talk:
        """The stage's conversation, begun anew where its inputs have changed."""
        fresh = self.context.talk(place, row.prompt, row.values, row.shape)
        known = self._talks.get(place)
        if known is not None and (known.inputs, known.prompt) == (fresh.inputs, fresh.prompt):
            return known
        self._talks[place] = fresh
        self.begun.append(fresh)
        return fresh
