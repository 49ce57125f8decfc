"""From a DNA template strand to messenger RNA."""

PAIRS = {"A": "U", "C": "G", "G": "C", "T": "A"}


def transcribe_template(template: str, first_end: str = "3'") -> str | dict[str, str]:
    """Return the messenger RNA, from its 5' end, that is made along a DNA template strand.

    The strand may be written from its 3' end or from its 5' end; white space is ignored.
    """
    bases = "".join(template.split()).upper()
    strange = sorted(set(bases) - set(PAIRS))
    if strange or not bases:
        found = repr(strange[0]) if strange else "nothing"
        return {"error": f"template: found {found}; write the strand with A, C, G and T alone"}
    if first_end == "5'":
        bases = bases[::-1]
    return "".join(PAIRS[base] for base in bases)
