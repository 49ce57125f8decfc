"""Agents with planted failures, and the items that they fail on: for tests of `toolhop why`.

An agent here depends on its item and the conversation alone, so that its continuations are alike.
It follows the chain, and fails where the item's name says: ``chain-07:malformed@1`` writes a
malformed call at step 1. A step whose tool stands in the conversation is done, whoever called it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.agents.items import hop, tool
from toolhop_agents.call_formats import restored, written
from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply, ToolMessage
from toolhop_env.reading import CallFormat
from toolhop_tools.model import Item, Tool, ToolSchema

CAPITALS = {"norway": "Oslo", "spain": "Madrid", "peru": "Lima", "egypt": "Cairo", "cuba": "Havana",
            "japan": "Tokyo", "latvia": "Riga", "kenya": "Nairobi"}  # fmt: skip
RIVERS = {"norway": "Glomma", "spain": "Ebro", "peru": "Amazon", "egypt": "Nile", "cuba": "Cauto",
          "japan": "Shinano", "latvia": "Gauja", "kenya": "Tana"}  # fmt: skip
"""No two neighbours are as long: a country in the place of another gives another answer."""
LOOKUP = """
KNOWN = {known!r}

def {name}(country: str) -> object:
    found = KNOWN.get(country.strip().lower())
    return found if found is not None else {{"error": "country: not known"}}
"""
LENGTH = "def length(text: str) -> int:\n    return len(text)\n"
SQUARE = "def square(base: int) -> int:\n    return base * base\n"
TOTAL = "def total(first: str, second: str) -> int:\n    return len(first) + len(second)\n"
GUIDE = "def {name}(country: str) -> str:\n    return 'Closed on Mondays.'\n"
KINDS = ("made_up", "wrong_value", "wrong_tool", "malformed", "skip")
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def _tool(name: str, source: str, **properties: Any) -> Tool:
    return tool(name, source, properties, [*properties])


def _guides() -> tuple[Tool, ...]:
    """A tool for each step that is no step's."""
    names = (f"guide_{step}" for step in range(3))
    return tuple(_tool(name, GUIDE.format(name=name), country=TEXT) for name in names)


def chain(number: int, plants: str) -> Item:
    """Three steps, each on the result of the one before."""
    country, other = _countries(number)
    city = CAPITALS[country.lower()]
    made = (
        hop(f"The capital of {country}?", city,
            _tool("capital", LOOKUP.format(known=CAPITALS, name="capital"), country=TEXT),
            country=country),
        hop("How long?", str(len(city)), _tool("length", LENGTH, text=TEXT), text=city),
        hop("Squared?", str(len(city) ** 2), _tool("square", SQUARE, base=WHOLE), base=len(city)),
    )  # fmt: skip
    question = f"The squared length of the capital of {country}, not {other}?"
    return _item(f"chain-{number:02d}:{plants}", question, made, str(len(city) ** 2))


def branches(number: int, plants: str) -> Item:
    """Two steps that need nothing, and a third on both results."""
    country, other = _countries(number)
    city, river = CAPITALS[country.lower()], RIVERS[country.lower()]
    together = len(city) + len(river)
    made = (
        hop(f"The capital of {country}?", city,
            _tool("capital", LOOKUP.format(known=CAPITALS, name="capital"), country=TEXT),
            country=country),
        hop(f"The river of {country}?", river,
            _tool("river", LOOKUP.format(known=RIVERS, name="river"), country=TEXT),
            country=country),
        hop("Together?", str(together), _tool("total", TOTAL, first=TEXT, second=TEXT),
            first=city, second=river),
    )  # fmt: skip
    question = f"How long are the capital and the river of {country}, not {other}?"
    return _item(f"branches-{number:02d}:{plants}", question, made, str(together))


def _countries(number: int) -> tuple[str, str]:
    names = [name.capitalize() for name in CAPITALS]
    return names[number % len(names)], names[(number + 1) % len(names)]


def _item(identity: str, question: str, hops: Sequence[Any], answer: str) -> Item:
    asked = f"{question} ({identity})"
    return Item(identity, asked, answer, tuple(hops), others=_guides(), domain="Test",
                answer_type="number")  # fmt: skip


@dataclass(frozen=True)
class _Heard:
    """What a conversation says of its item."""

    name: str
    country: str
    other: str
    plants: Mapping[int, str]
    results: Mapping[str, str]
    """The last result of each tool that was called."""
    calls: Sequence[RawCall]

    @property
    def tools(self) -> tuple[str, str, str]:
        chained = self.name.startswith("chain")
        return ("capital", "length", "square") if chained else ("capital", "river", "total")


