"""ToolBeHonest's scorer: the official one case by case, and the strict one beside it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED
from tests.env.made import finished, scored
from toolhop_env.benchmarks import named
from toolhop_env.benchmarks.toolbehonest.plans import (
    Condition,
    OfficialRaises,
    Plan,
    official,
    official_plan,
    official_steps,
    official_verdict,
    progress,
    strict,
    strict_plan,
    strict_verdict,
)
from toolhop_env.benchmarks.toolbehonest.scorer import (
    BENCHMARK as TOOLBEHONEST,
)
from toolhop_env.benchmarks.toolbehonest.scorer import (
    NAMES,
    Gold,
    facets,
    matching,
    questions,
    score,
)
from toolhop_env.estimates import totals
from toolhop_env.score import Values
from toolhop_env.trace import Trace
from toolhop_tools.benchmarks.toolbehonest.reader import UNSOLVABLE, survey
from toolhop_tools.model import Item

OWN = Path(__file__).parents[1] / "golden" / "toolbehonest_own.json"
"""Written for this project in the published format; the values were worked out by hand."""
PUBLISHED = SHARED / "golden" / "toolbh.json"
"""Made with the released code."""
LEVELS = ("level-1", "level-2", "level-3")
TITLES = {
    "Non-existent Tools": Condition.NON_EXISTENT_TOOLS,
    "Solvability Hallucination": Condition.SOLVABILITY_HALLUCINATION,
    "Wrong Tools": Condition.WRONG_TOOLS,
    "Wrong UnsolvableQuery Index": Condition.WRONG_UNSOLVABLE_INDEX,
    "Wrong Tool Reasoning": Condition.WRONG_REASONING,
    "Correct": Condition.CORRECT,
}


def trace(item: Item, mode: str, text: str) -> Trace:
    gold = TOOLBEHONEST.gold(item)
    return finished(text=text, gold=gold, mode=mode, item=item.id, benchmark="toolbehonest")


def items_of(rows: Sequence[Any], folder: Path) -> dict[str, Item]:
    path = folder / "rows.json"
    path.write_text(json.dumps(rows))
    found = survey(path)
    assert found.errors == ()
    return {item.id: item for item in found.dataset.items}


def answers_for(played: Trace, scores: Sequence[float]) -> dict[str, Any]:
    """Similarities that come to these matching scores of the gold's missing tools."""
    gold = Gold.of(played.started.gold)
    places = [place for place, step in enumerate(gold.plan) if step == UNSOLVABLE]
    asked = {one.text: one for one in questions(played)}
    found: dict[str, Any] = {}

    def note(text: str) -> list[float]:
        order.append(text)
        return [0.0] * len(gold.subtask_tools)

    order: list[str] = []
    plan = official_plan(played.final_text or "", 3)
    matching(plan, gold, note)
    compared = [p for p in places if p < len(plan.tools) and plan.tools[p] == UNSOLVABLE]
    by_place = dict(zip(places, scores, strict=True))
    for text, place in zip(order, compared, strict=True):
        question = asked[text]
        texts = list(question.others)
        index = texts.index(gold.tools[gold.solvable_plan[place]])
        value = by_place[place]
        alike = [0.99 if value < 1 else 0.0] * len(texts)
        alike[index] = value
        found[question.id] = alike
    return found


class Published:
    """The published cases, scored."""

    def __init__(self, folder: Path, option: str) -> None:
        self.case = json.loads(PUBLISHED.read_text())
        self.items = items_of(self.case["items"], folder)
        self.wanted = self.case["official"][option]
        self.soft = option == "soft"

    def values(self, item: str, level: int, text: str, wanted: Any) -> Values:
        played = trace(self.items[item], LEVELS[level - 1], text)
        scores = wanted.get("scorers") if isinstance(wanted, dict) else None
        return score(played, answers_for(played, scores) if scores else {})

    def all(self) -> list[tuple[str, int, Any, Values]]:
        found = []
        for subtask, levels in self.case["results"].items():
            for level in (1, 2, 3):
                for number, texts in enumerate(levels[f"level_{level}"]):
                    expected = self.wanted["per_sample"][subtask][f"level_{level}"][number]
                    for twin in ("solvable", "unsolvable"):
                        name = f"{subtask}-{number}-{twin}"
                        values = self.values(name, level, texts[twin], expected[twin])
                        found.append((name, level, expected[twin], values))
        return found


