"""Domains of generated questions, as in ToolHop's figure 3: a model names them, then merges them.

The paper classifies each question with a prompt (its table 9) and reports 47 domains for 995
questions. It does not say how similar names were merged; here the same model sees all names with
their counts. Pure: the function that queries the model is a parameter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.replies import ReplyModel, Text
from toolhop_tools.construct.stages import Problem
from toolhop_tools.model import Item

Ask: TypeAlias = Callable[[str, str, Mapping[str, JSON]], Awaitable[str]]
"""Function from an item id (empty for all items), a prompt name and its inputs to a reply."""
CLASSIFY, MERGE = "domain", "domains"
"""Names of the prompts."""
Reply = TypeVar("Reply", bound=ReplyModel)


class Classified(ReplyModel):
    """The domain of one question."""

    analysis: str = ""
    domain: Text


class Group(ReplyModel):
    """Names with the same meaning."""

    domain: Text
    members: list[Text]


class Groups(ReplyModel):
    """The groups of names to merge; all other names stay."""

    groups: list[Group]

    def problems(self, known: Mapping[str, int]) -> list[str]:
        """Return what is wrong with the groups. `known` maps each `key` of a name to a count."""
        members = [key(name) for group in self.groups for name in group.members]
        twice = [name for name, count in Counter(members).items() if count > 1]
        odd = [name for name in members if name not in known]
        heads = [group.domain for group in self.groups if group.domain not in group.members]
        return [
            *(f"{name!r} is in two groups, or twice in one" for name in twice),
            *(f"{name!r} is none of the names that were given" for name in odd),
            *(f"the domain {name!r} is not a member of its group" for name in heads),
        ]


def key(name: str) -> str:
    """Return a key that is equal for names differing only in case or spacing."""
    return " ".join(name.casefold().split())


def merged(names: Mapping[str, str], groups: Groups | None) -> dict[str, str]:
    """Return the domain of each item after merging, in its most frequent spelling.

    `names` maps each item id to its domain. Without `groups`, only names that differ in case or
    spacing are merged.
    """
    heads = {key(name): key(group.domain) for group in (groups.groups if groups else ())
             for name in group.members}  # fmt: skip
    spellings: dict[str, Counter[str]] = {}
    for name in names.values():
        spellings.setdefault(key(name), Counter())[" ".join(name.split())] += 1
    shown = {low: max(sorted(counts), key=counts.__getitem__) for low, counts in spellings.items()}
    return {item: shown[heads.get(key(name), key(name))] for item, name in names.items()}


async def classify(items: Sequence[Item], ask: Ask) -> dict[str, str]:
    """Return the domain of each item id.

    An item is omitted if neither of two replies can be read. Unusable groups merge nothing.

    Raises:
        Exception: whatever `ask` raises.
    """
    names: dict[str, str] = {}
    for item in items:
        given: dict[str, JSON] = {"question": item.question}
        if reply := await _asked(ask, item.id, CLASSIFY, given, Classified, lambda _: []):
            names[item.id] = reply.domain
    counts = Counter(key(name) for name in names.values())
    if len(counts) < 2:
        return merged(names, None)
    listed: dict[str, JSON] = {
        "domains": {name: counts[key(name)] for name in sorted({*merged(names, None).values()})}
    }
    groups = await _asked(ask, "", MERGE, listed, Groups, lambda groups: groups.problems(counts))
    return merged(names, groups)


async def _asked(
    ask: Ask, item: str, prompt: str, given: Mapping[str, JSON], shape: type[Reply],
    check: Callable[[Reply], list[str]],
) -> Reply | None:  # fmt: skip
    """Return the first reply without problems, after at most two attempts."""
    inputs = dict(given)
    for _ in range(2):
        reply = shape.read(await ask(item, prompt, inputs))
        if isinstance(reply, Problem):
            wrong = [reply.message]
        elif not (wrong := check(reply)):
            return reply
        inputs["problems with your last reply"] = [*wrong]
    return None
