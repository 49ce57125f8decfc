"""Runs over certified items: which items are played, and which verdicts are on proven ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from toolhop_env.attempt import Attempt
from toolhop_tools.blind.claims import Claim, item_claims, selection
from toolhop_tools.blind.file import (
    ItemReading,
    Readings,
    certificate_digest,
    path_beside,
)
from toolhop_tools.certify.file import (
    CertificateError,
    is_proven,
    of_items,
    path_for,
    proven_only,
    with_certificates,
)
from toolhop_tools.certify.model import Certificate
from toolhop_tools.errors import counted
from toolhop_tools.model import DataSet, Item
from toolhop_tools.worlds.spec import referred


def chosen(
    items: Sequence[Item], data: DataSet, certificates: Path | None, claim: Claim | None
) -> tuple[Item, ...]:
    """The items to play: as they are, or with certified gold calls, or those of a claim.

    Args:
        items: as chosen from the data.
        data: has the file of certificates where none is given.
        certificates: the file; None for none, or for the usual one where a claim asks for one.
        claim: what has to be shown of an item; None plays all.

    Raises:
        CertificateError: certificates cannot be read or are stale, or no item is of the claim.
        ReadingsError: the readings beside them cannot be read.
    """
    if certificates is None and claim is None:
        return tuple(items)
    path = certificates or path_for(data)
    golden = with_certificates(items, path)
    if claim is None:
        return golden
    if claim is Claim.DETERMINED:
        return proven_only(golden, path)
    held = of_items(items, path)
    readings = Readings(path_beside(path))
    shown = tuple(
        item
        for item in golden
        if item.id in held and claim in item_claims(held[item.id], current(readings, held[item.id]))
    )
    if not shown:
        option = " --readers MODEL" if claim is Claim.READ else ""
        raise CertificateError(
            f"none of the {counted(len(items), 'chosen item')} is {claim} by {path}\n"
            f"  fix: run `toolhop certify --data DATA{option} --out {path}`, or leave out "
            f"--certified-only {claim}"
        )
    return shown


def current(readings: Readings, certificate: Certificate) -> ItemReading | None:
    """The reading of a certified item, if it is of this item and this certificate."""
    reading = readings.by_item.get(certificate.item)
    if reading is None or reading.stale(certificate.digest, certificate_digest(certificate)):
        return None
    return reading


def certificates_of(items: Sequence[Item], path: Path) -> dict[str, Certificate]:
    """The items' certificates, by id, of which one or more prove; items of worlds need none.

    Raises:
        CertificateError: the file cannot be read, certificates are stale, or none proves an item.
    """
    if items and referred(items[0]):
        return {}
    found = of_items(items, path)
    if not any(one.verdict.is_proof for one in found.values()):
        raise CertificateError(
            f"{path} proves none of the {counted(len(items), 'chosen item')}, and has nothing on "
            f"{len(items) - len(found)} of them\n"
            f"  fix: run `toolhop certify --data DATA --out {path}`, or choose other items"
        )
    return found


def selected(items: Sequence[Item], of: Sequence[Item], claim: Claim | None) -> str:
    """How the items that a run's certificates select differ from all; empty if all are selected.

    Args:
        items: that are played.
        of: the data set they were chosen from.
        claim: what they were chosen by; None if certificates only mark the proven ones.
    """
    if claim is None:
        of, items = items, [item for item in items if is_proven(item)]
    if not 0 < len(items) < len(of):
        return ""
    return f"Selected ({claim or Claim.DETERMINED}): {selection(items, of)}."


def marked(judged: Iterable[Attempt], items: Iterable[Item]) -> Iterator[Attempt]:
    """The verdicts, each with whether its item is proven."""
    known = {item.id: is_proven(item) for item in items}
    return (replace(one, proven=known.get(one.item)) for one in judged)
