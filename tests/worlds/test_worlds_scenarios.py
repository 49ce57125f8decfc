"""Scenarios of worlds: what is labelled out of reach is so, and siblings differ in it alone."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, product

import pytest

from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import canonical
from toolhop_tools.scenarios.label import Scenario
from toolhop_tools.scenarios.scene import Draft, Reason, gold_of
from toolhop_tools.worlds import items, scenarios
from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.exposed import Column, exposed, needed
from toolhop_tools.worlds.made import MadeTool, Role
from toolhop_tools.worlds.scenarios import MadeScene, scene_of
from toolhop_tools.worlds.spec import parse
from toolhop_tools.worlds.world import World

SPECS = (
    "seed=3,styles=records",
    "seed=3,styles=values,listing=yes,tools=20",
    "seed=3,styles=service,near=twins,tools=16",
    "seed=3,styles=tables,listing=yes,page=5,tools=20",
    "seed=3,codes=yes,units=yes,listing=yes,tools=16",
)
MOST_CALLS = 250
"""Compared for an item in two worlds."""


def scenes_of(text: str) -> list[MadeScene]:
    made = items.block(parse(text).specs[0], 0)
    others = (domain for domain in domains() if domain != made[0].domain)
    there = items.block(parse(f"{text},domains={next(others)}").specs[0], 1)
    scenes = [scene_of(item, 3, (*made, *there), at) for at, item in enumerate(made)]
    return [scene for scene in scenes if scene is not None]


@pytest.fixture(scope="module", params=SPECS)
def scenes(request: pytest.FixtureRequest) -> list[MadeScene]:
    return scenes_of(request.param)


def drafts_of(scenes: Iterable[MadeScene], kind: Scenario) -> Iterator[tuple[MadeScene, Draft]]:
    for scene in scenes:
        made = scenarios.TRANSFORMATIONS[kind](scene, 0)
        if not isinstance(made, Reason):
            yield scene, made[0]


def offered(scene: MadeScene, draft: Draft) -> list[MadeTool]:
    """The tools on offer, and those that a change of tools may bring."""
    own = {hop.tool.name for hop in draft.item.hops} - set(draft.item.order)
    own |= draft.item.all_tools.keys() - scene.box.all.keys()
    return [scene.box.all[name] for name in draft.item.all_tools if name not in own]


def reader_of(scene: MadeScene, draft: Draft) -> str:
    """The tool that reads records: in the place of another one, the rest are the sibling's."""
    (reader,) = draft.item.tools.keys() - draft.siblings[0].item.tools.keys()
    (gone,) = draft.siblings[0].item.tools.keys() - draft.item.tools.keys()
    assert gone not in scene.served
    assert "Reads a record." in draft.item.tools[reader].schema.description
    return reader


def out_of_reach(scene: MadeScene, draft: Draft) -> set[Column]:
    """The columns that the lost hops need and no tool exposes."""
    known = exposed(offered(scene, draft), {kind for kind, _ in scene.values}, scene.box.world)
    lost = [draft.item.hops[number - 1] for number in draft.label.lost]
    return {
        column
        for hop in lost
        for column in needed(
            scene.box.all[hop.tool.name], gold_of(hop).arguments, gold_of(hop).reading
        )
        - known
    }


def with_others(world: World, columns: set[Column], drawn: random.Random) -> World:
    """The world with the values of some columns dealt out anew."""
    tables = {kind: {name: dict(row) for name, row in rows.items()} for kind, rows in
              world.tables.items()}  # fmt: skip
    for kind, column in columns:
        rows = list(tables[kind].values())
        values = [row[column] for row in rows]
        drawn.shuffle(values)
        for row, value in zip(rows, values, strict=True):
            row[column] = value
    return World(world.domain, tables)


def calls(scene: MadeScene, tools: list[MadeTool]) -> Iterator[tuple[MadeTool, dict[str, JSON]]]:
    """Calls with what the question says and what any call before gives, picks among them."""
    known: dict[str, dict[JSON, None]] = {}
    fresh = deque[tuple[str, JSON]](scene.values)
    count = 0
    while fresh and count < MOST_CALLS:
        kind, value = fresh.popleft()
        if value in known.setdefault(kind, {}):
            continue
        known[kind][value] = None
        for tool in tools:
            for arguments in ways(tool, kind, value, known):
                count += 1
                yield tool, arguments
                try:
                    result = tool.call(arguments)
                except (LookupError, ValueError):
                    continue
                fresh.extend((leaf.type, leaf.value) for leaf in tool.typed(result, arguments))


def ways(
    tool: MadeTool, kind: str, value: JSON, known: dict[str, dict[JSON, None]]
) -> Iterator[dict[str, JSON]]:
    """A tool's calls with a value, under each choice."""
    keys = [param for param in tool.params if param.role in {Role.KEY, Role.LINK, Role.VALUE}]
    chosen = [param for param in tool.params if param.choices and param.role is not Role.UNIT]
    for param in keys:
        if param.takes != kind:
            continue
        rest = [other for other in keys if other.role is Role.KEY and other is not param]
        for others in product(*(list(known.get(other.takes, {}))[:2] for other in rest)):
            for choice in [None, *chosen]:
                for option in choice.choices if choice else (None,):
                    arguments: dict[str, JSON] = {}
                    param.put(arguments, value)
                    for other, its in zip(rest, others, strict=True):
                        other.put(arguments, its)
                    if choice is not None:
                        choice.put(arguments, option)
                    if set(tool.required) <= arguments.keys():
                        yield arguments


