"""What is kept of failures, how many tools are checked together, and what a batch shares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toolhop_tools.checked import LIMITS, caller, case, subject
from toolhop_env.rejection import Rejections
from toolhop_sandbox.outcome import NotJson, Raised, Returned, TooLarge
from toolhop_tools.batch import MOST_CUT
from toolhop_tools.model import GoldCall, Hop, Item
from toolhop_tools.properties import draw, harness, words
from toolhop_tools.properties.bench import settings_for
from toolhop_tools.properties.by_schema import names
from toolhop_tools.properties.case import Case
from toolhop_tools.properties.check import CheckJob, check
from toolhop_tools.properties.described import promises
from toolhop_tools.properties.lanes import check_all
from toolhop_tools.properties.model import (
    BASE,
    FREE,
    PROPERTIES,
    SETTINGS,
    Caller,
    CounterExample,
    Fails,
    Holds,
    subjects,
)
from toolhop_tools.properties.store import Store, StoreFault

BAD = "def f(n):\n    return [1][n // 40]\n"
MENDED = "def f(n):\n    return [1, 1, 1][n // 40]\n"


def kept(of: Case, name: str, store: Store) -> Fails:
    """A verdict that must be against the tool, with its counter-examples stored."""
    verdict = check(of, name)
    assert isinstance(verdict, Fails)
    for one in verdict.found:
        store.keep(of.subject, one)
    return verdict


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    with caller() as made:
        yield made


def test_failures_are_replayed_first_and_not_made_smaller_again(
    call: Caller, tmp_path: Path
) -> None:
    store = Store(tmp_path, "set")
    one = subject(BAD, {"n": {"type": "integer", "minimum": 0}})
    first = kept(case(call, one, store=store), "valid-input", store)
    again = case(call, one, count=1, store=store)
    assert list(again.valid) == [{"n": 40}]
    verdict = check(again, "valid-input")
    assert isinstance(verdict, Fails)
    assert verdict.found == first.found
    repaired = subject(MENDED, {"n": {"type": "integer", "minimum": 0}})
    assert check(case(call, repaired, count=1, store=store), "valid-input") == Holds(1)


def test_sequences_and_near_misses_are_replayed(call: Caller, tmp_path: Path) -> None:
    counts = subject("seen = []\ndef f(n):\n    seen.append(n)\n    return len(seen)\n")
    day = subject(
        "def f(day):\n    return day[:4]\n", {"day": {"type": "string", "format": "date"}}
    )
    for one, name in ((counts, "independent"), (day, "bad-input")):
        store = Store(tmp_path, name)
        before = kept(case(call, one, formats=True, store=store), name, store)
        files = store.kept(one)
        assert [(k.property, k.kind) for k in files] == [(f.property, f.kind) for f in before.found]
        after = check(case(call, one, count=3, formats=True, store=store), name)
        assert isinstance(after, Fails)
        assert after.found == before.found
    assert isinstance(check(case(call, day, store=store), "bad-input"), Holds)


def test_store_passes_over_what_it_cannot_read(tmp_path: Path) -> None:
    store = Store(tmp_path, "a/b")
    one = subject(BAD)
    path = store.keep(one, CounterExample("valid-input", "raises X", "told", {"n": 1}))
    assert path is not None
    assert path.parent.parent == tmp_path
    for bad in ("{", "[]", '{"format": 2}'):
        path.write_text(bad)
        store.unreadable.clear()
        assert store.kept(one) == []
        assert store.unreadable == [path]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file", "set")
    with pytest.raises(StoreFault, match="--store"):
        store.keep(subject(BAD), CounterExample("valid-input", "raises X", "told", {"n": 1}))


def test_a_tool_of_several_items_is_one_subject_with_all_their_gold_calls() -> None:
    tool = subject(BAD).tool
    items = [
        Item(
            str(at), "?", "1", (Hop("?", "1", tool, GoldCall({"n": at}, "written")),), "d", "number"
        )
        for at in range(3)
    ]
    (one,) = subjects(items)
    assert (one.id, [gold.arguments["n"] for gold in one.golds]) == ("0::f", [0, 1, 2])


def test_reports_are_the_same_however_many_lanes() -> None:
    tools = [subject(source) for source in (BAD, MENDED, "def f(n):\n    return {n}\n")] * 2

    def made(lanes: int) -> list[object]:
        job = CheckJob(Rejections, LIMITS, "process", count=12)
        return [report.verdicts for report in check_all(tools, job, lanes=lanes)]

    one, two = made(1), made(2)
    assert one == two
    assert len(one) == 6


def test_only_the_settings_that_are_needed_are_opened() -> None:
    assert settings_for(list(PROPERTIES)) == SETTINGS
    assert settings_for(["valid-input"]) == (BASE,)
    assert settings_for(["policy"]) == (BASE, FREE)


def test_settings_make_the_difference_that_they_name(call: Caller) -> None:
    _see_the_settings(call)


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
def test_settings_make_the_same_difference_in_docker() -> None:
    with caller("docker") as call:
        _see_the_settings(call)


def _see_the_settings(call: Caller) -> None:
    one = subject("def f(n):\n    return [hash('a'), hasattr(print, '__self__')]\n")
    seen = {setting: call(setting, one.tool.program, {"n": 1}) for setting in SETTINGS}
    hashes = [json.loads(o.json_text)[0] for o in seen.values() if isinstance(o, Returned)]
    assert len(hashes) == len(SETTINGS)
    assert hashes[0] == hashes[-1]
    assert len(set(hashes)) == len(SETTINGS) - 1


def test_a_batch_gives_what_calls_give(call: Caller) -> None:
    source = (
        "def f(n):\n    if n == 1: raise ValueError('one')\n    if n == 2: return {1}\n"
        "    if n == 3: return 'x' * 300_000\n    if n == 4: return 'x' * 2_000_000\n"
        "    if n == 5: return '\\udc80'\n    return [n, 1.5, None, 'é']\n"
    )
    program = subject(source).tool.program
    sets = [{"n": n} for n in range(9)]
    runs = harness.run_batched(call, BASE, program, sets)
    alone = harness.run_alone(call, BASE, program, sets)
    told = [run and harness.fact(run.outcome) for run in runs]
    assert told == [run and harness.fact(run.outcome) for run in alone]
    kinds = [type(run.outcome) for run in runs if run]
    assert {Returned, Raised, NotJson, TooLarge} == set(kinds)


def test_lines_of_the_source_are_its_own_under_the_driver(call: Caller) -> None:
    program = subject("x = 1\n\ndef f(n):\n    return 1 // 0\n").tool.program
    driven, request = harness.sequence(program, [{"n": 1}, {"n": 2}])
    outcome = call(BASE, driven, request)
    assert isinstance(outcome, Raised)
    assert outcome.line == 4


def test_what_hangs_costs_few_calls_and_the_rest_is_given_up(call: Caller) -> None:
    program = subject("def f(n):\n    while n > 2: pass\n    return n\n").tool.program
    runs = harness.run_batched(call, BASE, program, [{"n": n} for n in range(12)])
    assert [run is not None for run in runs[:3]] == [True] * 3
    assert sum(run is not None for run in runs) == 3 + MOST_CUT


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("year", "The argument `year` must be an integer", True),
        ("year", "years must be positive", False),
        ("a", "this is a mistake", False),
        ("a", "f needs the argument `a`, which is missing", True),
        ("a", "The argument `a.b[0]` must be", True),
        ("n", "n: 3 is too small", True),
        ("start-date", "start-date is no date", True),
    ],
)
def test_what_counts_as_naming_a_parameter(name: str, text: str, named: bool) -> None:
    assert names(name, text) is named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(n=1) -> 2", [(True, 2)]),
        ("f(n=1) returns 3 apples", [(False, None)]),
        ("f(n=1) returns 3.", [(True, 3)]),
        ("f(n=1) => 3.5 m", [(True, 3.5)]),
        ("f(n=(1)) == ['a', 2]; more", [(True, ["a", 2])]),
        ("such as f(n=1)", [(False, None)]),
        ("f(n=m)", []),
    ],
)
def test_promises_of_a_description(text: str, expected: list[tuple[bool, object]]) -> None:
    one = subject("def f(n):\n    return n\n", description=text)
    assert [(p.stated, p.result) for p in promises(one.tool)] == expected


def test_a_docstring_promises_too() -> None:
    source = 'def f(n):\n    """Double.\n\n    >>> f(2)\n    4\n    """\n    return 2 * n\n'
    (promise,) = promises(subject(source).tool)
    assert (promise.arguments, promise.result, promise.stated) == ({"n": 2}, 4, True)


def test_drawing_is_the_same_for_a_seed_and_gives_as_many_as_there_are() -> None:
    from hypothesis import strategies as st

    numbers = st.integers()
    assert draw.drawn(numbers, 50, 3) == draw.drawn(numbers, 50, 3)
    assert draw.drawn(numbers, 50, 3) != draw.drawn(numbers, 50, 4)
    assert len(draw.drawn(numbers, 50, 3)) == 50
    assert sorted(draw.drawn(st.booleans(), 50, 0)) == [False, True]
    assert draw.drawn(st.nothing(), 50, 0) == []


def test_shrinking_makes_no_call_for_what_is_known_to_be_sound() -> None:
    from hypothesis import strategies as st

    asked: list[int] = []

    def fails(value: int) -> bool:
        asked.append(value)
        return value >= 17

    drawn = draw.drawn(st.integers(0, 1000), 20, 0)
    sound = {draw.text_of(value) for value in drawn if value < 17}
    assert draw.shrunk(st.integers(0, 1000), 20, 0, fails, sound=sound) == 17
    assert not set(asked) & {value for value in drawn if value < 17}
    assert len(asked) == len(set(asked))


def test_shrinking_a_failure_that_comes_and_goes_ends() -> None:
    from hypothesis import strategies as st

    turns = iter(range(10_000))
    assert draw.shrunk(st.integers(), 20, 0, lambda _: next(turns) % 3 == 0) is not None


def test_outcomes_are_told_on_one_line() -> None:
    told = words.reported(Raised("ValueError", "one\ntwo\x1b[31m", 3))
    assert told.startswith("raises ValueError: one two")
    assert "\n" not in told
    assert words.kind_of(Raised("a|b\n`", "")) == "raises a?b??"
