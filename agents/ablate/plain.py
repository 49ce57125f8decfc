"""An ablation's figures as plain values for `--json`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from agents.ablate.design import Ablation
from agents.ablate.effect import Effect
from agents.ablate.result import Flip, Result, Row, Saving
from agents.runs.store import EPISODES, file_name
from env.spending import Spent
from sandbox.outcome import JSON


def to_json(ablation: Ablation, found: Result) -> dict[str, JSON]:
    """All of it; shares from 0 to 1, paths from the ablation's folder on."""
    return {
        "ablation": ablation.model_dump(mode="json"),
        "rows": [_row(row) for row in found.rows],
        "flips": [_flip(flip) for flip in found.flips],
        "savings": [_saving(saving) for saving in found.savings],
        "arms": {
            name: {"scored": scored, "void": void} for name, (scored, void) in found.arms.items()
        },
    }


def path_of(arm: str, episode: str) -> str:
    """The trace file of an episode, from the ablation's folder on."""
    return f"{arm}/{EPISODES}/{file_name(episode)}.jsonl"


def _row(row: Row) -> JSON:
    return {
        "first": row.first,
        "second": row.second,
        "prefix": row.prefix or None,
        "design": row.design,
        "population": row.population,
        "rule": row.rule,
        "left_out": row.left_out,
        "effect": None if row.effect is None else _effect(row.effect),
        "by_code": _effects(row.by_code),
        "by_hop": _effects(row.by_hop),
    }


def _effects(effects: Mapping[str, Effect]) -> JSON:
    return {name: _effect(one) for name, one in effects.items()}


def _effect(one: Effect) -> JSON:
    return {
        "pairs": one.pairs,
        "items": one.items,
        "first": one.first,
        "second": one.second,
        "to_incorrect": one.to_incorrect,
        "to_correct": one.to_correct,
        "share_to_incorrect": one.share_to_incorrect,
        "share_to_correct": one.share_to_correct,
        "difference": one.difference,
        "low": one.low,
        "high": one.high,
        "p_value": one.p_value,
        "p_corrected": one.corrected,
        # JSON has no infinity: null says that no difference could be seen.
        "detectable": one.detectable if math.isfinite(one.detectable) else None,
    }


def _flip(flip: Flip) -> JSON:
    return {
        "item": flip.item,
        "epoch": flip.epoch,
        "first": flip.first,
        "second": flip.second,
        "prefix": flip.prefix or None,
        "design": flip.design,
        "rules": list(flip.rules),
        "to_correct": flip.to_correct,
        "turn": flip.turn,
        "code": flip.code,
        "hop": flip.hop,
        "first_episode": path_of(*flip.first_episode),
        "second_episode": path_of(*flip.second_episode),
    }


def _saving(saving: Saving) -> JSON:
    return {
        "prefix": saving.prefix,
        "level": saving.level,
        "branches": saving.branches,
        "asked": _spent(saving.asked),
        "kept": _spent(saving.kept),
        "unplayed": _spent(saving.unplayed),
        "saved": _spent(saving.saved),
        "independent": _spent(saving.independent),
        "independent_counted": None if saving.counted is None else _spent(saving.counted),
    }


def _spent(spent: Spent) -> JSON:
    return {
        "model_calls": model_calls(spent),
        "tokens": token_count(spent),
        "cost_usd": spent.cost_usd,
    }


def model_calls(spent: Spent) -> int:
    """Replies that were needed, whether they were asked for or a response cache had them."""
    return spent.replies + spent.cached_replies


def token_count(spent: Spent) -> int:
    """Input and output tokens of those."""
    return spent.tokens + spent.saved_tokens
