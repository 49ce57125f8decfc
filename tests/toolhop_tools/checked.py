"""Tools made up for tests of the properties, and how those tests check them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from toolhop_env.rejection import Rejections
from toolhop_sandbox.base import Limits, Program
from toolhop_sandbox.choose import Kind
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Tool, ToolSchema
from toolhop_tools.properties.bench import calling
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.check import check
from toolhop_tools.properties.model import Caller, CounterExample, Fails, Gold, Subject
from toolhop_tools.properties.store import Store

LIMITS = Limits(wall_s=1.0, memory_mib=128)


def subject(
    source: str,
    properties: Mapping[str, Any] | None = None,
    *,
    required: Sequence[str] | None = None,
    name: str = "f",
    description: str = "A tool.",
    golds: Sequence[Gold] = (),
) -> Subject:
    """A tool whose schema has these properties, all required unless told otherwise."""
    number = {"type": "integer", "minimum": 0, "maximum": 99}
    inner: dict[str, Any] = {"n": number} if properties is None else dict(properties)
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": inner,
        "required": list(inner if required is None else required),
    }
    tool = Tool(ToolSchema(name, description, schema), Program(source, name))
    return Subject("item-1", tool, tuple(golds))


def caller(kind: Kind = "process") -> AbstractContextManager[Caller]:
    """Calls through real workers, of all settings."""
    return calling(kind, limits=LIMITS)


def case(
    call: Caller,
    one: Subject,
    *,
    count: int = 20,
    formats: bool = False,
    store: Store | None = None,
) -> Case:
    stored = store.kept(one) if store else ()
    return Case(one, call, Rejections(), count=count, seed=0, formats=formats, stored=stored)


def found(
    call: Caller, one: Subject, property_: str, *, count: int = 20, formats: bool = False
) -> CounterExample:
    """The only counter-example to a property that must fail."""
    verdict = check(case(call, one, count=count, formats=formats), property_)
    assert isinstance(verdict, Fails), verdict
    assert len(verdict.found) == 1, verdict.found
    return verdict.found[0]


def row(one: Subject) -> dict[str, Any]:
    """The tool as a row of a data file in ToolHop's format."""
    schema = one.tool.schema
    tool = {
        "name": schema.name,
        "description": schema.description,
        "parameters": dict(schema.parameters),
    }
    return {
        "id": 1,
        "question": "What?",
        "answer": "1",
        "sub_task": {"What?": "1"},
        "tools": {"What?": tool},
        "functions": [one.tool.program.source],
        "domain": "Tests",
        "answer_type": "number",
        "previous_answer_type": "",
    }


def rows_text(*subjects: Subject) -> str:
    return json.dumps([{**row(one), "id": at} for at, one in enumerate(subjects, 1)])
