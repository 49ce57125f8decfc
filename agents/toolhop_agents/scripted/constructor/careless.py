"""Faults of a model that writes fluently and checks nothing: planted before the checks were read.

Each passed when it was first planted, and such a one is found today; docs/construct.md says which
of that family still pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolhop_agents.scripted.constructor.atlas import Journey
from toolhop_agents.scripted.constructor.plants import (
    FIRST,
    LAST,
    SECOND,
    Change,
    D,
    F,
    Plant,
    Q,
    R,
    Reply,
    T,
    of_question,
    put,
)


def _says(more: str) -> Change:
    """Adds a sentence to the tool's description."""

    def change(reply: Reply, plan: Journey) -> None:
        reply["tool"]["description"] += f" {more}"

    return change


def _of_key(**keywords: Any) -> Change:  # noqa: ANN401 -- any JSON value
    """Changes what the first tool's document says of its key."""

    def change(reply: Reply, plan: Journey) -> None:
        reply["tool"]["parameters"]["properties"][plan.theme.first].update(keywords)

    return change


def _coded(reply: Reply, plan: Journey) -> None:
    letters = reply["tool"]["parameters"]["properties"]["letters"]
    letters.update(description="Mode of the value.", enum=["1", "2"], default="1")


def _other_default(reply: Reply, plan: Journey) -> None:
    reply["tool"]["parameters"]["properties"]["letters"]["description"] += " Default: capitals."


def _exchanged(reply: Reply, plan: Journey) -> None:
    own = reply["tool"]["parameters"]["properties"]
    key, field = own[plan.theme.first], own["field"]
    key["description"], field["description"] = field["description"], key["description"]


def _census(reply: Reply, plan: Journey) -> None:
    hop = reply["hops"][1]
    hop["question"] = f"{hop['question'][:-1]} by the census of 1931?"


def _made_of_keys(reply: Reply, plan: Journey) -> None:
    for one in reply["records"]:
        one[plan.theme.second] = f"{one[plan.theme.first]}ia"


def _numbered(reply: Reply, plan: Journey) -> None:
    key = plan.theme.first
    for number, one in enumerate(reply["records"]):
        one[key] = one[key] if one[key] == plan.start else f"Entity {number}"


def _other_column(reply: Reply, plan: Journey) -> None:
    for one in reply["records"]:
        one["page_number"] = one[plan.attribute.field]
    reply["lookup"]["answer"] = "page_number"


def _narrow(reply: Reply, plan: Journey) -> None:
    """No pair but with few digits or letters, where the document allows many."""
    del reply["pairs"][0]


def _each_result(change: Callable[[Any], str]) -> Change:
    def changed(reply: Reply, plan: Journey) -> None:
        for pair in reply["pairs"]:
            pair["result"] = change(pair["result"])

    return changed


CARELESS: Mapping[str, Plant] = {
    "unchecked-condition": Plant(D, 0, _census),
    "misnamed-tool": Plant(T, SECOND, put("tool", "name", to="tune_guitar_strings")),
    "failing-example-of-key": Plant(R, FIRST, _of_key(examples=["Avalune", "Kessmar"])),
    "wrong-format-of-key": Plant(R, FIRST, _of_key(description="Code, such as FR.")),
    "promised-list": Plant(R, LAST, _says("It returns a list of values.")),
    "promised-object": Plant(R, FIRST, _says("The result is an object with a name and a value.")),
    "promised-null": Plant(R, FIRST, _says("For an unknown name it returns null.")),
    "descriptions-exchanged": Plant(R, FIRST, _exchanged),
    "ghost-parameter": Plant(R, FIRST, _says("Set language to have another language.")),
    "other-default-in-words": Plant(R, FIRST, _other_default),
    "codes-as-choices": Plant(R, FIRST, _coded),
    "answers-made-of-keys": Plant(F, FIRST, _made_of_keys),
    "numbered-others": Plant(F, FIRST, _numbered),
    "answer-in-other-column": Plant(F, SECOND, _other_column),
    "pairs-of-few-digits": Plant(F, LAST, _narrow),
    "answer-with-remark": Plant(F, LAST, _each_result("{} in total".format)),
    "answer-in-two-forms": Plant(F, LAST, _each_result("{0} or {0}.0".format)),
    "unused-number-in-question": Plant(
        Q, 0, of_question(lambda text, plan: f"{text[:-1]} (it has 31415 readers)?")
    ),
}
FOUND_LATER_STILL = frozenset(
    {"unchecked-condition", "failing-example-of-key", "wrong-format-of-key"}
    | {"promised-list", "promised-object", "promised-null"}
)
"""Kinds that a later stage finds."""
