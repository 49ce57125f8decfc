"""Runs as logs that `inspect view` opens. Needs inspect_ai.

A run makes a log for each benchmark, agent, mode, feedback level and tool-call format in it. A
sample is an episode: the attempt that counts; errored attempts before it are its retries, and an
episode that is errored in the end is a sample with an error and no score. Inspect's status words
are ours. A log is written in one piece by Inspect itself, so its samples are held in memory.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolhop_agents.export.episodes import Exported, exported, labels
from toolhop_agents.export.facts import Plain
from toolhop_agents.export.files import atomic, check_free
from toolhop_agents.export.inspect_samples import error, sample
from toolhop_agents.export.parquet import Written
from toolhop_agents.extras import require
from toolhop_env.attempt import Key
from toolhop_env.benchmarks import named
from toolhop_env.measures import Measure
from toolhop_env.runs.store import RunStore
from toolhop_env.summary import Group, Summary, summarize

STATUSES = frozenset({"started", "success", "error", "cancelled"})


@dataclass(frozen=True, slots=True)
class Log:
    """A log in plain values, and the name that its file gets."""

    name: str
    document: Plain


def write_logs(stores: Sequence[RunStore], folder: Path, *, overwrite: bool = False) -> Written:
    """Write the logs of the runs to `folder`, each in one step.

    Raises:
        MissingExtra: inspect_ai is not installed.
        ExportError: a log cannot be written, or is there already.
        StoreError: a run cannot be read.
    """
    require("inspect_ai", extra="inspect", what="Inspect's format")
    from inspect_ai.log import EvalLog, write_eval_log

    files: list[Path] = []
    samples = 0
    for label, store in zip(labels(stores), stores, strict=True):
        made = logs(label, store.manifest, exported([store]))
        check_free((folder / log.name for log in made), overwrite)
        for log in made:
            with atomic(folder / log.name) as path:
                write_eval_log(EvalLog.model_validate(log.document), str(path), format="eval")
            files.append(folder / log.name)
            samples += len(log.document["samples"])
    return Written(tuple(files), {"samples": samples})


@dataclass
class _Unit:
    """The attempts at one episode."""

    taken: list[Exported] = field(default_factory=list)

    def chosen(self) -> Exported:
        """The one that counts; where none was finished, the last."""
        ordered = sorted(self.taken, key=lambda one: one.attempt.attempt)
        return next((one for one in ordered if one.counts), ordered[-1])

    def before(self) -> list[Exported]:
        """Those that it replaced."""
        chosen = self.chosen().attempt.attempt
        return [one for one in self.taken if one.attempt.attempt < chosen]


def logs(run: str, manifest: Mapping[str, Any], episodes: Iterable[Exported]) -> list[Log]:
    """The logs of one run."""
    groups: dict[Group, dict[Key, _Unit]] = defaultdict(lambda: defaultdict(_Unit))
    for one in episodes:
        groups[Group.of(one.attempt)][one.attempt.key].taken.append(one)
    return [_log(run, manifest, group, list(units.values())) for group, units in groups.items()]


def _log(run: str, manifest: Mapping[str, Any], group: Group, units: Sequence[_Unit]) -> Log:
    agent, mode = group.agent, group.mode
    settings = _part(manifest, "settings")
    created = str(manifest.get("started_at") or units[0].taken[0].trace.started.at)
    feedback, call_format = group.feedback.value, group.call_format.value
    name = "\0".join([run, created, group.benchmark, agent, mode, feedback, call_format])
    identity = hashlib.sha256(name.encode()).hexdigest()[:22]
    chosen = [unit.chosen() for unit in units]
    samples = [sample(unit.chosen(), unit.before(), settings) for unit in units]
    fault = str(manifest.get("fault") or "")
    status = manifest.get("status")
    task = f"{group.benchmark}-{mode}"
    document: Plain = {
        "status": status if status in STATUSES else "error",
        "eval": {
            "created": created,
            "task": task,
            "task_id": identity,
            "eval_id": identity,
            "run_id": run,
            "task_args": {"mode": mode, "feedback": feedback, "call_format": call_format},
            "dataset": _dataset(manifest, samples),
            "model": agent,
            "model_base_url": settings.get("base_url"),
            "model_generate_config": {
                name: settings.get(name) for name in ("temperature", "max_tokens", "seed")
            },
            "config": {
                "epochs": settings.get("epochs"),
                "turn_limit": settings.get("turn_limit"),
                "token_limit": settings.get("token_limit"),
            },
            "packages": {name: text for name, text in _part(manifest, "versions").items() if text},
            "scorers": [{"name": one.name} for one in named(group.benchmark).answer_measures],
            "metadata": {"run": run, "settings": settings, "sandbox": manifest.get("sandbox")},
        },
        "results": _results(chosen),
        "stats": {
            "started_at": created,
            "completed_at": manifest.get("ended_at") or "",
            "model_usage": {agent: _sum([one["model_usage"][agent] for one in samples])},
        },
        "error": error(fault) if fault else None,
        "samples": samples,
    }
    return Log(f"{created.replace(':', '-')}_{task}_{identity}.eval", document)


def _part(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = manifest.get(name)
    return part if isinstance(part, dict) else {}


def _dataset(manifest: Mapping[str, Any], samples: Sequence[Plain]) -> Plain:
    data = _part(manifest, "data")
    ids = list(dict.fromkeys(one["id"] for one in samples))
    return {
        "name": data.get("name"),
        "location": data.get("origin"),
        "samples": len(ids),
        "sample_ids": ids,
    }


def _results(chosen: Sequence[Exported]) -> Plain:
    scored = [one for one in chosen if one.attempt.score is not None]
    plain: Plain = {"total_samples": len(chosen), "completed_samples": len(scored)}
    if scored:
        (summary,) = summarize(one.attempt for one in scored)
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
    """Usages added; what is not known of one is not known of the sum."""
    total: Plain = {}
    for name in parts[0]:
        values = [part[name] for part in parts]
        known = [value for value in values if value is not None]
        whole = known and (name != "total_cost" or len(known) == len(values))
        total[name] = sum(known) if whole else None
    return total
