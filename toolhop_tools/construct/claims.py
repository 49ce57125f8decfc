"""What a document's prose says of the form of values, of forgiveness, and of single results. Pure.

`toolhop_tools.construct.promised` holds it against calls; docs/decisions/0037 says why, and what
the rules cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.giveaway import in_words
from toolhop_tools.construct.text import says
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text, bare, parts_of

Form: TypeAlias = Callable[[str], bool]
Variants: TypeAlias = Callable[[str], Sequence[str]]
"""Other spellings of a value that are to give the same."""
_COUNTS = {" ".join(in_words(number)): number for number in range(13)}
_COUNT = rf"(\d+|{'|'.join(_COUNTS)})"
_SIZED = re.compile(rf"\b{_COUNT}[- ](letter|digit|character)s?\b", re.IGNORECASE)
_DATE = re.compile(r"\b(?:Y{4}|D{1,2}|M{1,2})(?:[-./ ](?:Y{4}|D{1,2}|M{1,2})){1,2}\b")
_PLACES = re.compile(rf"\brounded to {_COUNT} decimal", re.IGNORECASE)
LONG = 5
"""Letters from which a word in small letters is no code."""
_FORMS: tuple[tuple[str, Form], ...] = (
    (r"\b(?:in|as|are|is) (?:all )?(?:lower[- ]?case|small letters)\b", lambda v: v == v.lower()),
    (r"\b(?:in|as|are|is) (?:all )?(?:upper[- ]?case|capitals|capital letters)\b",
     lambda v: v == v.upper()),
    (r"\bISO(?: 8601)? (?:calendar )?dates?\b|\bdates? in ISO\b",
     lambda v: re.match(r"\d{4}-\d\d-\d\d", v) is not None),
    (r"\bISO (?:3166|4217)\b", lambda v: re.fullmatch(r"[A-Z]{2,3}|\d{3}", v) is not None),
    (r"\bin Roman numerals\b", lambda v: re.fullmatch(r"-?[IVXLCDM]*", v) is not None),
    (r"\b(?:single|one) digit (?:is left|remains|is reached)\b",
     lambda v: re.fullmatch(r"-?\d", v) is not None),
    (r"\b(?:with|have|has|put|separated by|by) (?:a )?(?:single )?spaces? (?:in )?between\b",
     lambda v: len(v) < 2 or " " in v),
    (r"\bwithout (?:any )?(?:spaces|blanks)\b|\bno spaces\b", lambda v: " " not in v),
    (r"^(?:the )?(?:\w+ )?(?:code|abbreviation|symbol) of\b",
     lambda v: " " not in v and (len(v) < LONG or v == v.upper() or not v.isalpha())),
    (r"^(?:the )?(?:full )?name of\b", lambda v: not v.isdigit()),
    (r"\bwithout (?:any )?accents\b", str.isascii),
    (r"\bwithout (?:any )?hyphens\b", lambda v: "-" not in v[1:]),
)  # fmt: skip
_END = re.compile(r"(?<=[\w\"”'`)\]])[.;](?= |$)|\n")
_OPEN = re.compile(
    r"\b(?:or|not|if|unless|may|can|either|also|otherwise|optional\w*|accepted|ignored|as chosen"
    r"|errors?|unknown)\b|[- ]insensitive\b|any case\b",
    re.IGNORECASE,
)
"""Words of a sentence that leaves something open."""


def _sized(count: int, what: str) -> Form:
    of_kind = {"letter": str.isalpha, "digit": str.isdigit}.get(what, bool)
    return lambda value: len(value) == count and bool(of_kind(value))


def _matching(pattern: str) -> Form:
    return lambda value: re.match(pattern, value) is not None


def _rounded(places: int) -> Form:
    return lambda value: len(value.partition(".")[2]) <= max(1, places)


def forms(text: str) -> Iterator[tuple[str, Form]]:
    """What a text says of the form of a value: its words, and whether a value is of it."""
    for sized in _SIZED.finditer(text):
        yield sized[0], _sized(_number(sized[1]), sized[2].lower())
    for found in _DATE.finditer(text):
        written = re.sub(r"[YMD]+", lambda m: rf"\d{{{len(m[0])}}}", re.escape(found[0]))
        yield found[0], _matching(rf"{written}\Z")
    for found in _PLACES.finditer(text):
        yield found[0], _rounded(_number(found[1]))
    for pattern, test in _FORMS:
        if said := re.search(pattern, text, re.IGNORECASE):
            yield said[0], test


def sentences_of(text: str) -> list[str]:
    """Sentences of a text, without those that show a call."""
    return [one for one in _END.split(text) if one and "->" not in one]


def properties_of(document: ToolSchema) -> dict[str, Mapping[str, JSON]]:
    """The parameters' schemas by name."""
    found = document.parameters.get("properties")
    known = found if isinstance(found, dict) else {}
    return {name: one for name, one in known.items() if isinstance(one, dict)}


