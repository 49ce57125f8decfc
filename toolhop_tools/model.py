"""Items and tools as values: what every reader of a data set yields.

The shape of ToolHop's items follows its paper (section 3; data file `ToolHop.json`): an item is a
question whose answer is reached over hops; a hop is a sub-question with a gold sub-answer and the
tool that was made for it. An item of another benchmark has no hops: its gold is that benchmark's
own JSON, and its tools are those of no hop.
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
"""The benchmark of an item that names no other."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model is shown it."""

    name: str
    """Unique within the item; a second tool of one name is called ``name_2``."""
    description: str
    parameters: Mapping[str, JSON]
    """JSON Schema of the arguments object."""

    def to_openai(self) -> dict[str, JSON]:
        """The entry of an OpenAI request's ``tools`` list."""
        function: dict[str, JSON] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """Results that were recorded, looked up by the arguments of a call; nothing runs."""

    results: Mapping[str, Outcome]
    """By the `canonical` text of the arguments."""
    default: Outcome
    """What a call with any other arguments gives."""
    instruction: str = ""
    """Where given, a model may answer such calls in the place of the default, if a run has one:
    instructions to it, as of `Simulated`."""
    made: bool = False
    """The default is a result made up in the form of the tool's own, and none that it gave."""

    def recorded(self, arguments: Mapping[str, JSON]) -> Outcome | None:
        """The outcome that was recorded for these arguments, if one was."""
        return self.results.get(canonical(dict(arguments)))


@dataclass(frozen=True, slots=True)
class Simulated:
    """A model answers calls in the tool's place."""

    instruction: str
    """Instructions to that model: what the tool does, and how to answer."""


class EpisodeAction(StrEnum):
    """A call that acts on the episode itself, and on nothing else."""

    FINISH = "finish"
    """Ends the episode with an answer."""
    GIVE_UP = "give_up"
    """Ends the episode without one."""
    ASK_USER = "ask_user"
    """Puts a question to the user."""
    CHANGE_TOOLS = "change_tools"
    """Asks for other tools than those on offer."""


@dataclass(frozen=True, slots=True)
class Described:
    """Nothing answers: a plan can name the tool, and nobody can call it."""

    facts: Mapping[str, JSON]
    """What its benchmark says of it beside the schema, such as an id and its responses."""


@dataclass(frozen=True, slots=True)
class ActionChoice:
    """An action of the episode that an argument of the call chooses."""

    argument: str
    actions: Mapping[str, EpisodeAction]
    """`EpisodeAction.FINISH` or `GIVE_UP` by the argument's value. The tool's schema has to require
    one of these values."""


@dataclass(frozen=True, slots=True)
class Flaky:
    """A program that fails at first, as a service does that is down for a while.

    A call's own process knows of no other call, so that the episode counts.
    """

    program: Program
    failures: int
    """First calls of the tool in an episode that do not run; they give `Raised`."""
    error: str
    """Their message; empty where `first` runs."""
    first: Program | None = None
    """Runs in their place: they fail without an error, by a wrong result."""


Body: TypeAlias = (
    Program | RecordedTable | Simulated | Described | EpisodeAction | ActionChoice | Flaky
)
"""What answers a tool's calls. A `Program` runs in the sandbox."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model is shown, and what answers when it is called."""

    schema: ToolSchema
    body: Body

    @property
    def name(self) -> str:
        """The name that a model calls it by."""
        return self.schema.name

    @property
    def facts(self) -> Mapping[str, JSON]:
        """What a benchmark says of a tool that is only described; nothing of any other."""
        return self.body.facts if isinstance(self.body, Described) else {}

    @property
    def program(self) -> Program:
        """The body of a tool that runs in the sandbox.

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
        """What the tool does, as JSON: equal parts, equal behaviour. Part of an item's digest."""
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
    """One text for all JSON values that are equal: keys sorted, 2.0 written as 2; 1 is not true."""
    return json.dumps(_even(value), sort_keys=True, ensure_ascii=False)


