"""Roman numerals."""

NUMERALS = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def write_roman(number: int) -> str:
    """Return the number in Roman numerals, in capitals and in the subtractive form."""
    rest, text = int(number), ""
    for value, numeral in NUMERALS:
        count, rest = divmod(rest, value)
        text += numeral * count
    return text
