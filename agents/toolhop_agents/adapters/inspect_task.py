"""Every benchmark as an Inspect task: ``inspect eval toolhop_env/toolhop -T data=builtin``.

Inspect calls the model, writes the log and shows the figures; prompts, feedback, sandbox and scores
are ours, with the same loop as `toolhop run`. docs/integrations.md lists the differences.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TypeVar

import anyio
from anyio.from_thread import start_blocking_portal
from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # it has no public name
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log._samples import sample_active  # nor has this
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.scorer._scorer import scorer_register  # nor has this
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError
from pydantic import TypeAdapter
from rich.markup import escape

from toolhop_agents.adapters.inspect_model import InspectModel, as_chat, record
from toolhop_agents.adapters.options import settings_of
from toolhop_agents.adapters.shared import SharedPool, pool_of
from toolhop_agents.call_formats import shown
from toolhop_agents.environment.core import EpisodeLost
from toolhop_agents.export.inspect_samples import SCORER, TRACE
from toolhop_agents.judge.ask import judged
from toolhop_agents.judge.judges import JudgeError
from toolhop_agents.judge.open_judge import open_judge
from toolhop_agents.models.base import NoKey, NoSuchModel
from toolhop_agents.prompts import TemplateError
from toolhop_agents.react import play
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit, setting
from toolhop_env import benchmarks
from toolhop_env.attempt import attempt_of
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import UnknownBenchmark
from toolhop_env.episode import Episode
from toolhop_env.estimates import Estimate, figures
from toolhop_env.facets import DOMAIN, HOPS
from toolhop_env.guarded import BenchmarkFault
from toolhop_env.measures import Measure
from toolhop_env.runs.judgements import Judgements
from toolhop_env.score import Errored
from toolhop_env.score import Score as OurScore
from toolhop_env.trace import Ending, Trace, from_lines, to_line
from toolhop_tools.errors import BadChoice, ToolsError
from toolhop_tools.model import Item

T = TypeVar("T")
KEPT, CLUSTER = "score", "cluster"
"""Keys of a score's metadata: our score of the episode, and its cluster."""
SCORE = TypeAdapter(OurScore)
EPISODE = "episode"
"""Name of the solver that plays."""
ENDINGS: Mapping[str, Ending] = {
    "turn": Ending.OUT_OF_TURNS,
    "token": Ending.OUT_OF_TOKENS,
    "time": Ending.OUT_OF_TIME,
    "working": Ending.OUT_OF_TIME,
    "cost": Ending.OUT_OF_COST,
}
"""Endings of episodes stopped by an Inspect limit; other limits give STOPPED."""


def _public(function: T) -> T:
    """Move a function to the module `toolhop_env`, which is named like this distribution.

    Inspect names a task by its module's top-level package. For editable installs it only accepts a
    package with the distribution's name.
    """
    function.__module__ = "toolhop_env"
    return function


@task
@_public
def toolhop(
    data: str = "builtin",
    mode: str | None = None,
    feedback: str = "detailed",
    tools: str | list[str] | None = None,
    **settings: object,
) -> Task:
    """Items of any benchmark.

    Args:
        data: a data set of `toolhop data list`, or a file or folder.
        mode: mode of the benchmark; by default its first.
        feedback: feedback on failed calls: a level of `toolhop run --feedback`, or a file.
        tools: perturbation of the tools, such as ``names=scrambled+distractors=5``; by default
            none.
        settings: other settings of `toolhop run`, such as ``turn_limit``, ``call_format``,
            ``sandbox``, ``judge`` or ``max_samples``.

    Raises:
        PrerequisiteError: a setting is not available here or has an invalid value, the data cannot
            be used as requested, or the judge cannot be used. Inspect prints only the message of
            this error, but two tracebacks of any other.
    """
    return _made("", data=data, mode=mode, feedback=feedback, tools=tools, **settings)


@task
@_public
def nestools(data: str = "nestools", **settings: object) -> Task:
    """NesTools. Here and in the tasks below, `settings` are those of `toolhop`."""
    return _made("nestools", data=data, **settings)


@task
@_public
def toolbehonest(data: str = "toolbehonest", **settings: object) -> Task:
    """ToolBeHonest."""
    return _made("toolbehonest", data=data, **settings)


