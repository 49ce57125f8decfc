"""Scenarios of certified items: what is made, and that its label is shown and not asserted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio
import pytest

from benchmarks.scenarios import memory
from tests.inline import inline_sandbox
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.batch import run_batch
from toolhop_tools.certify.calls import KnownCalls
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.model import VERSION, Basis, Certificate, HopVerdict
from toolhop_tools.certify.prove import asked, certify
from toolhop_tools.certify.search import Search
from toolhop_tools.load import load
from toolhop_tools.model import EpisodeAction, Flaky, Hop, Item, Tool, ToolSchema
from toolhop_tools.reading import read_result
from toolhop_tools.scenarios import hazards
from toolhop_tools.scenarios.actions import TOOLS, Offer
from toolhop_tools.scenarios.hidden import FORMS, built_in
from toolhop_tools.scenarios.label import (
    BENCHMARK,
    MADE,
    TOOLBEHONEST,
    Label,
    Scenario,
    label_of,
    labelled,
    scenarios_of,
)
from toolhop_tools.scenarios.make import (
    TRANSFORMATIONS,
    Family,
    FamilyMaker,
    Recipe,
    make_all,
)
from toolhop_tools.scenarios.scene import Reason

BASIS = Basis(VERSION, 0, 60, 8, 10.0, 256, "none")
"""Short searches: a built-in item is proven by its first calls."""


def families(
    items: Sequence[Item], recipe: Recipe, *, chosen: Sequence[Item] | None = None
) -> dict[str, Family | None]:
    """What comes of items, by id; they are certified first."""
    found: dict[str, Family | None] = {}

    async def make() -> None:
        sandbox = inline_sandbox()
        wanted = items if chosen is None else chosen
        certificates: dict[str, Certificate] = {}
        for item in wanted:
            certificates[item.id] = await certify(item, sandbox, BASIS)
        maker = FamilyMaker(items, certificates, sandbox, recipe)
        await make_all(
            wanted, maker.family, at_a_time=2,
            on_family=lambda item, family: found.update({item.id: family}),
        )  # fmt: skip

    anyio.run(make)
    return found


TOWN: JSON = {"value": "Borough", "noun": "town", "instead": {"Borough": "the town"}}
MORE: JSON = {
    "value": 58, "noun": "other number",
    "instead": {
        "Add 58 to the": "Add another number to the", "927 and 58": "927 and another number",
    },
}  # fmt: skip
"""How questions go without a value."""
RIVERS = "{'Aldmere': 'Tessin', 'Borough': 'Wend', 'Carrow': 'Ilm', 'Dunfell': 'Quay'}"
LENGTHS = "{'Tessin': 411, 'Wend': 927, 'Ilm': 638, 'Quay': 752}"
FACTS = (
    "{'Tessin': {'length': 411, 'bridges': 12}, 'Wend': {'length': 927, 'bridges': 31},"
    " 'Ilm': {'length': 638, 'bridges': 17}, 'Quay': {'length': 752, 'bridges': 23}}"
)


def lookup(name: str, parameter: str, table: str, about: str, **more: JSON) -> Tool:
    """A tool that looks something up in a table."""
    source = (
        f"def {name}({parameter}):\n    table = {table}\n    if {parameter} not in table:\n"
        f"        raise ValueError('not known: ' + str({parameter}))\n"
        f"    return table[{parameter}]\n"
    )
    shown: dict[str, JSON] = {"type": "string", "description": f"The {parameter}.", **more}
    return program(name, source, about, {parameter: shown})


def program(name: str, source: str, about: str, properties: dict[str, JSON]) -> Tool:
    schema: dict[str, JSON] = {
        "type": "object", "properties": properties, "required": [*properties],
    }  # fmt: skip
    return Tool(ToolSchema(name, about, schema), Program(source, name))


RIVER = lookup("river_of", "town", RIVERS, "Which river flows through a town.")
LENGTH = lookup("river_length", "river", LENGTHS, "How long a river is, in kilometres.")
FACT = program(
    "river_fact",
    f"def river_fact(river, want):\n    table = {FACTS}\n    if river not in table:\n"
    "        raise ValueError('no such river')\n"
    "    return {'river': river, want: table[river][want]}\n",
    "A fact about a river.",
    {"river": {"type": "string"}, "want": {"type": "string", "enum": ["length", "bridges"]}},
)
SUM = program(
    "sum_of",
    "def sum_of(first, second):\n    return first + second\n",
    "Adds two numbers.",
    {"first": {"type": "integer"}, "second": {"type": "integer"}},
)


def two_hops(identity: str, first: Tool, second: Tool) -> Item:
    """An item of two hops over rivers that nobody knows."""
    hops = (
        Hop("Which river flows through Borough?", "Wend", first),
        Hop("How many kilometres long is the Wend?", "927", second),
    )
    question = "How many kilometres long is the river that flows through Borough?"
    extra: dict[str, JSON] = {FORMS: [TOWN]}
    return Item(identity, question, "927", hops, "rivers", "number", extra=extra)


OTHER = two_hops(
    "other",
    lookup("waters_of_town", "place", RIVERS, "The river that a town stands on."),
    lookup("wall_height", "wall", "{'North': 12, 'Mill Gate': 31}", "How high a wall is."),
)
PEAK = Item(
    "peak", "Who climbed Hornfell first?", "Ansgar",
    (Hop("Who climbed Hornfell first?", "Ansgar",
         lookup("climber_of", "peak", "{'Hornfell': 'Ansgar'}", "Who climbed a peak first.")),),
    "peaks", "name",
)  # fmt: skip
WHOLE = Item(
    "whole",
    "Add 58 to the number that is the length of the river that flows through Borough.",
    "985",
    (
        Hop("Which river flows through Borough?", "Wend", RIVER),
        Hop("What is the length of the Wend?", "927", FACT),
        Hop("What is the sum of 927 and 58?", "985", SUM),
    ),
    "rivers",
    "number",
    extra={FORMS: [TOWN, MORE]},
)
DATA = [WHOLE, OTHER, PEAK]
ALLOWED = [kind for kind in TRANSFORMATIONS if kind is not Scenario.MISSING_REPEATED]


def test_all_has_no_kind_that_only_an_export_needs_and_none_that_is_gone() -> None:
    assert scenarios_of("all") == MADE
    gone = {*Scenario} - {*MADE} - {*TOOLBEHONEST}
    assert {*scenarios_of("all,toolbehonest")} == {*Scenario} - gone
    for kind in gone:
        stored = labelled(PEAK, Label(kind, "peak", True), f"peak~{kind}")
        assert label_of(stored.gold).scenario is kind


def test_a_kind_that_is_gone_is_refused_with_the_reason() -> None:
    family = families(DATA, Recipe((Scenario.HIDDEN_OPTION,)), chosen=[WHOLE])["whole"]
    assert family is not None
    assert [one.reason for one in family.refused] == [Reason.NOT_MADE]


@pytest.fixture(scope="module")
def made() -> dict[str, tuple[Item, Label]]:
    """Scenarios of an item of three hops, by id."""
    family = families(DATA, Recipe(tuple(ALLOWED)), chosen=[WHOLE])["whole"]
    assert family is not None
    assert not family.refused
    return {item.id: (item, label_of(item.gold)) for item in family.items}


Made = dict[str, tuple[Item, Label]]


def of(made: Made, kind: Scenario) -> list[tuple[Item, Label]]:
    found = [pair for pair in made.values() if pair[1].scenario is kind]
    assert found, f"no item of {kind} was made"
    return found


def test_each_item_is_of_the_benchmark_and_knows_its_family(made: Made) -> None:
    for name, (item, label) in made.items():
        assert item.benchmark == BENCHMARK
        assert name.startswith(f"{label.family}~")
        assert {*item.order} <= item.all_tools.keys()
        assert label.solvable is (label.needs is None)
        assert label.solvable is not bool(label.lost)


def test_a_family_has_a_solvable_sibling_with_all_that_was_lost(made: Made) -> None:
    for item, label in made.values():
        if not label.solvable:
            own = f"{item.id}~solvable", f"{label.family}~plain"
            sibling, its = next(made[name] for name in own if name in made)
            assert its.solvable
            assert {hop.tool.name for hop in sibling.hops} <= sibling.tools.keys()


def test_no_tool_on_offer_proves_a_lost_hop(made: Made) -> None:
    """Searched for again, by whoever does not believe the label."""

    async def verdict(item: Item, at: int, tool: Tool) -> HopVerdict:
        async with inline_sandbox().session() as session:
            task = Task(replace(item.hops[at], tool=tool, gold=None), asked(item, at, {}))
            return (await Search(session, task, BASIS, "another seed").prove()).verdict

    unsolvable = [
        (item, label)
        for item, label in made.values()
        if not label.solvable and label.scenario is not Scenario.CALL_LIMIT
    ]
    for item, label in unsolvable[:12]:
        for number in label.lost:
            for tool in item.tools.values():
                if isinstance(tool.body, Program):
                    found = anyio.run(verdict, item, number - 1, tool)
                    assert found not in {HopVerdict.PROVEN, HopVerdict.AMBIGUOUS}, (item.id, tool)


def call(tool: Tool, arguments: Mapping[str, JSON]) -> Raised | Returned:
    async def run() -> Outcome:
        async with inline_sandbox().session() as session:
            return await session.call(tool.program, arguments)

    outcome = anyio.run(run)
    assert isinstance(outcome, Raised | Returned)
    return outcome


def test_the_gold_calls_of_solvable_items_give_their_answers(made: Made) -> None:
    for item, label in made.values():
        if label.solvable:
            for hop in item.hops:
                assert hop.gold is not None
                outcome = call(hop.tool, hop.gold.arguments)
                assert isinstance(outcome, Returned)
                value = read_result(outcome.json_text)
                assert judge(hop.answer, value, dict(hop.gold.arguments)) is not None


@pytest.mark.parametrize(
    "kind", [Scenario.MISSING_SINGLE, Scenario.MISSING_TOOL, Scenario.POTENTIAL_TOOL]
)
def test_a_missing_tool_is_not_on_offer(made: Made, kind: Scenario) -> None:
    for item, label in of(made, kind):
        lost = {item.hops[number - 1].tool.name for number in label.lost}
        assert not lost & item.tools.keys()
        assert label.needs is EpisodeAction.CHANGE_TOOLS
        for decoy in label.decoys:
            assert decoy in item.question
            assert decoy not in item.all_tools


def test_hidden_values_stand_nowhere(made: Made) -> None:
    for item, label in of(made, Scenario.MISSING_PARAMETER):
        assert label.needs is EpisodeAction.ASK_USER
        assert label.solvable_after
        for one in label.hidden:
            texts = [item.question, *(hop.question for hop in item.hops)]
            assert not any(str(one.value).lower() in text.lower() for text in texts)
            assert one.kind in {"the town", "the other number"}


def test_unmatched_tools_are_all_foreign_and_a_reserve_is_held_back(made: Made) -> None:
    for kind, back in ((Scenario.UNMATCHED, False), (Scenario.RESERVE, True)):
        for item, label in of(made, kind):
            own = {hop.tool.name for hop in item.hops}
            assert not own & item.tools.keys()
            assert {*label.reserve} == (own if back else set())
            assert label.solvable_after is back


def test_a_broken_tool_raises_and_no_other_does(made: Made) -> None:
    for item, label in of(made, Scenario.BROKEN_TOOL):
        for number, hop in enumerate(item.hops, 1):
            assert hop.gold is not None
            outcome = call(hop.tool, hop.gold.arguments)
            assert isinstance(outcome, Raised) is (number in label.lost)


def test_a_flaky_tool_has_its_program_and_fails_a_few_times(made: Made) -> None:
    for item, label in of(made, Scenario.FLAKY_TOOL):
        assert label.recovery is not None
        body = item.all_tools[next(iter(label.recovery))].body
        assert isinstance(body, Flaky)
        assert 1 <= body.failures <= 2


def test_a_family_shows_as_many_tools_and_some_that_read_records_on_both_sides() -> None:
    into = tuple(kind for kind in MADE if kind is not Scenario.CALL_LIMIT)
    some = load("builtin").items
    chosen = [item for item in some if item.id in {"film-1", "film-2"}]
    for family in families(some, Recipe(into), chosen=chosen).values():
        assert family is not None
        assert len({len(item.tools) for item in family.items}) == 1
        reads = {
            label.scenario
            for item, label in zip(family.items, family.labels, strict=True)
            if any("Reads a record." in tool.schema.description for tool in item.tools.values())
        }
        assert reads == {
            Scenario.BROKEN_TOOL, Scenario.UNMATCHED, Scenario.WRONG_ONCE, Scenario.WRONG_ALWAYS,
        }  # fmt: skip


def test_a_value_is_hidden_where_the_answer_depends_on_it() -> None:
    some = load("builtin").items
    chosen = [item for item in some if item.id == "computing-3"]
    # How many addresses a subnet has does not hang on which address of it is given.
    (family,) = families(some, Recipe((Scenario.MISSING_PARAMETER,)), chosen=chosen).values()
    assert family is not None
    hidden = {one.value for label in family.labels for one in label.hidden}
    reasons = {refused.reason for refused in family.refused}
    assert hidden == {"SSH"} or reasons == {Reason.NOT_NEEDED}


@pytest.mark.parametrize("kind", [Scenario.WRONG_ONCE, Scenario.WRONG_ALWAYS])
def test_a_wrong_value_is_contradicted_by_a_record_on_the_only_way(
    made: Made, kind: Scenario
) -> None:
    for item, label in of(made, kind):
        assert label.recovery is not None
        ((reads, arguments),) = label.recovery.items()
        at = next(n for n, hop in enumerate(item.hops) if hop.tool.name == reads)
        named, read = item.hops[at - 1 : at + 1]
        assert named.gold is not None
        assert read.gold is not None
        assert {*read.gold.arguments.values()} == {named.answer} == {*arguments.values()}
        body = named.tool.body
        wrong = body.first if isinstance(body, Flaky) else body
        assert isinstance(wrong, Program)
        assert isinstance(body, Flaky) is (kind is Scenario.WRONG_ONCE)
        copy = call(replace(named.tool, body=wrong), named.gold.arguments)
        record = call(read.tool, arguments)
        assert isinstance(copy, Returned)
        assert isinstance(record, Returned)
        value = read_result(copy.json_text)
        assert judge(read.answer, value, {}) is None
        assert judge(named.answer, value, {}) is not None
        assert judge(read.answer, read_result(record.json_text), {}) is not None
        if isinstance(body, Flaky):
            again = call(named.tool, named.gold.arguments)
            assert isinstance(again, Returned)
            assert judge(read.answer, read_result(again.json_text), {}) is not None
        others = {name: tool for name, tool in item.tools.items() if name != named.tool.name}
        assert not any(named.answer in str(tool.schema) for tool in others.values())


def test_what_is_broken_for_good_does_not_say_to_try_again() -> None:
    assert all("again" in text for text in hazards.BUSY)
    assert not any("again" in text for text in hazards.DOWN)


def test_clones_state_their_limits_and_none_or_one_fits(made: Made) -> None:
    for item, label in of(made, Scenario.LIMITED_CLONES):
        clones = [tool for tool in item.tools.values() if tool.name[-2:] in {"_a", "_b", "_c"}]
        gold = next(
            hop.gold for hop in item.hops
            if hop.tool in clones or any(c.name[:-2] == hop.tool.name for c in clones)
        )  # fmt: skip
        assert gold is not None
        fits = [isinstance(call(tool, gold.arguments), Returned) for tool in clones]
        assert sum(fits) == int(label.solvable)
        texts = {tool.schema.description for tool in clones}
        assert len(texts) == 3


def test_a_call_limit_is_below_the_hops_or_as_many(made: Made) -> None:
    for item, label in of(made, Scenario.CALL_LIMIT):
        limit = int(item.question.split("You may call tools ")[1].split()[0])
        assert (limit < len(item.hops)) is not label.solvable


def test_siblings_show_their_tools_in_one_order(made: Made) -> None:
    item, _ = made["whole~missing-tool"]
    own = "whole~missing-tool~solvable", "whole~plain"
    sibling, _ = next(made[name] for name in own if name in made)
    assert [name for name in sibling.order if name in item.order] == [*item.order]


def test_the_lost_tool_comes_to_some_items_and_its_calls_run() -> None:
    kept = set[bool]()
    for seed in range(6):
        family = families(DATA, Recipe((Scenario.MISSING_TOOL,), seed), chosen=[WHOLE])["whole"]
        assert family is not None
        item = family.items[0]
        label = label_of(item.gold)
        lost = {item.hops[number - 1].tool.name for number in label.lost}
        assert {*label.reserve} == (lost if label.solvable_after else set())
        assert not {*label.reserve} & item.tools.keys()
        kept.add(label.solvable_after)
    assert kept == {False, True}


@pytest.mark.parametrize("offer", Offer)
def test_items_have_the_actions_that_are_asked_for(offer: Offer) -> None:
    mayor = lookup("mayor_of", "town", "{'Aldmere': 'Ansgar'}", "Who is a town's mayor.")
    data = [*DATA, two_hops("more", mayor, lookup("age_of", "mayor", "{'Ansgar': 61}", "An age."))]
    family = families(data, Recipe((Scenario.PLAIN,), offer=offer), chosen=[WHOLE])["whole"]
    assert family is not None
    (item,) = family.items
    actions = [tool for tool in item.tools.values() if not isinstance(tool.body, Program)]
    assert actions == [*TOOLS[offer]]
    held = item.all_tools.keys() - item.tools.keys()
    assert bool(held) is (offer is Offer.ACTIONS)


def test_the_same_seed_makes_the_same_items_in_any_company() -> None:
    recipe = Recipe((Scenario.MISSING_TOOL, Scenario.UNMATCHED), seed=7)
    alone = families(DATA, recipe, chosen=[WHOLE])["whole"]
    assert alone == families(DATA, recipe, chosen=DATA)["whole"]
    assert any(
        alone != families(DATA, replace(recipe, seed=seed), chosen=[WHOLE])["whole"]
        for seed in range(3)
    )


def test_balanced_families_have_as_many_of_each() -> None:
    into = (Scenario.MISSING_TOOL, Scenario.BROKEN_TOOL, Scenario.FLAKY_TOOL, Scenario.RESERVE)
    family = families(DATA, Recipe(into, balanced=True), chosen=[WHOLE])["whole"]
    assert family is not None
    solvable = [label.solvable for label in family.labels]
    assert sum(solvable) * 2 == len(solvable) > 0


def test_a_hop_that_looks_something_up_is_lost_before_one_that_computes() -> None:
    for seed in range(4):
        family = families(DATA, Recipe((Scenario.MISSING_TOOL,), seed), chosen=[WHOLE])["whole"]
        assert family is not None
        assert all(label.lost != (3,) and not label.computed for label in family.labels)


# -- items written for what must not be made ---------------------------------------------------


def test_a_distractor_that_does_the_lost_job_is_taken_out() -> None:
    item = two_hops("rivers", RIVER, LENGTH)
    recipe = Recipe((Scenario.MISSING_SINGLE,))
    # Another seed loses the other hop.
    taken = set[str]()
    for seed in range(4):
        family = families([item, OTHER], replace(recipe, seed=seed), chosen=[item])["rivers"]
        assert family is not None
        made, sibling = family.items
        out = label_of(made.gold).checks.taken_out
        assert not {*out} & (made.all_tools.keys() | sibling.all_tools.keys())
        taken |= {*out}
    assert taken == {"waters_of_town"}


def taken_out_with(other: Item) -> dict[tuple[int, ...], set[str]]:
    """By the hops that an item of rivers loses, what is taken out of the tools on offer."""
    item = two_hops("rivers", RIVER, LENGTH)
    out = dict[tuple[int, ...], set[str]]()
    for seed in range(4):
        family = families([item, other], Recipe((Scenario.MISSING_TOOL,), seed), chosen=[item])
        found = family["rivers"]
        assert found is not None
        for label in found.labels:
            out.setdefault(label.lost, set()).update(label.checks.taken_out)
    return out


def test_a_tool_that_leads_over_the_lost_hop_is_taken_out() -> None:
    lengths = "{'Aldmere': 411, 'Borough': 927, 'Carrow': 638, 'Dunfell': 752}"
    over = lookup("length_by_town", "town", lengths, "How long the river of a town is.")
    other = replace(PEAK, others=(over,), order=("climber_of", "length_by_town"))
    assert taken_out_with(other)[1,] == {"length_by_town"}


def test_of_two_tools_that_do_the_lost_job_together_one_is_taken_out() -> None:
    codes, lengths = "{'Tessin': 'R-7', 'Wend': 'R-2'}", "{'R-7': 411, 'R-2': 927}"
    pair = (
        lookup("river_code", "river", codes, "The code of a river."),
        lookup("length_by_code", "code", lengths, "How many kilometres long a river is, by code."),
    )
    other = replace(PEAK, others=pair, order=("climber_of", "river_code", "length_by_code"))
    assert len(taken_out_with(other)[2,] & {"river_code", "length_by_code"}) == 1


def test_an_item_with_a_twin_of_its_own_does_not_lose_the_tool() -> None:
    """The other hop's tool knows rivers by town as well: then only its own loss is one."""
    both = lookup(
        "river_facts", "key", "{**" + RIVERS + ", **" + LENGTHS + "}",
        "The river of a town, or the length of a river in kilometres.",
    )  # fmt: skip
    item = two_hops("rivers", RIVER, both)
    for seed in range(4):
        family = families([item, OTHER], Recipe((Scenario.MISSING_TOOL,), seed), chosen=[item])
        found = family["rivers"]
        assert found is not None
        assert [label.lost for label in found.labels if not label.solvable] == [(2,)]


