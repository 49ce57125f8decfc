"""What a check is made of, as values: subjects, settings, verdicts, counter-examples."""

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
"""Name to what it says, in the order in which they are checked and shown."""


@dataclass(frozen=True, slots=True)
class SandboxSetting:
    """Circumstances of a call that must make no difference."""

    hash_seed: int = 0
    policy: Policy = "restricted"

    @property
    def flags(self) -> str:
        """The flags of ``toolhop call`` that bring it about."""
        seed = f" --hash-seed {self.hash_seed}" if self.hash_seed else ""
        return seed + (f" --policy {self.policy}" if self.policy != "restricted" else "")


BASE = SandboxSetting()
OTHER_SEEDS = (SandboxSetting(hash_seed=1), SandboxSetting(hash_seed=2))
"""Two more: a set of two texts keeps its order from one seed to another in half of all cases."""
FREE = SandboxSetting(policy="none")
SETTINGS = (BASE, *OTHER_SEEDS, FREE)


@dataclass(frozen=True, slots=True)
class Miss:
    """Arguments with one fault, and what it is."""

    arguments: Arguments
    path: str
    """Where it is, such as ``filters.years.0``; empty for the object as a whole."""
    fault: str
    """The keyword of JSON Schema that is broken, such as ``required``."""
    parameter: str
    """The top-level parameter that it is in; empty for the object as a whole."""
    base: Arguments | None = None
    """The same call without the fault, where the tool is the one to find it."""


Caller: TypeAlias = Callable[[SandboxSetting, Program, Arguments], Outcome]
"""Makes a call in a sandbox, in a process of its own, and blocks until it is over. A SandboxError
ends the check."""
Rejection: TypeAlias = Callable[[ToolSchema, Arguments], str | None]
"""The simulator's part in refusing bad input before any code runs: the answer that a model gets
instead of a result; None where the code is run."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold call and the answer that it must give."""

    arguments: Arguments
    answer: str
    source: str
    """See `toolhop_tools.model.GoldCall`."""
    certified: bool = False
    """Whether a certificate proves it; its result is then judged as the certificate's was."""


NOT_ASKED = "not asked: its data has no gold call, and no certificate was given for its items"
"""Of a tool whose gold call nobody knows. Not the same as a gold call that was found sound."""
OF_NO_HOP = "a distractor: it belongs to no hop, and has no gold call"


@dataclass(frozen=True, slots=True)
class Subject:
    """A tool under test. A tool that several items or hops share is one subject."""

    item: str
    """Id of the first item that has it."""
    tool: Tool
    golds: tuple[Gold, ...] = ()
    no_gold: str = NOT_ASKED
    """Why it has no gold call, where it has none."""

    @property
    def is_distractor(self) -> bool:
        """Whether it is offered beside the tools of hops, and is none itself."""
        return self.no_gold == OF_NO_HOP

    @property
    def id(self) -> str:
        """``item::tool``, unique within a data set."""
        return f"{self.item}::{self.tool.name}"


def subjects(items: Iterable[Item]) -> tuple[Subject, ...]:
    """The tools of the items that are programs, each once, in order, with all their gold calls.

    Distractors come last: tools that belong to no item's hop, though their items have hops.
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
    """The reason as the first certified item has it."""
    verdict = item.extra.get(CERTIFICATE)
    if verdict is None or known.no_gold != NOT_ASKED:
        return known.no_gold
    return f"no certificate proves a call of it; item {item.id} is {verdict}"


@dataclass(frozen=True, slots=True)
class CounterExample:
    """A call, or two, that a property does not hold for."""

    property: str
    kind: str
    """Class of the failure, such as ``raises ValueError``: what the audit counts."""
    reported: str
    """What happened, in a sentence."""
    arguments: Arguments | None = None
    """Of the call; None where the failure needs none, as one of the signature."""
    earlier: tuple[Arguments, ...] = ()
    """Calls in the same process before it, where they matter."""
    settings: tuple[SandboxSetting, ...] = (BASE,)
    """Settings to make the call in; several where they differ."""
    shrunk: bool = False
    """Whether it was made as small as could be found."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Of invalid arguments: the path, the fault, the parameter, and the call without the fault."""


OWN_MESSAGE = "message of its own"
"""Kind of a remark: the tool refuses input that its schema allows, and says so itself."""
UNKNOWN_KEY = "answers an unknown key with null"
"""Kind of a remark, and a warning: a model cannot tell such an answer from a record without a
value. An empty text counts as well."""


class ToolClass(StrEnum):
    """What a check found of a tool; the first three are failures."""

    CRASH = "crash"
    """Valid input ends without a result, in no way that the tool meant."""
    WRONG_TYPE = "wrong type of result"
    OTHER = "other failure"
    OWN_MESSAGE = OWN_MESSAGE
    UNKNOWN_KEY = UNKNOWN_KEY


@dataclass(frozen=True, slots=True)
class Holds:
    """No example speaks against it."""

    executed: int
    """Examples that were judged; never 0."""
    remarks: tuple[CounterExample, ...] = ()
    """What is no failure and worth knowing."""


@dataclass(frozen=True, slots=True)
class Fails:
    """Some example speaks against it, or none could be judged."""

    executed: int
    found: tuple[CounterExample, ...]
    """One for each class; never empty."""
    remarks: tuple[CounterExample, ...] = ()


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A rule says that there is nothing to judge."""

    reason: str


PropertyVerdict: TypeAlias = Holds | Fails | NotApplicable


@dataclass(frozen=True, slots=True)
class ToolReport:
    """All verdicts on one tool, by property."""

    subject: Subject
    verdicts: Mapping[str, PropertyVerdict]

    @property
    def failed(self) -> tuple[CounterExample, ...]:
        """Every counter-example, in the order of the properties."""
        verdicts = self.verdicts.values()
        return tuple(c for verdict in verdicts if isinstance(verdict, Fails) for c in verdict.found)

    @property
    def remarks(self) -> tuple[CounterExample, ...]:
        """Every remark, in the order of the properties."""
        verdicts = [one for one in self.verdicts.values() if not isinstance(one, NotApplicable)]
        return tuple(remark for verdict in verdicts for remark in verdict.remarks)

    @property
    def classes(self) -> frozenset[ToolClass]:
        """What was found of the tool."""
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
    """The verdict on `executed` examples, of which `found` speak against the property.

    A property that judged nothing fails: a check of no examples shows nothing.
    """
    counter = tuple(found)
    if counter:
        return Fails(executed, counter, tuple(remarks))
    if executed:
        return Holds(executed, tuple(remarks))
    reported = "Not one example could be judged."
    return Fails(0, (CounterExample(property_, "nothing executed", reported),))
