"""Walks a table of stages: each asked until its checks hold, and sent back where a later one says.

The table is walked from its beginning after every repair. A stage whose inputs are as they were is
judged again and not asked again, so that a repair costs replies only where something changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from toolhop_agents.construct.table import ItemTable
from toolhop_agents.construct.talk import Elsewhere, Failed, Passed, Talk
from toolhop_tools.construct.stages import Place, Problem, Stage

MOST_WALKS = 60
"""Walks of one item: a pair of stages could send each other back for long."""


@dataclass
class Walk:
    """The conversations of one item."""

    table: ItemTable
    begun: list[Talk] = field(default_factory=list)
    """In order, with those whose inputs have changed since."""
    _talks: dict[Place, Talk] = field(default_factory=dict)
    _back: set[Place] = field(default_factory=set)
    """Stages that have had the one before them repaired; each may once."""
    _stuck: Failed | None = None
    """Where it was that no repair helped, until that stage is passed."""
    _walks: int = 0

    async def run(self) -> Failed | None:
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
                if isinstance(outcome, Failed):
                    return outcome
                if outcome is None:
                    break
                places, at = self.table.places(), at + 1
            else:
                return None
        return Failed(Place(Stage.ACCEPT), f"{MOST_WALKS} walks through its stages are used up")

    def has(self, place: Place) -> bool:
        """Whether a stage was asked, so that it can be sent back."""
        return place in self._talks

    def send_back(self, place: Place, problems: Sequence[Problem]) -> None:
        """Have a stage's reply repaired in the next walk."""
        self._talks[place].send_back([replace(problem, place=None) for problem in problems])

    async def _settle(self, place: Place) -> Passed | Failed | None:
        """What a stage comes to; None where an earlier stage was sent back."""
        talk, ask, judge = self.table.stage(place)
        known = self._talks.get(place)
        # A stage is begun anew where its inputs have changed.
        if known is None or (known.inputs, known.prompt) != (talk.inputs, talk.prompt):
            self._talks[place] = talk
            self.begun.append(talk)
        outcome = await self._talks[place].settle(ask, judge)
        match outcome:
            case Passed(reply):
                self.table.replies[place] = reply
                if self._stuck is not None and self._stuck.place == place:
                    self._stuck = None
                return outcome
            case Elsewhere(other, problems):
                if not self.has(other):
                    return Failed(other, problems[0].message, problems)
                self.send_back(other, problems)
                return None
            case Failed(problems=problems):
                self._stuck = self._stuck or outcome
                before = self.table.before(place)
                if before is None or place in self._back or not problems:
                    return self._stuck
                self._back.add(place)
                self.send_back(before, problems)
                return None
