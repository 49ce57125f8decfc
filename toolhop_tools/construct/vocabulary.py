"""Classes of words that change what is asked, and words that are alike. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from toolhop_tools.construct.text import LIKE, REFERENCE
from toolhop_tools.words import bare, words

_UP = r"|(?!(?:w|for|inter|qu|requ|cont|harv|pri|arr|ch|t|r|n|gu|mod|inv|sugg|dig|prot|hon|v)est$)"
SENSES: Mapping[str, str] = {
    "sum": r"sum\w{0,4}|add|adds|added|adding|addition|total\w*|plus|altogether|together|combined",
    "product": r"products?|multipl\w+",
    "difference": r"differ|differs|differences?|subtract\w*|minus",
    "quotient": r"quotients?|divid\w+|division|ratio|remainder|modulo",
    "average": r"averag\w+|median",
    "power": r"squared|squares|cubes|cubed?|factorial|exponent\w*|power|powers",
    "multiple": r"twice|doubled?|half|halves|halved|tripled?|thrice|quarter|quarters",
    "percent": r"percent\w*",
    "rounded": r"round|rounded|rounds|rounding|truncat\w+|nearest|approximat\w+"
    r"|decimals",
    "before": r"before|earlier|prior|preced\w+|predecessors?|ago",
    "after": r"after|later|following|follows|subsequent\w*|successors?|succeed\w*",
    "former": r"former|formerly|previous|previously|erstwhile|original|originally",
    "future": r"future|upcoming|planned|proposed",
    "first": r"first|firstly|earliest|initial|initially",
    "last": r"last|final|finally|latest",
    "most": r"most|maxim\w+|top" + _UP + r"(?!least|low|small|few|short|young|near)\w{2,}est",
    "least": r"least|minim\w+|(?:low|small|few|short|young|slow|weak)est",
    "ordinal": r"second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+(?:st|nd|rd|th)",
    "backwards": r"backwards?|revers\w+|mirror\w*|inverted|anticlockwise|counterclockwise",
    "sorted": r"ascending|descending|alphabetically",
    "without": r"without|except|excepting|exclud\w+|exclusive|ignor\w+|omit\w*|omission|skip"
    r"|skipp\w+|not|never|unless|disregard\w*|apart|neither|nor|\w+n['’]t",
    "numeral": r"binary|octal|hexadecimal|hex",
    "letters": r"uppercase|lowercase|capitals|upper|lower|capitali\w+",
    "abbreviated": r"abbreviat\w+|acronyms?|initials",
    "neighbour": r"neighbou?r\w*|adjacent",
    "kilometre": r"kilomet\w+|km", "metre": r"met(?:re|er)s?", "mile": r"miles?|mi",
    "foot": r"feet|foot|ft", "inch": r"inch\w*", "centimetre": r"centimet\w+|cm", "yard": r"yards?",
    "kilogram": r"kilogram\w*|kg", "pound": r"pounds?|lbs?", "gram": r"grams?", "ounce": r"ounces?",
    "chosen": r"odd|prime|distinct|unique|nonzero|consecutive|repeated|duplicate",
    "inclusive": r"inclusive|inclusively",
    "spelled": r"spelled|spelt",
    "celsius": r"celsius", "fahrenheit": r"fahrenheit", "kelvin": r"kelvin",
}  # fmt: skip
"""By class: the words of it, as one pattern for a whole word."""
_PHRASES: Mapping[str, str] = {
    "without": r"\b(?:left|leave|leaving|taken?|taking|cut|cutting) (?:out|off|away)\b"
    r"|\bother than\b",
    "backwards": r"\bright to left\b|\bback to front\b|\bfrom the (?:right|back)\b",
    "rounded": r"\bto (?:a|the) whole\b|\bdecimal places?\b|\bsignificant (?:digits|figures)\b",
    "roman": r"\broman numerals?\b",
    "count": r"\bthe (?:number|count) of the\b",
    **{one: rf"\b\d+ {one}s?\b" for one in ("day", "week", "month", "year", "hour", "minute")},
    "spelled": r"\bin (?:english )?words\b|\bwritten out\b|\bin scientific notation\b"
    r"|\bas a fraction\b",
    "read": r"\b(?:read|taken|interpreted|understood) (?:in|as a number in) base\b",
}
_WORDS = {name: re.compile(pattern) for name, pattern in SENSES.items()}
_PHRASE = {name: re.compile(pattern) for name, pattern in _PHRASES.items()}


def senses(text: str) -> dict[str, list[str]]:
    """By class: the words of a text that are of it."""
    found: dict[str, list[str]] = {}
    for word in words(text):
        for name, pattern in _WORDS.items():
            if pattern.fullmatch(word):
                found.setdefault(name, []).append(word)
    plain = bare(text)
    for name, pattern in _PHRASE.items():
        if phrase := pattern.search(plain):
            found.setdefault(name, []).append(phrase[0])
    return found


_NO_NAMES = "(?:Roman numeral|Celsius|Fahrenheit|Kelvin)"


def plain(text: str) -> str:
    """A text without references and names, which are words with a capital but for the first."""
    text = REFERENCE.sub(" ", text)
    return re.sub(rf"(?<=[^\s.?!:] )(?!{_NO_NAMES})[^\W\d_a-z][\w'’-]*", " ", text)


_KIN = ("father mother parent son daughter child children husband wife spouse sibling brother "
        "sister grandfather grandmother ancestor family familial genealogical genealogy relative "
        "relatives relationship relationships marriage")  # fmt: skip
_GROUPS = (frozenset(_KIN.split()), frozenset(["letter", "letters", "character", "characters"]))
"""Words that answer for each other without being alike."""
GENERAL = frozenset(
    [
        "about",
        "all",
        "alone",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "by",
        "can",
        "count",
        "counted",
        "did",
        "do",
        "does",
        "each",
        "every",
        "first",
        "for",
        "from",
        "given",
        "had",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "how",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "kind",
        "kinds",
        "left",
        "less",
        "man",
        "many",
        "me",
        "more",
        "much",
        "name",
        "named",
        "names",
        "new",
        "no",
        "not",
        "number",
        "of",
        "old",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "out",
        "over",
        "part",
        "people",
        "person",
        "persons",
        "place",
        "places",
        "result",
        "results",
        "same",
        "she",
        "so",
        "some",
        "something",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "thing",
        "things",
        "this",
        "those",
        "time",
        "times",
        "to",
        "total",
        "two",
        "under",
        "up",
        "us",
        "value",
        "values",
        "was",
        "way",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whole",
        "whom",
        "whose",
        "will",
        "with",
        "within",
        "woman",
        "word",
        "words",
        "year",
        "years",
        "you",
        "your",
        "also",
        "both",
        "being",
        "during",
        "between",
        "among",
    ]
)
"""Words that no text has to answer for: of any question, or of anything."""


def like(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether a word of some is, in one of its forms, among the others."""
    known = {*others}
    begun = {one[:LIKE] for one in known if len(one) >= LIKE}
    stems = {*map(_stem, known)}
    return any(
        one in known or one[:LIKE] in begun or _stem(one) in stems
        or any(one in group and known & group for group in _GROUPS)
        for one in some
    )  # fmt: skip


def _stem(word: str) -> str:
    for end in ("ing", "ies", "ed", "es", "s", "ly", "er", "or"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            return word[: -len(end)]
    return word


def content_words(text: str) -> list[str]:
    """The words of a text that some text has to answer for."""
    return [one for one in words(text) if one not in GENERAL and not one[-1].isdigit()
            and len(one) > 1]  # fmt: skip
