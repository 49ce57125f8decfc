"""Distractor tools for nested tasks: similar to a task's own, differently named, and of no help.

The rule is that of NesTools' prompts (inference/build_test_prompt): for each tool of a task, the
most similar tools of the pool, with names whose edit distance to each of the task's is at least a
fifth of the name's length. A distractor that can be run must also not do the work of any call.
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
    """A pool of tools that can be shown beside a task's own."""

    def __init__(self, apis: Iterable[Api]) -> None:
        self._apis: dict[str, Api] = {}
        for api in apis:
            self._apis.setdefault(api.name, api)
        self._nearest = Nearest([_item(name, [api]) for name, api in self._apis.items()])

    def beside(self, nest: Nest, count: int, without: Container[str] = ()) -> list[Api] | None:
        """Return the nearest `count` tools for each of a task's; None if the pool has too few."""
        tools = for_each(self._nearest, _item("task", nest.apis), count, without)
        whole = len(tools) == count * len(nest.apis)
        return [self._apis[tool.name] for tool in tools] if whole else None


def _item(name: str, apis: Iterable[Api]) -> Item:
    others = tuple(map(_described, apis))
    return Item(name, "", "", (), "", "calls", others=others, benchmark="nestools")


def _described(api: Api) -> Tool:
    """Return the tool as a reader of the format sees it."""
    properties: dict[str, JSON] = {
        name: {"type": TYPES[field.type], "description": field.description}
        for name, field in api.parameters.items()
    }
    schema: dict[str, JSON] = {
        "type": "object", "properties": properties, "required": [*api.required],
    }  # fmt: skip
    return Tool(ToolSchema(api.name, api.description, schema), Described(api.to_row()))
