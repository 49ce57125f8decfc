"""Claims about items, and how the items that meet a claim differ from all items. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean

from toolhop_tools.blind.file import ItemReading
from toolhop_tools.blind.votes import ReadStatus
from toolhop_tools.certify.model import Certificate, HopProof
from toolhop_tools.model import Item


class Claim(StrEnum):
    """A claim by which items can be selected."""

    EXECUTED = "executed"
    """A grounded call of each hop returns the gold."""
    DETERMINED = "determined"
    """Executed, and no other call of equal standing returns something else. The item is proven,
    or was generated with a chain whose answer two engines agree on."""
    READ = "read"
    """Blind readers reach the gold through every hop."""


def claim_named(text: str) -> Claim | None:
    """Return the named claim, or None for no claim; earlier versions' yes and no are accepted.

    Raises:
        ValueError: there is no such claim.
    """
    plain = text.strip().casefold()
    if plain in {"true", "yes", "1"}:
        return Claim.DETERMINED
    if plain in {"false", "no", "0", ""}:
        return None
    try:
        return Claim(plain)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a claim of certificates; the claims are {', '.join(Claim)}"
        ) from None


def claims_of(shown: HopProof | Certificate) -> frozenset[Claim]:
    """Return what the search claims about a hop or an item."""
    if shown.verdict.is_proof:
        return frozenset({Claim.EXECUTED, Claim.DETERMINED})
    return frozenset({Claim.EXECUTED} if shown.executed else ())


def item_claims(certificate: Certificate, reading: ItemReading | None) -> frozenset[Claim]:
    """Return what the search and the readers claim about an item."""
    is_read = reading is not None and reading.status is ReadStatus.READ
    return claims_of(certificate) | (frozenset({Claim.READ}) if is_read else frozenset())


def hop_is_read(reading: ItemReading | None, number: int) -> bool:
    """Whether all ballots, or all but one, reached the answer of a hop by its own tool."""
    if reading is None or not reading.ballots:
        return False
    met = sum(number in ballot.hops for ballot in reading.ballots)
    return met >= max(1, len(reading.ballots) - 1)


def means(items: Sequence[Item]) -> dict[str, float]:
    """Return the mean number of hops and of question words; empty if there are no items."""
    if not items:
        return {}
    return {
        "hops": fmean(len(item.hops) for item in items),
        "words of the question": fmean(len(item.question.split()) for item in items),
    }


def selection(chosen: Sequence[Item], items: Sequence[Item]) -> str:
    """Describe how selected items differ from all: ``38 of 60 items: hops 4.1 (all 4.2)``."""
    own, whole = means(chosen), means(items)
    figures = ", ".join(f"{name} {own[name]:.1f} (all {whole[name]:.1f})" for name in own)
    return f"{len(chosen)} of {len(items)} items" + (f": {figures}" if figures else "")
