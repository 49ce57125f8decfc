"""Letters that several words have in common."""


def shared_letters(words: list[str], times: int = 1) -> str:
    """Return, in alphabetical order, the letters that every word holds at least ``times`` times."""
    first, *others = (word.lower() for word in words)
    found = [
        letter
        for letter in sorted(set(first))
        if letter.isalpha()
        and first.count(letter) >= times
        and all(word.count(letter) >= times for word in others)
    ]
    return "".join(found)
