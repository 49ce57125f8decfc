"""Words that change what is asked, held against the texts that have to answer for them. Pure.

They are words of general classes, such as order, exclusion, arithmetic, units and forms of an
answer. A word is answered for by any word of its class. docs/decisions/0037 says what the rules
cost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from toolhop_tools.construct.text import REFERENCE
from toolhop_tools.construct.vocabulary import content_words, like, plain, senses, spoken
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
    ("surname", "forename"),
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
    "hexadecimal": "16", "hex": "16", "twice": "2", "square": "2", "squared": "2", "cube": "3",
    "cubed": "3", "double": "2", "half": "2", "thrice": "3",
    "triple": "3", "quarter": "4", "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5",
}  # fmt: skip


def _lacks(said: Mapping[str, list[str]], known: frozenset[str], text: str) -> list[str]:
    """Words of `said` that no word of a class of theirs answers for, nor a number of the text."""
    numbers = {*re.findall(r"\d+", text)}
    answered = {word for name in said.keys() & known for word in said[name]}
    found = []
    for listed in said.values():
        for word in listed:
            plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", word)
            if _NUMBERS.get(plain, plain) not in numbers and word not in answered:
                found.append(word)
    return list(dict.fromkeys(found))


def unspoken(
    question: str, known: str, *, computes: bool = False, off: bool = False, numbered: bool = False
) -> Iterator[str]:
    """What a sub-question asks for and nobody knows of.

    A word of a class that no text answers for is refused. Other words are, if they are most of
    what is asked, or name what another hop has to find; the rest of them is for people to see.

    Args:
        question: with ``{k}`` or answers in it.
        known: all that speaks for it: the tool's document and the call.
        computes: whether the tool computes.
        off: whether the call has a switch that is off, which is how it leaves something out.
        numbered: whether the call has a number, which is how it says a rank.
    """
    known = REFERENCE.sub(" ", known)
    asked, said = plain(question), spoken(known)
    # What stands with a number is said of a value.
    alone = re.sub(
        r"(?:(?<=\d) (?:a )?(?!times)[a-z]+|\bminus (?=\w))", " ", asked.replace("total", "")
    )
    own = {name: one for name, one in senses(alone, computes=computes).items()
           if name not in _COMPARED and not (computes and name in _FREE)}  # fmt: skip
    known_words = words(known)
    if off or any(like([one], known_words) for one in _LEFT_OUT.findall(bare(alone))):
        own.pop("without", None)
    for name in ("most", "least", "ordinal") if numbered and not computes else ():
        own.pop(name, None)
    if not _FIRST.search(bare(alone)):
        own.pop("first", None)
    for word in _lacks(own, said, known):
        yield (
            f"The sub-question says {word!r}, and neither document nor call speaks of it: if the "
            f"tool's answer is so, say {word!r} or what means the same in its description; else "
            "leave it out of the sub-question."
        )
    odd = [one for one in _strange(question, asked, known_words, computes=computes)
           if not _counted(one, known) and not senses(one)]  # fmt: skip
    for word in dict.fromkeys(odd):
        yield (
            f"The sub-question says {word!r}, and neither document nor call does: say in the "
            f"description, with the sub-question's words, what the tool has of {word!r}; or ask "
            "for what the tool gives, in words of its document."
        )


_LEFT_OUT = re.compile(r"\b(?:without|except(?: for)?) (?:a |an |the )?(\w+)")
_FIRST = re.compile(
    r"\b(?:the|a|its|their|his|her|was|is) (?:\w+ )?(?:first|earliest|initial|oldest|original)\b"
    r"|\bfirst\W*$"
)
"""First as a word of order; `first appear` says no more than appear."""
_ANYTHING = frozenset(
    words(
        "city town village country state nation company firm year date day century age title kind "
        "type sort degree degrees square cubic unit units according main chief"
    )
)
"""Words of any lookup, and of units, that a document need not have."""
_RELATION = re.compile(
    r"\w{3,}(?:tor|sor|ist|cess|wright)|capital|(?:author|writ|own|lead|found|hold|manag|teach|rul"
    r"|mak|produc|design|paint|play|sing|speak|train|employ|publish|build|discover|voyag)(?:er)?"
    r"|mayor|captain|king|queen|head|chief|chairman|coach|boss|patron|heir|twin|rival|birthplace"
    r"|(?:grand)?(?:father|mother|son|daughter|parent|child)|wife|husband|spouse|brother|sister"
    r"|uncle|aunt|cousin|nephew|niece|hometown|headquarters"
)
"""What is somebody's or something's, and another hop's to find."""


