"""Picking one letter out of a text."""


def pick_nth_letter(text: str, position: int, from_end: bool = False) -> str | dict[str, str]:
    """Return the letter at the position, passing over everything that is not a letter."""
    letters = [sign for sign in text if sign.isalpha()]
    if position > len(letters):
        return {
            "error": f"position: {position} is beyond the text, which has {len(letters)} "
            "letter(s); give a smaller position"
        }
    return letters[-int(position)] if from_end else letters[int(position) - 1]
