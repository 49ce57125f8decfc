"""Regression tests: scripted episodes with planted divergences, found by kind, turn and call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest

from tests.canned import CannedSandbox
from tests.env import scenes
from tests.env.made import calling, raw, stepped
from toolhop_env.attempt import attempt_of
from toolhop_env.divergence import Divergence, Divergences, Kind, first_divergence, next_step
from toolhop_env.limits import EpisodeLimits
from toolhop_env.measures import DIVERGENCES
from toolhop_env.messages import RawCall, Reply
from toolhop_env.setting import Setting
from toolhop_env.summary import summarize
from toolhop_env.trace import Ended, Ending, Started, Trace
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema

BOOKS: Mapping[str, JSON] = {
    "The Heron Year": {"author": "Mara Ilves", "editor": "Jon Peltz"},
    "A Heron": "A novel by Mara Ilves, of 1960.",
    "Mara Ilves": "Nothing is known of Mara Ilves.",
    "mara ilves": {"born": 1931},
    "Heron Films": {"play": "Heron (1944)", "film": "Heron (1944 film)"},
    "Two Herons": {"volumes": 2, "pages": 90},
    "Pages": 9,
    "the author": "The Heron Year",
}
BORN = {"Mara Ilves": 1931, "Jon Peltz": 1920}
QUESTION = "How old was the author of the book 'The Heron Year' in 2000?"


def tool(name: str, *optional: str, **parameters: str) -> Tool:
    """A tool with required parameters of these types, and optional texts."""
    shapes: dict[str, JSON] = {key: {"type": kind} for key, kind in parameters.items()}
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {**shapes, **{key: {"type": "string"} for key in optional}},
        "required": [*parameters],
    }
    return Tool(ToolSchema(name, "A tool.", schema), Program(f"def {name}(**given): ...", name))


BOOK = tool("book", title="string")
YEAR = tool("year", "source", person="string")
MINUS = tool("minus", first="integer", second="integer")
OTHER = tool("weather", day="string")
MIRROR = tool("mirror", title="string")


def result(program: Program, arguments: Mapping[str, Any]) -> Outcome:
    """What the tools give, in a sandbox that runs nothing."""
    match program.function:
        case "book" | "mirror":
            found = BOOKS.get(arguments["title"])
        case "year":
            found = BORN.get(arguments["person"])
        case "minus":
            found = arguments["first"] - arguments["second"]
        case _:
            found = "rain"
    return Raised("KeyError", "unknown", 1) if found is None else Returned(json.dumps(found))


def item(*, certified: bool = True) -> Item:
    golds: Sequence[tuple[str, str, Tool, Mapping[str, JSON]]] = (
        ("Who wrote it?", "Mara Ilves", BOOK, {"title": "The Heron Year"}),
        ("When was she born?", "1931", YEAR, {"person": "Mara Ilves"}),
        ("How old?", "69", MINUS, {"first": 2000, "second": 1931}),
    )
    hops = tuple(
        Hop(asked, answer, of, GoldCall(arguments, "written") if certified else None)
        for asked, answer, of, arguments in golds
    )
    return Item("heron", QUESTION, "69", hops, "books", "number", others=(OTHER, MIRROR))


def book(title: str = "The Heron Year") -> RawCall:
    return raw("book", {"title": title})


def year(person: str = "Mara Ilves", **more: JSON) -> RawCall:
    return raw("year", {"person": person, **more})


def minus(first: int = 2000, second: int = 1931) -> RawCall:
    return raw("minus", {"first": first, "second": second})


def says(text: str) -> Reply:
    return Reply(f"<answer>{text}</answer>")


def turn(*calls: RawCall) -> Reply:
    return calling(*(replace(call, id=f"c{number}") for number, call in enumerate(calls)))


def played(*replies: Reply, of: Item | None = None, setting: Setting | None = None) -> Trace:
    async def episode() -> Trace:
        _, trace = await stepped(of or item(), CannedSandbox(result), *replies, setting=setting)
        return trace

    return anyio.run(episode)


RIGHT = (turn(book()), turn(year()), turn(minus()), says("69"))
PLANTED: dict[str, tuple[Sequence[Reply], Sequence[tuple[Kind, int, int | None]]]] = {
    "right": (RIGHT, []),
    "right, steps in the head": ((turn(book()), turn(year()), says("69")), []),
    "right, another tool of the same power": (
        (turn(raw("mirror", {"title": "The Heron Year"})), *RIGHT[1:]), []
    ),
    "right, two tries side by side": ((turn(book("Heron Year"), book()), *RIGHT[1:]), [
        (Kind.WRONG_FORM, 1, 0),
    ]),
    "malformed": ((turn(raw("book", {"name": "The Heron Year"})), *RIGHT), [
        (Kind.MALFORMED_CALL, 1, 0),
    ]),
    "repeated": ((turn(book("Heron Year")), turn(book("Heron Year")), *RIGHT), [
        (Kind.WRONG_FORM, 1, 0), (Kind.FAILED_CALL_REPEATED, 2, 1),
    ]),
    "no such tool": ((turn(raw("library", {"title": "The Heron Year"})), *RIGHT), [
        (Kind.WRONG_TOOL, 1, 0),
    ]),
    "no step's tool": ((RIGHT[0], turn(raw("weather", {"day": "2000"})), *RIGHT[1:]), [
        (Kind.WRONG_TOOL, 2, 1),
    ]),
    "guessed ahead": ((turn(book(), year("Ida Moor")), *RIGHT[1:]), [
        (Kind.GUESSED_AHEAD, 1, 1),
    ]),
    "made up": ((RIGHT[0], turn(year("Ida Moor")), says("60")), [
        (Kind.MADE_UP_VALUE, 2, 1), (Kind.LOST_STEP, 3, None), (Kind.NEVER_CALLED, 3, None),
    ]),
    "another form": ((RIGHT[0], turn(year("Ilves, Mara")), *RIGHT[1:]), [
        (Kind.WRONG_FORM, 2, 1),
    ]),
    "misread": ((RIGHT[0], turn(year("Jon Peltz")), turn(minus(2000, 1920)), says("80")), [
        (Kind.RESULT_MISREAD, 2, 1), (Kind.WRONG_VALUE, 3, 2), (Kind.LOST_STEP, 3, 2),
        (Kind.LOST_STEP, 4, None),
    ]),
    "at hand but the wrong one": ((*RIGHT[:2], turn(minus(1931, 2000)), says("-69")), [
        (Kind.WRONG_VALUE, 3, 2), (Kind.LOST_STEP, 4, None),
    ]),
    "never called": ((RIGHT[0], turn(minus(2000, 2000)), says("0")), [
        (Kind.WRONG_VALUE, 2, 1), (Kind.NEVER_CALLED, 2, 1), (Kind.LOST_STEP, 3, None),
    ]),
    "the last step never called": ((*RIGHT[:2], says("70")), [(Kind.NEVER_CALLED, 3, None)]),
    "no calls": ((says("70"),), [(Kind.ANSWERED_WITHOUT_CALLS, 1, None)]),
    "stopped early": ((RIGHT[0], Reply("I cannot go on.")), [(Kind.STOPPED_EARLY, 2, None)]),
    "another value of the results": ((*RIGHT[:3], says("1931")), [
        (Kind.RESULT_MISREAD, 4, None),
    ]),
    "wrong conclusion": ((*RIGHT[:3], says("70")), [(Kind.WRONG_CONCLUSION, 4, None)]),
    "another form of the answer": ((*RIGHT[:3], says("69 years")), [
        (Kind.ANSWER_FORM, 4, None),
    ]),
    "the answer in a sentence": ((*RIGHT[:3], says("The author was 69 by then")), [
        (Kind.ANSWER_FORM, 4, None),
    ]),
}  # fmt: skip


PLANTED |= {
    "right, an extra call": ((*RIGHT[:2], turn(year("Jon Peltz")), *RIGHT[2:]), []),
    "right, by other arguments": ((RIGHT[0], turn(year(source="archive")), *RIGHT[2:]), []),
    "right, in a sentence": ((turn(book("A Heron")), *RIGHT[1:]), []),
    "another form, with a word of its own": ((turn(book("The Heron Year (novel)")), *RIGHT), [
        (Kind.WRONG_FORM, 1, 0),
    ]),
    "never called, no tag": ((RIGHT[0], turn(minus(2000, 2000)), Reply("It is 0.")), [
        (Kind.WRONG_VALUE, 2, 1), (Kind.NEVER_CALLED, 2, 1), (Kind.LOST_STEP, 3, None),
    ]),
    "wrong conclusion, a step in the head": ((RIGHT[0], turn(minus()), says("70")), [
        (Kind.WRONG_CONCLUSION, 3, None),
    ]),
    "computed, not made up": ((*RIGHT[:2], turn(minus(2000, 1930)), says("70")), [
        (Kind.WRONG_VALUE, 3, 2), (Kind.LOST_STEP, 4, None),
    ]),
    "guessed ahead, of the same result": ((turn(book(), year("Jon Peltz")), *RIGHT[1:]), [
        (Kind.GUESSED_AHEAD, 1, 1),
    ]),
    "made up, beside a done step": ((RIGHT[0], turn(book(), year("Ida Moor")), *RIGHT[1:]), [
        (Kind.MADE_UP_VALUE, 2, 2),
    ]),
}  # fmt: skip


def kinds(found: Divergences) -> list[tuple[Kind, int, int | None]]:
    return [(one.kind, one.turn, one.call) for one in found.all]


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_divergence_is_found(name: str) -> None:
    replies, expected = PLANTED[name]
    assert kinds(first_divergence(played(*replies))) == expected


def test_limits_and_what_is_not_the_agents() -> None:
    short = played(*RIGHT[:2], setting=Setting(limits=EpisodeLimits(turns=2)))
    assert kinds(first_divergence(short)) == [(Kind.OUT_OF_LIMIT, 2, None)]
    for ending in (Ending.ERRORED, Ending.STOPPED):
        trace = Trace((*played(says("70")).events[:-1], Ended(ending, 1.0)))
        assert first_divergence(trace).all == ()
    assert first_divergence(Trace(played(says("70")).events[:-1])).first is None
    untold = played(says("70")).events
    assert isinstance(untold[0], Started)
    without = Trace((replace(untold[0], tools=()), *untold[1:]))
    assert Kind.ANSWERED_WITHOUT_CALLS not in [one.kind for one in first_divergence(without).all]
    lost = Trace((*played(says("70")).events[:-1], Ended(Ending.MALFORMED_CALL, 1.0)))
    assert kinds(first_divergence(lost)) == [(Kind.MALFORMED_CALL, 1, None)]


def only(found: Divergences) -> Divergence:
    (one,) = found.all
    return one


def test_evidence_names_value_step_and_gold_call() -> None:
    one = only(first_divergence(played(*PLANTED["another form"][0])))
    assert (one.value, one.made_good) == ("Ilves, Mara", 3)
    assert one.step is not None
    assert (one.step.number, one.step.arguments) == (2, {"person": "Mara Ilves"})
    assert one.evidence == "person is 'Ilves, Mara'; the proven call has 'Mara Ilves'."
    assert json.loads(json.dumps(one.to_json()))["step"]["arguments"] == {"person": "Mara Ilves"}


def test_a_wrong_answer_does_not_prove_the_steps_right() -> None:
    """One step was done in the head, so that nobody knows whether it is right."""
    name = "wrong conclusion, a step in the head"
    found = only(first_divergence(played(*PLANTED[name][0]), item()))
    assert found.evidence == "No step is known to be wrong; answer '70', not '69'."


def test_without_a_certificate_the_words_say_less() -> None:
    plain = item(certified=False)
    wrong = played(RIGHT[0], turn(year("Jon Peltz")), says("80"), of=plain)
    one = first_divergence(wrong).first
    assert one is not None
    assert (one.kind, one.step and one.step.arguments) == (Kind.RESULT_MISREAD, None)
    assert "differs from the item's own chain" in one.evidence
    # Nothing shows what would have worked, but these values did not.
    failed = played(turn(book("Heron Year")), *RIGHT[1:], of=plain)
    found = first_divergence(failed).first
    assert found is not None
    assert found.kind is Kind.WRONG_VALUE
    assert found.evidence.endswith("it does not return 'Mara Ilves'.")
    # The item as it was played brings its certificate.
    found = first_divergence(failed, item()).first
    assert found is not None
    assert found.kind is Kind.WRONG_FORM


def test_the_call_that_worked_later_stands_in_for_a_certificate() -> None:
    trace = played(turn(book("Heron Year")), *RIGHT, of=item(certified=False))
    one = only(first_divergence(trace))
    assert one.kind is Kind.WRONG_FORM
    assert "the call that worked has 'The Heron Year'" in one.evidence


def test_a_call_with_the_right_values_that_gives_another_result_has_a_wrong_value() -> None:
    plain = item(certified=False)
    other = replace(plain, hops=(plain.hops[0], replace(plain.hops[1], answer="1932")))
    found = first_divergence(played(*RIGHT[:2], says("68"), of=other)).first
    assert found is not None
    assert (found.kind, found.turn) == (Kind.WRONG_VALUE, 2)


def proven(hop: int, **arguments: JSON) -> Item:
    """The item with another proven call."""
    hops = [*item().hops]
    hops[hop - 1] = replace(hops[hop - 1], gold=GoldCall(arguments, "written"))
    return replace(item(), hops=tuple(hops))


def test_a_misspelt_value_is_another_form_but_another_number_is_not() -> None:
    spelt = played(RIGHT[0], turn(year("Mara Ilvess")), *RIGHT[1:])
    assert only(first_divergence(spelt)).kind is Kind.WRONG_FORM
    numbered = played(turn(book("No. 20240118")), *RIGHT, of=proven(1, title="No. 20240117"))
    assert only(first_divergence(numbered)).kind is Kind.MADE_UP_VALUE
    dated = played(turn(book("1931-05-01")), *RIGHT, of=proven(1, title="May 1, 1931"))
    assert only(first_divergence(dated)).kind is Kind.WRONG_FORM


def test_a_call_with_its_own_steps_result_is_for_a_later_step() -> None:
    again = turn(book("Mara Ilves"))
    assert kinds(first_divergence(played(RIGHT[0], again, *RIGHT[1:]))) == [
        (Kind.WRONG_VALUE, 2, 1)
    ]
    # Not beside the call that gives the result, if no step is left, or if it gives a later one's.
    assert first_divergence(played(turn(book(), book("Mara Ilves")), *RIGHT[1:])).all == ()
    assert first_divergence(played(*RIGHT[:3], again, says("69"))).all == ()
    gives = turn(book("mara ilves"))
    assert first_divergence(played(RIGHT[0], gives, *RIGHT[2:])).all == ()
    # Nor if the step itself takes the value.
    takes = proven(1, title="Mara Ilves")
    assert first_divergence(played(again, again, *RIGHT[1:], of=takes)).all == ()
    mirror = turn(raw("mirror", {"title": "The Heron Year"}))
    assert first_divergence(played(mirror, again, *RIGHT[1:], of=takes)).all == ()


def test_of_several_values_the_one_at_fault_is_named() -> None:
    # The proven call does without a source, so the form is at fault.
    more = played(RIGHT[0], turn(year("Ilves, Mara", source="The Heron Year")), *RIGHT[1:])
    assert only(first_divergence(more)).kind is Kind.WRONG_FORM
    # Mending the form alone would not help: another value differs,
    source = proven(2, person="Mara Ilves", source="The Heron Year")
    both = played(RIGHT[0], turn(year("Ilves, Mara", source="2000")), *RIGHT[1:], of=source)
    assert only(first_divergence(both)).kind is Kind.WRONG_VALUE
    # or an argument is left out.
    source = proven(2, person="The Heron Year", source="archive")
    found = first_divergence(played(RIGHT[0], turn(year("The Heron Year")), *RIGHT[1:], of=source))
    assert only(found).evidence == "The call lacks an argument that the proven call has."
    assert only(found).kind is Kind.WRONG_VALUE


def failing(outcome: Raised) -> Divergences:
    """Where an episode diverges whose second tool fails at first."""
    left = [outcome]

    def respond(program: Program, arguments: Mapping[str, Any]) -> Outcome:
        fails = program.function == "year" and left
        return left.pop() if fails else result(program, arguments)

    async def episode() -> Trace:
        plain = item(certified=False)
        replies = RIGHT[0], turn(year()), turn(year(source="all")), *RIGHT[2:]
        _, trace = await stepped(plain, CannedSandbox(respond), *replies)
        return trace

    return first_divergence(anyio.run(episode))


def test_a_call_that_no_line_of_the_tool_answers() -> None:
    assert kinds(failing(Raised("TypeError", "year() lacks 'source'"))) == [
        (Kind.MALFORMED_CALL, 2, 1)
    ]
    assert failing(Raised("RuntimeError", "try again")).all == ()
    assert kinds(failing(Raised("TypeError", "not a text", 3))) == [(Kind.WRONG_VALUE, 2, 1)]


def test_another_tool_gives_a_result_in_a_sentence_but_not_what_it_was_told() -> None:
    def first(title: str, answer: str = "Mara Ilves") -> Divergence | None:
        plain = item(certified=False)
        hops = (replace(plain.hops[0], answer=answer), *plain.hops[1:])
        mirror = turn(raw("mirror", {"title": title}))
        return first_divergence(played(mirror, says("69"), of=replace(plain, hops=hops))).first

    assert first("A Heron") is None
    for title in ("Mara Ilves", "Two Herons"):
        echoed = first(title, "2" if title == "Two Herons" else "Mara Ilves")
        assert echoed is not None
        assert echoed.kind is Kind.WRONG_TOOL
    assert first("Pages", "9") is None


def test_a_tool_with_a_step_of_its_own_gives_no_other_step_the_same_result() -> None:
    plain = item(certified=False)
    hops = (plain.hops[0], replace(plain.hops[1], answer="Mara Ilves"), plain.hops[2])
    trace = played(RIGHT[0], turn(year("Jon Peltz")), *RIGHT[2:], of=replace(plain, hops=hops))
    assert kinds(first_divergence(trace)) == [(Kind.RESULT_MISREAD, 2, 1)]


def test_the_wrong_value_of_the_right_result_is_misread_even_if_it_looks_alike() -> None:
    film = turn(book("Heron Films"))
    hops = item(certified=False).hops
    plain = replace(item(), hops=(replace(hops[0], answer="Heron (1944 film)"), *hops[1:]))
    trace = played(film, turn(year("Heron (1944)")), says("70"), of=plain)
    assert kinds(first_divergence(trace))[0] == (Kind.RESULT_MISREAD, 2, 1)
    cased = played(RIGHT[0], turn(year("mara ilves")), *RIGHT[1:])
    assert only(first_divergence(cased)).kind is Kind.WRONG_FORM


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("the Heron year", Kind.WRONG_FORM),
        ("The Hern Year", Kind.WRONG_FORM),
        ("The Heron Year", Kind.WRONG_VALUE),
        ("Heron Year", Kind.WRONG_VALUE),
        ("heron", Kind.WRONG_VALUE),
        ("author of the Herons", Kind.MADE_UP_VALUE),
        ("The Stork Year", Kind.MADE_UP_VALUE),
    ],
)
def test_without_a_proven_call_a_value_is_compared_with_what_was_said(
    title: str, kind: Kind
) -> None:
    plain = item(certified=False)
    hops = (replace(plain.hops[0], answer="Ida Moor"), *plain.hops[1:])
    trace = played(turn(book(title)), says("70"), of=replace(plain, hops=hops))
    found = first_divergence(trace).first
    assert found is not None
    assert found.kind is kind


def test_a_result_that_is_passed_on_to_a_right_answer_served() -> None:
    plain = item(certified=False)
    hops = (replace(plain.hops[0], answer="M. I."), *plain.hops[1:])
    other = replace(plain, hops=hops)
    assert first_divergence(played(*RIGHT, of=other)).all == ()
    assert kinds(first_divergence(played(*RIGHT[:3], says("70"), of=other)))[0] == (
        Kind.WRONG_VALUE, 1, 0,
    )  # fmt: skip
    unused = played(RIGHT[0], *RIGHT[2:], of=other)
    assert kinds(first_divergence(unused))[0] == (Kind.WRONG_VALUE, 1, 0)
    mirror = turn(raw("mirror", {"title": "The Heron Year"}))
    known = played(turn(book("the author")), mirror, *RIGHT[1:], of=other)
    assert kinds(first_divergence(known))[0] == (Kind.WRONG_VALUE, 1, 0)


def test_options_are_not_made_up() -> None:
    tried = played(RIGHT[0], turn(year("Jon Peltz", source="archive")), *RIGHT[1:])
    assert only(first_divergence(tried)).kind is Kind.RESULT_MISREAD


def test_the_next_step_is_the_first_that_no_call_gave_before_a_turn() -> None:
    trace = played(*RIGHT)
    numbers = [
        step.number if (step := next_step(trace, item(), turn)) else 0 for turn in range(1, 5)
    ]
    assert numbers == [1, 2, 3, 0]


def asks(tool: str, **arguments: JSON) -> Reply:
    return calling(raw(tool, arguments))


def scene(of: Item, *replies: Reply) -> Divergences:
    async def episode() -> Trace:
        _, trace = await stepped(of, CannedSandbox(scenes.answers), *replies)
        return trace

    return first_divergence(anyio.run(episode))


CAPITAL = asks("capital_of", country="Norway")
GIVES_UP = asks("give_up", reason="It cannot be done.")


def test_decisions_of_scenarios() -> None:
    assert kinds(scene(scenes.plain(), CAPITAL, GIVES_UP)) == [(Kind.WRONG_DECISION, 2, 1)]
    wrong = scene(scenes.missing(), CAPITAL, says("12"))
    assert kinds(wrong) == [(Kind.WRONG_DECISION, 2, None)]
    needs = asks("change_tools", reason="None counts.", need="A count of people.")
    assert scene(scenes.missing(), CAPITAL, needs, GIVES_UP).first is None
    assert kinds(scene(scenes.missing(), CAPITAL, needs, says("12"))) == [
        (Kind.WRONG_DECISION, 3, None)
    ]
    which = asks("talk_to_user", question="Which letters?", about="letters")
    (gone,) = scene(scenes.hiding(), which, GIVES_UP).all
    assert (gone.kind, gone.turn, gone.call, gone.value) == (
        Kind.WRONG_DECISION, 2, 1, "give_up",
    )  # fmt: skip
    (first,) = scene(scenes.hiding(), needs, GIVES_UP).all
    assert (first.turn, first.value) == (1, "change_tools")
    guess = asks("capital_of", country="Italy")
    found = scene(scenes.hiding(), guess, says("2748109"))
    assert [one.kind for one in found.all][-1] is Kind.WRONG_DECISION


def test_a_call_of_a_tool_that_is_down_is_no_divergence() -> None:
    people = asks("count_people", city="The city of Oslo")
    assert scene(scenes.broken(), CAPITAL, people, GIVES_UP).first is None


def test_a_retry_that_works_is_no_divergence() -> None:
    people = asks("count_people", city="Oslo")
    found = scene(scenes.flaky(), CAPITAL, CAPITAL, CAPITAL, people, says("717710"))
    assert found.all == ()


def test_attempts_and_figures_have_the_kinds() -> None:
    attempts = [
        replace(attempt_of(played(*PLANTED[name][0])), item=name) for name in ("right", "repeated")
    ]
    assert [one.score.conduct.divergences for one in attempts if one.score] == [
        (), (Kind.WRONG_FORM, Kind.FAILED_CALL_REPEATED),
    ]  # fmt: skip
    (summary,) = summarize(attempts)
    shares = {
        one.name: found.value
        for one in DIVERGENCES
        if (found := summary.figures.get(one.name)) is not None
    }
    assert shares == {
        "first_wrong_form": 0.5, "having_wrong_form": 0.5, "having_failed_call_repeated": 0.5,
    }  # fmt: skip