@pytest.fixture(params=["hard", "soft"])
def published(request: pytest.FixtureRequest, tmp_path: Path) -> Published:
    return Published(tmp_path, request.param)


def first(values: Values, name: str) -> float | None:
    parts = values[name]
    return None if parts is None else parts[0]


def condition_of(values: Values, prefix: str = "") -> Condition:
    (found,) = [one for one in Condition if first(values, f"{prefix}{one}")]
    return found


@pytest.mark.data
def test_every_published_sample_has_the_released_codes_values(published: Published) -> None:
    wrong = []
    found = published.all()
    for name, level, wanted, values in found:
        if level == 1:
            measure = "score" if "-unsolvable" in name else "score_solvable"
            same = first(values, measure) == wanted
        elif not name.endswith("-unsolvable"):
            same = published.soft or first(values, "score_solvable") == wanted["progress_rate"]
        else:
            rate = first(values, "progress_soft" if published.soft else "progress")
            said = wanted["condition"].replace("hallu", "hallucination")
            same = rate == wanted["progress_rate"] and (
                published.soft or condition_of(values) == said
            )
            if level == 3:
                mean = sum(wanted["scorers"]) / len(wanted["scorers"])
                match = first(values, "matching")
                same = same and match is not None and abs(match - mean) < 1e-12
        if not same:
            wrong.append((name, level, wanted, dict(values)))
    assert (len(found), wrong) == (336, [])


@pytest.mark.data
def test_groups_total_and_error_counts_are_the_released_codes(tmp_path: Path) -> None:
    published = Published(tmp_path, "hard")
    sums: dict[tuple[str, str], list[float]] = defaultdict(list)
    errors: Counter[tuple[str, Condition]] = Counter()
    found = published.all()
    for name, level, _, values in found:
        group = facets(dict(published.items[name].gold))
        if group["twin"] == "solvable":
            continue
        named_ = ["Level 1 Exact Match", "Level 2 Progress Rate", "Level 3 Progress Rate"][
            level - 1
        ]
        main = first(values, "score" if level == 1 else "progress")
        assert main is not None
        sums[group["scenario"], named_].append(main)
        if level == 3:
            match = first(values, "matching")
            assert match is not None
            sums[group["scenario"], "Level 3 Matching Score"].append(match)
        if level > 1:
            for scenario in (group["scenario"], "Overall"):
                errors[f"LeveL {level} / {scenario}", condition_of(values)] += 1
    for (scenario, name), each in sums.items():
        wanted = published.wanted["group_results"][scenario][name]
        assert sum(each) / len(each) == pytest.approx(wanted, abs=1e-12)
    attempts = [
        scored("toolbehonest", name, f"level-{level}", values) for name, level, _, values in found
    ]
    total = totals(TOOLBEHONEST, attempts)["overall"]["score"]
    assert total is not None
    wanted = published.wanted["group_results"]["overall"]["overall"]
    assert total.value == pytest.approx(wanted, abs=1e-12)
    counted = {
        (group, TITLES[title]): count
        for group, titles in published.wanted["analysis_results"].items()
        for title, count in titles.items()
        if count
    }
    assert counted == dict(errors)


