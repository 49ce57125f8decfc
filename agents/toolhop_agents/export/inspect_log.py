"""Runs as logs that `inspect view` opens. Needs inspect_ai.

A run becomes one log for each combination of benchmark, agent, mode, feedback level and tool-call
format. Each sample is an episode: the attempt that counts. Errored attempts before it are its
retries. An episode whose last attempt errored is a sample with an error and no score. Our status
words are the same as Inspect's. The logs are built from the run's index; the samples are then
written as the traces are read.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import ValidationError

from toolhop_agents.export.episodes import Exported, Plain, exported, labels
from toolhop_agents.export.files import ExportError, atomic, check_free
from toolhop_agents.export.inspect_samples import SCORER, error, sample
from toolhop_agents.export.tables import Written
from toolhop_env.attempt import Attempt, Key
from toolhop_env.benchmarks import named
from toolhop_env.extras import require
from toolhop_env.measures import Measure
from toolhop_env.runs.store import RunStore
from toolhop_env.summary import Group, Summary, summarize
from toolhop_tools.errors import why

STATUSES = frozenset({"started", "success", "error", "cancelled"})


@dataclass(frozen=True, slots=True)
class Log:
    """A log as plain values without its samples, and the name of its file."""

    name: str
    agent: str
    head: Plain
    samples: Mapping[str, Sequence[Attempt]]
    """Errored attempts that each sample replaced, by episode."""
    settings: Mapping[str, Any]

    def sample(self, one: Exported) -> Plain | None:
        """Convert an attempt to a sample; None if this log has no sample for it."""
        before = self.samples.get(one.trace.started.episode)
        return None if before is None else sample(one, before, self.settings)

    def usage(self, one: Plain, total: Plain | None) -> Plain:
        """Add a sample's token usage to the total."""
        used: Plain = one["model_usage"][self.agent]
        return used if total is None else _sum([total, used])

    def document(self, total: Plain | None) -> Plain:
        """Return the log without its samples; `total` is their token usage."""
        usage = {} if total is None else {self.agent: total}
        return {**self.head, "stats": {**self.head["stats"], "model_usage": usage}}


class LogFile:
    """A log file that is written sample by sample, and completed on exit without an error.

    Inspect's `write_eval_log` needs all samples at once. The file is an archive with a member per
    sample, the samples' summaries, and the rest of the log; Inspect's classes validate and
    serialize each part.
    """

    def __init__(self, path: Path, document: Callable[[Plain | None], Plain]) -> None:
        """Open a log at `path`; `document` takes the samples' token usage and returns the rest."""
        self.usage: Plain | None = None
        self._path, self._document = path, document
        self._open = ExitStack()

    def __enter__(self) -> LogFile:
        with ExitStack() as stack:
            archive = zipfile.ZipFile(self._path, "w", zipfile.ZIP_DEFLATED)
            self._archive = stack.enter_context(archive)
            self._summaries = stack.enter_context(tempfile.TemporaryFile())
            self._open = stack.pop_all()
        self._summaries.write(b"[")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        with self._open:
            if kind is None:
                self._finish()

    def add(self, sample: Plain, usage: Plain) -> None:
        """Write a sample; `usage` is the total of all samples so far."""
        from inspect_ai.log import EvalSample, condense_sample

        whole = condense_sample(EvalSample.model_validate(sample))
        name = f"samples/{whole.id}_epoch_{whole.epoch}.json"
        self._archive.writestr(name, whole.model_dump_json(exclude_none=True))
        self._summaries.write(b"," if self.usage is not None else b"")
        self._summaries.write(whole.summary().model_dump_json(exclude_none=True).encode())
        self.usage = usage

    def _finish(self) -> None:
        from inspect_ai.log import EvalLog

        self._summaries.write(b"]")
        self._summaries.seek(0)
        with self._archive.open("summaries.json", "w", force_zip64=True) as member:
            shutil.copyfileobj(self._summaries, member)
        log = EvalLog.model_validate(self._document(self.usage))
        start = log.model_dump_json(include={"version", "eval", "plan"}, exclude_none=True)
        self._archive.writestr("_journal/start.json", start)
        self._archive.writestr("header.json", log.model_dump_json(exclude_none=True))


