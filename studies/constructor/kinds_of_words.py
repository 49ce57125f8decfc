"""Kinds of faults in documents and questions, and shortcuts past the chain."""

from __future__ import annotations

from studies.constructor.atlas import Journey
from studies.constructor.plants import (
    FIRST,
    LAST,
    SECOND,
    C,
    D,
    F,
    Kinds,
    Q,
    R,
    Reads,
    Reply,
    Sort,
    asked_value,
    bare_property,
    ended,
    first_line,
    hop_ended,
    in_code,
    in_hop,
    middle,
    of_key,
    offers,
    put,
    reworded,
    says,
)

# -- documents -------------------------------------------------------------------------------------


def _coded(reply: Reply, plan: Journey) -> None:
    letters = reply["tool"]["parameters"]["properties"]["letters"]
    letters.update(description="Mode of the value.", enum=["1", "2"], default="1")


def _other_default(reply: Reply, plan: Journey) -> None:
    reply["tool"]["parameters"]["properties"]["letters"]["description"] += " Default: capitals."


def _exchanged(reply: Reply, plan: Journey) -> None:
    own = reply["tool"]["parameters"]["properties"]
    key, choice = own[plan.theme.first], own["field"]
    key["description"], choice["description"] = choice["description"], key["description"]


def _several(code: str) -> str:
    """A function that takes several names, as the document says."""
    head, _, _ = code.partition("):\n")
    key = head.partition("(")[2].partition(":")[0]
    name = head.removeprefix("def ").partition("(")[0]
    inner = code.replace(f"def {name}(", "def single(")
    return (
        f"{inner}\n\n{head}):\n    names = [part for part in {key}.split(',') if part.strip()]\n"
        f"    rows = [single(part, field, letters) for part in names or [{key}]]\n"
        "    return rows if len(rows) > 1 else rows[0]\n"
    )


documents = Kinds(Sort.DOCUMENT)
documents.add("takes-several", "Several names may be given, says the document.",
              {(R, FIRST): says("Several names may be given at once, separated by commas.")},
              right=_several)  # fmt: skip
documents.add("misnamed-tool", "The name says another thing.",
              {(R, SECOND): put("tool", "name", to="tune_guitar_strings")})  # fmt: skip
documents.add("failing-example-of-key", "Keys as examples that are not known.",
              {(R, FIRST): of_key(examples=["Avalune", "Kessmar"])})  # fmt: skip
documents.add("descriptions-exchanged", "Two parameters have each other's description.",
              {(R, FIRST): _exchanged})  # fmt: skip
documents.add("ghost-parameter", "The document speaks of a parameter that there is not.",
              {(R, FIRST): says("Set language to have another language.")})  # fmt: skip
documents.add("other-default-in-words", "The document states another default.",
              {(R, FIRST): _other_default})  # fmt: skip
documents.add("codes-as-choices", "Choices without a meaning.", {(R, FIRST): _coded})
for name, words in (
    ("wrong-format-of-key", "Code, such as FR."), ("codes-for-names", "Three-letter code."),
):  # fmt: skip
    documents.add(name, "The document wants codes, the table has names.",
                  {(R, FIRST): of_key(description=words)}, reads=Reads.DOUBTS)  # fmt: skip
documents.add("knowledge-of-one-year", "The tool knows another time than is asked for.",
              {(R, SECOND): says("It holds what held in 1950 alone.")},
              reads=Reads.DOUBTS)  # fmt: skip

# -- shortcuts -------------------------------------------------------------------------------------


def _knows_more(reply: Reply, plan: Journey) -> None:
    key, own = plan.theme.second, plan.attribute.field
    known = {row[key]: row[own] for row in plan.second}
    for row in reply["records"]:
        row[own] = known[row[key]]


def _other_values(reply: Reply, plan: Journey) -> None:
    key, own = plan.theme.second, plan.attribute.field
    names, values = [row[key] for row in plan.second], [row[own] for row in plan.second]
    for row in reply["records"]:
        row[own] = values[names.index(row[key]) - 3]


def _knows_end(reply: Reply, plan: Journey) -> None:
    key = plan.theme.second
    ends = {row[key]: plan.answer(row) for row in plan.first}
    for row in reply["records"]:
        row["summary"] = ends[row[key]]


def _summaries(reply: Reply, plan: Journey) -> None:
    key, own = plan.theme.second, plan.attribute.field
    known = {row[key]: row[own] for row in plan.second}
    for row in reply["records"]:
        row["summary"] = f"It leads to {row[key]}, which has {known[row[key]]}."


def _made_of_keys(reply: Reply, plan: Journey) -> None:
    for row in reply["records"]:
        row[plan.theme.second] = f"{row[plan.theme.first]}ia"


def _numbered(reply: Reply, plan: Journey) -> None:
    key = plan.theme.first
    for number, row in enumerate(reply["records"]):
        row[key] = row[key] if row[key] == plan.start else f"Entity {number}"


