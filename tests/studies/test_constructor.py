"""The scripted constructor keeps its own promises, and its faults are what they are said to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from studies import faults
from studies.construct import FILES, kills
from studies.constructor import honest, reader
from studies.constructor.atlas import journey
from studies.constructor.kinds import PLANTS
from studies.constructor.plants import Reads, planted
from studies.constructor.serving import BASES, plant_of, script
from studies.toolhop_seeds import refusals
from tests.conftest import SHARED
from toolhop_tools.construct.contract import schema_of
from toolhop_tools.construct.replies import Pairs, Records, RefinedTool
from toolhop_tools.construct.trials import trials

DRAWS = 300


def inputs(item: str, domain: str, stage: str, hop: int = 0) -> dict[str, Any]:
    call: dict[str, Any] = {"call": faults._call(item, hop)} if stage == "facts" else {}
    return {"item": item, "domain": domain, "stage": stage, "hop": hop, **call}


def function(code: str, name: str, facts: dict[str, Any]) -> Any:
    names: dict[str, Any] = {"RECORDS": facts.get("records")}
    exec(code, names)  # noqa: S102 -- the study's own code
    return names[name]


@pytest.mark.parametrize(("item", "domain"), BASES)
@pytest.mark.parametrize("hop", [1, 2, 3])
@pytest.mark.parametrize("stage", ["code", "second"])
def test_both_functions_of_the_honest_constructor_keep_its_contract(
    item: str, domain: str, hop: int, stage: str
) -> None:
    refined = RefinedTool.read(json.dumps(honest.reply(inputs(item, domain, "refine", hop))))
    facts = honest.reply(inputs(item, domain, "facts", hop))
    read = (Records if hop < 3 else Pairs).read(json.dumps(facts))
    assert isinstance(refined, RefinedTool)
    assert isinstance(read, Records | Pairs)
    code = honest.reply(inputs(item, domain, stage, hop))["code"]
    run = function(code, refined.tool.name, facts)
    tried = [*trials(schema_of(refined.tool, refined.contract), refined.contract, read)]
    assert len(tried) > 3
    for trial in tried:
        assert trial.wrong([run(**call) for call in trial.calls]) == ""
    for pair in facts.get("pairs", ()):
        assert run(**pair["arguments"]) == pair["result"]


def test_the_scripted_reader_knows_every_question_of_the_scripted_constructor() -> None:
    for number in range(1, 25):
        plan = journey(f"general-{number}", "General")
        other = str(plan.first[3][plan.theme.first])
        for start in (plan.start, other):
            steps = json.loads(reader.honest(plan.question(start)))["steps"]
            assert steps[0]["arguments"] == {plan.theme.first: start}
            assert [step["tool"] for step in steps] == [
                step["tool"] for step in reader.plan_of(plan, start)
            ]
    assert "not_given" in json.loads(reader.honest("What is the price of tea in Orun?"))


@pytest.mark.parametrize("kind", PLANTS)
def test_every_kind_of_fault_is_in_some_item(kind: str) -> None:
    assert any(faults._planted_here(PLANTS[kind], *base) for base in BASES)
    stage, hop = PLANTS[kind].place
    [item, domain] = BASES[0]
    given = inputs(item, domain, stage.value, hop)
    plain = json.dumps(honest.reply(given), ensure_ascii=False)
    assert planted(PLANTS[kind], given, now=False) == plain
    assert script(f"faulty:{kind}")(given, ["repair it"]) == plain


def test_items_go_through_all_kinds_in_turn() -> None:
    count = len(PLANTS)
    assert [plant_of(f"general-{n}")[0] for n in range(1, count + 1)] == [*PLANTS]
    assert plant_of(f"general-{count + 1}") == (next(iter(PLANTS)), BASES[1])


def test_a_plan_that_reads_otherwise_has_other_calls() -> None:
    for plant in PLANTS.values():
        assert (plant.reads is Reads.OTHERWISE) == (plant.plan is not None)
        if plant.plan is not None:
            plan = journey(*BASES[1])
            steps = reader.plan_of(plan, plan.start)
            plant.plan(steps, plan)
            assert steps != reader.plan_of(plan, plan.start)


def test_the_kept_verdicts_are_of_all_kinds_and_what_the_docs_say() -> None:
    verdicts = faults.kept()
    assert {verdict.kind for verdict in verdicts} == {*PLANTS}
    executed = sum(verdict.executed for verdict in verdicts)
    assert (executed, len(verdicts)) == (363, 458)
    together = faults.drawn(verdicts, 0.0, alike=False, seed=0).together
    assert round(100 * together) == 93


def test_players_who_always_err_catch_nothing_and_alike_ones_catch_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(faults, "DRAWS", DRAWS)
    open_ones = [
        verdict for verdict in faults.kept() if verdict.reads == Reads.DOUBTS and not verdict.second
    ]
    none = faults.drawn(open_ones, 1.0, alike=False, seed=1)
    assert (none.second, none.readers) == (0, 0)
    apart = faults.drawn(open_ones, 0.3, alike=False, seed=1).readers
    alike = faults.drawn(open_ones, 0.3, alike=True, seed=1).readers
    # Of three who err apart, two or three: 3 * 0.3^2 * 0.7 + 0.3^3 = 0.216.
    assert apart == pytest.approx(1 - 0.216, abs=0.02)
    assert alike == pytest.approx(0.7, abs=0.02)
    assert faults.refused_right(0.1, alike=False) == pytest.approx(0.271)


def test_the_table_has_a_row_for_each_sort_and_one_for_all() -> None:
    verdicts = [v for v in faults.kept() if v.base == "geography-1"][::3]
    text = faults.table(verdicts)
    assert text.count("\n| ") == 11
    assert f"| all | {len(verdicts)} |" in text


@pytest.mark.data
def test_of_toolhops_own_rows_few_are_refused_before_a_model_is_asked() -> None:
    rows = json.loads((SHARED / "toolhop" / "ToolHop-60.json").read_text(encoding="utf-8"))
    refused = {row["id"]: [*refusals(row)] for row in rows}
    assert {key: len(why) for key, why in refused.items() if why} == {
        50: 1, 492: 1, 516: 1, 747: 1, 861: 1,
    }  # fmt: skip


def test_what_real_readers_said_is_what_the_page_tells() -> None:
    page = (Path(__file__).parents[2] / "docs" / "measured.md").read_text(encoding="utf-8")
    disputed, agreed = faults.by_real_readers(faults.kept())
    assert "17 of 18" in disputed
    assert "1 of 13" in agreed
    assert "17 of 18" in page
    assert "1 of 13" in page


@pytest.mark.heavy
def test_a_study_kills_a_construction_and_resumes_it(tmp_path: Path) -> None:
    _, _, *same = kills(tmp_path, "process", count=1, items=1, readers=False)
    assert same == [f"{name}: the same bytes" for name in FILES]
