"""Output of blind reading: counts of votes, and one item's plans beside its chain."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from toolhop_agents.terminal import plain
from toolhop_env.statistics.effective import effective
from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.file import ItemReading
from toolhop_tools.blind.votes import Ballot, ReadStatus, Vote
from toolhop_tools.construct.text import called
from toolhop_tools.model import Item

LISTED = 20
"""Maximum disputed items listed by name; --json has all."""


@dataclass
class ReadingTally:
    """Counts over readings."""

    status: Counter[ReadStatus] = field(default_factory=Counter)
    by_model: dict[str, Counter[Vote]] = field(default_factory=dict)
    without_sibling: int = 0
    disputed: list[str] = field(default_factory=list)
    """Ids of disputed items with their votes."""
    votes: list[Mapping[tuple[str, int], bool]] = field(default_factory=list)

    def add(self, reading: ItemReading) -> None:
        """Count one reading."""
        self.status[reading.status] += 1
        self.without_sibling += not reading.has_sibling
        self.votes.append(reading.votes)
        for ballot in reading.ballots:
            self.by_model.setdefault(ballot.model, Counter())[ballot.vote] += 1
        if reading.status is ReadStatus.DISPUTED:
            counts = Counter(ballot.vote for ballot in reading.ballots)
            self.disputed.append(f"{reading.item}: {_counts(counts)}")

    @property
    def items(self) -> int:
        """Number of items with a reading."""
        return sum(self.status.values())

    def to_json(self, unread: int) -> dict[str, JSON]:
        """Return the counts as plain values."""
        worth = effective(self.votes)
        return {
            "read": self.status[ReadStatus.READ],
            "disputed": self.status[ReadStatus.DISPUTED],
            "unread": unread,
            "no_sibling": self.without_sibling,
            "votes": {
                model: {vote.value: counts[vote] for vote in Vote}
                for model, counts in sorted(self.by_model.items())
            },
            "effective_readers": {
                "readers": worth.readers,
                "items": worth.items,
                "correlation": worth.correlation,
                "number": worth.number,
            },
            "disputed_items": [*self.disputed],
        }

    def lines(self, unread: int) -> Iterator[str]:
        """Yield the counts as text; nothing if there are no readings."""
        if not self.items:
            return
        read, disputed = self.status[ReadStatus.READ], self.status[ReadStatus.DISPUTED]
        yield (
            f"Readers: {read} items read, {disputed} disputed, {unread} unread; "
            f"{self.without_sibling} without a sibling to try plans on."
        )
        for model, counts in sorted(self.by_model.items()):
            yield f"  {model}: {_counts(counts)}"
        yield f"  {effective(self.votes)}"
        for line in self.disputed[:LISTED]:
            yield f"  disputed {line}"
        if len(self.disputed) > LISTED:
            yield f"  and {len(self.disputed) - LISTED} more; --json lists them"


def _counts(counts: Mapping[Vote, int]) -> str:
    return ", ".join(f"{vote.value} {counts[vote]}" for vote in Vote if counts.get(vote))


def reading_parts(item: Item, reading: ItemReading | None) -> Iterator[RenderableType]:
    """Yield an item's disagreeing plans, each beside a plan that agrees, or else beside the
    chain.
    """
    if reading is None:
        yield plain("read:   unread; `toolhop certify --readers MODEL` has it read")
        return
    sibling = "" if reading.has_sibling else "; no sibling to try plans on"
    yield plain(f"read:   {reading.status.value}, {len(reading.ballots)} votes{sibling}")
    agreeing = [ballot for ballot in reading.ballots if ballot.vote is Vote.AGREES]
    for ballot in reading.ballots:
        words = f": {json.dumps(ballot.words, ensure_ascii=False)}" if ballot.words else ""
        yield plain(f"  {_name(ballot)}: {ballot.vote.value}{words}")
    others = [ballot for ballot in reading.ballots if ballot.vote is not Vote.AGREES]
    for ballot in others:
        if ballot.steps:
            yield _beside(item, agreeing[0] if agreeing else None, ballot)


def _name(ballot: Ballot) -> str:
    return f"{ballot.model} #{ballot.sample}"


def _beside(item: Item, agreeing: Ballot | None, other: Ballot) -> Table:
    chain = [f"{hop.tool.name} → {hop.answer}" for hop in item.hops]
    left = chain if agreeing is None else list(map(_step, agreeing.steps))
    right = list(map(_step, other.steps))
    table = Table(show_lines=True)
    table.add_column("")
    table.add_column(plain("chain" if agreeing is None else f"{_name(agreeing)}, agrees"))
    table.add_column(plain(f"{_name(other)}, {other.vote.value}"))
    for at in range(max(len(left), len(right))):
        cells = (plain(side[at] if at < len(side) else "") for side in (left, right))
        table.add_row(str(at + 1), *cells)
    return table


def _step(step: Mapping[str, Any]) -> str:
    given = step["arguments"]
    value = step.get("value")
    gives = f"no value: {step.get('result', '')}" if value is None else str(value)
    return f"{called(str(step['tool']), given)} → {gives}"[:500]
