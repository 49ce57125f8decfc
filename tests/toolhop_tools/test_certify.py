"""Hops and items certified in a real sandbox: what is proven, what is defective, and why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.toolhop_tools.certifying import BASIS, NUMBER, TEXT, certificates, item, made, proof
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolhop.reader import read, to_rows
from toolhop_tools.certify.candidates import Provenance, cheapest
from toolhop_tools.certify.model import (
    Certificate,
    Defect,
    Edge,
    HopProof,
    HopVerdict,
    from_line,
    to_line,
)
from toolhop_tools.certify.pools import Choice
from toolhop_tools.certify.shapes import Shape, shape
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Hop
from toolhop_tools.readers.folder import builtin

MOTHERS = """
MOTHERS = {"ada lovelace": "Anne Isabella", "bo": "Cy"}
def f(person, relation="mother"):
    found = MOTHERS.get(person.lower())
    if found is None:
        return {"error": "not known"}
    return {"name": found} if relation == "mother" else {"name": "George Byron"}
"""
RELATION: dict[str, JSON] = {"type": "string", "enum": ["father", "mother"]}
PERSON: dict[str, JSON] = {"person": TEXT, "relation": RELATION}
WHO = "Who is the mother of Ada Lovelace?"
LENGTH = "def f(text, scale=1):\n    return len(text) * scale\n"


def found(hop: Hop, question: str = "") -> tuple[str, Provenance | None, dict[str, JSON] | None]:
    one = proof(hop, question)
    return one.verdict.value, one.provenance, one.arguments


def test_an_example_is_taken() -> None:
    hop = made(LENGTH + "f('Oslo')", "How many letters has Oslo?", "4")
    assert found(hop) == ("proven", Provenance.EXAMPLE, {"text": "Oslo"})


def test_the_shorter_call_goes_before_a_longer_example() -> None:
    properties = {"text": TEXT, "scale": NUMBER}
    source = LENGTH + "f('Oslo', scale=1)"
    hop = made(source, "How many letters has Oslo?", "4", properties, required=["text"])
    assert found(hop) == ("proven", Provenance.QUESTION, {"text": "Oslo"})


def test_an_example_that_the_schema_refuses_is_not_taken() -> None:
    source = "def f(number):\n    return int(number) + 1\n# f(['41'])"
    hop = made(source, "What follows 41?", "42", {"number": NUMBER})
    assert found(hop) == ("proven", Provenance.QUESTION, {"number": 41})


def test_parameters_are_filled_from_the_question() -> None:
    hop = made(MOTHERS, WHO, "Anne Isabella", PERSON)
    wanted = {"person": "Ada Lovelace", "relation": "mother"}
    assert found(hop) == ("proven", Provenance.QUESTION, wanted)


def test_another_choice_than_the_one_asked_for_is_no_proof() -> None:
    one = proof(made(MOTHERS, WHO, "George Byron", PERSON))
    assert (one.verdict, one.executed, one.determined) == (HopVerdict.UNPROVEN, True, False)
    assert [evidence.arguments for evidence in one.evidence] == [
        {"person": "Ada Lovelace", "relation": "father"},
        {"person": "Ada Lovelace", "relation": "mother"},
    ]


def test_another_name_that_happens_to_fit_is_no_proof() -> None:
    one = proof(made(MOTHERS + "f('Ada Lovelace')", WHO, "Cy", {"person": TEXT}))
    assert (one.verdict, one.defect) == (HopVerdict.DEFECTIVE, Defect.OTHER_VALUE)


UPPER = "def f(text, upper=False):\n    return ord(text.upper() if upper else text)\nf('s')"
SWITCH: dict[str, JSON] = {"text": TEXT, "upper": {"type": "boolean"}}


def test_a_switch_of_one_word_that_is_spoken_of_is_ambiguous() -> None:
    asked = "What is the code of 's' in upper case?"
    one = proof(made(UPPER, asked, "83", SWITCH, required=["text"]))
    assert (one.verdict, one.executed) == (HopVerdict.AMBIGUOUS, True)


def test_an_option_that_is_not_asked_for_proves_nothing() -> None:
    one = proof(made(UPPER, "What is the code of 's'?", "83", SWITCH, required=["text"]))
    assert (one.verdict, one.executed, one.determined) == (HopVerdict.UNPROVEN, True, False)
    assert [evidence.arguments for evidence in one.evidence] == [
        {"text": "s", "upper": True},
        {"text": "s"},
    ]


def test_an_order_that_the_question_leaves_open_is_ambiguous() -> None:
    source = "def f(a, b):\n    return a - b\nf(1887, 2024)"
    one = proof(made(source, "How far apart are 1887 and 2024?", "137", {"a": NUMBER, "b": NUMBER}))
    assert (one.verdict, one.executed) == (HopVerdict.AMBIGUOUS, True)
    assert one.arguments == {"a": 2024, "b": 1887}
    assert [evidence.arguments for evidence in one.evidence] == [
        {"a": 2024, "b": 1887},
        {"a": 1887, "b": 2024},
    ]


def test_a_tool_that_has_to_be_told_the_answer() -> None:
    source = (
        "def f(text):\n    return {'novel': text} if text == 'Moby-Dick' else {'error': 'none'}\n"
        "f('Moby-Dick')"
    )
    one = proof(made(source, "Which novel did the Marvel Comics adapt?", "Moby-Dick"))
    assert (one.verdict, one.defect) == (HopVerdict.DEFECTIVE, Defect.NEEDS_ANSWER)
    assert one.evidence[0].arguments == {"text": "Moby-Dick"}


def test_a_tool_that_repeats_any_word_is_not_told_the_answer() -> None:
    one = proof(made("def f(text):\n    return text", "Which novel did Marvel adapt?", "Moby-Dick"))
    assert (one.verdict, one.defect) == (HopVerdict.UNPROVEN, None)


def test_a_gold_that_repeats_the_question() -> None:
    source = "def f(text):\n    return {'actress': 'Barbara Bach'}\nf('The Black Belly')"
    one = proof(made(source, "The Black Belly starred whom?", "Black Belly"))
    assert (one.verdict, one.defect) == (HopVerdict.DEFECTIVE, Defect.OTHER_LABEL)


BROKEN: dict[str, tuple[str, HopVerdict, Defect | None]] = {
    "does not compile": ("def f(text:\n    return 4", HopVerdict.DEFECTIVE, Defect.NOT_CALLABLE),
    "no entry": ("def g(text):\n    return 4", HopVerdict.DEFECTIVE, Defect.NOT_CALLABLE),
    "other parameters": ("def f(params):\n    return 4", HopVerdict.DEFECTIVE, Defect.NOT_CALLABLE),
    "raises": ("def f(text):\n    return 1 / 0", HopVerdict.DEFECTIVE, Defect.NOT_CALLABLE),
    "raises above": (
        "1 / 0\ndef f(text):\n    return 4",
        HopVerdict.DEFECTIVE,
        Defect.NOT_CALLABLE,
    ),
    "no JSON": ("def f(text):\n    return b'4'", HopVerdict.DEFECTIVE, Defect.NOT_CALLABLE),
    "another value": ("def f(text):\n    return 5", HopVerdict.DEFECTIVE, Defect.OTHER_VALUE),
    "a huge value": (
        "def f(text):\n    return 10 ** 4000",
        HopVerdict.DEFECTIVE,
        Defect.OTHER_VALUE,
    ),
    "a missing module": ("import numpy\ndef f(text):\n    return 4", HopVerdict.REFUSED, None),
    "a module inside": (
        "def f(text):\n    import os\n    return len(text)",
        HopVerdict.REFUSED,
        None,
    ),
    "not in the policy": ("async def f(text):\n    return 4", HopVerdict.REFUSED, None),
    "no end": ("def f(text):\n    while True:\n        pass", HopVerdict.REFUSED, None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_has_a_class_and_evidence(name: str) -> None:
    source, verdict, defect = BROKEN[name]
    hop = made(source, "How many letters has Oslo?", "4")
    [certificate] = certificates(item(hop), basis=replace(BASIS, wall_s=0.2))
    one = certificate.hops[0]
    assert (certificate.verdict, one.verdict, one.defect) == (verdict, verdict, defect)
    assert len(one.evidence) == 1
    assert from_line(to_line(certificate)) == certificate


def test_no_gold_answer() -> None:
    assert proof(made(LENGTH, "How long is Oslo?", " ")).defect is Defect.NO_ANSWER


def test_an_assigned_function_can_be_called() -> None:
    hop = made("f = lambda text: len(text)", "How many letters has Oslo?", "4")
    assert found(hop)[0] == "proven"


def test_finding_nothing_is_unproven() -> None:
    source = "def f(text):\n    return 4 if text == 'qqq' else 'No match found'"
    one = proof(made(source, "How many letters has Oslo?", "4"))
    assert (one.verdict, one.defect, one.chance) == (HopVerdict.UNPROVEN, None, None)
    assert one.executions > 0


def test_a_tool_that_gives_the_answer_whoever_is_asked_about_proves_nothing() -> None:
    source = "def f(text):\n    return f'{text} was built by Ada' if text else None"
    one = proof(made(source, "Who built Stanley Park?", "Ada"))
    assert one.verdict is HopVerdict.UNPROVEN
    assert "calls with other values give the answer as well" in one.why


def test_luck_is_no_proof() -> None:
    # Nothing that the question says gets an answer; most literals of the code do.
    source = """
