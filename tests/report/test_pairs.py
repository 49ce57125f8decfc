"""Levels side by side: the epochs of an item are one unit of the test."""

from __future__ import annotations

from agents.report.pairs import Row, level_pairs


def played(item: int, epoch: int, level: str, verdict: str) -> Row:
    return {
        "key": f"{item}-{epoch}-{level}", "item": f"i{item}", "epoch": epoch, "level": level,
        "last_level": level, "verdict": verdict, "player": "p", "mode": "free", "counts": True,
        "dialect": "native", "parent": None, "trunk": None, "codes": [],
    }  # fmt: skip


def test_epochs_of_an_item_are_not_counted_as_items() -> None:
    rows = [
        played(item, epoch, level, "right" if level == "detailed" else "wrong")
        for item in range(4)
        for epoch in (1, 2, 3)
        for level in ("detailed", "minimal")
    ]
    (found,) = level_pairs(rows)
    assert isinstance(found, dict)
    figures = found["all"]
    assert isinstance(figures, dict)
    assert (figures["n"], figures["lost"], figures["p"]) == (12, 12, 2 / 2**4)
