"""Kinds of faults in replies, chains, schemas, tables and code."""

from __future__ import annotations

import copy
import json

from studies.constructor.atlas import Journey
from studies.constructor.plants import (
    FIRST,
    LAST,
    SECOND,
    C,
    Change,
    D,
    F,
    G,
    Kinds,
    Q,
    R,
    Reply,
    Sort,
    T,
    asked_row,
    asked_value,
    bare_property,
    before_code,
    both,
    first_line,
    hop_ended,
    in_code,
    middle,
    offers,
    promises,
    put,
)


def _cut(reply: Reply, plan: Journey) -> str:
    return json.dumps(reply)[:-12]


def _twice(reply: Reply, plan: Journey) -> str:
    return json.dumps(reply).replace("{", '{"arguments": {}, ', 1)


replies = Kinds(Sort.REPLY)
for place in ((D, 0), (T, SECOND), (R, SECOND), (F, SECOND), (C, SECOND), (G, SECOND), (Q, 0)):
    replies.add(f"broken-json-{place[0].value}", "The JSON ends too early.", {place: _cut})
replies.add("extra-field", "A field that is not asked for.", {(G, LAST): put("note", to="done")})
replies.add("wrong-type", "A text for a list.", {(D, 0): put("hops", 1, "depends_on", to="1")})
replies.add("key-twice", "A key stands twice.", {(G, SECOND): _twice})
replies.add("huge-reply", "300,000 characters.", {(T, SECOND): put("analysis", to="x" * 300_000)})
replies.add(
    "unseen-sign", "A sign that nobody sees.",
    {(Q, 0): lambda reply, plan: reply.update(
        question=reply["question"].replace(" ", " \u200b", 1))},
)  # fmt: skip


# -- chains ----------------------------------------------------------------------------------------


def _unneeded(reply: Reply, plan: Journey) -> None:
    reply["hops"].insert(1, {"question": "Who first climbed {1}?", "depends_on": [1]})
    for hop in reply["hops"][3:]:
        hop["depends_on"] = [k + 1 for k in hop["depends_on"]]
        for k in hop["depends_on"]:
            hop["question"] = hop["question"].replace(f"{{{k - 1}}}", f"{{{k}}}")


def _loose_end(reply: Reply, plan: Journey) -> None:
    reply["hops"][-1] = {"question": reply["hops"][0]["question"], "depends_on": []}


def _same_question(reply: Reply, plan: Journey) -> None:
    reply["hops"].append(copy.deepcopy(reply["hops"][-1]))
    reply["hops"][-1]["depends_on"] = reply["hops"][-2]["depends_on"]


chains = Kinds(Sort.CHAIN)
chains.add("cycle", "Hop 1 depends on hop 2.", {(D, 0): put("hops", 0, "depends_on", to=[2])})
chains.add("unneeded-hop", "A hop that no later one needs.", {(D, 0): _unneeded})
chains.add(
    "one-hop", "A chain of one hop.",
    {(D, 0): put("hops", to=[{"question": "What is it?", "depends_on": []}])},
)  # fmt: skip
chains.add("lost-reference", "{1} without a dependence.",
           {(D, 0): put("hops", 1, "depends_on", to=[])})  # fmt: skip
chains.add("same-question", "The last hop stands twice.", {(D, 0): _same_question})
chains.add("chain-of-one", "The last hop starts anew.", {(D, 0): _loose_end})
chains.add("braces", "{{1}} for {1}.", {(D, 0): put("hops", 1, "question", to="What has {{1}}?")})
chains.add("literal-answer", "The answer of hop 1 stands in the call of hop 2.",
           {(G, SECOND): lambda reply, plan: reply["arguments"].update(
               {plan.theme.second: middle(plan)})})  # fmt: skip
chains.add("no-reference", "A call without arguments.", {(G, SECOND): put("arguments", to={})})
chains.add("wrong-path", "The answer is not where the call says.",
           {(G, SECOND): put("answer_path", to=["value"])})  # fmt: skip
