from __future__ import annotations

import time
from typing import Any

import pytest

from toolhop_sandbox.base import Program
from toolhop_tools.examples import LONGEST_CHARS, example_calls

F = "def f(a, b=0, *, c=None):\n    return a\n"
ONE: list[dict[str, Any]] = [{"a": 1}]

TABLE: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "positional": (F + "f(1, 2)", [{"a": 1, "b": 2}]),
    "keyword": (F + "f(a=1, c='x')", [{"a": 1, "c": "x"}]),
    "both": (F + "f(1, b=[1, {'k': None}])", [{"a": 1, "b": [1, {"k": None}]}]),
    "printed": (F + "print(f(1))", ONE),
    "assigned": (F + "result = f(1)['x']", ONE),
    "guarded": (F + "if __name__ == '__main__':\n    print(f(1))", ONE),
    "in a loop": (F + "for _ in range(2):\n    f(1)", ONE),
    "before the definition": ("try:\n    f(1)\nexcept NameError:\n    pass\n" + F, ONE),
    "double star": (F + "f(**{'a': 1, 'c': 2})", [{"a": 1, "c": 2}]),
    "double star of a constant": (F + "ARGS = {'a': 1}\nf(**ARGS)", ONE),
    "double star of no object": (F + "f(**[1])", []),
    "a constant's name": (F + "YEAR = 1\nf(YEAR)", ONE),
    "an annotated constant": (F + "YEAR: int = 1\nf(YEAR)", ONE),
    "a declared name": (F + "YEAR: int\nf(YEAR)", []),
    "a constant of a constant": (F + "X = 1\nYEAR = X\nf(YEAR)", ONE),
    "two targets": (F + "X = YEAR = 1\nf(YEAR)", ONE),
    "a name of no constant": (F + "YEAR = g()\nf(YEAR)", []),
    "negative": (F + "f(-1.5)", [{"a": -1.5}]),
    "tuple": (F + "f((1, 2))", [{"a": [1, 2]}]),
    "an expression": (F + "f(1 + 2 + x)", []),
    "a set": (F + "f({1})", []),
    "bytes": (F + "f(b'x')", []),
    "infinite": (F + "f(1e999)", []),
    "half a pair": (F + "f('\\ud800')", []),
    "star": (F + "f(*[1])", []),
    "too many": (F + "f(1, 2, 3)", []),
    "nested call": (F + "f(f(1))", ONE),
    "a method of that name": (F + "x.f(1)", []),
    "another function": (F + "g(1)", []),
    "inside of a function": (F + "def g():\n    return f(1)\n", []),
    "inside of a class": (F + "class C:\n    x = f(1)\n", []),
    "recursive": ("def f(a):\n    return f(1)\n", []),
    "each once, in order": (F + "f(2)\nf(1)\nf(a=2)", [{"a": 2}, {"a": 1}]),
    "no arguments": (F + "f()", [{}]),
    "positional only": ("def f(a, /, b):\n    return a\nf(1, 2)", [{"a": 1, "b": 2}]),
    "async": ("async def f(a):\n    return a\nawait_later = f(1)", ONE),
    "comment": (F + "# Example: f(1)", ONE),
    "comment with print": (F + "# print(f(1))  # -> 1", ONE),
    "comment over lines": (F + "# f(\n#     1,\n#     b=2,\n# )", [{"a": 1, "b": 2}]),
    "comment behind code": (F + "x = 1  # f(1)", ONE),
    "comment in the function": ("def f(a):\n    # f(1)\n    return a\n", ONE),
    "comments apart are apart": (F + "# f(\nx = 1\n# 1)", []),
    "docstring": ('def f(a):\n    """Like f(1)."""\n    return a\n', ONE),
    "doctest": ('def f(a):\n    """\n    >>> f(1)\n    1\n    """\n    return a\n', ONE),
    "doctest over lines": (
        'def f(a):\n    """\n    >>> f(\n    ...     1)\n    """\n    return a\n',
        ONE,
    ),
    "module docstring": ('"""Call f(1)."""\n' + F, ONE),
    "a text with parentheses": (F + '# f("a) (b")', [{"a": "a) (b"}]),
    "a text with quotes": (F + "# f('it\\'s \"x\"')", [{"a": 'it\'s "x"'}]),
    "a text with a hash": (F + "f('#1')", [{"a": "#1"}]),
    "code comes before prose": ("# f(2)\n" + F + "f(1)", [{"a": 1}, {"a": 2}]),
    "prose about it": (F + "# f(country, year) gives the capital", []),
    "prose that does not close": (F + "# f(1, and so on", []),
    "prose that is no Python": (F + "# f(1 2)", []),
    "a longer name": (F + "# gf(1) f2(1)", []),
    "does not parse": (F + "f(1", []),
    "a null byte": (F + "f(1)\0", []),
    "no such function": ("def g(a):\n    return a\nf(1)", []),
    "nested definition only": ("if True:\n    def f(a):\n        return a\nf(1)", []),
    "empty": ("", []),
}


@pytest.mark.parametrize(("source", "calls"), TABLE.values(), ids=TABLE)
def test_examples(source: str, calls: list[dict[str, Any]]) -> None:
    assert list(example_calls(Program(source, "f"))) == calls


def test_the_parser_does_not_warn_of_strangers_escapes() -> None:
    source = F + "f('\\d')\n# f('\\w')"
    assert list(example_calls(Program(source, "f"))) == [{"a": "\\d"}, {"a": "\\w"}]


def test_a_call_in_prose_has_an_end() -> None:
    long = "x" * LONGEST_CHARS
    assert example_calls(Program(f"{F}# f('{long}')", "f")) == ()
    assert len(example_calls(Program(f"{F}f('{long}')", "f"))) == 1


@pytest.mark.parametrize("piece", ["# " + "f(" * 10_000, "f(" * 90 + ")" * 90, "#\n" * 10_000])
def test_no_source_is_slow(piece: str) -> None:
    began = time.process_time()
    example_calls(Program(F + piece, "f"))
    assert time.process_time() - began < 2
