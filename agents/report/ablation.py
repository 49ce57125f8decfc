"""Ablations in a report: their figures, and their flips as episodes of the report."""

from __future__ import annotations

from collections.abc import Callable

from agents.ablate.folder import AblationFolder
from agents.ablate.plain import to_json
from agents.ablate.result import result
from sandbox.outcome import JSON

Keys = Callable[[str, str], str | None]
"""From an arm and an episode's name to the episode's key in the report."""


def ablation_part(label: str, folder: AblationFolder, keys: Keys) -> JSON:
    """What the report shows of an ablation.

    Raises:
        StoreError: a trace of it cannot be read.
    """
    found = result(folder.ablation, folder.episodes())
    told = to_json(folder.ablation, found)
    flips: list[JSON] = []
    for flip in found.flips:
        first, second = keys(*flip.first_episode), keys(*flip.second_episode)
        if first is not None and second is not None:
            flips.append(
                {
                    "first": flip.first,
                    "second": flip.second,
                    "prefix": flip.prefix,
                    "design": flip.design,
                    "rules": list(flip.rules),
                    "to_correct": flip.to_correct,
                    "pair": [first, second],
                }
            )
    return {
        "label": label,
        "factor": str(folder.ablation.factor),
        "design": "forked" if folder.ablation.forks else "independent",
        "confidence": folder.ablation.confidence,
        "rows": told["rows"],
        "savings": told["savings"],
        "flips": flips,
    }