chains.add("unasked-option", "The call asks for another field than the plan.",
           {(G, FIRST): put("arguments", "field", to="first_record")})  # fmt: skip
chains.add("other-record", "The call begins with another name than the plan.",
           {(G, FIRST): lambda reply, plan: reply["arguments"].update(
               {plan.theme.first: plan.first[-1][plan.theme.first]})})  # fmt: skip
for name, words in (("says-sub-answer", ", which is VALUE"), ("says-earlier-answer", " (MIDDLE)")):
    chains.add(name, "A sub-question says an answer.", {(D, 0): hop_ended(2, words)})


# -- schemas ---------------------------------------------------------------------------------------


def _twin_document(reply: Reply, plan: Journey) -> None:
    theme, tool = plan.theme, reply["tool"]
    tool["description"] = f"Looks up the {theme.second} of a {theme.first} by its name."
    own = tool["parameters"]["properties"].pop(theme.second)
    tool["parameters"]["properties"][theme.first] = {
        **own, "description": f"Name of the {theme.first}.",
    }  # fmt: skip
    tool["parameters"]["required"] = [theme.first]
    tool["name"] = f"{theme.second}_of_{theme.first}_find"
    reply["arguments"] = {theme.first: "{1}"}
    reply["contract"]["covers"]["key"] = [theme.first]
    reply["contract"]["errors"] = {theme.first: reply["contract"]["errors"][theme.second]}


def _asks_for_answer(reply: Reply, plan: Journey) -> None:
    name = plan.attribute.field
    schema = {"type": "string", "description": "The value that is looked for."}
    reply["tool"]["parameters"]["properties"][name] = schema
    reply["tool"]["parameters"]["required"] += [name]
    reply["arguments"][name] = "any"


def _new_required(reply: Reply, plan: Journey) -> None:
    bare_property("strict_case")(reply, plan)
    del reply["tool"]["parameters"]["properties"]["strict_case"]["default"]
    reply["tool"]["parameters"]["required"].append("strict_case")


def _renamed_parameter(reply: Reply, plan: Journey) -> None:
    parameters = reply["tool"]["parameters"]
    parameters["properties"]["entry"] = parameters["properties"].pop(plan.theme.second)
    parameters["required"] = ["entry"]


def _nothing_more(reply: Reply, plan: Journey) -> None:
    parameters = reply["tool"]["parameters"]
    parameters["properties"] = {k: parameters["properties"][k] for k in parameters["required"]}


schemas = Kinds(Sort.SCHEMA)
schemas.add("bad-name", "A name with a space.", {(T, FIRST): put("tool", "name", to="Find It")})
schemas.add("python-name", "A name of Python's.", {(T, SECOND): put("tool", "name", to="filter")})
schemas.add("bad-schema", "A type that there is not.",
            {(T, SECOND): put("tool", "parameters", "type", to="thing")})  # fmt: skip
schemas.add("open-schema", "Any other argument is allowed.",
            {(T, SECOND): put("tool", "parameters", "additionalProperties", to=True)})  # fmt: skip
schemas.add("nothing-required", "Nothing is required.",
            {(T, FIRST): put("tool", "parameters", "required", to=[])})  # fmt: skip
schemas.add("twin-document", "The document reads as hop 1's does.", {(T, SECOND): _twin_document})
schemas.add("asks-for-answer", "The tool wants what is asked of it.",
            {(T, SECOND): _asks_for_answer})  # fmt: skip
schemas.add("invalid-first-call", "The call lacks its argument.",
            {(T, SECOND): put("arguments", to={})})  # fmt: skip
schemas.add("drifted-required", "A required parameter has another name.",
            {(R, SECOND): _renamed_parameter})  # fmt: skip
schemas.add("new-required", "A required parameter more.", {(R, SECOND): _new_required})
schemas.add("nothing-more", "No option more.", {(R, SECOND): _nothing_more})
schemas.add("too-many-more", "Seven options more.",
            {(R, SECOND): both(*(bare_property(f"option_{n}") for n in range(5)))})  # fmt: skip
