"""Faults to plant in the honest constructor's replies, each with what a careful reader makes of it.

The kinds were written by several people, most of whom had not read the checks. Kinds that only
broke a rule of words are left out: nothing reads prose any more.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from studies.constructor import honest
from studies.constructor.atlas import Journey, journey
from toolhop_tools.construct.stages import Stage

Reply: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Reply, Journey], Reply | str | None]
"""Changes a reply in place, or gives another reply, or a text that stands for it."""
At: TypeAlias = tuple[Stage, int]
"""Stage and hop; hop 0 is the item as a whole."""
FIRST, SECOND, LAST = 1, 2, 3
"""Hops: the two that look up, and the first that computes."""


class Sort(StrEnum):
    """What is wrong with an item."""

    REPLY = "a reply is malformed"
    CHAIN = "the chain is malformed"
    SCHEMA = "a schema is malformed"
    TABLE = "a table or its pairs are wrong"
    CODE = "the code is not as its document"
    DOCUMENT = "a document says what is not so"
    SHORTCUT = "the chain is not needed"
    QUESTION = "the question is not as its chain"
    OPEN = "something is missing, or nobody can tell"


class Reads(StrEnum):
    """What a careful reader does with question and documents."""

    AS_MEANT = "plans the chain"
    OTHERWISE = "plans other calls"
    DOUBTS = "says that it is not given or ambiguous"


@dataclass(frozen=True, slots=True)
class Plant:
    """A kind of fault."""

    sort: Sort
    fault: str
    """What is wrong, in a sentence."""
    changes: Mapping[At, Change]
    """By stage and hop; the first has the fault, others what comes with it."""
    reads: Reads = Reads.AS_MEANT
    plan: Callable[[list[Reply], Journey], None] | None = None
    """Turns the chain's steps into those that the question asks for, where it asks for others."""
    right: Callable[[str], str] | None = None
    """Turns the honest function of that hop into the one that the document describes, where a
    document is at fault."""

    @property
    def place(self) -> At:
        """Where the fault is."""
        return next(iter(self.changes))

    @property
    def at_once(self) -> bool:
        """Whether its own stage finds it."""
        return self.sort in {Sort.REPLY, Sort.SCHEMA}


PLANTS: dict[str, Plant] = {}
"""Kinds by name."""


def planted(plant: Plant, inputs: Mapping[str, Any], *, now: bool) -> str:
    """The text of a reply, with the fault in it where the place is its own and `now` is true."""
    reply = honest.reply(inputs)
    at = (Stage(inputs["stage"]), inputs.get("hop", 0))
    if now and at in plant.changes:
        changed = copy.deepcopy(reply)
        other = plant.changes[at](changed, journey(inputs["item"], inputs["domain"]))
        if isinstance(other, str):
            return other
        reply = changed
    return json.dumps(reply, ensure_ascii=False)


# -- what an item holds ----------------------------------------------------------------------------


def asked_row(plan: Journey) -> Mapping[str, Any]:
    """The record that the second hop looks up."""
    [first] = [row for row in plan.first if row[plan.theme.first] == plan.start]
    key = plan.theme.second
    [second] = [row for row in plan.second if row[key] == first[key]]
    return second


def asked_value(plan: Journey) -> str:
    """The answer of the second hop."""
    return str(asked_row(plan)[plan.attribute.field])


def middle(plan: Journey) -> str:
    """The answer of the first hop."""
    return str(asked_row(plan)[plan.theme.second])


# -- ways to change a reply ------------------------------------------------------------------------


def put(*path: str | int, to: Any) -> Change:  # noqa: ANN401 -- any JSON value
    """Puts a value into the reply."""

    def change(reply: Reply, plan: Journey) -> None:
        part: Any = reply
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = copy.deepcopy(to)

    return change


def in_code(old: str, new: str) -> Change:
    """Replaces a piece of the code; ``KEY`` and ``ANSWER`` stand for fields of the second table."""

    def change(reply: Reply, plan: Journey) -> None:
        before, after = (
            text.replace("KEY", plan.theme.second).replace("ANSWER", plan.attribute.field)
            for text in (old, new)
        )
        if before not in reply["code"]:
            raise ValueError(f"the code has no {before!r}")
        reply["code"] = reply["code"].replace(before, after, 1)

    return change


