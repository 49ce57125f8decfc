"""Whole numbers in other bases."""

import string


def write_in_base(number: int, base: int, uppercase: bool = True) -> str:
    """Return the digits of the number in the base, without a prefix such as 0x."""
    rest, size, digits = abs(int(number)), int(base), []
    signs = string.digits + (string.ascii_uppercase if uppercase else string.ascii_lowercase)
    while rest:
        rest, value = divmod(rest, size)
        digits.append(signs[value])
    text = "".join(reversed(digits)) or "0"
    return "-" + text if number < 0 else text
