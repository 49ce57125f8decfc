"""Jobs: data, items, modes and episodes, determined before anything starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

from pydantic import ValidationError

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.benchmarks.binding import USUAL, Answers, Binding, Interaction
from toolhop_agents.benchmarks.predictions import (
    PREFIX,
    file_digest,
    read_predictions,
    turns_of,
)
from toolhop_agents.models import gguf, prices
from toolhop_agents.models.strict_schemas import strict_problem
from toolhop_agents.runs import manifest as manifests
from toolhop_agents.runs.certified import certificates_of, chosen
from toolhop_agents.runs.rated import rated
from toolhop_agents.runs.resume import Prefix
from toolhop_agents.runs.settings import OPERATIONAL, RunSettings
from toolhop_agents.runs.unit import Units, WorkUnit, left, setting
from toolhop_agents.scripted.choose import PLANNED, choose, own_agent
from toolhop_env.attempt import Key
from toolhop_env.reading import CallFormat
from toolhop_env.responders import call_key
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.progress import Progress
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import ResultOrigin
from toolhop_env.verdicts import Call
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_tools.certify.file import path_for
from toolhop_tools.certify.model import Certificate
from toolhop_tools.errors import BadChoice, DataProblem
from toolhop_tools.load import select, survey
from toolhop_tools.model import DataSet, EpisodeAction, Item, Simulated, samples_of
from toolhop_tools.perturb.perturbation import Perturbation, perturbed
from toolhop_tools.scenarios.label import BENCHMARK as SCENARIOS


@dataclass(frozen=True, slots=True)
class Job:
    """What a run will play, determined before anything starts."""

    settings: RunSettings
    """The settings of this session."""
    data: DataSet
    items: Sequence[Item]
    left_out: tuple[DataProblem, ...] = ()
    """Problems of items that cannot be played (``skip_broken``)."""
    store: RunStore | None = None
    """The run being resumed; None for a new one."""
    changed: Mapping[str, JSON] = field(default_factory=dict)
    """Settings of this session that differ from the run's own."""
    sample: frozenset[str] | None = None
    """Ids of the items to play in this session, in the first epoch only."""
    folder: str = ""
    """Name of a new run's folder; derived from time and agent if empty."""
    only: frozenset[Key] | None = None
    """Episodes of the run; None for all."""
    starts: Callable[[WorkUnit], Prefix] | None = None
    """Returns where each episode begins (`Executor.starts`); None means at the start."""
    certificates: Mapping[str, Certificate] | None = None
    """Certificates of items to be made into scenarios; None to play the items as they are."""
    answers: Answers | None = None
    """Recorded answers to play from a file, if any."""
    scenarios: Mapping[str, JSON] | None = None
    """Counts of scenarios made and refused; None if none were made."""

    @property
    def work(self) -> Units | list[WorkUnit]:
        """All episodes of the run, including finished ones."""
        settings = self.settings
        work = Units(settings.modes, settings.epochs, self.items, settings.shard)
        return work if self.only is None else [unit for unit in work if unit.key in self.only]

    def left_by_mode(self, done: Progress) -> Mapping[str, int]:
        """Return the number of episodes to play in this session, by mode."""
        work = self.work
        if self.sample is not None or not isinstance(work, Units):
            return Counter(unit.mode for unit in self.left(done))
        finished = Counter(key.mode for key in done.finished)
        return {mode: count - finished[mode] for mode, count in work.by_mode().items()}

    def left(self, done: Progress) -> Iterator[WorkUnit]:
        """Yield the episodes to play in this session."""
        for unit in left(self.work, done):
            if self.sample is None or (unit.epoch == 1 and unit.item.id in self.sample):
                yield unit


def prepare(settings: RunSettings) -> Job:
    """Read the data and list the episodes, without starting anything.

    With ``into``, the items are those to be made into scenarios (`runs.scenarios.made`).

    Raises:
        ToolsError: the data cannot be used as requested.
        UnknownAgent: there is no such agent.
        TemplateError: the template lacks a placeholder for something the benchmark shows.
        UnknownPrice: a cost limit is set, but the model's price is unknown.
        BenchmarkFault: the benchmark's prompt or gold cannot be read.
        NoSuchModel, MissingExtra: a GGUF file cannot be served here.
    """
    found = survey(settings.data, last_wins=settings.last_wins)
    data = found.usable(skip_broken=settings.skip_broken)
    ids = rated(data, settings.sample_ids, settings.pass_rate, settings.profile)
    items = select(data, limit=settings.limit, sample_ids=ids)
    binding = binding_of(SCENARIOS) if settings.into else _binding(items, data.name)
    if settings.single_shot and binding.benchmark.name != SCENARIOS:
        raise BadChoice(
            f"--single-shot: {binding.benchmark.title} has no actions that the episode answers",
            fix="leave it out, or play items that `toolhop perturb` made",
        )
    _check_phrasing(settings, binding)
    own: dict[str, object] = {"modes": _modes(settings, binding)}
    if binding.turn_limit is not None and "turn_limit" not in settings.model_fields_set:
        own["turn_limit"] = binding.turn_limit
    if settings.judge is None:
        own["judge"] = binding.benchmark.judging.judge
    settings = settings.model_copy(update=own)
    answers = _check_agent(settings, binding, None if settings.into else data.items)
    if settings.into:
        job = _to_be_made(settings, data, items, found.errors)
        return replace(job, answers=answers)
    if answers is not None:
        _check_answers(settings, answers, items)
    _check_planned(settings, binding, items)
    _check_bodies(items, settings)
    items = chosen(items, data, settings.certificates, settings.certified_only)
    shown = Perturbation.parse(settings.perturbation)
    items = perturbed(items, shown, pool=data, seed=settings.seed)
    if settings.strict_tools == "on":
        _check_strict(items)
    for mode in settings.modes:
        setting(settings, WorkUnit(items[0], mode, 1))  # raises if there can be no prompt
    binding.benchmark.gold(items[0])  # raises if it cannot be read
    job = Job(settings, data, items, left_out=found.errors, answers=answers)
    if settings.shard and not job.work:
        episodes = len(Units(settings.modes, settings.epochs, items))
        raise BadChoice(
            f"--shard {'/'.join(map(str, settings.shard))} leaves nothing of {episodes} episodes",
            fix=f"make at most {episodes} parts",
        )
    return job


