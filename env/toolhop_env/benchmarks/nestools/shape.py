"""NesTools: the nesting depth of an item's gold calls, and which known structure they have.

Both follow the released evaluation code (evaluation/structure.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolhop_env.benchmarks.nestools.counts import NestedCall

OTHER = "other"
"""The structure of calls that match none of the patterns."""

_PATTERNS = (
    "1>2 2>3 1", "1>2 1 3", "1>2 1>3 1", "1>2 1>3 2>3 1", "1 2 3", "2>3 1 2", "1>3 1 2",
    "1>3 2>3 1 2", "1>2 1>4 3>4 1 3", "1>2 1", "1 2", "1>2 2>3 3>4 1", "1>2 2>4 3>4 1 3",
    "1>3 1>4 2>3 2>4 1 2", "1>3 2>3 1 2 4", "1>3 2>4 1 2", "1>3 2>3 3>4 1 2", "1",
)  # fmt: skip
"""Structures, indexed by their number in the released code: edges from producer to consumer, and
the calls that consume nothing; calls are counted from 1."""
STRUCTURES = {frozenset(text.split()): number for number, text in enumerate(_PATTERNS)}


def depth(gold: Sequence[NestedCall]) -> int:
    """Return the longest path from response to parameter, in calls; 1 if nothing is nested."""
    depths: list[int] = []
    for call in gold:
        values = [str(value) for value in call.parameters.values()]
        # A placeholder counts wherever its text occurs: API_call_1 even in API_call_10.
        before = [
            deep
            for deep, one in zip(depths, gold, strict=False)
            if any(text in value for text in one.responses.values() for value in values)
        ]
        depths.append(1 + max(before, default=0))
    return max(depths, default=0)


def structure(gold: Sequence[NestedCall]) -> str:
    """Return the structure's number as text, or `OTHER`."""
    producers = {text: n for n, call in enumerate(gold, 1) for text in call.responses.values()}
    found: set[str] = set()
    for number, call in enumerate(gold, 1):
        texts = re.findall(r"API_call_\d+", str(list(call.parameters.values())))
        edges = {f"{producers[text]}>{number}" for text in texts if text in producers}
        found |= edges or {str(number)}
    known = STRUCTURES.get(frozenset(found))
    return OTHER if known is None else str(known)


def labelled(number: str) -> str:
    """Return a structure's number with its arrows, as in the paper's figure 5: ``9 (1→2)``."""
    if number == OTHER:
        return OTHER
    parts = _PATTERNS[int(number)].split()
    edges = [part.replace(">", "→") for part in parts if ">" in part]
    joined = {call for part in parts if ">" in part for call in part.split(">")}
    alone = [part for part in parts if ">" not in part and part not in joined]
    return f"{number} ({', '.join([*edges, *alone])})"
