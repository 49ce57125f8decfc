"""The Inspect task by its registered name: scores, errors, limits, figures, what a model sees."""

from __future__ import annotations

import gc
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs inspect_ai")

from inspect_ai import eval as evaluate
from inspect_ai import list_tasks, score
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.agent import react
from inspect_ai.approval import Approval, ApprovalDecision, ApprovalPolicy, Approver, approver
from inspect_ai.event import ApprovalEvent, ModelEvent, ToolEvent
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.model._call_tools import parse_tool_call
from inspect_ai.tool import ToolCall, ToolCallView, ToolInfo
from inspect_ai.util._json import json_schema_dump

from tests.adapters.played import AGENT, containers_of, run_scores, said
from toolhop_agents.adapters import inspect_task
from toolhop_agents.adapters.inspect_model import as_reply, info
from toolhop_agents.adapters.options import settings_of
from toolhop_agents.adapters.shared import pool_of
from toolhop_agents.environment.core import Environments, EpisodeLost
from toolhop_agents.export.inspect_log import write_logs
from toolhop_agents.export.inspect_samples import SCORER, TRACE
from toolhop_agents.runs.unit import WorkUnit
from toolhop_env.benchmarks import named
from toolhop_env.benchmarks import score as verdict
from toolhop_env.episode import Episode
from toolhop_env.estimates import figures
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolhop_env.reading import cut_in_thought
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_env.trace import from_lines
from toolhop_env.verdicts import ErrorCode
from toolhop_sandbox.errors import SandboxFault
from toolhop_tools.benchmarks import OWN
from toolhop_tools.load import load
from toolhop_tools.model import ToolSchema

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings(
        "default",
        # One a sample, of Inspect's own: `start_sample_event_emitter` never closes its stream.
        "ignore:Unclosed <MemoryObjectReceiveStream:ResourceWarning",
        # Of Inspect's own retries, with any tenacity that it allows.
        "ignore:The 'initial' parameter is deprecated:DeprecationWarning",
    ),
]
TASK = "toolhop_env/toolhop"
BUILTIN = load("builtin")


def ours(message: ChatMessage) -> Message:
    """A message as a scripted agent takes it."""
    if isinstance(message, ChatMessageAssistant):
        calls = [RawCall(one.id, one.function, "{}") for one in message.tool_calls or []]
        return AssistantMessage(message.text, tuple(calls))
    if isinstance(message, ChatMessageTool):
        return ToolMessage(message.tool_call_id or "", message.function or "", message.text)
    return SystemMessage(message.text) if message.role == "system" else UserMessage(message.text)


