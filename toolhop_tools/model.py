"""Items and tools as values: the common output of all data set readers.

The shape of ToolHop's items follows its paper (section 3; data file `ToolHop.json`): an item is a
question answered in hops, and a hop is a sub-question with a gold sub-answer and the tool made for
it. An item of another benchmark has no hops: its gold is that benchmark's own JSON, and its tools
belong to no hop.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias, assert_never

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, OUTCOME, Outcome
from toolhop_tools.errors import counted, shown
from toolhop_tools.notebook_table import table
from toolhop_tools.reading import Reading

TOOLHOP = "toolhop"
"""Benchmark of an item that does not name one."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as shown to a model."""

    name: str
    """Unique within the item; a second tool of the same name becomes ``name_2``."""
    description: str
    parameters: Mapping[str, JSON]
    """JSON Schema of the arguments object."""

    def to_openai(self) -> dict[str, JSON]:
        """Return the entry for an OpenAI request's ``tools`` list."""
        function: dict[str, JSON] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """Recorded results, looked up by a call's arguments; nothing runs."""

    results: Mapping[str, Outcome]
    """Outcomes by the `canonical` text of the arguments."""
    default: Outcome
    """Outcome of a call with any other arguments."""
    instruction: str = ""
    """Instructions for a model that may answer unrecorded calls instead of `default`, if the run
    has such a model (as in `Simulated`). Empty: `default` always answers."""
    made: bool = False
    """Whether `default` was made up in the form of the tool's results instead of recorded."""

    def recorded(self, arguments: Mapping[str, JSON]) -> Outcome | None:
        """Return the outcome recorded for these arguments; None if there is none."""
        return self.results.get(canonical(dict(arguments)))


@dataclass(frozen=True, slots=True)
class Simulated:
    """A tool whose calls are answered by a model."""

    instruction: str
    """Instructions for that model: what the tool does and how to answer."""


class EpisodeAction(StrEnum):
    """A call that acts only on the episode itself."""

    FINISH = "finish"
    """Ends the episode with an answer."""
    GIVE_UP = "give_up"
    """Ends the episode without an answer."""
    ASK_USER = "ask_user"
    """Asks the user a question."""
    CHANGE_TOOLS = "change_tools"
    """Requests a different set of tools."""


@dataclass(frozen=True, slots=True)
class Described:
    """A tool that is only described: a plan can name it, but it cannot be called."""

    facts: Mapping[str, JSON]
    """Benchmark data about the tool besides its schema, such as an id and its responses."""


@dataclass(frozen=True, slots=True)
class ActionChoice:
    """An episode action chosen by an argument of the call."""

    argument: str
    actions: Mapping[str, EpisodeAction]
    """`EpisodeAction.FINISH` or `GIVE_UP` by the argument's value.

    The tool's schema must require one of these values.
    """


@dataclass(frozen=True, slots=True)
class Flaky:
    """A program whose first calls fail, like a service that is temporarily down.

    Each call runs in a process of its own, so the episode counts the calls.
    """

    program: Program
    failures: int
    """Number of first calls in an episode that do not run the program.

    They return `Raised`, or run `first` if there is one.
    """
    error: str
    """Error message of these calls; empty if `first` runs."""
    first: Program | None = None
    """Program to run for these calls instead: it returns a wrong result without an error."""


Body: TypeAlias = (
    Program | RecordedTable | Simulated | Described | EpisodeAction | ActionChoice | Flaky
)
"""What answers a tool's calls. A `Program` runs in the sandbox."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: the schema shown to a model, and the body that answers calls."""

    schema: ToolSchema
    body: Body

    @property
    def name(self) -> str:
        """Name by which a model calls the tool."""
        return self.schema.name

    @property
    def facts(self) -> Mapping[str, JSON]:
        """Benchmark data about a tool that is only described; empty for any other tool."""
        return self.body.facts if isinstance(self.body, Described) else {}

    @property
    def program(self) -> Program:
        """Body of a tool that runs in the sandbox.

        Raises:
            TypeError: the tool has a body of another kind.
        """
        if isinstance(self.body, Program | Flaky):
            return self.body if isinstance(self.body, Program) else self.body.program
        raise TypeError(
            f"tool {self.name!r} has no program to run: its body is {_kind(self.body)}; "
            "match on Tool.body where other bodies may come"
        )

    @property
    def body_parts(self) -> list[JSON]:
        """Return the body as JSON: equal parts mean equal behaviour. Part of an item's digest."""
        match self.body:
            case Program(source, function):
                return [source, function]
            case RecordedTable(results, default, instruction, made):
                rows: JSON = {key: _outcome_json(one) for key, one in results.items()}
                more: dict[str, JSON] = {"instruction": instruction} if instruction else {}
                more |= {"made": True} if made else {}
                return [{"recorded": rows, "default": _outcome_json(default), **more}]
            case Simulated(instruction):
                return [{"simulated": instruction}]
            case Described(facts):
                return [{"described": dict(facts)}]
            case EpisodeAction():
                return [{"action": self.body.value}]
            case ActionChoice(argument, actions):
                chosen: JSON = {value: one.value for value, one in actions.items()}
                return [{"argument": argument, "actions": chosen}]
            case Flaky(program, failures, error, first):
                fails: dict[str, JSON] = {"failures": failures, "error": error}
                fails |= {"first": [first.source, first.function]} if first else {}
                return [program.source, program.function, fails]
            case _:
                assert_never(self.body)


def _kind(body: Body) -> str:
    return f"the action {body}" if isinstance(body, EpisodeAction) else f"a {type(body).__name__}"


