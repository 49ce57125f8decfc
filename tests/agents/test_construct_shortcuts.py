"""Ways past a hop that only calls show: by a second key, and by a number of a later call."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest

from tests.inline import inlined
from tests.toolhop_tools.certifying import BASIS
from toolhop_agents.construct.ask import Context
from toolhop_agents.construct.proof import Proof
from toolhop_agents.construct.table import Built
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.replies import GoldArguments, LookedUp, Records
from toolhop_tools.construct.verify import Verifier
from toolhop_tools.model import ToolSchema
from toolhop_tools.properties.lanes import Lane

LANDS = ("Tarsen", "Mirand", "Doria", "Kesk")
FIRST = [{"hill": f"Hill {land}", "land": land} for land in LANDS]
SECOND = [{"hill": f"Hill {land}", "land": land, "code": 271 + 13 * at}
          for at, land in enumerate(LANDS)]  # fmt: skip
LAND_OF_HILL = """
def land_of(hill):
    return next((r["land"] for r in RECORDS if r["hill"] == hill), {"error": "hill"})
"""
CODE_OF_LAND = """
def code_of(land, by="land", more=0):
    for record in RECORDS:
        if record[KEY] == land:
            return record["code"] + MORE
    known = ", ".join(f"{r['land']} with {r['code']} as its code" for r in RECORDS)
    return {"error": f"known are {known}"}
"""
ADDED = """
def add(number, amount):
    return number + amount if isinstance(number, int) else {"error": "number"}
"""


def built(
    name: str, code: str, call: dict[str, JSON], answers: tuple[str, ...], facts: Records
) -> Built:
    kinds: dict[str, Any] = {"number": "integer", "amount": "integer", "more": "integer"}
    properties: dict[str, Any] = {one: {"type": kinds.get(one, "string")} for one in call}
    if name == "code_of":
        listed = {"type": "string", "enum": ["land", "hill"], "default": "land"}
        properties |= {"by": listed, "more": {"type": "integer", "default": 0}}
    schema = ToolSchema(name, name, {"properties": properties, "required": [*call]})
    texts = {key: str(value) for key, value in call.items()}
    made: dict[str, JSON] = {
        key: answers[int(text[1]) - 1] if text[0] == "{" else call[key]
        for key, text in texts.items()
    }
    if "number" in made:
        made["number"] = int(str(made["number"]))
    return Built("", (), schema, facts, code, GoldArguments(arguments=call), made, answers[-1])


def hops(key: str, more: str) -> list[Built]:
    def table(rows: list[dict[str, Any]], of: str, gives: str) -> Records:
        return Records(records=rows, lookup=LookedUp(parameters={of: of}, fixed={}, answer=gives))

    first, second = table(FIRST, "hill", "land"), table(SECOND, "land", "code")
    code = CODE_OF_LAND.replace("KEY", key).replace("MORE", more)
    return [
        built("land_of", LAND_OF_HILL, {"hill": "Hill Tarsen"}, ("Tarsen",), first),
        built("code_of", code, {"land": "{1}"}, ("Tarsen", "271"), second),
        built("add", ADDED, {"number": "{2}", "amount": 45}, ("Tarsen", "271", "316"), second),
    ]


async def ahead(at: int, key: str, more: str) -> list[str]:
    with inlined():
        opened = await open_sandbox("process", max_workers=1)
    async with opened as sandbox:
        verifier = Verifier(sandbox, cast("Lane", None), BASIS)
        context = cast("Context", type("Only", (), {"verifier": verifier}))
        return await Proof(context, {}, hops(key, more), False)._ahead(at)


@pytest.mark.parametrize(
    ("at", "key", "more", "word"),
    [
        (1, '"land"', "0", ""),
        (2, '"land"', "0", ""),
        (1, "by", "0", "without the answer of hop 1"),
        (2, '"land"', "more", "more=45"),
    ],
)
def test_a_way_past_a_hop_is_found_by_calls(at: int, key: str, more: str, word: str) -> None:
    found = anyio.run(ahead, at, key, more)
    assert bool(found) is bool(word)
    assert word in " ".join(found)