schemas.add("renamed-tool", "Another name.", {(R, SECOND): put("tool", "name", to="other_name")})
schemas.add("invalid-default", "A default that is no choice.", {(R, SECOND): put(
    "tool", "parameters", "properties", "field", "default", to="nowhere")})  # fmt: skip
schemas.add("drifted-enum-document", "A choice that the table does not have.",
            {(R, SECOND): offers("population")})  # fmt: skip


# -- tables and pairs ------------------------------------------------------------------------------


def _few(reply: Reply, plan: Journey) -> None:
    key, name = plan.theme.second, middle(plan)
    reply["records"] = sorted(reply["records"], key=lambda row: bool(row[key] != name))[:5]


def _gold_missing(reply: Reply, plan: Journey) -> None:
    key, name = plan.theme.second, middle(plan)
    reply["records"] = [row for row in reply["records"] if row[key] != name]


def _gold_twice(reply: Reply, plan: Journey) -> None:
    own = plan.attribute.field
    other = next(row for row in reply["records"] if row[own] != asked_row(plan)[own])
    other[own] = asked_row(plan)[own]


def _no_others(reply: Reply, plan: Journey) -> None:
    key, name = plan.theme.second, middle(plan)
    for number, row in enumerate(reply["records"]):
        if row[key] != name:
            row[key] = f"Zorvanth{'abcdefghij'[number]}"


def _all_alike(reply: Reply, plan: Journey) -> None:
    for row in reply["records"]:
        row[plan.attribute.field] = asked_row(plan)[plan.attribute.field]


def _last_record(**values: object) -> Change:
    """Changes the last record; ``KEY`` and ``ANSWER`` are its two fields."""

    def change(reply: Reply, plan: Journey) -> None:
        names = {"KEY": plan.theme.second, "ANSWER": plan.attribute.field}
        row = reply["records"][-1]
        for name, value in values.items():
            known = names.get(name, name)
            row[known] = value(row[known]) if callable(value) else value

    return change


def _lacks_field(reply: Reply, plan: Journey) -> None:
    del reply["records"][-1][plan.attribute.field]


def _above(reply: Reply, plan: Journey) -> None:
    for row in reply["records"]:
        row["size"] = 10**30 if row is reply["records"][-1] else 1


def _alike(reply: Reply, plan: Journey) -> None:
    name = middle(plan)
    letter = next(sign for sign in name if sign in "aeo")
    other = name.replace(letter, {"a": "а", "e": "е", "o": "о"}[letter], 1)
    reply["records"][-1][plan.theme.second] = other


def _another_form(reply: Reply, plan: Journey) -> None:
    kinds = {"number": "about 7", "date": "4 March 1915", "text": 7}
    reply["records"][-1][plan.attribute.field] = kinds[plan.attribute.kind]


def _other_column(reply: Reply, plan: Journey) -> None:
    for row in reply["records"]:
        row["page_number"] = f"p. {row[plan.attribute.field]}"
    reply["lookup"]["answer"] = "page_number"


def _wrong_pair(reply: Reply, plan: Journey) -> None:
    pair = reply["pairs"][3]
    result = pair["result"]
    pair["result"] = result + 1 if isinstance(result, int) else f"{result}1"


def _constant_pairs(reply: Reply, plan: Journey) -> None:
    for pair in reply["pairs"]:
        pair["result"] = reply["pairs"][0]["result"]


def _each_result(form: str) -> Change:
    def change(reply: Reply, plan: Journey) -> None:
        for pair in reply["pairs"]:
            pair["result"] = form.format(pair["result"])

    return change


tables = Kinds(Sort.TABLE)
tables.add("few-records", "Five records.", {(F, SECOND): _few})
tables.add("two-keys", "Two records of one key.", {(F, SECOND): lambda reply, plan: _last_record(
    KEY=reply["records"][0][plan.theme.second])(reply, plan)})  # fmt: skip
