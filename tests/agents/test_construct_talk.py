"""One stage's conversation: what is asked again, what a repair is worth, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from toolhop_agents.construct.talk import Elsewhere, Failed, Talk
from toolhop_env.messages import Message
from toolhop_tools.construct.prompts import load
from toolhop_tools.construct.replies import FinalQuestion, ReplyModel
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage

PLACE = Place(Stage.QUESTION)
CHECKS = ("short", "plain")


def reply(text: str) -> str:
    return f'{{"question": "{text}"}}'


def talk(repairs: int = 4) -> Talk:
    return Talk(PLACE, load(), "question", "{}", FinalQuestion, repairs)


def settled(
    one: Talk, replies: Sequence[str], elsewhere: Place | None = None
) -> tuple[ReplyModel | Failed, list[list[str]]]:
    """How the conversation ends, and the contents of each request.

    A reply fails the checks whose names stand in it, such as ``not short``.
    """
    given, asked = iter(replies), list[list[str]]()

    async def ask(place: Place, version: str, messages: Sequence[Message]) -> str:
        asked.append([message.content for message in messages])
        return next(given)

    async def judge(value: ReplyModel, before: Sequence[Problem]) -> Findings:
        assert isinstance(value, FinalQuestion)
        wrong = [name for name in CHECKS if f"not {name}" in value.question]
        problems = [Problem(name, f"it is not {name}", place=elsewhere) for name in wrong]
        return Findings(frozenset(CHECKS) - {*wrong}, tuple(problems))

    return anyio.run(one.settle, ask, judge), asked


def test_a_repair_that_breaks_what_held_is_dropped() -> None:
    replies = [reply("not short"), reply("not plain"), reply("good")]
    ended, asked = settled(talk(), replies)
    assert isinstance(ended, ReplyModel)
    assert len(asked) == 3
    # The third request goes on from the first reply, and says what became of the second.
    assert replies[0] in asked[2]
    assert replies[1] not in asked[2]
    assert "it is not short" in asked[2][-1]
    assert "dropped" in asked[2][-1]
    assert "it is not plain" in asked[2][-1]


def test_a_repair_that_does_not_parse_is_dropped_too() -> None:
    ended, asked = settled(talk(), [reply("not short"), "Sorry", reply("good")])
    assert isinstance(ended, ReplyModel)
    assert "does not parse" in asked[2][-1]
    assert asked[2][2] == reply("not short")


def test_what_does_not_parse_goes_back_once() -> None:
    ended, asked = settled(talk(), ["One", "Two", reply("good")])
    assert isinstance(ended, Failed)
    assert len(asked) == 2
    assert "does not parse" in asked[1][-1]


def test_there_are_no_more_repairs_than_allowed() -> None:
    replies = [reply(f"not short {number}") for number in range(9)]
    ended, asked = settled(talk(2), replies)
    assert isinstance(ended, Failed)
    assert ended.why == "2 repairs are used up"
    assert len(asked) == 3


def test_a_reply_that_came_before_ends_it() -> None:
    ended, asked = settled(talk(), [reply("not short"), '{ "question":  "not short" }'])
    assert isinstance(ended, Failed)
    assert ended.why == "the same reply came twice"
    assert len(asked) == 2


def test_a_problem_of_another_reply_goes_there_and_comes_back() -> None:
    one, other = talk(), Place(Stage.CODE, 1)
    ended, _ = settled(one, [reply("not short")], other)
    assert isinstance(ended, Elsewhere)
    assert ended.place == other
    one.send_back([Problem("later", "it does not fit")])
    again, asked = settled(one, [reply("good")])
    assert isinstance(again, ReplyModel)
    assert "it does not fit" in asked[0][-1]
    assert one.step()["checks"] == ["short", "later"]


def test_a_reply_is_judged_again_before_it_is_asked_again_after_an_earlier_stage_erred() -> None:
    one = talk()
    ended, _ = settled(one, [reply("not short"), reply("not short")])
    assert isinstance(ended, Failed)
    good = iter([Findings(frozenset(CHECKS))])

    async def nobody(place: Place, version: str, messages: Sequence[Message]) -> str:
        raise AssertionError("nothing is to be asked")

    async def judge(value: ReplyModel, before: Sequence[Problem]) -> Findings:
        return next(good)

    assert isinstance(anyio.run(one.settle, nobody, judge), ReplyModel)
