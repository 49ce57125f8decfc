"""Pitch names to MIDI note numbers."""

import re

STEPS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
SHIFTS = {"": 0, "#": 1, "b": -1}


def midi_note_number(pitch: str) -> int | dict[str, str]:
    """Return the MIDI number of a pitch such as F#3; middle C, written C4, is 60."""
    match = re.fullmatch(r"([A-Ga-g])([#b]?)(-1|[0-9])", pitch.strip())
    if match is None:
        return {
            "error": f"pitch: {pitch!r} cannot be read; write a letter A to G, maybe # or b, "
            "and an octave from -1 to 9, as in Bb3"
        }
    letter, sign, octave = match.groups()
    number = 12 * (int(octave) + 1) + STEPS[letter.upper()] + SHIFTS[sign]
    if not 0 <= number <= 127:
        return {"error": f"pitch: {pitch!r} lies outside of MIDI; stay within C-1 and G9"}
    return number
