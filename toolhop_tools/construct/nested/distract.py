"""Tools that are shown beside a task's own: like them, of other names, and no help.

The rule is that of NesTools' prompts (inference/build_test_prompt): for each of a task's tools
those of the pool that are most like it, with a name that is at least a fifth of its letters away
from each of the task's. What is more: none makes a call of the task unneeded, where that can be
run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import cast

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.model import Api, Nest
from toolhop_tools.model import Described, Item, Tool, ToolSchema
from toolhop_tools.perturb.distractors import unlike
from toolhop_tools.perturb.nearest import Nearest
from toolhop_tools.readers.nestools import TYPES


def described(api: Api) -> Tool:
    """The tool as a reader of the format has it."""
    properties: dict[str, JSON] = {
        name: {"type": TYPES[one.type], "description": one.description}
        for name, one in api.parameters.items()
    }
    schema: dict[str, JSON] = {
        "type": "object", "properties": properties, "required": [*api.required],
    }  # fmt: skip
    return Tool(ToolSchema(api.name, api.description, schema), Described(api.to_row()))


class DistractorPool:
    """Tools that may be shown beside others."""

    def __init__(self, apis: Iterable[Api]) -> None:
        self._apis: dict[str, Api] = {}
        for api in apis:
            self._apis.setdefault(api.name, api)
        self._nearest = Nearest([_item(name, [api]) for name, api in self._apis.items()])

    def choosing(self, nest: Nest, count: int) -> Generator[str, bool, list[Api] | None]:
        """So many for each tool of a task; None where the pool has too few.

        Yields the name of each that fits, and is sent whether it does the work of a call.
        """
        own = _item("task", nest.apis)
        found: dict[str, Api] = {}
        for number, tool in enumerate(own.others, start=1):
            for other in self._nearest.others(own, [tool]):
                if len(found) == count * number:
                    break
                name = other.name
                if name.casefold() in found or not unlike(name, [*own.tools]):
                    continue
                if not (yield name):
                    found[name.casefold()] = self._apis[name]
        return [*found.values()] if len(found) == count * len(own.others) else None

    def nearest(self, nest: Nest, count: int) -> list[Api] | None:
        """The same where nothing can be run: the nearest that fit."""
        steps = self.choosing(nest, count)
        try:
            next(steps)
            while True:
                steps.send(False)
        except StopIteration as done:
            return cast("list[Api] | None", done.value)


def _item(name: str, apis: Sequence[Api]) -> Item:
    others = tuple(described(api) for api in apis)
    return Item(name, "", "", (), "", "calls", others=others, benchmark="nestools")
