"""Counting atoms in a molecular formula."""

import re

PIECE = re.compile(r"([A-Z][a-z]?)([0-9]{0,4})")


def count_atoms(formula: str, element: str | None = None) -> int | dict[str, str]:
    """Return how many atoms the formula holds, of one element or of all together."""
    text = formula.strip()
    if not re.fullmatch(r"([A-Z][a-z]?[0-9]{0,4})+", text):
        return {
            "error": f"formula: {formula!r} cannot be read; write symbols and counts without "
            "brackets or charges, as in C2H6O"
        }
    if element is not None and not re.fullmatch(r"[A-Za-z]{1,2}", element.strip()):
        return {"error": f"element: {element!r} is not a symbol; write one or two letters, as N"}
    wanted = element.strip().casefold() if element is not None else None
    total = 0
    for symbol, digits in PIECE.findall(text):
        if wanted in (None, symbol.casefold()):
            total += int(digits or 1)
    return total
