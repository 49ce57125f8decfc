"""The user of an episode, by a rule and without a model.

The user knows the values that the question hides (`Hidden` in a scenario's label), and nothing
else: no answer of a sub-question, and not the final one. Whoever asks says which parameter a value
is needed for, and gets it; to any other the user says that they do not know. No rule reads the
question itself. What is said follows from the item, the earlier questions and this one alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import described
from toolhop_tools.english import apart
from toolhop_tools.model import ActionChoice, EpisodeAction, Item
from toolhop_tools.scenarios.label import Hidden, hidden_in, is_answer
from toolhop_tools.words import as_text, runs, scalars, words

ASK_BACK = "What do you want to know? Please name the parameter that you need it for."
UNKNOWN = "I do not know."


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

    `about` says what is asked for: a parameter, or what a hidden value is. Where there is none (a
    tool of another schema), the question's words are taken for it if they name a hidden value and
    no other parameter of the item's tools.

    Args:
        item: with or without hidden values.
        earlier: the arguments of the questions so far in the episode, in order.
        arguments: of this question: ``question``, and ``about`` where it is given.
    """
    about = arguments.get("about")
    text = about if isinstance(about, str) else _question(arguments)
    known = secrets(item)
    named = [one for one in known if _names_one(text, _names(item, one))]
    if named and (text is about or not _names_one(text, _others(item, known))):
        return told(named)
    return UserReply(UNKNOWN if earlier or text is about else ASK_BACK)


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


def _names_one(text: str, names: Iterable[tuple[str, ...]]) -> bool:
    """Whether one of some names stands in a text, word for word."""
    return any(runs(name, apart(text)) for name in names)


def _names(item: Item, one: Hidden) -> set[tuple[str, ...]]:
    """How a hidden value can be named, in words: its parameter, what it is, and what stands beside
    it in the call (``{"column": "birthplace", "value": ...}``).
    """
    path, hop = one.parameter.split("."), item.hops[one.hop - 1 : one.hop]
    texts = [one.parameter, path[0], *one.aliases, noun(one)]
    texts += [f"{each.tool.name}.{one.parameter}" for each in hop]
    for each in hop if len(path) > 1 else ():
        found = scalars(dict(each.gold.arguments) if each.gold else {})
        beside = [value for place, value in found if [*map(str, place[:-1])] == path[:-1]]
        texts += [value for value in beside if isinstance(value, str) and value != one.value]
    return {apart(text) for text in texts} - {()}


def _others(item: Item, known: Sequence[Hidden]) -> set[tuple[str, ...]]:
    """How the other parameters of the item's tools are named."""
    own = set[tuple[str, ...]]().union(*(_names(item, one) for one in known))
    tools = [*item.tools.values(), *(hop.tool for hop in item.hops)]
    tools = [tool for tool in tools if not isinstance(tool.body, EpisodeAction | ActionChoice)]
    return {apart(name) for tool in tools for name in described(tool.schema.parameters)} - own


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
