"""Texts by their length."""

import re


def longest_entry(entries: list[str], measure: str = "characters", shortest: bool = False) -> str:
    """Return the longest text of a list, or the shortest; the first one where several tie.

    Letters counts letters alone; words counts runs of characters between white space.
    """
    sizes = [size(entry, measure) for entry in entries]
    wanted = min(sizes) if shortest else max(sizes)
    return entries[sizes.index(wanted)]


def size(entry: str, measure: str) -> int:
    """Length of one text in the unit wanted."""
    if measure == "words":
        return len(entry.split())
    if measure == "letters":
        return len(re.sub(r"[\W\d_]", "", entry))
    return len(entry)
