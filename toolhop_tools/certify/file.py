"""Certificate files: one certificate per line, appended as each is finished, read line by line.

The last certificate of an item applies. A kill leaves at most one incomplete line, which the next
writer removes. Only one process may write a file at a time.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from toolhop_tools import regular
from toolhop_tools.certify.model import (
    Basis,
    Certificate,
    HopProof,
    HopVerdict,
    from_line,
    to_line,
)
from toolhop_tools.errors import ToolsError, counted, why
from toolhop_tools.growing import append, last_end, locked
from toolhop_tools.model import DataSet, GoldCall, Hop, Item

FOLDER = Path("certificates")
"""Default folder for writing and finding certificates."""
SHIPPED = "certificates.jsonl"
"""File name of certificates that ship with the data, in its folder."""
FIELD = "certificate"
"""Field of a data row that holds the verdict of the item, in runs that use certificates."""
TOLD = 5
"""Maximum number of stale certificates that an error lists."""


class CertificateError(ToolsError):
    """A certificate file cannot be read, written, or used; the message says what to do."""


def default_path(data_name: str) -> Path:
    """Return the default path of a data set's certificates."""
    plain = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in data_name)
    return FOLDER / f"{plain or 'data'}.jsonl"


def path_for(data: DataSet) -> Path:
    """Return the path of a data set's certificates.

    This is `default_path` if it exists, otherwise the file in the data's own folder, as for the
    built-in set.
    """
    usual, shipped = default_path(data.name), Path(data.origin) / SHIPPED
    return shipped if shipped.is_file() and not usual.exists() else usual


def read(path: Path, *, growing: bool = False) -> Iterator[Certificate]:
    """Yield every certificate in a file, in order, including stale ones.

    Args:
        path: the file.
        growing: whether `Writer` will append to it; it may then be empty or end in an incomplete
            line.

    Raises:
        CertificateError: the file cannot be read, is empty or truncated, or a line is not a
            certificate.
    """
    line = b""
    try:
        with regular.reading(path, below=0) as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                if line.strip():
                    yield _certificate(path, number, line)
    except FileNotFoundError:
        raise CertificateError(
            f"there are no certificates at {path}\n  fix: make them with `toolhop certify --data "
            f"DATA --out {path}`, or name another file with --certificates"
        ) from None
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror}") from None
    if not growing and not line.endswith(b"\n"):
        what = "ends in the middle of a certificate: it was cut off" if line else "is empty"
        raise CertificateError(
            f"{path} {what}\n  fix: run `toolhop certify --data DATA --out "
            f"{path}`; it makes the rest"
        )


def _certificate(path: Path, number: int, line: bytes) -> Certificate:
    try:
        return from_line(line)
    except ValueError as error:
        raise CertificateError(
            f"{path}: line {number} is not a certificate ({why(error)})\n"
            "  fix: name a file that `toolhop certify` wrote; from such a file take the line out, "
            "and `toolhop certify` makes its certificate anew"
        ) from None


def progress(path: Path, digests: Mapping[str, str], basis: Basis) -> dict[str, int]:
    """Return the ids of items whose last certificate still applies, with its position in the file.

    Args:
        path: the file; a missing file counts as empty.
        digests: current digest of each item id.
        basis: the search and settings that certificates must match.

    Raises:
        CertificateError: as `read`.
    """
    held: dict[str, int] = {}
    for place, certificate in enumerate(read(path, growing=True) if path.exists() else ()):
        item = certificate.item
        held.pop(item, None)
        if item in digests and not certificate.stale(digests[item], basis):
            held[item] = place
    return held


class Writer:
    """A writer that appends certificates; each is on the disk before `add` returns."""

    def __init__(self, path: Path) -> None:
        """Open the file, creating it and its folder if necessary.

        Raises:
            CertificateError: the file cannot be written, or another process is writing it.
        """
        self.path = path
        with self._reported(), contextlib.ExitStack() as refused:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = regular.descriptor(path, flags, below=0)
            refused.callback(os.close, self._descriptor)
            if not locked(self._descriptor):
                raise CertificateError(
                    f"{path} is being written by another `toolhop certify`\n"
                    "  fix: wait for it, or name another file with --out"
                )
            end, piece = last_end(self._descriptor)
            if not BEGINNING.startswith(piece[: len(BEGINNING)]):
                raise CertificateError(
                    f"{path} ends in a line that is not a certificate; it was left as it is\n"
                    "  fix: name a file that `toolhop certify` wrote, or a new one, with --out"
                )
            if piece:
                os.ftruncate(self._descriptor, end)
            refused.pop_all()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._descriptor)

    def add(self, certificate: Certificate) -> None:
        """Append one certificate, whole or not at all.

        Raises:
            CertificateError: the write failed; earlier certificates are intact.
        """
        with self._reported():
            append(self._descriptor, to_line(certificate), sync=True)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise CertificateError(
                f"{self.path} cannot be written: {reason}; name another --out"
            ) from None


BEGINNING = b'{"item": "'
"""Prefix of every certificate line."""


# -- use -----------------------------------------------------------------------------------------


def with_certificates(items: Sequence[Item], path: Path) -> tuple[Item, ...]:
    """Return the items with their proven gold calls, and the verdict under `FIELD`.

    An item without a certificate is unchanged and has no verdict.

    Raises:
        CertificateError: the file cannot be read, or certificates of these items are stale.
    """
    found = of_items(items, path)
    return tuple(with_gold(item, found[item.id]) if item.id in found else item for item in items)


def of_items(items: Sequence[Item], path: Path) -> dict[str, Certificate]:
    """Return the certificates of the items that the file has, by id.

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
    lines.append(
        f"  fix: run `toolhop certify --data DATA --out {path}` again; it renews only these"
    )
    return "\n".join(lines)


def with_gold(item: Item, certificate: Certificate) -> Item:
    """Return the item with its proven gold calls and its verdict."""
    hops = tuple(map(_golden, item.hops, certificate.hops))
    return replace(item, hops=hops, extra={**item.extra, FIELD: certificate.verdict.value})


def _golden(hop: Hop, proof: HopProof) -> Hop:
    if proof.arguments is None:
        return hop
    source = str(proof.provenance)
    return replace(hop, gold=GoldCall(proof.arguments, source, proof.reading))


def is_proven(item: Item) -> bool | None:
    """Whether the item's verdict is a proof; None if it has no verdict."""
    verdict = item.extra.get(FIELD)
    return None if verdict is None else verdict in [one for one in HopVerdict if one.is_proof]


def proven_only(items: Sequence[Item], path: Path) -> tuple[Item, ...]:
    """Return the proven items.

    Raises:
        CertificateError: no item is proven.
    """
    proven = tuple(item for item in items if is_proven(item))
    if not proven:
        without = sum(is_proven(item) is None for item in items)
        raise CertificateError(
            f"{path} proves none of the {counted(len(items), 'chosen item')}, "
            f"and has nothing on {without} of them\n"
            f"  fix: run `toolhop certify --data DATA --out {path}`, or leave out --certified-only"
        )
    return proven
