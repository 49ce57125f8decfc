"""Twins: the same tools over another register, told apart by their documents alone."""

from __future__ import annotations

import inspect

import pytest

from toolhop_tools.model import Item
from toolhop_tools.reading import answer_at
from toolhop_tools.worlds import items
from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.knobs import Knobs, Near, Style
from toolhop_tools.worlds.made import MadeTool, Toolbox
from toolhop_tools.worlds.spec import parse
from toolhop_tools.worlds.surface import REGISTERS
from toolhop_tools.worlds.tools import toolbox
from toolhop_tools.worlds.world import make

KNOBS = Knobs(near=Near.TWINS, listing=True)


def box_of(domain: str, style: Style, seed: int) -> Toolbox:
    world = make(domains()[domain], f"{seed}/names", f"{seed}/values")
    return toolbox(world, style, KNOBS, f"{seed}")


def pairs_of(box: Toolbox) -> list[tuple[MadeTool, MadeTool]]:
    return [(box.tools[name], twin) for name, twin in box.twins.items()]


@pytest.mark.parametrize("style", Style)
@pytest.mark.parametrize("domain", domains())
def test_a_twin_differs_in_name_register_and_values_alone(domain: str, style: Style) -> None:
    for tool, twin in pairs_of(box_of(domain, style, 1)):
        assert tool.name != twin.name
        abouts = [tool.surface.register.about, twin.surface.register.about]
        assert tool.description.removesuffix(abouts[0]) == twin.description.removesuffix(abouts[1])
        assert all(abouts)
        assert tool.properties == twin.properties
        assert tool.world.tables[tool.type].keys() == twin.world.tables[tool.type].keys()
        assert tool.source.replace(tool.name, twin.name) != twin.source


def test_no_mark_in_names_tells_a_twin() -> None:
    words = {tuple(register.word for register in pair) for pair in REGISTERS}
    assert {bool(present) for present, _ in words} == {bool(other) for _, other in words}
    places = set()
    for seed in range(12):
        for tool, twin in pairs_of(box_of("shipping", Style.RECORDS, seed)):
            longer, shorter = sorted((tool.name, twin.name), key=len, reverse=True)
            places.add((longer is twin.name, longer.startswith(shorter)))
    assert len(places) == 4


@pytest.fixture(scope="module")
def made() -> tuple[Item, ...]:
    return items.block(parse("seed=3,hops=3,near=twins,tools=14").specs[0], 0)


def test_twins_of_a_chain_are_on_offer_and_give_other_answers(made: tuple[Item, ...]) -> None:
    same = total = 0
    for item in made:
        sources = items.making_of(item)
        assert sources is not None
        box = sources.tools
        assert len(item.tools) == 14
        for hop in item.hops:
            twin = box.twins.get(hop.tool.name)
            if twin is None or hop.gold is None or hop.gold.reading is None:
                continue
            assert twin.name in item.tools
            try:
                result = twin.call(hop.gold.arguments)
            except (LookupError, ValueError):
                continue
            total += 1
            same += answer_at(result, hop.gold.reading) == hop.answer
    assert total > 30
    assert same < total / 5


def test_tools_of_no_hop_have_twins_on_offer_too(made: tuple[Item, ...]) -> None:
    paired = 0
    for item in made:
        sources = items.making_of(item)
        assert sources is not None
        box = sources.tools
        own = {hop.tool.name for hop in item.hops}
        rest = box.twins.keys() & item.tools.keys() - own
        paired += sum(box.twins[name].name in item.tools for name in rest)
    assert paired > len(made)


@pytest.mark.parametrize("style", Style)
def test_defaults_of_functions_are_those_of_the_schemas(style: Style) -> None:
    for tool in box_of("shipping", style, 1).all.values():
        function = inspect.signature(tool._function)
        for name, schema in tool.properties.items():
            if name not in tool.required:
                assert isinstance(schema, dict)
                assert function.parameters[name].default == schema.get("default")
