"""References to earlier answers, and words in texts. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.words import as_text, bare, scalars

SHORT = 2
"""Letters of an answer that only its case tells from a word."""
LIKE = 4
"""Letters at the beginning of words that make them alike."""
REFERENCE = re.compile(r"\{(\d{1,2})\}")


def references(text: str) -> list[int]:
    """The hops that a text refers to, in order of mention, each once."""
    return list(dict.fromkeys(int(found) for found in REFERENCE.findall(text)))


def filled(text: str, answers: Sequence[str]) -> str:
    """The text with each earlier answer in its place; ``{9}`` stays where there is no hop 9."""

    def answer(found: re.Match[str]) -> str:
        at = int(found[1])
        return answers[at - 1] if 1 <= at <= len(answers) else found[0]

    return REFERENCE.sub(answer, text)


def resolved(value: JSON, answers: Sequence[str], schema: Mapping[str, JSON] | None = None) -> JSON:
    """Arguments with earlier answers in place, as numbers where the schema wants numbers."""
    if isinstance(value, dict):
        inner = (schema or {}).get("properties")
        known = inner if isinstance(inner, dict) else {}
        return {k: resolved(v, answers, _schema(known.get(k))) for k, v in value.items()}
    if isinstance(value, list):
        items = _schema((schema or {}).get("items"))
        return [resolved(one, answers, items) for one in value]
    if not isinstance(value, str) or not REFERENCE.search(value):
        return value
    text = filled(value, answers)
    number = plain_number(text)
    kinds = (schema or {}).get("type")
    several = kinds if isinstance(kinds, list) else [kinds]
    if number is None or "string" in several or not {"integer", "number"} & {*several}:
        return text
    return int(number) if number == int(number) else float(number)


def _schema(value: JSON) -> Mapping[str, JSON] | None:
    return value if isinstance(value, dict) else None


_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_MARKS = "\u00aa\u00ba"
_LIKE_LATIN = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυ")
"""Greek letters that nobody tells from Latin ones."""


def odd_sign(text: str) -> str:
    """A sign that nobody sees, or a letter that passes for another one; empty where there is none.

    A letter passes for another one in a word of Latin letters: Cyrillic ones, and some Greek.
    """
    if text.isascii() and text.isprintable():
        return ""
    for sign in text:
        if sign not in "\n\r\t" and unicodedata.category(sign) in _UNSEEN:
            return f"the sign U+{ord(sign):04X} in {text[:60]!r} cannot be seen; leave it out"
        plain = unicodedata.normalize("NFKC", sign)
        if sign.isalpha() and plain.isascii() and plain != sign and sign not in _MARKS:
            return f"write the plain {plain!r} for the sign U+{ord(sign):04X} in {text[:60]!r}"
    for word in re.findall(r"[^\W\d_]+", text):
        scripts = {unicodedata.name(letter, "").split(" ")[0] for letter in word}
        if "LATIN" in scripts and ("CYRILLIC" in scripts or _LIKE_LATIN.intersection(word)):
            return f"the word {word!r} mixes letters of two scripts that look alike"
    return ""


def says(text: str, value: str) -> bool:
    """Whether a text has a value as whole words, whatever its case and accents.

    The case of one or two letters counts: ``a`` is no answer ``A``, and ``is`` no code ``IS``.
    """
    wanted = bare(plain_text(value))
    if not wanted:
        return False
    if len(value) <= SHORT and value.isalpha():
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", bare(text)) is not None


def texts(value: JSON) -> list[str]:
    """All scalars in a value, as texts."""
    return [as_text(one) for _, one in scalars(value)]


def same(one: str, other: str) -> bool:
    """Whether two answers are the same, under the strict rule."""
    return same_answer(one, other)


_GLOSSED = re.compile(r"^-?\d[\d.,-]* +[(a-z]|\w \([^()]*\)$")
_EITHER = re.compile(r" or | / |; ")


def beside_the_value(answer: str) -> bool:
    """Whether a remark stands beside the value, or two forms of it: the strict rule takes one."""
    forms = [bare(one)[:3] for one in _EITHER.split(answer)]
    alike = len({*forms}) < len(forms) or all(one[:1].isdigit() for one in forms)
    return (len(forms) > 1 and alike) or _GLOSSED.search(answer) is not None


def share(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether two texts have a word in common, or words of one kind: directed, director."""
    known = {one[:LIKE] if len(one) >= LIKE else one for one in others}
    return any(one[:LIKE] in known for one in some)
