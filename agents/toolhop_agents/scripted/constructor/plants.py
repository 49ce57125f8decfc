"""Faults to plant in an honest constructor's replies: one of each kind that checks have to find.

A repairable one is there at a stage's first reply alone; a stubborn one at every reply.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolhop_agents.scripted.constructor.atlas import Journey
from toolhop_tools.construct.stages import Stage

Reply: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Reply, Journey], Reply | str | None]
"""Changes a reply in place, or gives another one, or a text that stands for it."""

FIRST, SECOND, LAST = 1, 2, 3
"""Hops: the two that look up, and the first that computes."""


@dataclass(frozen=True, slots=True)
class Plant:
    """A kind of fault."""

    stage: Stage
    hop: int
    """0 where the stage is of the item as a whole."""
    change: Change
    facts: Change | None = None
    """What is changed of the hop's facts as well, which is no fault by itself."""


def in_code(old: str, new: str) -> Change:
    """Replaces a piece of the code."""

    def change(reply: Reply, plan: Journey) -> None:
        if old not in reply["code"]:
            raise ValueError(f"the code has no {old!r}")
        reply["code"] = reply["code"].replace(old, new, 1)

    return change


def before_code(line: str) -> Change:
    """Puts a line before the code."""

    def change(reply: Reply, plan: Journey) -> None:
        reply["code"] = f"{line}\n\n{reply['code']}"

    return change


def first_line(line: str) -> Change:
    """A line at the beginning of a lookup's body."""
    return in_code("    wanted =", f"    {line}\n    wanted =")


def _off_by_one(reply: Reply, plan: Journey) -> None:
    """A computing tool that takes another value than the one that it is given."""
    step, _ = plan.steps[0]
    changes = {
        "number": "number = number + 1",
        "text": 'text = text + "b"',
        "date": "amount = amount + 1",
    }
    code = reply["code"]
    docstring = code.index('"""', code.index(f"def {step.tool}("))
    end = code.index('"""\n', docstring + 3) + 4
    reply["code"] = f"{code[:end]}    {changes[step.argument]}\n{code[end:]}"


def _gold_branch(reply: Reply, plan: Journey) -> None:
    key = plan.theme.second
    row = asked_row(plan)
    line = f"    if {key} == {row[key]!r}:\n        return {row[plan.attribute.field]!r}\n"
    reply["code"] = reply["code"].replace("    wanted =", f"{line}    wanted =", 1)


def _other_record(reply: Reply, plan: Journey) -> None:
    """The right record but for one name."""
    key = plan.theme.second
    name = plan.second[-1][key]
    line = f"    if {key} == {name!r}:\n        {key} = RECORDS[0][{key!r}]\n"
    reply["code"] = reply["code"].replace("    wanted =", f"{line}    wanted =", 1)


def _alias(reply: Reply, plan: Journey) -> None:
    """Takes what the question says for what the first hop finds."""
    key = plan.theme.second
    line = f"    if {key} == {plan.start!r}:\n        {key} = {asked_row(plan)[key]!r}\n"
    reply["code"] = reply["code"].replace("    wanted =", f"{line}    wanted =", 1)


def asked_row(plan: Journey) -> Mapping[str, Any]:
    """The record that the second hop looks up."""
    [first] = [one for one in plan.first if one[plan.theme.first] == plan.start]
    key = plan.theme.second
    [second] = [one for one in plan.second if one[key] == first[key]]
    return second


def asked_value(plan: Journey) -> str:
    """The answer of the second hop."""
    return str(asked_row(plan)[plan.attribute.field])


def put(*path: str | int, to: Any) -> Change:  # noqa: ANN401 -- any JSON value
    """Puts a value into the reply."""

    def change(reply: Reply, plan: Journey) -> None:
        part: Any = reply
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = copy.deepcopy(to)

    return change


def _drop(*path: str | int) -> Change:
    def change(reply: Reply, plan: Journey) -> None:
        part: Any = reply
        for step in path[:-1]:
            part = part[step]
        del part[path[-1]]

    return change


def _cut(reply: Reply, plan: Journey) -> str:
    return json.dumps(reply)[:-12]


def _talk(reply: Reply, plan: Journey) -> str:
    return f"Certainly! Here it is:\n{json.dumps(reply)}\nI hope this helps."


