"""Numbered formats, and the steps that upgrade an older document to the newest version.

A step is a pure function from one version to the next, named after the version it upgrades:
`m001_...` turns version 1 into version 2. Steps are never removed, so that any document ever
written can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON

Document: TypeAlias = dict[str, JSON]
FormatUpgrade: TypeAlias = Callable[[Document], Document]


class FormatError(Exception):
    """A document has a version that this package cannot read; the message says which it can."""


def checked(found: object, steps: Sequence[FormatUpgrade], what: str) -> int:
    """Check the version of a document; valid versions run from 1 to the number of steps plus one.

    Args:
        found: the version that the document states.
        steps: the upgrade steps; the first starts from version 1.
        what: a word or two for the document, used in the message.

    Raises:
        FormatError: the version is newer, or not a version at all.
    """
    newest = len(steps) + 1
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise FormatError(f"the {what} has format {found!r}; formats are numbers from 1 on")
    if found > newest:
        raise FormatError(
            f"the {what} has format {found}, this version reads up to {newest}; upgrade toolhop-env"
        )
    return found


def upgraded(document: Document, found: int, steps: Sequence[FormatUpgrade]) -> Document:
    """Upgrade a document from version `found` to the newest; a current one is unchanged."""
    for step in steps[found - 1 :]:
        document = step(document)
    return document
