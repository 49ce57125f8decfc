from __future__ import annotations

import anyio
import pytest

from tests.canned import CannedSandbox
from tests.env.games import ANSWER, ASK, ITEM, echo, play
from tests.env.made import raw
from toolhop_env.episode import Episode
from toolhop_env.feedback import MINIMAL_TEXT
from toolhop_env.fork import first_failure, fork
from toolhop_env.levels import Level, Template
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import Reply
from toolhop_env.setting import Setting
from toolhop_env.trace import Called, Ending, FeedbackSet, Trace
from toolhop_env.verdicts import ErrorCode

GOOD = Reply("", (ASK,))
BAD = Reply("", (raw("capital", {"land": "Norway"}),))
MIXED = Reply("", (ASK, raw("capitals", {"country": "Norway"}), raw("power", {"base": "x"})))


def traced(*replies: Reply, setting: Setting | None = None) -> Trace:
    return play(*replies, setting=setting)[1]


def test_the_first_failed_call_is_found() -> None:
    found = first_failure(traced(GOOD, MIXED, BAD, ANSWER))
    assert found is not None
    assert (found.turn, found.number, found.code) == (2, 3, ErrorCode.UNKNOWN_TOOL)
    assert (found.tool, found.hop) == ("capitals", None)
    assert first_failure(traced(GOOD, ANSWER)) is None
    assert fork(traced(GOOD, ANSWER), Level.MINIMAL) is None


def test_a_fork_says_the_whole_failed_turn_anew_and_nothing_else() -> None:
    trace = traced(GOOD, MIXED, BAD, ANSWER)
    found = fork(trace, Level.MINIMAL, origin="detailed/x")
    assert found is not None
    assert found.reply is None
    kept = found.kept
    assert [event.turn for event in kept.replies] == [1, 2]
    assert kept.started.feedback is Level.MINIMAL
    assert kept.started.episode == "detailed/x"
    texts = [call.feedback for call in kept.calls]
    originals = [call.feedback for call in trace.calls]
    assert texts[:2] == originals[:2]
    assert texts[2:] == [MINIMAL_TEXT] * 2
    for one, other in zip(kept.calls, trace.calls, strict=False):
        assert (one.raw, one.verdict, one.outcome, one.error, one.hop) == (
            (other.raw, other.verdict, other.outcome, other.error, other.hop)
        )


@pytest.mark.parametrize(
    "level", [Level.DETAILED, Level.MINIMAL, Template("own", "{tool} {code} {problems}")]
)
def test_a_fork_begins_as_an_episode_of_its_level_would_have(level: Level | Template) -> None:
    replies = (GOOD, MIXED, BAD, ANSWER)
    direct = traced(*replies, setting=Setting(feedback=level))
    for prefix in (Level.DETAILED, Level.MINIMAL):
        found = fork(traced(*replies, setting=Setting(feedback=prefix)), level)
        assert found is not None
        kept = [part for part in found.kept.events[1:] if not isinstance(part, FeedbackSet)]
        same = direct.events[1 : len(kept) + 1]
        assert [_timeless(event) for event in kept] == [_timeless(event) for event in same]


def _timeless(event: object) -> object:
    if isinstance(event, Called):
        return (event.turn, event.raw, event.verdict, event.outcome, event.level, event.feedback)
    return event


def test_going_back_to_the_level_itself_changes_nothing() -> None:
    trace = traced(MIXED, ANSWER)
    found = fork(trace, Level.DETAILED)
    assert found is not None
    assert found.kept.events == trace.before_turn(2).events


def resumed(kept: Trace, setting: Setting) -> Trace:
    async def go() -> Trace:
        async with Episode(ITEM, CannedSandbox(echo), setting, resume_from=kept) as episode:
            # What an agent is shown next is what the trace says.
            assert episode.conversation == episode.trace.conversation() != ()
            return episode.trace

    return anyio.run(go)


def test_a_branch_is_linked_and_counts_its_turns() -> None:
    found = fork(traced(GOOD, BAD, ANSWER), Level.MINIMAL, origin="detailed/x")
    assert found is not None
    trace = resumed(found.kept, Setting(feedback=Level.MINIMAL))
    assert (trace.started.parent, trace.started.prefix_turns) == ("detailed/x", 2)
    assert trace.started.feedback is Level.MINIMAL
    assert trace.ended is None
    assert not any(isinstance(event, FeedbackSet) for event in trace.events)


def test_a_branch_meets_the_limit_that_its_parent_met() -> None:
    setting = Setting(feedback=Level.MINIMAL, limits=EpisodeLimits(turns=2))
    found = fork(traced(GOOD, BAD, setting=Setting(limits=EpisodeLimits(turns=2))), Level.MINIMAL)
    assert found is not None
    ended = resumed(found.kept, setting).ended
    assert ended is not None
    assert ended.ending is Ending.OUT_OF_TURNS


def test_a_turn_that_a_limit_cut_short_is_given_once_more() -> None:
    limits = EpisodeLimits(calls=3)
    trace = traced(GOOD, MIXED, setting=Setting(limits=limits))
    assert [call.error for call in trace.calls] == [None, None, ErrorCode.UNKNOWN_TOOL]
    found = fork(trace, Level.MINIMAL)
    assert found is not None
    assert found.reply == MIXED
    assert len(found.kept.replies) == 1
