"""The data card of training data: counts, sources, guards, licences. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from statistics import median
from typing import Any

from toolhop_agents.align.line import Chat, Pair
from toolhop_agents.align.pairs import TRUE_LENGTHS, length_ratio, named_apart
from toolhop_agents.align.writers import FORMATS

DRAWN = 50
"""Lines of each class that are drawn for people to read."""


def kind_of(line: Chat | Pair) -> str:
    """Return the class of a line: kind of chat, or type of pair."""
    return str(line.kind if isinstance(line, Chat) else line.pair_type)


def figures(lines: Sequence[Chat | Pair], dropped: Mapping[str, int]) -> dict[str, Any]:
    """Return the counts of lines, as plain values."""
    pairs = [line for line in lines if isinstance(line, Pair)]
    listed: dict[str, Iterable[object]] = {
        "classes": map(kind_of, lines),
        "splits": (line.split for line in lines),
        "domains": (line.domain for line in lines),
        "licences": (line.licence or "not known" for line in lines),
        "origins": (line.origin for line in lines),
        "hops": (pair.hop for pair in pairs),
        "sources": (f"{pair.chosen_source} / {pair.rejected_source}" for pair in pairs),
    }
    found: dict[str, Any] = {name: dict(Counter(map(str, each))) for name, each in listed.items()}
    found |= {"lines": len(lines), "families": len({line.family for line in lines}),
              "dropped": dict(dropped)}  # fmt: skip
    if pairs:
        ratios = [length_ratio(pair) for pair in pairs]
        low, high = TRUE_LENGTHS
        found |= {
            "length_ratio": round(median(ratios), 3),
            "length_alike": round(sum(low <= one <= high for one in ratios) / len(pairs), 3),
            "named_apart": round(sum(map(named_apart, pairs)) / len(pairs), 3),
        }
    return found


ABOUT = {
    "classes": "class", "splits": "split", "domains": "domain", "hops": "hops solved before",
    "sources": "source of chosen / rejected", "licences": "licence of the data",
    "origins": "made from", "dropped": "left out",
}  # fmt: skip


def page(counts: Mapping[str, Any], formats: Iterable[str], template: str) -> str:
    """Return the card in Markdown."""
    parts = [
        f"# Training data of toolhop-env {version('toolhop-env')}",
        f"{counts['lines']:,} lines of {counts['families']:,} families.",
        "Every label was executed: `toolhop align check` runs the agent's turns again, compares "
        "each result, and renders each line with a chat template. Nothing was uploaded.",
    ]
    for name, head in ABOUT.items():
        rows = [f"| {key} | {count:,} |" for key, count in counts[name].items()]
        parts += ["\n".join([f"| {head} | lines |", "|---|---:|", *rows])] if rows else []
    if "length_ratio" in counts:
        low, high = TRUE_LENGTHS
        parts.append(
            f"Chosen replies are {counts['length_ratio']:g} times as long as rejected ones in the "
            f"median; {counts['length_alike']:.0%} are within {low:g} to {high:g}, beyond which "
            f"length may be learned. The tools' names alone tell {counts['named_apart']:.0%} of "
            "the pairs apart."
        )
    for form in (FORMATS[name] for name in formats):
        parts += [f"## {form.version}", f"Text is rendered with the template {template}."]
        parts.append("\n".join(f"- {note}" for note in form.notes))
    return "\n\n".join(parts) + "\n"


def drawn(lines: Sequence[Chat | Pair], seed: int) -> list[dict[str, str]]:
    """Draw up to `DRAWN` lines of each class for people to read."""
    by_class: dict[str, list[str]] = {}
    for line in lines:
        by_class.setdefault(kind_of(line), []).append(line.id)
    rng = random.Random(seed)
    return [
        {"class": kind, "id": identity}
        for kind, ids in sorted(by_class.items())
        for identity in rng.sample(ids, min(DRAWN, len(ids)))
    ]