def notes_of(schema: Mapping[str, JSON]) -> str:
    """A parameter's description."""
    return str(schema.get("description", ""))


def unlike_arguments(
    document: ToolSchema, calls: Sequence[Mapping[str, JSON]], *, all_of: bool
) -> Iterator[str]:
    """Parameters whose description asks for another form than the calls have that are made.

    Args:
        document: of the tool.
        calls: such as table or pairs have.
        all_of: whether every call has to be of the form, as keys of a table do; else half of them.
    """
    for name, schema in properties_of(document).items():
        if schema.get("type") != "string" or "enum" in schema:
            continue
        given = [one for one in (call.get(name) for call in calls) if isinstance(one, str) and one]
        for sentence in sentences_of(notes_of(schema)):
            for words_of, fits in () if _OPEN.search(sentence) else forms(sentence):
                wrong = [one for one in given if not fits(one)]
                if wrong and (all_of or 2 * len(wrong) > len(given)):
                    yield (
                        f"The description of {name} says {words_of!r}, and a call has "
                        f"{wrong[0]!r}: say what is asked for."
                    )


_RETURNS = re.compile(r"\b(?:returns?|gives?|yields?|results? (?:is|are)|as an?)\b", re.IGNORECASE)


def result_forms(document: ToolSchema) -> list[tuple[str, Form]]:
    """What the description says of every result."""
    choices = [one for schema in properties_of(document).values() for one in listed(schema)]
    return [
        form
        for sentence in sentences_of(document.description)
        if _RETURNS.search(sentence) and not _OPEN.search(sentence)
        and not any(isinstance(one, str) and says(sentence, one) for one in choices)
        for form in forms(sentence)
    ]  # fmt: skip


def listed(schema: Mapping[str, JSON]) -> list[JSON]:
    """The choices of a parameter; both of a boolean."""
    found = schema.get("enum", [True, False] if schema.get("type") == "boolean" else [])
    return found if isinstance(found, list) else []


_CLAUSE = re.compile(r", | and | or |: |\(")


def choice_forms(document: ToolSchema) -> Iterator[tuple[str, JSON, str, Form]]:
    """What the texts say of results under a choice: parameter, choice, the words, the form."""
    for name, schema in properties_of(document).items():
        if schema.get("type") == "boolean":
            for words_of, fits in forms(notes_of(schema)):
                yield name, True, words_of, fits
            continue
        sentences = [*sentences_of(notes_of(schema)), *sentences_of(document.description)]
        parts = [part for one in sentences for part in _CLAUSE.split(one)]
        for choice in listed(schema):
            if not isinstance(choice, str):
                continue
            own, names = f"in {choice.replace('_', ' ')}", (choice, choice.replace("_", " "))
            said = [one for one in parts if any(says(one, name) for name in names)]
            others = [one for one in map(as_text, listed(schema)) if one != choice]
            for part in (own, *said):
                if part != own and any(says(part, one) for one in others):
                    continue
                for words_of, fits in forms(part):
                    yield name, choice, words_of if part != own else choice, fits


# -- single results --------------------------------------------------------------------------------

