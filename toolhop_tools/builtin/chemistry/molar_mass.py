"""Molar mass of a substance from its formula."""

import re
from fractions import Fraction

# Abridged standard atomic weights (IUPAC), kept as text so that sums are exact.
WEIGHTS = {
    "H": "1.008",
    "Li": "6.94",
    "B": "10.81",
    "C": "12.011",
    "N": "14.007",
    "O": "15.999",
    "F": "18.998",
    "Na": "22.990",
    "Mg": "24.305",
    "Al": "26.982",
    "Si": "28.085",
    "P": "30.974",
    "S": "32.06",
    "Cl": "35.45",
    "K": "39.098",
    "Ca": "40.078",
    "Fe": "55.845",
    "Cu": "63.546",
    "Zn": "65.38",
    "Br": "79.904",
    "Ag": "107.87",
    "I": "126.90",
}


def molar_mass(formula: str) -> float | dict[str, str]:
    """Return the grams per mole of a formula that is written without brackets."""
    pieces = re.findall(r"([A-Z][a-z]?)([0-9]{0,4})", formula)
    if not pieces or "".join(symbol + digits for symbol, digits in pieces) != formula.strip():
        return {
            "error": f"formula: {formula!r} is not a plain formula; write symbols with counts "
            "behind them, as in NaCl or H2O"
        }
    unknown = sorted({piece[0] for piece in pieces} - set(WEIGHTS))
    if unknown:
        known = ", ".join(WEIGHTS)
        return {"error": f"formula: no weight for {', '.join(unknown)}; usable symbols: {known}"}
    total = sum(Fraction(WEIGHTS[symbol]) * int(digits or 1) for symbol, digits in pieces)
    return round(float(total), 4)