@task
@_public
def relytoolbench(data: str = "relytoolbench", **settings: object) -> Task:
    """RelyToolBench."""
    return _made("relytoolbench", data=data, **settings)


@task
@_public
def scenarios(data: str, **settings: object) -> Task:
    """Scenarios from a file written by `toolhop perturb`."""
    return _made("scenarios", data=data, **settings)


def _made(of: str, **given: object) -> Task:
    """Create a task. Items of a benchmark other than `of` are refused, unless `of` is empty."""
    try:
        return _task(of, given)
    except (
        *(ToolsError, TemplateError, UnknownBenchmark, BenchmarkFault),
        *(JudgeError, NoSuchModel, NoKey),
    ) as error:
        raise PrerequisiteError(escape(str(error))) from error


def _task(of: str, given: Mapping[str, object]) -> Task:
    pool = pool_of(settings_of(given, "Inspect"))
    environments = pool.environments
    ours, benchmark = environments.settings, environments.binding.benchmark
    if of and benchmark.name != of:
        raise BadChoice(
            f"{ours.data} holds items of {benchmark.title}, and the task is {of}",
            fix=f"give data of {of}, or take the task toolhop, which plays any",
        )
    if len(ours.modes) > 1:
        raise BadChoice(
            f"the modes {', '.join(ours.modes)} were given, and a task is of one",
            fix="give one; `inspect eval` takes a task for each",
        )
    if ours.judge is not None:
        _try_judge(ours.judge, ours.judge_base_url, ours.judge_votes)
    samples = [_sample(item, ours) for item in environments.items.values()]
    return Task(
        MemoryDataset(samples, name=benchmark.title, location=ours.data),
        setup=ours_plays(),
        solver=episode(pool),
        scorer=measures(ours.judge, ours.judge_base_url, ours.judge_votes),
        metrics=metrics_of(benchmark),
        display_name=f"{benchmark.title}, {ours.modes[0]}",
        version=benchmark.version,
        metadata={"benchmark": benchmark.name, "mode": ours.modes[0], "leads": benchmark.lead.name},
    )


def _try_judge(names: str, base_url: str | None, votes: int) -> None:
    """Open and close the judge, so that a bad one fails before the evaluation starts."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_judge(names, base_url=base_url, votes=votes)),
    ):
        pass


def _sample(item: Item, settings: RunSettings) -> Sample:
    benchmark = benchmarks.named(item.benchmark)
    first = setting(settings, WorkUnit(item, settings.modes[0], 1))
    messages, _ = shown(first.call_format, first.messages, ())
    gold = benchmark.gold(item)
    return Sample(
        [as_chat(one) for one in messages],
        id=item.id,
        target=benchmark.presentation.expected(gold),
        metadata={
            "benchmark": item.benchmark,
            DOMAIN: item.domain,
            HOPS: len(item.hops),
            "digest": item.digest,
            **benchmark.grouping.facets(gold),
        },
    )


@solver
@_public
def ours_plays() -> Solver:
    """Refuse a solver given in place of `episode`, before it calls the model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        active = sample_active()
        if active is not None and active.agent_name != EPISODE:
            raise PrerequisiteError(
                f"the solver {active.agent_name} cannot play here: an item's tools are run, and "
                "its calls scored, by the task's own solver. Leave out --solver"
            )
        return state

    return solve


