"""Body surface area from height and weight."""

import math


def body_surface_area(height_cm: float, weight_kg: float, formula: str = "Mosteller") -> float:
    """Return an estimate of a body's surface in square metres, to two decimals."""
    if formula == "Du Bois":
        area = 0.007184 * math.pow(height_cm, 0.725) * math.pow(weight_kg, 0.425)
    elif formula == "Haycock":
        area = 0.024265 * math.pow(height_cm, 0.3964) * math.pow(weight_kg, 0.5378)
    else:
        area = math.sqrt(height_cm * weight_kg / 3600)
    return round(area, 2)
