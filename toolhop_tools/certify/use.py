"""Certificates put to use: items with their certified gold calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toolhop_tools.certify.file import CertificateError, read
from toolhop_tools.certify.model import Certificate, HopProof, HopVerdict
from toolhop_tools.errors import counted
from toolhop_tools.model import GoldCall, Hop, Item

FIELD = "certificate"
"""Field of a data row that holds the item's verdict, in runs played with certificates."""
TOLD = 5
"""Stale certificates that an error names."""


def with_certificates(items: Sequence[Item], path: Path) -> tuple[Item, ...]:
    """The items, each with the gold calls that are proven and its verdict under `FIELD`.

    An item without a certificate is left as it is, with no verdict.

    Raises:
        CertificateError: the file cannot be read, or certificates of these items are stale.
    """
    found = of_items(items, path)
    return tuple(with_gold(item, found[item.id]) if item.id in found else item for item in items)


def of_items(items: Sequence[Item], path: Path) -> dict[str, Certificate]:
    """The certificates of items, by id, as far as the file has them.

    Raises:
        CertificateError: as `with_certificates`.
    """
    wanted = {item.id: item for item in items}
    found = {one.item: one for one in read(path) if one.item in wanted}
    stale = {name: why for name, one in found.items() if (why := one.stale(wanted[name].digest))}
    if stale:
        raise CertificateError(_reported(path, stale))
    return found


def _reported(path: Path, stale: dict[str, str]) -> str:
    lines = [f"{path}: {counted(len(stale), 'certificate')} no longer hold:"]
    lines += [f"  id {name}: {why}" for name, why in list(stale.items())[:TOLD]]
    if len(stale) > TOLD:
        lines.append(f"  and {len(stale) - TOLD} more")
    lines.append(f"  fix: run `toolhop certify DATA --out {path}` again; it renews only these")
    return "\n".join(lines)


def with_gold(item: Item, certificate: Certificate) -> Item:
    """The item with the gold calls that are proven, and its verdict."""
    hops = tuple(map(_golden, item.hops, certificate.hops))
    return replace(item, hops=hops, extra={**item.extra, FIELD: certificate.verdict.value})


def _golden(hop: Hop, proof: HopProof) -> Hop:
    if proof.arguments is None:
        return hop
    source = str(proof.provenance)
    return replace(hop, gold=GoldCall(proof.arguments, source, proof.reading))


def is_proven(item: Item) -> bool | None:
    """Whether the item was proven, by the verdict it carries; None where it carries none."""
    verdict = item.extra.get(FIELD)
    return None if verdict is None else verdict == HopVerdict.PROVEN.value


def proven_only(items: Sequence[Item], path: Path) -> tuple[Item, ...]:
    """Those of the items that are proven.

    Raises:
        CertificateError: none is.
    """
    proven = tuple(item for item in items if is_proven(item))
    if not proven:
        without = sum(is_proven(item) is None for item in items)
        raise CertificateError(
            f"{path} proves none of the {counted(len(items), 'chosen item')}, "
            f"and has nothing on {without} of them\n"
            f"  fix: run `toolhop certify DATA --out {path}`, or leave out --certified-only"
        )
    return proven