def _to_be_made(
    settings: RunSettings, data: DataSet, items: Sequence[Item], left_out: tuple[DataProblem, ...]
) -> Job:
    """Return a job whose items are still to be made into scenarios."""
    if Perturbation.parse(settings.perturbation) != Perturbation():
        raise BadChoice(
            f"--into with --tools {settings.perturbation}: labels are shown for tools as they are",
            fix="leave one of them out",
        )
    found = certificates_of(items, settings.certificates or path_for(data))
    for mode in settings.modes:
        setting(settings, WorkUnit(replace(items[0], benchmark=SCENARIOS), mode, 1))
    return Job(settings, data, tuple(items), left_out, certificates=found)


def resumed(store: RunStore, settings: RunSettings) -> Job:
    """Return the job of a resumed run, with the items stored in its folder.

    Args:
        store: the run.
        settings: the run's own settings, with this session's changes.

    Raises:
        StoreError, ToolsError: the items are missing, or not those that were played.
        UnknownAgent, UnknownPrice: see `prepare`.
    """
    data = store.items(last_wins=settings.last_wins)
    wanted = (store.manifest.get("data") or {}).get("played_digest")
    if wanted is not None and wanted != manifests.digest(data.items):
        raise StoreError(
            f"the items in {store.folder} are not those that the run began with: items.jsonl was "
            "changed, or this version of toolhop-env reads it otherwise; start a new run"
        )
    answers = _check_agent(settings, _binding(data.items, str(store.folder)), None)
    begun_with = store.manifest.get("predictions_digest")
    if begun_with is not None and begun_with != file_digest(settings.agent_name):
        raise StoreError(
            f"{settings.agent_name} is not the file that {store.folder} began with: its content "
            "differs; put the old one back, or start a new run"
        )
    served = (store.manifest.get("model_file") or {}).get("digest")
    if settings.gguf is not None and served != gguf.digest(settings.gguf):
        raise StoreError(
            f"{settings.gguf} is not the file that {store.folder} began with: its content differs; "
            "give the old one by --gguf, or start a new run"
        )
    items, names = tuple(data.items), sorted(OPERATIONAL - {"log_dir"})
    own, plain = settings_of(store).model_dump(mode="json"), settings.model_dump(mode="json")
    changed = {name: plain[name] for name in names if plain[name] != own[name]}
    return Job(settings, data, items, store=store, changed=changed, answers=answers)


def settings_of(store: RunStore) -> RunSettings:
    """Return a run's own settings.

    Raises:
        StoreError: the manifest has no valid settings.
    """
    try:
        # Manifests without `max_tokens` are of runs without that limit.
        return RunSettings.model_validate({"max_tokens": None, **store.manifest["settings"]})
    except (ValidationError, KeyError) as error:
        raise StoreError(f"the settings of {store.folder} cannot be read: {error}") from error


def simulated_before(job: Job) -> dict[str, Outcome]:
    """Return the simulator's answers to calls of recorded tools in earlier sessions."""
    tools = {item.id: item.all_tools for item in job.items}
    return {
        call_key(tools[trace.started.item][call.verdict.tool], call.verdict.arguments): call.outcome
        for trace in (job.store.traces() if job.store else ())
        for call in trace.calls
        if call.origin is ResultOrigin.SIMULATED
        if isinstance(call.verdict, Call) and call.outcome is not None
    }


def sampled(job: Job, count: int) -> Job:
    """Limit a job to `count` items, spread over the data by the seed."""
    identities = [item.id for item in job.items]
    return replace(job, sample=spread(identities, count, job.settings.seed))


