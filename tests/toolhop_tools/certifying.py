"""Items made for tests of certificates, and the way to certify them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.inline import inlined
from toolhop_sandbox.base import Limits, Program, Sandbox
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.construction import certify_surely
from toolhop_tools.certify.model import VERSION, Basis, Certificate, HopProof
from toolhop_tools.certify.prove import asked
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.several import each

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


class Shared:
    """Sandboxes by the time that a call may take, each opened once for all tests.

    The usual limit ends no call, so that there those run in this process.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._portal: BlockingPortal | None = None
        self._sandboxes: dict[float, Sandbox] = {}

    def run(self, items: Sequence[Item], basis: Basis) -> list[Certificate]:
        """The items' certificates, in the order in which they were done."""
        try:
            return self._run(items, basis)
        except BaseException:
            # The next test starts anew, whatever this one left.
            with suppress(Exception):
                self.close()
            raise

    def _run(self, items: Sequence[Item], basis: Basis) -> list[Certificate]:
        if self._portal is None:
            self._portal = self._open.enter_context(start_blocking_portal())
        if basis.wall_s not in self._sandboxes:
            limits = Limits(wall_s=basis.wall_s)
            with inlined() if basis.wall_s == BASIS.wall_s else nullcontext():
                opened = self._portal.call(
                    partial(open_sandbox, "process", limits=limits, max_workers=2)
                )
            sandbox = self._open.enter_context(self._portal.wrap_async_context_manager(opened))
            self._sandboxes[basis.wall_s] = sandbox
        found: list[Certificate] = []
        opened_for = self._sandboxes[basis.wall_s]

        async def certified(item: Item) -> None:
            found.append(await certify_surely(item, opened_for, basis))

        self._portal.call(partial(each, at_a_time=2), items, certified)
        return found

    def close(self) -> None:
        """End them."""
        opened, self._open = self._open, ExitStack()
        self._portal, self._sandboxes = None, {}
        opened.close()


SHARED = Shared()


def certificates(*items: Item, basis: Basis = BASIS) -> list[Certificate]:
    """The items' certificates, from the process sandbox."""
    found = SHARED.run(items, basis)
    order = {one.id: at for at, one in enumerate(items)}
    return sorted(found, key=lambda certificate: order[certificate.item])


def proof(hop: Hop, question: str = "") -> HopProof:
    """The proof of a hop that is an item by itself."""
    [certificate] = certificates(item(hop, question=question))
    return certificate.hops[0]