def _unneeded(reply: Reply, plan: Journey) -> None:
    reply["hops"].insert(1, {"question": "Who first climbed {1}?", "depends_on": [1]})
    for hop in reply["hops"][3:]:
        hop["depends_on"] = [one + 1 for one in hop["depends_on"]]
        for k in hop["depends_on"]:
            hop["question"] = hop["question"].replace(f"{{{k - 1}}}", f"{{{k}}}")


def _says_answer(reply: Reply, plan: Journey) -> None:
    hop = reply["hops"][1]
    hop["question"] = hop["question"].replace("{1}?", f"{{1}}, which is {asked_value(plan)}?")


def _vague(reply: Reply, plan: Journey) -> None:
    reply["hops"][1]["question"] = "What is there to know of {1}?"


def _loose_end(reply: Reply, plan: Journey) -> None:
    """A last hop that starts anew."""
    reply["hops"][-1] = {"question": reply["hops"][0]["question"], "depends_on": []}


def _named_after(reply: Reply, plan: Journey) -> None:
    _bare_property(reply, f"not_{asked_value(plan).replace('-', '_').lower()}")


def _offers_more(reply: Reply, plan: Journey) -> None:
    """The first hop's tool does the second's job as well."""
    field = plan.attribute.field
    reply["tool"]["description"] += f" It knows the {plan.attribute.name} too."
    choices = reply["tool"]["parameters"]["properties"]["field"]
    choices["enum"] = [*choices["enum"], field]


def _knows_more(reply: Reply, plan: Journey) -> None:
    key, field = plan.theme.second, plan.attribute.field
    known = {one[key]: one[field] for one in plan.second}
    for one in reply["records"]:
        one[field] = known[one[key]]


def _same_question(reply: Reply, plan: Journey) -> None:
    reply["hops"].append(copy.deepcopy(reply["hops"][-1]))
    reply["hops"][-1]["depends_on"] = reply["hops"][-2]["depends_on"]


def _twin_document(reply: Reply, plan: Journey) -> None:
    """A document that reads as the first hop's does."""
    theme = plan.theme
    tool, key = reply["tool"], theme.second
    tool["description"] = f"Looks up the {theme.second} of a {theme.first} by its name."
    own = tool["parameters"]["properties"].pop(key)
    tool["parameters"]["properties"][theme.first] = {
        **own, "description": f"Name of the {theme.first}.",
    }  # fmt: skip
    tool["parameters"]["required"] = [theme.first]
    tool["name"] = f"{theme.second}_of_{theme.first}_find"
    reply["arguments"] = {theme.first: "{1}"}


def _asks_for_answer(reply: Reply, plan: Journey) -> None:
    field = plan.attribute.field
    schema = {"type": "string", "description": "The value that is looked for."}
    reply["tool"]["parameters"]["properties"][field] = schema
    reply["tool"]["parameters"]["required"] += [field]
    reply["arguments"][field] = "any"


def _bare_property(reply: Reply, name: str, **schema: Any) -> None:  # noqa: ANN401 -- JSON Schema
    own = {"type": "boolean", "description": "Whether it is wanted.", "default": False, **schema}
    reply["tool"]["parameters"]["properties"][name] = own


def _new_required(reply: Reply, plan: Journey) -> None:
    _bare_property(reply, "strict_case")
    del reply["tool"]["parameters"]["properties"]["strict_case"]["default"]
    reply["tool"]["parameters"]["required"].append("strict_case")


def _five_more(reply: Reply, plan: Journey) -> None:
    for number in range(5):
        _bare_property(reply, f"option_{number}")


def _renamed_parameter(reply: Reply, plan: Journey) -> None:
    parameters = reply["tool"]["parameters"]
    own = parameters["properties"].pop(plan.theme.second)
    parameters["properties"]["entry"] = own
    parameters["required"] = ["entry"]


def _nothing_more(reply: Reply, plan: Journey) -> None:
    properties = reply["tool"]["parameters"]["properties"]
    needed = reply["tool"]["parameters"]["required"]
    for name in [*properties]:
        if name not in needed:
            del properties[name]


def _says_gold(reply: Reply, plan: Journey) -> None:
    reply["tool"]["description"] += f" For instance it returns {asked_value(plan)}."


