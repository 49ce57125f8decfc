"""Tools that are shown beside a task's own: like them, of other names, and no help.

The rule is that of NesTools' prompts (inference/build_test_prompt): for each of a task's tools
those of the pool that are most like it, with a name that is at least a fifth of its letters away
from each of the task's. What is more: none does the work of a call, where that can be run.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.nestools.reader import TYPES
from toolhop_tools.construct.nested.model import Api, Nest
from toolhop_tools.model import Described, Item, Tool, ToolSchema
from toolhop_tools.perturb.distractors import for_each
from toolhop_tools.perturb.nearest import Nearest


class DistractorPool:
    """Tools that may be shown beside others."""

    def __init__(self, apis: Iterable[Api]) -> None:
        self._apis: dict[str, Api] = {}
        for api in apis:
            self._apis.setdefault(api.name, api)
        self._nearest = Nearest([_item(name, [api]) for name, api in self._apis.items()])

    def beside(self, nest: Nest, count: int, without: Container[str] = ()) -> list[Api] | None:
        """The nearest `count` tools for each tool of a task; None where the pool has too few.

        Args:
            nest: the task.
            count: for each tool.
            without: names that are not to be among them.
        """
        tools = for_each(self._nearest, _item("task", nest.apis), count, without)
        whole = len(tools) == count * len(nest.apis)
        return [self._apis[tool.name] for tool in tools] if whole else None


def _item(name: str, apis: Iterable[Api]) -> Item:
    others = tuple(map(_described, apis))
    return Item(name, "", "", (), "", "calls", others=others, benchmark="nestools")


def _described(api: Api) -> Tool:
    """The tool as a reader of the format has it."""
    properties: dict[str, JSON] = {
        name: {"type": TYPES[field.type], "description": field.description}
        for name, field in api.parameters.items()
    }
    schema: dict[str, JSON] = {
        "type": "object", "properties": properties, "required": [*api.required],
    }  # fmt: skip
    return Tool(ToolSchema(api.name, api.description, schema), Described(api.to_row()))