def write_logs(stores: Sequence[RunStore], folder: Path, *, overwrite: bool = False) -> Written:
    """Write the logs of the runs to `folder`, all logs of one run in the same pass.

    Only one trace at a time is in memory.

    Raises:
        MissingExtra: inspect_ai is not installed.
        ExportError: a log cannot be written, or already exists.
        StoreError: a run cannot be read.
    """
    require("inspect_ai", extra="inspect", what="Inspect's format")
    files: list[Path] = []
    samples = 0
    for label, store in zip(labels(stores), stores, strict=True):
        counting = {one.episode for one in store.results()}
        made = logs(label, _facts(store), store.attempts(), counting)
        paths = [folder / log.name for log in made]
        check_free(paths, overwrite)
        with _fitting(label), ExitStack() as stack:
            opened = [
                stack.enter_context(LogFile(stack.enter_context(atomic(path)), log.document))
                for path, log in zip(paths, made, strict=True)
            ]
            for one in exported([store]):
                for log, file in zip(made, opened, strict=True):
                    plain = log.sample(one)
                    if plain is not None:
                        file.add(plain, log.usage(plain, file.usage))
                        samples += 1
        files += paths
    return Written(tuple(files), {"samples": samples})


@contextmanager
def _fitting(run: str) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise ExportError(f"{run} does not fit Inspect's format: {why(error)}") from error


def _facts(store: RunStore) -> Mapping[str, Any]:
    """Return the manifest; a missing start time is taken from the first trace."""
    manifest = store.manifest
    if manifest.get("started_at"):
        return manifest
    first = next(store.traces(), None)
    return {**manifest, "started_at": first.started.at if first else ""}


def logs(
    run: str, manifest: Mapping[str, Any], attempts: Iterable[Attempt], counting: Set[str]
) -> list[Log]:
    """Build the logs of one run.

    Args:
        run: name of the run.
        manifest: manifest of the run, with its start time.
        attempts: all attempts of the run.
        counting: names of the attempts that count.
    """
    groups: dict[Group, dict[Key, list[Attempt]]] = defaultdict(lambda: defaultdict(list))
    for one in attempts:
        groups[Group.of(one)][one.key].append(one)
    made = []
    for group, units in groups.items():
        ordered = (sorted(unit, key=lambda one: one.attempt) for unit in units.values())
        # The attempt that counts; if none was finished, the last.
        chosen = [
            (next((one for one in unit if one.episode in counting), unit[-1]), unit)
            for unit in ordered
        ]
        before = {
            one.episode: [other for other in unit if other.attempt < one.attempt]
            for one, unit in chosen
        }
        made.append(_log(run, manifest, group, [one for one, _ in chosen], before))
    return made