def scripted(arguments: dict[str, Any], agent: str = AGENT) -> Model:
    """A scripted agent as a model of Inspect, which parses its calls as a provider's."""
    pool = pool_of(settings_of(arguments, "Inspect"))
    items, call_format = pool.environments.items, pool.environments.settings.call_format

    def output(
        messages: list[ChatMessage], tools: list[ToolInfo], choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        schemas = [ToolSchema(one.name, one.description, json_schema_dump(one.parameters))
                   for one in tools]  # fmt: skip
        conversation = [ours(one) for one in messages]
        asked = "\n".join(one.content for one in conversation if isinstance(one, UserMessage))
        item = max(
            (one for one in items.values() if one.question in asked),
            key=lambda one: len(one.question),
        )
        reply = said(item, conversation, schemas, call_format, agent)
        made = ModelOutput.from_content("mockllm/scripted", reply.content)
        if reply.calls:
            made.choices[0].message.tool_calls = [
                parse_tool_call(one.id, one.name, one.arguments, tools) for one in reply.calls
            ]
            made.choices[0].stop_reason = "tool_calls"
        return made

    return get_model("mockllm/scripted", custom_outputs=output, memoize=False)


@pytest.fixture(scope="module", autouse=True)
def offline() -> Iterator[None]:
    """Inspect counts a mock model's tokens by a table that litellm brings, too."""
    spec = find_spec("litellm")  # not imported: it looks for prices in the network
    assert spec is not None
    assert spec.origin is not None
    with pytest.MonkeyPatch.context() as patch:
        folder = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Inspect leaves streams open, of which a collection warns: here, and in no later test."""
    yield
    gc.collect()


def evaluated(
    folder: Path, task_args: dict[str, Any] | None = None, agent: str = AGENT, **more: Any
) -> EvalLog:
    arguments = {"sandbox": "process"} | (task_args or {})
    (log,) = evaluate(
        TASK, model=scripted(arguments, agent), task_args=arguments, log_dir=str(folder),
        display="none", **more,
    )  # fmt: skip
    return log


def samples(log: EvalLog) -> dict[str, EvalSample]:
    assert log.samples is not None
    return {str(one.id): one for one in log.samples}


def values(sample: EvalSample) -> dict[str, float]:
    assert sample.scores is not None
    (found,) = sample.scores.values()
    assert isinstance(found.value, dict)
    return {
        name: math.nan if value is None else float(value) for name, value in found.value.items()
    }


def figure_of(log: EvalLog, measure: str) -> list[float]:
    """A measure's figure and its standard error, in the log."""
    assert log.results is not None
    (found,) = [one for one in log.results.scores if one.name == measure]
    return [one.value for one in found.metrics.values()]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    """All built-in items, played in native calls with detailed feedback."""
    return evaluated(tmp_path_factory.mktemp("inspect"))


def test_the_scores_of_a_run_item_by_item(log: EvalLog, tmp_path: Path) -> None:
    expected = run_scores(tmp_path)
    assert log.status == "success", log.error
    found = samples(log)
    assert found.keys() == expected.keys()
    # Inspect makes an object of a list or a bare value before we see it: docs/integrations.md.
    mended = {item for item, one in expected.items() if ErrorCode.NOT_OBJECT in one.conduct.errors}
    assert len(mended) < len(expected) / 2
    for item in expected.keys() - mended:
        before, after = expected[item], values(found[item])
        for name in before.values:
            value = before.value(name)
            wanted = math.nan if value is None else value
            assert after[name] == pytest.approx(wanted, nan_ok=True), (item, name)
    assert any(expected[item].conduct.failed_calls for item in expected.keys() - mended)


def test_slips_that_inspect_does_not_change_score_as_in_a_run(tmp_path: Path) -> None:
    """What differs is a list in place of arguments alone, and neither seed nor limits."""
    scores = {}
    for kinds in ("not_json,unknown_tool,missing_argument", "not_object"):
        agent = f"repairing:0.3:{kinds}"
        ours = run_scores(tmp_path / kinds, agent=agent, turn_limit=20, limit="10")
        theirs = samples(evaluated(tmp_path, {"turn_limit": 20}, agent, limit=10))
        assert any(score.conduct.errors for score in ours.values())
        scores[kinds] = [(ours[item].value("strict"), values(theirs[item])["strict"])
                         for item in theirs]  # fmt: skip
    same, changed = scores.values()
    assert all(run == inspect for run, inspect in same)
    assert any(run != inspect for run, inspect in changed)


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
def test_items_in_containers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run_scores(tmp_path / "run", limit="4")
    opens, here = Environments.open, os.getpid()
    before, seen = containers_of(here), set[str]()

    async def opened(self: Environments, unit: WorkUnit, *given: Any, **more: Any) -> Episode:
        episode = await opens(self, unit, *given, **more)
        seen.update(containers_of(here) - before)
        return episode

    monkeypatch.setattr(Environments, "open", opened)
    log = evaluated(tmp_path, {"sandbox": "docker", "limit": 4, "max_samples": 2})
    assert log.status == "success", log.error
    assert {item: values(one)["strict"] for item, one in samples(log).items()} == {
        item: one.value("strict") for item, one in expected.items()
    }
    assert seen
    assert not containers_of(here) & seen


def test_a_judge_that_is_not_there_costs_no_evaluation() -> None:
    with pytest.raises(PrerequisiteError, match="nowhere"):
        inspect_task.toolhop(sandbox="process", judge="nowhere")
    assert inspect_task.toolhop(sandbox="process", judge="overlap")


def test_figures_are_those_of_our_tables(log: EvalLog) -> None:
    scored: list[tuple[str, Score]] = []
    for item, one in samples(log).items():
        events = one.store[TRACE]
        found = verdict(from_lines(json.dumps(event).encode() for event in events))
        assert isinstance(found, Score)
        scored.append((item, found))
    assert len(scored) == len(BUILTIN.items)
    for name, figure in figures(named("toolhop").measures, scored).items():
        if figure is not None:
            assert figure_of(log, name) == pytest.approx([figure.value, figure.stderr]), name


def test_each_measure_is_a_column(log: EvalLog) -> None:
    """Of evaluations, and of samples as docs/integrations.md asks for them."""
    pytest.importorskip("pandas")
    from inspect_ai.analysis import EvalScores, SampleColumn, SampleSummary, evals_df, samples_df

    measures = [one.name for one in named("toolhop").measures]
    read = read_eval_log(log.location, header_only=True)
    assert read.results is not None
    assert {one.name for one in read.results.scores} == {*measures}
    evaluations = evals_df(log.location, columns=EvalScores)
    for name in measures:
        assert any(column.startswith(f"score_{name}_") for column in evaluations.columns), name
    each = SampleColumn("*", path="scores['toolhop_env/measures'].value")
    rows = samples_df(log.location, columns=[*SampleSummary, each])
    assert {*measures} <= {*rows.columns}
    strict = {str(row.id): row.strict for row in rows.itertuples()}
    assert strict == {item: values(one)["strict"] for item, one in samples(log).items()}


@pytest.mark.parametrize(
    "settings",
    [
        {"call_format": "text", "mode": "free"},
        {"feedback": "minimal", "tools": "names=scrambled+distractors=2"},
    ],
)
def test_settings_give_the_scores_of_a_run(settings: dict[str, str], tmp_path: Path) -> None:
    of_run = settings_of(settings, "Inspect").model_dump(exclude_unset=True)
    expected = run_scores(tmp_path / "run", limit="6", **of_run)
    log = evaluated(tmp_path, settings | {"limit": 6})
    found = samples(log)
    assert found.keys() == expected.keys()
    for item, before in expected.items():
        assert values(found[item])["strict"] == before.value("strict")
        trace = found[item].store[TRACE]
        failed = [one for one in trace if one["kind"] == "called" and one["error"]]
        assert len(failed) == before.conduct.failed_calls


def test_a_log_can_be_scored_again(log: EvalLog) -> None:
    again = score(log, inspect_task.measures(), action="overwrite", display="none")
    before, after = samples(log), samples(again)
    assert {item: values(one)["strict"] for item, one in before.items()} == {
        item: values(one)["strict"] for item, one in after.items()
    }


def test_a_log_is_scored_again_by_the_command(log: EvalLog, tmp_path: Path) -> None:
    for number in range(2):  # what it wrote is scored again too
        source = log.location if not number else str(tmp_path / "0.eval")
        scored_by_command(source, tmp_path / f"{number}.eval")
    again = read_eval_log(str(tmp_path / "1.eval"))
    assert {item: values(one)["strict"] for item, one in samples(log).items()} == {
        item: values(one)["strict"] for item, one in samples(again).items()
    }
    assert figure_of(again, "strict") == figure_of(log, "strict")


def scored_by_command(source: str, to: Path) -> None:
    """By a process that knows the log alone."""
    done = subprocess.run(
        [sys.executable, "-m", "inspect_ai", "score", source, "--action", "overwrite",
         "--output-file", str(to), "--display", "none"],
        cwd=to.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_exported_log_is_scored_again(tmp_path: Path) -> None:
    expected = run_scores(tmp_path / "runs")
    (run,) = (tmp_path / "runs").iterdir()
    write_logs([RunStore.open(run)], tmp_path / "logs")
    (exported,) = (tmp_path / "logs").iterdir()
    scored_by_command(str(exported), tmp_path / "again.eval")
    found = samples(read_eval_log(str(tmp_path / "again.eval")))
    assert {item: values(one)["strict"] for item, one in found.items()} == {
        item: one.value("strict") for item, one in expected.items()
    }


def test_calls_are_tool_events_and_samples_say_what_they_are(log: EvalLog) -> None:
    for item, one in samples(log).items():
        called = [event for event in one.store[TRACE] if event["kind"] == "called"]
        events = [event for event in one.events if isinstance(event, ToolEvent)]
        assert called
        assert [(event["raw"]["name"], event["feedback"], event["error"] is not None)
                for event in called] == [
            (event.function, event.result, event.error is not None) for event in events
        ]  # fmt: skip
        before = BUILTIN.by_id[item]
        assert one.metadata == {
            "benchmark": "toolhop",
            "domain": before.domain,
            "hops": len(before.hops),
            "digest": before.digest,
        }


@approver
def of_the_test(decision: ApprovalDecision) -> Approver:
    async def approve(
        message: str, call: ToolCall, view: ToolCallView, history: list[ChatMessage]
    ) -> Approval:
        changed = ToolCall(call.id, call.function, {}) if decision == "modify" else None
        return Approval(decision=decision, modified=changed, explanation="not today")

    return approve


@pytest.mark.parametrize("decision", ["approve", "reject", "terminate", "modify"])
def test_the_approval_policy_is_asked_before_each_call(
    decision: ApprovalDecision, tmp_path: Path
) -> None:
    policy = [ApprovalPolicy(of_the_test(decision), "*")]
    log = evaluated(
        tmp_path, {"limit": 1}, "oracle", approval=policy, fail_on_error=False, turn_limit=3
    )
    (found,) = samples(log).values()
    called = [one for one in found.store[TRACE] if one["kind"] == "called"]
    assert any(isinstance(event, ApprovalEvent) for event in found.events)
    ran = [one for one in called if one["outcome"] is not None]
    assert bool(ran) == (decision == "approve")
    if decision == "reject":
        assert {one["error"] for one in called} == {"not_approved"}
        assert all("not today" in one["feedback"] for one in called)
    assert ("changed a call" in str(found.error)) == (decision == "modify")


def test_a_solver_of_inspects_own_is_refused_before_it_plays(tmp_path: Path) -> None:
    (found,) = samples(
        evaluated(tmp_path, {"limit": 1}, solver=react(), fail_on_error=False)
    ).values()
    assert "Leave out --solver" in str(found.error)
    assert not [event for event in found.events if isinstance(event, ModelEvent)]


def test_each_benchmark_is_a_task() -> None:
    file = Path(inspect_task.__file__)
    listed = [one.name for one in list_tasks(file.name, root_dir=file.parent)]
    assert sorted(listed) == sorted(OWN)
    with pytest.raises(PrerequisiteError, match="holds items of ToolHop"):
        inspect_task.nestools(data="builtin", sandbox="process")


def test_an_errored_episode_is_an_error_of_its_sample_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, first = Environments.open, BUILTIN.items[0].id

    async def lose(self: Environments, unit: WorkUnit, *rest: Any, **more: Any) -> Episode:
        if unit.item.id == first:
            raise EpisodeLost("no worker could be had: of the test")
        return await opened(self, unit, *rest, **more)

    monkeypatch.setattr(Environments, "open", lose)
    log = evaluated(tmp_path, {"limit": 3}, fail_on_error=False)
    found = samples(log)
    assert "of the test" in str(found[first].error)
    assert not found[first].scores
    assert [values(one)["strict"] for one in found.values() if one.scores] == [1.0, 1.0]


def test_a_sandbox_that_breaks_within_an_episode_is_an_error_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose(self: Episode, reply: Reply) -> None:
        raise SandboxFault("of the test")

    monkeypatch.setattr(Episode, "step", lose)
    (found,) = samples(evaluated(tmp_path, {"limit": 1}, fail_on_error=False)).values()
    assert "the sandbox broke: of the test" in str(found.error)
    assert not found.scores


def test_limits_of_both_end_an_episode_that_is_scored(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"turn_limit": 1}, {}, "out_of_turns"),
        ({}, {"turn_limit": 1}, "out_of_turns"),
        ({}, {"message_limit": 4}, "stopped"),
    ]
    for number, (given, more, ending) in enumerate(cases):
        log = evaluated(tmp_path / str(number), {"limit": 1} | given, **more)
        (found,) = samples(log).values()
        assert found.error is None
        assert values(found)["strict"] == 0
        assert found.scores is not None
        assert (found.scores[SCORER].metadata or {})["ending"] == ending


