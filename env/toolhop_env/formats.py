"""Formats with a number, and the steps that bring an older document to the newest one.

A step is a pure function from one version to the next, named after the version that it starts
from: `m001_...` makes version 2 of version 1. Steps stay for good, so that whatever was once
written can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON

Document: TypeAlias = dict[str, JSON]
FormatUpgrade: TypeAlias = Callable[[Document], Document]


class FormatError(Exception):
    """A document of a version that this package cannot read; says which it can."""


def checked(found: object, steps: Sequence[FormatUpgrade], what: str) -> int:
    """The version `found` as a number of ours: from 1 to one more than there are steps.

    Args:
        found: what the document gives as its version.
        steps: the steps there are; the first starts from version 1.
        what: the document in a word or two, for the message.

    Raises:
        FormatError: it is a newer one, or none at all.
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
    """A document of version `found` as one of the newest version; as it is, if it is one."""
    for step in steps[found - 1 :]:
        document = step(document)
    return document
