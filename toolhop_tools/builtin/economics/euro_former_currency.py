"""National currencies that the euro replaced."""

FORMER = {
    "austria": "ATS",
    "belgium": "BEF",
    "croatia": "HRK",
    "cyprus": "CYP",
    "estonia": "EEK",
    "finland": "FIM",
    "france": "FRF",
    "germany": "DEM",
    "greece": "GRD",
    "ireland": "IEP",
    "italy": "ITL",
    "latvia": "LVL",
    "lithuania": "LTL",
    "luxembourg": "LUF",
    "malta": "MTL",
    "netherlands": "NLG",
    "portugal": "PTE",
    "slovakia": "SKK",
    "slovenia": "SIT",
    "spain": "ESP",
}


def euro_former_currency(country: str) -> str | dict[str, str]:
    """Return the ISO code of the currency that a country gave up for the euro."""
    code = FORMER.get(" ".join(country.split()).casefold().removeprefix("the "))
    if code is None:
        known = ", ".join(name.title() for name in FORMER)
        return {"error": f"country: {country!r} is not listed; use one of {known}"}
    return code
