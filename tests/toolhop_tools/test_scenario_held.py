"""Code that holds a lost answer: the tool is not on offer, by whatever call it would give it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.toolhop_tools.test_scenario_ways import TEXT, WHOLE, table, tool
from tests.toolhop_tools.test_scenarios import OTHER, PEAK, families, lookup
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Hop, Item, Tool
from toolhop_tools.scenarios.held import code_of
from toolhop_tools.scenarios.hidden import FORMS
from toolhop_tools.scenarios.label import Scenario, label_of
from toolhop_tools.scenarios.make import Family, Recipe
from toolhop_tools.scenarios.scene import Reason
from toolhop_tools.scenarios.ways import Wanted

FOUNDERS = {"Old Mere": "Ada Quell", "North Gate": "Bo Tarn", "Low Quay": "Cy Wend"}
SEALS = {"Old Mere": 6748, "North Gate": 2911, "Low Quay": 8305}
OPENED = {"Old Mere": "1884-03-09", "North Gate": "1901-11-20", "Low Quay": "1847-06-02"}


def listed(body: str, values: dict[str, str] | dict[str, int]) -> str:
    return f"rows = {values!r}\n{body}"


WAYS: dict[str, tuple[str, Tool]] = {
    "in two fields": (
        "Ada Quell",
        tool(
            "head",
            listed(
                "given, family = rows[place].split()\nreturn {'g': given, 'f': family}", FOUNDERS
            ),
            place=TEXT,
        ),
    ),
    "family name first": (
        "Ada Quell",
        table("master", "place", {"Old Mere": "Quell, Ada", "Low Quay": "Wend, Cy"}),
    ),
    "by a slug": (
        "Ada Quell",
        tool(
            "card",
            listed(
                "return {k.lower().replace(' ', '-'): v for k, v in rows.items()}[slug]", FOUNDERS
            ),
            slug=TEXT,
        ),
    ),
    "by a template": (
        "Ada Quell",
        tool(
            "query",
            listed(
                "return [v for k, v in rows.items() if q == f\"SELECT it WHERE name = '{k}'\"]",
                FOUNDERS,
            ),
            q=TEXT,
        ),
    ),
    "by a pattern": (
        "Ada Quell",
        tool(
            "grep",
            listed(
                "import re\n"
                "return [k + '=' + v for k, v in rows.items() if re.fullmatch(p, k + '=' + v)]",
                FOUNDERS,
            ),
            p=TEXT,
        ),
    ),
    "by a nested argument": (
        "6748",
        tool(
            "answer_request",
            listed("return rows[request['about']['name']]", SEALS),
            request={"type": "object"},
        ),
    ),
    "in a range of dates": (
        "1884-03-09",
        tool(
            "between",
            listed("return {k: v for k, v in rows.items() if start <= v <= end}", OPENED),
            start=TEXT,
            end=TEXT,
        ),
    ),
    "in an error": (
        "Ada Quell",
        tool("seat", listed("raise LookupError(f'no seat {row}: {rows}')", FOUNDERS), row=TEXT),
    ),
    "in words": (
        "6748",
        table("in_words", "place", {"Old Mere": "six thousand seven hundred and forty-eight"}),
    ),
    "few in words": ("42", table("sign", "place", {"Old Mere": "forty-two beds"})),
    "in Roman numerals": ("6748", table("stone", "place", {"Old Mere": "MMMMMMDCCXLVIII"})),
    "digit by digit": ("6748", table("digits", "place", {"Old Mere": [6, 7, 4, 8]})),
    "beside another that an error names": (
        "Ada Quell",
        tool(
            "both",
            listed(
                "if one == other or one not in rows or other not in rows:\n"
                "    raise LookupError('two of: ' + ', '.join(rows))\n"
                "return [rows[one], rows[other]]",
                FOUNDERS,
            ),
            one=TEXT,
            other=TEXT,
        ),
    ),
    "by its place in a list": (
        "6748",
        tool("entry", listed("return sorted(rows.values())[number - 4000]", SEALS), number=WHOLE),
    ),
    "a unit away": ("927", table("miles", "river", {"Wend": 576.01, "Ilm": 396.4})),
    "thousands away": ("927", table("in_metres", "river", {"Wend": 927000, "Ilm": 638000})),
    "year, month and day apart": (
        "1884-03-09",
        table("opened", "place", {"Old Mere": {"year": 1884, "month": 3, "day": 9}}),
    ),
    "a day in words": ("1884-03-09", table("day", "place", {"Old Mere": "9 Mar 1884"})),
    "run together": ("Ada Quell", table("login", "place", {"Old Mere": "adaquell@heads.example"})),
    "as a keyword": (
        "Wend",
        tool("by_river", "return dict(Tessin='Aldmere', Wend='Borough')[river]", river=TEXT),
    ),
    "keyed by what nobody says": ("927", table("metres", "gauge", {"WND-01": 927, "TSN": 411})),
}


@pytest.mark.parametrize("way", WAYS)
def test_code_with_an_answer_in_some_notation_has_it(way: str) -> None:
    gold, made = WAYS[way]
    code = code_of(made.program)
    assert code is not None
    assert code.has(Wanted(gold))
    others = ("Elma Brook", "7213", "17", "1912-04-15", "Oder")
    assert not any(code.has(Wanted(other)) for other in others)


def test_what_only_documents_a_tool_is_not_what_it_holds() -> None:
    source = (
        '"""Founders, such as Ada Quell."""\n\n\ndef f(place):\n    """E.g. Ada Quell, 6748."""\n'
        "    # Ada Quell, 6748\n    return place[::-1] * 3\n"
    )
    code = code_of(Program(source, "f"))
    assert code is not None
    assert not any(code.has(Wanted(gold)) for gold in ("Ada Quell", "6748", "3"))


def of_places(gold: str, *own: Tool) -> Item:
    """An item whose first hop has the answer, with distractors of its own."""
    kind = "number" if gold.isdigit() else "name"
    known: dict[str, JSON] = {"Old Mere": int(gold) if gold.isdigit() else gold}
    first = lookup("ledger_of", "place", repr({**known, "Aldmere": "Om"}), "What a place has.")
    second = lookup(
        "toll_for", "thing", repr({str(known["Old Mere"]): "Sun 5"}), "The toll for it."
    )
    hops = (
        Hop("What does Old Mere have?", gold, first),
        Hop(f"What is the toll for {gold}?", "Sun 5", second),
    )
    form: JSON = {"value": "Old Mere", "noun": "place", "instead": {"Old Mere": "the place"}}
    question = "What is the toll for what Old Mere has?"
    item = Item("places", question, "Sun 5", hops, "places", kind, extra={FORMS: [form]})
    return replace(item, others=own, order=(*item.tools, *(one.name for one in own)))


def made_of(item: Item, kind: Scenario, seed: int = 0) -> Family:
    family = families([item, OTHER, PEAK], Recipe((kind,), seed), chosen=[item])[item.id]
    assert family is not None
    return family


KINDS = (Scenario.MISSING_TOOL, Scenario.BROKEN_TOOL, Scenario.MISSING_PARAMETER)


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_may_give_the_lost_answer_is_taken_out_of_every_kind(way: str) -> None:
    gold, holder = WAYS[way]
    harmless = table("mayor_of", "place", {"Old Mere": "Ansgar"})
    item = of_places(gold, holder, harmless)
    for kind in KINDS:
        # Other seeds lose the second hop, to which the answer is known.
        for seed in range(4):
            every = made_of(item, kind, seed).items
            lost = [made for made in every if label_of(made.gold).lost == (1,)]
            if lost:
                break
        assert lost
        for made in lost:
            assert holder.name in label_of(made.gold).checks.taken_out
            assert holder.name not in made.all_tools
            assert "mayor_of" in made.tools


def test_missing_and_broken_lose_the_same_hop_and_take_out_the_same_distractors() -> None:
    own = [made for gold, made in WAYS.values() if gold == "Ada Quell"]
    item = of_places("Ada Quell", *own, table("mayor_of", "place", {"Old Mere": "Ansgar"}))
    for seed in range(4):
        missing, broken = (
            next(label for label in made_of(item, kind, seed).labels if not label.solvable)
            for kind in (Scenario.MISSING_TOOL, Scenario.BROKEN_TOOL)
        )
        assert missing.lost == broken.lost
        distractors = {one.name for one in own}
        out = [distractors & {*label.checks.taken_out} for label in (missing, broken)]
        assert out[0] == out[1] == (distractors if missing.lost == (1,) else set())


def test_two_tools_that_have_a_name_between_them_do_not_both_stay() -> None:
    given = table("given", "place", {"Old Mere": "Ada", "North Gate": "Bo"})
    family_name = table("family", "place", {"Old Mere": "Quell", "North Gate": "Tarn"})
    item = of_places("Ada Quell", given, family_name)
    every = [
        label for seed in range(4) for label in made_of(item, Scenario.BROKEN_TOOL, seed).labels
    ]
    lost = [label for label in every if label.lost == (1,)]
    assert lost
    assert all(len({"given", "family"} & {*label.checks.taken_out}) == 1 for label in lost)


def test_a_tool_of_the_chain_that_has_what_it_is_not_asked_about_is_no_label() -> None:
    item = of_places("Ada Quell")
    knows = lookup("toll_for", "thing", repr({"Ada Quell": "Sun 5"}), "The toll.")
    early = lookup("town_of", "sign", repr({"Red": "Old Mere", "Blue": "Ada Quell"}), "A town.")
    first = Hop("Which town has the sign Red?", "Old Mere", early)
    hops = (first, item.hops[0], replace(item.hops[1], tool=knows))
    item = replace(item, question="What is the toll for what the town of the sign Red has?")
    item = replace(item, hops=hops, order=(), extra={})
    for kind in (Scenario.MISSING_TOOL, Scenario.BROKEN_TOOL):
        for seed in range(4):
            family = made_of(item, kind, seed)
            lost = [label.lost for label in family.labels if not label.solvable]
            assert (2,) not in lost
            assert lost or {one.reason for one in family.refused} <= {Reason.HELD, Reason.OWN_TOOL}


def test_code_that_cannot_be_read_is_undecided() -> None:
    assert code_of(Program("def f(:", "f")) is None
    assert code_of(Program("", "f")) is not None
