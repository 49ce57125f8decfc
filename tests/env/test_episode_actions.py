"""Actions of the episode: asking the user, other tools, giving up; and tools that recover."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from tests.canned import CannedSandbox
from tests.env.made import calling, raw
from tests.env.scenes import ANAGRAM, CAPITAL, POPULATION, answers, flaky, hiding, plain, unmatched
from toolhop_env.episode import Episode
from toolhop_env.fork import fork
from toolhop_env.levels import Level
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import Reply
from toolhop_env.responders import StandIns
from toolhop_env.score import conduct
from toolhop_env.setting import Setting
from toolhop_env.tool_change import FIRST, coming
from toolhop_env.trace import Ending, ResultOrigin, ToolsChanged, Trace, from_lines, to_line
from toolhop_env.user import UserReply
from toolhop_sandbox.base import Program
from toolhop_tools.model import EpisodeAction, Flaky, Item

ASKS = raw("talk_to_user", {"question": "Which country?", "about": "country"}, "ask")
CHANGES = raw("change_tools", {"reason": "none fits", "need": "the capital of a country"}, "change")
GIVES_UP = raw("give_up", {"reason": "nothing fits"}, "end")
LOOKS_UP = raw("capital_of", {"country": "Norway"}, "look")
COUNTS = raw("count_people", {"city": "Oslo"}, "count")


def played(
    item: Item,
    *replies: Reply,
    setting: Setting | None = None,
    resume_from: Trace | None = None,
    stand_ins: StandIns | None = None,
) -> Trace:
    async def go() -> Trace:
        async with (
            CannedSandbox(answers) as box,
            Episode(item, box, setting, resume_from=resume_from, stand_ins=stand_ins) as episode,
        ):
            for reply in replies:
                await episode.step(reply)
        return episode.trace

    return anyio.run(go)


def feedback(trace: Trace) -> list[str]:
    return [call.feedback for call in trace.calls]


def test_the_user_is_asked_and_the_episode_goes_on() -> None:
    trace = played(hiding(), calling(ASKS), calling(LOOKS_UP), calling(COUNTS), Reply("717710"))
    assert feedback(trace) == ['"The country is Norway."', '"Oslo"', "717710"]
    assert trace.calls[0].action is EpisodeAction.ASK_USER
    assert trace.calls[0].origin is ResultOrigin.RULE
    assert trace.ended is not None
    assert trace.ended.ending is Ending.ANSWERED
    assert from_lines(to_line(event) for event in trace.events) == trace


def test_giving_up_ends_the_episode() -> None:
    trace = played(plain(), calling(GIVES_UP))
    assert trace.ended is not None
    assert (trace.ended.ending, trace.final_text) == (Ending.GAVE_UP, None)


def test_actions_take_turns_and_are_no_calls_of_tools() -> None:
    wrong = raw("talk_to_user", {"about": "country"}, "no question")
    trace = played(hiding(), calling(ASKS), calling(wrong), calling(LOOKS_UP), calling(GIVES_UP))
    assert trace.ended is not None
    found = conduct(trace, trace.ended)
    assert (found.turns, found.calls, found.errors) == (4, 1, {})
    assert [call.raw.name for call in trace.tool_calls] == ["capital_of"]


def test_actions_are_outside_the_limit_of_calls_and_inside_that_of_turns() -> None:
    two = Setting(limits=EpisodeLimits(calls=2))
    trace = played(hiding(), calling(ASKS, LOOKS_UP), calling(ASKS, COUNTS, GIVES_UP), setting=two)
    assert trace.ended is not None
    assert (len(trace.calls), trace.ended.ending) == (5, Ending.GAVE_UP)
    full = played(hiding(), calling(LOOKS_UP, COUNTS, LOOKS_UP, ASKS), setting=two)
    assert full.ended is not None
    assert (len(full.calls), full.ended.ending) == (2, Ending.OUT_OF_CALLS)
    turns = Setting(limits=EpisodeLimits(turns=2))
    out = played(hiding(), calling(ASKS), calling(ASKS), setting=turns)
    assert out.ended is not None
    assert out.ended.ending is Ending.OUT_OF_TURNS


def test_the_reserve_comes_with_the_next_turn() -> None:
    both = calling(CHANGES, LOOKS_UP)
    trace = played(unmatched(reserve=True), both, calling(LOOKS_UP), calling(COUNTS), Reply("x"))
    told = json.loads(trace.calls[0].feedback)["new_tools"]
    assert told == [one.schema.to_openai()["function"] for one in (CAPITAL, POPULATION)]
    assert [call.error for call in trace.calls] == [None, "unknown_tool", None, None]
    changed = [event for event in trace.events if isinstance(event, ToolsChanged)]
    assert changed == [ToolsChanged((*trace.started.tools, "capital_of", "count_people"))]
    assert trace.tools == changed[0].tools
    assert trace.before_turn(2).events[-1] == changed[0]
    assert from_lines(to_line(event) for event in trace.events) == trace


def test_two_changes_in_a_turn_bring_no_tool_twice() -> None:
    other = raw("change_tools", {"reason": "?", "need": "chemistry of the ground"}, "other")
    trace = played(unmatched(reserve=True), calling(CHANGES, other), calling(CHANGES))
    brought = [json.loads(text)["new_tools"] for text in feedback(trace)]
    brought = [[one["name"] for one in new] for new in brought]
    assert brought == [["capital_of", "count_people"], ["soil"], []]
    assert sum(isinstance(event, ToolsChanged) for event in trace.events) == 1


@pytest.mark.parametrize("need", ["help", "other tools that fit", "ünï çødé", ""])
def test_the_reserve_comes_to_no_need_that_does_not_describe_it(need: str) -> None:
    item = unmatched(reserve=True)
    assert coming(item, item.order, need) == ("soil",)


def test_without_a_reserve_further_tools_come_and_never_the_lost_ones() -> None:
    item = unmatched(reserve=False)
    assert coming(item, item.order, "the capital of a country, and people in a city") == ("soil",)
    assert coming(item, (*item.order, "soil"), "the capital of a country") == ()
    assert FIRST > 1
    trace = played(item, calling(CHANGES), calling(CHANGES), calling(LOOKS_UP))
    new = [json.loads(text)["new_tools"] for text in feedback(trace)[:2]]
    assert [[one["name"] for one in told] for told in new] == [["soil"], []]
    assert trace.calls[2].error == "unknown_tool"


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5, 6])
def test_an_episode_with_other_tools_resumes_after_any_event(cut: int) -> None:
    """Also where it was killed before the change of tools was written down."""
    replies = (calling(CHANGES), calling(ASKS), calling(LOOKS_UP), calling(GIVES_UP))
    item = unmatched(reserve=True)
    whole = played(item, *replies)
    events = whole.events[:cut]
    if events[-1].kind == "replied":
        events = events[:-1]
    turns = sum(event.kind == "replied" for event in events)
    again = played(item, *replies[turns:], resume_from=Trace(events))
    assert feedback(again) == feedback(whole)
    assert again.tools == whole.tools
    assert [event.kind for event in again.events] == [event.kind for event in whole.events]


def test_a_flaky_tool_fails_at_first_and_a_resumed_episode_counts_on() -> None:
    wrong = raw("capital_of", {"land": "Norway"}, "wrong")
    replies = (calling(wrong), calling(LOOKS_UP), calling(LOOKS_UP, LOOKS_UP), Reply("Oslo"))
    trace = played(flaky(2), *replies)
    errors = [call.error for call in trace.calls]
    assert errors == ["missing_argument", "raised", "raised", None]
    assert "too busy: try again" in trace.calls[1].feedback
    for turn in (2, 3):
        again = played(flaky(2), *replies[turn - 1 :], resume_from=trace.before_turn(turn))
        assert [call.error for call in again.calls] == errors


def test_a_tool_that_is_wrong_at_first_gives_a_result_each_time() -> None:
    right = CAPITAL.program
    body = Flaky(right, 1, "", Program(right.source, POPULATION.program.function))
    item = flaky()
    tool = replace(CAPITAL, body=body)
    item = replace(item, hops=(replace(item.hops[0], tool=tool), *item.hops[1:]))
    look = raw("capital_of", {"country": "Oslo"}, "wrong")
    trace = played(item, calling(look), calling(LOOKS_UP), Reply("Oslo"))
    assert feedback(trace)[-2:] == ["717710", '"Oslo"']
    assert [call.error for call in trace.calls] == [None, None]


def test_a_fork_keeps_the_tools_that_came_before_it() -> None:
    item = unmatched(reserve=True)
    trace = played(item, calling(CHANGES), calling(raw("count_people", {"town": "Oslo"})))
    found = fork(trace, Level.MINIMAL)
    assert found is not None
    minimal = Setting(feedback=Level.MINIMAL)
    again = played(item, calling(COUNTS), Reply("x"), setting=minimal, resume_from=found.kept)
    assert feedback(again)[-2:] == ["The call failed.", "717710"]
    assert again.tools == trace.tools


class Words:
    """Words every reply as it is told to."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.given = [*texts], list[tuple[str, UserReply]]()

    async def asked_for(self, question: str, nouns: Sequence[str]) -> str:
        return nouns[0] if "mean" in question else ""

    async def worded(self, question: str, reply: UserReply) -> str:
        self.given.append((question, reply))
        return self.texts.pop(0)


