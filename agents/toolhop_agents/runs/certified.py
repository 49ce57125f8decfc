"""Certificates in runs: which items to play, and which verdicts concern proven items."""

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
) -> Sequence[Item]:
    """Return the items to play: unchanged, with certified gold calls, or those that meet a claim.

    Args:
        items: the items chosen from the data.
        data: names the default certificate file.
        certificates: the certificate file; None means the default one if there is a claim, else
            none.
        claim: what must be proven about an item; None plays all.

    Raises:
        CertificateError: certificates are unreadable or stale, or no item meets the claim.
        ReadingsError: the readings stored next to them cannot be read.
    """
    if certificates is None and claim is None:
        return items
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
    """Return the reading of an item if it belongs to this certificate."""
    reading = readings.by_item.get(certificate.item)
    if reading is None or reading.stale(certificate.digest, certificate_digest(certificate)):
        return None
    return reading


def certificates_of(items: Sequence[Item], path: Path) -> dict[str, Certificate]:
    """Return the items' certificates by id; at least one is a proof. Items of worlds need none.

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
    """Describe how the items selected by certificates differ from all items; empty if they do not.

    Args:
        items: the items played.
        of: the data set from which they were chosen.
        claim: the selection criterion; None if certificates only mark proven items.
    """
    if claim is None:
        of, items = items, [item for item in items if is_proven(item)]
    if not 0 < len(items) < len(of):
        return ""
    return f"Selected ({claim or Claim.DETERMINED}): {selection(items, of)}."


def marked(judged: Iterable[Attempt], items: Iterable[Item]) -> Iterator[Attempt]:
    """Yield the verdicts, each marked with whether its item is proven."""
    known = {item.id: is_proven(item) for item in items}
    return (replace(one, proven=known.get(one.item)) for one in judged)
