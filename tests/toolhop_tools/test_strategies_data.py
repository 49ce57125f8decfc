"""Strategies of every tool of 60 ToolHop items, and of the tools that the product ships."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.toolhop_tools.schemas import drawn, reference, simulator
from toolhop_env.verdicts import Call, Rejected
from toolhop_tools.load import load
from toolhop_tools.model import Tool
from toolhop_tools.strategies.invalid import near_misses
from toolhop_tools.strategies.literals import favoured
from toolhop_tools.strategies.valid import arguments

EXHAUSTIVE = "TOOLHOP_EXHAUSTIVE" in os.environ
"""Every tool, which takes minutes, and not some of them."""

pytestmark = pytest.mark.heavy


def judge(tools: list[Tool], *, count: int) -> None:
    for tool in tools:
        schema = dict(tool.schema.parameters)
        values = favoured(tool.program, schema)
        accepted, valid = simulator(schema), reference(schema)
        for made in drawn(arguments(schema, favoured=values), count=count):
            assert valid.is_valid(made)
            assert isinstance(accepted.check("f", json.dumps(made)), Call)
        for miss in drawn(near_misses(schema, favoured=values), count=count):
            assert isinstance(accepted.check("f", json.dumps(miss.arguments)), Rejected)
            assert miss.parameter


@pytest.mark.data  # ToolHop-60.json beside the project
def test_tools_of_toolhop_have_strategies(toolhop_60: Path) -> None:
    tools = [hop.tool for item in load(str(toolhop_60)).items for hop in item.hops]
    assert len(tools) == 253
    judge(tools if EXHAUSTIVE else tools[::10], count=5)


def test_every_tool_of_ours_has_strategies() -> None:
    tools = list({id(h.tool): h.tool for item in load("builtin").items for h in item.hops}.values())
    assert len(tools) > 20
    judge(tools if EXHAUSTIVE else tools[::16], count=5)