def given(tool: MadeTool, arguments: dict[str, JSON]) -> str:
    try:
        return canonical(tool.call(arguments))
    except (LookupError, ValueError) as error:
        return repr(error)


def chain(scene: MadeScene, world: World) -> str:
    """Results of the lost and other hops in another world."""
    return canonical(
        [
            given(replace(scene.box.all[hop.tool.name], world=world), dict(gold_of(hop).arguments))
            for hop in scene.item.hops
        ]
    )


def test_no_call_tells_two_worlds_apart_that_differ_in_what_is_lost(
    scenes: list[MadeScene],
) -> None:
    compared = otherwise = 0
    for scene, draft in islice(drafts_of(scenes, Scenario.MISSING_TOOL), 5):
        lost = out_of_reach(scene, draft)
        assert lost
        tools, world = offered(scene, draft), scene.box.world
        lost = {(kind, column) for kind, column in lost if column != "code"}
        other = with_others(world, lost, random.Random(1))
        twins = {tool.name: replace(tool, world=other) for tool in tools if tool.world is world}
        for tool, arguments in calls(scene, tools):
            twin = twins.get(tool.name, tool)
            assert given(tool, arguments) == given(twin, arguments), (tool.name, arguments, lost)
            compared += 1
        otherwise += not lost or chain(scene, world) != chain(scene, other)
    assert compared > 300
    assert otherwise >= 4


def test_both_of_a_pair_offer_as_many_tools_and_one_differs(scenes: list[MadeScene]) -> None:
    pairs = list(drafts_of(scenes, Scenario.MISSING_TOOL))
    assert len(pairs) > len(scenes) * 0.8
    for scene, draft in pairs:
        whole, made = draft.siblings[0].item, draft.item
        assert len(whole.tools) == len(made.tools) == len(scene.item.tools)
        (gone,) = whole.tools.keys() - made.tools.keys()
        (instead,) = made.tools.keys() - whole.tools.keys()
        assert scene.box.tools[gone].shape is scene.box.tools[instead].shape
        assert whole.question == made.question == scene.item.question
        twins = {twin.name for name, twin in scene.box.twins.items() if name in {gone, instead}}
        assert not twins & (made.tools.keys() | whole.tools.keys())
        lost = {made.hops[number - 1].tool.name for number in draft.label.lost}
        assert lost == {gone}
        checks = draft.label.checks
        assert (checks.depth, checks.untried) == (len(made.hops), 0)
        assert checks.tools >= len(made.tools)
    assert any(draft.label.checks.calls for _, draft in pairs)


def test_a_broken_tool_stays_on_offer_and_nothing_else_does_its_job(
    scenes: list[MadeScene],
) -> None:
    for scene, draft in drafts_of(scenes[:8], Scenario.BROKEN_TOOL):
        broken = {draft.item.hops[number - 1].tool.name for number in draft.label.lost}
        reader = draft.item.tools[reader_of(scene, draft)].program.source
        assert "records = {}" in reader
        tools = [tool for tool in offered(scene, draft) if tool.name not in broken]
        assert scene.lacks(tools, [number - 1 for number in draft.label.lost])


def test_unmatched_tools_are_of_another_item_of_another_domain(
    scenes: list[MadeScene],
) -> None:
    for scene, draft in drafts_of(scenes[:4], Scenario.UNMATCHED):
        assert not draft.item.tools.keys() & scene.item.all_tools.keys()
        assert len(draft.item.tools) == len(scene.item.tools)
        names = {name for rows in scene.box.world.tables.values() for name in rows}
        for tool in draft.item.tools.values():
            assert not any(f"'{name}'" in tool.program.source for name in names)


def test_what_is_kept_back_stands_nowhere_and_the_user_knows_it(scenes: list[MadeScene]) -> None:
    for scene, draft in drafts_of(scenes, Scenario.MISSING_PARAMETER):
        texts = [draft.item.question, *(hop.question for hop in draft.item.hops)]
        assert draft.item.tools.keys() == scene.item.tools.keys()
        for hidden in draft.label.hidden:
            assert not any(str(hidden.value) in text for text in texts)
            assert hidden.kind in draft.item.question
            arguments = gold_of(draft.item.hops[hidden.hop - 1]).arguments
            assert str(hidden.value) in canonical(arguments[hidden.parameter])


def test_most_items_give_most_scenarios(scenes: list[MadeScene]) -> None:
    for kind in scenarios.TRANSFORMATIONS:
        made = [scenarios.TRANSFORMATIONS[kind](scene, 0) for scene in scenes[:8]]
        refused = [reason for reason in made if isinstance(reason, Reason)]
        assert len(refused) <= 2, (kind, refused)


def test_no_scenario_is_made_of_an_item_that_the_generator_makes_otherwise() -> None:
    item = items.block(parse("seed=3").specs[0], 0)[1]
    assert scene_of(item, 3) is not None
    assert scene_of(replace(item, extra={}), 3) is None
    last = item.hops[-1]
    schema = replace(last.tool.schema, description="Another text.")
    changed = replace(last, tool=replace(last.tool, schema=schema))
    assert scene_of(replace(item, hops=(*item.hops[:-1], changed)), 3) is None
