"""Ablations in a report: their figures, with discordant pairs linked to episodes of the report."""

from __future__ import annotations

from collections.abc import Callable

from toolhop_agents.ablate.folder import AblationFolder
from toolhop_agents.ablate.plain import to_json
from toolhop_agents.ablate.result import result
from toolhop_agents.ablate.table import EFFECTS, headlines, main_rows
from toolhop_sandbox.outcome import JSON

Keys = Callable[[str, str], str | None]
"""Takes an arm and an episode's name; returns the episode's key in the report."""


def ablation_part(label: str, folder: AblationFolder, keys: Keys) -> dict[str, JSON]:
    """Return the report's data on an ablation.

    Raises:
        StoreError: a trace cannot be read.
    """
    found = result(folder.ablation, folder.episodes(), folder.planned())
    plain = to_json(folder.ablation, found)
    main = main_rows(folder.ablation, found.rows)
    discordant: list[JSON] = []
    for one in found.discordant:
        sides = zip(one.contrast.arms(one.pair), (one.pair.before, one.pair.after), strict=True)
        first, second = (keys(arm.name, attempt.episode) for arm, attempt in sides)
        if first is not None and second is not None:
            discordant.append(
                {
                    "first": one.contrast.first,
                    "second": one.contrast.second,
                    "prefix": one.contrast.prefix,
                    "design": one.contrast.design,
                    "pair": [first, second],
                }
            )
    return {
        "label": label,
        "factor": str(folder.ablation.factor),
        "design": "forked" if folder.ablation.forks else "independent",
        "confidence": folder.ablation.confidence,
        "headlines": list(headlines(folder.ablation, main, found.parts)) if main else [],
        "legend": EFFECTS,
        "main": main[0].population if main else "all",
        "rows": plain["rows"],
        "discordant": discordant,
    }
