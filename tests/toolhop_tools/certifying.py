"""Items made for tests of certificates, and the way to certify them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio

from toolhop_sandbox.base import Limits, Program
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import VERSION, Basis, Certificate, HopProof
from toolhop_tools.certify.prove import asked, certify_all
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema

BASIS = Basis(VERSION, 0, 200, 10, 1.0, 256, "restricted")
TEXT: dict[str, JSON] = {"type": "string"}
NUMBER: dict[str, JSON] = {"type": "integer"}


def made(
    source: str,
    question: str,
    answer: str,
    properties: Mapping[str, Any] | None = None,
    *,
    name: str = "f",
    required: Sequence[str] | None = None,
    gold: dict[str, JSON] | None = None,
) -> Hop:
    """A hop whose tool requires all its properties, `text` if none are given."""
    known: dict[str, JSON] = dict(properties if properties is not None else {"text": TEXT})
    needed: list[JSON] = list(known if required is None else required)
    schema: dict[str, JSON] = {"type": "object", "properties": known, "required": needed}
    tool = Tool(ToolSchema(name, "A tool.", schema), Program(source, name))
    return Hop(question, answer, tool, None if gold is None else GoldCall(gold, "written"))


def item(*hops: Hop, identity: str = "1", question: str = "") -> Item:
    return Item(identity, question or hops[0].question, hops[-1].answer, hops, "test", "text")


def tasks(one: Item) -> list[Task]:
    """An item's hops as the search sees them, with answers as the data has them."""
    return [Task(hop, asked(one, at, {})) for at, hop in enumerate(one.hops)]


def certificates(*items: Item, basis: Basis = BASIS) -> list[Certificate]:
    """The items' certificates, from the process sandbox."""
    found: list[Certificate] = []

    async def run() -> None:
        limits = Limits(wall_s=basis.wall_s)
        async with await open_sandbox("process", limits=limits, max_workers=2) as sandbox:
            work = partial(certify_all, at_a_time=2, on_done=found.append)
            await work(items, sandbox, basis)

    anyio.run(run)
    order = {one.id: at for at, one in enumerate(items)}
    return sorted(found, key=lambda certificate: order[certificate.item])


def proof(hop: Hop, question: str = "") -> HopProof:
    """The proof of a hop that is an item by itself."""
    [certificate] = certificates(item(hop, question=question))
    return certificate.hops[0]
