from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace

import anyio
import pytest

from tests.agents.items import small_item
from tests.env.made import count
from tests.inline import inline_sandbox
from toolhop_agents.call_formats import restored, shown
from toolhop_agents.models.loopback import Request
from toolhop_agents.prompts import Mode, prompt, tool_lines
from toolhop_agents.react import play
from toolhop_agents.scripted.choose import UnknownAgent, choose
from toolhop_agents.scripted.faults import FaultKind, spoil
from toolhop_agents.scripted.listed import as_listed
from toolhop_agents.scripted.model import Faulty, Play, ScriptedModel, oracle
from toolhop_agents.scripted.plan import plan, raw_calls
from toolhop_agents.scripted.responder import responder
from toolhop_env.benchmarks import score
from toolhop_env.episode import Episode
from toolhop_env.feedback import Level
from toolhop_env.guarded import BenchmarkFault
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    ToolMessage,
    UserMessage,
)
from toolhop_env.reading import CallFormat
from toolhop_env.score import Score
from toolhop_env.setting import Setting
from toolhop_env.trace import Ending, Trace
from toolhop_env.validation import Validator
from toolhop_env.verdicts import Rejected
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Hop, Item, Tool, ToolSchema

ITEM = small_item()


def played(
    agent: Play,
    item: Item = ITEM,
    *,
    call_format: CallFormat = CallFormat.NATIVE,
    feedback: Level = Level.DETAILED,
    mode: Mode = Mode.MANDATORY,
    seed: int = 0,
) -> Trace:
    documents = [tool.schema for tool in item.tools.values()]
    setting = Setting(
        call_format=call_format,
        feedback=feedback,
        messages=prompt(mode, call_format, item.question, documents),
        offer_tools=mode is not Mode.DIRECT,
        limits=EpisodeLimits(turns=20),
    )

    async def go() -> Trace:
        async with (
            inline_sandbox() as sandbox,
            Episode(item, sandbox, setting) as episode,
        ):
            offered = mode is not Mode.DIRECT
            await play(episode, ScriptedModel("agent", agent, item, seed, call_format, offered))
            return episode.trace

    return anyio.run(go)


def judged(trace: Trace) -> Score:
    verdict = score(trace)
    assert isinstance(verdict, Score)
    return verdict


@pytest.mark.parametrize("call_format", list(CallFormat))
def test_oracle_solves_every_hop_in_both_call_formats(call_format: CallFormat) -> None:
    verdict = judged(played(oracle, call_format=call_format))
    assert verdict.value("strict")
    assert (
        count(verdict, "hops_solved"),
        count(verdict, "chain"),
        verdict.conduct.calls,
        verdict.conduct.turns,
    ) == (3, 3, 3, 4)
    assert verdict.conduct.failed_calls == 0


def test_a_fault_of_the_benchmarks_code_ends_its_episode_alone() -> None:
    def broken(*_: object) -> Reply:
        raise BenchmarkFault("the benchmark 'shop': agent raised KeyError")

    ended = played(broken).ended
    assert ended is not None
    assert ended.ending is Ending.ERRORED
    assert "'shop'" in ended.reason


def test_oracle_without_gold_plays_the_examples_of_the_sources() -> None:
    source = "def half(n):\n    return n / 2\n\nprint(half(n=8))\n# half(10) -> 5.0\n"
    schema: dict[str, JSON] = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    made = Tool(ToolSchema("half", "", schema), Program(source, "half"))
    item = Item("e", "Half of ten?", "5", (Hop("q", "5", made),), "Maths", "number")
    verdict = judged(played(oracle, item))
    assert (verdict.value("strict"), verdict.conduct.calls, count(verdict, "hops_solved")) == (
        True,
        2,
        1,
    )


@pytest.mark.parametrize("agent", ["do-nothing", "constant:1234567890"])
@pytest.mark.parametrize("mode", list(Mode))
def test_baselines_call_nothing_and_are_strictly_wrong(agent: str, mode: Mode) -> None:
    verdict = judged(played(choose(agent), mode=mode))
    assert (verdict.value("strict"), verdict.conduct.calls, verdict.conduct.ending) == (
        False,
        0,
        Ending.ANSWERED,
    )


@pytest.mark.parametrize("kind", list(FaultKind))
def test_repairing_repairs_each_kind_with_detailed_feedback_and_none_with_minimal(
    kind: FaultKind,
) -> None:
    repairing = Faulty(1.0, (kind,), repairs=True)
    detailed = judged(played(repairing))
    minimal = judged(played(repairing, feedback=Level.MINIMAL))
    if kind is FaultKind.WRONG_VALUE:
        # A wrong text is no fault to a tool that takes any text: only the look-up objects.
        assert "returned_error" in detailed.conduct.errors
    else:
        assert detailed.value("strict")
        assert count(detailed, "hops_solved") == 3
    assert not minimal.value("strict")
    assert minimal.conduct.failed_calls >= 1


@pytest.mark.parametrize("level", list(Level))
def test_faulty_never_repairs(level: Level) -> None:
    verdict = judged(played(Faulty(1.0, (FaultKind.NOT_JSON,)), feedback=level))
    assert (
        verdict.value("strict"),
        count(verdict, "hops_solved"),
        verdict.conduct.failed_calls,
    ) == (False, 0, 3)


