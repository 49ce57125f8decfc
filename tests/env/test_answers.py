from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SHARED
from toolhop_env.benchmarks.toolhop.answers import official, strict
from toolhop_env.messages import AssistantMessage, Message, RawCall, ToolMessage, UserMessage
from toolhop_env.reading import tagged_answer
from toolhop_tools.answers import same_answer


def conversation(final: str | None, *tools: str) -> list[Message]:
    messages: list[Message] = [UserMessage("What?")]
    if tools:
        calls = tuple(RawCall(f"c{n}", "t", "{}") for n, _ in enumerate(tools))
        messages.append(AssistantMessage("", calls))
        messages += [ToolMessage(f"c{n}", "t", text) for n, text in enumerate(tools)]
    return [*messages, AssistantMessage(final or "")]


OWN = Path(__file__).parents[1] / "golden" / "toolhop_own.json"
"""Cases of our own making: the rule is tested without the benchmark's data."""
PUBLISHED = SHARED / "golden" / "toolhop.json"
"""Verdicts that ToolHop's released code gave."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(OWN, id="own"),
        pytest.param(PUBLISHED, id="published", marks=pytest.mark.data),
    ],
)
def golden(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A file of cases."""
    loaded: dict[str, Any] = json.loads(request.param.read_text(encoding="utf-8"))
    return loaded


def as_verdict(number: int | None) -> bool | None:
    return None if number is None else bool(number)


def played(case: dict[str, Any]) -> list[Message]:
    return conversation(case["final"], *([case["tool"]] if case["tool"] is not None else []))


def test_every_golden_case_is_judged_as_by_the_released_code(golden: dict[str, Any]) -> None:
    assert len(golden["cases"]) >= 55
    wrong = [
        case
        for case in golden["cases"]
        if official(case["gold"], played(case)) is not as_verdict(case["official_answer_correct"])
    ]
    assert not wrong


def test_every_golden_case_is_what_the_rule_says_when_it_is_written_again(
    golden: dict[str, Any],
) -> None:
    wrong = [
        case
        for case in golden["cases"]
        if restated(case["gold"], case["final"], case["tool"])
        is not as_verdict(case["official_answer_correct"])
    ]
    assert not wrong


def test_every_golden_case_is_judged_by_the_strict_rule_as_proposed(golden: dict[str, Any]) -> None:
    wrong = [
        case
        for case in golden["cases"]
        if strict(case["gold"], case["final"]) is not bool(case["strict_proposed"])
    ]
    assert not wrong


def test_golden_transcripts_that_end_on_a_tool_message_are_unset(golden: dict[str, Any]) -> None:
    for case in golden["transcript_ends_on_tool_message"]:
        messages = conversation("", case["official"]["last_content"])[:-1]
        assert isinstance(messages[-1], ToolMessage)
        assert official(case["gold"], messages) is as_verdict(case["official"]["answer_correct"])


def test_golden_parallel_tool_messages_count_by_their_last(golden: dict[str, Any]) -> None:
    for case in golden["parallel_tool_messages"]:
        messages = conversation(case["final"], *case["tools"])
        assert official(case["gold"], messages) is as_verdict(case["official"])


HOLES = {
    "zero is in everything": ("0", "I do not know", True, False),
    "a bare dot is in everything": (".", "Paris", True, False),
    "ten accepts a one": ("10", "<answer>1</answer>", True, False),
    "a part of the number": ("36", "<answer>1365</answer>", True, False),
    "the tag itself": ("s", "<answer></answer>", True, False),
    "a comma in the gold": ("Washington, D.C.", "<answer>Washington, D.C.</answer>", False, True),
    "a thousands comma in the gold": ("1,000", "<answer>1,000</answer>", False, True),
    "negation": ("Paris", "<answer>not Paris</answer>", True, False),
    "hedging": ("Paris", "<answer>Paris or London</answer>", True, False),
    "decomposed accents": ("s\u00ed", "<answer>si\u0301</answer>", False, True),
    "a sharp s": ("straße", "<answer>STRASSE</answer>", False, True),
    "two tags, the last one counts": (
        "7",
        "<answer>7</answer> no, <answer>8</answer>",
        True,
        False,
    ),
    "the tag is named before": ("8", "In <answer> tags: <answer>8</answer>", True, True),
    "a sentence": ("15", "The answer is 15.", True, False),
    "quotes": ("Ada", '<answer>"Ada"</answer>', True, True),
    "by value": ("5", "<answer>5.00</answer>", True, True),
    "leading zeros": ("007", "<answer>7</answer>", False, True),
    "no answer": ("5", "", None, False),
}


