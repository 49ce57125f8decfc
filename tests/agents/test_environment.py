"""Environments: the scores of a run, rewards, a player's reach, and what is refused."""

from __future__ import annotations

import dataclasses
import gc
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import anyio
import pytest

from toolhop_agents.environment.core import CallOf, Environments, NothingInPlay, Step
from toolhop_agents.environment.plain import PlainEnvironment, PlainEnvironments
from toolhop_agents.environment.reward import Reward, Unscored
from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.model import as_offered, respond
from toolhop_env.benchmarks import named
from toolhop_env.episode import Episode
from toolhop_env.measures import Measure
from toolhop_env.messages import RawCall, Reply, ToolMessage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.score import Errored, Score
from toolhop_env.trace import Ended, Ending, Trace
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import Item

ITEM = "geography-1"
PROCESS = RunSettings(data="builtin", sandbox="process")


@pytest.fixture(scope="module")
def pool() -> Iterator[PlainEnvironments]:
    with PlainEnvironments(PROCESS, reward={"strict": 1, "failed_call": -0.25}) as opened:
        yield opened


def play(
    environment: PlainEnvironment,
    item: Item,
    agent: str,
    call_format: CallFormat,
    **changes: object,
) -> list[Step]:
    """An episode of a scripted agent; it sees what the environment shows."""
    observation = environment.reset(item.id, call_format=call_format, **changes)
    steps: list[Step] = []
    while not steps or not steps[-1].done:
        tools = (steps[-1].observation if steps else observation).tools
        shown = environment.conversation
        seen = as_offered(item, shown, tools)
        offered = bool(tools) or call_format is CallFormat.TEXT
        steps.append(environment.step(respond(choose(agent), seen, 0, call_format, shown, offered)))
    return steps


@pytest.mark.parametrize("call_format", CallFormat)
def test_the_scores_of_a_run(
    pool: PlainEnvironments, call_format: CallFormat, tmp_path: Path
) -> None:
    agent, items = "repairing:0.5", list(pool.items.values())[:8]
    run = anyio.run(
        execute,
        PROCESS.model_copy(
            update={"agent": agent, "call_format": call_format, "log_dir": tmp_path, "limit": "8"}
        ),
    )
    expected = {one.key.item: one.verdict for one in run.attempts}
    environment = pool.environment()
    for item in items:
        steps = play(environment, item, agent, call_format)
        verdict, before = environment.verdict, expected[item.id]
        assert isinstance(verdict, Score)
        assert isinstance(before, Score)
        assert verdict.values == before.values
        assert verdict.conduct.errors == before.conduct.errors
        failed = verdict.conduct.failed_calls
        assert sum(step.reward for step in steps) == pytest.approx(
            (verdict.value("strict") or 0) - 0.25 * failed
        )
    assert any(one.conduct.failed_calls for one in expected.values() if isinstance(one, Score))


def test_an_observation_is_what_is_new(pool: PlainEnvironments) -> None:
    environment = pool.environment()
    begun = environment.reset(ITEM)
    assert pool.items[ITEM].question in begun.messages[-1].content
    assert [tool.name for tool in begun.tools] == [*pool.items[ITEM].tools]
    step = environment.step(CallOf("no_such_tool", {}))
    assert [type(one) for one in step.observation.messages] == [ToolMessage]
    assert "no_such_tool" in step.observation.messages[0].content
    assert (step.reward, step.done) == (-0.25, False)
    environment.reset(ITEM, call_format="text")
    step = environment.step("Action: nothing\nAction Input: {}")
    assert [type(one) for one in step.observation.messages] == [UserMessage]
    assert not step.observation.tools
    environment.close()


