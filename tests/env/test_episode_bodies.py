"""What answers a call: a recorded table, the episode itself, a stand-in; and whose turn it is."""

from __future__ import annotations

from collections.abc import Mapping

import anyio
import pytest

from tests.canned import CannedSandbox
from tests.env.made import calling, raw
from toolhop_env.episode import Episode, EpisodeOver
from toolhop_env.messages import Reply
from toolhop_env.responders import MissingResponder, StandIns
from toolhop_env.setting import Setting
from toolhop_env.trace import Ending, Trace, from_lines, to_line
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.model import (
    ActionChoice,
    Body,
    EpisodeAction,
    Item,
    RecordedTable,
    Simulated,
    Tool,
    ToolSchema,
    canonical,
)

ANY: dict[str, JSON] = {"type": "object", "additionalProperties": True}


def item(**bodies: Body) -> Item:
    tools = tuple(Tool(ToolSchema(name, name, ANY), body) for name, body in bodies.items())
    return Item("i", "Q?", "4", (), "d", "number", others=tools)


class Says:
    """Answers every call with one text, lets others run meanwhile, and remembers it."""

    def __init__(self, text: str) -> None:
        self.text, self.asked = text, list[dict[str, JSON]]()

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        self.asked.append(dict(arguments))
        await anyio.lowlevel.checkpoint()
        return Returned(f'"{self.text}"')


def played(
    what: Item,
    *replies: Reply,
    stand_ins: StandIns | None = None,
    setting: Setting | None = None,
    sandbox: CannedSandbox | None = None,
) -> Trace:
    async def go() -> Trace:
        box = sandbox or CannedSandbox(lambda *_: Returned("4"))
        async with box, Episode(what, box, setting, stand_ins=stand_ins) as episode:
            for reply in replies:
                await episode.step(reply)
        return episode.trace

    return anyio.run(go)


def test_a_recorded_table_is_looked_up_and_nothing_runs() -> None:
    box = CannedSandbox(lambda *_: Returned("0"))
    table = RecordedTable({canonical({"n": 2}): Returned("4")}, Raised("KeyError", "n"))
    known, unknown = calling(raw("double", {"n": 2.0})), calling(raw("double", {"n": 3}))
    trace = played(item(double=table), known, unknown, sandbox=box)
    assert [call.error for call in trace.calls] == [None, "raised"]
    assert trace.calls[0].feedback == "4"
    assert (box.calls, box.open_sessions) == ([], 0)


def origins(trace: Trace) -> list[str | None]:
    return [call.origin for call in trace.calls]


def test_a_result_has_its_origin_and_a_model_answers_a_call_once() -> None:
    table = RecordedTable(
        {canonical({"n": 2}): Returned("4")}, Returned("0"), "Doubles.", made=True
    )
    calls = [calling(raw("double", {"n": n}, f"c{turn}")) for turn, n in enumerate((2, 3, 3.0))]
    alone = played(item(double=table), *calls)
    assert origins(alone) == ["recorded", "template", "template"]
    assert [call.feedback for call in alone.calls] == ["4", "0", "0"]
    model = Says("six")
    stand_ins = StandIns(simulator=model)
    simulated = played(item(double=table), *calls, stand_ins=stand_ins)
    assert origins(simulated) == ["recorded", "simulated", "earlier"]
    assert [call.feedback for call in simulated.calls] == ["4", '"six"', '"six"']
    again = played(item(double=table), calls[1], stand_ins=stand_ins)
    assert (origins(again), model.asked) == (["earlier"], [{"n": 3}])
    assert from_lines(to_line(event) for event in simulated.events) == simulated


def test_a_table_without_an_instruction_asks_no_model() -> None:
    table = RecordedTable({}, Raised("KeyError", "n"))
    stand_ins = StandIns(simulator=Says("six"))
    trace = played(item(double=table), calling(raw("double", {"n": 3})), stand_ins=stand_ins)
    assert origins(trace) == ["default"]


