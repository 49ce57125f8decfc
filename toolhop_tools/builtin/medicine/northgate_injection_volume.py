"""Solutions of the Northgate Formulary, a book made up for this tool."""

from fractions import Fraction

# Milligrams in a millilitre of the ready solution, as a fraction where it is none whole.
STRENGTHS = {
    "brenuvexol": "4",
    "fostremide": "25",
    "hembrimycin": "50",
    "isolquine": "1/2",
    "oxamerquin": "10",
    "pellivorane": "12",
    "quorestat": "40",
    "sundravec": "15/2",
    "tirolandine": "5/2",
    "ulmetazone": "20",
}


def northgate_injection_volume(drug: str, dose_mg: float) -> float | dict[str, str]:
    """Return the millilitres of the drug's ready solution that hold a dose, to two decimals."""
    strength = STRENGTHS.get(drug.strip().casefold())
    if strength is None:
        known = ", ".join(STRENGTHS)
        return {"error": f"drug: there is no solution of {drug!r}; there are those of {known}"}
    return float(round(Fraction(str(dose_mg)) / Fraction(strength), 2))
