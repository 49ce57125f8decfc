"""Numeric codes of currencies."""

# ISO 4217; the numbers of most countries' currencies are those of the countries.
NUMBERS = """
ARS 32 AUD 36 BHD 48 BRL 986 CAD 124 CHF 756 CLP 152 CNY 156 COP 170 CZK 203 DKK 208 EGP 818
EUR 978 GBP 826 HKD 344 HUF 348 IDR 360 ILS 376 INR 356 ISK 352 JOD 400 JPY 392 KES 404 KRW 410
KWD 414 MXN 484 MYR 458 NOK 578 NZD 554 PHP 608 PLN 985 SAR 682 SEK 752 SGD 702 THB 764 TRY 949
UAH 980 USD 840 ZAR 710
"""


def currency_numeric_codes(codes: list[str]) -> list[int] | dict[str, str]:
    """Return the ISO 4217 numeric code of each currency, without leading zeros."""
    words = NUMBERS.split()
    numbers = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    found: list[int] = []
    for code in codes:
        number = numbers.get(code.strip().upper())
        if number is None:
            listed = ", ".join(numbers)
            return {"error": f"codes: {code!r} is not covered; known are {listed}"}
        found.append(number)
    return found
