"""Standard tunings of string instruments, at sounding pitch."""

# From string 1, the one that players count first, onwards.
TUNINGS = {
    "balalaika": ("A4", "E4", "E4"),
    "banjo": ("D4", "B3", "G3", "D3", "G4"),
    "bass guitar": ("G2", "D2", "A1", "E1"),
    "cello": ("A3", "D3", "G2", "C2"),
    "double bass": ("G2", "D2", "A1", "E1"),
    "guitar": ("E4", "B3", "G3", "D3", "A2", "E2"),
    "mandolin": ("E5", "A4", "D4", "G3"),
    "ukulele": ("A4", "E4", "C4", "G4"),
    "viola": ("A4", "D4", "G3", "C3"),
    "violin": ("E5", "A4", "D4", "G3"),
}


def open_string(instrument: str, string: int = 1) -> str | dict[str, str]:
    """Return the pitch of one open string in scientific notation, where C4 is middle C."""
    pitches = TUNINGS.get(" ".join(instrument.split()).casefold())
    if pitches is None:
        known = ", ".join(TUNINGS)
        return {"error": f"instrument: no tuning for {instrument!r}; there are tunings of {known}"}
    if string > len(pitches):
        return {
            "error": f"string: {string} does not exist on this instrument; use 1 to {len(pitches)}"
        }
    return pitches[int(string) - 1]
