"""Comparisons as plain values, for `--json`. Shares are 0 to 1, published figures per cent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields

from agents.compare.conditions import Factor
from agents.compare.published import Reference
from agents.compare.report import Comparison, Flip, Group, Report
from agents.compare.sides import Played, Side
from sandbox.outcome import JSON

FORMAT = 1
"""Version of this shape."""


def to_json(report: Report, reference: Reference | None) -> dict[str, JSON]:
    """Everything that the tables say, and every flip."""
    found: dict[str, JSON] = {
        "format": FORMAT,
        "options": asdict(report.options),
        "runs": [_side(side) for side in report.sides],
        "comparisons": [_comparison(one) for one in report.comparisons],
    }
    if reference is not None:
        table: JSON = reference.table.model_dump(mode="json")
        found["published"] = {"table": table, "caveats": list(reference.caveats)}
    return found


def _side(side: Side) -> dict[str, JSON]:
    return {
        "letter": side.letter,
        "run": str(side.folder),
        "status": side.facts.get("status"),
        "player": side.player,
        "modes": list(side.modes),
        "items": len(side.asked),
        "epochs": side.epochs,
        "episodes": len(side.episodes),
        "void": side.void,
    }


def _comparison(comparison: Comparison) -> dict[str, JSON]:
    pairing = comparison.pairing
    return {
        "before": pairing.before.letter,
        "after": pairing.after.letter,
        "differs": _factors(pairing.differs),
        "made_otherwise": _factors(pairing.remarks),
        "pairs": len(pairing.pairs),
        "items": len({pair.key.item for pair in pairing.pairs}),
        "left_out": asdict(pairing.left_out),
        "groups": [_group(group) for group in comparison.groups],
        "tries": [asdict(one) for one in comparison.passes],
        "flips": [_flip(one) for one in comparison.flips],
    }


def _factors(factors: Sequence[Factor]) -> list[JSON]:
    return [asdict(factor) for factor in factors]


def _group(group: Group) -> dict[str, JSON]:
    lines: list[JSON] = [
        {field.name: getattr(line, field.name) for field in fields(line)} for line in group.lines
    ]
    return {"by": group.by, "value": group.value, "measures": lines}


def _flip(flip: Flip) -> dict[str, JSON]:
    before, after = flip.played
    return {
        "item": flip.key.item,
        "mode": flip.key.mode,
        "epoch": flip.key.epoch,
        "before": _played(before, flip.strict[0], flip.official[0]),
        "after": _played(after, flip.strict[1], flip.official[1]),
    }


def _played(played: Played, strict: bool, official: bool) -> dict[str, JSON]:
    return {
        "episode": played.judged.episode,
        "answer": played.answer(),
        "strict": strict,
        "official": official,
        "trace": str(played.trace),
    }