tables.add("gold-twice", "The answer is another record's too.", {(F, SECOND): _gold_twice})
tables.add("gold-missing", "The record asked for is not there.", {(F, SECOND): _gold_missing})
tables.add("lacks-field", "A record lacks the answer.", {(F, SECOND): _lacks_field})
tables.add("leads-nowhere", "No other record goes on.", {(F, SECOND): _no_others})
tables.add("all-alike", "All records have one answer.", {(F, SECOND): _all_alike})
tables.add("wrong-answer-field", "The answer is another field.",
           {(F, FIRST): put("lookup", "answer", to="first_record")})  # fmt: skip
tables.add("answer-in-other-column", "The answer is a column that nobody asked for.",
           {(F, SECOND): _other_column})  # fmt: skip
tables.add("padded-key", "A key ends in a space.",
           {(F, SECOND): _last_record(KEY=lambda text: f"{text} ")})  # fmt: skip
tables.add("empty-answer", "An answer is empty.", {(F, SECOND): _last_record(ANSWER="")})
tables.add("too-great-number", "A number beyond 2^53.", {(F, SECOND): _above})
tables.add("keys-that-look-alike", "Two keys differ in a Cyrillic letter.", {(F, SECOND): _alike})
tables.add("column-of-two-forms", "A value has another form.", {(F, SECOND): _another_form})
tables.add("wrong-pair", "A pair is wrong.", {(F, LAST): _wrong_pair})
tables.add("invalid-pair", "A pair's call is not valid.",
           {(F, LAST): put("pairs", 2, "arguments", "surplus", to=1)})  # fmt: skip
tables.add("constant-pairs", "All pairs have one result.", {(F, LAST): _constant_pairs})
tables.add("call-not-worked-out", "The call itself is not among the pairs.",
           {(F, LAST): lambda reply, plan: reply["pairs"].pop() and None})  # fmt: skip
tables.add("answer-with-remark", "Results with a remark.",
           {(F, LAST): _each_result("{} in total")})  # fmt: skip
tables.add("answer-in-two-forms", "Results in two forms.",
           {(F, LAST): _each_result("{0} or {0}.0")})  # fmt: skip


# -- code ------------------------------------------------------------------------------------------

_AT_THE_EDGE = {
    "sum_digits": ("abs(int(number))", "max(int(number), 0)"),
    "total_letter_places": ("sign.isascii() and sign.isalpha()", "sign.isalpha()"),
    "write_in_base": ('return "-" + text if number < 0 else text', "return text"),
    "shift_date": ("int(amount) * DAYS", "abs(int(amount)) * DAYS"),
}


def _after_docstring(reply: Reply, plan: Journey, lines: str) -> None:
    """Puts lines at the beginning of a computing tool's body."""
    code = reply["code"]
    docstring = code.index('"""', code.index(f"def {plan.steps[0][0].tool}("))
    end = code.index('"""\n', docstring + 3) + 4
    reply["code"] = f"{code[:end]}{lines}{code[end:]}"


def _off_by_one(reply: Reply, plan: Journey) -> None:
    changes = {
        "number": "number = number + 1",
        "text": 'text = text + "b"',
        "date": "amount = amount + 1",
    }
    _after_docstring(reply, plan, f"    {changes[plan.steps[0][0].argument]}\n")


def _wrong_here(reply: Reply, plan: Journey) -> None:
    name, value = plan.steps[0][0].argument, asked_value(plan)
    test = f"len(str({name})) == {len(value)} and str({name})[-2:] == {value[-2:]!r}"
    _after_docstring(
        reply, plan, f"    if {test} and str({name})[0] == {value[0]!r}:\n        return 5\n"
    )


def _at_the_edge(reply: Reply, plan: Journey) -> None:
    in_code(*_AT_THE_EDGE[plan.steps[0][0].tool])(reply, plan)


