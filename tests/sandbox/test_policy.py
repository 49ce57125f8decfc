"""The policy by itself: what it accepts behaves as plain Python, what it refuses stays refused."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest

from tests.sandbox.policy_accepted import ACCEPTED
from tests.sandbox.policy_refused import ATTEMPTS, OTHER_ERRORS, REFUSED
from tests.sandbox.policy_runs import outcome, plain, restricted
from toolhop_sandbox.worker.policy import (
    ALLOWED_MODULES,
    PolicyViolation,
    compile_restricted,
    preload,
    restricted_globals,
)
from toolhop_sandbox.worker.policy.modules import HIDDEN, ONLY, curated


@pytest.mark.parametrize("source", ACCEPTED.values(), ids=list(ACCEPTED))
def test_accepted_code_does_what_it_does_without_the_policy(source: str) -> None:
    assert outcome(restricted, source) == outcome(plain, source)


def test_most_accepted_examples_return() -> None:
    raising = {name for name, text in ACCEPTED.items() if outcome(plain, text)[0] == "raised"}
    assert raising == {
        "assert",
        "uncaught error",
        "malformed template",
        "malformed template in a variable",
        "template without its argument",
        "missing attribute",
        "missing attribute by name",
        "missing attribute of a module",
    }


@pytest.mark.parametrize(("source", "line"), REFUSED.values(), ids=list(REFUSED))
def test_refused_before_anything_runs(source: str, line: int) -> None:
    with pytest.raises(PolicyViolation) as caught:
        compile_restricted(source)
    assert caught.value.problems[0][0] == line
    assert str(caught.value).startswith(f"line {line}: ")
    assert "\n" not in str(caught.value)


def test_a_refusal_in_an_enumeration_tells_its_reason() -> None:
    source = """
from enum import Enum
class E(Enum):
    A = 1
    def __init__(self, value): getattr(value, '__x__')
"""
    with pytest.raises(PolicyViolation, match="'__x__' leads into the interpreter") as caught:
        restricted(source)
    assert str(type(caught.value)(str(caught.value))) == str(caught.value)


def test_a_deep_copy_has_its_own_methods() -> None:
    source = """
from copy import deepcopy
class Film:
    def __init__(self): self.tell = self.itself
    def itself(self): return self
film = deepcopy(Film())
result = film.tell() is film
"""
    assert outcome(restricted, source)[-1] == "True"


def test_every_problem_is_told_in_order() -> None:
    with pytest.raises(PolicyViolation) as caught:
        compile_restricted("import os\nx = 1\nopen('f')\ny.__globals__\n")
    assert [line for line, _ in caught.value.problems] == [1, 3, 4]
    assert str(caught.value).count("; line ") == 2


@pytest.mark.parametrize("source", ATTEMPTS.values(), ids=list(ATTEMPTS))
def test_refused_when_reached(source: str) -> None:
    code = compile_restricted(source)
    with pytest.raises(PolicyViolation):
        exec(code, restricted_globals())  # noqa: S102


@pytest.mark.parametrize(("source", "error"), OTHER_ERRORS.values(), ids=list(OTHER_ERRORS))
def test_out_of_reach(source: str, error: type[Exception]) -> None:
    code = compile_restricted(source)
    with pytest.raises(error):
        exec(code, restricted_globals())  # noqa: S102


@pytest.mark.parametrize(
    "source",
    ["def f(:", "x = 'a\0b'", "return 1", "x = '\ud800'", "(" * 300, "x = " + "-" * 100_000 + "1"],
    ids=["grammar", "null byte", "late check", "surrogate", "parentheses", "depth"],
)
def test_what_is_not_python_is_a_syntax_error(source: str) -> None:
    with pytest.raises(SyntaxError):
        compile_restricted(source)


def test_errors_keep_the_line_of_the_source() -> None:
    source = (
        "class C:\n  'doc'\n  def f(self):\n    self.x = 1\n    return self._y.format(\n      1)\n"
    )
    with pytest.raises(AttributeError, match="has no attribute '_y'") as caught:
        restricted(source + "\nC().f()")
    lines = [entry.lineno for entry in caught.traceback if str(entry.path).endswith("<tool>")]
    assert [line + 1 for line in lines] == [8, 5]


def test_code_object_carries_file_name_and_no_flags_of_ours() -> None:
    code = compile_restricted("def f(x: int): pass", "<other>")
    assert code.co_filename == "<other>"
    namespace: dict[str, Any] = restricted_globals()
    exec(code, namespace)  # noqa: S102
    assert namespace["f"].__annotations__ == {"x": int}


def test_namespaces_share_nothing_that_can_change() -> None:
    first, second = restricted_globals(), restricted_globals()
    assert first["__builtins__"] is not second["__builtins__"]
    exec(compile_restricted("def len(x): return 7\nprint = 3"), first)  # noqa: S102
    assert restricted("result = len([])")["result"] == 0
    mutable = [v for v in restricted_globals().values() if isinstance(v, (list, set))]
    assert mutable == []


def test_every_module_of_the_list_is_here_with_names_of_its_own_only() -> None:
    preload()
    for name in ALLOWED_MODULES:
        real = importlib.import_module(name)
        names = vars(curated(name)).keys() - {"__getattr__", "__all__"}
        assert names <= {*vars(real), *getattr(real, "__all__", ())}, name


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="names come and go")
@pytest.mark.parametrize("name", [*HIDDEN, *ONLY])
def test_nothing_is_hidden_that_is_not_there(name: str) -> None:
    names = {*HIDDEN.get(name, ()), *ONLY.get(name, ())} - {"EnumDict"}  # of Python 3.13
    assert names <= set(dir(importlib.import_module(name)))


LIBRARY = """
import copy, dataclasses, enum, functools, operator, typing
before = [dict(vars(one)) for one in (copy, dataclasses, enum, functools, operator, typing)]
from toolhop_sandbox.worker.policy import preload
preload()
for one, was in zip((copy, dataclasses, enum, functools, operator, typing), before):
    assert all(vars(one)[name] is value for name, value in was.items()), one
"""


def test_the_library_is_not_patched() -> None:
    subprocess.run([sys.executable, "-c", LIBRARY], check=True)


def test_strptime_works_though_c_code_imports_through_our_guard() -> None:
    source = (
        "from datetime import date, datetime\nimport time\n"
        "result = [datetime.strptime('1 Feb 2020', '%d %b %Y').year, date.today().year > 2000,\n"
        "          time.strptime('2020', '%Y').tm_year, datetime.now().strftime('%Y') > '2000',\n"
        "          '\\N{BULLET}']"
    )
    assert restricted(source)["result"] == [2020, True, 2020, True, "•"]
