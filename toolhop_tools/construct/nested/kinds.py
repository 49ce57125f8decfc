"""Kinds of things that parameters accept and results contain (``kinds.json``: built-in tools).

Nothing is inferred from names or descriptions. docs/construct-nestools.md shows the form. Responses
are keyed by the path of the leaf, its keys joined by dots; "" is the result itself. A list
parameter of kind ``[city]`` takes whole lists; if its kind is written ``city``, it also takes
single cities as elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import declared
from toolhop_tools.errors import BadChoice, why
from toolhop_tools.model import Tool, canonical


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Kind(_Row):
    """A kind of thing, such as a city."""

    words: str
    wider: tuple[str, ...] = Field((), alias="is")
    """Broader kinds, whose parameters accept this kind as well."""
    vague: bool = False
    """Whether the kind covers very different things, so that a search prefers other references."""


class Response(_Row):
    """The meaning of a leaf of a result."""

    name: str
    kind: str | None
    """Kind of the leaf; None if it has no kind by which a parameter could take it."""
    about: str


class Cases(_Row):
    """Kinds or responses that depend on the value of another argument."""

    of: str
    cases: dict[str, str | Response]


class ToolKinds(_Row):
    """The kinds of a tool's parameters and responses."""

    parameters: dict[str, str | Cases] = {}
    responses: dict[str, Response | Cases] = {}


_NOTHING = ToolKinds()


class Kinds(_Row):
    """All kinds, and the tools that use them, by name."""

    kinds: dict[str, Kind] = {}
    tools: dict[str, ToolKinds] = {}

    def parameter(self, tool: Tool, name: str, arguments: Mapping[str, JSON]) -> str:
        """Return the kind that a parameter takes in a call; empty if none is stated."""
        stated = self.tools.get(tool.name, _NOTHING).parameters.get(name)
        kind = _chosen(stated, tool, arguments)
        return kind if isinstance(kind, str) else ""

    def response(
        self, tool: Tool, path: Iterable[str | int], arguments: Mapping[str, JSON]
    ) -> Response | None:
        """Return the meaning of a leaf of a call's result, or None if none is stated."""
        stated = self.tools.get(tool.name, _NOTHING).responses.get(".".join(map(str, path)))
        response = _chosen(stated, tool, arguments)
        return response if isinstance(response, Response) else None

    def words(self, kind: str) -> str:
        """Describe a kind in words; empty for no kind."""
        return self.kinds[kind.strip("[]")].words if kind else ""

    def takes(self, wanted: str, given: str | None) -> bool:
        """Whether a parameter of one kind accepts another: the same kind or a narrower one."""
        if not wanted or not given or wanted.startswith("[") != given.startswith("["):
            return False
        return wanted.strip("[]") in self._holders[given.strip("[]")]

    @cached_property
    def _holders(self) -> dict[str, list[str]]:
        """For each kind, itself and all broader kinds."""
        holders = {kind: [kind] for kind in self.kinds}
        for reached in holders.values():
            for kind in reached:
                reached += [wider for wider in self.kinds[kind].wider if wider not in reached]
        return holders


def _chosen(stated: object, tool: Tool, arguments: Mapping[str, JSON]) -> object:
    """Return what is stated for a call; cases are selected by an argument or its default."""
    if not isinstance(stated, Cases):
        return stated
    properties: Any = tool.schema.parameters.get("properties", {})
    value = arguments.get(stated.of, properties.get(stated.of, {}).get("default"))
    return stated.cases.get(value if isinstance(value, str) else canonical(value))


def load(path: Path | None, tools: Iterable[Tool]) -> Kinds:
    """Read the kinds from a file, or those of the built-in tools if `path` is None.

    `tools` are those that the file may mention.

    Raises:
        BadChoice: the file cannot be read, or names an unknown kind, tool or parameter.
    """
    origin = path or files("toolhop_tools.construct.nested") / "kinds.json"
    try:
        kinds = Kinds.model_validate_json(origin.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadChoice(f"{origin} cannot be read: {why(error)}") from None
    if wrong := next(_wrong(kinds, {tool.name: tool for tool in tools}), ""):
        raise BadChoice(f"{origin}: {wrong}", fix="correct the name, or take the entry out")
    return kinds


def _wrong(kinds: Kinds, tools: Mapping[str, Tool]) -> Iterator[str]:
    """Report unknown names in the file."""
    for name, kind in kinds.kinds.items():
        yield from (f"{name} is in {wider}, and there is no such kind" for wider in kind.wider
                    if wider not in kinds.kinds)  # fmt: skip
    for name, own in kinds.tools.items():
        if name not in tools:
            yield f"no tool is called {name}"
            continue
        stated = (*own.parameters.values(), *own.responses.values())
        cases = [part for part in stated if isinstance(part, Cases)]
        known = declared(tools[name].schema.parameters)
        yield from (f"{name} has no parameter {parameter}"
                    for parameter in (*own.parameters, *(part.of for part in cases))
                    if parameter not in known)  # fmt: skip
        for choice in (*stated, *(choice for part in cases for choice in part.cases.values())):
            named = choice.kind if isinstance(choice, Response) else choice
            if isinstance(named, str) and named.strip("[]") not in kinds.kinds:
                yield f"{name}: there is no kind {named}"