def test_one_tool_for_two_hops_is_found_by_running_it() -> None:
    both = lookup(
        "river_facts", "key", "{**" + RIVERS + ", **" + LENGTHS + "}",
        "The river of a town, or the length of a river in kilometres.",
    )  # fmt: skip
    item = two_hops("rivers", RIVER, both)
    found = families([item, OTHER], Recipe((Scenario.MISSING_REPEATED,)), chosen=[item])["rivers"]
    assert found is not None
    made, sibling = found.items
    assert label_of(made.gold).lost == (1, 2)
    assert {hop.tool.name for hop in sibling.hops} == {"river_facts"}
    assert [dict(hop.gold.arguments) for hop in sibling.hops if hop.gold] == [
        {"key": "Borough"},
        {"key": "Wend"},
    ]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"enum": ["Aldmere", "Borough", "Carrow"]}, id="one of three choices"),
        pytest.param({"default": "Borough"}, id="the default"),
        pytest.param({"description": "A town, such as Borough."}, id="the example"),
    ],
)
def test_a_value_that_can_be_guessed_is_not_hidden(more: dict[str, JSON]) -> None:
    item = two_hops("rivers", lookup("river_of", "town", RIVERS, "A town's river.", **more), LENGTH)
    family = families([item, OTHER], Recipe((Scenario.MISSING_PARAMETER,)), chosen=[item])["rivers"]
    assert family is not None
    assert [one.reason for one in family.refused] in ([Reason.STILL_SAID], [Reason.NOTHING_TO_HIDE])


