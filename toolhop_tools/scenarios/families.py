"""Group the items of a scenario file by family, and pair unsolvable items with solvable ones."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataError
from toolhop_tools.model import Flaky, Item, Tool, ToolSchema
from toolhop_tools.perturb.nearest import TfIdf
from toolhop_tools.perturb.nearest import words as schema_words
from toolhop_tools.readers.folder import builtin
from toolhop_tools.scenarios.label import FIELD, Label, Scenario, label_of, own_id

ORIGINS = "origins.jsonl"
"""File that lists the executable scenario items from which each written row was made."""


class Reason(StrEnum):
    """Why a family has no row of a kind."""

    NO_TWIN = "its solvable sibling is not in the file"
    NO_PLAIN = "its plain item is not in the file"
    UNSEEN_LIMIT = "the task does not say the value that the limits are about"
    ALIKE = "two of its tools read too much alike for a plan to tell them apart"
    NO_OTHER = "no tool of another item is left that does not read like one of its own"
    SAME_ROW = "another row is the same"
    NAME = "a tool has a name that the format keeps for its own"
    SAME_NAMES = "two parameters have the same name in the official form"
    NOT_SHOWN = "a gold call gives what the official schema does not show: nothing is required"
    TOO_LONG = "a result is longer than the official code shows"


def runs_code(tool: Tool) -> bool:
    """Whether a tool runs code, as opposed to an action of the episode."""
    return isinstance(tool.body, Program | Flaky)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A scenario item with its label."""

    item: Item
    label: Label

    @property
    def shown(self) -> dict[str, Tool]:
        """Tools on offer, without those that act on the episode."""
        return {k: tool for k, tool in self.item.tools.items() if runs_code(tool)}

    @property
    def available(self) -> dict[str, Tool]:
        """Tools on offer and the held-back tools of other items.

        All were tried without success when the label was proven. Their order reveals nothing.
        """
        held = {tool.name: tool for tool in self.item.others if runs_code(tool)}
        found = held | self.shown
        return {name: found[name] for name in sorted(found, key=self._place)}

    def _place(self, name: str) -> str:
        return hashlib.sha256(f"{self.label.family}/{name}".encode()).hexdigest()

    @property
    def hop_tools(self) -> list[str]:
        """Name of each hop's tool."""
        return [hop.tool.name for hop in self.item.hops]


@dataclass(frozen=True, slots=True)
class Family:
    """Everything made from one item."""

    name: str
    members: tuple[Labelled, ...]

    def own(self, scenario: Scenario) -> Labelled | None:
        """Return the item of a scenario; its siblings have other ids."""
        wanted = own_id(self.name, scenario)
        return next((one for one in self.members if one.item.id == wanted), None)

    def twin(self, one: Labelled) -> Labelled | None:
        """Return the solvable sibling of an unsolvable item: its own, or a shared one.

        This is the smallest solvable item without a hazard that has the same question, shows at
        least the same tools, and solves each hop that is not lost with the same tool.
        """
        found = [
            other
            for other in self.members
            if other.label.solvable
            and not other.label.recovery
            and _asks_the_same(one, other)
            and _covers(other, one)
        ]
        own = f"{one.item.id}~solvable"
        found.sort(key=lambda other: (other.item.id != own, len(other.shown)))
        return found[0] if found else None


def _asks_the_same(one: Labelled, other: Labelled) -> bool:
    asked = [
        [each.item.question, *((hop.question, hop.answer) for hop in each.item.hops)]
        for each in (one, other)
    ]
    return asked[0] == asked[1]


def _covers(solvable: Labelled, one: Labelled) -> bool:
    same = all(
        mine == its or number in one.label.lost
        for number, (mine, its) in enumerate(
            zip(one.hop_tools, solvable.hop_tools, strict=True), start=1
        )
    )
    return same and one.shown.keys() <= solvable.shown.keys()


ALIKE = 0.4
"""Minimum TF-IDF cosine of two tool schemas at which one reads as if it did the other's job.
Labels are proven by running tools, but a planner, or a reader of the tools, only has their text."""


@cache
def _weights() -> TfIdf:
    """Weights from a fixed background, so that similarity does not depend on other schemas."""
    tools = {
        json.dumps(tool.schema.to_openai(), sort_keys=True): tool.schema
        for item in builtin().items
        for tool in item.tools.values()
    }
    return TfIdf([Counter(schema_words(schema)) for schema in tools.values()], unknown=True)


@cache
def _alike(one: str, other: str) -> float:
    counts = [Counter(schema_words(ToolSchema(**json.loads(text)))) for text in (one, other)]
    return _weights().cosine(counts[0], counts[1])


def reads_like(one: Tool, other: Tool) -> bool:
    """Whether a tool reads as if it did the other's job, or is the same tool."""
    texts = sorted(json.dumps(asdict(each.schema), ensure_ascii=False) for each in (one, other))
    return _alike(*texts) >= ALIKE


def families(items: Iterable[Item], *, origin: str) -> tuple[Family, ...]:
    """Return the families in a file of scenarios, in its order.

    Raises:
        DataError: an item is not a scenario, or there are no items.
    """
    found: dict[str, list[Labelled]] = {}
    for item in items:
        try:
            label = label_of(item.gold) if FIELD in item.gold else None
        except ValueError as error:
            raise DataError(
                f"item {item.id} has a label of another form: {error}", origin=origin
            ) from None
        if label is None:
            raise DataError(
                f"item {item.id} is no scenario",
                origin=origin,
                fix="give a file that `toolhop perturb` wrote",
            )
        found.setdefault(label.family, []).append(Labelled(item, label))
    return tuple(Family(name, tuple(members)) for name, members in found.items())


@dataclass
class Files:
    """Output of a writer."""

    texts: dict[str, str] = field(default_factory=dict)
    """File contents by path within the folder."""
    data: tuple[str, ...] = ()
    """The files with rows; each is read back before it is published."""
    rows: Counter[str] = field(default_factory=Counter)
    """Number of rows by subtask or set."""
    left: dict[str, Counter[Reason]] = field(default_factory=dict)
    """Families without a row, counted by reason, for each subtask or set."""

    def leave(self, kind: str, reason: Reason) -> None:
        """Count a family that has no row of a kind."""
        self.left.setdefault(kind, Counter())[reason] += 1


def as_rows(rows: Iterable[Mapping[str, JSON]]) -> str:
    """Format rows as in the official files: one JSON list."""
    return json.dumps([dict(row) for row in rows], ensure_ascii=False, indent=2) + "\n"


def as_lines(rows: Iterable[Mapping[str, JSON]]) -> str:
    """Format rows as JSON Lines."""
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
