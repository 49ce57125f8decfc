"""Sources that the policy refuses: where, or how they end."""

from __future__ import annotations

REFUSED: dict[str, tuple[str, int]] = {
    # id: source, line of the (first) problem
    "import os": ("import os", 1),
    "import of a submodule": ("import os.path", 1),
    "import under another name": ("x = 1\nimport sys as math", 2),
    "import of a full-width name": ("import ｏｓ", 1),
    "relative import": ("from . import x", 1),
    "string.Formatter": ("from string import Formatter", 1),
    "import of a private name": ("from random import _os", 1),
    "import of a module's own hook": ("from string import __getattr__ as hook", 1),
    "import over a reserved name": ("import math as __builtins__", 1),
    "eval": ("eval('1')", 1),
    "open": ("open('/etc/passwd')", 1),
    "input": ("input()", 1),
    "globals": ("globals()", 1),
    "__import__": ("__import__('os')", 1),
    "__builtins__": ("__builtins__['open']", 1),
    "__loader__": ("__loader__", 1),
    "store __builtins__": ("__builtins__ = {}", 1),
    "global __builtins__": ("def f():\n    global __builtins__", 2),
    "del __builtins__": ("del __builtins__", 1),
    "argument named __class__": ("def f(__class__): pass", 1),
    "positional-only argument": ("def f(__import__, /): pass", 1),
    "function named as a hook": ("def __getattr__(name): pass", 1),
    "exception name": ("try: pass\nexcept Exception as __x__: pass", 2),
    "walrus": ("(__builtins__ := 1)", 1),
    "match capture": ("match 1:\n    case __builtins__: pass", 2),
    "match rest": ("match 1:\n    case {**__builtins__}: pass", 2),
    "__class__ of a cell": ("class A:\n    def f(self): return __class__", 2),
    "__globals__": ("(lambda: 0).__globals__", 1),
    "__subclasses__": ("object.__subclasses__()", 1),
    "mro": ("int.mro()", 1),
    "full-width underscores": ("x._＿globals＿＿", 1),
    "full-width letters": ("x.__ｇlobals__", 1),
    "__traceback__": ("e.__traceback__", 1),
    "with_traceback": ("e.with_traceback(None)", 1),
    "gi_frame": ("(x for x in y).gi_frame", 1),
    "tb_frame": ("t.tb_frame", 1),
    "f_globals": ("f.f_globals", 1),
    "co_consts": ("c.co_consts", 1),
    "store __class__": ("x.__class__ = y", 1),
    "store __code__": ("f.__code__ = g", 1),
    "delete an inner attribute": ("del f.__globals__", 1),
    "update an inner attribute": ("f.__globals__ += 1", 1),
    "update format": ("s.format += r", 1),
    "in an f-string": ("f'{x.__globals__}'", 1),
    "in an f-string's spec": ("f'{1:{x.__globals__}}'", 1),
    "in a decorator": ("@f.__globals__\ndef g(): pass", 1),
    "in a base": ("class C(f.__globals__): pass", 1),
    "literal template": ("'{0.__class__}'.format(1)", 1),
    "literal template, private": ("'{0._x}'.format(1)", 1),
    "literal template, nested": ("'{:{0.__class__}}'.format(1)", 1),
    "pattern attribute": ("match x:\n    case object(__class__=c): pass", 2),
    "pattern frame": ("match x:\n    case object(gi_frame=f): pass", 2),
    "pattern format": ("match x:\n    case str(format=f): pass", 2),
    "pattern value": ("match x:\n    case a.__globals__: pass", 2),
    "pattern class": ("match x:\n    case a._b(): pass", 2),
    "pattern key": ("match x:\n    case {a.__globals__: 1}: pass", 2),
    "async def": ("async def f(): pass", 1),
    "await": ("async def f():\n    await g()", 1),
    "except*": ("try: pass\nexcept* ValueError: pass", 1),
    "__reduce__": ("class C:\n    def __reduce__(self): pass", 2),
    "__getattr__": ("class C:\n    def __getattr__(self, n): pass", 2),
    "__subclasshook__": ("class C:\n    def __subclasshook__(c, k): pass", 2),
    "__match_args__": ("class C:\n    __match_args__ = ('gi_frame',)", 2),
    "__module__": ("class C:\n    __module__ = 'os'", 2),
    "__del__": ("class C:\n    def __del__(self): pass", 2),
    "type hints": ("from typing import get_type_hints", 1),
    "metaclass name": ("from enum import EnumMeta", 1),
    "make_dataclass": ("from dataclasses import make_dataclass", 1),
    "ABCMeta": ("from abc import ABCMeta", 1),
    "singledispatch": ("from functools import singledispatch", 1),
    "bound methods by their type": ("from types import MethodType", 1),
    "the machine's address": ("from uuid import getnode", 1),
    "the machine's name": ("from email.utils import make_msgid", 1),
    "parsers of files": ("from xml.sax.saxutils import prepare_input_source", 1),
    "the library's format": ("from collections import UserString", 1),
    "standard output": ("from contextlib import redirect_stdout", 1),
    "files, bz2": ("from bz2 import open", 1),
    "files, codecs": ("from codecs import open", 1),
    "files, gzip": ("from gzip import GzipFile", 1),
    "files, hashlib": ("from hashlib import file_digest", 1),
    "files, lzma": ("from lzma import open", 1),
    "files, shlex": ("from shlex import shlex", 1),
    "files, xml": ("from xml.etree.ElementTree import parse", 1),
    "files, io": ("from io import FileIO", 1),
    "files, ast": ("from ast import main", 1),
    "the clock": ("from time import clock_settime", 1),
    "zone data": ("from zoneinfo import reset_tzpath", 1),
    "deep copies by own rules": ("class C:\n    def __deepcopy__(self, memo): pass", 2),
}
"""Refused when they are compiled."""