def _strange(question: str, asked: str, known: Sequence[str], *, computes: bool) -> Iterator[str]:
    """Words without a class that a tool does not know, where they say that it is another one."""

    def lacking(listed: Sequence[str]) -> list[str]:
        return [one for one in listed if one not in _ANYTHING and not like([one], known)]

    text = asked.strip()
    text = text[:1].lower() + text[1:]
    first = _ASKS.match(text)
    named = content_words(first[1]) if first else []
    whole = [one for one in content_words(text) if one not in _ANYTHING]
    missing = [one for one in lacking(whole) if not senses(one)]
    if lacking(named) and 2 * len(missing) > len(whole):
        yield from lacking(named)
    chain = _OF.findall(text) if first else []
    for part in [*([first[1]] if first and chain else []), *chain]:
        within = content_words(part)
        if within and _RELATION.fullmatch(within[-1]):
            yield from lacking(within[-1:])
    for clause in _conditions(question):
        foreign = clause and len(lacking(clause)) == len(clause) and not senses(" ".join(clause))
        if foreign and (computes or _ONLY & {*words(text)}):
            yield from clause


_ONLY = frozenset({"only", "solely", "exclusively", "alone", "counting", "including"})


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


def _conditions(asked: str) -> list[list[str]]:
    """The words of each part behind the last comma, or behind a word that excludes."""
    asked = re.sub(r"\[[^\]]*\]|\{\d+\}", "it", asked.strip())
    found = [part for parts in _CONDITION.findall(asked) for part in parts]
    return [content_words(plain(f"of {part}")) for part in found]


_SCALES = tuple(
    re.compile(rf"(?:{ends})est")
    for ends in ("fast|quick|slow", "hott|warm|cold|cool", "old|young|new", "heavi|light",
                 "rich|poor|cheap", "strong|weak|hard|soft|easi", "wid|broad|narrow",
                 "thick|thinn|fatt", "high|larg|bigg|great|tall|long|low|small|tini|short|few")
)  # fmt: skip


def _one_scale(one: str, other: str) -> bool:
    """Whether two words are of one scale: the slowest is no opposite of the longest."""
    scales = [[at for at, scale in enumerate(_SCALES) if scale.fullmatch(word)]
              for word in (one, other)]  # fmt: skip
    return not all(scales) or scales[0] == scales[1]


def turned(question: str, plan: Sequence[str], documents: str) -> Iterator[str]:
    """Where a question asks for another operation than the sub-questions, or for none.

    Args:
        question: of the item.
        plan: its sub-questions.
        documents: what else speaks for its words: documents and calls.
    """
    own, whole = senses(plain(question)), " ".join(map(plain, plan))
    theirs, known = senses(whole), spoken(documents) | spoken(whole)
    for group in _OPPOSED:
        says = [name for name in group if name in own and name not in theirs]
        wants = [name for name in group if name in theirs and name not in own]
        if says and wants and _one_scale(own[says[0]][0], theirs[wants[0]][0]):
            yield (
                f"It says {own[says[0]][0]!r} where the sub-questions say "
                f"{theirs[wants[0]][0]!r}: ask for what they ask."
            )
    text = f"{whole} {documents}"
    # Opposites are found above; the slowest way is the one that takes longest.
    known |= {"most", "least"} if known & {"most", "least"} else frozenset()
    beside = senses(plain(question), computes=False)
    for name in _FREE | _COMPARED:
        beside.pop(name, None)
    if not _FIRST.search(bare(question)):
        beside.pop("first", None)
    for word in _lacks(beside, known, text):
        yield f"It says {word!r}, and no hop does that: leave it out."
    last = Counter({*_operations(plan[-1])} - _FREE)
    spare = _operations(question)
    for other in plan[:-1]:
        spare -= Counter({*_operations(other)} - _FREE)
    if last and not spare and not _BY.search(bare(question)):
        word = senses(plain(plan[-1]))[next(iter(last))][0]
        yield (
            f"It does not say what is done last: the last sub-question says {word!r}. Say that "
            "word, or one that means it."
        )


_BY = re.compile(r"\bhow \w+|\b\w{2,}er than\b")
"""Forms that ask for an amount, or for a difference, without a word of an operation."""


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
