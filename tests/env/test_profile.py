"""Profiles: figures of items and tools, the order, the file, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from tests.env.made import called, finished
from toolhop_env.attempt import Attempt, attempt_of
from toolhop_env.levels import Template
from toolhop_env.profile import PROFILE, Profile, profile
from toolhop_env.score import Score
from toolhop_env.statistics.wilson import wilson
from toolhop_env.trace import Ended, Ending, ToolsChanged, Trace
from toolhop_env.verdicts import ErrorCode
from toolhop_tools.errors import BadChoice

RIGHT, WRONG = "<answer>36</answer>", "<answer>35</answer>"


def played(item: str, text: str = RIGHT, *, failed: bool = False, **changes: Any) -> Trace:
    """An episode with two calls of `born`, of which the first may fail."""
    error = ErrorCode.RAISED if failed else None
    return finished(
        called("born", 1815, error=error), called("born", 1815), text=text, item=item, **changes
    )


def of(*traces: Trace) -> Profile:
    return profile((attempt_of(trace), trace) for trace in traces)


def test_items_have_their_own_figures_hardest_first() -> None:
    found = of(
        *(played("solved") for _ in range(2)),
        *(played("mixed", text, failed=True) for text in (RIGHT, WRONG, WRONG, WRONG)),
        *(played("hopeless", WRONG) for _ in range(2)),
    )
    assert [(one.name, one.tries, one.pass_rate) for one in found.items] == [
        ("hopeless", 2, 0.0), ("mixed", 4, 0.25), ("solved", 2, 1.0)
    ]  # fmt: skip
    mixed = found.items[1]
    assert (mixed.low, mixed.high) == wilson(0.25, 4)
    assert (mixed.calls, mixed.failed_calls, mixed.items) == (2, 1, 1)
    assert (found.items[0].low, found.items[0].high) == wilson(0.0, 2)


def test_tools_have_the_figures_of_the_items_that_offer_them() -> None:
    found = of(
        played("one", tools=("born", "minus")), played("one", tools=("born", "minus")),
        played("two", WRONG, tools=("born",), failed=True),
    )  # fmt: skip
    tools = {one.name: one for one in found.tools}
    born, minus = tools["born"], tools["minus"]
    assert (born.items, born.tries, born.pass_rate) == (2, 3, 2 / 3)
    assert (born.calls, 3 * (born.failed_calls or 0)) == (2, 1)
    assert (minus.items, minus.tries, minus.pass_rate) == (1, 2, 1.0)
    assert (minus.calls, minus.failed_calls) == (0, 0)  # its own calls, not the episodes'
    # Two tries at one item are one draw of items.
    assert (minus.low, minus.high) == wilson(1.0, 1)


def test_a_tool_that_is_offered_later_counts() -> None:
    trace = played("one", tools=("born",))
    later = Trace((*trace.events[:2], ToolsChanged(("born", "late")), *trace.events[2:]))
    assert {one.name for one in of(later).tools} == {"born", "late"}


def test_an_errored_episode_is_no_try_and_its_item_stays() -> None:
    trace = played("lost")
    errored = Trace((*trace.events[:-1], Ended(Ending.ERRORED, 1.0, "of ours")))
    found = of(errored, played("one", WRONG))
    assert [(one.name, one.tries, one.pass_rate) for one in found.items] == [
        ("one", 1, 0.0), ("lost", 0, None)
    ]  # fmt: skip
    assert (found.items[1].low, found.items[1].calls) == (None, None)
    assert {(one.name, one.calls) for one in found.tools} == {("born", 2.0), ("minus", 0.0)}


def test_the_file_is_read_as_it_was_written() -> None:
    feedback = Template("mine", "Failed: {message}")
    found = of(played("one", feedback=feedback), played("tüv", WRONG, feedback=feedback))
    assert PROFILE.validate_json(PROFILE.dump_json(found)) == found


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (b'"format":1', b'"format":2'), (b'"pass_rate":1.0', b'"pass_rate":2'),
        (b'"high":1.0', b'"high":NaN'), (b'"tries":1', b'"tries":-1'),
    ],
)  # fmt: skip
def test_what_is_no_profile(was: bytes, becomes: bytes) -> None:
    text = PROFILE.dump_json(of(played("one")))
    assert was in text
    with pytest.raises(ValidationError):
        PROFILE.validate_json(text.replace(was, becomes))


def test_one_agent_and_one_setting() -> None:
    with pytest.raises(BadChoice, match=r"differ in agent: 'p', 'q'"):
        of(played("one"), played("one", agent="q"))
    with pytest.raises(BadChoice, match=r"differ in mode: (?s:.)*by --mode"):
        of(played("one"), played("one", mode="free"))
    with pytest.raises(BadChoice, match="no episode"):
        of()


def test_families_are_the_draws_of_a_tool() -> None:
    """Two items of one family are one draw."""

    def family(one: Attempt) -> Attempt:
        return replace(one, facets={"family": "f"})

    traces = [played("a"), played("b")]
    apart = of(*traces).tools[0]
    together = profile((family(attempt_of(one)), one) for one in traces).tools[0]
    assert (apart.low, apart.high) == wilson(1.0, 2)
    assert (together.low, together.high) == wilson(1.0, 1)


def test_a_measure_that_is_a_mean_of_halves_is_a_plain_mean_here() -> None:
    """Of a group of solvable items alone there is a rate, as `decided` of scenarios has none."""
    trace = played("one")
    one = attempt_of(trace)
    assert one.score is not None
    decided = Score(one.score.conduct, {"decided": (1.0, 1.0)})
    found = profile([(replace(one, benchmark="scenarios", verdict=decided), trace)])
    assert (found.measure, found.items[0].pass_rate) == ("decided", 1.0)