@pytest.mark.data
def test_reference_agents_have_the_released_codes_group_figures(tmp_path: Path) -> None:
    published = Published(tmp_path, "hard")
    for reference in published.case["reference_models"].values():
        sums: dict[tuple[str, int], list[float]] = defaultdict(list)
        for subtask, levels in reference["results"].items():
            for level in (1, 2, 3):
                for number, texts in enumerate(levels[f"level_{level}"]):
                    name = f"{subtask}-{number}-unsolvable"
                    played = trace(published.items[name], LEVELS[level - 1], texts["unsolvable"])
                    values = score(played, {})
                    main = first(values, "score" if level == 1 else "progress")
                    assert main is not None
                    sums[facets(dict(published.items[name].gold))["scenario"], level].append(main)
        for (scenario, level), each in sums.items():
            kind = "Exact Match" if level == 1 else "Progress Rate"
            wanted = reference["group_results"][scenario][f"Level {level} {kind}"]
            assert sum(each) / len(each) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.data
def test_the_published_unit_cases() -> None:
    case = json.loads(PUBLISHED.read_text())
    for one in case["progress_rate_cases"]:
        rates = [progress(one["pred"], one["gold"], soft=soft) for soft in (False, True)]
        assert rates == [one["hard"], one["soft"]], one
    for one in case["level3_extraction_cases"]:
        plan = official_steps(one["answer_text"])
        assert [list(plan.subgoals), list(plan.tools)] == one["official"], one
    for one in case["planning_condition_cases"]:
        arguments = (one["pred"], one["gold"], one["provided"], 2)
        if isinstance(one["official"], dict):
            with pytest.raises(OfficialRaises, match="is not in list"):
                official(*arguments)
        else:
            rate, condition = official(*arguments)
            said = one["official"][1].replace("hallu", "hallucination")
            assert [rate, condition] == [one["official"][0], said], one


@pytest.fixture
def own(tmp_path: Path) -> tuple[dict[str, Item], Sequence[Mapping[str, Any]]]:
    case = json.loads(OWN.read_text())
    return items_of(case["rows"], tmp_path), case["cases"]


def test_every_own_case_has_its_values(
    own: tuple[dict[str, Item], Sequence[Mapping[str, Any]]],
) -> None:
    items, cases = own
    assert len(cases) >= 25
    wrong = []
    for one in cases:
        played = trace(items[one["item"]], one["mode"], one["text"])
        answers = {}
        if "alike" in one:
            for question in questions(played):
                named_ = [name for name, _ in Gold.of(items[one["item"]].gold).subtask_tools]
                answers[question.id] = [one["alike"].get(name, 0.0) for name in named_]
        values = score(played, answers)
        found = {
            name: None if (p := values[name]) is None else p[0] / p[1] for name in one["values"]
        }
        if found != one["values"]:
            wrong.append((one["why"], found, one["values"]))
    assert wrong == []


def test_a_score_names_every_measure(own: tuple[dict[str, Item], Any]) -> None:
    items, _ = own
    for item in items.values():
        for mode in TOOLBEHONEST.modes:
            assert set(score(trace(item, mode, ""), {})) == set(NAMES)
    assert named("toolbehonest").version == TOOLBEHONEST.version


def test_without_a_judge_level_3_has_no_official_value_and_its_progress_stands(
    own: tuple[dict[str, Item], Any],
) -> None:
    items, _ = own
    item = items["single_step-0-unsolvable"]
    text = "<answer>Subgoal 1: Ring a bell. Planned tool: UnsolvableQuery</answer>"
    values = score(trace(item, "level-3", text), {})
    assert (values["score"], values["matching"]) == (None, None)
    assert values["progress"] == (1.0, 1.0)


def test_the_same_description_is_asked_once(own: tuple[dict[str, Item], Any]) -> None:
    items, _ = own
    item = items["multi_step_w_rep-0-unsolvable"]
    step = "Subgoal {}: Paint it. Planned tool: UnsolvableQuery"
    text = f"<answer>{step.format(1)}\n{step.format(2)}</answer>"
    (question,) = questions(trace(item, "level-3", text))
    assert question.text == "Paint it."
    assert question.others == tuple(text for _, text in Gold.of(item.gold).subtask_tools)
    assert questions(trace(item, "level-2", text)) == []


