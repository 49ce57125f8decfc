"""Single letters of a phrase."""


def pick_word_letter(phrase: str, word: int, letter: int) -> str | dict[str, str]:
    """Return a letter of a word of a phrase as a capital, both counted from 1, or back from -1.

    Words stand between white space; digits and punctuation inside a word are not counted.
    """
    words = phrase.split()
    if not 1 <= abs(word) <= len(words):
        return {"error": f"word: {int(word)} is none of the {len(words)} words of the phrase"}
    chosen = words[int(word) - (word > 0)]
    letters = [char for char in chosen if char.isalpha()]
    if not 1 <= abs(letter) <= len(letters):
        return {
            "error": f"letter: {int(letter)} is none of the {len(letters)} letters of {chosen!r}"
        }
    return letters[int(letter) - (letter > 0)].upper()
