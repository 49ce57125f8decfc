"""Word lists and rules of thumb for English: function words, plurals, numbers, names.

Every table of English words that rules use is in this module. Anything that requires reading
comprehension is left to readers. No side effects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from toolhop_tools.answers import plain_text
from toolhop_tools.words import ARTICLES, bare, words

# -- function words ----------------------------------------------------------------------------

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
"""Function words: they neither name a quantity nor identify anything."""
_JOINT = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])")
"""Boundaries at which names such as `birth_date` and `birthDate` are split."""


def apart(text: str) -> tuple[str, ...]:
    """Split a text into words, names such as `birthDate` included."""
    return words(_JOINT.sub(" ", text))


# -- word forms --------------------------------------------------------------------------------

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


@lru_cache(maxsize=8192)
def singular(word: str) -> str:
    """Return the singular of a lower-case word; the word itself if it is not a plural."""
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


def stems(found: Iterable[str]) -> tuple[str, ...]:
    """Normalize words so that singular and plural are the same."""
    return tuple(map(singular, found))


# -- numbers and marks -------------------------------------------------------------------------

_CARDINALS = words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
TENS = words("twenty thirty forty fifty sixty seventy eighty ninety")
_PLACES = words("first second third fourth fifth sixth seventh eighth ninth tenth")
ORDINALS: Mapping[str, str] = {word: str(number) for number, word in enumerate(_PLACES, 1)}
COUNTS: Mapping[str, str] = {
    **{word: str(number) for number, word in enumerate(_CARDINALS) if number > 1},
    **{word: str(10 * number) for number, word in enumerate(TENS, 2)},
}
"""Number words from two; *one* is seldom a number."""
DIGITS: Mapping[str, str] = {
    **COUNTS, **ORDINALS, "zero": "0", "zeros": "0", "one": "1", "ones": "1", "once": "1",
    "twice": "2",
}  # fmt: skip
"""Every word for a number."""
SCALES: Mapping[str, int] = {
    "hundred": 2, "thousand": 3, "k": 3, "million": 6, "m": 6, "billion": 9, "trillion": 12,
}  # fmt: skip
"""Words and letters that scale a number, with the power of ten."""
BASES: Mapping[str, str] = {"binary": "2", "octal": "8", "hexadecimal": "16", "hex": "16"}
"""Numeral systems by name, with the base as conversion tools take it."""


def spelled(number: int) -> tuple[str, ...]:
    """Words of a whole number from 0 to 999,999,999, without *and*; empty for any other."""
    if not 0 <= number < 10**9:
        return ()
    for word, size in (("million", 10**6), ("thousand", 1000), ("hundred", 100)):
        if number >= size:
            return (
                *spelled(number // size),
                word,
                *(spelled(number % size) if number % size else ()),
            )
    tens, ones = ((TENS[number // 10 - 2],), number % 10) if number >= 20 else ((), number)
    return (*tens, _CARDINALS[ones]) if ones or not tens else tens


def roman(number: int) -> str:
    """Lower-case Roman numeral of a whole number from 1 to 9,999; empty for any other."""
    if not 0 < number < 10_000:
        return ""
    signs = zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
                words("m cm d cd c xc l xl x ix v iv i"), strict=True)  # fmt: skip
    text = ""
    for size, sign in signs:
        text += sign * (number // size)
        number %= size
    return text


_FROM_ZERO = re.compile(
    r"\b(?:zero|0)[- ](?:based|indexed)\b"
    r"|\b(?:start|count|index|begin|number)\w* (?:at|from|with) (?:zero|0)\b",
    re.IGNORECASE,
)


def counts_from_zero(text: str) -> bool:
    """Whether a description says that positions are counted from 0."""
    return _FROM_ZERO.search(text) is not None


def places_named(text: str) -> list[int]:
    """Return the positions named in a text, in order: 3 for *third*."""
    return sorted({int(ORDINALS[word]) for word in words(text) if word in ORDINALS})


_MARKS: Mapping[str, str] = {
    "-": "hyphen dash",
    ",": "comma",
    " ": "space",
    "_": "underscore",
    "/": "slash",
    ".": "dot period",
    ";": "semicolon",
    ":": "colon",
    "|": "pipe",
    "*": "asterisk",
}
"""Punctuation marks with the words that name them."""


def is_mark(value: object) -> bool:
    """Whether a value is a punctuation mark that has a name."""
    return isinstance(value, str) and value in _MARKS


def marks_named(text: str) -> list[str]:
    """Return the marks that a text names."""
    found = stems(words(text))
    return [mark for mark, names in _MARKS.items() if not set(names.split()).isdisjoint(found)]


# -- names in a sentence -----------------------------------------------------------------------

PARTICLES = words(
    "de da do di du des del dell della la le las los el al bin ibn dos das von van der den zu y e"
)
"""Small words in the names of people and places."""
NAME_JOINTS = frozenset({"&", *PARTICLES, *words("of the in on at a an and for to from with by")})
NAME_JOINTS |= frozenset(words("or as i"))
"""Small words that may occur inside a name."""
_ASKING = frozenset(
    words(
        "what who whom whose which when where how why in on is was are were did does do the a an at"
        " of for to unlike like before after besides during given as among from by if name find"
        " since calculate give tell determine sort order arrange list count add subtract multiply"
        " divide join combine concatenate reverse remove replace convert spell"
    )
)
"""Words that open a question: their capital letter does not mark a name."""
_ORDERS = re.compile(r"(?:each|every|all|both|the|an?|this|these) [a-z'\"“‘]|['\"“‘]\w")
"""What may follow the opening verb of a request: ``Shift each letter``, ``Encode 'abc'``."""
_QUOTED = re.compile(r"\"([^\"]{1,120})\"|“([^”]{1,120})”|(?<![\w])'([^']{1,120})'(?!\w)")
_LETTER = re.compile(r"\b[Ll]etters? ([a-zA-Z])\b")
_LETTERS = re.compile(r"(?<![\w.'’])([A-Z]),? (?:and|or|to) ([A-Z])(?![\w'’]|\.\w)")


def quoted(text: str) -> Iterator[str]:
    """Yield quoted parts, and single letters that the text refers to."""
    for groups in _QUOTED.findall(text):
        if found := "".join(groups).strip():
            yield found
    yield from _LETTER.findall(text)
    for pair in _LETTERS.findall(text):
        yield from pair


def names(sentence: str) -> list[str]:
    """Return runs of capitalised words, and the parts of a run that may be several names.

    Small words may occur inside a name. Lower-case names are missed.
    """
    found: list[str] = []
    for run in _runs(sentence.split()):
        whole = _clean(" ".join(run))
        found += [name for name in (whole, *_parts(whole)) if any(map(str.isalpha, name))]
    return list(dict.fromkeys(found))


def _runs(tokens: Sequence[str]) -> Iterator[list[str]]:
    run: list[str] = []
    pending: list[str] = []
    for index, token in enumerate(tokens):
        orders = bool(_ORDERS.match(" ".join(tokens[1:3])))
        asks = bare(token) in _ASKING - ARTICLES or orders
        opens = _is_capital(token) and not (index == 0 and asks)
        continues = bool(run) and (token[:1].isdigit() or opens)
        if continues or (not run and opens):
            run += [*pending, token]
            pending = []
            ends = re.search(r"[?;!]$|'s$|’s$", token)
            if ends and not _is_capital("".join(tokens[index + 1 : index + 2])):
                yield run
                run = []
        elif run and (bare(token).strip(",") in NAME_JOINTS) and len(pending) < 2:
            pending.append(token)
        else:
            if run:
                yield run
            run, pending = [], []
    if run:
        yield run


def _is_capital(token: str) -> bool:
    stripped = token.lstrip("'\"“‘([#&")
    return bool(stripped) and (stripped[0].isupper() or bool(re.match(r"al-[A-Z]", stripped)))


def _clean(name: str) -> str:
    name = name.strip().strip('"“”‘’?;,()[]').rstrip(".:!")
    if name.startswith("'") and name.count("'") == 2 and name.endswith("'"):
        name = name[1:-1]
    return re.sub(r"['’]s$", "", name).strip()


def _parts(name: str) -> Iterator[str]:
    """Yield the run without its article or question word, and its parts between small words."""
    first, _, rest = name.partition(" ")
    if rest and (bare(first) in _ASKING or first.isdigit()):
        yield rest
    pieces = re.split(r",? (?:and|with|or|in|by|for|from|of|to|at) |, |: ", name)
    if len(pieces) > 1:
        for piece in map(str.strip, pieces):
            if len(piece) > 1:
                yield piece


def listed(name: str) -> tuple[str, ...]:
    """Return the names in a list such as ``Ann, Bob and Cy``."""
    pieces = (piece.strip() for piece in re.split(r",? (?:and|or|&) |, ", name))
    return tuple(piece for piece in pieces if piece)


def tail(question: str) -> Iterator[str]:
    """Yield each end of the question that follows a small word: it may be a lower-case name."""
    text = question.strip().rstrip("?. ")
    for found in re.finditer(r"\b(?:of|in|by|for|is|was|the|been|at)\s+", text):
        rest = text[found.end() :]
        if 2 < len(plain_text(rest)) < 80:
            yield rest
