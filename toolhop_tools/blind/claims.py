"""What is claimed of an item, claim by claim, and how items of a claim differ from all. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean

from toolhop_tools.blind.file import ItemReading
from toolhop_tools.blind.votes import ReadStatus
from toolhop_tools.certify.model import Certificate, HopProof
from toolhop_tools.model import Item


class Claim(StrEnum):
    """A claim that items can be chosen by."""

    EXECUTED = "executed"
    """A grounded call of each hop gives the gold."""
    DETERMINED = "determined"
    """Executed, and no other call of equal standing gives something else: the item is proven, or
    made with a chain whose answer two engines agree on.
    """
    READ = "read"
    """Blind readers come to the gold through every hop."""


def claim_named(text: str) -> Claim | None:
    """A claim by its name; what former versions wrote for yes and no is understood.

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
    """What the search claims of a hop, or of an item."""
    if shown.verdict.is_proof:
        return frozenset({Claim.EXECUTED, Claim.DETERMINED})
    return frozenset({Claim.EXECUTED} if shown.executed else ())


def item_claims(certificate: Certificate, reading: ItemReading | None) -> frozenset[Claim]:
    """What is claimed of an item by search and by readers."""
    is_read = reading is not None and reading.status is ReadStatus.READ
    return claims_of(certificate) | (frozenset({Claim.READ}) if is_read else frozenset())


def hop_is_read(reading: ItemReading | None, number: int) -> bool:
    """Whether all ballots but one at most came to a hop's answer by its own tool."""
    if reading is None or not reading.ballots:
        return False
    met = sum(number in ballot.hops for ballot in reading.ballots)
    return met >= max(1, len(reading.ballots) - 1)


def means(items: Sequence[Item]) -> dict[str, float]:
    """Mean hops and mean words of the question; empty without items."""
    if not items:
        return {}
    return {
        "hops": fmean(len(item.hops) for item in items),
        "words of the question": fmean(len(item.question.split()) for item in items),
    }


def selection(chosen: Sequence[Item], items: Sequence[Item]) -> str:
    """How chosen items differ from all, such as ``38 of 60 items: hops 4.1 (all 4.2)``."""
    own, whole = means(chosen), means(items)
    figures = ", ".join(f"{name} {own[name]:.1f} (all {whole[name]:.1f})" for name in own)
    return f"{len(chosen)} of {len(items)} items" + (f": {figures}" if figures else "")
