"""Classes of words that change what is asked, and words that are alike. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from toolhop_tools.construct.text import LIKE, REFERENCE
from toolhop_tools.words import bare, words

_UP = (
    r"(?:high|larg|bigg|great|tall|long|old|deep|wid|broad|fast|quick|heavi|hott|warm|rich|strong"
    r"|far|farth|furth|steep|bright|thick|fatt|hard|loud|dens|busi|clever|b)est"
)
_DOWN = (
    r"(?:low|small|tini|short|young|new|shallow|narrow|slow|light|cold|cool|poor|weak|thinn|soft"
    r"|quiet|rar|cheap|few|easi|simpl|bare)est|worst"
)
SENSES: Mapping[str, str] = {
    "sum": r"sums?|add|adds|added|adding|addition|totals?|totall?ed|plus|altogether|together"
    r"|combined",
    "product": r"products?|multipl\w+|twice|doubled?|thrice|tripled?|half|halves|halved",
    "difference": r"differ|differs|differences?|subtract\w*|minus|fewer",
    "quotient": r"quotients?|divid\w+|division|ratio|remainder|modulo|mod|half|halves|halved",
    "average": r"averag\w+|median",
    "power": r"square|squared|squares|cubes|cubed?|factorial|exponent\w*|power|powers",
    "multiple": r"twice|doubled?|half|halves|halved|tripled?|thrice|quarter|quarters",
    "percent": r"percent\w*",
    "rounded": r"rounded|rounding|truncat\w+|decimals",
    "near": r"nearest|closest|innermost",
    "before": r"before|earlier|prior|preced\w+|predecessors?|ago",
    "after": r"after|later|following|follows|followed|subsequent\w*|successors?|succeed\w*",
    "former": r"former|formerly|previous|previously|erstwhile|original|originally",
    "future": r"future|upcoming|planned|proposed",
    "first": r"first|firstly|earliest|oldest|initial|initially|original|originally",
    "last": r"last|final|finally|latest|newest|youngest",
    "most": r"most|maxim\w+|max|top|" + _UP,
    "least": r"least|minim\w+|" + _DOWN,
    "ordinal": r"second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+(?:st|nd|rd|th)",
    "backwards": r"backwards?|revers\w+|mirrored|inverted|anticlockwise|counterclockwise",
    "sorted": r"ascending|descending|alphabetically",
    "without": r"without|except|excepting|exclud\w+|exclusive|ignor\w+|omit\w*|omission"
    r"|skip|skips|skipped|skipping|not|never|unless|disregard\w*|neither|nor|\w+n['’]t",
    "numeral": r"binary|octal|hexadecimal|hex",
    "letters": r"uppercase|lowercase|capitali[sz]\w+",
    "abbreviated": r"abbreviat\w+|acronyms?|initials",
    "neighbour": r"neighbou?r\w*|adjacent",
    "surname": r"surnames?", "forename": r"forenames?",
    "kilometre": r"kilomet\w+|km", "metre": r"met(?:re|er)s?", "mile": r"miles?|mi",
    "foot": r"ft", "inch": r"inch\w*", "centimetre": r"centimet\w+|cm", "yard": r"yards",
    "millimetre": r"millimet\w+|mm", "kilogram": r"kilogram\w*|kg", "pound": r"pounds?|lbs?",
    "gram": r"grams?", "milligram": r"milligrams?|mg", "ounce": r"ounces?",
    "litre": r"lit(?:re|er)s?", "hectare": r"hectares?", "dollar": r"dollars?|usd",
    "euro": r"euros?|eur",
    "chosen": r"odd|prime|distinct|unique|nonzero|consecutive|repeated|duplicate",
    "inclusive": r"inclusive|inclusively",
    "spelled": r"spelled|spelt",
    "celsius": r"celsius", "fahrenheit": r"fahrenheit", "kelvin": r"kelvin",
}  # fmt: skip
"""By class: the words of it, as one pattern for a whole word. A word may be of several."""
_WHOLE = (
    r"(?:whole|full|integer|tens?|hundreds?|thousands?|millions?|degrees?|multiples?|cents?|\d"
    r"|hertz|(?:kilo|centi|milli)?(?:met\w+|grams?)|miles?|percent|euros?|dollars?|years?|hours?"
    r"|minutes?|seconds?)"
)
_PHRASES: Mapping[str, str] = {
    "without": r"\b(?:left|leave|leaving|taken?|taking|cut|cutting) (?:out|off|away)\b"
    r"|\bother than\b|\bapart from\b",
    "difference": r"\b(?:taken?|taking) away\b",
    "product": r"\btimes (?=[\d{])|(?<=\d) times\b",
    "backwards": r"\bright to left\b|\bback to front\b|\bfrom the (?:right|back)\b",
    "rounded": r"\bto (?:a|the) whole\b|\bdecimal places?\b|\bsignificant (?:digits|figures)\b"
    r"|\brounds? (?:it |the \w+ )?(?:to|off|up|down)\b|(?<=\d) rounds?\b"
    rf"|\b(?:nearest|closest) {_WHOLE}",
    "letters": r"\b(?:upper|lower)[- ]case\b|\bcapital letters\b|\bin capitals\b",
    "foot": r"\bin (?:feet|foot)\b|\b(?:feet|foot) (?:tall|high|long|deep|wide|above|per)\b",
    "surname": r"\b(?:last|family) names?\b",
    "forename": r"\b(?:first|given|christian) names?\b",
    "roman": r"\broman numerals?\b",
    "count": r"\bthe (?:number|count) of the\b",
    **{one: rf"\b\d+ {one}s?\b" for one in ("day", "week", "month", "year", "hour", "minute")},
    "spelled": r"\bin (?:english )?words\b|\bwritten out\b|\bin scientific notation\b"
    r"|\bas a fraction\b",
    "read": r"\b(?:read|taken|interpreted|understood) (?:in|as a number in) base\b",
}
_ANSWERS: Mapping[str, str] = {
    "sum": r"\+", "difference": r"\b(?:left over|remains?|less)\b| - ", "average": r"\bmean\b",
    "percent": r"%|\bshare\b|\bproportion\b", "after": r"\bnext\b",
    "former": r"\b(?:ex-|once|old)\b", "neighbour": r"\bborder\w*|\badjoin\w*|\bnext to\b",
    "least": r"\bfrom (?:which|what)\b|\blower limit\b", "most": r"\bup to\b|\bupper limit\b",
    "first": r"\b(?:opening|debut|premiere\w*|leading)\b", "last": r"\b(?:recent|closing|ends?)\b",
    "rounded": r"\b(?:drop|discard|cut|ignor|remov)\w* (?:off )?(?:the |any )?(?:fraction|decimal)"
    r"|\b(?:floor|ceil\w*|integer (?:part|division|quotient)|nearest)\b",
    "backwards": r"\bflip\w*|\b(?:from the|from|end) (?:end|last) ?(?:to|$)|\blast to first\b"
    r"|\bfrom the end\b",
    "abbreviated": r"\b(?:leading|first) letters?\b",
    "near": r"\bnext to\b|\binner\b",
    "letters": r"\b(?:upper|lower|capitals?|caps)\b",
    "surname": r"\blast (?:word|part)\b", "forename": r"\bfirst (?:word|part)\b",
    "metre": r"\bm2?\b|\bsqm\b|\bkm/h\b", "kilometre": r"\bkm|\bkph\b|\bkmh\b",
    "foot": r"\b(?:feet|foot)\b|\bft2?\b", "inch": r"\bin\.",
    "celsius": r"[°º] ?c\b|\bcentigrade\b",
    "fahrenheit": r"[°º] ?f\b", "kelvin": r"\bk\b", "dollar": r"\$", "euro": r"€",
    "pound": r"£|\bgbp\b", "litre": r"\bl\b", "gram": r"\bg\b", "hectare": r"\bha\b",
    "mile": r"\bmph\b", "yard": r"\bya?rds?\b",
}  # fmt: skip
"""By class: what speaks for its words without asking for anything: signs, and looser words."""
_OPERAND = frozenset(
    words(
        "sum sums total totals product products difference differences division ratio remainder "
        "power powers square squares cubes cube prime odd unique distinct duplicate repeated half "
        "halves double quarter quarters together combined altogether addition fewer"
    )
)
"""Words that are operations on numbers, and nouns or adjectives of anything else."""
_OPERATION = re.compile(
    r"\bthe (?:sum|total|product|difference|ratio|remainder) (?:of|between)\b"
    r"|\bto the \w+ power\b|\b(?:half|double) (?:of|the)\b"
)
_SET = re.compile(
    r"\b(?:best|most)[- ](?:well[- ])?(?:known|famous|likely|often|commonly|notable|notably)\b"
    r"|\b(?:at (?:the )?(?:most|least)|most of|top of|prime ministers?|per second"
    r"|half[- ](?:life|lives)|half[- ](?:brother|sister)s?|named after"
    r"|square (?:(?:kilo|centi|milli)?met(?:re|er)s?|miles?|feet|foot|inch(?:es)?|yards?)"
    r"|(?:first|last|family|given|christian) names?"
    r"|not only|whether or not|first (?:lady|class|aid)|third part(?:y|ies)"
    r"|how many (?:\w+ )?(?:minutes|hours|days|weeks|months|years) (?:before|after))\b"
    r"|\bthe finals?\b(?= (?:of|in|between|at|match|against)\b|[,.?]|$)"
)
"""Phrases in which a word of a class means nothing of it."""
_WORDS = {name: re.compile(pattern) for name, pattern in SENSES.items()}
_PHRASE = {name: re.compile(pattern) for name, pattern in _PHRASES.items()}
_ANSWER = {name: re.compile(pattern) for name, pattern in _ANSWERS.items()}


def senses(text: str, *, computes: bool = True) -> dict[str, list[str]]:
    """By class: the words of a text that ask for it.

    Args:
        text: any.
        computes: whether words that may be operations are; else only in the forms of one, such as
            ``the sum of``.
    """
    found: dict[str, list[str]] = {}
    plain = bare(text)
    forms = {*words(" ".join(_OPERATION.findall(plain)))}
    for word in words(_SET.sub(" ", plain)):
        if word in _OPERAND and not computes and word not in forms:
            continue
        for name, pattern in _WORDS.items():
            if pattern.fullmatch(word):
                found.setdefault(name, []).append(word)
    for name, pattern in _PHRASE.items():
        if phrase := pattern.search(plain):
            found.setdefault(name, []).append(phrase[0].strip())
    if any(one.startswith(("nearest", "closest")) for one in found.get("rounded", ())):
        found.pop("near", None)
    return found


def spoken(text: str) -> frozenset[str]:
    """The classes for which a text speaks."""
    plain = bare(text)
    signs = (name for name, pattern in _ANSWER.items() if pattern.search(plain))
    single = (name for name, pattern in _WORDS.items() if any(map(pattern.fullmatch, words(text))))
    return frozenset({*senses(text), *signs, *single})


_NO_NAMES = "(?:Roman numeral|Celsius|Fahrenheit|Kelvin)"


def plain(text: str) -> str:
    """A text without references and names, which are words with a capital but for the first."""
    text = REFERENCE.sub(" ", text)
    return re.sub(rf"(?<=[^\s.?!:] )(?!{_NO_NAMES})[^\W\d_a-z][\w'’-]*", " ", text)


_GROUPS = (
    "father mother parent son daughter child children husband wife spouse sibling brother sister "
    "grandfather grandmother stepmother stepfather ancestor family familial genealogical genealogy "
    "relative relatives relationship relationships marriage married",
    "letter letters character characters sign signs",
    "text string word words phrase",
    "old older oldest young younger youngest age aged born birth birthplace birthday birthdays",
    "tall taller tallest high higher highest height elevation altitude",
    "long longer longest short shorter shortest length duration period lasts last",
    "deep deeper deepest depth",
    "wide wider widest width breadth broad",
    "heavy heavier heaviest weigh weighs weight mass",
    "fast faster fastest slow slower slowest speed velocity quick",
    "far farther further distance away apart",
    "big bigger biggest large larger largest small smaller smallest size area",
    "hot hotter hottest cold colder coldest warm warmer warmest temperature",
    "cheap cheaper expensive price cost costs fee worth",
    "many number count amount quantity",
    "year years annual annually yearly",
    "day days daily date",
    "month months monthly",
    "wrote write writes written author writer novelist poet",
    "creator created painter painted painting sculptor artist",
    "win wins won winner champion victor winning",
    "study studied educated attended school",
    "known famous renowned celebrated noted",
    "fight fought battle war",
    "die died dies death dead",
    "film films movie movies",
    "company companies firm firms corporation business",
    "country countries nation nations",
    "award awards awarded prize prizes trophy trophies medal medals",
    "job occupation profession",
    "begin begins began start starts started opening",
    "make makes made maker manufacturer produce produces produced",
    "found founded founder establish established foundation",
    "inhabitants population people populous",
    "situated located location lies place lie stand stands",
    "sea ocean",
    "ship vessel boat",
    "illness disease",
)
"""Words that answer for each other without being alike."""
GENERAL = frozenset(
    words(
        "about all alone an and any are as at be been by can count counted did do does each "
        "every first for from given had has have he her him his how if in into is it its "
        "itself just kind kinds left less man many me more much name named names new no not "
        "number of old on once one only or other out over part people person persons place "
        "places result results same she so some something such than that the their them then "
        "there these they thing things this those time times to total two under up us value "
        "values was way were what when where which while who whole whom whose will with "
        "within woman word words year years you your also both being during between among"
    )
)
"""Words that no text has to answer for: of any question, or of anything."""


def like(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether a word of some is, in one of its forms, among the others, or means what one does."""
    known = {*others}
    begun = {one[:LIKE] for one in known if len(one) >= LIKE}
    stems = {*map(_stem, known)}
    meant = {at for one in known for at in _MEANT.get(one, ())}
    return any(
        one in known or one[:LIKE] in begun or _stem(one) in stems
        or not meant.isdisjoint(_MEANT.get(one, ()))
        for one in some
    )  # fmt: skip


_MEANT: dict[str, tuple[int, ...]] = {
    word: tuple(at for at, group in enumerate(_GROUPS) if word in group.split())
    for group in _GROUPS for word in group.split()
}  # fmt: skip


def _stem(word: str) -> str:
    for end in ("ing", "ies", "ed", "es", "s", "ly", "er", "or"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            return word[: -len(end)]
    return word


def content_words(text: str) -> list[str]:
    """The words of a text that some text has to answer for."""
    return [one for one in words(text) if one not in GENERAL and not one[-1].isdigit()
            and len(one) > 1]  # fmt: skip
