"""Lengths of motion-picture film."""

from fractions import Fraction

# Frames on a foot of film: 64 perforations on a foot of 35 mm film, 4 to a frame, and so on.
FRAMES_A_FOOT = {
    "35 mm": Fraction(16),
    "35 mm 3-perf": Fraction(64, 3),
    "65 mm": Fraction(64, 5),
    "16 mm": Fraction(40),
    "Super 8": Fraction(72),
    "Standard 8": Fraction(80),
}


def film_footage(minutes: float, gauge: str = "35 mm", frames_a_second: int = 24) -> float:
    """Return the feet of film that a running time takes, to one decimal."""
    frames = Fraction(str(minutes)) * 60 * int(frames_a_second)
    feet = round(frames / FRAMES_A_FOOT[gauge], 1)
    return int(feet) if feet.denominator == 1 else float(feet)