def test_a_number_that_the_tools_description_has_as_an_example_is_not_hidden() -> None:
    for about, seen in (("Adds two numbers.", False), ("Adds, as fifty-eight, or 58.", True)):
        tool = replace(SUM, schema=replace(SUM.schema, description=about))
        item = replace(WHOLE, hops=(*WHOLE.hops[:2], replace(WHOLE.hops[2], tool=tool)))
        made = families([item, OTHER], Recipe((Scenario.MISSING_PARAMETER,)), chosen=[item])
        found = made["whole"]
        assert found is not None
        hidden = {one.value for label in found.labels for one in label.hidden}
        assert hidden == ({"Borough"} if seen else {58})


def test_without_a_form_no_value_is_hidden_and_a_form_that_still_says_it_is_refused() -> None:
    told: JSON = {"value": "Borough", "noun": "town", "instead": {"through Borough": "at Borough"}}
    for forms, why in (([], Reason.NO_FORM), ([told], Reason.STILL_SAID)):
        item = replace(two_hops("rivers", RIVER, LENGTH), extra={FORMS: forms})
        made = families([item, OTHER], Recipe((Scenario.MISSING_PARAMETER,)), chosen=[item])
        found = made["rivers"]
        assert found is not None
        assert [one.reason for one in found.refused] == [why]