def test_epochs_have_seeds_of_their_own_and_one_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = []
    enter = Environments.__aenter__

    async def counted(self: Environments) -> Environments:
        entered.append(self)
        return await enter(self)

    monkeypatch.setattr(Environments, "__aenter__", counted)
    log = evaluated(tmp_path, {"limit": 2, "seed": 7}, epochs=2)
    assert log.samples is not None
    begun = [one.store[TRACE][0] for one in log.samples]
    assert sorted((one["epoch"], one["seed"]) for one in begun) == [(1, 7), (1, 7), (2, 8), (2, 8)]
    assert {one["agent"] for one in begun} == {"mockllm/scripted"}
    assert len(entered) == 1


def test_every_tool_is_offered_with_its_whole_schema() -> None:
    schemas = [tool.schema for item in BUILTIN.items for tool in item.tools.values()]
    assert len(schemas) > 100
    for schema in schemas:
        offered = info(schema)
        assert json_schema_dump(offered.parameters) == schema.parameters
        assert (offered.name, offered.description) == (schema.name, schema.description)
        offered.model_dump_json()  # as logs have it, without a warning


def test_arguments_that_inspect_cannot_parse_are_read_by_us() -> None:
    call = parse_tool_call("1", "look_up", '{"name": Paris}', [])
    output = ModelOutput.from_content("mockllm/model", "")
    output.choices[0].message.tool_calls = [call]
    assert as_reply(output).calls == (RawCall("1", "look_up", '{"name": Paris}'),)


def test_thoughts_are_counted_and_can_be_read() -> None:
    output = ModelOutput.from_content(
        "mockllm/model",
        [ContentReasoning(reasoning="Which?"),
         ContentReasoning(reasoning="encrypted", redacted=True, summary="Once more."),
         ContentText(text="")],
        stop_reason="max_tokens",
    )  # fmt: skip
    output.usage = ModelUsage(input_tokens=1, output_tokens=9, reasoning_tokens=7)
    reply = as_reply(output)
    assert reply.thoughts is not None
    assert (reply.thoughts.text, reply.usage.reasoning_tokens) == ("Which?\nOnce more.", 7)
    assert cut_in_thought(reply)


def test_what_the_task_refuses() -> None:
    with pytest.raises(PrerequisiteError, match="there is no setting 'modle'"):
        inspect_task.toolhop(modle="x")
    with pytest.raises(PrerequisiteError, match="a task is of one"):
        inspect_task.toolhop(mode="all")