ATTEMPTS: dict[str, str] = {
    "getattr": "getattr(print, '__globals__')",
    "getattr with a default": "getattr(print, '__globals__', None)",
    "getattr of a frame": "getattr((x for x in []), 'gi_frame')",
    "getattr of a private name": "getattr([], '_x', None)",
    "setattr on a module": "import math\nsetattr(math, 'pi', 3)",
    "write on a module": "import math\nmath.pi = 3",
    "write on a library class": "from fractions import Fraction\nFraction.limit = 3",
    "write on a library function": "import json\njson.dumps.x = 3",
    "write on a built-in function": "getattr(print, 'x', None)\nprint.x = 1",
    "delete on a module": "import math\ndel math.pi",
    "delattr": "import math\ndelattr(math, 'pi')",
    "update on a module": "import math\nmath.pi += 1",
    "set an inner attribute": "class C: pass\nsetattr(C, '__class__', str)",
    "private name of a library object": "import random\nrandom.Random()._randbelow",
    "str.format": "t = '{0.__class__}'\nt.format(1)",
    "str.format, nested": "t = '{:{0.__class__}}'\nt.format(1)",
    "str.format, private": "t = '{0._x}'\nt.format(1)",
    "str.format on the type": "str.format('{0.__class__}', 1)",
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
    "str.format_map": "t = '{x.__class__}'\nt.format_map({'x': 1})",
    "attrgetter": (
        "from operator import attrgetter\nattrgetter('real.__class__')(1)\n"
        "attrgetter('__globals__')(print)"
    ),
    "methodcaller": ("from operator import methodcaller\nmethodcaller('__subclasses__')(int)"),
    "the class of a class": "int.__class__('C', (), {})",
    "type with three arguments": "type('C', (), {})",
    "the type of a type": "type(type(1))('C', (), {})",
    "a parametrised type": "type[int]('C', (), {})",
    "typing.Type": "from typing import Type\nType[int]('C', (), {})",
    "metaclass by keyword dict": "class C(**{'metaclass': print}): pass",
    "deriving from type": "class C(type): pass",
    "deriving from a parametrised type": "class C(type[int]): pass",
    "dataclass of a library class": (
        "from dataclasses import dataclass\nfrom fractions import Fraction\ndataclass(Fraction)"
    ),
    "dataclass of forged fields": (
        "from dataclasses import dataclass\nfrom typing import TypedDict\n"
        "dataclass(TypedDict('T', {'x=print(1)': int}))"
    ),
    "register a foreign class": "from abc import ABC\nclass C(ABC): pass\nC.register(int)",
    "register with the library": "from numbers import Number\nNumber.register(str)",
    "the object of an error": "try: [].x\nexcept AttributeError as e: e.obj",
    "vars of a class": "vars(int)",
    "vars of a module": "import math\nvars(math)",
    "the type of bound methods": "class C:\n    def f(self): pass\ntype(C().f)",
    "the type of aliases": "type(list[int])",
    "the type of typing's objects": "from typing import List\ntype(List[int])",
    "metaclass": "class C(metaclass=print): pass",
    "write on a typing alias": "from typing import Counter\nCounter.x = 1",
    "write of a private name": "import textwrap\ntextwrap.TextWrapper()._x = 1",
    "setattr of a private name": ("import textwrap\nsetattr(textwrap.TextWrapper(), '_x', 1)"),
    "wraps on the library": ("import json\nfrom functools import wraps\nwraps(len)(json.dumps)"),
    "update_wrapper on the library": (
        "from functools import update_wrapper\nfrom fractions import Fraction\n"
        "update_wrapper(Fraction, len)"
    ),
    "dataclass over renamed fields": (
        "from dataclasses import dataclass, fields\n@dataclass\nclass A:\n    x: int = 0\n"
        "fields(A)[0].name = 'x=print(1)'\n@dataclass\nclass B(A): pass"
    ),
}
"""They compile, and raise `PolicyViolation` where they reach what is refused."""

OTHER_ERRORS: dict[str, tuple[str, type[Exception]]] = {
    "an inner module": ("import random\nrandom.sys", AttributeError),
    "importing with hope": ("try: import os\nexcept ImportError as e: raise", ImportError),
    "importing an inner module with hope": (
        ("try: from json import scanner\nexcept ImportError as e: raise"),
        ImportError,
    ),
    "a name that is a text in disguise": (
        (
            "class S(str):\n    def startswith(self, *a): return False\n"
            "getattr(print, S('__globals__'))"
        ),
        TypeError,
    ),
    "exception groups": ("ExceptionGroup", NameError),
    "guards by name": ("_getattr_", NameError),
    "a hidden name": ("import string\nstring.Formatter", AttributeError),
    "lists of names for wraps": (
        "import functools\nfunctools.wraps(print, assigned=['x'])",
        TypeError,
    ),
    "a memo": ("import copy\ncopy.deepcopy([1], {})", TypeError),
    "a public inner module by name": ("from statistics import sys", ImportError),
}
"""What they reach for is not there: an error that code may expect."""
