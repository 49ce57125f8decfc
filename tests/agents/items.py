"""A small item that tests of the agents share: three hops, every kind of fault possible."""

from __future__ import annotations

from typing import Any

from toolhop_sandbox.base import Program
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema

CAPITAL = """
CAPITALS = {"norway": "Oslo", "peru": "Lima"}

def capital(country: str, style: str = "plain") -> object:
    found = CAPITALS.get(country.strip().lower())
    if found is None:
        return {"error": f"country: {country!r} is not known; known are Norway, Peru"}
    return found.upper() if style == "upper" else found
"""
LENGTH = """
def length(text: str) -> int:
    return len(text)
"""
POWER = """
def power(base: int, exponent: int = 2) -> int:
    return base ** exponent
"""


def tool(name: str, source: str, properties: dict[str, Any], required: list[str]) -> Tool:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    return Tool(ToolSchema(name, f"The {name} tool.", schema), Program(source, name))


def hop(question: str, answer: str, made: Tool, **arguments: Any) -> Hop:
    return Hop(question, answer, made, GoldCall(arguments, "written"))


def small_item(identity: str = "small-1") -> Item:
    style = {"type": "string", "enum": ["plain", "upper"]}
    capital = tool("capital", CAPITAL, {"country": {"type": "string"}, "style": style}, ["country"])
    length = tool("length", LENGTH, {"text": {"type": "string"}}, ["text"])
    integer = {"type": "integer"}
    power = tool("power", POWER, {"base": integer, "exponent": integer}, ["base"])
    return Item(
        id=identity,
        question=f"What is the squared length of the capital of Norway ({identity})?",
        answer="16",
        hops=(
            hop("What is the capital of Norway?", "Oslo", capital, country="Norway", style="plain"),
            hop("How long is Oslo?", "4", length, text="Oslo"),
            hop("What is 4 squared?", "16", power, base=4),
        ),
        domain="Geography",
        answer_type="number",
    )
