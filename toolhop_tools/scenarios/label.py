"""What a scenario is labelled with: the gold of an item of the benchmark ``scenarios``."""

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
"""Of an item's gold: its label."""


class Scenario(StrEnum):
    """What was done to an item."""

    PLAIN = "plain"
    """Nothing: the solvable sibling of the family."""
    MISSING_TOOL = "missing-tool"
    """The tool of a hop is gone."""
    CALL_LIMIT = "call-limit"
    """The task allows fewer calls than it has hops."""
    MISSING_PARAMETER = "missing-parameter"
    """A value that a call needs is not in the question."""
    UNMATCHED = "unmatched"
    """Tools of other items in the place of the item's own."""
    RESERVE = "reserve"
    """The same, and the item's own come when they are asked for."""
    BROKEN_TOOL = "broken-tool"
    """The tool of a hop raises at each call."""
    FLAKY_TOOL = "flaky-tool"
    """The tool of a hop fails at first, and then works."""
    CONTRADICTION = "contradiction"
    """A second tool says otherwise, and the question says which to believe."""

    # What ToolBeHonest's subtasks are made from, beside `MISSING_TOOL`:
    MISSING_SINGLE = "missing-single"
    """One hop as an item of its own, among distractors, without its tool."""
    MISSING_REPEATED = "missing-repeated"
    """A tool that serves two hops is gone."""
    POTENTIAL_TOOL = "potential-tool"
    """The tool of a hop is gone, and a text names programs that might help and are on offer to
    nobody."""
    LIMITED_STEPS = "limited-steps"
    """A value of an option is gone, from schema and code, that some hops need."""
    LIMITED_CLONES = "limited-clones"
    """A tool is replaced by clones with stated limits, of which one fits the hop, or none."""

    # Not made any more; files and runs that have them are read and scored as before:
    MISSING_PARAMETERS = "missing-parameters"
    HIDDEN_OPTION = "hidden-option"
    SLOW_TOOL = "slow-tool"
    DRIFTED_SCHEMA = "drifted-schema"
    DRIFTED_OUTPUT = "drifted-output"


MADE = (
    Scenario.PLAIN, Scenario.MISSING_TOOL, Scenario.CALL_LIMIT, Scenario.MISSING_PARAMETER,
    Scenario.UNMATCHED, Scenario.RESERVE, Scenario.BROKEN_TOOL, Scenario.FLAKY_TOOL,
    Scenario.CONTRADICTION,
)  # fmt: skip
"""What ``all`` stands for."""
TOOLBEHONEST = (
    Scenario.MISSING_SINGLE, Scenario.MISSING_TOOL, Scenario.MISSING_REPEATED,
    Scenario.POTENTIAL_TOOL, Scenario.LIMITED_STEPS, Scenario.LIMITED_CLONES,
)  # fmt: skip
"""What an export to ToolBeHonest needs, and ``toolbehonest`` stands for."""
GROUPS: Mapping[str, tuple[Scenario, ...]] = {"all": MADE, "toolbehonest": TOOLBEHONEST}
"""Names that stand for several."""


def scenarios_of(text: str) -> tuple[Scenario, ...]:
    """The scenarios of a list with commas, in the order of `Scenario`; `GROUPS` stand for several.

    Raises:
        BadChoice: says which name is none.
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
    """The id of a family's item of a scenario; siblings have others."""
    return f"{family}~{scenario}"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value that the user knows and does not say unless asked."""

    hop: int
    """Whose call needs it, from 1."""
    parameter: str
    value: JSON
    kind: str
    """What stands in the question in its place, such as ``a certain city``."""
    aliases: tuple[str, ...] = ()
    """Other names for the parameter."""


@dataclass(frozen=True, slots=True)
class Checks:
    """How the label was shown."""

    tools: int = 0
    """Pairs of a hop and a tool that was tried in its place, in vain: hops that are lost, or that
    hang on one."""
    taken_out: tuple[str, ...] = ()
    """Distractors that did the job of a lost hop or led over it, and were taken out."""


@dataclass(frozen=True, slots=True)
class Label:
    """What an agent should do, and why."""

    scenario: Scenario
    family: str
    """Id of the item that it was made of; siblings and twins share it."""
    solvable: bool
    """Whether the answer can be reached with the tools on offer and what the question says."""
    needs: EpisodeAction | None = None
    """The action that is right where it cannot: `ASK_USER`, `CHANGE_TOOLS` or `GIVE_UP`."""
    solvable_after: bool = False
    """Whether the answer can be reached after that action."""
    lost: tuple[int, ...] = ()
    """Hops, from 1, that no tool on offer solves."""
    hidden: tuple[Hidden, ...] = ()
    reserve: tuple[str, ...] = ()
    """Tools that come when they are asked for."""
    decoys: tuple[str, ...] = ()
    """Names that a text offers and no schema has: a call of one is no use."""
    recovery: Mapping[str, Mapping[str, JSON]] | None = None
    """By tool: arguments of the call that succeeds in spite of the hazard."""
    checks: Checks = Checks()
    computed: tuple[int, ...] = ()
    """Lost hops whose tool computes from its arguments alone: one who can, does without it."""
    knowable: tuple[int, ...] = ()
    """Lost hops whose answer somebody may know without any tool."""


_LABEL: TypeAdapter[Label] = TypeAdapter(Label)


def labelled(item: Item, label: Label, name: str) -> Item:
    """The item as one of the benchmark, under an id of its own."""
    gold: JSON = _LABEL.dump_python(label, mode="json")
    return replace(item, id=name, benchmark=BENCHMARK, gold={FIELD: gold})


def label_of(gold: Mapping[str, JSON]) -> Label:
    """The label in an item's gold, or in a trace's.

    Raises:
        KeyError, ValueError: there is none, or it has another form.
    """
    return _LABEL.validate_python(gold[FIELD])


def family_of(item: Item) -> str:
    """The family that no split may cut: siblings and twins share it; empty where none is named."""
    named = item.extra.get("family") or item.gold.get("family")
    if named is None and item.benchmark == BENCHMARK:
        named = label_of(item.gold).family
    return named if isinstance(named, str) else ""


def is_answer(item: Item, value: JSON) -> bool:
    """Whether a value is the answer of a hop or the final one, also as a date in other notation or
    with an article: the user never tells it.
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
    """The values that an item's question hides; none of an item without a label."""
    return label_of(item.gold).hidden if FIELD in item.gold else ()


def reserve_of(item: Item) -> tuple[str, ...]:
    """The tools that come when they are asked for; none of an item without a label."""
    return label_of(item.gold).reserve if FIELD in item.gold else ()
