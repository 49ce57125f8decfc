"""Feedback levels side by side: forked episodes with their parents, and separate ones by item.

A fork shares its parent's first turns, so that the two differ by the feedback alone; separate
episodes share an item and an epoch. Right is by the strict rule. The figures are those of
`agents.statistics.shares`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from agents.statistics.shares import difference
from sandbox.outcome import JSON

Row: TypeAlias = dict[str, JSON]
"""An episode as in `agents.report.collect`: its row, with its key, and whether it counts."""
Setting: TypeAlias = tuple[str, str, str, str, str]
"""How it was paired, player, mode, level before, level after."""


def level_pairs(rows: Sequence[Row]) -> list[JSON]:
    """A table row for each player, mode and pair of levels; empty where one level was played."""
    found: dict[Setting, list[tuple[Row, Row]]] = defaultdict(list)
    usable = [row for row in rows if row["verdict"] in {"right", "wrong"}]
    for setting, before, after in (*_forked(usable), *_separate(usable)):
        found[setting].append((before, after))
    return [_comparison(setting, pairs) for setting, pairs in found.items()]


def _forked(rows: Sequence[Row]) -> Iterator[tuple[Setting, Row, Row]]:
    by_key = {row["key"]: row for row in rows}
    for row in rows:
        parent = by_key.get(row["trunk"]) if row["trunk"] else None
        if parent is not None and parent["last_level"] != row["last_level"]:
            yield _setting("forked", parent, row), parent, row


def _separate(rows: Iterable[Row]) -> Iterator[tuple[Setting, Row, Row]]:
    places: dict[tuple[JSON, ...], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        if not row["parent"] and row["counts"] and row["level"] == row["last_level"]:
            place = (row["player"], row["mode"], row["dialect"], row["item"], row["epoch"])
            places[place].setdefault(str(row["level"]), row)
    for levels in places.values():
        order = sorted(levels)
        for index, one in enumerate(order):
            for other in order[index + 1 :]:
                before, after = levels[one], levels[other]
                yield _setting("separate", before, after), before, after


def _setting(how: str, before: Row, after: Row) -> Setting:
    levels = (str(before["last_level"]), str(after["last_level"]))
    return (how, str(after["player"]), str(after["mode"]), *levels)


def _comparison(setting: Setting, pairs: Sequence[tuple[Row, Row]]) -> JSON:
    how, player, mode, before, after = setting
    failed = [pair for pair in pairs if any(row["codes"] for row in pair)]
    flips: list[JSON] = [
        [one["key"], other["key"]] for one, other in pairs if one["verdict"] != other["verdict"]
    ]
    return {
        "how": how,
        "player": player,
        "mode": mode,
        "before": before,
        "after": after,
        "all": _figures(pairs),
        "failed": _figures(failed),
        "flips": flips,
    }


def _figures(pairs: Sequence[tuple[Row, Row]]) -> JSON:
    if not pairs:
        return None
    by_item: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for before, after in pairs:
        sides = (before["verdict"] == "right", after["verdict"] == "right")
        by_item[str(after["item"])].append(sides)
    shares = difference(by_item, seed=0)
    found = shares.found
    return {
        "n": found.n,
        "before": found.before,
        "after": found.after,
        "gained": found.gained,
        "lost": found.lost,
        "difference": found.difference,
        "low": shares.low,
        "high": shares.high,
        "p": shares.p_value,
    }
