"""Adding up the places of letters in the alphabet."""

import string
import unicodedata


def sum_letter_places(text: str) -> int:
    """Return the sum of the alphabet places (A is 1, Z is 26) of all letters in the text."""
    plain = unicodedata.normalize("NFKD", text).lower()
    # find() gives -1 for all other characters, which therefore add nothing.
    return sum(string.ascii_lowercase.find(sign) + 1 for sign in plain)
