"""Sources that the policy accepts; each leaves its outcome in `result`."""

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
    hasattr([], '__iter__'), getattr('a', 'upper')(), getattr(box, 'shared'), dict(vars(box)),
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
    len(Planet), Planet.MARS in Planet, isinstance(Size.S, int), Size.S < Size.L,
    'MARS' in Planet.__members__, [*Mode.__members__]]
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
    statistics.median([1, 3, 2]), string.ascii_lowercase, textwrap.shorten('a b c d e f g h', 11),
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
    "copying what refers to itself, methods and the library's objects": """
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque
from copy import copy, deepcopy
from decimal import Decimal
from functools import partial
from random import Random
class Node:
    def __init__(self, name): self.name = name; self.near = []; self.tell = self.told
    def told(self): return self.name
    def __copy__(self): return Node(self.name + '!')
class Rows(list): pass
a = Node('a'); a.near = [a, Node('b')]
b = deepcopy(a)
rows = Rows([[1]]); rows.title = 't'; more = deepcopy(rows); more[0].append(2)
shared = [1]
user = UserDict(k=shared); users = deepcopy([user, user])
users[0]['k'].append(2)
add = deepcopy(partial(max, shared, key=abs)); shared.append(9)
rng = Random(3); twin = deepcopy(rng)
made = deepcopy([Counter('aab'), OrderedDict(a=[1]), defaultdict(list, k=[1]), deque([[1]], 3),
                 ChainMap({'a': 1}), Decimal('1.5'), iter([1, 2])])
result = [b.near[0] is b, b.tell() is b.name, copy(a).name, rows,
          more, more.title, users[0] is users[1], users[1]['k'], user['k'], add(), made[:6],
          list(made[6]), rng.random() == twin.random(), copy(rows).title, copy(user) == user]
""",
    "wrapping what a library made": """
from contextlib import contextmanager
from functools import wraps
@contextmanager
def opened():
    'Opens.'
    yield 1
opened_again = wraps(opened)(lambda: opened())
def tagged(function): function.tag = 7; return function
@tagged
def f(): 'Docs.'
@wraps(f)
def g(): pass
with opened_again() as one: result = [one, opened_again.__doc__, g.tag, g.__doc__]
""",
    "a class as a decorator": """
from functools import update_wrapper
class Counted:
    def __init__(self, function):
        update_wrapper(self, function)
        self._function = function
        self.count = 0
    def __call__(self, *args):
        self.count += 1
        return self._function(*args)
def tagged(function): function.tag = 7; return function
@Counted
@tagged
def f(x: int):
    'Docs.'
    return x
result = [f(1), f(2), f.count, f.tag, f.__name__, f.__doc__, f.__qualname__]
""",
    "caches": """
from functools import cache, lru_cache
calls = []
@lru_cache(maxsize=2, typed=True)
def f(n, *, k=0):
    'Docs.'
    calls.append((n, k))
    return n * 2
@lru_cache
def g(n): return n
@lru_cache(None)
def h(n): return n
class C:
    @lru_cache(maxsize=None, typed=True)
    def m(self, n): calls.append(n); return n
c = C()
result = [f(3), f(3.0), f(3), f(3, k=1), f(3, k=True), f.cache_info(), f.cache_parameters(),
          f.__name__, f.__doc__, g(1), h(2), c.m(1), c.m(True), c.m(1), calls, g.cache_parameters()]
f.cache_clear(); c.m.cache_clear()
result += [f.cache_info(), len(calls)]
""",
    "docstrings of dataclasses": """
from dataclasses import dataclass, field
@dataclass
class A:
    x: int
    y: list = field(default_factory=list)
@dataclass(init=False)
class B(A):
    z: int = 0
@dataclass(init=False)
class C:
    w: int = 1
@dataclass(init=False)
class D:
    v: int
    def __init__(self, v: str, *rest): self.v = v
@dataclass(slots=True, order=True)
class E:
    u: float = 1.5
class Base:
    "Base(a)"
@dataclass
class F(Base): pass
result = [A.__doc__, B.__doc__, C.__doc__, D.__doc__, E.__doc__, F.__doc__, E(1) < E(2), C() == C()]
""",
    "an optional module that is missing": """
try:
    import an_optional_module as np
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
    "methods that a dataclass is given": """
import pprint
from dataclasses import asdict, dataclass, field, fields, replace
@dataclass(order=True, frozen=True)
class Film:
    year: int
    title: str = field(default='x', compare=False)
    cast: list = field(default_factory=list, compare=False)
@dataclass(slots=True)
class Seen:
    name: str
    def __post_init__(self): self.name = self.name.upper()
@dataclass(init=False, frozen=True)
class Short(Film):
    pass
a, b = Film(1999, 'M'), Film(2001)
errors = []
for call in (lambda: Film(), lambda: Film(1, 2, 3, 4), lambda: Film(year=1, other=2)):
    try: call()
    except TypeError as error: errors.append(str(error))
result = [a < b, sorted([b, a]), a == Film(1999), hash(a) == hash(Film(1999)), repr(a), asdict(b),
          replace(a, year=3), Seen('n'), pprint.pformat(a, width=10), errors, Film.__doc__,
          Short.__doc__, [f.name for f in fields(Film)], max([a, b], key=lambda f: f.year).year]
