"""Musical intervals measured in semitones."""

INTERVALS = {
    "unison": 0,
    "minor second": 1,
    "major second": 2,
    "minor third": 3,
    "major third": 4,
    "perfect fourth": 5,
    "augmented fourth": 6,
    "tritone": 6,
    "diminished fifth": 6,
    "perfect fifth": 7,
    "augmented fifth": 8,
    "minor sixth": 8,
    "major sixth": 9,
    "minor seventh": 10,
    "major seventh": 11,
    "octave": 12,
    "minor ninth": 13,
    "major ninth": 14,
}


def interval_semitones(interval: str) -> int | dict[str, str]:
    """Return the width of the interval in equal-tempered semitones."""
    key = " ".join(interval.split()).casefold()
    if key not in INTERVALS:
        known = ", ".join(INTERVALS)
        return {"error": f"interval: {interval!r} is not the name of one; names are {known}"}
    return INTERVALS[key]
