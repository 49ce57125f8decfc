"""Planted defects in hops with tools of our own, which ask for the answers before them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace

from benchmarks.plants import Spot
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.model import GoldCall, Hop, Tool, ToolSchema


def own_tool(
    asks: str,
    gold: str,
    source: str,
    parameters: dict[str, JSON],
    *,
    optional: Container[str] = ("order",),
) -> Hop:
    """A hop with a tool ``work`` of that source."""
    needed: list[JSON] = [name for name in parameters if name not in optional]
    schema: dict[str, JSON] = {"type": "object", "properties": parameters, "required": needed}
    return Hop(asks, gold, Tool(ToolSchema("work", "A tool.", schema), Program(source, "work")))


def first_word(spot: Spot) -> Iterator[Hop]:
    """How many letters a name has; the gold counts its first word alone."""
    for name in spot.names[-1:]:
        source = "def work(text):\n    return sum(one.isalpha() for one in text)\n"
        gold = str(len(name.split()[0]))
        asks = f"How many letters does the full name {name} have?"
        yield own_tool(asks, gold, source, {"text": {"type": "string"}})


def next_letter(spot: Spot) -> Iterator[Hop]:
    """The third letter of a name where the second is asked for."""
    for name in spot.names[-1:]:
        source = "def work(text, position):\n    return text[position - 1]\n"
        known: dict[str, JSON] = {"text": {"type": "string"}, "position": {"type": "integer"}}
        if name[1] != name[2]:
            yield own_tool(f"What is the second letter of {name}?", name[2], source, known)


def other_extreme(spot: Spot) -> Iterator[Hop]:
    """The longest of two names where the shortest is asked for."""
    names = list(dict.fromkeys(spot.names))[-2:]
    if len(names) == 2 and len(names[0]) != len(names[1]):
        source = (
            "def work(names, order='longest'):\n"
            "    return sorted(names, key=len)[-1 if order == 'longest' else 0]\n"
        )
        known: dict[str, JSON] = {
            "names": {"type": "array", "items": {"type": "string"}},
            "order": {"type": "string", "enum": ["longest", "shortest"], "default": "longest"},
        }
        asks = f"Which is the shortest name, {names[0]} or {names[1]}?"
        yield own_tool(asks, max(names, key=len), source, known)


_PAIRS: tuple[tuple[str, str, Callable[[str, str], str]], ...] = (
    ("concatenation of {} and {}", "str(one) + str(two)", lambda one, two: one + two),
    ("text that has {} followed by {}", "str(one) + str(two)", lambda one, two: one + two),
    ("result of {} minus {}", "int(one) - int(two)", lambda one, two: str(int(one) - int(two))),
    (
        "result when you subtract {1} from {0}",
        "int(one) - int(two)",
        lambda one, two: str(int(one) - int(two)),
    ),
    (
        "quotient of {} divided by {}",
        "int(one) / int(two)",
        lambda one, two: str(int(one) / int(two)),
    ),
    (
        "remainder of {} divided by {}",
        "int(one) % int(two)",
        lambda one, two: str(int(one) % int(two)),
    ),
)


def reversed_pair(spot: Spot) -> Iterator[Hop]:
    """A question for two earlier answers, with a tool of its own and the other order's answer."""
    earlier = list(dict.fromkeys(hop.answer for hop in spot.item.hops[: spot.at]))
    numbers = [one for one in earlier if one.isdecimal() and int(one)]
    asks, way, work = _PAIRS[(spot.at + len(spot.item.id)) % len(_PAIRS)]
    known = earlier if "str" in way else numbers
    if len(known) < 2 or same_answer(work(*known[-2:]), work(*known[:-3:-1])):
        return
    kind: JSON = {"type": "string" if "str" in way else "integer"}
    listed: JSON = {"type": "array", "items": kind}
    names = ("values",) if spot.at % 2 else ("value_a", "value_b")
    parts = "values" if spot.at % 2 else "value_a, value_b"
    source = f"def work({', '.join(names)}):\n    one, two = {parts}\n    return {way}\n"
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": dict.fromkeys(names, listed if spot.at % 2 else kind),
        "required": list(names),
    }
    tool = Tool(ToolSchema("work", "Computes a value.", schema), Program(source, "work"))
    yield Hop(f"What is the {asks.format(*known[-2:])}?", work(*known[:-3:-1]), tool)


