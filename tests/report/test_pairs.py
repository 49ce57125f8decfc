"""Levels side by side: the epochs of an item are one unit of the test."""

from __future__ import annotations

from tests.report.made import SLIP, Script, trace
from toolhop_agents.report.pairs import EpisodeSide, level_pairs
from toolhop_env.attempt import attempt_of
from toolhop_env.feedback import Level


def side(item: int, epoch: int, level: Level) -> EpisodeSide:
    answer = "<answer>16</answer>" if level is Level.DETAILED else "<answer>5</answer>"
    script = Script(f"i{item}", epoch=epoch, level=level, turns=SLIP, answer=answer)
    return EpisodeSide(f"{item}-{epoch}-{level}", attempt_of(trace(script)), str(level), True, None)


def test_epochs_of_an_item_are_not_counted_as_items() -> None:
    sides = [
        side(item, epoch, level)
        for item in range(4)
        for epoch in (1, 2, 3)
        for level in (Level.DETAILED, Level.MINIMAL)
    ]
    (found,) = level_pairs(sides)
    assert isinstance(found, dict)
    figures = found["all"]
    assert isinstance(figures, dict)
    assert figures == found["failed"]
    assert (figures["pairs"], figures["to_incorrect"], figures["p_value"]) == (12, 12, 2 / 2**4)
    assert isinstance(found["discordant"], list)
    assert found["discordant"][0] == ["0-1-detailed", "0-1-minimal"]
