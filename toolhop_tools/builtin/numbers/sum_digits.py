"""Sums of decimal digits."""


def sum_digits(number: int, until_single: bool = False) -> int:
    """Return the sum of the decimal digits, if asked repeatedly until one digit is left."""
    total = sum(int(digit) for digit in str(abs(int(number))))
    while until_single and total > 9:
        total = sum(int(digit) for digit in str(total))
    return total