def spread(identities: Sequence[str], count: int, seed: int) -> frozenset[str]:
    """Draw a stratified sample: one item from each of `count` equal stretches of the data."""
    draw = Random(seed)
    count = min(count, len(identities))
    ends = [len(identities) * part // count for part in range(count + 1)]
    return frozenset(identities[draw.randrange(first, last)] for first, last in pairwise(ends))


def _binding(items: Sequence[Item], where: str) -> Binding:
    """Return the binding of the items' benchmark."""
    found = sorted({item.benchmark for item in samples_of(items)})
    if len(found) != 1:
        raise BadChoice(
            f"{where} has items of {len(found)} benchmarks ({', '.join(found)}); a run plays one: "
            "choose its items with --sample-id, or split the data"
        )
    return binding_of(found[0])


def _modes(settings: RunSettings, binding: Binding) -> tuple[str, ...]:
    """Return the modes to play: the given ones, or the benchmark's first if none are given."""
    known = binding.benchmark.modes
    if settings.modes == ("all",):
        return known
    for mode in settings.modes:
        if mode not in known:
            raise BadChoice(
                f"--mode: {mode!r} is not a mode of {binding.benchmark.title}; give "
                f"{', '.join(known)}, several with commas, or all"
            )
    return settings.modes or known[:1]


def _check_phrasing(settings: RunSettings, binding: Binding) -> None:
    """Check that the benchmark has the phrasing, and that no template replaces it."""
    known = (USUAL, *binding.phrasings)
    if settings.phrasing not in known:
        raise BadChoice(
            f"--phrasing: {settings.phrasing!r} is not a phrasing of {binding.benchmark.title}",
            fix=f"give {', '.join(known)}" if binding.phrasings else "leave it out",
        )
    if settings.phrasing != USUAL and settings.template is not None:
        raise BadChoice(
            "--phrasing and --template both give the prompt", fix="leave one of them out"
        )


def _check_bodies(items: Sequence[Item], settings: RunSettings) -> None:
    """Check that the run can answer calls of every tool."""
    items = samples_of(items)
    asked = any(
        tool.body is EpisodeAction.ASK_USER for item in items for tool in item.all_tools.values()
    )
    if settings.user_model is not None and not asked:
        raise BadChoice(
            f"--user-model {settings.user_model}: no tool of these items asks the user",
            fix="leave it out, or play items that `toolhop perturb` made, or --into hidden ones",
        )
    for item in items:
        for tool in item.all_tools.values():
            if isinstance(tool.body, Simulated) and settings.simulator is None:
                raise BadChoice(
                    f"the tool {tool.name!r} of {item.id} is simulated by a model, and none is "
                    "given",
                    fix="pass --simulator PROVIDER/MODEL",
                )


def _check_strict(items: Sequence[Item]) -> None:
    """Check that every offered tool has a schema that strict mode accepts."""
    for item in items:
        for tool in item.all_tools.values():
            if problem := strict_problem(tool.schema.parameters):
                raise BadChoice(
                    f"--strict-tools on: the tool {tool.name!r} of {item.id} has no schema for "
                    f"strict mode: {problem}",
                    fix="leave --strict-tools out, or change the schema",
                )


def _check_planned(settings: RunSettings, binding: Binding, items: Sequence[Item]) -> None:
    """Check that the items have hops if the agent plays hops' gold calls."""
    agent = settings.agent_name
    if settings.model is not None or agent.partition(":")[0] not in PLANNED:
        return
    if any(not item.hops and not item.answer for item in samples_of(items)):
        raise BadChoice(
            f"the agent {agent!r} makes the calls of hops, and {binding.benchmark.title} has none",
            fix=f"pass --model, or --agent with one of {', '.join(binding.agents)}",
        )


def _check_answers(settings: RunSettings, answers: Answers, items: Sequence[Item]) -> None:
    """Check that an answer file has answers in each mode; missing ones count as wrong."""
    for mode in settings.modes:
        if all(turns_of(answers, item.id, mode) is None for item in items):
            raise BadChoice(
                f"{settings.agent_name} has no answer in the mode {mode} to any item that is "
                "played, and what has no answer counts as wrong",
                fix="give the modes and items that the file answers (--mode, --sample-id)",
            )


def _check_agent(
    settings: RunSettings, binding: Binding, known: Sequence[Item] | None
) -> Answers | None:
    """Check the agent, and return the recorded answers if it plays a file."""
    if settings.model is None and settings.agent_name.startswith(PREFIX):
        answers = read_predictions(settings.agent_name, binding, known)
        if binding.asked is Interaction.EPISODES and settings.call_format is not CallFormat.NATIVE:
            raise BadChoice(
                f"--call-format {settings.call_format}: calls of a file of answers are native",
                fix="leave the option out",
            )
        return answers
    if settings.gguf is not None:
        gguf.check(settings.gguf)
    if settings.model is None:
        if own_agent(settings.agent_name, binding.agents) is None:
            choose(settings.agent_name, binding.agents)
    elif settings.run_limits.known_costs:
        own = gguf.LOOPBACK if settings.gguf else None
        prices.check(settings.model, settings.base_url or own, settings.price)
    return None
