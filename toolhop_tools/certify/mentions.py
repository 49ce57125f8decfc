"""What a question names: earlier answers, names, quoted texts, numbers, dates. Pure.

A name is a run of capitalised words, with the small words between them that names have. That is
a rule of thumb for English questions: what it misses is left to the tool's own literals that stand
in the question (`literals`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.dates import dates_in
from toolhop_tools.words import ARTICLES, bare, name_words, runs, words

MOST_NAMES = 12
"""Names of one question that are used."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """What one question names."""

    text: str
    answers: tuple[tuple[int, str], ...]
    """Earlier hops (from 0) whose answers are named, in the order of the question, as answered."""
    names: tuple[str, ...]
    """Names that are not earlier answers, as written; a longer one before its parts."""
    quoted: tuple[str, ...]
    numbers: tuple[str, ...]
    """Numbers and ordinals that are part of no name or answer, in digits."""
    ordinals: tuple[str, ...]
    """Those of the numbers that were written as words (``first``, ``two``)."""
    dates: tuple[str, ...]
    """Dates, in ISO notation."""


_QUOTED = re.compile(r"\"([^\"]{1,120})\"|“([^”]{1,120})”|(?<![\w])'([^']{1,120})'(?!\w)")
_NUMBERED = re.compile(r"(?<!\w)(\d{1,4})(?:st|nd|rd|th)\b")
_YEAR = re.compile(r"\bin (\d{4})\b(?!\s+[A-Z])")
"""The year of an event, which no name ends with: ``the census of Wells in 1901``."""
_LETTER = re.compile(r"\b[Ll]etters? ([a-zA-Z])\b")
_LETTERS = re.compile(r"(?<![\w.'’])([A-Z]),? (?:and|or|to) ([A-Z])(?![\w'’]|\.\w)")
_PLACES = words("first second third fourth fifth sixth seventh eighth ninth tenth")
ORDINALS = {word: str(number) for number, word in enumerate(_PLACES, 1)}
_COUNTED = words("two three four five six seven eight nine ten")
COUNTS = {word: str(number) for number, word in enumerate(_COUNTED, 2)}
_BASES = {"binary": "2", "octal": "8", "hexadecimal": "16", "hex": "16"}
"""Numeral systems by name: the number is what a tool that converts is given."""
_SMALL = {"&"}.union(
    words("of the in on at a an and for to from with by or as i"),
    words("de da do di la le el al bin ibn von van der den"),
    words("du des y e del della dos das los las zu"),
)
_ASKING = frozenset(
    words(
        "what who whom whose which when where how why in on is was are were did does do the a an at"
        " of for to unlike like before after besides during given as among from by if name find"
        " since calculate give tell determine sort order arrange list count add subtract multiply"
        " divide join combine concatenate reverse remove replace convert spell"
    )
)
_ORDERS = re.compile(r"(?:each|every|all|both|the|an?|this|these) [a-z'\"“‘]|['\"“‘]\w")
"""What follows a verb that opens a question: ``Shift each letter``, ``Encode 'abc'``."""


def mentions(question: str, earlier: Sequence[str] = ()) -> Mentions:
    """Read a question, given the answers of the hops before it."""
    named, rest = _answers(question, earlier)
    dated = list(dates_in(question))
    parts = {word for written, _ in dated for word in words(written)}
    quoted = tuple(dict.fromkeys(_quoted(question)))
    known = [name_words(earlier[index]) for index, _ in named]
    names = [name for name in _names(question) if name_words(name) not in known]
    names = [name for name in names if not any(_across(name, text) for text in quoted)]
    for text in quoted:
        if len(text) > 1 and text not in names:
            names.insert(0, text)
    letters = {bare(text) for text in quoted if len(text) == 1}
    names = [name for name in names if not letters.issuperset({*words(name)} - _SMALL)]
    in_names = {word for name in names for word in words(name)}
    digits = [word for word in rest if plain_number(word) is not None]
    plain = [word for word in digits if word not in in_names | parts]
    answered = {word for words_of in known for word in words_of}
    plain += [year for year in _YEAR.findall(question) if year not in answered]
    in_words = [ORDINALS[word] for word in words(question) if word in ORDINALS]
    in_words += [COUNTS[word] for word in rest if word in COUNTS]
    in_words += [_BASES[word] for word in words(question) if word in _BASES]
    return Mentions(
        text=question,
        answers=tuple(named),
        names=tuple(dict.fromkeys(names))[:MOST_NAMES],
        quoted=quoted,
        numbers=tuple(dict.fromkeys((*plain, *_NUMBERED.findall(question), *in_words))),
        ordinals=tuple(in_words),
        dates=tuple(dict.fromkeys(date.isoformat() for _, date in dated)),
    )


def _answers(question: str, earlier: Sequence[str]) -> tuple[list[tuple[int, str]], list[str]]:
    """The earlier answers that the question names, in its order, and the words left over.

    Longer answers take their words first. Of equal answers the earlier hop takes the earlier
    place; where there are fewer places than hops, the latest hops take them.
    """
    left = list(words(question))
    found: list[tuple[int, int]] = []
    by_words: dict[tuple[str, ...], list[int]] = {}
    for index, answer in enumerate(earlier):
        by_words.setdefault(words(answer), []).append(index)
    for wanted in sorted(by_words, key=len, reverse=True):
        places = [at for at in runs(wanted, left) if len(wanted) > 1 or _meant(at, left, wanted)]
        hops = by_words[wanted][-len(places) :] if places else []
        taken = places[: len(hops)] if len(hops) > 1 else places
        for at in taken:
            left[at : at + len(wanted)] = [""] * len(wanted)
        found += list(zip(taken, hops, strict=False))
    named = [(hop, earlier[hop]) for _, hop in sorted(found)]
    return named, [word for word in left if word]


def _meant(at: int, left: Sequence[str], wanted: tuple[str, ...]) -> bool:
    """Whether a single word is a mention: ``a`` is an article but in ``a and n`` or at the end."""
    before, after = left[:at][-1:], left[at + 1 :][:1]
    meant = not after or after == ["and"] or before in (["and"], ["letter"])
    return meant or wanted[0] not in {"a", "i"}


def _quoted(question: str) -> Iterator[str]:
    for groups in _QUOTED.findall(question):
        if text := "".join(groups).strip():
            yield text
    yield from _LETTER.findall(question)
    for pair in _LETTERS.findall(question):
        yield from pair


def _across(name: str, quoted: str) -> bool:
    """Whether a name goes across the marks around a quoted text, from within or from without."""
    marked = re.search(rf"['\"“‘]{re.escape(quoted)}['\"”’]", name)
    bare_name = name.strip("'\"“”‘’")
    return (marked is not None and bare_name != quoted) or (
        bare_name != name and bare_name in quoted
    )


def _names(question: str) -> list[str]:
    """Runs of capitalised words; each also in its parts where it may be several names."""
    found: list[str] = []
    for run in _runs(question.split()):
        whole = _clean(" ".join(run))
        found += [name for name in (whole, *_parts(whole)) if any(map(str.isalpha, name))]
    return list(dict.fromkeys(found))


def _runs(tokens: Sequence[str]) -> Iterator[list[str]]:
    run: list[str] = []
    pending: list[str] = []
    for index, token in enumerate(tokens):
        orders = bool(_ORDERS.match(" ".join(tokens[1:3])))
        asks = bare(token) in _ASKING - ARTICLES or orders
        opens = _capital(token) and not (index == 0 and asks)
        continues = bool(run) and (token[:1].isdigit() or opens)
        if continues or (not run and opens):
            run += [*pending, token]
            pending = []
            if re.search(r"[?;!]$|'s$|’s$", token) and not _capital(tokens[index + 1 :][:1]):
                yield run
                run = []
        elif run and (bare(token).strip(",") in _SMALL) and len(pending) < 2:
            pending.append(token)
        else:
            if run:
                yield run
            run, pending = [], []
    if run:
        yield run


def _capital(token: str | Sequence[str]) -> bool:
    text = token if isinstance(token, str) else "".join(token)
    stripped = text.lstrip("'\"“‘([#&")
    return bool(stripped) and (stripped[0].isupper() or bool(re.match(r"al-[A-Z]", stripped)))


def _clean(name: str) -> str:
    name = name.strip().strip('"“”‘’?;,()[]').rstrip(".:!")
    if name.startswith("'") and name.count("'") == 2 and name.endswith("'"):
        name = name[1:-1]
    return re.sub(r"['’]s$", "", name).strip()


def _parts(name: str) -> Iterator[str]:
    """Shorter readings of a run: without the article or asking word, split at small words."""
    first, _, rest = name.partition(" ")
    if rest and (bare(first) in _ASKING or first.isdigit()):
        yield rest
    pieces = re.split(r",? (?:and|with|or|in|by|for|from|of|to|at) |, |: ", name)
    if len(pieces) > 1:
        for piece in map(str.strip, pieces):
            if len(piece) > 1:
                yield piece


def listed(name: str) -> tuple[str, ...]:
    """The names in a run of several, such as ``Ann, Bob and Cy``."""
    pieces = (piece.strip() for piece in re.split(r",? (?:and|or|&) |, ", name))
    return tuple(piece for piece in pieces if piece)


def tail(question: str) -> Iterator[str]:
    """What stands at the question's end, after its last small words: a name in small letters."""
    text = question.strip().rstrip("?. ")
    for found in re.finditer(r"\b(?:of|in|by|for|is|was|the|been|at)\s+", text):
        rest = text[found.end() :]
        if 2 < len(plain_text(rest)) < 80:
            yield rest
