"""What a folder of made items knows of itself: provenance, funnel, criteria, reviews, limits."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolhop_agents.card.counts import share
from toolhop_agents.card.page import NOT_KNOWN, Section, Table, plain
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.reviews import Material, compared, counts
from toolhop_tools.construct.accept import Criterion
from toolhop_tools.construct.funnel import funnel
from toolhop_tools.construct.prompts import Prompts
from toolhop_tools.construct.prompts import load as load_prompts
from toolhop_tools.construct.reviews import Ruling, fate, is_disputed
from toolhop_tools.errors import BadChoice

SHOWN = ("model", "temperature", "max_tokens", "repairs", "seed", "examples", "sandbox",
         "official_safe", "per_template", "direct_model", "direct_samples", "checker")  # fmt: skip
"""Settings that are on the card. Addresses are not: they may be nobody else's business."""


@dataclass(frozen=True, slots=True)
class Made:
    """A folder of made items."""

    material: Material
    settings: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Made:
        """The folder.

        Raises:
            FolderError, DataError, CertificateError: it cannot be read.
        """
        return cls(Material.read(folder), folders.read_settings(folder))

    @property
    def books(self) -> Sequence[Mapping[str, Any]]:
        """Of all finished items, accepted or not."""
        return [*self.material.books.values()]

    def sections(self) -> list[Section]:
        """All that the folder knows beside its items.

        Raises:
            ReviewError: the reviews cannot be read.
        """
        return [
            self.provenance(), self.funnel(), self.criteria(), self.overlaps(), self.reviews(),
        ]  # fmt: skip

    def provenance(self) -> Section:
        """Who was asked what, and what it took."""
        books = self.books
        costs = [one["cost_usd"] for one in books if one["cost_usd"] is not None]
        cost = f"${sum(costs):,.4f}" if len(costs) == len(books) else NOT_KNOWN
        seeds = self.material.folder / folders.SEEDS
        tokens = sum(one["input_tokens"] + one["output_tokens"] for one in books)
        rows = [
            ("seeds tried", f"{len(books):,}"),
            (f"SHA-256 of {folders.SEEDS}", hashlib.sha256(seeds.read_bytes()).hexdigest()),
            ("world", _values(books, "world")),
            ("question by", _extra(self.material, "question_by")),
            ("replies", f"{sum(one['replies'] for one in books):,}"),
            ("tokens", f"{tokens:,}"),
            ("cost, whoever paid", cost),
            ("version of the stages' checks", _values(books, "checks")),
        ]
        own = [(name, _set(self.settings[name])) for name in SHOWN if name in self.settings]
        parts: list[str | Table] = [
            "Made by `toolhop construct`: a model is asked stage by stage, every reply is checked, "
            "and an item is accepted that was run and proven.",
            Table(("what", "figure"), tuple(rows)),
            Table(("setting", "value"), tuple(own)),
        ]
        prompts = self._prompts()
        if prompts is None:
            digest = self.settings.get("prompts_digest") or NOT_KNOWN
            parts.append(f"The prompts are not those that are here now; their digest is {digest}.")
        else:
            versions = tuple((name, prompts.version(name)) for name in sorted(prompts.texts))
            parts.append(Table(("prompt", "version"), versions))
        return Section("Provenance", tuple(parts))

    def _prompts(self) -> Prompts | None:
        """The prompts that the folder was made with; None where they have changed since."""
        own = self.settings.get("prompts")
        try:
            found = load_prompts(Path(own) if own else None)
        except BadChoice:
            return None
        return found if found.digest == self.settings.get("prompts_digest") else None

    def funnel(self) -> Section:
        """What passed by stage, and why the rest did not."""
        rows = [
            (str(row.stage.value), share(row.first, row.begun), share(row.passed, row.begun),
             f"{row.replies:,}")
            for row in funnel(self.books)
        ]  # fmt: skip
        accepted = sum(bool(one["accepted"]) for one in self.books)
        lost = Counter(_place(one) for one in self.books if not one["accepted"])
        parts: list[str | Table] = [
            f"Accepted: {share(accepted, len(self.books))}. Intervals are Wilson's.",
            Table(("stage", "passed at the first reply", "passed", "replies"), tuple(rows)),
        ]
        if lost:
            why = tuple((place, f"{count:,}") for place, count in lost.most_common())
            parts.append(Table(("rejected at", "items"), why))
        return Section("Funnel", tuple(parts))

    def criteria(self) -> Section:
        """Over accepted items: what each holds, by which version of the check."""
        found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for book in self.books:
            for one in book["criteria"] if book["accepted"] else ():
                found[one["criterion"]].append(one)
        rows = []
        for name, of in [*found.items()]:
            versions = ", ".join(sorted({str(one["version"]) for one in of}))
            held = sum(bool(one["holds"]) for one in of)
            rows.append((name, versions, f"{held:,} of {len(of):,}"))
        text = "What every accepted item holds is said in docs/construct.md of toolhop-env."
        parts: list[str | Table] = [text, Table(("criterion", "version", "hold"), tuple(rows))]
        asked = [one["figure"] for one in found[Criterion.DIRECT.value]]
        if asked:
            right = share(sum(one["right"] for one in asked), sum(one["asked"] for one in asked))
            parts.append(f"Without tools {plain(str(asked[0]['model']))} is right in {right}.")
        else:
            parts.append(
                "Whether a model knows answers without tools is not known: none was asked."
            )
        parts.append(self._rebuilt())
        return Section("Criteria", tuple(parts))

    @property
    def refused(self) -> int:
        """Items that the checker alone spoke against."""
        return sum(bool(one.get("refused")) for one in self.books)

    def _rebuilt(self) -> str:
        """What became of all items that the checker was shown, accepted or not."""
        read = [
            one["figure"]
            for book in self.books
            for one in book["criteria"]
            if one["criterion"] == Criterion.REBUILT.value and "agreed_at_first" in one["figure"]
        ]
        if not read:
            return "Whether another model reads the questions so is not known: none was asked."
        first = sum(bool(one["agreed_at_first"]) for one in read)
        agreed = sum("why" not in one for one in read)
        model = str(read[0]["model"])
        own = ", which made them too," if self.settings.get("model") == model else ""
        return (
            f"{plain(model)}{own} planned the calls from questions and documents: "
            f"they came to the answer at first in {share(first, len(read))}, in the end in "
            f"{share(agreed, len(read))}. {self.refused:,} that it alone spoke against are left "
            "out."
        )

    def overlaps(self) -> Section:
        """Which data the items were compared with, and what was found."""
        against = self.settings.get("against") or ()
        why = [str(one.get("why", "")) for one in self.books if not one["accepted"]]
        rows = (
            ("test sets compared with", ", ".join(Path(one).name for one in against) or "none"),
            ("rejected as like a test set", f"{sum('like a test set' in one for one in why):,}"
             if against else NOT_KNOWN),
            ("rejected as like another item",
             f"{sum(one.startswith('it is ') and 'test set' not in one for one in why):,}"),
        )  # fmt: skip
        return Section("Overlap", (Table(("what", "figure"), rows),))

    def reviews(self) -> Section:
        """Who judged how many, how far they agree, and what that leaves."""
        words = self.material.standing()
        said, items = counts(words), len(words)
        if not said:
            return Section("Reviews", ("No person has reviewed these items.",))
        # Reviewers have a right not to be named where the data is published.
        names = {name: f"reviewer {n}" for n, name in enumerate(said, 1)}
        rows = tuple(
            (names[name], *(f"{of[ruling]:,}" for ruling in Ruling), f"{items:,}")
            for name, of in said.items()
        )
        pairs = tuple(
            (
                f"{names[one.first]}, {names[one.second]}",
                f"{one.found.questions:,}",
                _figure(one.found.accuracy, one.raw_limits),
                _figure(one.found.kappa, one.found.kappa_limits),
                f"{len(one.disputed):,}",
            )
            for one in compared(words)
        )
        two = sum(len({n for n, w in of.items() if not w.settles}) > 1 for of in words.values())
        fates = Counter(fate(of) for of in words.values())
        ends = (
            ("items that two or more judged alone", f"{two:,} of {items:,}"),
            ("judged differently", f"{sum(map(is_disputed, words.values())):,}"),
            ("left out of an export", f"{fates[Ruling.REJECT]:,}"),
        )
        parts: list[str | Table] = [
            Table(("reviewer", "accepted", "rejected", "skipped", "of"), rows),
            Table(("what", "figure"), ends),
        ]
        if pairs:
            head = ("who", "items", "raw agreement (95 %)", "Cohen's kappa (95 %)", "differ")
            parts.insert(1, Table(head, pairs))
        return Section("Reviews", tuple(parts))


def _figure(value: float | None, limits: tuple[float, float] | None) -> str:
    if value is None:
        return NOT_KNOWN
    text = f"{value:.3f}"
    return f"{text} ({limits[0]:.3f} to {limits[1]:.3f})" if limits else f"{text} (too few items)"


def _set(value: object) -> str:
    return "not set" if value is None else str(value)


def _values(books: Sequence[Mapping[str, Any]], name: str) -> str:
    found = sorted({str(one.get(name, "")) for one in books} - {""})
    return ", ".join(found) or NOT_KNOWN


def _extra(material: Material, name: str) -> str:
    found = Counter(str(item.extra.get(name, NOT_KNOWN)) for item in material.items)
    return ", ".join(f"{value} {count:,}" for value, count in found.most_common())


def _place(book: Mapping[str, Any]) -> str:
    stage, hop = book["place"]
    return f"{stage} of hop {hop}" if hop else str(stage)
