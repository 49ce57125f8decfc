"""An ablation's figures as plain values for `--json`."""

from __future__ import annotations

from collections.abc import Mapping

from toolhop_agents.ablate.design import Ablation, Arm
from toolhop_agents.ablate.parts import PartEffect
from toolhop_agents.ablate.result import Discordant, Result, Row, code, hop
from toolhop_agents.compare.cells import bounds
from toolhop_env.attempt import Attempt
from toolhop_env.pairs.line import Line
from toolhop_env.results import InjectionLabel
from toolhop_sandbox.outcome import JSON


def to_json(ablation: Ablation, found: Result) -> dict[str, JSON]:
    """Return all figures; shares are 0 to 1 and paths relative to the ablation's folder."""
    return {
        "ablation": ablation.model_dump(mode="json"),
        "rows": [_row(row, ablation.confidence) for row in found.rows],
        "parts": [_part(one, ablation.confidence) for one in found.parts],
        "leaks": {level: dict(counts) for level, counts in found.leaks.counts.items()},
        "flips": [_discordant(one) for one in found.discordant],
        "injections": {
            name: {label.value: counts.get(label, 0) for label in InjectionLabel}
            for name, counts in found.injections.items()
            if counts
        },
        "arms": {
            name: {"scored": scored, "errored": errored}
            for name, (scored, errored) in found.arms.items()
        },
    }


def path_of(arm: Arm, episode: Attempt) -> str:
    """Return the path of an episode's trace, relative to the ablation's folder."""
    return f"{arm.name}/{episode.stored_at}"


def _row(row: Row, confidence: float) -> JSON:
    return {
        "first": row.contrast.first,
        "second": row.contrast.second,
        "prefix": row.prefix or None,
        "design": row.contrast.design,
        "population": row.population,
        "rule": row.measure.name,
        "unit": row.measure.unit,
        "left_out": row.contrast.left_out,
        "planned": row.planned,
        "bounds": [*((row.effect and bounds(row.effect, row.planned)) or ())] or None,
        "effect": None if row.effect is None else effect_json(row.effect, confidence),
        "by_code": _effects(row.by_code, confidence),
        "by_hop": _effects(row.by_hop, confidence),
    }


def _part(one: PartEffect, confidence: float) -> JSON:
    lines = (one.effect, one.tight)
    effect, tight = (None if line is None else effect_json(line, confidence) for line in lines)
    return {
        "first": one.first,
        "second": one.second,
        "parts": [part.name.lower() for part in one.parts],
        "planned": one.planned,
        "effect": effect,
        "leaking": one.leaking,
        "effect_without_leaks": tight,
    }


def _effects(effects: Mapping[str, Line], confidence: float) -> JSON:
    return {name: effect_json(one, confidence) for name, one in effects.items()}


def effect_json(one: Line, confidence: float) -> JSON:
    """Return the figures of one effect, with shares from 0 to 1."""
    return {
        "pairs": one.pairs,
        "items": one.items,
        "first": one.before,
        "second": one.after,
        # None if the measure is not binary.
        "to_incorrect": one.lost,
        "to_correct": one.gained,
        "share_to_incorrect": None if one.lost is None else one.lost / one.pairs,
        "share_to_correct": None if one.gained is None else one.gained / one.pairs,
        "difference": one.difference,
        "low": one.low,
        "high": one.high,
        "p_value": one.p_value,
        "p_corrected": one.adjusted,
        "detectable": one.detectable,
        "disagreement": one.disagreement(confidence),
    }


def _discordant(one: Discordant) -> JSON:
    contrast, pair, failure = one.contrast, one.pair, one.failure
    arms = contrast.arms(pair)
    return {
        "item": pair.key.item,
        "epoch": pair.key.epoch,
        "first": contrast.first,
        "second": contrast.second,
        "prefix": contrast.prefix or None,
        "design": contrast.design,
        "rules": [measure.name for measure in one.measures],
        "to_correct": one.change[1],
        "turn": failure.turn if failure else None,
        "code": code(failure) if failure else "none",
        "hop": hop(failure) if failure else "none",
        "first_episode": path_of(arms[0], pair.before),
        "second_episode": path_of(arms[1], pair.after),
    }
