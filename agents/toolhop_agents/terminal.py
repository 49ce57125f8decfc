"""Foreign text on a terminal: models, tools and data files are not to be trusted with it."""

from __future__ import annotations

import re

from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""The text with control characters (other than tab and newline) as ``\x1b``.

    Terminal sequences, carriage returns and letters that turn the writing's direction are
    written out, so that what a tool returns cannot hide or overwrite what stands beside it.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def natural(text: str) -> list[tuple[bool, int, str]]:
    """What ids are sorted by: numbers in them by their value."""
    parts = re.findall(r"\d+|\D+", text, flags=re.ASCII)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def plain(text: str, style: str = "") -> Text:
    """Foreign text for rich: no markup, no control characters."""
    return Text(visible(text), style=style)
