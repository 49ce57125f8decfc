"""Properties of the more common elements."""

COLUMNS = ("symbol", "name", "atomic_weight", "period")
ELEMENTS = (
    ("H", "Hydrogen", 1.008, 1),
    ("He", "Helium", 4.0026, 1),
    ("Li", "Lithium", 6.94, 2),
    ("Be", "Beryllium", 9.0122, 2),
    ("B", "Boron", 10.81, 2),
    ("C", "Carbon", 12.011, 2),
    ("N", "Nitrogen", 14.007, 2),
    ("O", "Oxygen", 15.999, 2),
    ("F", "Fluorine", 18.998, 2),
    ("Ne", "Neon", 20.180, 2),
    ("Na", "Sodium", 22.990, 3),
    ("Mg", "Magnesium", 24.305, 3),
    ("Al", "Aluminium", 26.982, 3),
    ("Si", "Silicon", 28.085, 3),
    ("P", "Phosphorus", 30.974, 3),
    ("S", "Sulfur", 32.06, 3),
    ("Cl", "Chlorine", 35.45, 3),
    ("Ar", "Argon", 39.95, 3),
    ("K", "Potassium", 39.098, 4),
    ("Ca", "Calcium", 40.078, 4),
    ("Ti", "Titanium", 47.867, 4),
    ("Cr", "Chromium", 51.996, 4),
    ("Mn", "Manganese", 54.938, 4),
    ("Fe", "Iron", 55.845, 4),
    ("Co", "Cobalt", 58.933, 4),
    ("Ni", "Nickel", 58.693, 4),
    ("Cu", "Copper", 63.546, 4),
    ("Zn", "Zinc", 65.38, 4),
    ("Br", "Bromine", 79.904, 4),
    ("Ag", "Silver", 107.87, 5),
    ("Sn", "Tin", 118.71, 5),
    ("Sb", "Antimony", 121.76, 5),
    ("I", "Iodine", 126.90, 5),
    ("W", "Tungsten", 183.84, 6),
    ("Pt", "Platinum", 195.08, 6),
    ("Au", "Gold", 196.97, 6),
    ("Hg", "Mercury", 200.59, 6),
    ("Pb", "Lead", 207.2, 6),
)


def element_profile(element: str, field: str) -> str | float | int | dict[str, str]:
    """Find an element by symbol or English name, in any case, and return one property."""
    key = element.strip().casefold()
    for row in ELEMENTS:
        if key in (row[0].casefold(), row[1].casefold()):
            return row[COLUMNS.index(field)]
    known = ", ".join(row[1] for row in ELEMENTS)
    return {"error": f"element: {element!r} is not in the table; it holds {known}"}
