"""One reviewer's session: which cases are shown, which are revealed, and the reviews so far."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from toolhop_agents.construct.reviews import MOST_TEXT, Material, add
from toolhop_agents.review.bench import Bench
from toolhop_agents.review.case import Case, cases
from toolhop_tools.construct.reviews import Review, Ruling, is_disputed, sample
from toolhop_tools.errors import BadChoice

REVIEWER = re.compile(r"[\w.-]{1,40}")


@dataclass
class ReviewSession:
    """One reviewer's cases and reviews. It knows no other reviewer's reviews."""

    material: Material
    reviewer: str
    settles: bool
    cases: dict[str, Case]
    """Cases to judge in order, by `Case.id`."""
    bench: Bench
    drawn: tuple[int, int] | None = None
    """Size and seed of the random sample; None if the cases are not a sample."""
    said: dict[str, Review] = field(default_factory=dict)
    """The reviewer's latest reviews by `Case.id`, skipped items included."""

    @classmethod
    def open(
        cls, material: Material, reviewer: str, bench: Bench, *, settles: bool = False,
        drawn: tuple[int, int] | None = None,
    ) -> ReviewSession:  # fmt: skip
        """Resume where the reviewer stopped.

        With `settles`, only disputed items are shown, for the reviewer to settle. `drawn` is the
        size and seed of a random sample; None for all items.

        Raises:
            BadChoice: the reviewer's name is not valid, there is nothing to settle, or the reviewer
                has both settled and judged items.
            ReviewError: the reviews cannot be read.
        """
        if not REVIEWER.fullmatch(reviewer):
            raise BadChoice(
                f"--reviewer is {reviewer!r}", fix="give 1 to 40 letters, digits, '.', '_' or '-'"
            )
        words = material.standing()
        own = {item: of[reviewer] for item, of in words.items() if reviewer in of}
        other = sorted(item for item, review in own.items() if review.settles is not settles)
        if other:
            both = "settles" if not settles else "has judged"
            raise BadChoice(
                f"--reviewer {reviewer} {both} {other[0]}, and cannot do both",
                fix="have a person settle who has judged no item",
            )
        known = {case.item.id: case for case in cases(material)}
        if settles:
            known = {name: case for name, case in known.items() if is_disputed(words[name])}
            if not known:
                raise BadChoice(
                    f"no two reviewers of {material.folder} judge an item differently",
                    fix="leave --settle out",
                )
        if drawn is not None:
            known = {name: known[name] for name in sample(material.digests, *drawn)}
        said = {case.id: own[name] for name, case in known.items() if name in own}
        shown = {case.id: case for case in known.values()}
        return cls(material, reviewer, settles, shown, bench, drawn, said)

    @property
    def left(self) -> list[Case]:
        """Cases without a verdict: answered ones, then those never shown, then the skipped ones."""
        waiting = [case for case in self.cases.values() if not self.is_judged(case.id)]
        return sorted(waiting, key=lambda of: (not self.is_revealed(of.id), of.id in self.said))

    def is_judged(self, item: str) -> bool:
        """Whether the reviewer has accepted or rejected the item."""
        return item in self.said and self.said[item].judges

    def is_revealed(self, item: str) -> bool:
        """Whether the reviewer has answered, so that the gold is shown."""
        return item in self.said and (self.said[item].derived is not None or self.is_judged(item))

    def case(self, item: str) -> Case:
        """Return the case with this id.

        Raises:
            ValueError: there is no such item.
        """
        if item not in self.cases:
            raise ValueError(f"there is no item {item!r} to judge here")
        return self.cases[item]

    def derive(self, item: str, answer: str) -> Review:
        """Store the reviewer's own answer and reveal the gold; a first answer is never replaced.

        Raises:
            ValueError: there is no such item, or the answer is malformed.
            ReviewError: it cannot be stored.
        """
        case = self.case(item)
        if self.is_revealed(item):
            return self.said[item]
        text, agreed = case.derived(answer.strip(), self.bench.trace(case.item))
        return self._keep(case, Ruling.SKIP, derived=text[:MOST_TEXT], agreed=agreed)

    def say(self, item: str, ruling: Ruling, reason: str) -> Review:
        """Store a verdict.

        Raises:
            ValueError: there is no such item, the reviewer has not answered yet, or a rejection has
                no reason.
            ReviewError: it cannot be stored.
        """
        case = self.case(item)
        if ruling is not Ruling.SKIP and not self.is_revealed(item):
            raise ValueError("give an answer of your own first")
        if ruling is Ruling.REJECT and not reason.strip():
            raise ValueError("a rejection needs a reason")
        return self._keep(case, ruling, reason)

    def _keep(self, case: Case, ruling: Ruling, reason: str = "", **answer: Any) -> Review:  # noqa: ANN401 -- fields of `Review`, whose types differ; `replace` refuses other names
        """Store a review, keeping the previous review's answer and sample unless replaced."""
        own = Review(self.reviewer, case.item.id, case.digest, ruling, settles=self.settles)
        before = self.said.get(case.id, own)
        review = replace(before, ruling=ruling, reason=reason, **answer)
        self.said[case.id] = add(
            self.material.folder, replace(review, drawn=self.drawn or before.drawn)
        )
        return self.said[case.id]
