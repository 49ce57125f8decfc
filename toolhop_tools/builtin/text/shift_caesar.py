"""The Caesar cipher."""

import string


def shift_caesar(text: str, shift: int) -> str:
    """Move each letter from A to Z forward by the shift, from Z on to A, keeping its case."""
    places = int(shift) % 26
    lower, upper = string.ascii_lowercase, string.ascii_uppercase
    return text.translate(
        str.maketrans(lower + upper, rotate(lower, places) + rotate(upper, places))
    )


def rotate(alphabet: str, shift: int) -> str:
    """Return the alphabet begun ``shift`` places later and closed to a ring."""
    return alphabet[shift:] + alphabet[:shift]
