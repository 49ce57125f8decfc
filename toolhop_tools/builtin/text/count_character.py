"""Counting one character in a text."""


def count_character(text: str, character: str, ignore_case: bool = True) -> int:
    """Return how often the character stands in the text."""
    if ignore_case:
        return [sign.lower() for sign in text].count(character.lower())
    return text.count(character)
