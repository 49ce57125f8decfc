"""One reviewer before a folder's items: which are shown, and what was said of each."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolhop_agents.construct.reviews import Material, add
from toolhop_tools.construct.reviews import Review, Ruling, is_disputed
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import Item


@dataclass
class ReviewSession:
    """What one reviewer sees and has said. It holds no word of anybody else."""

    material: Material
    reviewer: str
    settles: bool
    items: tuple[Item, ...]
    """Those to go through."""
    said: dict[str, Review] = field(default_factory=dict)
    """The reviewer's own last words, skipped items included."""

    @classmethod
    def open(cls, material: Material, reviewer: str, *, settles: bool) -> ReviewSession:
        """Go on where the reviewer stopped.

        Args:
            material: what there is to review.
            reviewer: the name, as `reviews.checked` has it.
            settles: whether only items are shown that others judge differently, to settle them.

        Raises:
            BadChoice: there is nothing to settle, or the reviewer judged such items before.
            ReviewError: the reviews cannot be read.
        """
        words = material.standing()
        own = {item: of[reviewer] for item, of in words.items() if reviewer in of}
        other = sorted(item for item, one in own.items() if one.settles is not settles)
        if other:
            both = "settles" if not settles else "has judged"
            raise BadChoice(
                f"--reviewer {reviewer} {both} {other[0]}, and cannot do both",
                fix="who settles is a person who has judged no item of the folder",
            )
        items = material.items
        if settles:
            items = tuple(item for item in items if is_disputed(words[item.id]))
            if not items:
                raise BadChoice(
                    f"no two reviewers of {material.folder} judge an item differently",
                    fix="leave --settle out",
                )
        return cls(material, reviewer, settles, items, own)

    @property
    def left(self) -> list[Item]:
        """Items that wait for a word: those never shown, then the skipped ones."""
        new = [item for item in self.items if item.id not in self.said]
        return new + [item for item in self.items if self._skipped(item)]

    def _skipped(self, item: Item) -> bool:
        return item.id in self.said and self.said[item.id].ruling is Ruling.SKIP

    def say(self, item: str, ruling: Ruling, reason: str) -> Review:
        """Keep a verdict.

        Raises:
            ValueError: there is no such item here, or a rejection has no reason.
            ReviewError: it cannot be kept.
        """
        found = next((one for one in self.items if one.id == item), None)
        if found is None:
            raise ValueError(f"there is no item {item!r} to judge here")
        if ruling is Ruling.REJECT and not reason.strip():
            raise ValueError("a rejection needs a reason")
        review = Review(self.reviewer, found.id, found.digest, ruling, reason, self.settles)
        self.said[item] = add(self.material.folder, review)
        return self.said[item]
