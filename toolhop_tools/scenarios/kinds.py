"""What a value is, in a few words: by its parameter's name, its description, or how it looks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.dates import whole_date
from toolhop_tools.leaves import Leaf
from toolhop_tools.words import as_text, words

_FUNCTION = (
    "a an the this that these those it its he she him her his they them their you your i me my we "
    "our us who whom whose which what when where why how if whether and or but nor not than then "
    "so as in on at by for from with without into onto out of off to up down over under above "
    "below between among within across along around through during before after since until till "
    "upon near per via about against behind beside beyond toward towards is are was were be been "
    "being am do does did done have has had having can could will would shall should may might "
    "must also only just there here more most less least very each every any some all both either "
    "neither many much no such other another same again always never still yet now counts"
)
FUNCTION_WORDS = frozenset(words(_FUNCTION))
"""Words that are neither what is counted nor what something is."""
_NOTHING = (
    "name id value input str string text list data arg argument parameter param target query first "
    "second b x y one two full last given my new item entry field key code search lookup term "
    "keyword subject phrase want find common proper official english complete exact"
)
_EMPTY = frozenset(words(_NOTHING))
"""Words of a name or a description that do not say what a value is."""
_UNITS = frozenset(words("kg g mg km m cm mm l ml s ms h min usd eur gbp pct percent deg"))
_PARTICIPLES = ("ed", "en", "ing")
_IRREGULAR = {
    "people": "person", "children": "child", "men": "man", "women": "woman", "feet": "foot",
    "teeth": "tooth", "mice": "mouse", "geese": "goose", "criteria": "criterion",
    "phenomena": "phenomenon", "analyses": "analysis", "crises": "crisis", "theses": "thesis",
    "axes": "axis", "indices": "index", "vertices": "vertex", "matrices": "matrix",
    "dice": "die", "quizzes": "quiz",
}  # fmt: skip
_SAME = frozenset(words("series species news means lens atlas canvas alias bias press plus gps"))
_IE = ("movie", "cookie", "calorie", "zombie", "prairie", "rookie", "genie", "selfie", "necktie")
_FE = {"kni": "knife", "li": "life", "wi": "wife", "midwi": "midwife"}
_F = ("wol", "lea", "shel", "hal", "sel", "cal", "thie", "loa", "el", "hoo", "scar", "shea")


def singular(word: str) -> str:
    """The word for one of what a word in small letters is for several of; else the word itself."""
    ends = word.endswith
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not ends("s") or word in _SAME or ends(("ss", "us", "is", "ics")):
        return word
    if ends("ies"):
        keeps = len(word) < 6 and word != "flies" and word != "skies"
        return word[:-1] if keeps or word[:-1] in _IE else f"{word[:-3]}y"
    if ends("ves"):
        stem = word[:-3]
        return _FE.get(stem) or (f"{stem}f" if stem in _F else word[:-1])
    if ends(("ches", "shes", "xes", "sses", "zzes")):
        return word[:-2]
    if ends("oes") and len(word) > 5:
        return word[:-2]
    if re.search(r"(?<![aeo])uses$", word):
        return word[:-2]
    return word[:-1]


def is_plural(word: str) -> bool:
    """Whether a word is for several."""
    return singular(word.lower()) != word.lower()


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
    leads = bool(head) and head[-1] in _EMPTY and "of" in found[at : at + 1]
    if leads or all(word in _EMPTY for word in head):
        # "usual name of the city", "the city"
        return _phrase(rest) if rest else []
    while len(head) > 1 and (head[-1] in _UNITS or head[-1] in _EMPTY):
        head = head[:-1]
    telling = [word for word in head if singular(word) not in _EMPTY]
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
    return phrase, "of" in said[end : end + 1] or said[end - 1] not in _EMPTY


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