@solver(name=EPISODE)
@_public
def episode(pool: SharedPool) -> Solver:
    """Play an item to its end. Raises for an errored episode, so that the sample is an error."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        async with pool.held() as environments:
            item, mode = environments.items[str(state.sample_id)], environments.settings.modes[0]
            unit, model = WorkUnit(item, mode, state.epoch), InspectModel(state)
            opened = await environments.open(
                unit, {}, player=model.name, sink=record, approver=model
            )
            try:
                await play(opened, model)
            except LimitExceededError as limit:
                opened.end(ENDINGS.get(limit.type, Ending.STOPPED), str(limit))
                raise
            finally:
                with anyio.CancelScope(shield=True):
                    _finish(opened, state)
                    await environments.leave(opened)
        ended = opened.trace.ended
        if ended is not None and ended.ending is Ending.ERRORED:
            raise EpisodeLost(ended.reason)
        return state

    return solve


def _finish(opened: Episode, state: TaskState) -> None:
    """End a cut-off episode, and store its trace for scorers and logs."""
    if opened.ending is None:
        opened.end(Ending.STOPPED)
    state.completed = True
    state.store.set(TRACE, [json.loads(to_line(event)) for event in opened.trace.events])
    for message in opened.conversation[len(state.messages) :]:
        state.messages.append(as_chat(message))


@metric(scores="unreduced")
@_public
def figure(benchmark: str, measure: str) -> Metric:
    """A measure over all samples and epochs, as in our tables."""

    def over(scores: list[SampleScore]) -> float:
        found = _estimate(benchmark, measure, scores)
        return math.nan if found is None else found.value

    return over


@metric(scores="unreduced")
@_public
def figure_stderr(benchmark: str, measure: str) -> Metric:
    """Standard error of a measure over items or their families; 0 if there is only one."""

    def over(scores: list[SampleScore]) -> float:
        found = _estimate(benchmark, measure, scores)
        return math.nan if found is None else found.stderr or 0.0

    return over


def _estimate(benchmark: str, measure: str, scores: list[SampleScore]) -> Estimate | None:
    of = benchmarks.named(benchmark)
    kept = [one.score.metadata or {} for one in scores]
    pairs = [(str(one[CLUSTER]), SCORE.validate_python(one[KEPT])) for one in kept]
    members = [of.measure(name) for name in of.measure(measure).mean_of]
    return figures([of.measure(measure), *members], pairs)[measure]


def metrics_of(benchmark: Benchmark) -> dict[str, list[Metric]]:
    """Return the metrics by measure. Means of binary measures are Inspect's, which reduce epochs
    as requested; figures that may be ratios of sums are ours.
    """
    return {
        one.name: [mean(), stderr()]
        if one.binary
        else [figure(benchmark.name, one.name), figure_stderr(benchmark.name, one.name)]
        for one in benchmark.measures
    }


@scorer(metrics=[], name=SCORER)
@_public
def measures(judge: str | None = None, judge_base_url: str | None = None, votes: int = 1) -> Scorer:
    """Score all measures of the benchmark from the trace. Measures without a figure are NaN,
    which Inspect ignores; samples without a trace are not scored.
    """
    said = Judgements()

    async def score(state: TaskState, target: Target) -> Score:
        trace = trace_of(state)
        if trace is None:
            return Score.unscored(reason="the episode was not begun")
        if judge is not None:
            async with open_judge(judge, base_url=judge_base_url, votes=votes) as opened:
                async for one, _ in judged(trace, opened, said):
                    said.add([one])
        attempt = attempt_of(trace, said.answers(trace))
        verdict, benchmark = attempt.verdict, benchmarks.named(trace.started.benchmark)
        if isinstance(verdict, Errored):
            return Score.unscored(reason=verdict.reason)
        return Score(
            value={one.name: value_of(one, benchmark, verdict) for one in benchmark.measures},
            answer=benchmark.presentation.given(trace),
            explanation=benchmark.presentation.explain_gap(trace),
            metadata={
                KEPT: SCORE.dump_python(verdict, mode="json"),
                CLUSTER: attempt.cluster,
                "ending": verdict.conduct.ending.value,
            },
        )

    return score


# Inspect logs a scorer without the first part of its name, and looks it up by the logged name.
# Scorers get the name registered last, both here and when a log is scored again.
for _name in (SCORER, f"toolhop_env/{SCORER}"):
    scorer_register(measures, _name, {"metrics": []})


def value_of(measure: Measure, benchmark: Benchmark, score: OurScore) -> float:
    """Return an episode's value for a measure. For a mean of measures, average those with a
    figure.
    """
    members = [benchmark.measure(name) for name in measure.mean_of] or [measure]
    parts = [found for one in members if (found := one.of(score)) is not None and found[1]]
    return math.fsum(n / d for n, d in parts) / len(parts) if parts else math.nan


def trace_of(state: TaskState) -> Trace | None:
    """Return the trace of a sample, or None if its episode never started."""
    events = state.store.get(TRACE)
    return from_lines(json.dumps(one).encode() for one in events) if events else None
