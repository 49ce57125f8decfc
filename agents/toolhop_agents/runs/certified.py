"""Runs over certified items: which items are played, and which verdicts are on proven ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from toolhop_env.attempt import Attempt
from toolhop_tools.certify.file import CertificateError, default_path
from toolhop_tools.certify.model import Certificate, HopVerdict
from toolhop_tools.certify.use import is_proven, of_items, proven_only, with_certificates
from toolhop_tools.errors import counted
from toolhop_tools.model import Item


def chosen(
    items: Sequence[Item], data_name: str, certificates: Path | None, *, only: bool
) -> tuple[Item, ...]:
    """The items to play: as they are, or with certified gold calls, or those that are proven.

    Args:
        items: as chosen from the data.
        data_name: names the file of certificates where none is given.
        certificates: the file; None for none, or for the usual one where `only` asks for one.
        only: leave out what is not proven.

    Raises:
        CertificateError: certificates cannot be read or are stale, or nothing is proven.
    """
    if certificates is None and not only:
        return tuple(items)
    path = certificates or default_path(data_name)
    found = with_certificates(items, path)
    return proven_only(found, path) if only else found


def certificates_of(items: Sequence[Item], path: Path) -> dict[str, Certificate]:
    """The items' certificates, by id, of which one or more prove.

    Raises:
        CertificateError: the file cannot be read, certificates are stale, or none proves an item.
    """
    found = of_items(items, path)
    if not any(one.verdict is HopVerdict.PROVEN for one in found.values()):
        raise CertificateError(
            f"{path} proves none of the {counted(len(items), 'chosen item')}, and has nothing on "
            f"{len(items) - len(found)} of them\n"
            f"  fix: run `toolhop certify DATA --out {path}`, or choose other items"
        )
    return found


def marked(judged: Iterable[Attempt], items: Iterable[Item]) -> Iterator[Attempt]:
    """The verdicts, each with whether its item is proven."""
    known = {item.id: is_proven(item) for item in items}
    return (replace(one, proven=known.get(one.item)) for one in judged)
