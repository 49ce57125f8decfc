"""Labels of scenarios: the gold of an item of the benchmark ``scenarios``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.dates import whole_date
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import EpisodeAction, Item
from toolhop_tools.words import as_text, name_words

BENCHMARK = "scenarios"
FIELD = "scenario"
"""Key of the label in an item's gold."""


class Scenario(StrEnum):
    """What was changed in an item."""

    PLAIN = "plain"
    """Nothing: the solvable sibling of the family."""
    MISSING_TOOL = "missing-tool"
    """The tool of a hop was removed."""
    CALL_LIMIT = "call-limit"
    """The task allows fewer calls than it has hops."""
    MISSING_PARAMETER = "missing-parameter"
    """The question lacks a value that a call needs."""
    UNMATCHED = "unmatched"
    """Tools of other items replace the item's own."""
    RESERVE = "reserve"
    """As `UNMATCHED`, but the item's own tools are added on request."""
    BROKEN_TOOL = "broken-tool"
    """The tool of a hop raises on every call."""
    FLAKY_TOOL = "flaky-tool"
    """The tool of a hop fails at first, and then works."""
    WRONG_ONCE = "wrong-once"
    """The tool of a hop returns a wrong value at first; only the record reveals it."""
    WRONG_ALWAYS = "wrong-always"
    """As `WRONG_ONCE`, but on every call."""

    # Sources of ToolBeHonest's subtasks, besides `MISSING_TOOL`:
    MISSING_SINGLE = "missing-single"
    """One hop as an item of its own, among distractors, without its tool."""
    MISSING_REPEATED = "missing-repeated"
    """A tool that serves two hops was removed."""
    POTENTIAL_TOOL = "potential-tool"
    """The tool of a hop was removed, and a text names programs that might help but are not on
    offer."""
    LIMITED_STEPS = "limited-steps"
    """A choice that some hops need was removed from schema and code."""
    LIMITED_CLONES = "limited-clones"
    """A tool is replaced by clones with stated limits, at most one of which fits the hop."""

    # No longer made; existing files and runs are still read and scored:
    MISSING_PARAMETERS = "missing-parameters"
    HIDDEN_OPTION = "hidden-option"
    SLOW_TOOL = "slow-tool"
    DRIFTED_SCHEMA = "drifted-schema"
    DRIFTED_OUTPUT = "drifted-output"
    CONTRADICTION = "contradiction"


MADE = (
    Scenario.PLAIN, Scenario.MISSING_TOOL, Scenario.CALL_LIMIT, Scenario.MISSING_PARAMETER,
    Scenario.UNMATCHED, Scenario.RESERVE, Scenario.BROKEN_TOOL, Scenario.FLAKY_TOOL,
    Scenario.WRONG_ONCE, Scenario.WRONG_ALWAYS,
)  # fmt: skip
"""Scenarios that ``all`` stands for."""
TOOLBEHONEST = (
    Scenario.MISSING_SINGLE, Scenario.MISSING_TOOL, Scenario.MISSING_REPEATED,
    Scenario.POTENTIAL_TOOL, Scenario.LIMITED_STEPS, Scenario.LIMITED_CLONES,
)  # fmt: skip
"""Scenarios that an export to ToolBeHonest needs; ``toolbehonest`` stands for them."""
GROUPS: Mapping[str, tuple[Scenario, ...]] = {"all": MADE, "toolbehonest": TOOLBEHONEST}
"""Names that stand for several scenarios."""


def scenarios_of(text: str) -> tuple[Scenario, ...]:
    """Parse a comma-separated list of scenarios, in the order of `Scenario`; it may contain
    `GROUPS`.

    Raises:
        BadChoice: a name is unknown.
    """
    given = [name.strip() for name in text.split(",") if name.strip()]
    listed = (*GROUPS, *MADE)
    unknown = [name for name in given if name not in {*GROUPS, *Scenario}]
    if unknown or not given:
        wrong = unknown[0] if unknown else text
        near = get_close_matches(wrong, listed, n=1)
        raise BadChoice(
            f"no scenario {wrong!r}{f' (did you mean {near[0]}?)' if near else ''}",
            fix=f"give some of {', '.join(listed)}, with commas between",
        )
    chosen = {*given, *(kind for name in given for kind in GROUPS.get(name, ()))}
    return tuple(kind for kind in Scenario if kind in chosen)