def test_the_forms_ofbuilt_in_items_fit_them() -> None:
    items = {item.id: item for item in load("builtin").items}
    for name, forms in built_in().items():
        for form in forms:
            texts = [items[name].question, *(hop.question for hop in items[name].hops)]
            assert all(any(said in text for text in texts) for said in form.instead), name
            assert "certain" not in str(form.instead)


def test_an_item_that_is_not_proven_gives_nothing() -> None:
    wrong = lookup("river_length", "river", LENGTHS.replace("927", "928"), "How long a river is.")
    item = two_hops("rivers", RIVER, wrong)
    assert families([item, OTHER], Recipe((Scenario.PLAIN,)), chosen=[item]) == {"rivers": None}


def test_a_value_that_is_an_answer_too_is_not_hidden() -> None:
    """The user would never tell it."""
    towns = "{'Tessin': 'Aldmere', 'Wend': 'Borough', 'Ilm': 'Carrow', 'Quay': 'Dunfell'}"
    hops = (
        Hop("Which river flows through Borough?", "Wend", RIVER),
        Hop(
            "In which town does the Wend end?", "Borough", lookup("end", "river", towns, "An end.")
        ),
    )
    question = "In which town does the river end that flows through Borough?"
    extra: dict[str, JSON] = {FORMS: [TOWN]}
    item = Item("round", question, "Borough", hops, "rivers", "string", extra=extra)
    kinds = (Scenario.MISSING_PARAMETER,)
    family = families([item, OTHER], Recipe(kinds), chosen=[item])["round"]
    assert family is not None
    assert [one.reason for one in family.refused] == [Reason.IS_ANSWER]