def _even(value: object) -> object:
    if isinstance(value, dict):
        return {key: _even(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_even(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True, slots=True)
class GoldCall:
    """Arguments that make a hop's tool return the hop's answer."""

    arguments: Mapping[str, JSON]
    source: str
    """Where the call came from: ``written`` (by the data set's author), ``example`` (found in
    the tool's source), or the name of another search that found it."""
    reading: Reading | None = None
    """Where in the call's result the answer stands, where that is known."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One sub-question of an item."""

    question: str
    answer: str
    tool: Tool
    gold: GoldCall | None = None


@dataclass(frozen=True)
class Item:
    """A question, its tools, and the gold: of ToolHop the answer and the hops to it."""

    id: str
    question: str
    answer: str
    """Empty where the benchmark has no answer in one text."""
    hops: tuple[Hop, ...]
    """In order; none where the benchmark's gold is not a chain."""
    domain: str
    answer_type: str
    previous_answer_type: str = ""
    """ToolHop's label of the answer before the last reasoning step; empty where unknown."""
    extra: Mapping[str, JSON] = field(default_factory=dict)
    """Fields of the data row that the product does not use, kept for export."""
    others: tuple[Tool, ...] = ()
    """Tools that belong to no hop; see `toolhop_tools.perturb`."""
    order: tuple[str, ...] = ()
    """Names of the tools on offer in the order in which they are shown; empty for all, in hop
    order. A tool that is not named is missing, or comes when it is asked for."""
    benchmark: str = TOOLHOP
    """Name of the benchmark whose scorer reads the gold."""
    wordings: Mapping[str, str] = field(default_factory=dict)
    """The question in other words, by the mode that asks it so."""
    gold: Mapping[str, JSON] = field(default_factory=dict)
    """The gold of another benchmark, in its own form; never shown to whoever plays. Empty for
    ToolHop, whose gold is `answer` and `hops`."""

    def __repr__(self) -> str:
        """Short: `dataclasses.asdict` has all of it."""
        return f"<Item {self.id}: {shown(self.question)}, {counted(len(self.hops), 'hop')}>"

    def _repr_html_(self) -> str:
        asked = [("question", self.question), ("answer", self.answer)]
        hops = [(hop.tool.name, f"{hop.question} {hop.answer}") for hop in self.hops]
        return table(f"{self.benchmark} {self.id}", [*asked, *hops])

    @cached_property
    def all_tools(self) -> dict[str, Tool]:
        """Its tools by the name that a model calls them by, on offer or not."""
        tools = {hop.tool.name: hop.tool for hop in self.hops}
        return tools | {tool.name: tool for tool in self.others}

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """The tools on offer by the name that a model calls them by, in the order shown."""
        return {name: self.all_tools[name] for name in self.order or self.all_tools}

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything that can change an episode or its score."""
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
    """Items that are made when they are asked for; few are in memory at a time."""

    @property
    @abstractmethod
    def generator(self) -> int:
        """The version of what makes them."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 over all that decides what they are; no item is made for it."""

    @property
    @abstractmethod
    def by_id(self) -> Mapping[str, Item]:
        """The items by id. To go through the ids makes none."""


AROUND = 100
"""Items on demand that tools of others come from, beside those chosen."""


@dataclass(frozen=True)
class DataSet:
    """Items in file order, and where they came from."""

    name: str
    origin: str
    """The file or package that was read."""
    items: Sequence[Item]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the items' digests, in order; of items on demand, their own."""
        if isinstance(self.items, ItemsOnDemand):
            return self.items.digest
        return hashlib.sha256("\n".join(item.digest for item in self.items).encode()).hexdigest()

    @cached_property
    def by_id(self) -> Mapping[str, Item]:
        """The items by id."""
        return by_id(self.items)

    def around(self, chosen: Sequence[Item]) -> DataSet:
        """Where tools of other items come from: all items; of those on demand the first `AROUND`
        and the chosen ones, as to go through all would make all.
        """
        if not isinstance(self.items, ItemsOnDemand):
            return self
        first = {item.id: item for item in (*self.items[:AROUND], *chosen)}
        return DataSet(self.name, self.origin, tuple(first.values()))


def by_id(items: Sequence[Item]) -> Mapping[str, Item]:
    """Items by id. Items on demand are not made until they are looked up."""
    return items.by_id if isinstance(items, ItemsOnDemand) else {item.id: item for item in items}


def samples_of(items: Sequence[Item]) -> Sequence[Item]:
    """Items that show what all are like: of items on demand, which are of one kind, the first."""
    return items[:1] if isinstance(items, ItemsOnDemand) else items