def test_a_model_words_what_the_user_says() -> None:
    words = Words("I mean Norway \ud800.", "Oslo, in Norway", "The country is Norway.")
    ask = calling(ASKS)
    trace = played(hiding(), ask, ask, ask, calling(GIVES_UP), stand_ins=StandIns(wording=words))
    assert [call.origin for call in trace.calls[:3]] == ["worded", "rule", "rule"]
    assert json.loads(trace.calls[0].feedback) == "I mean Norway \\ud800."
    assert feedback(trace)[1:3] == ['"The country is Norway."'] * 2
    assert words.given[0] == ("Which country?", UserReply("The country is Norway.", ("Norway",)))


def test_a_model_says_what_a_question_asks_for_that_the_rule_does_not_understand() -> None:
    means = raw("talk_to_user", {"question": "Where do you mean?", "about": "place"}, "means")
    odd = raw("talk_to_user", {"question": "Hm?", "about": "king"}, "odd")
    words = Words("I do not know.")
    replies = calling(means), calling(odd), calling(GIVES_UP)
    trace = played(hiding(), *replies, stand_ins=StandIns(wording=words))
    assert feedback(trace)[:2] == ['"The country is Norway."', '"I do not know."']
    assert [call.origin for call in trace.calls[:2]] == ["worded", "rule"]


def test_tools_of_no_hop_are_ranked_by_what_is_needed() -> None:
    item = plain()
    assert coming(item, item.order, "letters of a word") == ("anagram", "soil", "weather")
    assert coming(item, (), ANAGRAM.schema.description) == ("anagram", "soil", "weather")
