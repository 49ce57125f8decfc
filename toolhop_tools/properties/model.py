"""Data model of a check: subjects, settings, verdicts, counter-examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from toolhop_sandbox.base import Policy, Program
from toolhop_sandbox.outcome import Outcome
from toolhop_tools.batch import Arguments
from toolhop_tools.certify.file import FIELD as CERTIFICATE
from toolhop_tools.model import Hop, Item, Tool, ToolSchema

PROPERTIES: Mapping[str, str] = {
    "loads": "The code compiles, its modules are there, and it defines the function.",
    "valid-input": "Valid input never crashes: it gets a result, or a message of the tool's own.",
    "json-result": "Every result is JSON: no NaN, bytes or sets, no key twice, not too large.",
    "same-result": "The same input gives the same result, across processes and hash seeds.",
    "bad-input": "Invalid input gets an answer that is an error and names the parameter.",
    "arguments-kept": "A call does not change its arguments.",
    "independent": "A result does not depend on the calls before it in the same process.",
    "gold-call": "The gold call gives the gold sub-answer.",
    "signature": "The schema and the function's signature agree.",
    "policy": "The restricted policy changes no result.",
    "examples": "The examples that the description gives are valid, and give what they say.",
}
"""Statement of each property, in the order in which they are checked and shown."""


@dataclass(frozen=True, slots=True)
class SandboxSetting:
    """Sandbox settings that must not affect the result of a call."""

    hash_seed: int = 0
    policy: Policy = "restricted"

    @property
    def flags(self) -> str:
        """Flags of ``toolhop call`` that select the setting."""
        seed = f" --hash-seed {self.hash_seed}" if self.hash_seed else ""
        return seed + (f" --policy {self.policy}" if self.policy != "restricted" else "")


BASE = SandboxSetting()
OTHER_SEEDS = (SandboxSetting(hash_seed=1), SandboxSetting(hash_seed=2))
"""Two additional seeds, since a set of two texts keeps its order under half of all seeds."""
FREE = SandboxSetting(policy="none")
SETTINGS = (BASE, *OTHER_SEEDS, FREE)


@dataclass(frozen=True, slots=True)
class Miss:
    """Arguments with exactly one fault, and its description."""

    arguments: Arguments
    path: str
    """Path of the fault, such as ``filters.years.0``; empty for the whole object."""
    fault: str
    """The violated keyword of JSON Schema, such as ``required``."""
    parameter: str
    """Top-level parameter that contains the fault; empty for the whole object."""
    base: Arguments | None = None
    """The same call without the fault, if only the tool itself can detect it."""


Caller: TypeAlias = Callable[[SandboxSetting, Program, Arguments], Outcome]
"""Function that makes a call in a sandbox, in a process of its own, and blocks until it ends. A
SandboxError ends the check."""
Rejection: TypeAlias = Callable[[ToolSchema, Arguments], str | None]
"""Function with which the simulator refuses invalid calls: the message that a model gets instead
of a result, or None if the code is to be run."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold call and its required answer."""

    arguments: Arguments
    answer: str
    source: str
    """See `toolhop_tools.model.GoldCall`."""
    certified: bool = False
    """Whether a certificate proves the call; its result is then judged as in certification."""


NOT_ASKED = "not asked: its data has no gold call, and no certificate was given for its items"
"""Reason for a tool with no known gold call, as opposed to a gold call that passed."""
OF_NO_HOP = "a distractor: it belongs to no hop, and has no gold call"


@dataclass(frozen=True, slots=True)
class Subject:
    """A tool under test, which several items or hops may share."""

    item: str
    """Id of the first item that has it."""
    tool: Tool
    golds: tuple[Gold, ...] = ()
    no_gold: str = NOT_ASKED
    """Reason why there is no gold call, if there is none."""

    @property
    def is_distractor(self) -> bool:
        """Whether the tool is offered beside the tools of hops, but belongs to none."""
        return self.no_gold == OF_NO_HOP

    @property
    def id(self) -> str:
        """Identifier ``item::tool``, unique within a data set."""
        return f"{self.item}::{self.tool.name}"


def subjects(items: Iterable[Item]) -> tuple[Subject, ...]:
    """Return the distinct executable tools of the items, in order, with all their gold calls.

    Distractors, tools that belong to no hop although their items have hops, come last.
    """
    items, found = tuple(items), dict[str, Subject]()
    offered = [(item, hop.tool, _gold(hop), NOT_ASKED) for item in items for hop in item.hops]
    offered += [
        (item, tool, None, OF_NO_HOP if item.hops else NOT_ASKED)
        for item in items
        for tool in item.others
    ]
    for item, tool, gold, reason in offered:
        if not isinstance(tool.body, Program):
            continue
        key = json.dumps([tool.name, tool.schema.to_openai(), tool.body_parts], sort_keys=True)
        known = found.get(key) or Subject(item.id, tool, no_gold=reason)
        new = () if gold is None or gold in known.golds else (gold,)
        no_gold = known.no_gold if reason == OF_NO_HOP else _no_gold(known, item)
        found[key] = replace(known, golds=(*known.golds, *new), no_gold=no_gold)
    return tuple(found.values())


