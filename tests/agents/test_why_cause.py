"""What `toolhop why` makes of continuations, and how it puts a gold call into a turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.agents import planted
from tests.inline import inline_sandbox
from toolhop_agents.why.cause import CONFIDENCE, Cause, Stage, Trial, cause
from toolhop_agents.why.steps import Repair, branch, repairs_of
from toolhop_env.divergence import first_divergence
from toolhop_env.episode import Episode
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import Origin, RawCall, Reply, Thoughts
from toolhop_env.reading import CallFormat, write_calls
from toolhop_env.setting import Setting
from toolhop_env.statistics.paired import score_interval
from toolhop_env.trace import Ending, Trace
from toolhop_tools.model import Item

ITEM = planted.branches(1, "")
NO, YES = (False, False), (True, True)
GAINED, LOST = (False, True), (True, False)
RISES = Trial((GAINED,) * 8, identical=False)
SURE = Trial((YES,) * 8, identical=False)
FLAT = Trial((NO,) * 8, identical=False)


@pytest.mark.parametrize(
    ("steps", "trials", "wanted"),
    [
        (0, {}, Cause.NO_REPAIR),
        (2, {}, Cause.OPEN),
        (2, {Stage.FIRST: RISES}, Cause.FIRST),
        (2, {Stage.FIRST: FLAT}, Cause.OPEN),
        (2, {Stage.FIRST: FLAT, Stage.NEXT: RISES}, Cause.NEXT),
        (1, {Stage.FIRST: FLAT, Stage.NEXT: None}, Cause.OPEN),
        (2, {Stage.FIRST: FLAT, Stage.NEXT: FLAT, Stage.BOTH: RISES}, Cause.TOGETHER),
        (1, {Stage.FIRST: FLAT, Stage.NEXT: None, Stage.BOTH: RISES}, Cause.TOGETHER),
        (2, {Stage.FIRST: FLAT, Stage.NEXT: FLAT, Stage.BOTH: None}, Cause.NOT_FOUND),
        (2, {Stage.FIRST: FLAT, Stage.NEXT: FLAT, Stage.BOTH: FLAT}, Cause.NOT_FOUND),
        (2, {Stage.FIRST: FLAT, Stage.NEXT: SURE, Stage.BOTH: None}, Cause.NOT_FOUND),
        (1, {Stage.FIRST: Trial((YES,) * 4 + (NO,) * 4, identical=False)}, Cause.CHANCE),
        (1, {Stage.FIRST: Trial((YES,) * 3 + (NO,) * 5, identical=False)}, Cause.OPEN),
        (1, {Stage.FIRST: Trial((LOST,) * 8, identical=False)}, Cause.CHANCE),
        (1, {Stage.FIRST: Trial((GAINED,) * 6, identical=True)}, Cause.FIRST),
        (1, {Stage.FIRST: Trial((GAINED,) * 5, identical=True)}, Cause.OPEN),
        (1, {Stage.FIRST: Trial((GAINED,) * 5, identical=False)}, Cause.OPEN),
        (1, {Stage.FIRST: Trial((NO, NO), identical=True)}, Cause.OPEN),
        (1, {Stage.FIRST: Trial((YES, YES), identical=True)}, Cause.CHANCE),
    ],
)
def test_a_cause_is_named_where_success_rises(
    steps: int, trials: dict[Stage, Trial | None], wanted: Cause
) -> None:
    assert cause(steps, trials) is wanted


@pytest.mark.parametrize("gained", range(9))
def test_six_of_eight_continuations_have_to_come_right(gained: int) -> None:
    trial = Trial((GAINED,) * gained + (NO,) * (8 - gained), identical=False)
    assert trial.rises == (gained >= 6)
    assert trial.rises == (score_interval(gained, 0, 8, confidence=CONFIDENCE)[0] > 0)
    few = Trial((GAINED,) * min(gained, 5) + (NO,), identical=False)
    assert not few.rises


async def played(item: Item, replies: Sequence[Reply], form: CallFormat) -> Trace:
    async with (
        inline_sandbox() as sandbox,
        Episode(item, sandbox, Setting(call_format=form)) as episode,
    ):
        for reply in replies:
            await episode.step(reply)
    return episode.trace


def repairs(trace: Trace, item: Item, after: int = 0) -> Sequence[Repair]:
    return repairs_of(first_divergence(trace, item), trace, item, after=after)


def call(number: int, name: str, **arguments: str) -> RawCall:
    return RawCall(f"id{number}", name, json.dumps(arguments))


CALLS = (call(1, "capital", country="Spain"), call(2, "river", country="Peru"))
GOLD = call(2, "river", country="Spain")


@pytest.mark.anyio
async def test_only_the_diverging_call_of_a_turn_is_replaced() -> None:
    signed = Thoughts(fields={"thinking_blocks": [{"signature": "x"}]})
    first = Reply("I look up Peru.", CALLS, thoughts=signed)
    trace = await played(ITEM, [first, Reply("<answer>5</answer>")], CallFormat.NATIVE)
    repair, *later = repairs(trace, ITEM)
    assert (repair.turn, repair.tool, dict(repair.arguments)) == (1, "river", {"country": "Spain"})
    assert repairs(trace, ITEM, after=1) == later
    begun = branch(trace, repair, origin="run/one", repaired=True)
    assert begun.reply == Reply(calls=(CALLS[0], GOLD), thoughts=signed, origin=Origin.RESUMED)
    assert begun.turns is not None
    assert (begun.turns.started.episode, begun.turns.replies) == ("run/one", ())
    plain = replace(trace, events=tuple(
        replace(one, reply=replace(first, thoughts=Thoughts("Peru?"))) if one.kind == "replied"
        and one.turn == 1 else one for one in trace.events
    ))  # fmt: skip
    unsigned = branch(plain, repair, origin="run/one", repaired=True).reply
    assert unsigned is not None
    assert unsigned.thoughts is None
    assert branch(trace, repair, origin="run/one", repaired=False).reply is None


@pytest.mark.anyio
async def test_in_text_and_for_an_answer_the_call_is_written_anew() -> None:
    text = Reply(write_calls("I look up Peru.", CALLS))
    trace = await played(ITEM, [text, Reply("<answer>5</answer>")], CallFormat.TEXT)
    repair, *_ = repairs(trace, ITEM)
    reply = branch(trace, repair, origin="a", repaired=True).reply
    assert reply is not None
    assert (reply.content, reply.calls) == (write_calls("", (CALLS[0], GOLD)), ())
    right = (CALLS[0], GOLD)
    trace = await played(ITEM, [Reply(calls=right), Reply("<answer>5</answer>")], CallFormat.NATIVE)
    (repair,) = repairs(trace, ITEM)
    reply = branch(trace, repair, origin="a", repaired=True).reply
    assert reply is not None
    (made,) = reply.calls
    assert (made.id, made.name) == ("repair002", "total")
    assert json.loads(made.arguments) == {"first": "Madrid", "second": "Ebro"}


@pytest.mark.anyio
async def test_what_was_made_good_is_repaired_only_if_nothing_else_is_left() -> None:
    wrong, right = Reply(calls=CALLS), Reply(calls=(CALLS[0], GOLD))
    trace = await played(ITEM, [wrong, right, Reply("<answer>5</answer>")], CallFormat.NATIVE)
    assert [one.turn for one in repairs(trace, ITEM)] == [3]
    total = Reply(calls=(call(3, "total", first="Madrid", second="Ebro"),))
    trace = await played(ITEM, [wrong, right, total, Reply("None.")], CallFormat.NATIVE)
    assert [one.turn for one in repairs(trace, ITEM)] == [1]
    bare = replace(ITEM, hops=tuple(replace(hop, gold=None) for hop in ITEM.hops))
    trace = await played(bare, [wrong, Reply("None.")], CallFormat.NATIVE)
    assert repairs(trace, bare) == []


@pytest.mark.anyio
async def test_a_limit_is_no_step_that_a_call_repairs() -> None:
    setting = Setting(limits=EpisodeLimits(turns=1))
    async with inline_sandbox() as sandbox, Episode(ITEM, sandbox, setting) as episode:
        await episode.step(Reply(calls=(CALLS[0], GOLD)))
    assert episode.ending is Ending.OUT_OF_TURNS
    assert repairs(episode.trace, ITEM) == []