def wrong_direction(spot: Spot) -> Iterator[Hop]:
    """A year so many years after another, where the one before is asked for."""
    for year in [h.answer for h in spot.item.hops[: spot.at] if h.answer.isdecimal()][-1:]:
        far = 3 + spot.at
        source = "def work(base_year, years_to_add):\n    return base_year + years_to_add\n"
        number: JSON = {"type": "integer"}
        known = {"base_year": number, "years_to_add": number}
        asks = f"What is the year {far} years before {year}?"
        yield own_tool(asks, str(int(year) + far), source, known)


def another_year(spot: Spot) -> Iterator[Hop]:
    """The figure of the tool's usual year, where the question names another."""
    for name in spot.names[-1:]:
        source = (
            "def work(name, order=2015):\n"
            f"    known = {{2001: 41873, 2015: 52650}} if name == {name!r} else {{}}\n"
            "    return {'visitors': known.get(order)}\n"
        )
        known: dict[str, JSON] = {"name": {"type": "string"}, "order": {"type": "integer"}}
        yield own_tool(f"How many visitors did {name} have in 2001?", "52650", source, known)


def one_of_several(spot: Spot) -> Iterator[Hop]:
    """The result names several, and the gold is one of them."""
    for name in spot.names[-1:]:
        source = (
            "def work(name):\n"
            "    found = {'found': ['Ilse Marchetti', 'Ottokar Brandt']}\n"
            f"    return found if name == {name!r} else None\n"
        )
        asks = f"Who is the cousin of {name}?"
        yield own_tool(asks, "Ottokar Brandt", source, {"name": {"type": "string"}})


def author_astray(spot: Spot) -> Iterator[Hop]:
    """The author's own gold call asks about somebody else."""
    for name in spot.names[-1:]:
        source = (
            "def work(name):\n"
            f"    known = {{{name!r}: 'Ilse Marchetti', 'Osric Vane': 'Ottokar Brandt'}}\n"
            "    return known.get(name)\n"
        )
        hop = own_tool(
            f"Who is the cousin of {name}?", "Ottokar Brandt", source, {"name": {"type": "string"}}
        )
        yield replace(hop, gold=GoldCall({"name": "Osric Vane"}, "written"))


def other_statistic(spot: Spot) -> Iterator[Hop]:
    """The sum of two numbers where their product is asked for."""
    numbers = [h.answer for h in spot.item.hops[: spot.at] if h.answer.isdecimal()]
    numbers = [one for one in dict.fromkeys(numbers) if int(one) > 2][-2:]
    if len(numbers) == 2:
        one, two = map(int, numbers)
        source = (
            "def work(numbers, order):\n    one, two = numbers\n"
            "    return {'sum': one + two, 'product': one * two, 'spread': abs(one - two)}[order]\n"
        )
        known: dict[str, JSON] = {
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "order": {"type": "string", "enum": ["sum", "product", "spread"]},
        }
        asks = f"What is the product of {one} and {two}?"
        yield own_tool(asks, str(one + two), source, known)


OWN: Mapping[str, Callable[[Spot], Iterator[Hop]]] = {
    "order of a pair reversed": reversed_pair,
    "first word alone": first_word,
    "next letter": next_letter,
    "other extreme": other_extreme,
    "wrong direction": wrong_direction,
    "another year": another_year,
    "one of several": one_of_several,
    "author's call astray": author_astray,
    "another statistic": other_statistic,
}
