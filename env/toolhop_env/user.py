"""The user of an episode, by a rule and without a model.

The user knows the values that the question hides (`toolhop_tools.scenarios.label.Hidden`), and
nothing else: no answer of a sub-question, and not the final one. A question for a hidden value gets
it; a question that does not say what it is about is asked back, once; to any other the user says
that they do not know. What is said follows from the item, the earlier questions and this one alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from toolhop_sandbox.outcome import JSON
from toolhop_tools.dates import whole_date
from toolhop_tools.declared import described
from toolhop_tools.english import apart
from toolhop_tools.model import ActionChoice, EpisodeAction, Item
from toolhop_tools.scenarios.label import Hidden, hidden_in, is_answer
from toolhop_tools.words import as_text, runs, words

ASK_BACK = "What do you want to know? Please name the parameter that you need it for."
UNKNOWN = "I do not know."
QUESTION_WORDS = ("who", "where", "when", "how", "which")
LEAST_SHARED = 3
"""Runs of letters that words which are spelled alike share."""


@dataclass(frozen=True, slots=True)
class UserReply:
    """What the user says."""

    text: str
    values: tuple[JSON, ...] = ()
    """The hidden values in it."""


class Wording(Protocol):
    """Understands questions that the rule does not, and says in other words what the rule says."""

    async def asked_for(self, question: str, nouns: Sequence[str]) -> str:
        """Which of some things the question asks for: one of `nouns`, or any other text for none.

        Raises:
            SandboxError: nothing could tell. A fault of ours: the episode is errored.
        """
        ...

    async def worded(self, question: str, reply: UserReply) -> str:
        """The reply in other words.

        Raises:
            SandboxError: nothing could word it. A fault of ours: the episode is errored.
        """
        ...


def user_reply(
    item: Item, earlier: Sequence[Mapping[str, JSON]], arguments: Mapping[str, JSON]
) -> UserReply:
    """What the user says to a question.

    `about` decides where it names a parameter, in any spelling. Else the question does, by what it
    names first: a hidden value is told where its parameter, its kind or a word that only its
    description has stands before any other parameter or tool of the item.

    Args:
        item: with or without hidden values.
        earlier: the arguments of the questions so far in the episode, in order.
        arguments: of this question: ``question``, and ``about`` where it is given.
    """
    asked, about = _question(arguments), _about(arguments)
    known = secrets(item)
    for text in (about, asked):
        places = {
            n: _place(text, _names(item, one))
            if text is about or _may_ask_for(text, item, one)
            else None
            for n, one in enumerate(known)
        }
        first = min((at for at in places.values() if at is not None), default=None)
        other = _place(text, _others(item, known))
        if first is not None and (other is None or first <= other):
            return told([one for n, one in enumerate(known) if places[n] == first])
        if text is about and other is not None:
            return UserReply(UNKNOWN)
    names_other = _place(asked, _others(item, known)) is not None
    return UserReply(UNKNOWN if earlier or names_other else ASK_BACK)


def secrets(item: Item) -> list[Hidden]:
    """The hidden values that the user tells whoever asks for them."""
    return [one for one in hidden_in(item) if not is_answer(item, one.value)]


def noun(one: Hidden) -> str:
    """What a hidden value is, without an article: ``moon``."""
    kind = one.kind
    for article in ("the ", "a certain ", "another "):
        kind = kind.removeprefix(article)
    return kind


def told(found: Sequence[Hidden]) -> UserReply:
    """The reply that says these values, each in a sentence, in hop order."""
    values: dict[tuple[str, str], JSON] = {}
    for one in found:
        values.setdefault((noun(one), as_text(one.value)), one.value)
    sentences, before = [], set[str]()
    for (name, text), value in values.items():
        said = text if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        sentences.append(f"{'Another' if name in before else 'The'} {name} is {said}.")
        before.add(name)
    return UserReply(" ".join(sentences), tuple(values.values()))


def _question(arguments: Mapping[str, JSON]) -> str:
    """The question's text; all texts where a tool of another schema asks."""
    asked = arguments.get("question")
    if isinstance(asked, str):
        return asked
    return " ".join(one for one in arguments.values() if isinstance(one, str))


def _about(arguments: Mapping[str, JSON]) -> str:
    about = arguments.get("about")
    return about if isinstance(about, str) else ""


