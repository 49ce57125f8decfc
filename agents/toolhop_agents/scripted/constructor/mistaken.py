"""Faults of a model whose texts say what its tools, tables and chain do not.

Kinds that somebody planted who had not read the checks, as far as a rule finds them since;
docs/construct.md says which of that family still pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolhop_agents.scripted.constructor.atlas import Journey
from toolhop_agents.scripted.constructor.plants import (
    FIRST,
    LAST,
    SECOND,
    C,
    Change,
    D,
    F,
    Plant,
    Q,
    R,
    Reply,
    T,
    in_code,
    of_question,
)

_OTHER_OPERATION: Mapping[str, tuple[str, str]] = {
    "sum_digits": ("the sum of", "the product of"),
    "total_letter_places": ("add up to", "multiply to"),
    "write_in_base": ("written in base", "read in base"),
    "shift_date": ("after", "before"),
}
_AT_THE_EDGE: Mapping[str, tuple[str, str]] = {
    "sum_digits": ("abs(int(number))", "max(int(number), 0)"),
    "total_letter_places": ('"a" <= sign <= "z"', "sign.isalpha()"),
    "write_in_base": ('return "-" + text if number < 0 else text', "return text"),
    "shift_date": ("int(amount) * DAYS", "abs(int(amount)) * DAYS"),
}


def _in_plan(hop: int, old: str, new: str) -> Change:
    """Changes words of a sub-question."""

    def change(reply: Reply, plan: Journey) -> None:
        own = reply["hops"][hop - 1]
        own["question"] = own["question"].replace(old, new)

    return change


def _describes(more: str) -> Change:
    def change(reply: Reply, plan: Journey) -> None:
        reply["tool"]["description"] += f" {more}"

    return change


def _code_for_name(reply: Reply, plan: Journey) -> None:
    key = reply["tool"]["parameters"]["properties"][plan.theme.first]
    key["description"] = f"Three-letter code of the {plan.theme.first}."


def _offers(field: str) -> Change:
    """The first tool has another field to choose: an attribute of what it leads to, or a text."""

    def change(reply: Reply, plan: Journey) -> None:
        choices = reply["tool"]["parameters"]["properties"]["field"]
        choices["enum"] = [*choices["enum"], field or plan.attribute.field]

    return change


def _other_values(reply: Reply, plan: Journey) -> None:
    key, field = plan.theme.second, plan.attribute.field
    names = [one[key] for one in plan.second]
    values = [one[field] for one in plan.second]
    for one in reply["records"]:
        one[field] = values[names.index(one[key]) - 3]


def _summaries(reply: Reply, plan: Journey) -> None:
    key, field = plan.theme.second, plan.attribute.field
    known = {one[key]: one[field] for one in plan.second}
    for one in reply["records"]:
        one["summary"] = f"It leads to {one[key]}, of which {known[one[key]]} is told."


def _another_form(reply: Reply, plan: Journey) -> None:
    """One value of a column in another form than the others."""
    kinds = {"number": "about 7", "date": "4 March 1915", "text": 7}
    reply["records"][-1][plan.attribute.field] = kinds[plan.attribute.kind]


def _no_edges(reply: Reply, plan: Journey) -> None:
    """Nothing negative, no sign beyond A to Z, and no option."""
    step, _ = plan.steps[0]
    plain = {step.argument, *(step.drawn[:1] if step.drawn else ())}
    reply["pairs"] = [
        one for one in reply["pairs"]
        if {*one["arguments"]} <= plain
        and all(str(value).isascii() and "-" not in str(value)[:1]
                for value in one["arguments"].values())
    ]  # fmt: skip


def _at_the_edge(reply: Reply, plan: Journey) -> None:
    in_code(*_AT_THE_EDGE[plan.steps[0][0].tool])(reply, plan)


def _other_operation(text: str, plan: Journey) -> str:
    old, new = _OTHER_OPERATION[plan.steps[-1][0].tool]
    return text.replace(old, new)


def _of_the_start(text: str, plan: Journey) -> str:
    theme = plan.theme
    about = f"the {theme.first} {plan.start} in its {theme.second}"
    return text.replace(theme.phrase.format(plan.start), about)


_EXAMPLE = 'For instance, "Zelphamoor" gives "Ostrabel".'
MISTAKEN: Mapping[str, Plant] = {
    "former-value": Plant(D, 0, _in_plan(SECOND, "the ", "the former ")),
    "hop-within-a-hop": Plant(D, 0, _in_plan(SECOND, " {1}", " the successor of {1}")),
    "clause-that-no-tool-knows": Plant(
        D, 0, lambda reply, plan: _in_plan(len(reply["hops"]), "?", ", the vowels left out?")(
            reply, plan)),
    "knowledge-of-one-year": Plant(T, SECOND, _describes("It holds what held in 1950 alone.")),
    "codes-for-names": Plant(R, FIRST, _code_for_name),
    "takes-several": Plant(R, FIRST, _describes(
        "Several names may be given at once, separated by commas.")),
    "example-that-is-not-so": Plant(R, FIRST, _describes(_EXAMPLE)),
    "forgives-articles": Plant(R, FIRST, _describes(
        "Articles, accents and hyphens in a name are ignored.")),
    "tables-that-contradict": Plant(R, FIRST, _offers(""), _other_values),
    "text-that-tells-ahead": Plant(R, FIRST, _offers("summary"), _summaries),
    "column-of-two-forms": Plant(F, SECOND, _another_form),
    "edges-left-out": Plant(F, LAST, _no_edges),
    "wrong-at-an-edge": Plant(C, LAST, _at_the_edge),
    "list-cut-off": Plant(C, FIRST, in_code(
        "for record in RECORDS)", "for record in RECORDS[:3])")),
    "spaces-left-out": Plant(C, FIRST, in_code(
        '" ".join(str(found).upper())', "str(found).upper()")),
    "other-operation-in-question": Plant(Q, 0, of_question(_other_operation)),
    "asked-of-the-start": Plant(Q, 0, of_question(_of_the_start)),
    "condition-in-question": Plant(Q, 0, of_question(
        lambda text, plan: f"{text[:-1]}, in Roman numerals?")),
}  # fmt: skip
FOUND_LATER_AGAIN = frozenset(
    {"former-value", "hop-within-a-hop", "clause-that-no-tool-knows", "codes-for-names"}
    | {"takes-several", "example-that-is-not-so", "forgives-articles", "tables-that-contradict"}
    | {"text-that-tells-ahead"}
)
"""Kinds that a later stage finds."""