def f(text, place):
    return "Ada" if place in ("x1", "x2", "x3") else {"error": "unknown"}
"""
    hop = made(source, "Who built Stanley Park?", "Ada", {"text": TEXT, "place": TEXT})
    one = proof(hop)
    assert one.provenance is not Provenance.QUESTION
    if one.verdict is HopVerdict.PROVEN:
        assert one.chance is not None
        assert one.chance.hits <= 0.5 * one.chance.runs


def test_a_state_that_builds_up_in_a_batch_proves_nothing() -> None:
    source = "calls = []\ndef f(text):\n    calls.append(text)\n    return len(calls)"
    one = proof(made(source, "How many visited Stanley Park?", "3"))
    assert one.verdict is not HopVerdict.PROVEN


# --- items


def chain() -> tuple[Hop, ...]:
    mother = made(MOTHERS, WHO, "Anne Isabella", {"person": TEXT})
    upper = "def g(text):\n    return text.split()[0].upper()"
    first = made(upper, "The first name of Anne Isabella?", "Anne", name="g")
    long = made("def h(text):\n    return len(text)", "How long is Anne?", "4", name="h")
    spelled = "def k(text):\n    return 65 if text == 'ANNE' else None\nk('Anne')"
    code = made(spelled, "What is the code of Anne?", "65", name="k")
    last = "def s(numbers):\n    return sum(numbers)"
    numbers: dict[str, JSON] = {"numbers": {"type": "array", "items": {"type": "integer"}}}
    return (mother, first, long, code, made(last, "The sum of 4 and 65?", "69", numbers, name="s"))


def test_an_item_is_proven_with_its_nesting() -> None:
    [certificate] = certificates(item(*chain()))
    assert certificate.verdict is HopVerdict.PROVEN
    assert [one.edges for one in certificate.hops] == [
        (),
        (Edge(1, "text", equal=True),),
        (Edge(2, "text", equal=True),),
        (Edge(2, "text", equal=True),),
        (Edge(3, "numbers.0", equal=True), Edge(4, "numbers.1", equal=True)),
    ]
    assert certificate.shape == Shape.BRANCH_AND_JOIN
    # The fourth tool wants the answer as the second tool spelled it.
    assert certificate.hops[3].arguments == {"text": "ANNE"}


def test_one_hop_that_is_not_proven_keeps_the_item_from_it() -> None:
    hops = chain()
    wrong = replace(hops[2], answer="5")
    [certificate] = certificates(item(*hops[:2], wrong))
    assert certificate.verdict is HopVerdict.DEFECTIVE
    assert certificate.why.startswith("hop 3 (h): ")


def test_the_last_answer_has_to_be_the_items() -> None:
    [certificate] = certificates(replace(item(*chain()[:2]), answer="Another"))
    assert (certificate.verdict, certificate.defect) == (HopVerdict.DEFECTIVE, Defect.OTHER_ANSWER)


SHAPES: dict[str, tuple[list[list[int]], Shape]] = {
    "one after the other": ([[], [1], [2]], Shape.LINEAR),
    "one": ([[]], Shape.INDEPENDENT),
    "none": ([[], []], Shape.INDEPENDENT),
    "branch": ([[], [1], [1]], Shape.BRANCH),
    "join": ([[], [], [1, 2]], Shape.JOIN),
    "both": ([[], [1], [1], [2, 3]], Shape.BRANCH_AND_JOIN),
    "one apart": ([[], [], [2]], Shape.PARTLY),
    "two chains": ([[], [1], [], [3]], Shape.PARTLY),
}


@pytest.mark.parametrize("case", SHAPES.values(), ids=SHAPES)
def test_shapes(case: tuple[list[list[int]], Shape]) -> None:
    sources, wanted = case
    assert shape([[Edge(hop, "a", equal=True) for hop in one] for one in sources]) is wanted


def test_an_answer_beyond_what_is_kept_of_a_result() -> None:
    source = "def f(text):\n    return {'filler': ['x'] * 1500, 'letters': len(text)}"
    [certificate] = certificates(item(made(source, "How many letters has Oslo?", "4")))
    assert certificate.verdict is HopVerdict.PROVEN
    assert certificate.hops[0].answer is not None


def test_certificates_are_the_same_each_time() -> None:
    one, other = certificates(item(*chain())), certificates(item(*chain()))
    assert one == other


def test_a_certificate_keeps_null_arguments() -> None:
    hop = HopProof("f", HopVerdict.PROVEN, "x", 1, arguments={"a": None, "b": [None, False]})
    certificate = Certificate("1", "d", BASIS, HopVerdict.PROVEN, "x", "linear", (hop,))
    assert from_line(to_line(certificate)) == certificate


def test_cheapest_combinations_come_first() -> None:
    pools = [
        [Choice(n, cost, "question") for n, cost in enumerate(costs)]
        for costs in ([0, 0.1, 5], [0, 1], [0.2])
    ]
    costs = [cost for cost, _ in cheapest(pools)]
    assert costs == sorted(costs)
    assert len(costs) == 6


def test_gold_calls_of_the_builtin_items_are_checked() -> None:
    found = certificates(*builtin().items[::6])
    hops = [hop for one in found for hop in one.hops]
    proven = [hop for hop in hops if hop.verdict is HopVerdict.PROVEN]
    assert len(proven) >= 0.8 * len(hops)
    written = [hop for hop in proven if hop.provenance is Provenance.WRITTEN]
    assert len(written) >= 0.9 * len(proven)
    assert not any(hop.verdict is HopVerdict.DEFECTIVE for hop in hops)


def test_a_wrong_gold_call_is_found_out() -> None:
    hop = made(LENGTH, "How many letters has Oslo?", "5", gold={"text": "Oslo"})
    one = proof(hop)
    assert (one.verdict, one.defect) == (HopVerdict.DEFECTIVE, Defect.OTHER_VALUE)


def test_where_the_answer_stands_is_kept_in_data_files(tmp_path: Path) -> None:
    from toolhop_tools.certify.file import Writer, with_certificates

    one = item(*chain()[:2])
    [certificate] = certificates(one)
    path = tmp_path / "c.jsonl"
    with Writer(path) as writer:
        writer.add(certificate)
    golden = with_certificates([one], path)
    rows = to_rows(DataSet("x", "x", golden))
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    again = read(tmp_path / "rows.json").items[0]
    assert [hop.gold for hop in again.hops] == [hop.gold for hop in golden[0].hops]
    assert again.extra["certificate"] == "proven"


@pytest.mark.data
def test_real_items_are_proven_or_have_a_class(toolhop_60: Path) -> None:
    items = load(toolhop_60).items[::10]
    found = certificates(*items)
    hops = [hop for one in found for hop in one.hops]
    sound = (HopVerdict.PROVEN, HopVerdict.AMBIGUOUS)
    assert sum(hop.verdict in sound for hop in hops) / len(hops) >= 0.9
    assert all(hop.defect and hop.evidence for hop in hops if hop.verdict is HopVerdict.DEFECTIVE)
    assert all(hop.chance is not None for hop in hops if hop.verdict is HopVerdict.PROVEN)
