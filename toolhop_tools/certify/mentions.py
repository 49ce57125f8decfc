"""Mentions in a question: earlier answers, names, quoted texts, numbers, dates. Pure.

`toolhop_tools.english` finds the names. Names that it misses may still be found as literals of the
tool that occur in the question (`pools`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolhop_tools.answers import plain_number
from toolhop_tools.dates import dates_in
from toolhop_tools.english import BASES, COUNTS, NAME_JOINTS, ORDINALS, names, quoted
from toolhop_tools.words import bare, name_words, runs, words

MOST_NAMES = 12
"""Maximum number of names used from one question."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """The mentions in one question."""

    text: str
    answers: tuple[tuple[int, str], ...]
    """Earlier hops (from 0) whose answers are mentioned, in question order, with these answers."""
    names: tuple[str, ...]
    """Names that are not earlier answers, as written; longer names precede their parts."""
    quoted: tuple[str, ...]
    numbers: tuple[str, ...]
    """Numbers and ordinals outside names and answers, in digits."""
    ordinals: tuple[str, ...]
    """Those of `numbers` that were written as words (``first``, ``two``)."""
    dates: tuple[str, ...]
    """Dates, in ISO notation."""


_NUMBERED = re.compile(r"(?<!\w)(\d{1,4})(?:st|nd|rd|th)\b")
_YEAR = re.compile(r"\bin (\d{4})\b(?!\s+[A-Z])")
"""Year of an event, which is not part of a name: ``the census of Wells in 1901``."""


def mentions(question: str, earlier: Sequence[str] = ()) -> Mentions:
    """Read a question, given the answers of the previous hops."""
    named, rest = _answers(question, earlier)
    dated = list(dates_in(question))
    parts = {word for written, _ in dated for word in words(written)}
    quotes = tuple(dict.fromkeys(quoted(question)))
    known = [name_words(earlier[index]) for index, _ in named]
    said = [name for name in names(question) if name_words(name) not in known]
    for text in quotes:
        if len(text) > 1 and text not in said:
            said.insert(0, text)
    letters = {bare(text) for text in quotes if len(text) == 1}
    said = [name for name in said if not letters.issuperset({*words(name)} - NAME_JOINTS)]
    in_names = {word for name in said for word in words(name)}
    digits = [word for word in rest if plain_number(word) is not None]
    plain = [word for word in digits if word not in in_names | parts]
    answered = {word for words_of in known for word in words_of}
    plain += [year for year in _YEAR.findall(question) if year not in answered]
    in_words = [ORDINALS[word] for word in words(question) if word in ORDINALS]
    in_words += [COUNTS[word] for word in rest if word in COUNTS]
    in_words += [BASES[word] for word in words(question) if word in BASES]
    return Mentions(
        text=question,
        answers=tuple(named),
        names=tuple(dict.fromkeys(said))[:MOST_NAMES],
        quoted=quotes,
        numbers=tuple(dict.fromkeys((*plain, *_NUMBERED.findall(question), *in_words))),
        ordinals=tuple(in_words),
        dates=tuple(dict.fromkeys(date.isoformat() for _, date in dated)),
    )


def _answers(question: str, earlier: Sequence[str]) -> tuple[list[tuple[int, str]], list[str]]:
    """Return the earlier answers mentioned in a question, in order, and the remaining words.

    Longer answers are matched first. Equal answers are assigned to hops in order; if there are
    fewer mentions than hops, the latest hops get them.
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
    """Whether a word is a mention: ``a`` is an article except in ``a and n`` or at the end."""
    before, after = left[:at][-1:], left[at + 1 :][:1]
    meant = not after or after == ["and"] or before in (["and"], ["letter"])
    return meant or wanted[0] not in {"a", "i"}
