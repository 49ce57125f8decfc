"""Points of a single dart."""

FACTORS = {"single": 1, "double": 2, "treble": 3}


def dart_score(dart: dict[str, int | str]) -> int | dict[str, str]:
    """Return the points of a dart that hit the given sector and ring; 25 stands for the bull."""
    sector, ring = int(dart["sector"]), str(dart.get("ring", "single"))
    if 20 < sector < 25:
        return {"error": f"dart: sector {sector} is not on the board; use 1 to 20, or 25 for bull"}
    if sector == 25 and ring == "treble":
        return {"error": "dart: the bull has no treble ring; use single (25) or double (50)"}
    return sector * FACTORS[ring]
