"""Molecular formulas of common substances."""

FORMULAS = {
    "acetone": "C3H6O",
    "adrenaline": "C9H13NO3",
    "ammonia": "NH3",
    "aspirin": "C9H8O4",
    "benzene": "C6H6",
    "caffeine": "C8H10N4O2",
    "capsaicin": "C18H27NO3",
    "chloroform": "CHCl3",
    "cholesterol": "C27H46O",
    "citric acid": "C6H8O7",
    "dopamine": "C8H11NO2",
    "ethanol": "C2H6O",
    "glucose": "C6H12O6",
    "glycerol": "C3H8O3",
    "hydrogen peroxide": "H2O2",
    "ibuprofen": "C13H18O2",
    "indigo": "C16H10N2O2",
    "menthol": "C10H20O",
    "methane": "CH4",
    "morphine": "C17H19NO3",
    "nicotine": "C10H14N2",
    "nitric acid": "HNO3",
    "paracetamol": "C8H9NO2",
    "phenol": "C6H6O",
    "quinine": "C20H24N2O2",
    "serotonin": "C10H12N2O",
    "sucrose": "C12H22O11",
    "sulfuric acid": "H2SO4",
    "theobromine": "C7H8N4O2",
    "toluene": "C7H8",
    "urea": "CH4N2O",
    "vanillin": "C8H8O3",
    "vitamin c": "C6H8O6",
    "water": "H2O",
}


def compound_formula(compound: str) -> str | dict[str, str]:
    """Return the molecular formula of the substance, elements in the usual (Hill) order."""
    key = " ".join(compound.split()).casefold()
    if key not in FORMULAS:
        known = ", ".join(FORMULAS)
        return {"error": f"compound: no formula is stored for {compound!r}; stored are {known}"}
    return FORMULAS[key]
