"""Currencies of countries."""

# ISO 4217 alphabetic codes, as of 2024.
CODES = {
    "Argentina": "ARS",
    "Australia": "AUD",
    "Bahrain": "BHD",
    "Brazil": "BRL",
    "Canada": "CAD",
    "Chile": "CLP",
    "China": "CNY",
    "Colombia": "COP",
    "Czechia": "CZK",
    "Denmark": "DKK",
    "Egypt": "EGP",
    "Hungary": "HUF",
    "Iceland": "ISK",
    "India": "INR",
    "Indonesia": "IDR",
    "Israel": "ILS",
    "Japan": "JPY",
    "Jordan": "JOD",
    "Kenya": "KES",
    "Kuwait": "KWD",
    "Malaysia": "MYR",
    "Mexico": "MXN",
    "New Zealand": "NZD",
    "Norway": "NOK",
    "Philippines": "PHP",
    "Poland": "PLN",
    "Saudi Arabia": "SAR",
    "Singapore": "SGD",
    "South Africa": "ZAR",
    "South Korea": "KRW",
    "Sweden": "SEK",
    "Switzerland": "CHF",
    "Thailand": "THB",
    "Turkey": "TRY",
    "Ukraine": "UAH",
    "United Kingdom": "GBP",
    "United States": "USD",
}


def currency_codes_of(countries: list[str]) -> list[str] | dict[str, str]:
    """Return the three-letter code of each country's currency, in the order given."""
    codes = {name.casefold(): code for name, code in CODES.items()}
    keys = [" ".join(country.split()).casefold().removeprefix("the ") for country in countries]
    unknown = [country for country, key in zip(countries, keys, strict=True) if key not in codes]
    if unknown:
        return {"error": f"countries: {unknown[0]!r} is not covered; known are {', '.join(CODES)}"}
    return [codes[key] for key in keys]