def _lists_gold(reply: Reply, plan: Journey) -> None:
    own = {"type": "string", "enum": [asked_value(plan), "none"], "default": "none"}
    _bare_property(reply, "hint", **own)


def _unknown_choice(reply: Reply, plan: Journey) -> None:
    reply["tool"]["parameters"]["properties"]["field"]["enum"].append("population")


def _gold_twice(reply: Reply, plan: Journey) -> None:
    field = plan.attribute.field
    other = next(one for one in reply["records"] if one[field] != asked_row(plan)[field])
    other[field] = asked_row(plan)[field]


def _two_keys(reply: Reply, plan: Journey) -> None:
    reply["records"][-1][plan.theme.second] = reply["records"][0][plan.theme.second]


def _gold_missing(reply: Reply, plan: Journey) -> None:
    key, name = plan.theme.second, asked_row(plan)[plan.theme.second]
    reply["records"] = [one for one in reply["records"] if one[key] != name]


def _few(reply: Reply, plan: Journey) -> None:
    key, name = plan.theme.second, asked_row(plan)[plan.theme.second]
    ordered = sorted(reply["records"], key=lambda one: one[key] != name)
    reply["records"] = ordered[:5]


def _lacks_field(reply: Reply, plan: Journey) -> None:
    del reply["records"][-1][plan.attribute.field]


def _no_others(reply: Reply, plan: Journey) -> None:
    """A table that leads nowhere from any other record of the hop before."""
    key, name = plan.theme.second, asked_row(plan)[plan.theme.second]
    for number, one in enumerate(reply["records"]):
        if one[key] != name:
            one[key] = f"Zorvanth{'abcdefghij'[number]}"


def _all_alike(reply: Reply, plan: Journey) -> None:
    field = plan.attribute.field
    for one in reply["records"]:
        one[field] = asked_row(plan)[field]


def _wrong_pair(reply: Reply, plan: Journey) -> None:
    pair = reply["pairs"][3]
    result = pair["result"]
    pair["result"] = result + 1 if isinstance(result, int) else result[:-1] + ("1", "2")[
        result[-1] == "1"]  # fmt: skip


def _invalid_pair(reply: Reply, plan: Journey) -> None:
    reply["pairs"][2]["arguments"]["surplus"] = 1


def _constant_pairs(reply: Reply, plan: Journey) -> None:
    for pair in reply["pairs"]:
        pair["result"] = reply["pairs"][0]["result"]


def _no_default(reply: Reply, plan: Journey) -> None:
    reply["code"] = reply["code"].replace(f'field: str = "{plan.attribute.field}"', "field: str")
    reply["code"] = reply["code"].replace('letters: str = "as listed"', "letters: str")


def _constant_tool(reply: Reply, plan: Journey) -> None:
    key, name = plan.theme.second, asked_row(plan)[plan.theme.second]
    at = next(i for i, one in enumerate(plan.second) if one[key] == name)
    reply["code"] = reply["code"].replace("    wanted =", f"    return RECORDS[{at}][field]\n"
                                          "    wanted =", 1)  # fmt: skip


def _set_order(reply: Reply, plan: Journey) -> None:
    """The error lists what is known in the order of a set."""
    head, _, rest = reply["code"].partition('    known = ", ".join(')
    listed, _, tail = rest.partition(")\n")
    reply["code"] = f'{head}    known = ", ".join({{{listed}}})\n{tail}'


def _literal_answer(reply: Reply, plan: Journey) -> None:
    reply["arguments"][plan.theme.second] = asked_row(plan)[plan.theme.second]


def of_question(change: Callable[[str, Journey], str]) -> Change:
    """Changes the question's text."""

    def changed(reply: Reply, plan: Journey) -> None:
        reply["question"] = change(reply["question"], plan)

    return changed