def _log(
    run: str,
    manifest: Mapping[str, Any],
    group: Group,
    chosen: Sequence[Attempt],
    before: Mapping[str, Sequence[Attempt]],
) -> Log:
    agent, mode = group.agent, group.mode
    settings = manifest.get("settings", {})
    created = str(manifest["started_at"])
    feedback, call_format = group.feedback.value, group.call_format.value
    told_apart = (
        group.benchmark, agent, mode, feedback, call_format, group.perturbation, group.judge,
    )  # fmt: skip
    name = "\0".join([run, created, *told_apart])
    identity = hashlib.sha256(name.encode()).hexdigest()[:22]
    fault = str(manifest.get("fault") or "")
    status = manifest.get("status")
    task, benchmark = f"{group.benchmark}-{mode}", named(group.benchmark)
    head: Plain = {
        "status": status if status in STATUSES else "error",
        "eval": {
            "created": created,
            "task": task,
            "task_id": identity,
            "eval_id": identity,
            "run_id": run,
            "task_args": {"mode": mode, "feedback": feedback, "call_format": call_format},
            "dataset": _dataset(manifest, chosen),
            # Inspect creates the model before it scores a log. Its provider `none` is a model that
            # never answers.
            "model": agent if "/" in agent else f"none/{agent}",
            "model_base_url": settings.get("base_url"),
            "model_generate_config": {
                name: settings.get(name) for name in ("temperature", "max_tokens", "seed")
            },
            "config": {
                "epochs": settings.get("epochs"),
                "turn_limit": settings.get("turn_limit"),
                "token_limit": settings.get("token_limit"),
            },
            "packages": {name: text for name, text in manifest.get("versions", {}).items() if text},
            "scorers": [{"name": SCORER, "options": _judge(settings)}],
            "metrics": {one.name: _metrics(group.benchmark, one) for one in benchmark.measures},
            "metadata": {"run": run, "settings": settings, "sandbox": manifest.get("sandbox")},
        },
        "results": _results(chosen),
        "stats": {
            "started_at": created,
            "completed_at": manifest.get("ended_at") or "",
        },
        "error": error(fault) if fault else None,
    }
    name = f"{created.replace(':', '-')}_{task}_{identity}.eval".replace("/", "-")
    return Log(name, agent, head, before, settings)


def _judge(settings: Mapping[str, Any]) -> Plain:
    """Return the scorer's options: the judge, if the run has one."""
    if not settings.get("judge"):
        return {}
    options = {"judge_base_url": settings.get("judge_base_url")}
    return {"judge": settings["judge"], "votes": settings.get("judge_votes", 1), **options}


def _metrics(benchmark: str, measure: Measure) -> list[Plain]:
    """Return the metrics that `inspect score` computes; see
    `toolhop_agents.adapters.inspect_task`.
    """
    if measure.binary:
        return [{"name": "mean"}, {"name": "stderr"}]
    options = {"benchmark": benchmark, "measure": measure.name}
    figures = ("toolhop_env/figure", "toolhop_env/figure_stderr")
    return [{"name": one, "options": options} for one in figures]


def _dataset(manifest: Mapping[str, Any], chosen: Sequence[Attempt]) -> Plain:
    data = manifest.get("data", {})
    ids = list(dict.fromkeys(one.item for one in chosen))
    return {
        "name": data.get("name"),
        "location": data.get("origin"),
        "samples": len(ids),
        "sample_ids": ids,
    }


def _results(chosen: Sequence[Attempt]) -> Plain:
    scored = [one for one in chosen if one.score is not None]
    plain: Plain = {"total_samples": len(chosen), "completed_samples": len(scored)}
    if scored:
        (summary,) = summarize(scored)
        measures = summary.benchmark.answer_measures
        plain["scores"] = [_score(one, summary, len(chosen)) for one in measures]
    return plain


def _score(measure: Measure, summary: Summary, samples: int) -> Plain:
    found = summary.figures[measure.name]
    metrics, name = {}, "accuracy" if measure.binary else "mean"
    if found is not None:
        metrics[name] = {"name": name, "value": found.value}
        if found.stderr is not None:
            metrics["stderr"] = {"name": "stderr", "value": found.stderr}
    return {
        "name": measure.name,
        "scorer": measure.name,
        "scored_samples": summary.episodes,
        "unscored_samples": samples - summary.episodes,
        "metrics": metrics,
    }


def _sum(parts: Sequence[Plain]) -> Plain:
    """Add token usages; a value unknown in one part is unknown in the sum."""
    total: Plain = {}
    for name in parts[0]:
        values = [part[name] for part in parts]
        known = [value for value in values if value is not None]
        whole = known and (name != "total_cost" or len(known) == len(values))
        total[name] = sum(known) if whole else None
    return total
