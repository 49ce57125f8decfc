"""Words that change what is asked, held against the texts that have to answer for them. Pure.

They are words of general classes, such as order, exclusion, arithmetic, units and forms of an
answer. A word is answered for by any word of its class. docs/decisions/0037 says what the rules
cost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from toolhop_tools.construct.vocabulary import content_words, like, plain, senses
from toolhop_tools.dates import whole_date
from toolhop_tools.words import bare, number_of, words

_FREE = frozenset({"before", "after"})
"""Classes that a document of a calculation says otherwise: by a sign, or as a move."""
_TIMES = ("day", "week", "month", "year", "hour", "minute")
_COMPARED = frozenset({*_TIMES, "count"})
"""Classes of which question and sub-questions are to say the same, and a document need not."""
_OPPOSED = (
    ("sum", "product", "difference", "quotient", "average", "power", "count"),
    _TIMES,
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
    own = {name: one for name, one in senses(alone).items()
           if name not in _COMPARED and not (computes and name in _FREE)}  # fmt: skip
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


def _named(asked: str) -> list[str]:
    """The words of what is asked for, and of what that is of: ``the NAME of the NAME of``."""
    text = asked.strip()
    text = text[:1].lower() + text[1:]
    first = _ASKS.match(text)
    chain = _OF.findall(text) if first else []
    return [one for part in ([first[1]] if first else []) + chain for one in content_words(part)]


def _conditions(asked: str) -> list[str]:
    """The words of what stands behind the last comma, or behind a word that excludes."""
    asked = re.sub(r"\[[^\]]*\]|\{\d+\}", "it", asked.strip())
    found = [part for parts in _CONDITION.findall(asked) for part in parts]
    return [one for part in found for one in content_words(plain(f"of {part}"))]


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
    beside = own.keys() - theirs.keys() - _FREE - _COMPARED
    others = _lacks({name: own[name] for name in own if name in beside}, known, text)
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
    asked = [*content_words(plain(question)), *(one for name in names for one in words(name))]
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