def _outcome_json(outcome: Outcome) -> JSON:
    value: JSON = OUTCOME.dump_python(outcome, mode="json")
    return value


def canonical(value: object) -> str:
    """Return equal text for equal JSON values: keys sorted, 2.0 written as 2; 1 is not true."""
    return json.dumps(_even(value), sort_keys=True, ensure_ascii=False)


def _even(value: object) -> object:
    if isinstance(value, dict):
        return {key: _even(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_even(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True, slots=True)
class GoldCall:
    """Arguments with which a hop's tool returns the hop's answer."""

    arguments: Mapping[str, JSON]
    source: str
    """Origin of the call: ``written`` (by the data set's author), ``example`` (found in the
    tool's source), or the name of the search that found it."""
    reading: Reading | None = None
    """Where the answer is in the call's result; None if unknown."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One sub-question of an item."""

    question: str
    answer: str
    tool: Tool
    gold: GoldCall | None = None


@dataclass(frozen=True)
class Item:
    """A question with its tools and its gold (for ToolHop: the answer and the hops)."""

    id: str
    question: str
    answer: str
    """Empty if the benchmark has no single answer text."""
    hops: tuple[Hop, ...]
    """Hops in order; empty if the benchmark's gold is not a chain."""
    domain: str
    answer_type: str
    previous_answer_type: str = ""
    """ToolHop's label for the answer before the last reasoning step; empty if unknown."""
    extra: Mapping[str, JSON] = field(default_factory=dict)
    """Unused fields of the data row, kept for export."""
    others: tuple[Tool, ...] = ()
    """Tools that belong to no hop; see `toolhop_tools.perturb`."""
    order: tuple[str, ...] = ()
    """Names of the tools on offer, in display order; empty for all tools in hop order.

    A tool not named here is missing, or is added on request.
    """
    benchmark: str = TOOLHOP
    """Name of the benchmark whose scorer reads the gold."""
    wordings: Mapping[str, str] = field(default_factory=dict)
    """Alternative wordings of the question, by the mode that uses them."""
    gold: Mapping[str, JSON] = field(default_factory=dict)
    """Gold of another benchmark in its own form; never shown to the agent.

    Empty for ToolHop, whose gold is `answer` and `hops`.
    """

    def __repr__(self) -> str:
        """Return a short form; use `dataclasses.asdict` for all fields."""
        return f"<Item {self.id}: {shown(self.question)}, {counted(len(self.hops), 'hop')}>"

    def _repr_html_(self) -> str:
        asked = [("question", self.question), ("answer", self.answer)]
        hops = [(hop.tool.name, f"{hop.question} {hop.answer}") for hop in self.hops]
        return table(f"{self.benchmark} {self.id}", [*asked, *hops])

    @cached_property
    def all_tools(self) -> dict[str, Tool]:
        """All tools by name, on offer or not."""
        tools = {hop.tool.name: hop.tool for hop in self.hops}
        return tools | {tool.name: tool for tool in self.others}

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """The tools on offer by name, in display order."""
        return {name: self.all_tools[name] for name in self.order or self.all_tools}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that can change an episode or its score."""
        parts: list[JSON] = [self.id, self.question, self.answer]
        parts.extend([hop.question, hop.answer, *_parts(hop.tool)] for hop in self.hops)
        if self.others or self.order:
            parts.append([_parts(tool) for tool in self.others])
            parts.append(list(self.order))
        if self.benchmark != TOOLHOP or self.gold:
            parts.append({"benchmark": self.benchmark, "gold": dict(self.gold)})
        if self.wordings:
            parts.append({"wordings": dict(self.wordings)})
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _parts(tool: Tool) -> list[JSON]:
    schema = tool.schema
    return [schema.name, schema.description, dict(schema.parameters), *tool.body_parts]


class ItemsOnDemand(Sequence[Item]):
    """A sequence of items that are generated on access; few are in memory at a time."""

    @property
    @abstractmethod
    def generator(self) -> int:
        """Version of the generator."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of everything that determines the items; generates none."""

    @property
    @abstractmethod
    def by_id(self) -> Mapping[str, Item]:
        """Items by id. Iterating over the ids generates no items."""


AROUND = 100
"""Number of generated items, besides the chosen ones, from which distractor tools are taken."""


@dataclass(frozen=True)
class DataSet:
    """Items in file order, with their origin."""

    name: str
    origin: str
    """File or package that was read."""
    items: Sequence[Item]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the items' digests in order; for generated items, their own digest."""
        if isinstance(self.items, ItemsOnDemand):
            return self.items.digest
        return hashlib.sha256("\n".join(item.digest for item in self.items).encode()).hexdigest()

    @cached_property
    def by_id(self) -> Mapping[str, Item]:
        """Items by id."""
        return by_id(self.items)

    def around(self, chosen: Sequence[Item]) -> DataSet:
        """Return the data set from which tools of other items are taken.

        This is all items. For generated items it is only the first `AROUND` and the chosen ones,
        since generating all takes long.
        """
        if not isinstance(self.items, ItemsOnDemand):
            return self
        first = {item.id: item for item in (*self.items[:AROUND], *chosen)}
        return DataSet(self.name, self.origin, tuple(first.values()))


def by_id(items: Sequence[Item]) -> Mapping[str, Item]:
    """Return the items by id. Generated items are not made until looked up."""
    return items.by_id if isinstance(items, ItemsOnDemand) else {item.id: item for item in items}


def samples_of(items: Sequence[Item]) -> Sequence[Item]:
    """Return representative items: the first if they are generated, else all."""
    return items[:1] if isinstance(items, ItemsOnDemand) else items
