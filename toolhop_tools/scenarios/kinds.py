"""What a value is, in a few words: by its parameter's name, its description, or how it looks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.dates import whole_date
from toolhop_tools.english import FUNCTION_WORDS, UNITS, UNTELLING, is_plural, singular
from toolhop_tools.leaves import Leaf
from toolhop_tools.words import as_text, words

_PARTICIPLES = ("ed", "en", "ing")


def kind_of(leaf: Leaf, texts: Iterable[str] = ()) -> str:
    """What the value of an argument is.

    A parameter's name may be a verb (``want``) or say nothing (``name``): a word of it is taken
    where the schema or one of `texts` uses it as a noun, or nothing describes the parameter. Then
    the description tells, then the value itself.
    """
    described = str(leaf.schema.get("description") or "")
    by_name = _phrase(words(leaf.name.replace("_", " ")))
    shown = " ".join((described, leaf.about, *texts)).lower()
    if by_name and (not described or _is_noun(by_name[-1], shown)):
        return _worded(by_name, leaf)
    by_text, sure = _described(described.lower())
    found = by_text if sure or not by_name else by_name
    unsure = found is by_name and bool(found) and found[-1].endswith(_PARTICIPLES)
    return _worded(found, leaf) if found and not unsure else _looks(leaf)


def _phrase(said: Sequence[str]) -> list[str]:
    """The noun that words make, with what stands before it: ``start date``; none for no noun."""
    found = [word for word in said if not word.isdigit()]
    at = next((n for n, word in enumerate(found) if word in FUNCTION_WORDS), len(found))
    head, rest = found[:at], found[at + 1 :]
    leads = bool(head) and head[-1] in UNTELLING and "of" in found[at : at + 1]
    if leads or all(word in UNTELLING for word in head):
        # "usual name of the city", "the city"
        return _phrase(rest) if rest else []
    while len(head) > 1 and (head[-1] in UNITS or head[-1] in UNTELLING):
        head = head[:-1]
    telling = [word for word in head if singular(word) not in UNTELLING]
    of = at < len(found) and found[at] == "of" and 0 < len(rest) < 3 and telling
    return [*telling, "of", *rest] if of and FUNCTION_WORDS.isdisjoint(rest) else telling


def _is_noun(word: str, text: str) -> bool:
    """Whether a text has a word after one that goes before nouns."""
    one = re.escape(singular(word))
    # "the things chosen" has no noun "chosen".
    most = 0 if word.endswith(_PARTICIPLES) else 2
    before = rf"\b(?:the|an?|of|each|every|certain|this|whose|which)\s+(?:[\w'’-]+\s+){{0,{most}}}?"
    return re.search(rf"{before}(?:{one}|{re.escape(word)})\b", text) is not None


def _described(text: str) -> tuple[list[str], bool]:
    """The noun that a parameter's description begins with: of ``The full name of the city``
    ``city``; and whether it is one for sure: of ``The usual name`` there is ``usual``.
    """
    clause = re.split(r"[.,;:()\"'“‘\[]|\be\.g\b", text, maxsplit=1)[0]
    if re.match(r"\s*(?:where|how|what|when|which|whether|if)\b", clause):
        return [], False
    # "The city", "Specify the city"
    found = re.match(r"\s*(?:\w+\s+)??(?:the|an?)\s+(.*)", clause)
    said = words(found[1] if found else clause)[:8]
    phrase = _phrase(said)
    if not 0 < len(phrase) < 4:
        return [], False
    end = next((n for n, word in enumerate(said) if word in FUNCTION_WORDS), len(said))
    return phrase, "of" in said[end : end + 1] or said[end - 1] not in UNTELLING


def _worded(phrase: Sequence[str], leaf: Leaf) -> str:
    """A phrase for one value; numbers are counts of what stands in the plural."""
    at = phrase.index("of") - 1 if "of" in phrase[1:] else len(phrase) - 1
    count = isinstance(leaf.value, int | float) and not isinstance(leaf.path[-1], int)
    if count and is_plural(phrase[at]):
        return " ".join(("number of", *phrase))
    return " ".join((*phrase[:at], singular(phrase[at]), *phrase[at + 1 :]))


def _looks(leaf: Leaf) -> str:
    text = as_text(leaf.value)
    if whole_date(text) is not None:
        return "date"
    if plain_number(plain_text(text)) is not None:
        return "number"
    if len(text) == 1:
        return "letter"
    return "entity" if text[:1].isupper() else "word"
