"""Prime factors."""


def factor_primes(number: int, distinct: bool = False) -> list[int]:
    """Return the prime factors in rising order, each as often as it divides or just once."""
    rest, divisor, factors = int(number), 2, []
    while divisor * divisor <= rest:
        while rest % divisor == 0:
            factors.append(divisor)
            rest //= divisor
        divisor += 1
    if rest > 1:
        factors.append(rest)
    return sorted(set(factors)) if distinct else factors