_Q = "[\"“”'`]"
_GIVES = r"(?:gives|returns|yields|becomes|is|means|maps to|leads to|results in|has|->|→|=>)"
_INSTANCE = re.compile(
    rf"{_Q}([^\"“”'`]{{1,60}}){_Q}\s*(?:\([^)]*\) )?{_GIVES} ?(?:the \w+ )?"
    rf"(?:{_Q}([^\"“”'`]{{1,60}}){_Q}|(-?\d[\d.]*\d|-?\d))"
)
_PLACE = re.compile(
    r"\b([A-Z]) (?:being|is|=|counts(?: as)?) (\d+)(?:,? and ([A-Z])(?: being| is| =)? (\d+))?"
)
_QUOTED = re.compile(r"[\"“`]([A-Z][a-zà-ÿ]+(?:[ '-][A-Z][a-zà-ÿ]+)*)[\"”`]")


@dataclass(frozen=True, slots=True)
class Instance:
    """A result that a text states: the given value, what comes, and under which options."""

    given: str
    result: str
    options: Mapping[str, JSON]


def instances(document: ToolSchema) -> Iterator[Instance]:
    """Results that the texts state for single values."""
    texts: list[tuple[str, dict[str, JSON]]] = [(document.description, {})]
    for name, schema in properties_of(document).items():
        texts.append((notes_of(schema), {name: True} if schema.get("type") == "boolean" else {}))
    for text, options in texts:
        for found in _INSTANCE.finditer(text):
            yield Instance(found[1], found[2] or found[3], options)
        for place in _PLACE.finditer(text):
            yield Instance(place[1], place[2], options)
            if place[3]:
                yield Instance(place[3], place[4], options)


def quoted_names(document: ToolSchema) -> list[str]:
    """Names in quotes in the texts of a document that are none of its own words."""
    own = properties_of(document)
    known = {*map(bare, own), *(bare(as_text(c)) for one in own.values() for c in listed(one))}
    known |= {bare(as_text(one["default"])) for one in own.values() if "default" in one}
    texts = (document.description, *map(notes_of, own.values()))
    return [one for text in texts for one in _QUOTED.findall(text) if bare(one) not in known]


_HELD = re.compile(
    r"\b(?:holds|has|knows|contains|covers|lists|table of|of) (?:only |all |exactly )?"
    rf"{_COUNT} ([a-z]+)",
    re.IGNORECASE,
)


def _number(word: str) -> int:
    """A number in digits or words, as `_COUNT` finds it."""
    return _COUNTS[word.lower()] if word.lower() in _COUNTS else int(word)


def counted(document: ToolSchema, keys: Sequence[str], count: int) -> Iterator[str]:
    """A number of records that the description states, and the table has another one."""
    nouns = {"records", "names", "entries", "rows", "items"}
    nouns |= {f"{part}s" for key in keys for part in parts_of(key)}
    nouns |= {f"{part[:-1]}ies" for key in keys for part in parts_of(key) if part.endswith("y")}
    for found in _HELD.finditer(document.description):
        if found[2].lower() in nouns and _number(found[1]) != count:
            yield f"The description says {found[0]!r}; the table has {count} records."


# -- forgiveness -----------------------------------------------------------------------------------

_FORGIVES = re.compile(
    r"\b(?:ignor\w+|does(?: not|n't) matter|do(?: not|n't) matter|disregard\w*|irrelevant|forgiven"
    r"|left out|omitted|dropped|tolerat\w+|trimmed|stripped|removed|with or without"
    r"|makes? no difference|regardless of|interchangeable|insensitive|accepted)\b",
    re.IGNORECASE,
)
_NOT_FORGIVEN = re.compile(
    r"\b(?:not|never|n't) (?:ignored|accepted|trimmed|stripped|removed|forgiven)\b"
)


_ON_REQUEST = re.compile(
    r"\b(?:options?|optional\w*|whether|if|when|supports?|supporting|features?|customi\w+|filter\w*"
    r"|can be set|controls?|includes?|including|offers?|offering|allows?|allowing|provides?)\b",
    re.IGNORECASE,
)
"""Words of a sentence about what may be asked for, which is not what always holds."""