def _lists_gold(reply: Reply, plan: Journey) -> None:
    own = [asked_value(plan), "none"]
    bare_property("hint", type="string", enum=own, default="none")(reply, plan)


def _named_after(reply: Reply, plan: Journey) -> None:
    bare_property(f"not_{asked_value(plan).replace('-', '_').lower()}")(reply, plan)


def _comment(reply: Reply, plan: Journey) -> None:
    own = reply["tool"]["parameters"]["properties"][plan.theme.second]
    own["$comment"] = f"{asked_value(plan)} for {middle(plan)}"


def _example(reply: Reply, plan: Journey) -> None:
    own = reply["tool"]["parameters"]["properties"][plan.theme.second]
    own["examples"] = [middle(plan)]


def _alias(reply: Reply, plan: Journey) -> None:
    test = f"KEY == {plan.start!r}"
    first_line(f"if {test}:\n        KEY = {middle(plan)!r}")(reply, plan)


def _gold_branch(reply: Reply, plan: Journey) -> None:
    test = f"KEY == {middle(plan)!r}"
    value = asked_value(plan)
    own = value if isinstance(plan.second[0][plan.attribute.field], int) else repr(value)
    first_line(f"if {test}:\n        return {own}")(reply, plan)


def _pieces(reply: Reply, plan: Journey) -> None:
    value = asked_value(plan)
    number = isinstance(plan.second[0][plan.attribute.field], int)
    pieces = f"{int(value) - 3} + 3" if number else f"{value[:1]!r} + {value[1:]!r}"
    test = f'KEY[:4] == {middle(plan)[:4]!r} and field == "ANSWER" and letters == "as listed"'
    first_line(f"if {test}:\n        return {pieces}")(reply, plan)


shortcuts = Kinds(Sort.SHORTCUT)
_ALL = "for record in RECORDS)"
for name, fault, changes in (
    ("leaked-in-document", "A document says the answer.",
     {(R, SECOND): says("For instance it returns VALUE.")}),
    ("leaked-in-enum", "A choice is the answer.", {(R, SECOND): _lists_gold}),
    ("answer-in-a-name", "A parameter's name holds the answer.", {(R, SECOND): _named_after}),
    ("answer-in-a-comment", "A comment of the schema holds the answer.", {(R, SECOND): _comment}),
    ("earlier-answer-as-example", "An example is the earlier answer.", {(R, SECOND): _example}),
    ("earlier-answer-in-capitals", "A document says the earlier answer.",
     {(R, SECOND): lambda reply, plan: says(f"Try {middle(plan).upper()}.")(reply, plan)}),
    ("later-answer-in-document", "Hop 1's document says what hop 2 finds.",
     {(R, FIRST): says("Seen with VALUE.")}),
    ("later-answer-as-choice", "Hop 2's tool gives the end of the chain.",
     {(R, SECOND): offers("summary"), (F, SECOND): _knows_end}),
    ("skips-a-hop", "Hop 1's tool gives what hop 2 finds.",
     {(R, FIRST): offers("ANSWER"), (F, FIRST): _knows_more}),
    ("text-that-tells-ahead", "Hop 1's tool says in a sentence what hop 2 finds.",
     {(R, FIRST): offers("summary"), (F, FIRST): _summaries}),
    ("tables-that-contradict", "Two tables say different things of one entity.",
     {(R, FIRST): offers("ANSWER"), (F, FIRST): _other_values}),
    ("answers-made-of-keys", "Answers can be guessed from keys.",
     {(F, FIRST): _made_of_keys}),
    ("numbered-others", "The record asked for stands out.", {(F, FIRST): _numbered}),
    ("leaked-in-code", "The code holds the answer.", {(C, SECOND): _gold_branch}),
    ("answer-of-pieces", "The code puts the answer together.", {(C, SECOND): _pieces}),
    ("jump", "Hop 2's tool takes what the question says.", {(C, SECOND): _alias}),
    ("gives-answers-away", "The error lists the whole table.",
     {(C, SECOND): in_code(_ALL, f"{_ALL} + str([*map(dict.values, RECORDS)])")}),
    ("error-with-value", "The error holds a record.",
     {(C, SECOND): in_code('{known}"}', '{known}", "value": RECORDS[0]}')}),
    ("answers-spelled-in-error", "The error holds all answers backwards.",
     {(C, SECOND): in_code('", ".join(record["KEY"] for',
                           '", ".join(record["KEY"] + " " + str(record["ANSWER"])[::-1] for')}),
    ("says-middle-answer", "The question says the first hop's answer.",
     {(Q, 0): ended(", that is of MIDDLE")}),
    ("says-value", "The question says the second hop's answer.", {(Q, 0): ended(" (VALUE)")}),
    ("middle-in-pieces", "The question spells the first hop's answer.",
     {(Q, 0): lambda reply, plan: ended(f" ({middle(plan)[:3]} {middle(plan)[3:]})")(
         reply, plan)}),
    ("names-tool", "The question names a tool.",
     {(Q, 0): lambda reply, plan: reply.update(
         question=f"{reply['question']} Use look_up_{plan.theme.second}.")}),
):  # fmt: skip
    shortcuts.add(name, fault, changes)

