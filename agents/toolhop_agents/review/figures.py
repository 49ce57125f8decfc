"""Figures from reviews: items judged per reviewer, agreement, and bounds from samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from toolhop_agents.card.page import NOT_KNOWN, Part, Table
from toolhop_agents.construct.reviews import Material
from toolhop_env.statistics.agreement import agreement
from toolhop_env.statistics.wilson import wilson, wilson_upper
from toolhop_tools.construct.reviews import Ruling, Standing, fate, is_disputed, pairs_of, samples
from toolhop_tools.errors import counted


def figures(material: Material) -> dict[str, Any]:
    """Return all figures as plain values.

    ``reviewers`` counts items by ruling, and by whether the reviewer's own answer was the gold;
    ``samples`` bounds the share of wrong items among the accepted ones.

    Raises:
        ReviewError: the reviews cannot be read.
    """
    words = material.standing()
    names = sorted({name for of in words.values() for name in of})
    return {
        "items": len(words),
        "reviewers": {name: _counts(words, name) for name in names},
        "pairs": pairs(words),
        "seen_by_two": sum(sum(not r.settles for r in of.values()) > 1 for of in words.values()),
        "disputed": [item for item, of in words.items() if is_disputed(of)],
        "rejected": [item for item, of in words.items() if fate(of) is Ruling.REJECT],
        "samples": [
            {**asdict(drawn), "wrong_at_most": wilson_upper(drawn.wrong, drawn.judged)}
            for drawn in samples(words, material.digests)
        ],
    }  # fmt: skip


def _counts(words: Standing, name: str) -> dict[str, int]:
    own = [of[name] for of in words.values() if name in of]
    return {
        **{ruling.value: sum(review.ruling is ruling for review in own) for ruling in Ruling},
        "derived": sum(review.agreed is not None for review in own),
        "derived_gold": sum(review.agreed is True for review in own),
    }


def pairs(words: Standing) -> list[dict[str, Any]]:
    """Return the agreement of each pair of reviewers on items that both judged independently.

    Raw agreement follows NesTools' paper (section 3.3): the share of items that both accept or both
    reject, with Wilson's interval. Kappa is Cohen's with a bootstrap interval over items; None if
    both always give the same ruling.
    """
    rows = []
    for reviewers, rulings in pairs_of(words).items():
        whole = agreement(
            {item: [(one.value, other.value)] for item, (one, other) in rulings.items()}, seed=0
        )
        rows.append({
            "reviewers": [*reviewers],
            "items": whole.questions,
            "raw_agreement": whole.accuracy,
            "raw_interval": [*wilson(whole.accuracy, whole.questions)],
            "kappa": whole.kappa,
            "kappa_interval": [*whole.kappa_limits] if whole.kappa_limits else None,
            "disputed": [item for item, (one, other) in rulings.items() if one is not other],
        })  # fmt: skip
    return rows


def parts(found: Mapping[str, Any], names: Mapping[str, str]) -> list[Part]:
    """Return `figures` as tables and sentences; empty if there are no reviews.

    `names` maps a reviewer to the name to show instead of their own.
    """
    if not found["reviewers"]:
        return []
    items = found["items"]
    rows = [
        (names.get(name, name), *(f"{own[ruling]:,}" for ruling in Ruling),
         f"{items - sum(own[ruling] for ruling in Ruling):,}",
         f"{own['derived_gold']:,} of {own['derived']:,}")
        for name, own in found["reviewers"].items()
    ]  # fmt: skip
    head = ("reviewer", "accepted", "rejected", "skipped", "left", "derived the gold blind")
    shown: list[Part] = [Table(head, tuple(rows))]
    if found["pairs"]:
        titles = ("who", "items", "raw agreement (95 %)", "Cohen's kappa (95 %)", "differ")
        lines = [
            (", ".join(names.get(name, name) for name in pair["reviewers"]), f"{pair['items']:,}",
             _figure(pair["raw_agreement"], pair["raw_interval"]),
             _figure(pair["kappa"], pair["kappa_interval"]), f"{len(pair['disputed']):,}")
            for pair in found["pairs"]
        ]  # fmt: skip
        shown.append(Table(titles, tuple(lines)))
    ends = (
        ("seen by two or more reviewers", f"{found['seen_by_two']:,} of {items:,}"),
        ("judged differently", f"{len(found['disputed']):,}"),
        ("left out of an export", f"{len(found['rejected']):,} of {items:,}"),
    )
    shown.append(Table(("what", "items"), ends))
    return shown + [
        f"Random sample of {drawn['size']:,} of {counted(items, 'item')} (seed {drawn['seed']}): "
        f"{drawn['wrong']:,} of {drawn['judged']:,} rejected: at most "
        f"{100 * drawn['wrong_at_most']:.1f} % of the accepted items are wrong (one-sided, 95 %)."
        for drawn in found["samples"]
    ]


def disputes(words: Standing) -> list[str]:
    """Return a line for each item on which reviewers differ: each ruling, and who settled it."""
    return [
        f"{item}: " + "; ".join(
            f"{review.reviewer} {'settles: ' if review.settles else ''}{review.ruling}s"
            + (f" ({review.reason})" if review.reason else "")
            for review in sorted(of.values(), key=lambda review: review.settles)
            if review.judges
        )
        for item, of in words.items()
        if is_disputed(of)
    ]  # fmt: skip


def _figure(value: float | None, limits: list[float] | None) -> str:
    if value is None:
        return f"{NOT_KNOWN}: both always say the same"
    text = f"{value:.3f}"
    return f"{text} ({limits[0]:.3f} to {limits[1]:.3f})" if limits else f"{text} (too few items)"
