"""Sources that the policy refuses, and where."""

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
    "full-width underscores": ("x._＿globals＿＿", 1),
    "full-width letters": ("x.__ｇlobals__", 1),
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
    "enumeration by call, forged members": (
        "from enum import Enum\nclass E(Enum): pass\nE._member_map_ = {'a': 1}\n"
        "E('X', {'__reduce_ex__': 1})"
    ),
    "dataclass of a library class": (
        "from dataclasses import dataclass\nfrom fractions import Fraction\ndataclass(Fraction)"
    ),
    "dataclass of forged fields": (
        "from dataclasses import dataclass\nfrom typing import TypedDict\n"
        "dataclass(TypedDict('T', {'x=print(1)': int}))"
    ),
    "str.format by asdict": (
        "from dataclasses import asdict, dataclass\n@dataclass(init=False)\n"
        "class S:\n    format: object\nclass Q(S, str): pass\n"
        "asdict(Q('{0.__class__}'))['format'](1)"
    ),
    "str.format of an enumeration": (
        "from enum import StrEnum\nclass Q(StrEnum):\n    A = '{0.__class__}'\nQ.A.format(1)"
    ),
    "str.format by comparison": (
        "from dataclasses import dataclass\n@dataclass(init=False)\n"
        "class S:\n    format: object\nclass Q(S, str): pass\nlog = []\n"
        "class E:\n    def __eq__(self, other): log.append(other)\n"
        "q = Q('{0.__class__}'); w = Q('x'); w.format = E()\nq == w\nlog[0](1)"
    ),
    "str.format by a pattern": (
        "from dataclasses import dataclass\n@dataclass(init=False)\n"
        "class S:\n    format: object\nclass Q(S, str): pass\n"
        "match Q('{0.__class__}'):\n    case S(f): f(1)"
    ),
    "named tuple of inner names": (
        "from collections import namedtuple\nnamedtuple('P', ['gi_frame'])"
    ),
    "the mark of own classes": "class C: pass\ngetattr(C, '<tool>', None)",
    "wraps of names": (
        "from functools import partial, update_wrapper\nupdate_wrapper(partial(len), print)"
    ),
    "total_ordering on the library": (
        "from functools import total_ordering\nfrom fractions import Fraction\n"
        "total_ordering(Fraction)"
    ),
    "abstractmethod on the library": "import abc, json\nabc.abstractmethod(json.dumps)",
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