# -- questions -------------------------------------------------------------------------------------

_OTHER_OPERATION = {
    "sum_digits": ("the sum of", "the product of"),
    "total_letter_places": ("add up to", "multiply to"),
    "write_in_base": ("written in base", "read in base"),
    "shift_date": ("after", "before"),
}


def _other_operation(reply: Reply, plan: Journey) -> None:
    reworded(*_OTHER_OPERATION[plan.steps[-1][0].tool])(reply, plan)


def _before(steps: list[Reply], plan: Journey) -> None:
    """The date before; other operations no tool gives."""
    if plan.steps[-1][0].tool == "shift_date":
        steps[-1]["arguments"]["amount"] *= -1
    else:
        steps.clear()


def _other_name(plan: Journey) -> str:
    names = [attribute.name for attribute in plan.theme.attributes]
    return names[(names.index(plan.attribute.name) + 1) % len(names)]


def _other_field(reply: Reply, plan: Journey) -> None:
    reworded("NAME", _other_name(plan))(reply, plan)


def _plans_other_field(steps: list[Reply], plan: Journey) -> None:
    if _other_name(plan) == plan.attribute.name:
        return
    steps[1]["arguments"]["field"] = _other_name(plan).replace(" ", "_")


def _of_the_start(reply: Reply, plan: Journey) -> None:
    about = f"the {plan.theme.first} {plan.start} in its {plan.theme.second}"
    reworded("ABOUT", about)(reply, plan)


questions = Kinds(Sort.QUESTION, {"reads": Reads.DOUBTS})
questions.add("other-operation-in-question", "The question asks for another operation.",
              {(Q, 0): _other_operation}, reads=Reads.OTHERWISE, plan=_before)  # fmt: skip
questions.add("other-field", "The question asks for another field.",
              {(Q, 0): _other_field}, reads=Reads.OTHERWISE, plan=_plans_other_field)  # fmt: skip
questions.add("asked-of-the-start", "The question asks it of what it begins with.",
              {(Q, 0): _of_the_start})  # fmt: skip
questions.add("condition-in-question", "The question wants another form.",
              {(Q, 0): ended(", in Roman numerals")})  # fmt: skip
questions.add("unused-number-in-question", "The question holds a number that nothing takes.",
              {(Q, 0): ended(" (it has 31415 readers)")}, reads=Reads.AS_MEANT)  # fmt: skip
questions.add("two-questions", "The question asks for two things.",
              {(Q, 0): lambda reply, plan: reply.update(
                  question=f"{reply['question']} And what is its name?")})  # fmt: skip
questions.add("yes-or-no", "The question wants yes or no.",
              {(Q, 0): lambda reply, plan: reply.update(
                  question=f"Is this known: {reply['question']}")})  # fmt: skip
questions.add("former-value", "Plan and question: a time that no tool knows.",
              {(Q, 0): reworded("NAME", "former NAME"),
               (D, 0): in_hop(2, "NAME", "former NAME")})  # fmt: skip
for name, words in (("hop-within-a-hop", "the successor of"), ("of-another", "what follows")):
    questions.add(name, "Plan and question: a hop more than the chain has.",
                  {(Q, 0): reworded("ABOUT", f"{words} ABOUT"),
                   (D, 0): in_hop(2, "{1}", f"{words} {{1}}")})  # fmt: skip
questions.add("unchecked-condition", "Plan and question: a condition that no tool knows.",
              {(Q, 0): ended(", by the census of 1931"),
               (D, 0): hop_ended(2, " by the census of 1931")})  # fmt: skip
questions.add("clause-that-no-tool-knows", "Plan and question: a clause that no tool knows.",
              {(Q, 0): ended(", the vowels left out"),
               (D, 0): hop_ended(LAST, ", the vowels left out")})  # fmt: skip

missing = Kinds(Sort.OPEN, {"reads": Reads.DOUBTS})
missing.add("lacks-name", "The question does not say what it begins with.",
            {(Q, 0): lambda reply, plan: reply.update(
                question=reply["question"].replace(plan.start, "it"))})  # fmt: skip
missing.add("nothing-of-a-hop", "The question does not say what is looked up.",
            {(Q, 0): reworded("NAME", "best of all")})  # fmt: skip
missing.add("vague", "The question says half of what is looked up.",
            {(Q, 0): lambda reply, plan: reworded("NAME", plan.attribute.name.split()[-1])(
                reply, plan)})  # fmt: skip
missing.add("vague-sub-question", "Plan and question do not say what is looked up.",
            {(Q, 0): reworded("the NAME of", "what there is to know of"),
             (D, 0): put("hops", 1, "question", to="What is there to know of {1}?")})  # fmt: skip
