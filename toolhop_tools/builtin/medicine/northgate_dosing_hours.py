"""Dosing intervals of the Northgate Formulary, a book made up for this tool."""

# Hours between two doses, and between two doses for a patient with weak kidneys.
INTERVALS = {
    "brenuvexol": (8, 12),
    "fostremide": (12, 24),
    "hembrimycin": (6, 8),
    "isolquine": (24, 48),
    "oxamerquin": (12, 18),
    "pellivorane": (24, 36),
    "quorestat": (6, 12),
    "sundravec": (8, 8),
    "tirolandine": (10, 15),
    "ulmetazone": (4, 6),
}


def northgate_dosing_hours(drug: str, weak_kidneys: bool = False) -> int | dict[str, str]:
    """Return the hours from one dose of a drug to the next."""
    pair = INTERVALS.get(drug.strip().casefold())
    if pair is None:
        return {
            "error": f"drug: no interval for {drug!r}; intervals exist for {', '.join(INTERVALS)}"
        }
    return pair[int(weak_kidneys)]
