"""The policy by itself: what it accepts behaves as plain Python, what it refuses stays refused."""

from __future__ import annotations

import math
import os
import types
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.worker.policy import (
    ALLOWED_MODULES,
    PolicyViolation,
    compile_restricted,
    preload,
    restricted_globals,
)


def plain(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "tool"}
    exec(compile(source, "<tool>", "exec", dont_inherit=True), namespace)  # noqa: S102
    return namespace


def restricted(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = restricted_globals()
    exec(compile_restricted(source), namespace)  # noqa: S102
    return namespace


def outcome(run: Callable[[str], dict[str, Any]], source: str) -> tuple[str, str, str]:
    try:
        value = run(source)["result"]
    except Exception as error:
        return "raised", type(error).__name__, str(error)
    return "returned", type(value).__name__, repr(value)


ACCEPTED = {
    "closure and nonlocal": """
def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step
step = counter()
result = [step(), step()]
""",
    "global": """
total = 0
def add(n):
    global total
    total += n
add(3); add(4)
result = total
""",
    "lambda, comprehensions and walrus": """
square = lambda n, *, by=1: n * n * by
result = [[square(n) for n in range(5) if (m := n % 2)], {n: n for n in 'ab'},
          sorted({n for n in (3, 1)}), sum(n for n in [1, 2]), m]
""",
    "generators": """
def numbers(n):
    for i in range(n):
        got = yield i
        if got: yield got
    yield from 'xy'
g = numbers(2)
result = [next(g), g.send(9), list(g)]
""",
    "unpacking": """
a, (b, *c), *d = 1, (2, 3, 4), 5, 6
def f(*args, key=0, **more): return args, key, more
for i, (x, y) in enumerate([(1, 2)]): pass
result = [a, b, c, d, i, x, y, f(*[1], *(2,), **{'key': 3}, **{'z': 4})]
""",
    "in-place operators on names": """
a = b = [1]
a += [2]
s = 'x'; s *= 3
n = 7; n //= 2; n **= 2; n -= 1; n %= 5; n |= 8; n ^= 1; n &= 13; n <<= 2; n >>= 1
result = [a, b, a is b, s, n]
""",
    "in-place operators on items and slices": """
calls = []
def box(): calls.append('box'); return data
def key(): calls.append('key'); return 'k'
data = {'k': [1], 'l': [1, 2, 3]}
box()[key()] += [2]
data['l'][1:] += [9]
data['l'][0] -= 5
result = [data, calls]
""",
    "in-place operators on attributes": """
class Account:
    opened = 0
    def __init__(self): self.balance = 0; self._log = []; self.__pin = 1
    def pay(self, n):
        self.balance += n
        self._log += [n]
        self.__pin *= 7
        Account.opened += 1
        return self.__pin
a = Account()
result = [a.pay(5), a.pay(6), a.balance, a._log, Account.opened]
""",
    "deleting": """
data = {'a': 1, 'b': 2}; items = [1, 2, 3]
class Box: pass
box = Box(); box.x = 1
del data['a'], items[1:], box.x
result = [data, items, hasattr(box, 'x')]
""",
    "exceptions": """
class Bad(ValueError):
    def __init__(self, code): super().__init__(f'code {code}'); self.code = code
log = []
try:
    try: raise Bad(3)
    except KeyError: log.append('no')
    else: log.append('no')
    finally: log.append('finally')
except (Bad, TypeError) as error:
    log += [str(error), error.code, type(error).__name__, error.args]
try: {}['x']
except Exception as error: log.append(repr(error))
else: log.append('no')
result = log
""",
    "raise from": """
try:
    try: 1 / 0
    except ZeroDivisionError as error: raise ValueError('wrapped') from error
except ValueError as error: result = str(error)
""",
    "assert": "assert 1 == 2, 'not equal'",
    "uncaught error": "def f(x):\n    return x[3]\nresult = f([1])",
    "with": """
from decimal import Decimal, getcontext, localcontext
getcontext().prec = 10
with localcontext() as context:
    context.prec = 5
    small = Decimal(1) / Decimal(3)
class Timer:
    def __enter__(self): self.events = ['in']; return self
    def __exit__(self, kind, error, trace): self.events.append(kind.__name__); return True
with Timer() as timer: 1 / 0
result = [str(small), str(Decimal(1) / 3), timer.events]
""",
    "match": """
from dataclasses import dataclass
@dataclass
class Point: x: int; y: int = 0
class Color: RED = 1
def look(value):
    match value:
        case 1 | 2 | -3: return 'small'
        case Color.RED: return 'red'
        case str() as text if text.isupper(): return text
        case [first, *rest]: return first, rest
        case {'kind': kind, **others}: return kind, others
        case Point(x=0): return 'zero'
        case Point(x, y): return x, y
        case None | True: return 'odd'
        case _: return 'else'
result = [look(v) for v in (1, -3, 'UP', 'low', [1, 2, 3], {'kind': 2, 'z': 3}, Point(0), Point(4),
                            None, 4.5)]
""",
    "annotations": """
from typing import Dict, List, Optional, Tuple, Union
names: List[str] = ['a']
table: Dict[str, Tuple[int, ...]]
def f(x: Optional[int] = None, *args: 'int', y: Union[int, str] = 2) -> list[int] | None:
    z: int = 3
    return [z]
class C:
    x: int
    y: type[int] = int
result = [f(), names, C.y(3)]
""",
    "future annotations": """
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Node:
    value: int
    next: Node | None = None
result = [Node(1, Node(2)).next.value]
""",
    "formatting": """
n = 3.14159
result = [f'{n:.2f} {n!r:>10} {"x":{4}}', '{} {0!r}'.format(1) if 0 else '{:>{}}'.format(n, 9),
          '{name} {0[key]} {1[0]}'.format({'key': 1}, [2], name='n'), '%s %d' % ('a', 2),
          '{:,}'.format(10 ** 6), '{a}'.format_map({'a': 1}), format(n, '.1f')]
template = '{title} ({year:04d})'
result += [template.format(title='T', year=7), list(map('<{}>'.format, 'ab')),
           str.format('{}', 1), '{{}}'.format()]
""",
    "formatting a public attribute": """
class Film:
    def __init__(self): self.title = 'T'
text = '{film.title}'
result = [text.format(film=Film()), '{0.title!r:>5}'.format(Film())]
""",
    "malformed template": "result = '{'.format(1)",
    "malformed template in a variable": "t = '}'\nresult = t.format(1)",
    "template without its argument": "result = '{} {}'.format(1)",
    "format of the tool's own": """
class Film:
    format = '35mm'
    def __init__(self): self.obj = 4
film = Film()
film.format += '!' if False else ''
""".replace("film.format += '!' if False else ''", "result = [film.format, film.obj]"),
    "print": """
from io import StringIO
buffer = StringIO()
print('nowhere', end='')
print('a', 'b', sep='-', file=buffer)
result = [print(), buffer.getvalue()]
""",
    "built-ins": """
result = [sorted([3, 1], reverse=True), list(zip('ab', [1, 2])), list(map(str, [1])),
    list(filter(None, [0, 1])), any([0]), all([]), sum([1.5, 2]), min(3, 1), max('ab', key=ord),
    round(2.675, 2), abs(-1), divmod(7, 2), pow(2, 10, 7), isinstance(1, (int, str)),
    issubclass(bool, int), callable(len), next(iter([1])), list(reversed('ab')), slice(1, 2),
    bytes([65]), bytearray(b'a'), complex(1, 2), chr(65), ord('A'), bin(5), hex(255), oct(8),
    ascii('é'), repr('x'), hash('a') == hash('a'), frozenset([1]), NotImplemented, ...]
""",
    "types": """
from collections import Counter
result = [type(1), type('').__name__, type(1) is int, type(None), type([]) == list,
    type(Counter()).__name__, isinstance(int, type), isinstance(1, type), type(int) is type,
    type(type(1)), ValueError.__name__, len.__name__, (lambda: 0).__name__,
    type(lambda: 0).__name__, (1).__class__.__name__, isinstance(len, type(lambda: 0)),
    isinstance(print, type(len)) or True, isinstance(lambda: 0, type(lambda: 1))]
""",
    "attributes by name": """
class Box: pass
box = Box()
setattr(box, 'size', 3)
setattr(Box, 'shared', 4)
found = [getattr(box, 'size'), getattr(box, 'none', 5), hasattr(box, '__len__'),
    hasattr([], '__iter__'), getattr('a', 'upper')(), getattr(box, 'shared'), vars(box),
    getattr('{}', 'format')(1), getattr(box, 'format', None), getattr(box, '__class__').__name__]
delattr(box, 'size')
result = [found, hasattr(box, 'size'), 'shared' in dir(box)]
""",
    "missing attribute": "result = [].nothing",
    "missing attribute by name": "result = getattr([], 'nothing')",
    "missing attribute of a module": "import math\nresult = math.nothing",
    "underscore names": """
_cache = {}
def _helper(_, *_args, _getattr_=1, _write_=2, **__kw): return _ + _getattr_ + _write_
for _ in range(3): pass
_, __, last = 1, 2, 3
result = [_helper(4), _, __, _cache, _print if False else last]
""",
    "own classes": """
class Shape:
    _count = 0
    kinds: list = []
    def __init__(self, name): self.name = name; self._id = Shape._count; Shape._count += 1
    def area(self): raise NotImplementedError('area')
    def __repr__(self): return f'{self.__class__.__name__}({self.name!r})'
    def __eq__(self, other): return isinstance(other, Shape) and self.name == other.name
    def __lt__(self, other): return self.name < other.name
    def __hash__(self): return hash(self.name)
    @property
    def label(self): return self.name.upper()
    @label.setter
    def label(self, value): self.name = value
    @staticmethod
    def unit(): return 'cm'
    @classmethod
    def make(cls, name): return cls(name)
class Square(Shape):
    __slots__ = ('side',)
    def __init__(self, side): super().__init__('square'); self.side = side
    def area(self): return self.side ** 2
    def __len__(self): return self.side
    def __getitem__(self, i): return (i, self.side)
    def __call__(self): return self.side
    def __add__(self, other): return Square(self.side + other.side)
    __radd__ = __add__
    def __iadd__(self, other): self.side += other.side; return self
    def __iter__(self): return iter([1, 2])
    def __contains__(self, x): return x == self.side
    def __bool__(self): return True
    def _private(self): return self._id
s = Square(3)
s.label = 'sq'
t = s
t += Square(4)
result = [s, s.area(), s.label, len(s), s[1], s(), s + s, list(s), 7 in s, Shape.unit(),
    Shape.make('x'), sorted([Shape('b'), Shape('a')]), s == t, t is s, s._private(),
    Shape._count, Square.__name__, Square.__doc__]
try: Shape('x').area()
except NotImplementedError as error: result.append(str(error))
""",
    "class docstring and name": """
class C:
    'What it is.'
    def method(self): 'Does.'
result = [C.__doc__, C.__name__, C.method.__doc__, C.method.__qualname__, C().__doc__]
""",
    "inheritance from built-ins": """
class Stack(list):
    def push(self, x): self.append(x); return self
class Default(dict):
    def __missing__(self, key): return key * 2
    def __setitem__(self, key, value): super().__setitem__(key, value + 1)
class Name(str):
    def __new__(cls, text): return super().__new__(cls, text.title())
d = Default(); d['a'] = 1
result = [Stack().push(1), d['a'], d['b'], Name('ann'), Name('{}').format(3)]
""",
    "dataclasses": """
from dataclasses import asdict, astuple, dataclass, field, fields, replace
@dataclass(order=True, frozen=True)
class Version:
    major: int
    minor: int = 0
@dataclass
class Film:
    title: str
    tags: list = field(default_factory=list)
    length: int = field(default=0, compare=False)
    def __post_init__(self): self.title = self.title.strip()
f = Film(' a ')
f.length += 2
result = [Version(1) < Version(1, 2), f, asdict(f), astuple(f), replace(f, title='b'),
    [x.name for x in fields(Film)]]
try: Version(1).major = 2
except Exception as error: result.append(repr(error))
try: Film()
except TypeError as error: result.append(str(error))
""",
    "dataclass with slots": """
from dataclasses import dataclass
@dataclass(slots=True)
class P:
    x: int
    def move(self): self.x += 1; return self
result = P(1).move()
""",
    "enumerations": """
from enum import Enum, Flag, IntEnum, StrEnum, auto, unique
@unique
class Planet(Enum):
    EARTH = (5.9, 6.3)
    MARS = (0.6, 3.3)
    def __init__(self, mass, radius): self.mass = mass; self._radius = radius
    @property
    def ratio(self): return round(self.mass / self._radius, 2)
class Size(IntEnum): S = 1; L = 2
class Mode(Flag): R = auto(); W = auto()
class Tag(StrEnum): A = auto()
class Kind(str, Enum): X = 'x'
result = [Planet.MARS, Planet.EARTH.ratio, [p.name for p in Planet], Planet((0.6, 3.3)),
    Planet['MARS'].value, Size.S + 1, str(Size.L), Mode.R | Mode.W, Mode(1), Tag.A.upper(),
    str(Tag.A), Kind('x'), Kind.X == 'x', str(Kind.X), f'{Size.S}', repr(Mode.R | Mode.W),
    len(Planet), Planet.MARS in Planet, isinstance(Size.S, int), Size.S < Size.L]
try: Planet('none')
except ValueError as error: result.append(str(error))
""",
    "named tuples": """
from collections import namedtuple
from typing import NamedTuple
P = namedtuple('P', 'x y', defaults=[3])
class Q(NamedTuple):
    'A pair.'
    a: int
    b: str = 'z'
    def both(self): return (self.a, self.b)
class R(namedtuple('R', ['k'])):
    def twice(self): return self.k * 2
p = P(1)
result = [p, p._replace(x=5), p._asdict(), P._fields, P._make([7, 8]), Q(1), Q(1).both(),
    Q(2)._asdict(), Q.__doc__, R(4).twice(), Q._fields]
""",
    "generic and abstract classes": """
from abc import ABC, abstractmethod
from typing import Generic, TypeVar, TypedDict
from collections.abc import Mapping
T = TypeVar('T')
class Stack(Generic[T]):
    def __init__(self): self._items: list[T] = []
    def push(self, item: T) -> None: self._items.append(item)
class Base(ABC):
    @abstractmethod
    def go(self): ...
class Impl(Base):
    def go(self): return super().go()
class Movie(TypedDict, total=False):
    title: str
class Table(Mapping):
    def __init__(self, d): self._d = d
    def __getitem__(self, k): return self._d[k]
    def __len__(self): return len(self._d)
    def __iter__(self): return iter(self._d)
s = Stack[int](); s.push(1)
result = [s._items, Impl().go(), Movie(title='x'), Table({'a': 1}).get('a'), dict(Table({1: 2}))]
try: Base()
except TypeError as error: result.append('abstract' in str(error))
""",
    "decorators": """
import functools
from functools import cached_property, lru_cache, partial, reduce, total_ordering, wraps
calls = []
def logged(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.count += 1
        calls.append(function.__name__)
        return function(*args, **kwargs)
    wrapper.count = 0
    return wrapper
def named(function):
    def wrapper(): return function()
    wrapper.__name__ = function.__name__
    wrapper.__doc__ = function.__doc__
    return wrapper
@logged
def add(a, b):
    'Adds.'
    return a + b
@named
def other(): 'Doc.'
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@total_ordering
class V:
    def __init__(self, n): self.n = n
    def __eq__(self, o): return self.n == o.n
    def __lt__(self, o): return self.n < o.n
    @cached_property
    def twice(self): calls.append('twice'); return self.n * 2
v = V(1)
result = [add(1, 2), add.__name__, add.__doc__, add.count, fib(50), fib.cache_info().hits > 0,
    V(2) >= V(1), v.twice, v.twice, calls, partial(add, 1)(5), reduce(add, [1, 2, 3]),
    other.__name__, other.__doc__]
""",
    "operator and sorting": """
from operator import attrgetter, itemgetter, methodcaller
class P:
    def __init__(self, x, y): self.x = x; self.y = y; self._z = y
    def plus(self, n): return self.x + n
ps = [P(2, 1), P(1, 2)]
result = [[p.x for p in sorted(ps, key=attrgetter('x'))], attrgetter('x', 'y')(ps[0]),
    attrgetter('x.real')(ps[0]), methodcaller('plus', 3)(ps[1]), max([(1, 2)], key=itemgetter(1)),
    attrgetter('_z')(ps[0])]
""",
    "the library": """
import bisect, calendar, collections, copy, csv, datetime, difflib, fractions, heapq, io, itertools
import json, math, random, re, statistics, string, textwrap, time, unicodedata, base64, hashlib
import collections.abc as cabc, html, contextlib, decimal
from datetime import datetime as DT, timedelta
from collections import Counter, OrderedDict, defaultdict, deque
from math import *
random.seed(7)
rows = list(csv.DictReader(io.StringIO('a,b\\n1,2\\n')))
d = defaultdict(list); d['k'].append(1)
h = [3, 1, 2]; heapq.heapify(h)
result = [bisect.bisect([1, 2], 1), calendar.isleap(2000), calendar.month_name[2],
    Counter('aab').most_common(1), d, heapq.heappop(h), rows, DT.strptime('2020-02-03', '%Y-%m-%d'),
    DT(2020, 1, 1).strftime('%d %b %Y'), (DT(2020, 1, 1) + timedelta(days=1)).isoformat(),
    difflib.get_close_matches('appel', ['ape', 'apple']), fractions.Fraction(3, 6),
    list(itertools.combinations('abc', 2)), json.dumps({'a': [1, None]}, indent=1, sort_keys=True),
    json.loads('[1.5, true]'), math.gcd(12, 18), pi, sqrt(2), random.randint(1, 100),
    random.choice('abc'), re.findall(r'\\d+', 'a1b22'), re.sub(r'(\\w)(\\d)', r'\\2\\1', 'a1'),
    re.compile('(?P<y>x)').match('x').group('y'), re.sub('a', lambda m: m.group().upper(), 'ba'),
    statistics.median([1, 3, 2]), string.ascii_lowercase, textwrap.shorten('a b c', 3),
    unicodedata.normalize('NFKD', 'é'), base64.b64encode(b'x'), hashlib.md5(b'x').hexdigest(),
    isinstance({}, cabc.Mapping), copy.deepcopy({'a': [1]}), html.escape('<'), deque([1], 2),
    OrderedDict(a=1), string.Template('$x').substitute(x=1), time.strftime('%Y', time.gmtime(0)),
    datetime.date.fromisoformat('2020-01-01').toordinal(), '{:%Y}'.format(DT(2020, 1, 1))]
try: json.loads('{')
except json.JSONDecodeError as error: result.append(str(error))
with contextlib.suppress(KeyError): {}['x']
@contextlib.contextmanager
def manager():
    yield 5
with manager() as five: result.append(five)
""",
    "copying own objects": """
from copy import copy, deepcopy
class P:
    def __init__(self): self.items = [1]; self._x = 2
p = P(); q = copy(p); r = deepcopy(p); p.items.append(2)
result = [q.items, r.items, q._x, deepcopy([p])[0].items]
""",
    "an optional module that is missing": """
try:
    import numpy as np
except ImportError:
    np = None
try:
    from os import path
except Exception:
    path = 'none'
result = [np]
""",
    "a block that runs only as a program": """
result = 1
if __name__ == '__main__':
    import sys
    result = eval(input('?'))
""",
    "names of absent built-ins used as own": """
def price(open, input, compile=3):
    eval = open + input + compile
    return eval
result = [price(1, 2), __name__]
""",
    "honest names that look like inner ones": """
class Star:
    def __init__(self): self.f_score = 1; self.co_author = 'x'; self.register = 3; self.tb = 2
s = Star()
result = [s.f_score, s.co_author, s.register, s.tb]
""",
}


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


# -- refused when compiled -----------------------------------------------------------------------

REFUSED: dict[str, tuple[str, int]] = {
    # id: source, line of the (first) problem
    "import os": ("import os", 1),
    "import of a submodule": ("import os.path", 1),
    "import under another name": ("x = 1\nimport sys as math", 2),
    "import from a refused module": ("from subprocess import run", 1),
    "import of a full-width name": ("import ｏｓ", 1),
    "relative import": ("from . import x", 1),
    "string.Formatter": ("from string import Formatter", 1),
    "import of a module's module": ("from random import _os", 1),
    "import of a public inner module": ("from statistics import sys", 1),
    "import of get_type_hints": ("from typing import get_type_hints", 1),
    "import of make_dataclass": ("from dataclasses import make_dataclass", 1),
    "import of ABCMeta": ("from abc import ABCMeta", 1),
    "import of builtins": ("import builtins", 1),
    "import over a reserved name": ("import math as __builtins__", 1),
    "eval": ("eval('1')", 1),
    "exec": ("def f():\n    exec('x = 1')", 2),
    "compile": ("compile('1', '', 'eval')", 1),
    "open": ("open('/etc/passwd')", 1),
    "open by another name": ("f = open", 1),
    "input": ("input()", 1),
    "breakpoint": ("breakpoint()", 1),
    "globals": ("globals()", 1),
    "locals": ("locals()", 1),
    "memoryview": ("memoryview(b'x')", 1),
    "__import__": ("__import__('os')", 1),
    "__builtins__": ("__builtins__['open']", 1),
    "__loader__": ("__loader__", 1),
    "store __builtins__": ("__builtins__ = {}", 1),
    "store __name__": ("__name__ = '__main__'", 1),
    "store __build_class__": ("__build_class__ = print", 1),
    "global __builtins__": ("def f():\n    global __builtins__", 2),
    "del __builtins__": ("del __builtins__", 1),
    "for __import__": ("for __import__ in []: pass", 1),
    "argument named __class__": ("def f(__class__): pass", 1),
    "positional-only argument": ("def f(__import__, /): pass", 1),
    "keyword-only argument": ("def f(*, __import__): pass", 1),
    "star argument": ("lambda *__import__: 0", 1),
    "function named as a hook": ("def __getattr__(name): pass", 1),
    "exception name": ("try: pass\nexcept Exception as __x__: pass", 2),
    "walrus": ("(__builtins__ := 1)", 1),
    "with": ("with x as __builtins__: pass", 1),
    "match capture": ("match 1:\n    case __builtins__: pass", 2),
    "match rest": ("match 1:\n    case {**__builtins__}: pass", 2),
    "match star": ("match 1:\n    case [*__builtins__]: pass", 2),
    "__class__ of a cell": ("class A:\n    def f(self): return __class__", 2),
    "__globals__": ("(lambda: 0).__globals__", 1),
    "__dict__": ("x = 1\nx.__dict__", 2),
    "__subclasses__": ("object.__subclasses__()", 1),
    "__mro__": ("int.__mro__", 1),
    "__bases__": ("int.__bases__", 1),
    "mro": ("int.mro()", 1),
    "full-width underscores": ("x.＿＿globals＿＿", 1),
    "__traceback__": ("e.__traceback__", 1),
    "with_traceback": ("e.with_traceback(None)", 1),
    "gi_frame": ("(x for x in y).gi_frame", 1),
    "gi_code": ("g.gi_code", 1),
    "gi_yieldfrom": ("g.gi_yieldfrom", 1),
    "cr_frame": ("c.cr_frame", 1),
    "cr_await": ("c.cr_await", 1),
    "ag_frame": ("a.ag_frame", 1),
    "tb_frame": ("t.tb_frame", 1),
    "tb_next": ("t.tb_next", 1),
    "f_back": ("f.f_back", 1),
    "f_globals": ("f.f_globals", 1),
    "f_builtins": ("f.f_builtins", 1),
    "f_locals": ("f.f_locals", 1),
    "co_consts": ("c.co_consts", 1),
    "func_globals": ("f.func_globals", 1),
    "store __class__": ("x.__class__ = y", 1),
    "store __code__": ("f.__code__ = g", 1),
    "delete an inner attribute": ("del f.__globals__", 1),
    "update an inner attribute": ("f.__globals__ += 1", 1),
    "update format": ("s.format += r", 1),
    "in an f-string": ("f'{x.__globals__}'", 1),
    "in an f-string's spec": ("f'{1:{x.__globals__}}'", 1),
    "in a decorator": ("@f.__globals__\ndef g(): pass", 1),
    "in a default": ("def g(x=f.__globals__): pass", 1),
    "in an annotation": ("def g(x: f.__globals__): pass", 1),
    "in a base": ("class C(f.__globals__): pass", 1),
    "literal template": ("'{0.__class__}'.format(1)", 1),
    "literal template, private": ("'{0._x}'.format(1)", 1),
    "literal template, frame": ("'{0.gi_frame}'.format(1)", 1),
    "literal template, nested": ("'{:{0.__class__}}'.format(1)", 1),
    "pattern attribute": ("match x:\n    case object(__class__=c): pass", 2),
    "pattern frame": ("match x:\n    case object(gi_frame=f): pass", 2),
    "pattern format": ("match x:\n    case str(format=f): pass", 2),
    "pattern private": ("match x:\n    case object(_x=f): pass", 2),
    "pattern value": ("match x:\n    case a.__globals__: pass", 2),
    "pattern class": ("match x:\n    case a._b(): pass", 2),
    "pattern key": ("match x:\n    case {a.__globals__: 1}: pass", 2),
    "metaclass": ("class C(metaclass=M): pass", 1),
    "async def": ("async def f(): pass", 1),
    "await": ("async def f():\n    await g()", 1),
    "async comprehension": ("def f():\n    return [x async for x in y]", 2),
    "except*": ("try: pass\nexcept* ValueError: pass", 1),
    "__reduce__": ("class C:\n    def __reduce__(self): pass", 2),
    "__getattr__": ("class C:\n    def __getattr__(self, n): pass", 2),
    "__setattr__": ("class C:\n    def __setattr__(self, n, v): pass", 2),
    "__getattribute__": ("class C:\n    def __getattribute__(self, n): pass", 2),
    "__mro_entries__": ("class C:\n    def __mro_entries__(self, b): pass", 2),
    "__subclasshook__": ("class C:\n    def __subclasshook__(c, k): pass", 2),
    "__match_args__": ("class C:\n    __match_args__ = ('gi_frame',)", 2),
    "__annotations__": ("class C:\n    __annotations__ = {}", 2),
    "__class__ in a class": ("class C:\n    __class__ = str", 2),
    "__module__": ("class C:\n    __module__ = 'os'", 2),
    "__del__": ("class C:\n    def __del__(self): pass", 2),
    "inner name as a field": ("class C:\n    gi_frame: int", 2),
    "computed __slots__": ("n = ['a']\nclass C:\n    __slots__ = n", 3),
    "unsafe __slots__": ("class C:\n    __slots__ = ('format',)", 2),
    "dunder __slots__": ("class C:\n    __slots__ = ('__reduce_ex__',)", 2),
}


@pytest.mark.parametrize(("source", "line"), REFUSED.values(), ids=list(REFUSED))
def test_refused_before_anything_runs(source: str, line: int) -> None:
    with pytest.raises(PolicyViolation) as caught:
        compile_restricted(source)
    assert caught.value.problems[0][0] == line
    assert str(caught.value).startswith(f"line {line}: ")
    assert "\n" not in str(caught.value)


def test_every_problem_is_told_in_order() -> None:
    with pytest.raises(PolicyViolation) as caught:
        compile_restricted("import os\nx = 1\nopen('f')\ny.__globals__\n")
    assert [line for line, _ in caught.value.problems] == [1, 3, 4]
    assert str(caught.value).count("; ") == 2


# -- refused when reached ------------------------------------------------------------------------

ATTEMPTS = {
    "getattr": "getattr(print, '__globals__')",
    "getattr with a default": "getattr(print, '__globals__', None)",
    "getattr of a frame": "getattr((x for x in []), 'gi_frame')",
    "getattr of a private name": "getattr([], '_x', None)",
    "getattr in map": "list(map(getattr, [print], ['__globals__']))",
    "setattr on a module": "import math\nsetattr(math, 'pi', 3)",
    "write on a module": "import math\nmath.pi = 3",
    "write on a library class": "from fractions import Fraction\nFraction.limit = 3",
    "write on a library function": "import json\njson.dumps.x = 3",
    "write on a library object": "import re\nre.compile('x').y = 1",
    "write on a built-in function": "getattr(print, 'x', None)\nprint.x = 1",
    "write in a loop": "import math\nfor math.pi in [1]: pass",
    "write by unpacking": "import math\na, math.pi = 1, 2",
    "write in with": "import math, contextlib\nwith contextlib.nullcontext(1) as math.pi: pass",
    "delete on a module": "import math\ndel math.pi",
    "delattr": "import math\ndelattr(math, 'pi')",
    "update on a module": "import math\nmath.pi += 1",
    "set an inner attribute": "class C: pass\nsetattr(C, '__class__', str)",
    "set the mark": "class C: pass\nsetattr(C, '<tool>', 1)",
    "private name of a module": "import random\nrandom._os",
    "private name of a library object": "import random\nrandom.Random()._randbelow",
    "private name of a metaclass": (
        "from enum import Enum\nclass C(Enum): A = 1\nC._create_('X', {})"
    ),
    "private name of a metaclass, updated": (
        "from enum import Enum\n"
        "class R:\n    def __radd__(self, other): return other\n"
        "class C(Enum): A = 1\n"
        "C._create_ += R()"
    ),
    "str.format": "t = '{0.__class__}'\nt.format(1)",
    "str.format, nested": "t = '{:{0.__class__}}'\nt.format(1)",
    "str.format, private": "t = '{0._x}'\nt.format(1)",
    "str.format on the type": "str.format('{0.__class__}', 1)",
    "str.format in map": "list(map(str.format, ['{0.__class__}'], [1]))",
    "str.format by getattr": "getattr('{0.__class__}', 'format')(1)",
    "str.format by methodcaller": (
        "from operator import methodcaller\nmethodcaller('format', 1)('{0.__class__}')"
    ),
    "str.format by attrgetter": (
        "from operator import attrgetter\nattrgetter('format')('{0.__class__}')(1)"
    ),
    "str.format by super": (
        "class S(str):\n    def go(self): return super().format(1)\nS('{0.__class__}').go()"
    ),
    "str.format of a subclass": "class S(str): pass\nS('{0.__class__}').format(1)",
    "str.format with a lying subclass": (
        "class S(str):\n    def __str__(self): return ''\nS('{0.__class__}').format(1)"
    ),
    "str.format as an attribute": (
        "class C:\n    def __init__(self): self.f = str.format\nC().f('{0.__class__}', 1)"
    ),
    "str.format_map": "t = '{x.__class__}'\nt.format_map({'x': 1})",
    "str.format_map on the type": "str.format_map('{x.__class__}', {'x': 1})",
    "attrgetter": "from operator import attrgetter\nattrgetter('real.__class__')(1)\n"
    "attrgetter('__globals__')(print)",
    "methodcaller": "from operator import methodcaller\nmethodcaller('__subclasses__')(int)",
    "type with three arguments": "type('C', (), {})",
    "the type of a type": "type(type(1))('C', (), {})",
    "a parametrised type": "type[int]('C', (), {})",
    "typing.Type": "from typing import Type\nType[int]('C', (), {})",
    "metaclass by keyword dict": "class C(**{'metaclass': print}): pass",
    "deriving from type": "class C(type): pass",
    "deriving from a library class": "import random\nclass C(random.Random): pass",
    "deriving from a parametrised type": "class C(type[int]): pass",
    "enumeration by call": "from enum import Enum\nEnum('X', {'__reduce__': 1})",
    "enumeration by call, own": (
        "from enum import Enum\nclass E(Enum):\n    def f(self): pass\nE('X', 'A')"
    ),
    "dataclass of a library class": (
        "from dataclasses import dataclass\nfrom fractions import Fraction\ndataclass(Fraction)"
    ),
    "dataclass of forged fields": (
        "from dataclasses import dataclass\nfrom typing import TypedDict\n"
        "dataclass(TypedDict('T', {'x=print(1)': int}))"
    ),
    "dataclass of a text": (
        "from dataclasses import dataclass\n@dataclass\nclass S(str):\n    format: object"
    ),
    "named tuple of inner names": (
        "from collections import namedtuple\nnamedtuple('P', ['gi_frame'])"
    ),
    "wraps of names": (
        "from functools import update_wrapper\nclass C: pass\nupdate_wrapper(C(), print)"
    ),
    "total_ordering on the library": (
        "from functools import total_ordering\nfrom fractions import Fraction\n"
        "total_ordering(Fraction)"
    ),
    "register a foreign class": "from abc import ABC\nclass C(ABC): pass\nC.register(int)",
    "register with the library": "from numbers import Number\nNumber.register(str)",
    "the object of an error": "try: [].x\nexcept AttributeError as e: e.obj",
    "__init__ of a library object": (
        "from fractions import Fraction\nFraction.numerator.__init__(print)"
    ),
    "__init__ by its type": (
        "from fractions import Fraction\nproperty.__init__(Fraction.numerator, print)"
    ),
    "__init__ of a module": "import math\nmath.__init__('os')",
    "vars of a class": "vars(int)",
    "vars of a module": "import math\nvars(math)",
}


@pytest.mark.parametrize("source", ATTEMPTS.values(), ids=list(ATTEMPTS))
def test_refused_when_reached(source: str) -> None:
    code = compile_restricted(source)
    with pytest.raises(PolicyViolation):
        exec(code, restricted_globals())  # noqa: S102


OTHER_ERRORS = {
    "functions from code": ("type(lambda: 0)(1, {})", TypeError),
    "modules from nothing": ("import math\ntype(math)('os')", TypeError),
    "an inner module": ("import random\nrandom.sys", AttributeError),
    "an inner module, json": ("import json\njson.codecs", AttributeError),
    "an inner class": ("import typing\ntyping.ForwardRef", AttributeError),
    "a refused function": ("import functools\nfunctools.singledispatch", AttributeError),
    "string.Formatter": ("import string\nstring.Formatter", AttributeError),
    "wraps by names": ("import functools\nfunctools.wraps(print, assigned=['x'])", TypeError),
    "importing with hope": ("try: import os\nexcept ImportError as e: raise", ImportError),
    "importing an inner module with hope": (
        "try: from json import scanner\nexcept ImportError as e: raise",
        ImportError,
    ),
    "a name that is a text in disguise": (
        "class S(str):\n    def startswith(self, *a): return False\n"
        "getattr(print, S('__globals__'))",
        TypeError,
    ),
    "exception groups": ("ExceptionGroup", NameError),
    "dir without an object": ("dir()", TypeError),
    "guards by name": ("_getattr_", NameError),
}


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
    first, second = restricted_globals(), restricted_globals("other")
    assert (first["__name__"], second["__name__"]) == ("tool", "other")
    assert first["__builtins__"] is not second["__builtins__"]
    exec(compile_restricted("def len(x): return 7\nprint = 3"), first)  # noqa: S102
    assert restricted("result = len([])")["result"] == 0
    mutable = [v for v in restricted_globals().values() if isinstance(v, (list, set))]
    assert mutable == []


def test_the_library_is_as_it_was() -> None:
    restricted("import math, json, decimal, enum, dataclasses, typing, functools, operator")
    assert math.pi > 3.14
    preload()
    assert set(ALLOWED_MODULES).isdisjoint({"os", "sys", "io.open", "builtins", "importlib"})


def test_strptime_works_though_c_code_imports_through_our_guard() -> None:
    source = (
        "from datetime import date, datetime\nimport time\n"
        "result = [datetime.strptime('1 Feb 2020', '%d %b %Y').year, date.today().year > 2000,\n"
        "          time.strptime('2020', '%Y').tm_year, datetime.now().strftime('%Y') > '2000',\n"
        "          '\\N{BULLET}']"
    )
    assert restricted(source)["result"] == [2020, True, 2020, True, "•"]


# -- what can be reached -------------------------------------------------------------------------

_FORBIDDEN_TYPES = (types.CodeType, types.FrameType, types.TracebackType)
_FORBIDDEN = {eval, exec, compile, open, __import__, input, breakpoint, globals, locals, type}
_FORBIDDEN |= {str.format, str.format_map}


def _steps(owner: Any, read: Callable[[Any, str], Any]) -> list[tuple[str, Any]]:
    """What an expression can read off `owner`: attributes by the policy's rules, and items."""
    found: list[tuple[str, Any]] = []
    for name in dir(owner):
        try:
            found.append((f".{name}", read(owner, name)))
        except Exception:  # noqa: S112, BLE001 -- refused, or an honest AttributeError
            continue
    if isinstance(owner, dict):
        found += [(f"[{key!r}]", value) for key, value in owner.items()]
    elif isinstance(owner, (list, tuple, set, frozenset)):
        found += [(f"[{index}]", value) for index, value in enumerate(owner)]
    return found


@pytest.mark.filterwarnings("ignore")
def test_no_walk_over_attributes_and_items_leads_out() -> None:
    """Everything the namespace and every allowed module hold, and all that can be read off it."""
    namespace: dict[str, Any] = restricted_globals()
    builtins: dict[str, Any] = dict(namespace["__builtins__"])
    read = builtins["getattr"]
    hidden = {"__build_class__", "__import__"}
    queue = [(n, v) for n, v in builtins.items() if n not in hidden and not n.startswith("<")]
    for module in ALLOWED_MODULES:
        top = module.partition(".")[0]
        alias = f"import {module} as m" if top != "__future__" else "m = None"
        queue.append((module, restricted(alias)["m"]))
    curated = {id(value) for _, value in queue if isinstance(value, types.ModuleType)}
    seen: set[int] = set()
    keep = []  # ids stay unique while their objects live
    while queue:
        path, value = queue.pop()
        if id(value) in seen or path.count(".") + path.count("[") > 8:
            continue
        seen.add(id(value))
        keep.append(value)
        assert not isinstance(value, _FORBIDDEN_TYPES), path
        assert not (isinstance(value, type) and issubclass(value, type)), path
        assert not any(value is bad for bad in _FORBIDDEN), path
        assert getattr(value, "__module__", None) not in ("posix", "os"), path
        if isinstance(value, types.ModuleType):
            assert id(value) in curated, path
        queue += [(path + step, inner) for step, inner in _steps(value, read)]
    assert len(seen) > 1500


BASES = (
    "from abc import ABC\nfrom collections import *\nfrom collections.abc import *\n"
    "from datetime import *\nfrom decimal import Decimal\nfrom enum import *\n"
    "from fractions import Fraction\nfrom json import JSONEncoder\nfrom typing import Generic\n"
)


def test_private_names_of_the_bases_lead_nowhere() -> None:
    namespace = restricted(BASES)
    bases = [value for value in namespace.values() if isinstance(value, type)]
    for base in [*bases, dict, list, str, tuple, Exception]:
        for name in dir(base):
            if name.startswith("_") and not name.startswith("__"):
                value = getattr(base, name)
                assert not isinstance(value, (types.ModuleType, *_FORBIDDEN_TYPES)), (base, name)
                assert value is not type, (base, name)


# -- properties ----------------------------------------------------------------------------------

INNER = sorted(
    {name for kind in (types.FunctionType, types.GeneratorType, type) for name in dir(kind)}
    - {"__name__", "__qualname__", "__doc__", "__class__"}
    - {name for name in dir(int) + dir(list) + dir(dict)}
    - {"__call__", "__or__", "__ror__", "__next__", "__get__", "send", "throw", "close"}
    - {"gi_running", "gi_suspended"}
)


@given(st.sampled_from(INNER), st.sampled_from(["{}.{}", "getattr({}, '{}')", "'{{0.{1}}}'.format(0)"]))
def test_no_spelling_reaches_an_inner_name(name: str, spelling: str) -> None:
    with pytest.raises((PolicyViolation, AttributeError)):
        restricted("f = lambda: 0\n" + spelling.format("f", name))


@given(st.text(alphabet="{}.[]_:!rsa0x ", max_size=25))
def test_a_template_formats_as_without_the_policy_or_is_refused(template: str) -> None:
    source = f"t = {template!r}\nresult = t.format(1, a=[2], s='x')"
    with_policy = outcome(restricted, source)
    assert with_policy[1] == "PolicyViolation" or with_policy == outcome(plain, source)
    if "._" in template and with_policy[0] == "returned":
        assert "{" not in template.partition("._")[0].replace("{{", "")


NUMBERS = st.integers(-20, 20)
EXPRESSION = st.recursive(
    st.one_of(NUMBERS.map(str), st.sampled_from("abc"), st.text(max_size=3).map(repr)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+ - * // % == < and or".split()), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        inner.map(lambda item: f"[x for x in {item}]"),
        inner.map(lambda item: f"str({item}).upper()"),
        inner.map(lambda item: f"f'{{({item})!r}}'" if "'" not in item and "\\" not in item else item),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]})[{pair[1]}]"),
    ),
    max_leaves=8,
)
STATEMENT = st.one_of(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["", "+", "*"]), EXPRESSION).map(
        lambda parts: f"{parts[0]} {parts[1]}= {parts[2]}"
    ),
    st.tuples(NUMBERS, EXPRESSION).map(lambda parts: f"d[{parts[0]}] += {parts[1]}"),
    EXPRESSION.map(lambda text: f"o.x = {text}"),
    EXPRESSION.map(lambda text: f"o._y += {text}"),
    EXPRESSION.map(lambda text: f"a, *b = {text}"),
)


@pytest.mark.filterwarnings("ignore")
@given(st.lists(STATEMENT, max_size=5), EXPRESSION)
def test_generated_programs_do_the_same_with_and_without(lines: list[str], last: str) -> None:
    head = "class O:\n    _y = 1\no = O(); d = {1: 2, 2: [3]}; a, b, c = 1, 'x', [4]\n"
    source = head + "\n".join(lines) + f"\nresult = [{last}, a, b, c, d, vars(o)]"
    assert outcome(restricted, source) == outcome(plain, source)


def test_nothing_above_touched_the_machine() -> None:
    assert os.environ is not None
