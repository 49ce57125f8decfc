"""First letters of words."""


def take_initials(text: str, separator: str = "") -> str | dict[str, str]:
    """Return the first letters of the words in capitals, with the separator between them."""
    letters = [word[0].upper() for word in text.replace("-", " ").split() if word[0].isalpha()]
    if not letters:
        return {"error": f"text: no word of {text!r} begins with a letter; give words or a name"}
    return separator.join(letters)
