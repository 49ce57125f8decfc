"""Words that change what is asked, held against the texts that have to answer for them. Pure.

They are words of general classes, such as order, exclusion, arithmetic, units and forms of an
answer. A word is answered for by any word of its class. docs/decisions/0037 says what the rules
cost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from toolhop_tools.construct.text import LIKE, REFERENCE
from toolhop_tools.dates import whole_date
from toolhop_tools.words import bare, number_of, words

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
    "celsius": r"celsius", "fahrenheit": r"fahrenheit", "kelvin": r"kelvin",
}  # fmt: skip
"""By class: the words of it, as one pattern for a whole word."""
_PHRASES: Mapping[str, str] = {
    "without": r"\b(?:left|leave|leaving|taken?|taking|cut|cutting) (?:out|off|away)\b"
    r"|\bother than\b",
    "backwards": r"\bright to left\b|\bback to front\b|\bfrom the (?:right|back)\b",
    "rounded": r"\bto (?:a|the) whole\b|\bdecimal places?\b|\bsignificant (?:digits|figures)\b",
    "roman": r"\broman numerals?\b",
    "read": r"\b(?:read|taken|interpreted|understood) (?:in|as a number in) base\b",
}
_WORDS = {name: re.compile(pattern) for name, pattern in SENSES.items()}
_PHRASE = {name: re.compile(pattern) for name, pattern in _PHRASES.items()}
_FREE = frozenset({"before", "after"})
"""Classes that a document of a calculation says otherwise: by a sign, or as a move."""
_OPPOSED = (
    ("sum", "product", "difference", "quotient", "average", "power"),
    ("before", "after"), ("first", "last"), ("most", "least"), ("former", "future"),
)  # fmt: skip
"""Classes of which a text that says one does not mean the other."""
_ASKED_FOR = frozenset(
    {"sum", "product", "difference", "quotient", "average", "power", "before", "after"}
    | {"backwards", "roman", "numeral", "rounded"}
)
"""Classes that the question has to say of the last hop, as nothing else of it says them."""
_NUMBERS: Mapping[str, str] = {
    "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6",
    "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10", "binary": "2", "octal": "8",
    "hexadecimal": "16", "hex": "16", "twice": "2", "double": "2", "half": "2", "thrice": "3",
    "triple": "3", "quarter": "4", "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5",
}  # fmt: skip


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


def _lacks(said: Mapping[str, list[str]], known: Mapping[str, list[str]], text: str) -> list[str]:
    """Words of `said` that no word of their class answers for, nor a number of the text."""
    numbers = {*re.findall(r"\d+", text)}
    found = []
    for name, listed in said.items():
        for word in listed:
            plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", word)
            if _NUMBERS.get(plain, plain) in numbers:
                continue
            if name not in known:
                found.append(word)
    return list(dict.fromkeys(found))


_NO_NAMES = "(?:Roman numeral|Celsius|Fahrenheit|Kelvin)"


def plain(text: str) -> str:
    """A text without references and names, which are words with a capital but for the first."""
    text = REFERENCE.sub(" ", text)
    return re.sub(rf"(?<=[^\s.?!:] )(?!{_NO_NAMES})[^\W\d_a-z][\w'’-]*", " ", text)


def unspoken(
    question: str, known: str, *, computes: bool = False, off: bool = False, numbered: bool = False
) -> Iterator[str]:
    """What a sub-question asks for and nobody knows of.

    Args:
        question: with ``{k}`` or answers in it.
        known: all that speaks for it: the tool's document and the call.
        computes: whether the tool computes.
        off: whether the call has a switch that is off, which is how it leaves something out.
        numbered: whether the call has a number, which is how it says a rank.
    """
    asked, said = plain(question), senses(known)
    # What stands with a number is said of a value.
    alone = re.sub(r"(?:(?<=\d) (?:a )?[a-z]+|\bminus (?=\w))", " ", asked.replace("total", ""))
    own = {name: one for name, one in senses(alone).items() if not (computes and name in _FREE)}
    known_words = words(known)
    if off or any(like([one], known_words) for one in _LEFT_OUT.findall(bare(alone))):
        own.pop("without", None)
    for name in ("most", "least", "ordinal") if numbered and not computes else ():
        own.pop(name, None)
    if not _FIRST.search(bare(alone)):
        own.pop("first", None)
    odd = _lacks(own, said, known)
    odd += [one for one in _named(asked) + _conditions(question) if not like([one], known_words)
            and not _counted(one, known) and not senses(one)]  # fmt: skip
    for word in dict.fromkeys(odd):
        yield (
            f"The sub-question says {word!r}, and neither document nor call speaks of it: have the "
            "tool know it and its document say so, or ask for what the tool gives."
        )


_LEFT_OUT = re.compile(r"\b(?:without|except(?: for)?) (?:a |an |the )?(\w+)")
_FIRST = re.compile(
    r"\b(?:the|a|its|their|his|her|was|is) (?:\w+ )?(?:first|earliest|initial)\b|\bfirst\W*$"
)
"""First as a word of order; `first appear` says no more than appear."""


def _counted(word: str, known: str) -> bool:
    return _NUMBERS.get(word, "-") in re.findall(r"\d+", known)


_NOUNS = r"((?:[a-z][\w'’-]*[ -]){0,4}?[a-z][\w'’-]*)"
_ASKS = re.compile(
    rf"^(?:\w+ )?(?:what|who|which) (?:is|was|are|were) (?:the|an|a) {_NOUNS} (?:of|for)\b"
)
_OF = re.compile(rf"\b(?:of|for) (?:the|its|an|a) (?={_NOUNS} of\b)")
_CONDITION = re.compile(
    r"(?<=[\w}\])])(?:, | \()(?!and |or |which |who |what |that |was |is |such |the [A-Z])"
    r"([a-z][^,()?]*)[)]?\?*$"
    r"|\b(?:without|except(?: for)?|excluding|ignoring|omitting|leaving out) ([^,()?]*)"
)
_KIN = ("father mother parent son daughter child children husband wife spouse sibling brother "
        "sister grandfather grandmother ancestor family familial genealogical genealogy relative "
        "relatives relationship relationships marriage")  # fmt: skip
_GROUPS = (frozenset(_KIN.split()), frozenset(["letter", "letters", "character", "characters"]))
"""Words that answer for each other without being alike."""
_GENERAL = frozenset(
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


def _content(text: str) -> list[str]:
    return [one for one in words(text) if one not in _GENERAL and not one[-1].isdigit()
            and len(one) > 1]  # fmt: skip


def _named(asked: str) -> list[str]:
    """The words of what is asked for, and of what that is of: ``the NAME of the NAME of``."""
    text = asked.strip()
    text = text[:1].lower() + text[1:]
    first = _ASKS.match(text)
    chain = _OF.findall(text) if first else []
    return [one for part in ([first[1]] if first else []) + chain for one in _content(part)]


def _conditions(asked: str) -> list[str]:
    """The words of what stands behind the last comma, or behind a word that excludes."""
    asked = re.sub(r"\[[^\]]*\]|\{\d+\}", "it", asked.strip())
    found = [part for parts in _CONDITION.findall(asked) for part in parts]
    return [one for part in found for one in _content(plain(f"of {part}"))]


def turned(question: str, plan: Sequence[str], documents: str) -> Iterator[str]:
    """Where a question asks for another operation than the sub-questions, or for none.

    Args:
        question: of the item.
        plan: its sub-questions.
        documents: what else speaks for its words: documents and calls.
    """
    own, whole = senses(plain(question)), " ".join(map(plain, plan))
    theirs, known = senses(whole), senses(documents)
    for group in _OPPOSED:
        says = [name for name in group if name in own and name not in theirs]
        wants = [name for name in group if name in theirs and name not in own]
        if says and wants:
            yield (
                f"It says {own[says[0]][0]!r} where the sub-questions say "
                f"{theirs[wants[0]][0]!r}: ask for what they ask."
            )
    text = f"{whole} {documents}"
    others = _lacks(
        {name: one for name, one in own.items() if name not in theirs and name not in _FREE},
        known, text,
    )  # fmt: skip
    for word in others:
        yield f"It says {word!r}, and no hop does that: leave it out."
    last = _operations(plan[-1])
    spare = _operations(question)
    for other in plan[:-1]:
        spare -= Counter({*_operations(other)} - _FREE)
    if last and not spare and not re.search(r"\bhow \w+", bare(question)):
        word = senses(plain(plan[-1]))[next(iter(last))][0]
        yield f"It does not say what is done last: the last sub-question says {word!r}."


def _operations(text: str) -> Counter[str]:
    """How often a text says an operation, by class."""
    found = senses(plain(text))
    return Counter({name: len(one) for name, one in found.items() if name in _ASKED_FOR})


_LIMITS = re.compile(r"\b(?:only|alone|solely|exclusively|nothing (?:later|newer|earlier|older))\b")


def limited(text: str, question: str) -> Iterator[str]:
    """Years and names to which a description limits what its tool knows, and nobody asks for."""
    said = {*words(question)}
    for sentence in re.split(r"[.;]\s+|\n", text.strip(". \n")):
        if _LIMITS.search(sentence) and "->" not in sentence:
            found = re.findall(r"\b(?:1\d|20)\d\d\b|(?<=[a-z,] )[A-Z][a-z]{3,}\b", sentence)
            if lacking := [one for one in found if bare(one) not in said]:
                yield (
                    f"The description limits what is known to {lacking[0]} ({sentence.strip()!r}), "
                    "which the sub-question does not say: know what is asked for, and no less."
                )


_KINDS = (
    (re.compile(r"(?:who|whom|where)\b"), False),
    (re.compile(r"(?:how many|how often|how much)\b"), True),
)


def other_kind(question: str, answer: str) -> str:
    """The word with which a question begins and that asks for another kind of answer; or nothing.

    Who and where ask for no number or date, how many for a number.
    """
    if answer.startswith(("[", "{")):
        return ""
    for pattern, wants_number in _KINDS:
        found = pattern.match(bare(question.strip()))
        is_number = number_of(answer) is not None
        if found and (not is_number if wants_number else is_number or whole_date(answer)):
            return found[0]
    return ""


def said_alone(question: str, known: str) -> list[str]:
    """Words of a question, and names, of which another text has nothing alike: for people to see.

    Of 253 sub-questions of 60 real ToolHop items 97 have such a word, so that no rule refuses it.
    """
    said = {*words(known)}
    names = re.findall(r"(?<=[^\s.?!:(] )[A-Z][\w'’-]*", question)
    asked = [*_content(plain(question)), *(one for name in names for one in words(name))]
    return [one for one in dict.fromkeys(asked) if not like([one], said)]


def misattached(
    question: str, plan: Sequence[str], starts: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """An attribute of one hop's answer that the question asks of what that hop starts from.

    Args:
        question: of the item.
        plan: the sub-questions with ``{k}``.
        starts: by hop, from 1: the values of its call.
    """
    for number, asked in enumerate(plan, 1):
        found = re.search(r"\bthe ([^{},?]{2,60}?) of \{(\d+)\}", bare(asked))
        for value in starts.get(int(found[2]), ()) if found else ():
            assert found is not None  # noqa: S101 -- without it nothing is gone through
            wrong = (
                rf"(?<!\w){re.escape(found[1])} of (?:the )?(?:(?!of\b|in\b|that\b)[\w-]+ )?"
                rf"{re.escape(bare(value))}(?![\w'’-])(?! [a-z]+ed\b)"
            )
            if re.search(wrong, bare(question)):
                yield (
                    f"It asks for the {found[1]} of {value!r}; hop {number} asks it of the answer "
                    f"of hop {found[2]}: say so."
                )