@pytest.mark.parametrize(
    ("way", "ending", "said"),
    [("done", Ending.ANSWERED, "4"), ("cannot", Ending.GAVE_UP, None)],
)
def test_an_argument_chooses_how_the_episode_ends(
    way: str, ending: Ending, said: str | None
) -> None:
    body = ActionChoice("way", {"done": EpisodeAction.FINISH, "cannot": EpisodeAction.GIVE_UP})
    shapes: dict[str, JSON] = {"way": {"enum": ["done", "cannot"]}, "final_answer": {}}
    schema: dict[str, JSON] = {"type": "object", "required": ["way"], "properties": shapes}
    tool = Tool(ToolSchema("end", "", schema), body)
    one = Item("i", "Q?", "4", (), "d", "number", others=(tool,))
    wrong = calling(raw("end", {"way": "else"}))
    right = calling(raw("end", {"way": way, "final_answer": "4"} if said else {"way": way}))
    trace = played(one, wrong, right)
    assert trace.calls[0].ends is None
    assert trace.ended is not None
    assert (trace.ended.ending, trace.final_text) == (ending, said)


def test_a_finish_action_ends_the_episode_with_its_answer() -> None:
    finish = item(finish=EpisodeAction.FINISH)
    trace = played(finish, calling(raw("finish", {"answer": "4"})))
    assert trace.ended is not None
    assert (trace.ended.ending, trace.final_text) == (Ending.ANSWERED, "4")
    again = from_lines(to_line(event) for event in trace.events)
    assert again == trace


def test_calls_after_an_action_that_ends_are_not_run() -> None:
    both = item(give_up=EpisodeAction.GIVE_UP, double=RecordedTable({}, Returned("4")))
    trace = played(both, calling(raw("give_up", {}), raw("double", {}, "c2")))
    assert trace.ended is not None
    assert (trace.ended.ending, len(trace.calls)) == (Ending.GAVE_UP, 1)
    assert trace.final_text is None


def test_a_rejected_finish_ends_nothing() -> None:
    schema: dict[str, JSON] = {"type": "object", "required": ["answer"]}
    tool = Tool(ToolSchema("finish", "", schema), EpisodeAction.FINISH)
    one = Item("i", "Q?", "4", (), "d", "number", others=(tool,))
    trace = played(one, calling(raw("finish", {})))
    assert trace.ended is None
    assert trace.calls[0].error == "missing_argument"


def test_a_stand_in_answers_for_a_simulated_tool_and_for_the_user() -> None:
    simulator, user = Says("sunny"), Says("Oslo")
    both = item(weather=Simulated("You are a weather service."), ask=EpisodeAction.ASK_USER)
    replies = (calling(raw("ask", {"question": "Where?"})), calling(raw("weather", {"in": "Oslo"})))
    trace = played(both, *replies, stand_ins=StandIns(simulator, user))
    assert [call.feedback for call in trace.calls] == ['"Oslo"', '"sunny"']
    assert (user.asked, simulator.asked) == ([{"question": "Where?"}], [{"in": "Oslo"}])


def test_a_tool_that_nobody_answers_is_refused_before_anything_runs() -> None:
    with pytest.raises(MissingResponder, match="a model that simulates it"):
        Episode(item(tool=Simulated("x")), CannedSandbox(lambda *_: Returned("1")))


def test_a_plan_is_one_reply_whatever_it_holds() -> None:
    reply = calling(raw("double", {"n": 1}))
    setting = Setting(single_reply=True, offer_tools=False)
    trace = played(item(double=RecordedTable({}, Returned("4"))), reply, setting=setting)
    assert trace.ended is not None
    assert (trace.ended.ending, trace.calls) == (Ending.ANSWERED, ())


def test_replies_from_several_tasks_are_taken_one_after_the_other() -> None:
    """Each task's two calls stand together in the trace, and the last is told that it is over."""
    told: list[str] = []

    async def go() -> Trace:
        box = CannedSandbox(lambda *_: Returned("1"))
        what, stand_in = item(slow=Simulated("x")), Says("x")
        async with box, Episode(what, box, stand_ins=StandIns(stand_in)) as episode:

            async def turn(n: int) -> None:
                calls = [raw("slow", {"n": n}, f"{n}.{part}") for part in range(2)]
                try:
                    await episode.step(Reply("done") if n == 3 else calling(*calls))
                except EpisodeOver as over:
                    told.append(str(over))

            async with anyio.create_task_group() as tasks:
                for n in range(5):
                    tasks.start_soon(turn, n)
        return episode.trace

    trace = anyio.run(go)
    ids = [call.raw.id for call in trace.calls]
    assert ids == [f"{n}.{part}" for n in range(3) for part in range(2)]
    assert [one.turn for one in trace.replies] == [1, 2, 3, 4]
    assert len(told) == 1
