"""Make items of two lookups, with the shortest tools that still have to be chosen and chained.

A row is ToolHop's, with its gold calls and with the question without its value. Question, chain,
code and answer come from one draw. Nouns of the two sets have no word in common.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

NOUNS = {
    "trained": (
        "ship tower school garden mine theatre bakery hotel orchard newspaper abbey bank",
        "captain owner founder keeper manager architect director teacher painter judge",
        "birthplace father mother brother employer mentor rival partner bishop lawyer",
    ),
    "held": (
        "bridge museum lighthouse farm castle library",
        "builder guard curator inspector steward designer",
        "sister spouse tutor village doctor neighbour",
    ),
}
"""Of things, of people who have to do with them, and of what they have to do with."""
STARTS = "bel cor dra fen gal hul jor kas lom mar nev ost pel ras sil tor und vel wen yor"
ENDS = "ada ben cho dil eth fra gor hin ica jun kel lio mon nar oss pin quo rel sum tav"
TABLE = 5
"""Entries of a tool."""


def lookups(name: str, items: int, seed: int) -> list[dict[str, Any]]:
    """Return the rows of a set. Each item has its own entities."""
    drawn = random.Random(seed)
    nouns = [words.split() for words in NOUNS[name]]
    return [row(f"{name}-{number}", drawn, *nouns) for number in range(items)]


def row(
    identity: str, drawn: random.Random, things: list[str], people: list[str], rest: list[str]
) -> dict[str, Any]:
    """Return an item, as in ``What is the father of the captain of the ship Beldil?``."""
    thing, person, last = drawn.choice(things), drawn.choice(people), drawn.choice(rest)
    names = [start + end for start in STARTS.split() for end in ENDS.split()]
    firsts, middles, lasts = (
        [name.capitalize() for name in drawn.sample(names, TABLE)] for _ in range(3)
    )
    place = drawn.randrange(TABLE)
    hops = (
        (person, thing, dict(zip(firsts, middles, strict=True)), firsts[place]),
        (last, person, dict(zip(middles, lasts, strict=True)), middles[place]),
    )
    asked = [f"What is the {gives} of the {takes} {value}?" for gives, takes, _, value in hops]
    return {
        "id": identity,
        "question": f"What is the {last} of the {person} of the {thing} {firsts[place]}?",
        "answer": lasts[place],
        "sub_task": dict(zip(asked, (middles[place], lasts[place]), strict=True)),
        "tools": {
            question: schema(gives, takes)
            for question, (gives, takes, _, _) in zip(asked, hops, strict=True)
        },
        "functions": [code(gives, takes, table) for gives, takes, table, _ in hops],
        "domain": thing,
        "answer_type": last,
        "previous_answer_type": "",
        "gold_calls": [
            {"arguments": {takes: value}, "source": "chain"} for _, takes, _, value in hops
        ],
        "family": identity,
        "unsaid": [
            {
                "value": firsts[place],
                "noun": thing,
                "instead": {f"the {thing} {firsts[place]}": f"a {thing}"},
            }
        ],
    }


def schema(gives: str, takes: str) -> dict[str, Any]:
    """Return a tool's schema."""
    return {
        "name": f"{gives}_of_{takes}",
        "description": f"Give the {gives} of a {takes}.",
        "parameters": {
            "type": "object",
            "properties": {takes: {"type": "string"}},
            "required": [takes],
        },
    }


def code(gives: str, takes: str, table: dict[str, str]) -> str:
    """Return a tool's code."""
    return (
        f"def {gives}_of_{takes}({takes}):\n"
        f"    known = {table!r}\n"
        f"    if {takes} not in known:\n"
        f"        raise ValueError(f'no {takes} has the name {{{takes}!r}}')\n"
        f"    return known[{takes}]\n"
    )


def write_lookups(file: Path, name: str, items: int, seed: int) -> None:
    """Write the items of a set to a file in ToolHop's format."""
    file.write_text(json.dumps(lookups(name, items, seed), indent=1), encoding="utf-8")
