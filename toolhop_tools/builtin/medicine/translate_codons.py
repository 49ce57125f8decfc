"""From messenger RNA to a chain of amino acids, by the standard genetic code."""

from itertools import product

# One sign for each codon from UUU, UUC, UUA, UUG, UCU on; a star is a stop codon.
CODE = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
CODONS = dict(zip(map("".join, product("UCAG", repeat=3)), CODE, strict=True))
NAMES = """
A alanine; C cysteine; D aspartic acid; E glutamic acid; F phenylalanine; G glycine; H histidine;
I isoleucine; K lysine; L leucine; M methionine; N asparagine; P proline; Q glutamine; R arginine;
S serine; T threonine; V valine; W tryptophan; Y tyrosine
"""


def translate_codons(mrna: str, from_start_codon: bool = True) -> list[str] | dict[str, str]:
    """Return the names of the amino acids that a messenger RNA codes for, up to a stop codon.

    Reading begins at the first AUG, or at the first base. A codon cut short at the end is left
    out; thymine is read as uracil.
    """
    bases = "".join(mrna.split()).upper().replace("T", "U")
    strange = sorted(set(bases) - set("UCAG"))
    if strange:
        return {"error": f"mrna: {strange[0]!r} is no base; write the RNA with A, C, G and U"}
    start = bases.find("AUG") if from_start_codon else 0
    if start < 0:
        return {"error": "mrna: no start codon AUG in it; set from_start_codon to false"}
    names = dict(entry.strip().split(" ", 1) for entry in NAMES.split(";"))
    signs = [CODONS[bases[i : i + 3]] for i in range(start, len(bases) - 2, 3)]
    return [names[sign] for sign in "".join(signs).partition("*")[0]]