def _gold(hop: Hop) -> Gold | None:
    call = hop.gold
    if call is None:
        return None
    return Gold(call.arguments, hop.answer, call.source, call.reading is not None)


def _no_gold(known: Subject, item: Item) -> str:
    """Return the reason given by the first certified item."""
    verdict = item.extra.get(CERTIFICATE)
    if verdict is None or known.no_gold != NOT_ASKED:
        return known.no_gold
    return f"no certificate proves a call of it; item {item.id} is {verdict}"


@dataclass(frozen=True, slots=True)
class CounterExample:
    """A call, or a pair of calls, that violates a property."""

    property: str
    kind: str
    """Class of the failure, such as ``raises ValueError``, which the audit counts."""
    reported: str
    """What happened, in a sentence."""
    arguments: Arguments | None = None
    """Arguments of the call; None if the failure needs none, such as one of the signature."""
    earlier: tuple[Arguments, ...] = ()
    """Earlier calls in the same process, if they matter."""
    settings: tuple[SandboxSetting, ...] = (BASE,)
    """Settings of the call; several if the results differ between them."""
    shrunk: bool = False
    """Whether the example was shrunk as far as possible."""
    about: Mapping[str, str] = field(default_factory=dict)
    """For invalid arguments: the path, the fault, the parameter, and the call without the fault."""


OWN_MESSAGE = "message of its own"
"""Kind of a remark: the tool refuses input that its schema allows, with a message of its own."""
UNKNOWN_KEY = "answers an unknown key with null"
"""Kind of a remark and a warning: a model cannot distinguish such an answer from a record
without a value. An empty text counts as well."""


class ToolClass(StrEnum):
    """A classification of a tool by its check; the first three classes are failures."""

    CRASH = "crash"
    """Valid input ends without a result, in a way that the tool did not intend."""
    WRONG_TYPE = "wrong type of result"
    OTHER = "other failure"
    OWN_MESSAGE = OWN_MESSAGE
    UNKNOWN_KEY = UNKNOWN_KEY


@dataclass(frozen=True, slots=True)
class Holds:
    """The verdict that no example contradicts the property."""

    executed: int
    """Number of examples judged; never 0."""
    remarks: tuple[CounterExample, ...] = ()
    """Noteworthy observations that are not failures."""


@dataclass(frozen=True, slots=True)
class Fails:
    """The verdict that an example contradicts the property, or that none could be judged."""

    executed: int
    found: tuple[CounterExample, ...]
    """A counter-example for each failure class; never empty."""
    remarks: tuple[CounterExample, ...] = ()


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The verdict that, by some rule, there is nothing to judge."""

    reason: str


PropertyVerdict: TypeAlias = Holds | Fails | NotApplicable


@dataclass(frozen=True, slots=True)
class ToolReport:
    """The verdicts on one tool, by property."""

    subject: Subject
    verdicts: Mapping[str, PropertyVerdict]

    @property
    def failed(self) -> tuple[CounterExample, ...]:
        """All counter-examples, in the order of the properties."""
        verdicts = self.verdicts.values()
        return tuple(c for verdict in verdicts if isinstance(verdict, Fails) for c in verdict.found)

    @property
    def remarks(self) -> tuple[CounterExample, ...]:
        """All remarks, in the order of the properties."""
        verdicts = [one for one in self.verdicts.values() if not isinstance(one, NotApplicable)]
        return tuple(remark for verdict in verdicts for remark in verdict.remarks)

    @property
    def classes(self) -> frozenset[ToolClass]:
        """The classes of the tool."""
        failed = {found.property for found in self.failed}
        said = {remark.kind for remark in self.remarks}
        found = {
            ToolClass.CRASH: "valid-input" in failed,
            ToolClass.WRONG_TYPE: "json-result" in failed,
            ToolClass.OTHER: bool(failed - {"valid-input", "json-result"}),
            ToolClass.OWN_MESSAGE: any(kind.startswith(OWN_MESSAGE) for kind in said),
            ToolClass.UNKNOWN_KEY: UNKNOWN_KEY in said,
        }
        return frozenset(one for one, holds in found.items() if holds)


def judged(
    property_: str,
    executed: int,
    found: Iterable[CounterExample],
    remarks: Iterable[CounterExample] = (),
) -> PropertyVerdict:
    """Return the verdict on `executed` examples, given the counter-examples `found`.

    A property without any judged example fails, since that shows nothing.
    """
    counter = tuple(found)
    if counter:
        return Fails(executed, counter, tuple(remarks))
    if executed:
        return Holds(executed, tuple(remarks))
    reported = "Not one example could be judged."
    return Fails(0, (CounterExample(property_, "nothing executed", reported),))
