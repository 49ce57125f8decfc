"""What tools do in earnest, as a table: source, arguments, and the outcome that is due.

Each has to come out the same in every sandbox and under either policy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from toolhop_sandbox.outcome import (
    JSON,
    NotJson,
    Outcome,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
    TooLarge,
)


class Like:
    """An outcome of a kind, whose fields are equal to values or match whole patterns."""

    def __init__(self, kind: type[Outcome], **fields: object) -> None:
        self.kind, self.fields = kind, fields

    def __repr__(self) -> str:
        return f"{self.kind.__name__} like {self.fields}"

    def fits(self, outcome: Outcome) -> bool:
        if type(outcome) is not self.kind:
            return False
        return all(_fits(wanted, getattr(outcome, name)) for name, wanted in self.fields.items())


def _fits(wanted: object, given: object) -> bool:
    if isinstance(wanted, re.Pattern):
        return isinstance(given, str) and wanted.fullmatch(given) is not None
    return wanted == given


@dataclass(frozen=True)
class Case:
    """A program whose function `f` is called, and what has to come of it."""

    id: str
    source: str
    expected: Outcome | Like
    arguments: Mapping[str, JSON] = field(default_factory=dict)
    wall_s: float = 10.0
    result_bytes: int = 1_000_000

    def check(self, outcome: Outcome) -> None:
        if isinstance(self.expected, Like):
            assert self.expected.fits(outcome), f"{outcome}, expected {self.expected}"
        else:
            assert outcome == self.expected


def function(name: str, body: str, expected: Outcome | Like, **options: object) -> Case:
    """A case whose source is `def f():` and these lines."""
    lines = dedent(body).strip("\n").splitlines()
    source = "\n".join(["def f():", *("    " + line for line in lines)])
    return Case(name, source, expected, **options)  # type: ignore[arg-type]


def module(name: str, source: str, expected: Outcome | Like, **options: object) -> Case:
    """A case whose source is these lines."""
    return Case(name, dedent(source).strip("\n"), expected, **options)  # type: ignore[arg-type]


def value(name: str, expression: str, json_text: str) -> Case:
    return function(name, f"return {expression}", Returned(json_text))


def no_json(name: str, body: str, reason: str) -> Case:
    return function(name, body, Like(NotJson, reason=re.compile(reason, re.DOTALL)))


NESTED: JSON = {"a": [1, {"b": [None, True, 2.5, "é"]}], "": {}}

VALUES = [
    value("none", "None", "null"),
    value("true", "True", "true"),
    value("integer", "-7", "-7"),
    value("large-integer", "2 ** 200", str(2**200)),
    value("float", "0.1 + 0.2", "0.30000000000000004"),
    value("negative-zero", "-0.0", "-0.0"),
    value("largest-float", "1.7976931348623157e308", "1.7976931348623157e+308"),
    value("text", "'a' + chr(34)", '"a\\""'),
    value("empty-text", "''", '""'),
    value("unicode", "'né 日本 \\U0001f600'", '"né 日本 \U0001f600"'),
    value("null-character", "'a\\x00b'", '"a\\u0000b"'),
    value("lone-surrogate", "'\\ud800'", '"\\ud800"'),
    value("list", "[1, 'a', None]", '[1, "a", null]'),
    value("empty-list", "[]", "[]"),
    value("tuple", "(1, (2, 3))", "[1, [2, 3]]"),
    value("dict", "{'b': 1, 'a': [2]}", '{"b": 1, "a": [2]}'),
    value("integer-keys", "{1: 'a', 2: 'b'}", '{"1": "a", "2": "b"}'),
    value("other-keys", "{None: 1, True: 2, 2.5: 3}", '{"null": 1, "true": 2, "2.5": 3}'),
    value("nested", "{'a': [1, {'b': ({},)}]}", '{"a": [1, {"b": [{}]}]}'),
    value("many", "list(range(100000))", "[" + ", ".join(map(str, range(100000))) + "]"),
    function(
        "nested-200-deep",
        """
        value = 0
        for _ in range(200):
            value = [value]
        return value
        """,
        Returned("[" * 200 + "0" + "]" * 200),
    ),
    module("nothing-returned", "def f():\n    pass", Returned("null")),
    module("lambda", "f = lambda: 3", Returned("3")),
    module(
        "module-level",
        "import math\nROOT = math.sqrt(16)\ndef f():\n    return ROOT",
        Returned("4.0"),
    ),
    module("windows-lines", "def f():\r\n    return 1\r\n", Returned("1")),
    function("printing", "for _ in range(20000):\n    print('x' * 100)\nreturn 1", Returned("1")),
]

ARGUMENTS = [
    module("keyword-only", "def f(a, *, b):\n    return [b, a]", Returned('["é", 1]'),
           arguments={"a": 1, "b": "é"}),
    module("any-keyword", "def f(**k):\n    return k", Returned('{"z": 1, "a": 2}'),
           arguments={"z": 1, "a": 2}),
    module("default", "def f(a, b=2):\n    return a + b", Returned("3"), arguments={"a": 1}),
    module("nested-arguments", "def f(v):\n    return v",
           Returned('{"a": [1, {"b": [null, true, 2.5, "é"]}], "": {}}'), arguments={"v": NESTED}),
    module("large-arguments", "def f(v):\n    return len(v)", Returned("3000000"),
           arguments={"v": "é" * 3_000_000}),
    module("surrogate-argument", "def f(v):\n    return v", Returned('"\\ud800"'),
           arguments={"v": "\ud800"}),
    module("recursion", "def f(n):\n    return n and n + f(n=n - 1)", Returned("5050"),
           arguments={"n": 100}),
    module("missing-argument", "def f(a, b):\n    pass",
           Like(Raised, error="TypeError", message=re.compile(".*missing 1 .* 'b'"), line=None),
           arguments={"a": 1}),
    module("unknown-argument", "def f(a):\n    pass",
           Like(Raised, error="TypeError", message=re.compile(".*unexpected .* 'b'"), line=None),
           arguments={"a": 1, "b": 2}),
]  # fmt: skip

COMPUTING = [
    Case(
        "annotations that are texts",
        dedent(
            """
            from __future__ import annotations
            import dataclasses
            import typing
            from dataclasses import KW_ONLY, InitVar, dataclass, fields
            from typing import ClassVar

            @dataclass
            class Film:
                made: ClassVar[int] = 0
                kept: typing.ClassVar[int] = 0
                year: int = 1
                later: InitVar[int] = 2
                still: dataclasses.InitVar[int] = 0
                _: KW_ONLY
                title: str = ""
                def __post_init__(self, later, still): self.year += later + still

            def f():
                film = Film(1900, 80, 1, title="x")
                return [[one.name for one in fields(Film)], film.year, film.title]
            """
        ),
        Returned('[["year", "title"], 1981, "x"]'),
    ),
    Case(
        "what is missing is not forbidden",
        dedent(
            """
            from zoneinfo import ZoneInfo, ZoneInfoNotFoundError
            try:
                import pydantic
            except ImportError:
                pydantic = None

            def f():
                try:
                    zone = ZoneInfo("Europe/Paris")
                except ZoneInfoNotFoundError:
                    zone = None
                return [pydantic, zone]
            """
        ),
        Returned("[null, null]"),
    ),
    module(
        "modules-that-only-compute",
        """
        import ast, binascii, codecs, gzip, hmac, ipaddress, queue, secrets, struct, urllib.parse
        import xml.etree.ElementTree, zlib, zoneinfo

        def f():
            waiting = queue.PriorityQueue()
            waiting.put(binascii.crc32(b"a"))
            return [waiting.get(), codecs.encode("abc", "rot13"), len(secrets.token_hex(3)),
                    zlib.decompress(zlib.compress(b"a")).decode(), ast.literal_eval("[1]"),
                    hmac.new(b"k", b"m", "md5").hexdigest(), urllib.parse.quote("é"),
                    xml.etree.ElementTree.fromstring("<a>1</a>").text, struct.pack(">h", 1)[1]]
        """,
        Returned(
            '[3904355907, "nop", 6, "a", [1], "ed7e724d3a91554aaa2043041d9c5305", "%C3%A9", "1", 1]'
        ),
    ),
]

RAISING = [
    module("in-function", "def f():\n    x = 1\n    return x / 0",
           Raised("ZeroDivisionError", "division by zero", 3)),
    module("at-module-level", "x = 1\n\nint('x')\ndef f():\n    pass",
           Raised("ValueError", "invalid literal for int() with base 10: 'x'", 3)),
    module(
        "in-nested-call",
        """
        def g(n):
            if n == 0:
                raise KeyError("é")
            return g(n - 1)

        def f():
            return g(3)
        """,
        Raised("KeyError", "'é'", 3),
    ),
    module(
        "in-the-library",
        "import json\ndef f():\n    return json.loads('{')",
        Like(Raised, error="JSONDecodeError", line=3),
    ),
    module(
        "custom",
        "class MyError(ValueError):\n    pass\n\ndef f():\n    raise MyError('a', 1)",
        Raised("MyError", "('a', 1)", 5),
    ),
    module(
        "without-text",
        """
        class Mute(Exception):
            def __str__(self):
                raise ValueError("no text")
        def f():
            raise Mute()
        """,
        Raised("Mute", "(the exception's text cannot be made)", 5),
    ),
    function("long-text", "raise ValueError('é' * 100000)", Raised("ValueError", "é" * 4000, 2)),
    function("surrogate-text", "raise ValueError('\\ud800')",
             Raised("ValueError", "\\ud800", 2)),
    function("from-another", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n"
             "    raise ValueError('b') from e", Raised("ValueError", "b", 5)),
    function("system-exit", "raise SystemExit(3)", Raised("SystemExit", "3", 2)),
    function("keyboard-interrupt", "raise KeyboardInterrupt", Raised("KeyboardInterrupt", "", 2)),
    module("no-such-function", "def g():\n    pass",
           Raised("NameError", "name 'f' is not defined", None)),
    module("empty-source", "", Raised("NameError", "name 'f' is not defined", None)),
    module("not-callable", "f = 3", Raised("TypeError", "'int' object is not callable", None)),
    module("endless-recursion", "def f():\n    return f()",
           Like(Raised, error="RecursionError", line=2)),
    module("syntax-error", "def f():\n    return 1 +\n", Like(Raised, error="SyntaxError", line=2)),
    module("indentation-error", "def f():\nreturn 1",
           Like(Raised, error="IndentationError", line=2)),
    module("null-byte", "def f():\n    return 1\x00", Like(Raised, error="SyntaxError")),
    module("lone-surrogate-in-source", "def f():\n    return '\ud800'",
           Like(Raised, error="SyntaxError")),
    module("nested-source", "f = " + "(" * 5000 + ")" * 5000, Like(Raised, error="SyntaxError")),
    module("crashing-the-compiler", "f = " + "-" * 200_000 + "1",
           Like(Raised, error="SyntaxError")),
]  # fmt: skip

NOT_JSON = [
    no_json("set", "return {1, 2}", ".*set is not JSON serializable"),
    no_json("bytes", "return b'a'", ".*bytes is not JSON serializable"),
    no_json("nan", "return [float('nan')]", ".*not JSON compliant.*"),
    no_json("infinity", "return float('inf')", ".*not JSON compliant.*"),
    no_json("object", "return object()", ".*object is not JSON serializable"),
    no_json("function", "return lambda: 1", ".*function is not JSON serializable"),
    no_json("generator", "return (x for x in [1])", ".*generator is not JSON serializable"),
    no_json("complex", "return 1j", ".*complex is not JSON serializable"),
    no_json("tuple-keys", "return {(1, 2): 3}", "keys must be .*"),
    no_json("circular", "value = []\nvalue.append(value)\nreturn value", "Circular .*"),
    no_json("huge-integer", "return 10 ** 5000", "Exceeds the limit .*"),
    no_json(
        "nested-100000-deep",
        "value = 0\nfor _ in range(100000):\n    value = [value]\nreturn value",
        ".*recursion.*",
    ),
]

BEYOND_LIMITS = [
    function("python-loop", "while True:\n    pass", TimedOut(0.3), wall_s=0.3),
    module("loop-at-module-level", "while True:\n    pass", TimedOut(0.3), wall_s=0.3),
    function("power", "return 10 ** 10 ** 8 % 7", TimedOut(0.3), wall_s=0.3),
    module(
        "regular-expression",
        "import re\ndef f():\n    return re.match(r'(a+)+$', 'a' * 40 + 'b')",
        TimedOut(0.3),
        wall_s=0.3,
    ),
    module(
        "catching-everything",
        """
        def f():
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    pass
        """,
        TimedOut(0.3),
        wall_s=0.3,
    ),
    module(
        "text-without-end",
        """
        class Endless(Exception):
            def __str__(self):
                while True:
                    pass
        def f():
            raise Endless()
        """,
        TimedOut(0.3),
        wall_s=0.3,
    ),
    function("growing-list", "x = []\nwhile True:\n    x.append(' ' * 1000000)", OutOfMemory(256)),
    function("one-large-text", "return len('a' * 10 ** 11)", OutOfMemory(256)),
    module("memory-at-module-level", "x = [0] * 10 ** 10\ndef f():\n    pass", OutOfMemory(256)),
    function("many-small", "x = {}\nwhile True:\n    x[len(x)] = [x]", OutOfMemory(256)),
    function("its-own-memory-error", "raise MemoryError('mine')", OutOfMemory(256)),
    function(
        "just-small-enough", "return 'é' * 49", Returned('"' + "é" * 49 + '"'), result_bytes=100
    ),
    function("one-byte-more", "return 'é' * 49 + 'a'", TooLarge(101, 100), result_bytes=100),
    function("two-megabytes", "return 'a' * 2000000", TooLarge(2_000_002, 1_000_000)),
]

ORDINARY = [*VALUES, *COMPUTING, *ARGUMENTS, *RAISING, *NOT_JSON, *BEYOND_LIMITS]
