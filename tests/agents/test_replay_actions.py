"""Episodes with actions, run again: the user is asked again by the rule, and no model is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from tests.canned import CannedSandbox
from tests.env import scenes
from toolhop_agents.runs.replay import compare, rerun, verify
from toolhop_env.episode import Episode
from toolhop_env.messages import RawCall, Reply
from toolhop_env.responders import StandIns
from toolhop_env.trace import Called, Ended, Ending, Trace
from toolhop_env.user import UserReply
from toolhop_sandbox.outcome import Returned


def acting(name: str, **arguments: str) -> RawCall:
    return RawCall(f"c_{name}", name, json.dumps(arguments))


ACTING = (
    Reply(calls=(acting("talk_to_user", question="Which country?", about="country"),)),
    Reply(calls=(acting("change_tools", reason="?", need="letters"), acting("capital_of"))),
    Reply(
        calls=(
            acting("capital_of", country="Norway"),
            acting("talk_to_user", question="Which country?", about="country"),
            acting("count_people", city="Oslo"),
        )
    ),
    Reply(calls=(acting("give_up", reason="tired"),)),
)


class Worded:
    """Words what the user says, every other time."""

    def __init__(self) -> None:
        self.asked = 0

    async def asked_for(self, question: str, nouns: Sequence[str]) -> str:
        return nouns[0] if "mean" in question else ""

    async def worded(self, question: str, reply: UserReply) -> str:
        self.asked += 1
        return reply.text if self.asked % 2 else f"I mean this: {reply.text}"


@pytest.mark.parametrize("stand_ins", [StandIns(), StandIns(wording=Worded())])
@pytest.mark.parametrize("cut", [None, 1, 2, 3, 4, 5, 6])
def test_actions_are_replayed_as_they_were_up_to_any_call(
    cut: int | None, stand_ins: StandIns
) -> None:
    """Also where the turn was cut off behind a call, and whoever worded the replies is gone."""
    item = scenes.hiding()

    async def go() -> tuple[Trace, Trace]:
        async with CannedSandbox(scenes.answers) as box:
            async with Episode(item, box, stand_ins=stand_ins) as episode:
                for reply in ACTING:
                    await episode.step(reply)
            trace = episode.trace
            if cut is not None:
                ends = [n for n, one in enumerate(trace.events) if isinstance(one, Called)]
                kept = trace.events[: ends[cut - 1] + 1]
                trace = Trace((*kept, Ended(Ending.STOPPED, 1.0)))
            return trace, await rerun(trace, item, box)

    trace, again = anyio.run(go)
    assert len(again.calls) == len(trace.calls) == (cut or 7)
    assert compare(trace, again) == ()
    assert [one.origin for one in again.calls] == [one.origin for one in trace.calls]


def test_a_changed_reply_of_the_user_is_found() -> None:
    item = scenes.hiding()

    async def go() -> None:
        async with CannedSandbox(scenes.answers) as box:
            async with Episode(item, box) as episode:
                for reply in ACTING:
                    await episode.step(reply)
            first = episode.trace.calls[0]
            said = replace(first, outcome=Returned('"country: Italy"'))
            edited = (said if event is first else event for event in episode.trace.events)
            found = await verify([Trace(tuple(edited))], {item.id: item}, box)
            assert [one.parts for one in found.differences] == [("outcome",)]

    anyio.run(go)