def test_calls_that_searches_share_are_run_once_and_labels_do_not_hang_on_it() -> None:
    """The sentence of a limit or of decoys makes other searches of the same calls."""
    both = (Scenario.MISSING_TOOL, Scenario.POTENTIAL_TOOL)
    item = two_hops("rivers", RIVER, LENGTH)
    together = families([item, OTHER], Recipe(both), chosen=[item])["rivers"]
    apart = [families([item, OTHER], Recipe((one,)), chosen=[item])["rivers"] for one in both]
    assert together is not None
    assert together.calls < 0.8 * sum(one.calls for one in apart if one)
    labels = [label for one in apart if one for label in one.labels]
    assert [one for one in together.labels if not one.solvable] == [
        one for one in labels if not one.solvable
    ]


def test_known_calls_are_those_of_the_same_code_and_the_same_text() -> None:
    program = Program("def f(**given):\n    return list(given.items())\n", "f")
    other = Program("def f(**given):\n    return 'other'\n", "f")
    sets: list[dict[str, JSON]] = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1.0, "b": 2}]

    async def run() -> None:
        sandbox, known = inline_sandbox(), KnownCalls()
        async with sandbox.session() as session:
            first = await known(session, program, sets)
            assert first == await run_batch(session, program, sets)
            assert known.spared == 0
            assert await known(session, program, [*sets[1:], {"a": 3}]) == [
                *first[1:],
                *await run_batch(session, program, [{"a": 3}]),
            ]
            assert known.spared == 2
            assert await known(session, other, sets) == await run_batch(session, other, sets)
            assert known.spared == 2

    anyio.run(run)


def test_the_benchmark_of_memory_makes_items(capsys: pytest.CaptureFixture[str]) -> None:
    assert anyio.run(memory, 40, 2) == 0
    assert "MiB" in capsys.readouterr().out