""",
    "a dataclass as the values of an enumeration": """
from dataclasses import dataclass
from enum import Enum
@dataclass
class Planet:
    mass: float
    radius: float
class Planets(Planet, Enum):
    EARTH = 5.97, 6.37
    MARS = 0.64, 3.39
class Code(Enum):
    def __new__(cls, value, label):
        member = object.__new__(cls)
        member._value_ = value
        member.label = label
        return member
    A = 1, 'first'
    B = 2, 'second'
class Level(int, Enum):
    LOW = 1
    HIGH = 2
    def __init__(self, number): self.double = number * 2
result = [Planets.MARS.mass, Planets.EARTH.radius, Code.B.label, Code(1).label, Level.HIGH.double,
          Level.LOW < Level.HIGH, [one.name for one in Code]]
""",
    "bases that are called by name": """
import json
from collections import UserDict
class Odd(ValueError):
    def __init__(self, code):
        ValueError.__init__(self, 'odd ' + str(code))
        self.code = code
class Encoder(json.JSONEncoder):
    def __init__(self, **options):
        json.JSONEncoder.__init__(self, indent=1, **options)
    def default(self, value): return list(value)
class Rows(UserDict):
    def __init__(self, *args):
        UserDict.__init__(self, *args)
        self.seen = len(self.data)
class Both(Encoder):
    def __init__(self): super(Both, self).__init__(sort_keys=True)
make = getattr(Odd, '__init__')
result = [str(Odd(3)), Odd(4).code, Encoder().encode({1, 2}), Rows({'a': 1}).seen,
          Both().encode({'b': 1, 'a': 2}), make is not None]
""",
    "an attribute called obj": """
from collections import namedtuple
from typing import NamedTuple
class Holder:
    obj = 1
    def __init__(self): self.obj = [2]
def held(): pass
held.obj = 3
Pair = NamedTuple('Pair', [('obj', int), ('other', int)])
Other = namedtuple('Other', 'obj')
errors = []
for owner in (5, 'text', Holder):
    try: errors.append(owner.obj)
    except AttributeError as error: errors.append(str(error))
result = [Holder().obj, Holder.obj, held.obj, Pair(4, 5).obj, Other(6).obj, errors,
          getattr(5, 'obj', 'none')]
""",
    "modules that only compute": """
import array, ast, binascii, bz2, codecs, colorsys, fnmatch, graphlib, gzip, hmac, html.entities
import html.parser, ipaddress, keyword, lzma, plistlib, queue, quopri, reprlib, secrets, shlex
import stringprep, struct, tomllib, types, urllib.parse, xml.etree.ElementTree as ET, zlib, zoneinfo
from queue import PriorityQueue
tasks = PriorityQueue(); tasks.put((2, 'b')); tasks.put((1, 'a'))
space = types.SimpleNamespace(x=1); space.x += 1
class Titles(html.parser.HTMLParser):
    def __init__(self): super().__init__(); self.found = []
    def handle_data(self, data): self.found.append(data)
titles = Titles(); titles.feed('<b>x</b>')
result = [binascii.hexlify(b'a'), binascii.crc32(b'a'), zlib.decompress(zlib.compress(b'a')),
    gzip.decompress(gzip.compress(b'a')), bz2.decompress(bz2.compress(b'a')),
    lzma.decompress(lzma.compress(b'a')), struct.pack('>I', 1), array.array('i', [1]).tolist(),
    ast.literal_eval('[1, {2: 3}]'), codecs.encode('abc', 'rot13'), colorsys.rgb_to_hsv(1, 0, 0),
    fnmatch.fnmatch('a.b', '*.b'), list(graphlib.TopologicalSorter({1: [2]}).static_order()),
    hmac.new(b'k', b'm', 'sha256').hexdigest(), html.entities.name2codepoint['amp'], titles.found,
    str(ipaddress.ip_network('10.0.0.0/30')[1]), keyword.iskeyword('if'), tasks.get(),
    plistlib.loads(plistlib.dumps({'a': 1})), quopri.encodestring(b'='), reprlib.repr('a' * 50),
    len(secrets.token_hex(4)), shlex.split('a "b c"'), stringprep.in_table_a1('a'), space.x,
    tomllib.loads('a = 1'), urllib.parse.urlencode({'a': 'b c'}), urllib.parse.quote('é'),
    ET.fromstring('<a><b>1</b></a>').find('b').text, callable(zoneinfo.ZoneInfo)]
""",
    "attributes of the library's objects, classes of its own": """
import random, textwrap
from enum import Enum, unique, verify, UNIQUE
from fractions import Fraction
wrapper = textwrap.TextWrapper(); wrapper.width = 8; wrapper.initial_indent = '* '
class Dice(random.Random):
    def roll(self): return self._randbelow(6) + 1
class Half(Fraction): pass
error = ValueError('x'); error.code = 7; error.add_note('n')
Color = Enum('Color', 'RED GREEN')
result = [wrapper.wrap('aa bb cc dd'), 1 <= Dice(1).roll() <= 6, Half(1, 2) + 1, error.code,
          [one.name for one in Color], Color.RED.value]
""",
}