def _value(text: str) -> str:
    """A result without the quotes of JSON."""
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def _heard(messages: Sequence[Message]) -> _Heard:
    messages = restored(messages)
    said = "\n".join(one.content for one in messages if one.role == "user")
    name, plants = re.findall(r"\(((?:chain|branches)-\d+):([^)]*)\)", said)[0]
    country, other = re.findall(r"of (\w+), not (\w+)\?", said)[0]
    kinds = (one.split("@") for one in plants.split("+") if "@" in one)
    calls = [call for one in messages if isinstance(one, AssistantMessage) for call in one.calls]
    results = {one.name: _value(one.content) for one in messages if isinstance(one, ToolMessage)}
    return _Heard(name, country, other, {int(at): kind for kind, at in kinds}, results, calls)


def _arguments(heard: _Heard, step: int, before: Sequence[str]) -> dict[str, Any]:
    match heard.tools[step]:
        case "capital" | "river":
            return {"country": heard.country}
        case "length":
            return {"text": before[0]}
        case "square":
            return {"base": int(before[1])}
        case _:
            return {"first": before[0], "second": before[1]}


def _wrong(heard: _Heard, right: dict[str, Any], kind: str) -> dict[str, Any]:
    """The arguments with another value: of the question, or of nobody."""
    (name, value), *rest = right.items()
    made_up = 77 if isinstance(value, int) else "Atlantis upon the Sea"
    heard_value = 3 if isinstance(value, int) else heard.other
    return {name: made_up if kind == "made_up" else heard_value, **dict(rest)}


class Planted:
    """Fails as its item says, once at each planted step, and knows no other way."""

    thread = False
    """Whether one wrong call in the conversation makes it lose the thread."""

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        return written(CallFormat.NATIVE if tools else CallFormat.TEXT, self.native(messages))

    def native(self, messages: Sequence[Message]) -> Reply:
        heard, before = _heard(messages), list[str]()
        for step, name in enumerate(heard.tools):
            kind, guide = heard.plants.get(step, ""), f"guide_{step}"
            if name in heard.results:
                before.append(heard.results[name])
            elif kind == "skip" or guide in heard.results:
                before.append("99")
            else:
                try:
                    right = _arguments(heard, step, before)
                except ValueError:
                    return Reply("<answer>unknown</answer>")
                return self._call(heard, name, right, kind, guide)
        lost = self.thread and not all(map(_in_chain(heard), heard.calls))
        return Reply(f"<answer>{'unknown' if lost else before[-1]}</answer>")

    def _call(
        self, heard: _Heard, name: str, right: dict[str, Any], kind: str, guide: str
    ) -> Reply:
        made = {"": (name, right), "malformed": (name, {}),
                "wrong_tool": (guide, {"country": heard.country})}.get(kind)  # fmt: skip
        tool_, arguments = made or (name, _wrong(heard, right, kind))
        number = len(heard.calls) + 1
        return Reply(calls=(RawCall(f"call_{number}", tool_, json.dumps(arguments)),))


def _in_chain(heard: _Heard) -> Any:
    make = chain if heard.name.startswith("chain") else branches
    item = make(int(heard.name.rpartition("-")[2]), "")
    gold = {one.tool.name: one.gold.arguments for one in item.hops if one.gold}
    return lambda call: gold.get(call.name) == json.loads(call.arguments)


class Threaded(Planted):
    """As `Planted`, and after any call that is not the chain's the answer is lost."""

    thread = True


class MadeGood(Planted):
    """Writes a malformed call first, makes it good, and then fails as its item says."""

    def native(self, messages: Sequence[Message]) -> Reply:
        heard = _heard(messages)
        if not heard.calls:
            return Reply(calls=(RawCall("slip", heard.tools[0], "{}"),))
        return super().native([m for m in messages if getattr(m, "call_id", "") != "slip"])


class Hopeless(Planted):
    """Answers wrongly, whatever is repaired."""

    def native(self, messages: Sequence[Message]) -> Reply:
        reply = super().native(messages)
        return reply if reply.calls else Reply("<answer>unknown</answer>")


class Wavering(Planted):
    """Answers wrongly every eighth time where the chain is right, and rightly where it is not."""

    count = itertools.count()

    def native(self, messages: Sequence[Message]) -> Reply:
        reply, heard = super().native(messages), _heard(messages)
        if reply.calls:
            return reply
        make = chain if heard.name.startswith("chain") else branches
        answer = f"<answer>{make(int(heard.name.rpartition('-')[2]), '').answer}</answer>"
        number = next(self.count) % 8
        right = number != 0 if reply.content == answer else number == 7
        return Reply(answer if right else f"<answer>unknown, try {number}</answer>")


class Once(Planted):
    """Fails the first time alone: in the episode that is lost, and in no continuation."""

    count = itertools.count()

    def _call(
        self, heard: _Heard, name: str, right: dict[str, Any], kind: str, guide: str
    ) -> Reply:
        return super()._call(heard, name, right, "" if next(self.count) else kind, guide)


class Breaks(Planted):
    """Raises in its next reply while `broken` holds."""

    broken = False

    def native(self, messages: Sequence[Message]) -> Reply:
        if Breaks.broken:
            Breaks.broken = False
            raise RuntimeError("broken")
        return super().native(messages)
