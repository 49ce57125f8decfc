"""Greatest common divisors and least common multiples."""

import math


def common_divisor_multiple(numbers: list[int], want: str) -> int:
    """Return the greatest common divisor or the least common multiple of all the numbers."""
    whole = [int(number) for number in numbers]
    return math.gcd(*whole) if want == "divisor" else math.lcm(*whole)
