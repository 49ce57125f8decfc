"""What a constructor is told of a call that is not proven, and where: what it says is tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.toolhop_tools.certifying import TEXT, item, made, proof
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import HopVerdict
from toolhop_tools.certify.prove import asked
from toolhop_tools.construct.remedies import Proving
from toolhop_tools.construct.stages import Place, Problem, Stage
from toolhop_tools.model import Hop

ANY: dict[str, JSON] = {"type": "number"}
LETTERS = """def count_letters(text, skip_vowels):
    return len([c for c in text.lower() if c.isalpha() and not (skip_vowels and c in "aeiou")])
"""
TABLETS = "def tablets_needed(dose_mg, strength_mg):\n    return dose_mg / strength_mg\n"
SCALED = "def scale(amount, factor):\n    return amount * factor\n"
NAME = "How many letters does the name Aurelia Stanhopper have"
DOSE: dict[str, JSON] = {"dose_mg": ANY, "strength_mg": ANY}
FACTOR: dict[str, JSON] = {"amount": ANY, "factor": {**ANY, "description": "What to multiply by."}}


def counted(question: str, *, skip: bool, answer: str) -> Hop:
    schema: dict[str, JSON] = {"text": TEXT, "skip_vowels": {"type": "boolean"}}
    gold: dict[str, JSON] = {"text": "Aurelia Stanhopper", "skip_vowels": skip}
    return made(LETTERS, question, answer, schema, name="count_letters", gold=gold)


def tablets(question: str) -> Hop:
    gold: dict[str, JSON] = {"dose_mg": 1750, "strength_mg": 250}
    return made(TABLETS, question, "7", DOSE, name="tablets_needed", gold=gold)


def scaled(question: str, schema: dict[str, JSON] | None = None) -> Hop:
    gold: dict[str, JSON] = {"amount": 138, "factor": 0.5}
    return made(SCALED, question, "69", schema or FACTOR, name="scale", gold=gold)


def told(hop: Hop, earlier: str, *, fixed: bool = False, first: bool = True) -> Problem:
    """What is said of a hop whose argument `earlier` is the answer of hop 2."""

    def reworded(text: str) -> Task:
        own = replace(hop, question=text)
        return Task(own, asked(item(own), 0, {}))

    assert hop.gold is not None
    gold = hop.gold.arguments
    written = {**gold, earlier: "{2}"} if first else {earlier: "{2}"}
    proving = Proving(reworded, 3, hop.question, written, gold, fixed)
    [problem] = proving.findings("proven", "The call", proof(hop)).problems
    return problem


@pytest.mark.parametrize(
    ("hop", "earlier", "says", "repaired"),
    [
        (
            counted(f"{NAME}, not counting vowels?", skip=True, answer="9"),
            "text", 'have it say "without vowels"',
            counted(f"{NAME} without vowels?", skip=True, answer="9"),
        ),
        (
            tablets("How many 250 mg tablets make up 1750 mg?"),
            "dose_mg", 'have it say "dose of {2}" and "strength of 250"',
            tablets("How many tablets of a strength of 250 mg make up a dose of 1750 mg?"),
        ),
    ],
)  # fmt: skip
def test_two_readings_are_told_apart_by_words_that_do_it(
    hop: Hop, earlier: str, says: str, repaired: Hop
) -> None:
    problem = told(hop, earlier)
    assert says in problem.message
    assert problem.message.startswith("Hop 3. ")
    assert problem.place == Place(Stage.DECOMPOSE)
    # Who plans knows no answer of a hop.
    assert hop.gold is not None
    assert str(hop.gold.arguments[earlier]) not in problem.message
    # A seed's own sub-question stays as it is.
    assert told(hop, earlier, fixed=True).place == Place(Stage.TOOL, 3)
    assert proof(repaired).verdict is HopVerdict.PROVEN


def test_where_no_words_are_found_the_parameters_name_is_what_to_say() -> None:
    hop = counted(f"{NAME}, vowels too?", skip=False, answer="17")
    problem = told(hop, "text")
    assert 'words of the parameter\'s name ("skip vowels")' in problem.message
    assert "skip_vowels true" in problem.message


def test_a_value_that_nothing_says_is_to_be_said_in_digits_with_the_text_to_say_it_in() -> None:
    problem = told(scaled("What is half of 138?"), "amount")
    assert "have the sub-question say '0.5' in digits" in problem.message
    assert problem.place == Place(Stage.DECOMPOSE)
    assert proof(scaled("What is 138 times 0.5?")).verdict is HopVerdict.PROVEN
    problem = told(scaled("What is half of 138?"), "amount", fixed=True)
    assert "the description of the parameter factor (not that of the tool)" in problem.message
    assert problem.place == Place(Stage.TOOL, 3)
    in_words: dict[str, JSON] = {"amount": ANY, "factor": {**ANY, "description": "0.5 for half."}}
    assert proof(scaled("What is half of 138?", in_words)).verdict is HopVerdict.PROVEN


@pytest.mark.parametrize(
    ("hop", "earlier"),
    [
        (scaled("What is half of 138?"), "amount"),
        (counted(f"{NAME}, not counting vowels?", skip=True, answer="9"), "text"),
    ],
)
def test_what_a_later_stage_set_stays_with_it(hop: Hop, earlier: str) -> None:
    problem = told(hop, earlier, first=False)
    assert (problem.place, "have " in problem.message) == (None, False)