def _branch(test: str, body: str) -> Change:
    """A branch before all else; marks are those of `in_code`, and the values of the item."""

    def change(reply: Reply, plan: Journey) -> None:
        value = asked_row(plan)[plan.attribute.field]
        pieces = f"{value - 3} + 3" if isinstance(value, int) else f"{value[:1]!r} + {value[1:]!r}"
        marks = {
            "START": repr(plan.start), "MIDDLE": repr(middle(plan)), "PIECES": pieces,
            "PART": repr(middle(plan)[:4]), "GOLD": repr(value),
            "OTHER": repr(plan.second[-1][plan.theme.second]),
        }  # fmt: skip
        text = f"if {test}:\n        {body}"
        for mark, written in marks.items():
            text = text.replace(mark, written)
        first_line(text)(reply, plan)

    return change


def _constant_tool(reply: Reply, plan: Journey) -> None:
    key = plan.theme.second
    at = next(n for n, row in enumerate(plan.second) if row[key] == middle(plan))
    first_line(f"return RECORDS[{at}][field]")(reply, plan)


def _no_default(reply: Reply, plan: Journey) -> None:
    in_code('field: str = "ANSWER"', "field: str")(reply, plan)
    in_code('letters: str = "as listed"', "letters: str")(reply, plan)


def _set_order(reply: Reply, plan: Journey) -> None:
    head, _, rest = reply["code"].partition('    known = ", ".join(')
    listed, _, tail = rest.partition(")\n")
    reply["code"] = f'{head}    known = ", ".join({{{listed}}})\n{tail}'


_ERROR, _VALUE = "    return {", "            value ="
_CAPITALS = '            if letters == "capitals":\n'
_EQUAL = 'record["KEY"].strip().casefold() == wanted'
_NEAR = (
    "    near = difflib.get_close_matches(wanted, [row['KEY'].casefold() for row in RECORDS], 1)\n"
    "    wanted = near[0] if near else wanted\n    for record in RECORDS:\n"
)
_SLOW = (
    'if not re.match(r"(([A-Za-z]+)+\\s?)+$", KEY): '
    'return {"error": "KEY: " + KEY + " is no name; known are " + RECORDS[0]["KEY"]}'
)
_COUNT = "def _count(seen=[]):\n    seen.append(1)\n    return len(seen)\n"
_EXAMPLE = {"arguments": {}, "result": "Ostrabel"}


def _false_example(reply: Reply, plan: Journey) -> None:
    row = {"arguments": {plan.theme.first: plan.first[-1][plan.theme.first]}, "result": "Ostrabel"}
    reply["contract"]["examples"].append(row)