@pytest.mark.parametrize(("gold", "text", "by_official", "by_strict"), HOLES.values(), ids=HOLES)
def test_where_the_rules_part(
    gold: str, text: str, by_official: bool | None, by_strict: bool
) -> None:
    assert official(gold, conversation(text)) is by_official
    assert strict(gold, text) is by_strict


def test_an_empty_conversation_is_unset() -> None:
    assert official("5", []) is None


def test_the_question_is_no_tool_message() -> None:
    assert official("5", [UserMessage("5"), AssistantMessage("x")]) is False


@pytest.mark.parametrize(
    ("gold", "given", "same"),
    [
        ("", "", False),
        ("'", "'", True),
        (".", ".", True),
        ("a  b", "a\u00a0b", True),
        ("+5", "5", True),
        ("-0", "0", True),
        ("1,00", "100", False),
        ("12,345.50", "12345.5", True),
        ("1e3", "1000", False),
        ("٣", "3", False),
        ("9" * 5000, "9" * 5000, True),
        ("9" * 4000 + "1", "9" * 4000 + "1.0", False),
        ("true", "True", True),
        ("D.C.", "D.C", True),
    ],
)
def test_same_answer(gold: str, given: str, same: bool) -> None:
    assert same_answer(gold, given) is same


LETTERS = st.text(st.sampled_from("019.,- abS\n<>'\"éß\u0301"), max_size=8)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def restated(gold: str, last: str | None, before: str | None) -> bool | None:
    """The official rule once more, from its description: cut by hand, searched by `find`."""

    def cut(text: str) -> str:
        while text and text[-1] in {".", "0"}:
            text = text[:-1]
        return text

    if not last:
        return None
    texts = [last] if before is None else [last, before]
    return any("".join(cut(t).split(",")).lower().find(cut(gold).lower()) >= 0 for t in texts)


@given(LETTERS | ANY, LETTERS | ANY, st.none() | LETTERS)
def test_official_is_what_the_rule_says(gold: str, last: str, before: str | None) -> None:
    tools = [] if before is None else [before]
    assert official(gold, conversation(last, *tools)) is restated(gold, last, before)


@given(LETTERS | ANY)
def test_the_gold_itself_is_a_strict_answer(gold: str) -> None:
    assert same_answer(gold, gold) is bool(gold.strip())
    if gold.strip() and "<answer>" not in gold:
        assert strict(gold, f"I think <answer> {gold}\n</answer>.") is True


@given(LETTERS | ANY, LETTERS | ANY)
def test_sameness_has_no_direction(one: str, other: str) -> None:
    assert same_answer(one, other) is same_answer(other, one)


@given(st.text("aZé ñßΣσδЖ.'", min_size=1))
def test_case_makes_no_difference(text: str) -> None:
    assert same_answer(text.lower(), text.upper()) is bool(text.strip())


@given(st.integers(), st.integers(0, 3))
def test_a_number_is_the_same_however_it_is_grouped(number: int, zeros: int) -> None:
    written = f"{number:,}" + ("." + "0" * zeros if zeros else "")
    assert same_answer(str(number), written)
    assert not same_answer(str(number + 1), written)


@given(ANY)
def test_a_tag_gives_back_what_was_put_in(text: str) -> None:
    if "<answer>" not in text and "</answer>" not in text:
        assert tagged_answer(f"so <answer>{text}</answer> it is") == text.strip()
