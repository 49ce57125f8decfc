"""The simulated user of an episode: a rule, without a model.

The user knows the values that the question hides (`Hidden` in a scenario's label) and nothing else,
neither sub-answers nor the final answer. An agent that says which parameter needs a value is told
that value; to anything else the user replies that they do not know. No rule interprets the question
itself. The reply depends only on the item, the earlier questions and this question.
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
    """A reply of the user."""

    text: str
    values: tuple[JSON, ...] = ()
    """Hidden values that the reply reveals."""


class Wording(Protocol):
    """Interprets questions that the rule does not understand, and rewords the rule's replies."""

    async def asked_for(self, question: str, nouns: Sequence[str]) -> str:
        """Return the one of `nouns` that the question asks for; any other text means none.

        Raises:
            SandboxError: no answer was available. This is our fault: the episode is errored.
        """
        ...

    async def worded(self, question: str, reply: UserReply) -> str:
        """Return the reply in other words.

        Raises:
            SandboxError: no wording was available. This is our fault: the episode is errored.
        """
        ...


def user_reply(
    item: Item, earlier: Sequence[Mapping[str, JSON]], arguments: Mapping[str, JSON]
) -> UserReply:
    """Return the user's reply to a question.

    `about` says what is asked for: a parameter, or a description of a hidden value. If it is
    missing (a tool with another schema), the words of the question are used, provided that they
    name a hidden value and no other parameter of the item's tools.

    Args:
        item: an item with or without hidden values.
        earlier: arguments of the earlier questions in the episode, in order.
        arguments: arguments of this question: ``question``, and ``about`` if given.
    """
    about = arguments.get("about")
    text = about if isinstance(about, str) else _question(arguments)
    known = secrets(item)
    named = [one for one in known if _names_one(text, _names(item, one))]
    if named and (text is about or not _names_one(text, _others(item, known))):
        return told(named)
    return UserReply(UNKNOWN if earlier or text is about else ASK_BACK)


def secrets(item: Item) -> list[Hidden]:
    """Return the hidden values that the user reveals on request; answers are not among them."""
    return [one for one in hidden_in(item) if not is_answer(item, one.value)]


def noun(one: Hidden) -> str:
    """Return the noun for a hidden value, without an article: ``moon``."""
    kind = one.kind
    for article in ("the ", "a certain ", "another "):
        kind = kind.removeprefix(article)
    return kind


def told(found: Sequence[Hidden]) -> UserReply:
    """Return the reply that reveals these values, one sentence each, in hop order."""
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
    """Return the question's text; for a tool with another schema, all texts joined."""
    asked = arguments.get("question")
    if isinstance(asked, str):
        return asked
    return " ".join(one for one in arguments.values() if isinstance(one, str))


def _names_one(text: str, names: Iterable[tuple[str, ...]]) -> bool:
    """Whether one of several names occurs in a text, word for word."""
    return any(runs(name, apart(text)) for name in names)


def _names(item: Item, one: Hidden) -> set[tuple[str, ...]]:
    """Return the ways to name a hidden value, as words.

    They are its parameter, its noun, and the texts next to it in the call (``{"column":
    "birthplace", "value": ...}``).
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
    """Return the names of the other parameters of the item's tools."""
    own = set[tuple[str, ...]]().union(*(_names(item, one) for one in known))
    tools = [*item.tools.values(), *(hop.tool for hop in item.hops)]
    tools = [tool for tool in tools if not isinstance(tool.body, EpisodeAction | ActionChoice)]
    return {apart(name) for tool in tools for name in described(tool.schema.parameters)} - own


def faithful(text: str, reply: UserReply, item: Item) -> bool:
    """Whether a text can replace a reply: it has all of its values, but no other secret.

    Values mentioned in the item's question are not secret.
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