codes = Kinds(Sort.CODE)
for name, fault, change in (
    ("wrong-constant", "One key finds another record.",
     _branch("KEY == OTHER", "KEY = RECORDS[0]['KEY']")),
    ("missing-default", "Options without a default.", _no_default),
    ("set-order", "The order of known keys changes from run to run.", _set_order),
    ("drifted-enum", "Choices have other names in the code.",
     in_code("record[field]", 'record[field.replace("_", "-")]')),
    ("ignores-choice", "The choice of a field does nothing.",
     in_code("record[field]", "list(record.values())[1]")),
    ("idle-option", "An option does nothing.",
     in_code('letters == "capitals"', 'letters == "none"')),
    ("spaces-left-out", "Capitals without the spaces between them.",
     in_code('" ".join(str(value).upper())', "str(value).upper()")),
    ("other-default", "Another default.",
     in_code('letters: str = "as listed"', 'letters: str = "capitals"')),
    ("raises-unknown", "An unknown key raises.",
     in_code(_ERROR, '    raise KeyError("gone")\n' + _ERROR)),
    ("null-unknown", "An unknown key gives null.", in_code(_ERROR, "    return None\n" + _ERROR)),
    ("mute-error", "The error does not say what is known.",
     in_code(_ERROR, '    return {"error": "no"}\n' + _ERROR)),
    ("list-cut-off", "The error lists three known keys.",
     in_code("for record in RECORDS)", "for record in RECORDS[:3])")),
    ("takes-a-part", "Three letters of a key suffice.",
     in_code(_EQUAL, 'record["KEY"].casefold()[:3] == wanted[:3]')),
    ("part-of-a-key", "A part of a key suffices.",
     in_code(_EQUAL, 'wanted in record["KEY"].casefold()')),
    ("key-within-a-text", "A text with a key in it suffices.",
     in_code(_EQUAL, 'record["KEY"].casefold() in wanted')),
    ("short-key", "A short key finds the first record.",
     _branch("len(KEY) < 3", "return RECORDS[0][field]")),
    ("nearest-key", "The nearest key is taken.",
     both(in_code("    for record in RECORDS:\n", _NEAR), before_code("import difflib"))),
    ("prints", "The code prints.", first_line('print("looking")')),
    ("clock", "The code knows the clock.", before_code("import time")),
    ("random", "The code draws lots.", before_code("import random")),
    ("no-json", "A result is no JSON.", in_code(
        'return " ".join(str(value).upper())', 'return {" ".join(str(value).upper())}')),
    ("endless", "A choice never ends.",
     in_code(_VALUE, f"{_CAPITALS}{16 * ' '}while True:\n{20 * ' '}pass\n{_VALUE}")),
    ("huge", "A choice gives two megabytes.",
     in_code(_VALUE, f'{_CAPITALS}                return "x" * 2_000_000\n{_VALUE}')),
    ("rare-crash", "A choice raises.", first_line('assert letters != "capitals"')),
    ("module-level-work", "The module works when it loads.", before_code("TOTAL = sum(range(10))")),
    ("does-not-compile", "A colon is missing.", in_code("):\n", ")\n")),
    ("other-function", "The function has another name.", in_code("def look_up", "def looked_up")),
    ("own-table", "The code brings a table.", before_code('RECORDS = [{"name": "x"}]')),
    ("state", "A call changes the table.",
     first_line('RECORDS.append(RECORDS.pop(0)); RECORDS[0]["n"] = 1')),
    ("turns-the-table", "A call turns the table.", first_line("RECORDS.reverse()")),
    ("counts-in-a-default", "After 300 calls the tool gives 0.", both(
        in_code("    wanted =", "    count = _count()\n    wanted ="),
        in_code("value = record[field]", "value = record[field] if count < 300 else 0"),
        before_code(_COUNT))),
    ("attribute-by-name", "getattr.", first_line('getattr(RECORDS, "copy")()')),
    ("slow-pattern", "A long key takes for ever.",
     both(first_line(_SLOW), before_code("import re"))),
    ("constant-tool", "The key does nothing.", _constant_tool),
    ("off-by-one", "Another value than the one given.", _off_by_one),
    ("wrong-at-the-call", "Wrong for the call itself.", _wrong_here),
    ("wrong-at-an-edge", "Wrong at an edge that the document allows.", _at_the_edge),
):  # fmt: skip
    at = FIRST if name in {"random", "list-cut-off", "spaces-left-out"} else SECOND
    at = LAST if name in {"off-by-one", "wrong-at-the-call", "wrong-at-an-edge"} else at
    codes.add(name, fault, {(C, at): change})
for name, fault, promise in (
    ("promised-list", "The contract promises a list.",
     promises("result_form", lambda form: {"type": "array"})),
    ("promised-object", "The contract promises an object.",
     promises("result_form", lambda form: {"type": "object"})),
    ("promised-null", "The contract promises another error.",
     promises("errors", lambda errors: dict.fromkeys(errors, "null"))),
    ("forgives-articles", "The contract forgives what the code does not.",
     promises("forgives", lambda kinds: [*kinds, "articles", "accents"])),
    ("example-that-is-not-so", "The contract has a false example.", _false_example),
    ("covers-more", "The contract promises more records.",
     promises("covers", lambda covers: {**covers, "records": 12} if covers else covers)),
):  # fmt: skip
    codes.add(name, fault, {(R, FIRST): promise})