@pytest.mark.parametrize(
    ("text", "theirs", "ours"),
    [
        ("<answer>unsolvable</answer>", "unsolvable", "unsolvable"),
        ("<answer>\nunsolvable\n</answer>", "", "unsolvable"),
        ("<answer> **Unsolvable.** </answer>", "**unsolvable.**", "unsolvable"),
        ("unsolvable", "", ""),
    ],
)
def test_level_1_is_read(text: str, theirs: str, ours: str) -> None:
    assert (official_verdict(text), strict_verdict(text)) == (theirs, ours)


@pytest.mark.parametrize(
    ("answer", "tools"),
    [
        ("Subgoal 1: a Planned tool: [X]", ["X"]),
        ("Subgoal 1: a\nPlanned tool: X.\nSubgoal 2: b Planned tool: Finish", ["X"]),
        ("subgoal 1: a\nwith care planned tool: X\nWhy: so", ["X"]),
        ("Subgoal 1: a\nSubgoal 2: b Planned tool: Y", ["", "Y"]),
        ("Subgoal 1：a Planned tool：UnsovlableQuery", [UNSOLVABLE]),
    ],
)
def test_the_strict_reading_drops_no_step(answer: str, tools: list[str]) -> None:
    plan = strict_plan(f"<answer>{answer}</answer>", 3)
    assert plan.tools == tools
    assert len(plan.subgoals) == len(tools)


def test_strict_counts_what_comes_beyond_the_gold() -> None:
    gold = ["A", UNSOLVABLE, "B"]
    known = ["A", "B", "C"]
    assert official([*gold, "B"], gold, known, 2) == (1.0, Condition.CORRECT)
    assert strict([*gold, "B"], gold, known) == (0.75, Condition.WRONG_REASONING)
    assert strict(gold, gold, known) == (1.0, Condition.CORRECT)


def test_strict_judges_by_the_tools_that_were_shown(own: tuple[dict[str, Item], Any]) -> None:
    """The removed tool is no tool any more; the official code takes it for one."""
    items, _ = own
    text = "<answer>Bell\nUnsolvableQuery</answer>"
    removed = score(trace(items["single_step-0-unsolvable"], "level-2", text), {})
    assert condition_of(removed) is Condition.WRONG_TOOLS
    assert condition_of(removed, "strict_") is Condition.NON_EXISTENT_TOOLS


@pytest.mark.parametrize(
    ("item", "mode", "text", "gap"),
    [
        ("single_step-0-unsolvable", "level-1", "<answer>\nunsolvable</answer>",
         "officially in another form"),
        ("single_step-0-unsolvable", "level-1", "<answer>solvable</answer>", None),
        ("multi_step_wo_rep-0-unsolvable", "level-2",
         "<answer>Saw\nUnsolvableQuery\nBrush\nBrush</answer>", "strictly wrong reasoning"),
        ("multi_step_wo_rep-0-unsolvable", "level-2",
         "<answer>Saw \nUnsolvableQuery\nBrush</answer>", "officially non existent tools"),
    ],
)  # fmt: skip
def test_why_the_scorers_differ(
    item: str, mode: str, text: str, gap: str | None, own: tuple[dict[str, Item], Any]
) -> None:
    assert TOOLBEHONEST.presentation.explain_gap(trace(own[0][item], mode, text)) == gap


def test_a_match_needs_its_similarity_under_the_strict_rule() -> None:
    gold = Gold(
        solvable=False, plan=[UNSOLVABLE], solvable_plan=["Bell"], tools={"Bell": "Rings."},
        own_tools=[], subtask_tools=[("Bell", "Rings."), ("Axe", "Cuts.")],
    )  # fmt: skip
    plan = Plan([UNSOLVABLE], ["Subgoal 1: Bananas are yellow."])
    for least, near in ((None, 1.0), (0.5, 0.14)):
        assert matching(plan, gold, lambda _: [0.14, -0.2], least=least) == [near]
    assert matching(plan, gold, lambda _: [-0.1, 0.0]) == [-0.1]
    assert matching(plan, gold, lambda _: [-0.1, 0.0], least=0.5) == [0.0]