def before_code(line: str) -> Change:
    """Puts lines before the code."""

    def change(reply: Reply, plan: Journey) -> None:
        reply["code"] = f"{line}\n\n{reply['code']}"

    return change


def first_line(line: str) -> Change:
    """A line at the beginning of a lookup's body; ``KEY`` as above."""
    return in_code("    wanted =", f"    {line}\n    wanted =")


def both(*changes: Change) -> Change:
    """Several changes of one reply."""

    def change(reply: Reply, plan: Journey) -> None:
        for own in changes:
            own(reply, plan)

    return change


def reworded(old: str, new: str) -> Change:
    """Changes words of the question; ``NAME`` is the attribute's, ``ABOUT`` what it is asked of."""

    def change(reply: Reply, plan: Journey) -> None:
        reply["question"] = _reworded(reply["question"], old, new, plan)

    return change


def _reworded(text: str, old: str, new: str, plan: Journey) -> str:
    marks = {"NAME": plan.attribute.name, "ABOUT": plan.theme.phrase.format(plan.start)}
    for mark, words in marks.items():
        old, new = old.replace(mark, words), new.replace(mark, words)
    if old not in text:
        raise ValueError(f"{text!r} has no {old!r}")
    return text.replace(old, new)


def in_hop(hop: int, old: str, new: str) -> Change:
    """Changes words of a sub-question."""

    def change(reply: Reply, plan: Journey) -> None:
        own = reply["hops"][hop - 1]
        own["question"] = _reworded(own["question"], old, new, plan)

    return change


def ended(words: str) -> Change:
    """Words before the question mark; see `_told`."""
    return lambda reply, plan: reply.update(
        question=f"{reply['question'][:-1]}{_told(words, plan)}?"
    )


def hop_ended(hop: int, words: str) -> Change:
    """The same of a sub-question."""
    return lambda reply, plan: reply["hops"][hop - 1].update(
        question=f"{reply['hops'][hop - 1]['question'][:-1]}{_told(words, plan)}?"
    )


def _told(words: str, plan: Journey) -> str:
    """Words with ``MIDDLE`` and ``VALUE``, the answers of the first two hops, in their places."""
    return words.replace("MIDDLE", middle(plan)).replace("VALUE", asked_value(plan))


def says(words: str) -> Change:
    """A sentence more in a tool's description."""

    def change(reply: Reply, plan: Journey) -> None:
        reply["tool"]["description"] += f" {_told(words, plan)}"

    return change


def promises(name: str, change: Callable[[Any], Any]) -> Change:
    """Changes a field of the contract."""

    def changed(reply: Reply, plan: Journey) -> None:
        reply["contract"][name] = change(reply["contract"][name])

    return changed


def of_key(**keywords: Any) -> Change:  # noqa: ANN401 -- any JSON value
    """Change the schema of the parameter that is the first tool's key."""

    def change(reply: Reply, plan: Journey) -> None:
        reply["tool"]["parameters"]["properties"][plan.theme.first].update(keywords)

    return change


def bare_property(name: str, **schema: Any) -> Change:  # noqa: ANN401 -- values of JSON Schema keywords
    """An option more in the schema."""
    own = {"type": "boolean", "description": "Whether it is wanted.", "default": False, **schema}

    def change(reply: Reply, plan: Journey) -> None:
        reply["tool"]["parameters"]["properties"][name] = copy.deepcopy(own)

    return change


def offers(choice: str) -> Change:
    """A choice more of ``field``; ``ANSWER`` is the field that the second tool gives."""

    def change(reply: Reply, plan: Journey) -> None:
        own = plan.attribute.field if choice == "ANSWER" else choice
        reply["tool"]["parameters"]["properties"]["field"]["enum"].append(own)

    return change


D, T, R, F, C, G, Q = (
    Stage.DECOMPOSE, Stage.TOOL, Stage.REFINE, Stage.FACTS, Stage.CODE, Stage.CALL, Stage.QUESTION,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kinds:
    """Adds kinds of one sort to `PLANTS`."""

    sort: Sort
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def add(self, name: str, fault: str, changes: Mapping[At, Change], **more: Any) -> None:  # noqa: ANN401 -- fields of `Plant`, whose types differ
        """One kind.

        Raises:
            ValueError: the name is taken.
        """
        if name in PLANTS:
            raise ValueError(f"the kind {name!r} stands twice")
        PLANTS[name] = Plant(self.sort, fault, changes, **{**self.defaults, **more})