def reachable(value: object, seen: set[int]) -> Iterator[str]:
    """All texts in what can be reached from a value by attributes and entries."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from reachable([*value.keys(), *value.values()], seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from reachable(one, seen)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from reachable(getattr(value, field.name), seen)


def test_no_gold_answer_is_in_a_players_reach(pool: PlainEnvironments) -> None:
    """At the start, and after a wrong call; nor the code of a tool. The trace has the answers."""
    environment, hidden = pool.environment(), 0
    wrong = Reply(calls=(RawCall("call", "nothing", "{}"),))  # a drawn id may have any digits
    for item in list(pool.items.values())[:10]:
        found = [environment.reset(item.id), environment.step(wrong)]
        texts = "\n".join(reachable(found, set()))
        public = f"{item.question} {[tool.schema for tool in item.tools.values()]}"
        for answer in (str(hop.answer) for hop in item.hops):
            if answer not in public and len(answer) > 2:
                hidden += 1
                assert answer not in texts
        assert not any(tool.program.source in texts for tool in item.tools.values())
        assert str(item.answer) in "\n".join(reachable(environment.trace, set()))
    environment.close()
    assert hidden > 20


def test_rewards() -> None:
    benchmark = named("toolhop")
    assert Reward.of(benchmark).measures == ((benchmark.lead, 1.0),)
    with PlainEnvironments(PROCESS, reward={"turns": -1, "milestones": 0.5}) as pool:
        environment, item = pool.environment(), pool.items[ITEM]
        steps = play(environment, item, "oracle", CallFormat.NATIVE)
        hops = len(item.hops)
        assert [step.reward for step in steps] == pytest.approx([0.5 / hops] * hops + [-hops - 1.0])
    with pytest.raises(BadChoice, match="'nothing', which is no measure of ToolHop"):
        Reward.of(benchmark, {"nothing": 1})


def test_a_reward_keeps_its_components(pool: PlainEnvironments) -> None:
    """Weighted, they are the reward of the step; over the steps, that of the episode and turns."""
    item, environment, reward = pool.items[ITEM], pool.environment(), pool.environments.reward
    steps = play(environment, item, "repairing:0.7", CallFormat.NATIVE)
    verdict, trace = environment.verdict, environment.trace
    assert isinstance(verdict, Score)
    assert verdict.conduct.failed_calls
    assert reward.weights["hops_solved"] == 0
    for step in steps:
        weighed = sum(reward.weights[name] * one for name, one in step.components.items())
        assert step.reward == pytest.approx(weighed)
    assert [step.reward for step in steps] == pytest.approx(reward.by_turn(trace))
    whole = reward.components(Trace(trace.events[:1]), trace)
    for name in ("milestones", "failed_call"):
        assert whole[name] == pytest.approx(sum(step.components[name] for step in steps))
    assert (
        whole["milestones"] == verdict.value("hops_solved") == steps[-1].components["hops_solved"]
    )
    assert whole["failed_call"] == verdict.conduct.failed_calls
    assert all(set(step.components) == {"milestones", "failed_call"} for step in steps[:-1])
    known = {name for name in verdict.values if verdict.value(name) is not None}
    assert set(whole) == known | {"milestones", "failed_call"}


def test_the_rewards_of_turns_sum_to_the_episodes_where_it_was_stopped(
    pool: PlainEnvironments,
) -> None:
    environment, reward = pool.environment(), pool.environments.reward
    environment.reset(ITEM)
    environment.step(CallOf("no_such_tool", {}))
    environment.step(CallOf("no_such_tool", {}))
    environment.close()
    assert reward.by_turn(environment.trace) == [-0.25, -0.25]
    assert reward.of_episode(environment.trace) == -0.5


def test_a_measure_without_a_value_is_no_component() -> None:
    """One with weight is 0 then, as in the sum."""
    with PlainEnvironments(PROCESS, reward={"instance_error": 1}) as pool:
        environment = pool.environment()
        environment.reset(ITEM)
        found = environment.step("an answer without a call").components
        assert found["instance_error"] == 0
        assert "chain_at_place" not in found
        assert found["strict"] == 0
        trace = environment.trace
    undefined = Measure("undefined", "A share of nothing.", parts=lambda _: (0.0, 0.0))
    measures = (*named("toolhop").measures, undefined)
    reward = Reward.of(dataclasses.replace(named("toolhop"), measures=measures))
    assert "undefined" not in reward.components(trace, trace)


def test_a_turn_of_failed_calls_alone(pool: PlainEnvironments) -> None:
    environment, item = pool.environment(), pool.items[ITEM]
    assert item.hops[0].gold is not None
    right = RawCall("1", item.hops[0].tool.name, json.dumps(dict(item.hops[0].gold.arguments)))
    wrong = RawCall("2", "no_such_tool", "{}")
    for calls, expected in (((wrong, wrong), True), ((right, wrong), False), ((right,), False)):
        environment.reset(ITEM)
        assert environment.step(Reply("", calls)).only_failed is expected
    assert environment.step(Reply("", (wrong,))).only_failed  # the turn before is another
    environment.reset(ITEM)
    environment.step(Reply("", (wrong,)))
    assert not environment.step("an answer").only_failed


@pytest.mark.parametrize("weight", [float("nan"), float("-inf"), "much", None, 10**400])
@pytest.mark.parametrize("name", ["strict", "milestones", "failed_call"])
def test_weights_are_finite_numbers(name: str, weight: float) -> None:
    with pytest.raises(BadChoice, match=f"weight of '{name}' cannot be {weight!r}"):
        Reward.of(named("toolhop"), {name: weight})


@pytest.mark.parametrize(
    "weights", ["strict", [("strict", 1)], {"strict": 1e308, "official": 1e308}]
)
def test_weights_by_name_with_a_finite_sum(weights: dict[str, float]) -> None:
    with pytest.raises(BadChoice, match=r"no weights of a reward|are too large"):
        Reward.of(named("toolhop"), weights)


@pytest.mark.parametrize("most", [0, -1, True, 1.5, None, "3"])
def test_episodes_at_a_time_are_counted_from_one(most: int) -> None:
    with pytest.raises(BadChoice, match="cannot be in play at a time"):
        PlainEnvironments(PROCESS, most=most)


def test_an_episode_that_is_stopped_or_errored(pool: PlainEnvironments) -> None:
    environment = pool.environment()
    environment.reset(ITEM)
    with pytest.raises(Unscored):
        pool.environments.reward.of_step(environment.trace, _errored(environment))
    environment.close()
    assert environment.trace.ended is not None
    assert environment.trace.ended.ending is Ending.STOPPED
    with pytest.raises(NothingInPlay, match="reset to play another"):
        environment.step("hello")
    with pytest.raises(NothingInPlay, match="reset first"):
        pool.environment().step("hello")


def _errored(environment: PlainEnvironment) -> Trace:
    return environment.trace.after(Ended(Ending.ERRORED, 0.0, "of ours"))


@pytest.mark.parametrize(
    ("item", "changes", "says"),
    [
        ("nowhere", {}, "no item 'nowhere'"),
        (["a", "list"], {}, "no item \\['a', 'list'\\]"),
        (ITEM, {"seed": [1]}, r"seed cannot be \[1\]"),
        (ITEM, {"mode": {}}, "{} is no mode of ToolHop"),
        (ITEM, {"template": "/a/file"}, "'/a/file': it has no {question}"),
        (ITEM, {"mode": "loud"}, "'loud' is no mode of ToolHop"),
        (ITEM, {"data": "other"}, "'data' is no setting of an episode"),
        (ITEM, {"turn_limit": 0}, "turn_limit cannot be 0"),
        (ITEM, {"feedback": "loud"}, "feedback cannot be 'loud'"),
    ],
)
def test_what_a_reset_refuses(
    pool: PlainEnvironments, item: str, changes: dict[str, object], says: str
) -> None:
    with pytest.raises(BadChoice, match=says):
        pool.environment().reset(item, **changes)


def test_a_template_is_a_text() -> None:
    with pytest.raises(BadChoice, match="not the path of its file"):
        PlainEnvironments(PROCESS.model_copy(update={"template": "prompt.txt"}))


def test_what_is_no_action(pool: PlainEnvironments) -> None:
    environment, wrong = pool.environment(), cast("str", 5)
    environment.reset(ITEM)
    with pytest.raises(BadChoice, match="5 is no action"):
        environment.step(wrong)
    for odd in (Reply(cast("str", None)), Reply("x", cast("tuple[()]", ("call",)))):
        with pytest.raises(BadChoice, match="is no action"):
            environment.step(odd)
    for call in (CallOf("x", cast("dict[str, str]", None)), CallOf(wrong, {})):
        with pytest.raises(BadChoice, match="is no action"):
            environment.step(call)
    with pytest.raises(BadChoice, match="are no JSON"):
        environment.step(CallOf("x", cast("dict[str, str]", {"a": {1}})))
    assert environment.step("the answer").done


def test_settings_of_one_episode(pool: PlainEnvironments) -> None:
    environment = pool.environment()
    environment.reset(ITEM, feedback="minimal", turn_limit=1)
    step = environment.step(CallOf("nothing", {}))
    assert step.truncated
    assert step.ending is Ending.OUT_OF_TURNS
    environment.reset(ITEM)
    assert not environment.step(CallOf("nothing", {})).done
    environment.close()


def test_more_than_may_be_in_play(pool: PlainEnvironments) -> None:
    seats = [pool.environment() for _ in range(3)]
    for seat in seats[:2]:
        seat.reset(ITEM)
    with pytest.raises(BadChoice, match="2 episodes are in play, as many as may be"):
        seats[2].reset(ITEM)
    seats[0].step("an answer ends it")
    seats[2].reset(ITEM)
    for seat in seats:
        seat.close()


def test_many_resets_leave_nothing_behind(pool: PlainEnvironments) -> None:
    """No thread, no worker and no episode of theirs is left."""
    environment = pool.environment()
    environment.reset(ITEM)
    threads = threading.active_count()
    sandbox = pool.environments._sandbox
    assert sandbox is not None
    workers = list(map(id, sandbox._started))
    for _ in range(50):
        environment.reset(ITEM)
        environment.step("done")
    assert threading.active_count() <= threads
    assert list(map(id, sandbox._started)) == workers
    gc.collect()
    assert sum(isinstance(one, Episode) for one in gc.get_objects()) <= 2


def test_environments_in_threads(pool: PlainEnvironments) -> None:
    found: list[float] = []

    def work() -> None:
        environment = pool.environment()
        for item in list(pool.items.values())[:4]:
            steps = play(environment, item, "oracle", CallFormat.NATIVE)
            found.append(sum(one.reward for one in steps))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1.0] * 8


def test_a_verdict_before_the_end(pool: PlainEnvironments) -> None:
    environment = pool.environment()
    environment.reset(ITEM)
    assert isinstance(environment.verdict, Errored)
    environment.close()


def test_a_cancelled_step_keeps_its_place() -> None:
    """Until the environment is closed; its caller may look at the trace before."""

    async def hang(self: Episode, reply: Reply) -> None:
        await anyio.sleep_forever()

    async def work() -> None:
        async with Environments(PROCESS, most=1) as pool:
            first, second = pool.environment(), pool.environment()
            await first.reset(ITEM)
            with pytest.MonkeyPatch.context() as patch, anyio.move_on_after(0) as cancelled:
                patch.setattr(Episode, "step", hang)
                await first.step("an answer")
            assert cancelled.cancelled_caught
            assert first.trace.ended is None
            with pytest.raises(BadChoice, match="1 episodes are in play"):
                await second.reset(ITEM)
            await first.close()
            await second.reset(ITEM)
            await second.close()

    anyio.run(work)


def test_an_episode_that_is_given_up_has_no_score(pool: PlainEnvironments) -> None:
    environment = pool.environment()
    environment.reset(ITEM)
    environment.give_up("no template shows it")
    assert isinstance(environment.verdict, Errored)
    assert environment.verdict.reason == "no template shows it"
    environment.reset(ITEM)
    environment.close()