@pytest.mark.parametrize("kind", [kind for kind in FaultKind if kind is not FaultKind.WRONG_VALUE])
def test_a_spoilt_call_fails_with_the_code_of_its_kind(kind: FaultKind) -> None:
    validator = Validator([tool.schema for tool in ITEM.tools.values()])
    call = raw_calls(plan(ITEM)[0], 1)[0]
    for seed in range(20):
        fault = spoil(call, ITEM.hops[0].tool.schema, (kind,), random.Random(seed))
        verdict = validator.check(fault.call.name, fault.call.arguments)
        assert isinstance(verdict, Rejected)
        assert verdict.code.value == kind.value


def test_faults_come_at_the_rate_and_are_the_same_for_a_seed() -> None:
    items = [small_item(f"item-{number}") for number in range(300)]
    first = [Faulty(0.25)._fault(item, 7, 0, plan(item)[0]) for item in items]
    again = [Faulty(0.25)._fault(item, 7, 0, plan(item)[0]) for item in items]
    other = [Faulty(0.25)._fault(item, 8, 0, plan(item)[0]) for item in items]
    assert first == again
    assert first != other
    count = sum(fault is not None for fault in first)
    assert 45 <= count <= 105
    assert len(Counter(fault.kind for fault in first if fault)) >= 7


def test_the_text_call_format_shows_and_restores_the_same_conversation() -> None:
    call = RawCall("turn1_call1", "capital", '{"country": "Norway"}')
    two = RawCall("turn1_call2", "length", '{"text": "a"}')
    content = "\n".join(f"Action: {one.name}\nAction Input: {one.arguments}" for one in (call, two))
    messages: tuple[Message, ...] = (
        UserMessage("Q"),
        AssistantMessage(content),
        ToolMessage(call.id, call.name, '"Oslo"'),
        ToolMessage(two.id, two.name, "1"),
    )
    sent, tools = shown(CallFormat.TEXT, messages, [])
    assert tools == ()
    assert [message.role for message in sent] == ["user", "assistant", "user"]
    assert sent[2].content == 'Observation: "Oslo"\n\nObservation: 1'
    assert restored(sent) == (
        UserMessage("Q"),
        AssistantMessage(content, (call, two)),
        *messages[2:],
    )


@pytest.mark.parametrize(
    "name",
    ["", "orcale", "constant", "constant:", "faulty:2", "faulty:x", "repairing:0.1:nothing"],
)
def test_unknown_agents_are_refused_with_what_is_allowed(name: str) -> None:
    with pytest.raises(UnknownAgent) as caught:
        choose(name)
    text = str(caught.value)
    assert "oracle" in text or "0 to 1" in text or "not_json" in text


def test_agents_take_rates_and_kinds() -> None:
    assert choose("repairing:0.5:not_json,wrong_type") == Faulty(
        0.5, (FaultKind.NOT_JSON, FaultKind.WRONG_TYPE), repairs=True
    )
    reply = choose("constant:a:b")(ITEM, 0, (), True)
    assert reply.content == "<answer>a:b</answer>"
    assert json.loads(raw_calls(plan(ITEM)[2], 1)[0].arguments) == {"base": 4}


def listed(item: Item, *names: str) -> Item:
    return replace(item, order=names or tuple(item.tools))


def hops_made(item: Item) -> tuple[float, list[str]]:
    trace = played(as_listed, item)
    verdict = judged(trace)
    return count(verdict, "hops_solved"), [call.raw.name for call in trace.calls]


def test_as_listed_calls_the_tools_in_the_order_in_which_they_are_listed() -> None:
    item = load("builtin").by_id["music-1"]
    names = tuple(item.tools)
    solved, called = hops_made(item)
    assert tuple(dict.fromkeys(called)) == names
    assert solved >= 2
    solved_backwards, called = hops_made(listed(item, *reversed(names)))
    assert tuple(dict.fromkeys(called)) == names[::-1]
    assert solved_backwards < solved


def test_as_listed_sees_nothing_that_a_model_does_not() -> None:
    item = load("builtin").by_id["music-1"]
    blind = replace(
        item,
        answer="other",
        hops=tuple(replace(hop, answer="other", question="", gold=None) for hop in item.hops),
    )
    assert [c.raw for c in played(as_listed, blind).calls] == [
        c.raw for c in played(as_listed, item).calls
    ]


def test_a_scripted_agent_is_told_its_call_format() -> None:
    """A prompt that says nothing of the format changes nothing."""
    message = UserMessage(ITEM.question)
    for call_format in CallFormat:
        model = ScriptedModel("o", oracle, ITEM, call_format=call_format)
        schemas = [tool.schema for tool in ITEM.tools.values()]
        offered = schemas if call_format is CallFormat.NATIVE else []

        async def ask(model: ScriptedModel = model, offered: list[ToolSchema] = offered) -> Reply:
            return await model.reply([message], offered)

        reply = anyio.run(ask)
        assert bool(reply.calls) is (call_format is CallFormat.NATIVE)
        assert ("Action Input:" in reply.content) is (call_format is CallFormat.TEXT)


@pytest.mark.parametrize("told", [CallFormat.TEXT, None])
def test_a_scripted_server_writes_text_where_the_prompt_has_words_of_its_own(
    told: CallFormat | None,
) -> None:
    tools = tool_lines([tool.schema for tool in ITEM.tools.values()])
    data = DataSet("d", "", (ITEM,))
    prompts = (f"Use these:\n{tools}\n{ITEM.question}", ITEM.question)
    with_tools, direct = (
        responder(data, oracle, 0, told)(Request((UserMessage(text),), (), "m", {}))
        for text in prompts
    )
    assert "Action: " in with_tools.content
    assert direct.content == f"<answer>{ITEM.answer}</answer>"