def _place(text: str, names: Iterable[Sequence[str]]) -> int | None:
    """Where a text names one of these first, in words; None where it names none."""
    said = apart(text)
    places = [
        at
        for name in names
        for at in range(len(said) - len(name) + 1)
        if name and all(map(_alike, said[at:], name))
    ]
    return min(places, default=None)


def _may_ask_for(text: str, item: Item, one: Hidden) -> bool:
    """Whether a question's first question word goes with a value: *when* with a date, *how* with a
    number, *which* with one of its names behind it, *who is the* likewise, *where* with none.
    """
    said = apart(text)
    at = next((n for n, word in enumerate(said) if word in QUESTION_WORDS), None)
    if at is None:
        return True
    match said[at]:
        case "when":
            return whole_date(as_text(one.value)) is not None
        case "how":
            return isinstance(one.value, int | float)
        case "which":
            return _place(" ".join(said[at + 1 :]), _names(item, one)) == 0
        case "who" if said[at + 1 : at + 3] == ("is", "the"):
            return _place(" ".join(said[at + 3 :]), _names(item, one)) == 0
        case _:
            return False


def _alike(one: str, other: str) -> bool:
    """Whether two words are spelled alike, to most of their runs of three letters."""
    if one == other:
        return True
    runs_of = [{word[n : n + 3] for n in range(len(word) - 2)} for word in (one, other)]
    shared = len(runs_of[0] & runs_of[1])
    return shared >= LEAST_SHARED and 3 * shared >= 2 * min(map(len, runs_of))


def _names(item: Item, one: Hidden) -> set[tuple[str, ...]]:
    """How a hidden value can be named, in words."""
    kind = apart(noun(one))
    found = {apart(name) for name in (one.parameter, *one.aliases)} | {kind, kind[:1]}
    found.add(apart(one.parameter.split(".")[0]))
    if 1 <= one.hop <= len(item.hops):
        found.add(apart(f"{item.hops[one.hop - 1].tool.name}.{one.parameter}"))
    if whole_date(as_text(one.value)) is not None:
        found.add(("when",))
    own, path = _parameter(item, one), one.parameter.split(".")[0]
    texts = (text for name, text in _texts(item) if name != path)
    rest = {word for text in texts for word in apart(text)} | {*apart(item.question)}
    return found | {(word,) for word in apart(own) if len(word) > 3 and word not in rest}


def _others(item: Item, known: Sequence[Hidden]) -> set[tuple[str, ...]]:
    """How the other parameters of the item's tools are named, and the tools. *Which* asks, and
    *the name of* anything asks for it, whatever parameters are called so.
    """
    own = set[tuple[str, ...]]().union(*(_names(item, one) for one in known))
    tools = [*item.tools.values(), *(hop.tool for hop in item.hops)]
    tools = [tool for tool in tools if not isinstance(tool.body, EpisodeAction | ActionChoice)]
    named = {apart(name) for tool in tools for name in described(tool.schema.parameters)}
    named |= {(word,) for tool in tools for word in apart(tool.name) if len(word) > 3}
    return named - own - {(word,) for word in (*QUESTION_WORDS, "name")}


def _texts(item: Item) -> Iterator[tuple[str, str]]:
    """All that schemas say, with the parameter that it is said of; none for a tool."""
    for tool in item.all_tools.values():
        yield "", tool.schema.description
        for name, part in described(tool.schema.parameters).items():
            yield name, str(part.get("description", "")) if isinstance(part, dict) else ""


def _parameter(item: Item, one: Hidden) -> str:
    """What the schema says of a hidden value's parameter."""
    if not 1 <= one.hop <= len(item.hops):
        return ""
    parameters = described(item.hops[one.hop - 1].tool.schema.parameters)
    part = parameters.get(one.parameter.split(".")[0])
    return str(part.get("description", "")) if isinstance(part, dict) else ""


def faithful(text: str, reply: UserReply, item: Item) -> bool:
    """Whether a text may stand for a reply: it says all of its values, and no other value that is
    hidden, and no answer.

    A value that stands in the item's question is no secret.
    """
    said = words(text)
    if not said or not all(_says(said, value) for value in reply.values):
        return False
    secrets = [one.value for one in hidden_in(item)]
    secrets += [item.answer, *(hop.answer for hop in item.hops)]
    public = (*words(item.question), "", *words(reply.text))
    return not any(_says(said, one) and not _says(public, one) for one in secrets)


def _says(said: Sequence[str], value: JSON) -> bool:
    return bool(runs(words(as_text(value)), said))
