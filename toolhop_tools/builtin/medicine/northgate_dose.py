"""Doses of the Northgate Formulary, a book made up for this tool."""

from decimal import ROUND_HALF_UP, Decimal

# Milligrams for a square metre of body surface, and the most that is given at once.
DOSES = {
    "brenuvexol": (18, 40),
    "fostremide": (120, 250),
    "hembrimycin": (400, 750),
    "isolquine": (6, 12),
    "oxamerquin": (75, 160),
    "pellivorane": (45, 100),
    "quorestat": (250, 500),
    "sundravec": (30, 48),
    "tirolandine": (9, 20),
    "ulmetazone": (55, 95),
}


def northgate_dose(drug: str, surface_m2: float) -> float | dict[str, str]:
    """Return a single dose in milligrams for a body surface, up to the drug's largest dose."""
    entry = DOSES.get(drug.strip().casefold())
    if entry is None:
        return {"error": f"drug: {drug!r} is not in the formulary; it lists {', '.join(DOSES)}"}
    rate, most = entry
    dose = min(Decimal(str(surface_m2)) * rate, Decimal(most))
    return float(dose.quantize(Decimal("0.1"), rounding=ROUND_HALF_UP))