_SHOWN = 'return " ".join(str(found).upper())'
_ERROR = "    return {"
_FOUND = "            found ="
_CAPITALS = '            if letters == "capitals":\n'
D, T, R, F, C, G, Q = (
    Stage.DECOMPOSE, Stage.TOOL, Stage.REFINE, Stage.FACTS, Stage.CODE, Stage.CALL, Stage.QUESTION,
)  # fmt: skip
PLANTS: Mapping[str, Plant] = {
    # what does not parse
    "broken-json-decompose": Plant(D, 0, _cut),
    "broken-json-tool": Plant(T, SECOND, _cut),
    "broken-json-refine": Plant(R, SECOND, _cut),
    "broken-json-facts": Plant(F, SECOND, _cut),
    "broken-json-code": Plant(C, SECOND, _cut),
    "broken-json-call": Plant(G, SECOND, _cut),
    "broken-json-question": Plant(Q, 0, _cut),
    "words-around": Plant(T, FIRST, _talk),
    "extra-field": Plant(G, LAST, put("comment", to="done")),
    "wrong-type": Plant(D, 0, put("hops", 1, "depends_on", to="1")),
    # the plan
    "cycle": Plant(D, 0, put("hops", 0, "depends_on", to=[2])),
    "unneeded-hop": Plant(D, 0, _unneeded),
    "one-hop": Plant(D, 0, put("hops", to=[{"question": "What is it?", "depends_on": []}])),
    "lost-reference": Plant(D, 0, put("hops", 1, "depends_on", to=[])),
    "same-question": Plant(D, 0, _same_question),
    "says-sub-answer": Plant(D, 0, _says_answer),
    # documents
    "bad-name": Plant(T, FIRST, put("tool", "name", to="Find It")),
    "bad-schema": Plant(T, SECOND, put("tool", "parameters", "type", to="thing")),
    "open-schema": Plant(T, SECOND, put("tool", "parameters", "additionalProperties", to=True)),
    "nothing-required": Plant(T, FIRST, put("tool", "parameters", "required", to=[])),
    "twin-document": Plant(T, SECOND, _twin_document),
    "asks-for-answer": Plant(T, SECOND, _asks_for_answer),
    "invalid-first-call": Plant(T, SECOND, put("arguments", to={})),
    "drifted-required": Plant(R, SECOND, _renamed_parameter),
    "new-required": Plant(R, SECOND, _new_required),
    "nothing-more": Plant(R, SECOND, _nothing_more),
    "too-many-more": Plant(R, SECOND, _five_more),
    "renamed-tool": Plant(R, SECOND, put("tool", "name", to="other_name")),
    "invalid-default": Plant(
        R, SECOND, put("tool", "parameters", "properties", "field", "default", to="nowhere")
    ),
    "leaked-in-document": Plant(R, SECOND, _says_gold),
    "leaked-in-enum": Plant(R, SECOND, _lists_gold),
    "drifted-enum-document": Plant(R, SECOND, _unknown_choice),
    # facts
    "few-records": Plant(F, SECOND, _few),
    "two-keys": Plant(F, SECOND, _two_keys),
    "gold-twice": Plant(F, SECOND, _gold_twice),
    "gold-missing": Plant(F, SECOND, _gold_missing),
    "lacks-field": Plant(F, SECOND, _lacks_field),
    "leads-nowhere": Plant(F, SECOND, _no_others),
    "all-alike": Plant(F, SECOND, _all_alike),
    "wrong-answer-field": Plant(F, FIRST, put("lookup", "answer", to="first_record")),
    "wrong-pair": Plant(F, LAST, _wrong_pair),
    "invalid-pair": Plant(F, LAST, _invalid_pair),
    "constant-pairs": Plant(F, LAST, _constant_pairs),
    # code
    "wrong-constant": Plant(C, SECOND, _other_record),
    "missing-default": Plant(C, SECOND, _no_default),
    "set-order": Plant(C, SECOND, _set_order),
    "leaked-in-code": Plant(C, SECOND, _gold_branch),
    "constant-tool": Plant(C, SECOND, _constant_tool),
    "jump": Plant(C, SECOND, _alias),
    "drifted-enum": Plant(C, SECOND, in_code("record[field]", 'record[field.replace("_", "-")]')),
    "ignores-choice": Plant(C, SECOND, in_code("record[field]", "list(record.values())[1]")),
    "raises-unknown": Plant(C, SECOND, in_code(_ERROR, '    raise KeyError("gone")\n' + _ERROR)),
    "null-unknown": Plant(C, SECOND, in_code(_ERROR, "    return None\n" + _ERROR)),
    "mute-error": Plant(C, SECOND, in_code(_ERROR, '    return {"error": "no"}\n' + _ERROR)),
    "prints": Plant(C, SECOND, first_line('print("looking")')),
    "clock": Plant(C, SECOND, before_code("import time")),
    "random": Plant(C, FIRST, before_code("import random")),
    "no-json": Plant(C, SECOND, in_code(_SHOWN, 'return {" ".join(str(found).upper())}')),
    "endless": Plant(C, SECOND, in_code(_FOUND, f"{_CAPITALS}                while True:\n"
                     f"                    pass\n{_FOUND}")),
    "huge": Plant(C, SECOND, in_code(_FOUND, f'{_CAPITALS}                return "x" * 2_000_000'
                  f"\n{_FOUND}")),
    "rare-crash": Plant(C, SECOND, first_line("assert not letters == \"capitals\"")),
    "module-level-work": Plant(C, SECOND, before_code("RESULT = sum(range(10))")),
    "does-not-compile": Plant(C, SECOND, in_code("):\n", ")\n")),
    "other-function": Plant(C, SECOND, in_code("def look_up", "def looked_up")),
    "own-table": Plant(C, SECOND, before_code('RECORDS = [{"name": "x"}]')),
    "state": Plant(C, SECOND, first_line('RECORDS.append(RECORDS.pop(0)); RECORDS[0]["n"] = 1')),
    "off-by-one": Plant(C, LAST, _off_by_one),
    # calls
    "literal-answer": Plant(G, SECOND, _literal_answer),
    "no-reference": Plant(G, SECOND, put("arguments", to={})),
    "wrong-path": Plant(G, SECOND, put("answer_path", to=["value"])),
    "unasked-option": Plant(G, FIRST, put("arguments", "field", to="first_record")),
    "other-record": Plant(G, FIRST, lambda reply, plan: reply["arguments"].update(
        {plan.theme.first: plan.first[-1][plan.theme.first]})),
    # written after the checks, to see what they do with it
    "gives-answers-away": Plant(C, SECOND, in_code(
        "for record in RECORDS)", "for record in RECORDS) + str([*map(dict.values, RECORDS)])")),
    "takes-a-part": Plant(C, SECOND, in_code(
        ".casefold() == wanted", ".casefold()[:3] == wanted[:3]")),
    "other-default": Plant(C, SECOND, in_code(
        'letters: str = "as listed"', 'letters: str = "capitals"')),
    "vague-sub-question": Plant(D, 0, _vague),
    "chain-of-one": Plant(D, 0, _loose_end),
    "answer-in-a-name": Plant(R, SECOND, _named_after),
    "skips-a-hop": Plant(R, FIRST, _offers_more, _knows_more),
    # the question
    "says-middle-answer": Plant(Q, 0, of_question(
        lambda text, plan: f"{text[:-1]}, that is of {asked_row(plan)[plan.theme.second]}?")),
    "says-value": Plant(Q, 0, of_question(
        lambda text, plan: f"{text[:-1]} ({asked_value(plan)})?")),
    "lacks-name": Plant(Q, 0, of_question(lambda text, plan: text.replace(plan.start, "it"))),
    "names-tool": Plant(Q, 0, of_question(
        lambda text, plan: f"{text} Use look_up_{plan.theme.second}.")),
    "no-question": Plant(Q, 0, of_question(lambda text, plan: text.replace("?", "."))),
}  # fmt: skip
"""Kinds by name."""
FOUND_LATER = frozenset(
    {"vague-sub-question", "says-sub-answer", "leaked-in-document", "leaked-in-enum", "jump"}
    | {"drifted-enum-document", "skips-a-hop", "wrong-answer-field", "wrong-pair"}
)
"""Kinds that a later stage finds. One of them alone is repaired by going back; of several some may
be left, as a stage goes back once."""


def planted(plant: Plant, reply: Reply, plan: Journey, stage: Stage, hop: int, *, now: bool) -> str:
    """The text of a reply, with the fault in it where the place is its own and it is time."""
    if now and (plant.stage, plant.hop) == (stage, hop):
        changed = copy.deepcopy(reply)
        found = plant.change(changed, plan)
        if isinstance(found, str):
            return found
        reply = changed
    elif now and plant.facts is not None and (Stage.FACTS, plant.hop) == (stage, hop):
        reply = copy.deepcopy(reply)
        plant.facts(reply, plan)
    return json.dumps(reply, ensure_ascii=False)