def _middle(text: str, mark: str) -> str:
    at = max(1, len(text) // 2)
    return text[:at] + mark + text[at:]


def _accented(text: str) -> str:
    plain = text.translate(str.maketrans("áéíóúàèìòùâêîôûäëïöü", "aeiouaeiouaeiouaeiou"))
    return plain if plain != text else re.sub("[aeiou]", lambda m: {
        "a": "á", "e": "é", "i": "í", "o": "ó", "u": "ú"}[m[0]], text, count=1)  # fmt: skip


def _hyphened(text: str) -> str:
    if "-" in text:
        return text.replace("-", " ")
    return text.replace(" ", "-") if " " in text else _middle(text, "-")


_VARIANTS: tuple[tuple[str, Variants], ...] = (
    (r"\barticles?\b", lambda v: (v[4:] if v[:4] == "The " else f"The {v}",)),
    (r"\b(?:accents?|diacritics?|accent marks?)\b|\baccent[- ]insensitive",
     lambda v: (_accented(v),)),
    (r"\bhyphens?\b|\bdashes\b", lambda v: (_hyphened(v),)),
    (r"\b(?:surrounding|leading|trailing|outer) (?:spaces?|blanks?|white ?space)",
     lambda v: (f"  {v} ",)),
    (r"(?<!surrounding )(?<!leading )(?<!trailing )(?<!outer )\b(?:spaces|blanks|white ?space)\b",
     lambda v: (f" {v} ", v.replace(" ", "  ")) if " " in v else (f" {v} ",)),
    (r"\bpunctuation\b|\bfull stops?\b|\bperiods?\b", lambda v: (f"{v}.",)),
    (r"\bapostrophes?\b", lambda v: (_middle(v, "'"),)),
    (r"\bword order\b|\border of (?:the )?words\b",
     lambda v: (" ".join(reversed(v.split())),) if " " in v else ()),
)  # fmt: skip


def forgiven(document: ToolSchema) -> Iterator[tuple[str, str, Variants]]:
    """What a document says to forgive: the sentence, the parameter (none for all), the variants."""
    texts = [(document.description, "")]
    texts += [(notes_of(one), name) for name, one in properties_of(document).items()]
    for text, name in texts:
        for sentence in sentences_of(text):
            if not _FORGIVES.search(sentence) or _NOT_FORGIVEN.search(sentence):
                continue
            if _ON_REQUEST.search(sentence):
                continue
            for pattern, variants in _VARIANTS:
                if re.search(pattern, sentence, re.IGNORECASE):
                    yield sentence.strip(), name, variants


_SEVERAL = re.compile(
    r"\b(?:several|multiple|many|more than one|two or more|lists? of)\b[^.;]*\b(?:commas?"
    r"|semicolons?|separated|at once|together)\b|\b(?:comma|semicolon)[- ]separated\b",
    re.IGNORECASE,
)


def several(document: ToolSchema) -> Iterator[tuple[str, str, str]]:
    """Text parameters that are said to take several values at once: sentence, parameter, sign."""
    own = {n: one for n, one in properties_of(document).items()
           if one.get("type") == "string" and "enum" not in one}  # fmt: skip
    texts = [(notes_of(one), name) for name, one in own.items()]
    texts += [(document.description, name) for name in own]
    for text, name in texts:
        for sentence in sentences_of(text):
            if _SEVERAL.search(sentence) and _TAKEN.search(sentence):
                yield sentence.strip(), name, "; " if "semicolon" in sentence else ", "


_TAKEN = re.compile(
    r"\b(?:given|give|passed|pass|accepts?|accepted|takes?|taken|entered|looked up|asked|at once)\b"
)
_EXACT_CASE = re.compile(
    r"\bcase[- ]sensitive\b|\bcase (?:matters|counts)\b|\bexact case\b", re.IGNORECASE
)


def exact_case(document: ToolSchema) -> list[str]:
    """Text parameters of which the document says that case counts."""
    own = properties_of(document)
    return [name for name, one in own.items() if one.get("type") == "string" and "enum" not in one
            and _EXACT_CASE.search(notes_of(one) or document.description)
            and not re.search(r"\bnot case", notes_of(one))]  # fmt: skip