def own_id(family: str, scenario: Scenario) -> str:
    """Return the id of a family's item for a scenario; siblings have other ids."""
    return f"{family}~{scenario}"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value that the user knows and only reveals when asked."""

    hop: int
    """Number of the hop whose call needs it, from 1."""
    parameter: str
    value: JSON
    kind: str
    """Phrase that replaces it in the question, such as ``a certain city``."""
    aliases: tuple[str, ...] = ()
    """Other names for the parameter."""


@dataclass(frozen=True, slots=True)
class Checks:
    """How the label was proven."""

    tools: int = 0
    """Number of tools tried without success: those on offer, and those that may be added."""
    taken_out: tuple[str, ...] = ()
    """Tools of other items that were removed because they revealed a lost answer or were
    undecided."""
    depth: int = 0
    """Maximum length of tried chains of calls that use each other's results; 0 without a search."""
    calls: int = 0
    """Number of calls tried in the search for a workaround, none of which found one."""
    untried: int = 0
    """Number of calls left untried by the budget."""


@dataclass(frozen=True, slots=True)
class Label:
    """What an agent should do, and why."""

    scenario: Scenario
    family: str
    """Id of the original item; siblings and twins share it."""
    solvable: bool
    """Whether the tools on offer and the text of the question suffice to reach the answer."""
    needs: EpisodeAction | None = None
    """The right action if unsolvable: `ASK_USER`, `CHANGE_TOOLS` or `GIVE_UP`; else None."""
    solvable_after: bool = False
    """Whether the answer can be reached after that action."""
    lost: tuple[int, ...] = ()
    """Hops, from 1, that no tool on offer solves."""
    hidden: tuple[Hidden, ...] = ()
    reserve: tuple[str, ...] = ()
    """Tools that are added on request."""
    decoys: tuple[str, ...] = ()
    """Names that a text mentions but no schema has: calling one is useless."""
    recovery: Mapping[str, Mapping[str, JSON]] | None = None
    """Arguments of the call that succeeds despite the hazard, by tool."""
    checks: Checks = Checks()
    computed: tuple[int, ...] = ()
    """Lost hops whose tool only computes from its arguments: an agent may manage without it."""
    knowable: tuple[int, ...] = ()
    """Lost hops whose answer an agent may know without any tool."""


_LABEL: TypeAdapter[Label] = TypeAdapter(Label)


def labelled(item: Item, label: Label, name: str) -> Item:
    """Return the item with its label, as an item of the benchmark, under a new id."""
    gold: JSON = _LABEL.dump_python(label, mode="json")
    return replace(item, id=name, benchmark=BENCHMARK, gold={FIELD: gold})


def label_of(gold: Mapping[str, JSON]) -> Label:
    """Parse the label in an item's gold, or in a trace's.

    Raises:
        KeyError, ValueError: there is no label, or it is malformed.
    """
    return _LABEL.validate_python(gold[FIELD])


def family_of(item: Item) -> str:
    """Return the family, which a split must keep together; empty if the item has none."""
    named = item.extra.get("family") or item.gold.get("family")
    if named is None and item.benchmark == BENCHMARK:
        named = label_of(item.gold).family
    return named if isinstance(named, str) else ""


def is_answer(item: Item, value: JSON) -> bool:
    """Whether a value is the answer of a hop or the final one, also as a date in another
    notation or with an article: the user never reveals it.
    """
    text = as_text(value)
    day, own = whole_date(text), name_words(text)
    return any(
        same_answer(answer, text)
        or (day is not None and whole_date(answer) == day)
        or (bool(own) and name_words(answer) == own)
        for answer in (item.answer, *(hop.answer for hop in item.hops))
        if answer
    )


def hidden_in(item: Item) -> tuple[Hidden, ...]:
    """Return the values that an item's question hides; empty for an item without a label."""
    return label_of(item.gold).hidden if FIELD in item.gold else ()


def reserve_of(item: Item) -> tuple[str, ...]:
    """Return the tools that are added on request; empty for an item without a label."""
    return label_of(item.gold).reserve if FIELD in item.gold else ()
