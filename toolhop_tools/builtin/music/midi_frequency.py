"""Frequencies of MIDI notes in equal temperament."""


def midi_frequency(note: int, reference: float = 440.0, decimals: int = 2) -> float | int:
    """Return the hertz of the note, tuned so that note 69 (A4) has the reference frequency."""
    hertz = reference * 2 ** ((int(note) - 69) / 12)
    return round(hertz, int(decimals)) if decimals else round(hertz)
