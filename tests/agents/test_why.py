"""`toolhop why`: planted failures, whose cause is known, through the command."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from tests.agents import planted
from tests.agents.command import toolhop
from toolhop_tools.model import Item
from toolhop_tools.readers import native

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]
Made = Callable[[int, str], Item]


def told(*arguments: str, code: int = 0) -> str:
    done = toolhop(*arguments)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def played(folder: Path, items: Sequence[Item], agent: str, *flags: str) -> Path:
    """A run of these items by a planted agent."""
    data = folder / "items.jsonl"
    data.write_text("".join(json.dumps(native.to_row(item)) + "\n" for item in items))
    told(
        *("run", "--agent", f"tests.agents.planted:{agent}", "--data", str(data), "--json"),
        *("--sandbox", "process", "--log-dir", str(folder / "logs"), *flags),
    )
    (run,) = (folder / "logs").iterdir()
    return run


def repaired(run: Path, *flags: str) -> dict[str, dict[str, Any]]:
    """What the repairs of a run show, by item."""
    shown = json.loads(told("why", str(run), "--repair", "--json", *flags))
    return {one["item"]: one for one in shown}


def single() -> list[Item]:
    """60 items with a failure each: every kind at every step, four times."""
    plants = [f"{kind}@{step}" for kind, step in product(planted.KINDS, range(3))]
    made: Sequence[Made] = (planted.chain, planted.branches)
    both = zip(range(60), cycle(plants), strict=False)
    return [made[number // 15 % 2](number, plant) for number, plant in both]


def double() -> list[Item]:
    """60 items with two failures each: every two kinds at every two steps, but a skipped step only
    as the later one, as the agent says nothing of it that a later call could lose.
    """
    kinds = product([kind for kind in planted.KINDS if kind != "skip"], planted.KINDS)
    steps = [(0, 1), (0, 2), (1, 2)]
    plants = [f"{a}@{at}+{b}@{later}" for (a, b), (at, later) in product(kinds, steps)]
    made: Sequence[Made] = (planted.chain, planted.branches)
    return [made[number % 2](number, plant) for number, plant in enumerate(plants)]


def causes(found: dict[str, dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(one["cause"] for one in found.values()))


def test_60_planted_failures_are_the_cause(tmp_path: Path) -> None:
    found = repaired(played(tmp_path, single(), "Planted"), "--continuations", "2")
    assert causes(found) == {"first divergence": 60}
    for one in found.values():
        trial = one["trials"]["first"]
        assert [*one["trials"]] == ["first"]
        assert (trial["identical"], trial["low"], trial["high"]) == (True, None, None)
        assert (trial["as_played"], trial["repaired"]) == (0, 1)


def test_60_planted_pairs_of_failures_are_the_cause_together(tmp_path: Path) -> None:
    found = repaired(played(tmp_path, double(), "Threaded"), "--continuations", "2")
    assert causes(found) == {"both together": 60}
    for one in found.values():
        shares = {name: (t["as_played"], t["repaired"]) for name, t in one["trials"].items()}
        assert shares["first"] == shares.get("next", (0, 0)) == (0, 0)
        assert shares["both"] == (0, 1)
