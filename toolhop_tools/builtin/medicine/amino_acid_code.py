"""Codes of the amino acids."""

# IUPAC: three letters and one letter.
CODES = {
    "alanine": "Ala A",
    "arginine": "Arg R",
    "asparagine": "Asn N",
    "aspartic acid": "Asp D",
    "cysteine": "Cys C",
    "glutamic acid": "Glu E",
    "glutamine": "Gln Q",
    "glycine": "Gly G",
    "histidine": "His H",
    "isoleucine": "Ile I",
    "leucine": "Leu L",
    "lysine": "Lys K",
    "methionine": "Met M",
    "phenylalanine": "Phe F",
    "proline": "Pro P",
    "pyrrolysine": "Pyl O",
    "selenocysteine": "Sec U",
    "serine": "Ser S",
    "threonine": "Thr T",
    "tryptophan": "Trp W",
    "tyrosine": "Tyr Y",
    "valine": "Val V",
}
SALTS = {"aspartate": "aspartic acid", "glutamate": "glutamic acid"}


def amino_acid_code(amino_acid: str, letters: int = 1) -> str | dict[str, str]:
    """Return the one-letter or three-letter code of an amino acid that builds proteins."""
    name = " ".join(amino_acid.split()).casefold()
    codes = CODES.get(SALTS.get(name, name))
    if codes is None:
        known = ", ".join(CODES)
        return {"error": f"amino_acid: {amino_acid!r} has no code here; use one of {known}"}
    three, one = codes.split()
    return one if letters == 1 else three
