"""Each property: a tool that has it, tools that lack it in each way, and no verdict on nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.toolhop_tools.checked import caller, case, found, subject
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import Outcome, Returned
from toolhop_tools.batch import Arguments
from toolhop_tools.properties.check import CHECKS, check
from toolhop_tools.properties.model import (
    NOT_ASKED,
    OWN_MESSAGE,
    PROPERTIES,
    UNKNOWN_KEY,
    Caller,
    Fails,
    Gold,
    Holds,
    NotApplicable,
    SandboxSetting,
    ToolClass,
    ToolReport,
    judged,
)

TEXT = {"text": {"type": "string", "maxLength": 20}}
GOOD = "def f(n):\n    return {'double': 2 * n}\n"


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    with caller() as made:
        yield made


def test_every_property_has_a_check() -> None:
    assert list(CHECKS) == list(PROPERTIES)


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_good_tool_has_every_property(call: Caller, name: str) -> None:
    one = subject(
        GOOD,
        description='Doubles. Example: f(n=4) -> {"double": 8}',
        golds=[Gold({"n": 3}, "6", "written")],
    )
    verdict = check(case(call, one), name)
    assert isinstance(verdict, Holds), verdict
    assert verdict.executed >= 1


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def f(n):\n    return 10 // max(0, 60 - n)\n", "raises ZeroDivisionError"),
        ("def f(n):\n    while n == 1:\n        pass\n    return n\n", "no result in time"),
        ("def f(n):\n    return len(bytearray(n * 10**9))\n", "out of memory"),
    ],
    ids=["raises", "hangs", "exhausts memory"],
)
def test_valid_input_that_ends_badly(call: Caller, source: str, kind: str) -> None:
    counter = found(call, subject(source), "valid-input", count=60)
    assert counter.kind == kind
    assert counter.shrunk


OWN = (
    "TABLE = {{'x': 'y'}}\nROW = []\n"
    "def f(text):\n    if not text:\n        {raises}\n    return {result}\n"
)


@pytest.mark.parametrize(
    ("raises", "result", "kind"),
    [
        ("raise ValueError(\n            'no text given')", "len(text)", "raises ValueError"),
        ("raise KeyError('text')", "len(text)", "raises KeyError"),
        ("raise KeyError(f'no {TABLE[text]}')", "len(text)", "raises KeyError"),
        ("raise ValueError(f'{{text!r:>9}} is no {{int}}')", "len(text)", "raises ValueError"),
        ("assert text, 'no text given'", "len(text)", "raises AssertionError"),
        ("error = LookupError('none'); raise error", "len(text)", "raises LookupError"),
        (
            "try: int('')\n        except ValueError as error: pass\n"
            "        error = KeyError('none'); raise error",
            "len(text)",
            "raises KeyError",
        ),
        ("raise IOError('no text given')", "len(text)", "raises OSError"),
        ("raise OSError(2, 'no text given')", "len(text)", "raises FileNotFoundError"),
        ("raise TypeError('none') if not text else text", "len(text)", "raises TypeError"),
        ("return {'error': 'no text given'}", "len(text)", "returns an error"),
        ("return 'Error: no text given'", "len(text)", "returns an error"),
    ],
)
def test_a_message_of_its_own_is_no_failure_and_is_listed(
    call: Caller, raises: str, result: str, kind: str
) -> None:
    one = subject(OWN.format(raises=raises, result=result), TEXT)
    verdict = check(case(call, one), "valid-input")
    assert isinstance(verdict, Holds), verdict
    (remark,) = verdict.remarks
    assert remark.kind == f"{OWN_MESSAGE}: {kind}"
    assert remark.arguments == {"text": ""}
    assert " of 20 examples; the first " in remark.reported
    assert ToolReport(one, {"valid-input": verdict}).classes == {ToolClass.OWN_MESSAGE}


@pytest.mark.parametrize(
    ("raises", "kind"),
    [
        ("return int(text)", "raises ValueError"),
        ("raise ValueError(text[0])", "raises IndexError"),
        ("raise ValueError(f'no {TABLE[text]}')", "raises KeyError"),
        ("raise", "raises RuntimeError"),
        ("raise ValueError", "raises ValueError"),
        ("raise 'no text given'", "raises TypeError"),
        ("error = 'no text given'; raise error", "raises TypeError"),
        ("raise NotImplemented('no text given')", "raises TypeError"),
        ("raise NoText('no text given')", "raises NameError"),
        ("import json; raise json.NoText('no text given')", "raises AttributeError"),
        ("import json; raise json.JSONDecodeError('no text given')", "raises TypeError"),
        ("raise {'x': ValueError('x')}[text]", "raises KeyError"),
        ("raise SystemExit('no text given')", "raises SystemExit"),
        ("assert text", "raises AssertionError"),
        (
            "\n        try: int(text)\n        except ValueError as e: raise e",
            "raises ValueError",
        ),
    ],
)
def test_an_exception_that_was_not_meant_is_a_crash(call: Caller, raises: str, kind: str) -> None:
    one = subject(OWN.format(raises=raises, result="1"), TEXT)
    verdict = check(case(call, one), "valid-input")
    assert isinstance(verdict, Fails), verdict
    assert [found.kind for found in verdict.found] == [kind]
    assert ToolReport(one, {"valid-input": verdict}).classes == {ToolClass.CRASH}


def test_a_crash_is_not_taken_for_the_tools_own_message_of_the_same_type(call: Caller) -> None:
    source = OWN.format(raises="raise ValueError('no text given')", result="int(text, 36)")
    verdict = check(case(call, subject(source, TEXT)), "valid-input")
    assert isinstance(verdict, Fails)
    assert "invalid literal" in verdict.found[0].reported
    assert "no text given" in verdict.remarks[0].reported


BORN = "BORN = {'Ada': 1815, 'Alan': 1912}\n"


@pytest.mark.parametrize(
    ("body", "warned"),
    [
        ("return BORN.get(text)", True),
        ("return next((str(y) for name, y in BORN.items() if name == text), '')", True),
        ("return BORN.get(text, {'error': 'unknown text'})", False),
        ("return BORN.get(text, 'nobody of that name')", False),
        ("return ''.join(c for c in text if c in '0123456789') + text[:1]", False),
        ("return None", False),
    ],
)
def test_an_unknown_key_that_is_answered_with_nothing_is_a_warning(
    call: Caller, body: str, *, warned: bool
) -> None:
    one = subject(f"{BORN}def f(text):\n    {body}\nf('0123456789')\n", TEXT)
    verdict = check(case(call, one), "valid-input")
    assert isinstance(verdict, Holds), verdict
    found = [remark for remark in verdict.remarks if remark.kind == UNKNOWN_KEY]
    assert bool(found) == warned
    if found:
        assert "`text`" in found[0].reported
        assert ToolReport(one, {"valid-input": verdict}).classes == {ToolClass.UNKNOWN_KEY}


def test_a_counter_example_is_as_small_as_it_can_be(call: Caller) -> None:
    source = "def f(n, more=()):\n    return [1][n // 40]\n"
    more = {"type": "array", "items": {"type": "integer"}}
    one = subject(source, {"n": {"type": "integer", "minimum": 0}, "more": more}, required=["n"])
    assert found(call, one, "valid-input").arguments == {"n": 40}


def test_two_classes_of_failure_are_both_told(call: Caller) -> None:
    source = "def f(n):\n    if n > 90: return {}[n]\n    return [1][0 if n else 1]\n"
    verdict = check(case(call, subject(source), count=99), "valid-input")
    assert isinstance(verdict, Fails)
    kinds = {(c.kind, str(c.arguments)) for c in verdict.found}
    assert kinds == {("raises KeyError", "{'n': 91}"), ("raises IndexError", "{'n': 0}")}


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ("float('nan')", "returns NaN or Infinity"),
        ("b'x'", "returns bytes"),
        ("{n}", "returns set"),
        ("{1: 'a', '1': 'b'}", "returns a key twice"),
        ("'\\udc80'", "returns half a character"),
        ("{(1, 2): 3}", "returns keys that are no text"),
        ("'x' * 1_200_000", "result too large"),
    ],
)
def test_results_that_are_no_json(call: Caller, result: str, kind: str) -> None:
    counter = found(call, subject(f"def f(n):\n    return {result}\n"), "json-result", count=4)
    assert (counter.kind, counter.arguments) == (kind, {"n": 0})


@pytest.mark.parametrize(
    ("body", "property_", "teller"),
    [
        ("return {}[n]", "json-result", "valid-input"),
        ("return {n}", "same-result", "json-result"),
        ("return {n}", "independent", "json-result"),
        ("return {n}", "policy", "json-result"),
    ],
)
def test_what_another_property_tells_of_is_no_failure_twice(
    call: Caller, body: str, property_: str, teller: str
) -> None:
    one = case(call, subject(f"def f(n):\n    {body}\n"), count=4)
    verdict = check(one, property_)
    assert isinstance(verdict, NotApplicable)
    assert teller in verdict.reason
    assert isinstance(check(one, teller), Fails)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import random\ndef f(n):\n    return random.random()\n", "differs from call to call"),
        ("def f(text):\n    return list(set('abcdef'))\n", "depends on the hash seed"),
        (
            "def f(text):\n    return {c: 1 for c in set('abcdef')}\n",
            "order of keys depends on the hash seed",
        ),
    ],
    ids=["random", "order of a set", "order of keys"],
)
def test_results_that_differ(call: Caller, source: str, kind: str) -> None:
    one = subject(source, TEXT if "text" in source else None)
    counter = found(call, one, "same-result", count=5)
    assert counter.kind == kind
    assert len(counter.settings) == 2


@pytest.mark.parametrize(
    "source",
    [
        "def f(items):\n    items.sort()\n    return items\n",
        "def f(items):\n    items.append({1})\n    return 0\n",
    ],
    ids=["sorts", "adds a set"],
)
def test_arguments_that_are_changed(call: Caller, source: str) -> None:
    items = {"items": {"type": "array", "items": {"type": "integer"}}}
    counter = found(call, subject(source, items), "arguments-kept")
    assert counter.kind == "changes its arguments"
    assert "`items`" in counter.reported or "no JSON" in counter.reported


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("seen = []\ndef f(n):\n    seen.append(n)\n    return len(seen)\n", 1),
        (
            "last = [None]\ndef f(n):\n    before, last[0] = last[0], n\n"
            "    return before is not None and before > n + 5\n",
            1,
        ),
    ],
    ids=["counts its calls", "remembers another call"],
)
def test_something_that_is_left_behind(call: Caller, source: str, calls: int) -> None:
    counter = found(call, subject(source), "independent")
    assert counter.kind == "depends on earlier calls"
    assert len(counter.earlier) == calls


def test_a_random_tool_is_not_blamed_for_memory_or_for_the_policy(call: Caller) -> None:
    source = "import random\ndef f(n):\n    return random.random()\n"
    one = case(call, subject(source), count=6)
    assert isinstance(check(one, "independent"), Holds)
    assert isinstance(check(one, "policy"), Holds)


def test_a_tool_that_knows_the_policy(call: Caller) -> None:
    source = "def f(n):\n    return hasattr(print, '__self__')\n"
    counter = found(call, subject(source), "policy", count=4)
    assert counter.kind == "result differs under the policy"


def test_a_tool_that_the_policy_refuses(call: Caller) -> None:
    one = case(call, subject("import os\ndef f(n):\n    return n\n"))
    for name in ("loads", "policy"):
        verdict = check(one, name)
        assert isinstance(verdict, Fails)
        assert verdict.found[0].kind == "refused by the policy"
    assert check(one, "valid-input") == NotApplicable("the tool does not load")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def f(n:\n", "does not compile"),
        ("def g(n):\n    return n\n", "no entry function"),
        (
            "try:\n    import numpy\nexcept ImportError:\n    raise\ndef f(n):\n    return n\n",
            "module missing",
        ),
        ("1 / 0\ndef f(n):\n    return n\n", "raises ZeroDivisionError before any call"),
        ("while True: pass\n", "no result in time"),
    ],
)
def test_a_tool_that_cannot_be_called(call: Caller, source: str, kind: str) -> None:
    assert found(call, subject(source), "loads").kind == kind


def test_a_date_that_is_none_is_the_tools_to_refuse_where_formats_are_asked_for(
    call: Caller,
) -> None:
    day = {"day": {"type": "string", "format": "date"}}
    takes = subject("def f(day):\n    return day[:4]\n", day)
    assert found(call, takes, "bad-input", formats=True).kind == "takes invalid input"
    nameless = subject(
        "import datetime\ndef f(day):\n    return datetime.date.fromisoformat(day).year\n", day
    )
    counter = found(call, nameless, "bad-input", formats=True)
    assert counter.kind == "error without the parameter's name"
    assert counter.about["fault"] == "format"
    good = (
        "import datetime\ndef f(day):\n    try:\n"
        "        return datetime.date.fromisoformat(day).year\n    except ValueError:\n"
        "        return {'error': f'day: {day!r} is no date'}\n"
    )
    assert isinstance(check(case(call, subject(good, day), formats=True), "bad-input"), Holds)
    assert isinstance(check(case(call, takes), "bad-input"), Holds)


def test_bad_input_is_judged_by_what_the_simulator_says(call: Caller) -> None:
    mute = case(call, subject(GOOD))
    mute.reject = lambda schema, arguments: "No."
    verdict = check(mute, "bad-input")
    assert isinstance(verdict, Fails)
    assert verdict.found[0].kind == "error without the parameter's name"
    deaf = case(call, subject(GOOD))
    deaf.reject = lambda schema, arguments: None
    verdict = check(deaf, "bad-input")
    assert isinstance(verdict, Fails)
    assert "takes invalid input" in {one.kind for one in verdict.found}


def test_gold_calls(call: Caller) -> None:
    assert check(case(call, subject(GOOD)), "gold-call") == NotApplicable(NOT_ASKED)
    wrong = subject(GOOD, golds=[Gold({"n": 3}, "7", "written")])
    assert found(call, wrong, "gold-call").kind == "gold call gives another value"
    invalid = subject(GOOD, golds=[Gold({"n": "3"}, "6", "written")])
    assert found(call, invalid, "gold-call").kind == "gold call is invalid"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def f(m):\n    return m\n", "schema and signature differ"),
        ("def f(n, m):\n    return n\n", "schema and signature differ"),
        ("def f(n=3):\n    return n\n", "defaults differ"),
    ],
)
def test_signatures(call: Caller, source: str, kind: str) -> None:
    inner = {"n": {"type": "integer", "default": 4}}
    verdict = check(case(call, subject(source, inner)), "signature")
    assert isinstance(verdict, Fails)
    assert kind in {one.kind for one in verdict.found}


def test_a_schema_requires_what_the_function_has_a_default_for(call: Caller) -> None:
    tool = subject("def f(n=4):\n    return n\n", {"n": {"type": "integer"}})
    assert found(call, tool, "signature").kind == "requires what has a default"


@pytest.mark.parametrize(
    ("description", "inner", "kind"),
    [
        ('Example: f(n=4) -> {"double": 9}', {}, "example gives another value"),
        ('f(n=4) returns {"double": 8}.', {}, None),
        ("Call f('x') to see.", {}, "example is invalid"),
        ("A tool.", {"examples": ["x"]}, "sample value is invalid"),
        ("A tool.", {"examples": [2, 3]}, None),
    ],
)
def test_examples_of_the_description(
    call: Caller, description: str, inner: dict[str, object], kind: str | None
) -> None:
    one = subject(GOOD, {"n": {"type": "integer", **inner}}, description=description)
    verdict = check(case(call, one), "examples")
    got = verdict.found[0].kind if isinstance(verdict, Fails) else None
    assert got == kind
    if kind is None:
        assert isinstance(verdict, Holds)


def test_no_example_is_not_applicable_and_no_execution_fails(call: Caller) -> None:
    verdict = check(case(call, subject(GOOD)), "examples")
    assert verdict == NotApplicable("the description gives no example")
    nothing = judged("valid-input", 0, ())
    assert isinstance(nothing, Fails)
    assert nothing.found[0].kind == "nothing executed"


def test_a_schema_that_nothing_fits_is_told(call: Caller) -> None:
    one = subject(GOOD, {"n": {"type": "integer", "minimum": 5, "maximum": 1}})
    verdict = check(case(call, one), "valid-input")
    assert isinstance(verdict, Fails)
    assert (verdict.executed, verdict.found[0].kind) == (0, "no examples can be made")


def test_a_tool_that_forges_its_batch_is_called_alone(call: Caller) -> None:
    # It finds the driver by the list that it iterates over: calls of its own have none.
    source = (
        "calls = []\ndef f(n):\n    calls.append(n)\n"
        "    if len(calls) == 1:\n        return {}['alone, I raise']\n    return n\n"
    )
    assert found(call, subject(source), "valid-input").kind == "raises KeyError"


HOSTILE = {
    "text that raises": "class E(Exception):\n    def __str__(self):\n        return 1 // 0\n",
    "text that is none": "class E(Exception):\n    def __str__(self):\n        return 3\n",
    "exits": "E = SystemExit\n",
    "interrupts": "E = KeyboardInterrupt\n",
    "shadows what the driver uses": "class E(Exception): pass\nlen = str = BaseException = None\n",
    "says much": "class E(Exception):\n    def __str__(self):\n        return 'x' * 3_000_000\n",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_hostile_exceptions_are_told_as_calls_show_them(call: Caller, source: str) -> None:
    one = subject(f"{source}def f(n):\n    raise E\n")
    verdict = check(case(call, one, count=4), "valid-input")
    assert not isinstance(verdict, NotApplicable)
    (told,) = verdict.found if isinstance(verdict, Fails) else verdict.remarks
    assert "raises " in told.kind
    assert len(told.reported) < 300


def test_a_failure_is_told_only_after_a_call_of_its_own() -> None:
    made: list[tuple[Program, Arguments]] = []

    def lies(setting: SandboxSetting, program: Program, arguments: Arguments) -> Outcome:
        """A sandbox whose batches say that everything raises, and whose calls return."""
        made.append((program, arguments))
        if "sets" in arguments:
            sets = arguments["sets"]
            assert isinstance(sets, list)
            return Returned(
                str([["raised", "E", "", True] for _ in sets])
                .replace("'", '"')
                .replace("True", "true")
            )
        return Returned("1")

    verdict = check(case(lies, subject(GOOD), count=10), "valid-input")
    assert isinstance(verdict, Holds)
    assert sum("sets" not in arguments for _, arguments in made) >= verdict.executed
