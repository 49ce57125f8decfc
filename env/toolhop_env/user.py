"""The user of an episode, by a rule and without a model.

The user knows the values that the question hides (`toolhop_tools.scenarios.label.Hidden`), and
nothing else: no answer of a sub-question, and not the final one. A question for a hidden value gets
it; a question that does not say what it is about is asked back, once; to any other the user says
that they do not know. What is said follows from the item, the earlier questions and this one alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from toolhop_sandbox.outcome import JSON
from toolhop_tools.english import apart, content_words
from toolhop_tools.model import Item
from toolhop_tools.scenarios.label import Hidden, hidden_in, is_answer
from toolhop_tools.words import as_text, runs, words

ASK_BACK = "What do you want to know? Please name it."
UNKNOWN = "I do not know."


@dataclass(frozen=True, slots=True)
class UserReply:
    """What the user says."""

    text: str
    values: tuple[JSON, ...] = ()
    """The hidden values in it."""


class Wording(Protocol):
    """Says in other words what the rule says."""

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

    A value is given where `about` names its parameter, or another name of it; else where the
    question shares a content word with the parameter's name or description, or with the kind of
    value that the item's question has in its place.

    Args:
        item: with or without hidden values.
        earlier: the arguments of the questions so far in the episode, in order.
        arguments: of this question: ``question``, and ``about`` where it is given.
    """
    known = [one for one in hidden_in(item) if not is_answer(item, one.value)]
    asked, about = _question(arguments), _about(arguments)
    fits = [(_fit(one, about), one) for one in known] if about else []
    best = max((fit for fit, _ in fits), default=0)
    found = [one for fit, one in fits if fit == best > 0]
    if not found:
        mentioned = content_words(asked)
        found = [one for one in known if mentioned & _subject(item, one)]
    if found:
        return _reply_with(found)
    if _vague(arguments) and not any(map(_vague, earlier)):
        return UserReply(ASK_BACK)
    return UserReply(UNKNOWN)


def _question(arguments: Mapping[str, JSON]) -> str:
    """The question's text; all texts where a tool of another schema asks."""
    asked = arguments.get("question")
    if isinstance(asked, str):
        return asked
    return " ".join(one for name, one in arguments.items() if isinstance(one, str))


def _about(arguments: Mapping[str, JSON]) -> str:
    about = arguments.get("about")
    return about if isinstance(about, str) else ""


def _vague(arguments: Mapping[str, JSON]) -> bool:
    return not content_words(f"{_question(arguments)} {_about(arguments)}")


def _own_names(one: Hidden) -> tuple[str, ...]:
    return one.parameter, one.parameter.rpartition(".")[2], *one.aliases, one.kind


def _fit(one: Hidden, about: str) -> int:
    """How well `about` names the parameter, in any spelling and with words around it: the words
    of the longest of its names that is there; 0 for none.
    """
    given, best = content_words(about), 0
    for name in _own_names(one):
        own = content_words(name)
        if own <= given if own else apart(name) == apart(about):
            best = max(best, len(own), 1)
    return best


def _subject(item: Item, one: Hidden) -> frozenset[str]:
    texts = [*_own_names(one), _description(item, one)]
    return frozenset[str]().union(*map(content_words, texts))


def _description(item: Item, one: Hidden) -> str:
    """What the schema says of the parameter, all along the way to it."""
    if not 1 <= one.hop <= len(item.hops):
        return ""
    part: JSON = dict(item.hops[one.hop - 1].tool.schema.parameters)
    found = []
    for step in one.parameter.split("."):
        if not isinstance(part, dict):
            break
        inside = part.get("properties")
        part = inside.get(step) if isinstance(inside, dict) else part.get("items")
        if isinstance(part, dict) and isinstance(part.get("description"), str):
            found.append(str(part["description"]))
    return " ".join(found)


def _reply_with(found: Sequence[Hidden]) -> UserReply:
    """The values by name, in hop order: ``city: Oslo; another city: Rome``."""
    lines: dict[tuple[str, str], JSON] = {}
    for one in found:
        lines.setdefault((_spoken(one), as_text(one.value)), one.value)
    parts, before = [], set[str]()
    for (name, text), value in lines.items():
        said = text if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts.append(f"{'another ' if name in before else ''}{name}: {said}")
        before.add(name)
    return UserReply("; ".join(parts), tuple(lines.values()))


def _spoken(one: Hidden) -> str:
    """The parameter as a person says it; the kind of value where its name says nothing."""
    name = one.parameter if content_words(one.parameter) else one.kind
    return " ".join(word for word in apart(name) if word not in {"certain", "a"})


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
