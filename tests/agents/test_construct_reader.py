"""Scripted checkers read questions and documents, and nothing else; the honest one reads right."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolhop_agents.scripted.constructor import honest, reader
from toolhop_agents.scripted.constructor.atlas import THEMES, journey
from toolhop_agents.scripted.constructor.model import script
from toolhop_tools.construct.rebuild import RebuiltPlan, form_findings
from toolhop_tools.construct.stages import Problem, Stage
from toolhop_tools.construct.text import filled
from toolhop_tools.model import ToolSchema

DOMAIN = "General"
ITEMS = [f"general-{number}" for number in range(1, 12 * len(THEMES) + 1)]


def documents(item: str) -> list[dict[str, Any]]:
    """In an order that is not the chain's."""
    hops = range(len(journey(item, DOMAIN).hops()), 0, -1)
    stage = {"stage": "refine", "item": item, "domain": DOMAIN}
    return [honest.reply({**stage, "hop": hop})["tool"] for hop in hops]


def calls(item: str) -> list[dict[str, Any]]:
    """The gold calls, with ``{k}``."""
    hops = range(1, len(journey(item, DOMAIN).hops()) + 1)
    stage = {"stage": "call", "item": item, "domain": DOMAIN}
    return [honest.reply({**stage, "hop": hop})["arguments"] for hop in hops]


def read(question: str, tools: list[dict[str, Any]], name: str = "honest", hop: int = 0) -> Any:  # noqa: ANN401 -- a plan, or what is wrong with one
    stage = Stage.REBUILD_HOP if hop else Stage.REBUILD
    inputs = {"stage": stage.value, "question": question, "tools": tools}
    return RebuiltPlan.read(script(name)(inputs, ()))


def test_every_question_of_the_scripted_constructor_is_read_as_it_is_meant() -> None:
    texts = set()
    for item in ITEMS:
        found = read(journey(item, DOMAIN).question(), documents(item))
        assert [one.arguments for one in found.steps] == calls(item), item
        assert [one.tool for one in found.steps] == [
            one["name"] for one in reversed(documents(item))
        ]
        texts.add(journey(item, DOMAIN).question().partition(" ")[0])
    assert {"Take", "Which", "What", "How"} <= texts


def test_every_sub_question_is_read_as_it_is_meant() -> None:
    for item in ITEMS:
        plan, tools = journey(item, DOMAIN), documents(item)
        record = next(one for one in plan.first if one[plan.theme.first] == plan.start)
        answers = [str(record[plan.theme.second]), *plan.values(record)]
        for at, ((question, _), gold) in enumerate(zip(plan.hops(), calls(item), strict=True), 1):
            [step] = read(filled(question, answers), tools, hop=at).steps
            assert step.tool == tools[-at]["name"], (item, question)
            plain = {key: str(value) for key, value in step.arguments.items()}
            assert plain == {key: filled(str(one), answers) for key, one in gold.items()}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("the calling code", "the former calling code", "former calling code"),
        ("the country in", "the neighbour of the country in", "the neighbour of"),
        ("sum of the digits", "product of the digits", "product"),
        ("the country in which", "the country that lays claim to", "lays claim"),
        ("?", ", the last digit left out?", "left out"),
    ],
)
def test_what_is_asked_otherwise_is_not_given(before: str, after: str, says: str) -> None:
    question = journey("geography-1", "Geography").question()
    assert before in question
    found = read(question.replace(before, after), documents("general-1"))
    assert (found.steps, says in found.not_given) == ([], True)


def test_what_documents_do_not_give_is_not_given() -> None:
    question, tools = journey("geography-1", "Geography").question(), documents("general-1")
    assert read(question, tools).steps
    for at in range(len(tools)):
        assert read(question, [*tools[:at], *tools[at + 1 :]]).not_given
    renamed = json.loads(json.dumps(tools).replace("calling_code", "dialling_prefix"))
    assert "calling code" in read(question, renamed).not_given
    other = {**tools[0], "name": "cube", "description": "Takes it times itself, twice."}
    assert "sum of the digits" in read(question, [other, *tools[1:]]).not_given


def test_a_result_that_is_an_object_is_read_where_the_document_says() -> None:
    question, tools = journey("geography-1", "Geography").question(), documents("general-1")
    said = ' The result is an object: "squares" is the sum of their squares, and "sum" is that.'
    tools[0]["description"] += said
    assert [one.answer_path for one in read(question, tools).steps] == [[], [], ["sum"]]


@pytest.mark.parametrize("name", [*reader.READERS])
def test_checkers_that_err_never_plan_the_chain(name: str) -> None:
    item = "general-1"
    tools = {one["name"]: ToolSchema(one["name"], one["description"], one["parameters"])
             for one in documents(item)}  # fmt: skip
    found = read(journey(item, DOMAIN).question(), documents(item), name)
    gold = [*reversed(documents(item))]
    if isinstance(found, RebuiltPlan) and found.steps and form_findings(found, tools, 20).ok:
        assert [one.tool for one in found.steps] != [one["name"] for one in gold]
    else:
        assert isinstance(found, Problem) == (name == "malformed")
