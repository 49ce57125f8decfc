"""A small item as scenarios: its tools, the actions, and what its question hides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.model import Body, EpisodeAction, Flaky, GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.scenarios.actions import TALK_TO_USER
from toolhop_tools.scenarios.label import Hidden, Label, Scenario, labelled

CAPITALS = {"Norway": "Oslo", "Italy": "Rome"}
PEOPLE = {"Oslo": 717710, "Rome": 2748109}


def tool(name: str, about: str, body: Body | None = None, **parameters: str) -> Tool:
    """A tool whose parameters are required texts; one whose name ends with ``_`` is optional."""
    shapes: dict[str, JSON] = {
        key: {"type": "string", "description": text} for key, text in parameters.items()
    }
    required: list[JSON] = [*parameters]
    schema: dict[str, JSON] = {"type": "object", "properties": shapes, "required": required}
    source = f"def {name}(**given):\n    return given"
    return Tool(ToolSchema(name, about, schema), body or Program(source, name))


CAPITAL = tool(
    "capital_of",
    "Look up the capital of a country.",
    Program(f"def capital_of(country):\n    return {CAPITALS!r}[country]", "capital_of"),
    country="The country, by its English name.",
)
POPULATION = tool(
    "count_people",
    "Number of people who live in a city.",
    Program(f"def count_people(city):\n    return {PEOPLE!r}[city]", "count_people"),
    city="Where they live.",
)
ASK = TALK_TO_USER
CHANGE = tool(
    "change_tools", "Other tools.", EpisodeAction.CHANGE_TOOLS, reason="Why.", need="What."
)
GIVE_UP = tool("give_up", "End.", EpisodeAction.GIVE_UP, reason="Why.")
ACTIONS = (ASK, CHANGE, GIVE_UP)
ANAGRAM = tool("anagram", "Put the letters of a word in another order.", word="Any word.")
WEATHER = tool("weather", "Forecast of rain and wind.", day="A date.")
SOIL = tool("soil", "Chemistry of a field's ground.", field="Which field.")
STRANGERS = (ANAGRAM, WEATHER, SOIL)
KNOWN = "How many people live in the capital of Norway?"
OPEN = "How many people live in the capital of a certain country?"


def plain() -> Item:
    """Solvable, with the actions; the strangers are held back."""
    hops = (
        Hop("What is the capital of Norway?", "Oslo", CAPITAL, gold(country="Norway")),
        Hop("How many people live in Oslo?", "717710", POPULATION, gold(city="Oslo")),
    )
    item = Item("norway", KNOWN, "717710", hops, "d", "number", others=(*ACTIONS, *STRANGERS))
    return shown(item, CAPITAL, POPULATION, label=Label(Scenario.PLAIN, "norway", True))


def gold(**arguments: JSON) -> GoldCall:
    return GoldCall(arguments, "written")


def shown(item: Item, *tools: Tool, label: Label, question: str = "") -> Item:
    """The item with these tools and the actions on offer."""
    order = tuple(one.name for one in (*tools, *ACTIONS))
    changed = replace(item, order=order, question=question or item.question)
    return labelled(changed, label, f"norway-{label.scenario.value}")


def hiding(*hidden: Hidden, question: str = OPEN) -> Item:
    """The country is not said."""
    known = hidden or (Hidden(1, "country", "Norway", "a certain country", ("country",)),)
    label = Label(
        Scenario.MISSING_PARAMETER, "norway", False, EpisodeAction.ASK_USER, True, (1,), known
    )
    item = plain()
    first = replace(item.hops[0], question="What is the capital of a certain country?")
    changed = replace(item, hops=(first, *item.hops[1:]))
    return shown(changed, CAPITAL, POPULATION, label=label, question=question)


def unmatched(*, reserve: bool) -> Item:
    """Tools of other items; its own come on request, or never."""
    own = (CAPITAL.name, POPULATION.name) if reserve else ()
    kind = Scenario.RESERVE if reserve else Scenario.UNMATCHED
    label = Label(kind, "norway", False, EpisodeAction.CHANGE_TOOLS, reserve, (1, 2), reserve=own)
    return shown(plain(), ANAGRAM, WEATHER, label=label)


def flaky(failures: int = 2) -> Item:
    """The first tool fails at first."""
    item, label = plain(), Label(Scenario.FLAKY_TOOL, "norway", True)
    body = Flaky(CAPITAL.program, failures, "too busy: try again")
    first = replace(item.hops[0], tool=replace(CAPITAL, body=body))
    changed = replace(item, hops=(first, *item.hops[1:]))
    return shown(changed, first.tool, POPULATION, label=label)


def answers(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    """What the tools return, for a sandbox that runs nothing."""
    table: Mapping[str, str | int] = CAPITALS if program.function == CAPITAL.name else PEOPLE
    value = table.get(str(next(iter(arguments.values()), "")))
    if value is None:
        return Raised("KeyError", "unknown")
    return Returned(f'"{value}"' if isinstance(value, str) else str(value))


def missing() -> Item:
    """The second tool is gone, and nothing brings it back."""
    label = Label(Scenario.MISSING_TOOL, "norway", False, EpisodeAction.CHANGE_TOOLS, lost=(2,))
    return shown(plain(), CAPITAL, ANAGRAM, label=label)


def broken() -> Item:
    """The second tool fails whenever it is called."""
    label = Label(Scenario.BROKEN_TOOL, "norway", False, EpisodeAction.GIVE_UP, lost=(2,))
    body = Program('def count_people(city):\n    raise RuntimeError("it is down")', "count_people")
    item, tool_ = plain(), replace(POPULATION, body=body)
    changed = replace(item, hops=(item.hops[0], replace(item.hops[1], tool=tool_)))
    return shown(changed, CAPITAL, tool_, label=label)


def family() -> tuple[Item, ...]:
    """All of them."""
    twins = unmatched(reserve=False), unmatched(reserve=True)
    return (plain(), hiding(), *twins, flaky(), missing(), broken())
