"""The modules that tool code may import, and the copies of them that it gets.

Tools never hold a library module. A module opens doors: `random._os`, `calendar.sys` and
`typing.sys` are one attribute away, and `json.dumps = ...` would change it for whatever runs later.
Tools get a module object of the same name with its public names, except those in `HIDDEN`, and no
guard lets them write to it. As it is a plain module object, the interpreter's fast path for
`math.sqrt` and its error messages are unaffected.

The list has only modules that compute. If most of a module does something else, `ONLY` has the
names that compute.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from toolhop_sandbox.worker.policy.replaced import REPLACED

# ruff: noqa: A002, ANN401 -- the parameters of __import__ are Python's, and may be anything

_NAMES = """
    __future__ abc array ast base64 binascii bisect bz2 calendar cmath codecs collections
    collections.abc colorsys contextlib copy csv dataclasses datetime decimal difflib email.utils
    enum fnmatch fractions functools graphlib gzip hashlib heapq hmac html html.entities html.parser
    http io ipaddress itertools json json.decoder json.encoder keyword lzma math numbers operator
    plistlib pprint queue quopri random re reprlib secrets shlex statistics string stringprep struct
    textwrap time tomllib types typing unicodedata urllib.parse uuid xml.etree.ElementTree
    xml.sax.saxutils zlib zoneinfo
"""
ALLOWED_MODULES: Final = frozenset(_NAMES.split())
"""The import allow-list."""

_FILES = "tools have no files; use bytes or text"
_STATEMENT = "write a class statement"
_CODE = "it evaluates source text"
HIDDEN: Final[Mapping[str, Mapping[str, str]]] = {
    # A metaclass; when called, it makes classes with unchecked special methods.
    "abc": {"ABCMeta": "derive from ABC"},
    "ast": {"main": "it reads files"},
    "bz2": {"open": _FILES, "BZ2File": _FILES},
    "codecs": {"open": _FILES, "EncodedFile": _FILES, "register": "", "register_error": ""},
    # Its `format` is the library's own call of `str.format`.
    "collections": {"UserString": "derive from str"},
    "contextlib": {
        "chdir": _FILES,
        "redirect_stdout": "use print(file=...)",
        "redirect_stderr": "",
    },
    # It accepts any bases and any special name.
    "dataclasses": {"make_dataclass": _STATEMENT},
    # Metaclasses, and a function that writes to a module by its name.
    "enum": {
        "EnumMeta": _STATEMENT,
        "EnumType": _STATEMENT,
        "EnumDict": _STATEMENT,
        "global_enum": "name the members by their class",
    },
    "functools": {"singledispatch": "use isinstance", "singledispatchmethod": "use isinstance"},
    "gzip": {"open": _FILES, "GzipFile": _FILES},
    "hashlib": {"file_digest": _FILES},
    "lzma": {"open": _FILES, "LZMAFile": _FILES},
    "shlex": {"shlex": "use shlex.split"},
    # It walks attributes (CVE-2024-47532, CVE-2026-76825).
    "string": {"Formatter": "use str.format or an f-string"},
    "time": {"clock_settime": "", "clock_settime_ns": "", "tzset": ""},
    "typing": {
        "ForwardRef": _CODE,
        "get_type_hints": _CODE,
        "get_origin": "it hands out the type that makes classes",
        "Protocol": "use abc.ABC",  # isinstance then looks at names instead of bases
        "runtime_checkable": "use abc.ABC",
    },
    "xml.etree.ElementTree": {"parse": _FILES, "iterparse": _FILES, "ElementTree": _FILES},
    "zoneinfo": {"reset_tzpath": ""},
}
"""Public names that tools may not have, by module, with what to do instead."""

ONLY: Final[Mapping[str, frozenset[str]]] = {
    # Only addresses and dates: make_msgid asks the machine for its name.
    "email.utils": frozenset(
        {"format_datetime", "formataddr", "formatdate", "getaddresses", "mktime_tz", "parseaddr"}
        | {"parsedate", "parsedate_to_datetime", "parsedate_tz", "quote", "unquote"}
    ),
    "io": frozenset({"BytesIO", "StringIO"}),
    "types": frozenset(
        {"EllipsisType", "GeneratorType", "MappingProxyType", "NoneType", "NotImplementedType"}
        | {"SimpleNamespace", "UnionType"}
    ),
    # uuid1 and getnode ask the machine for its address.
    "uuid": frozenset(
        {"NAMESPACE_DNS", "NAMESPACE_OID", "NAMESPACE_URL", "NAMESPACE_X500", "UUID"}
        | {"RESERVED_FUTURE", "RFC_4122", "uuid3", "uuid4", "uuid5"}
    ),
    # The rest parses files and addresses.
    "xml.sax.saxutils": frozenset({"escape", "quoteattr", "unescape"}),
}
"""The only names of a module that tools may have, for modules with few such names."""


def module_problem(name: str) -> str | None:
    """Return why tools may not import a module; None if they may."""
    if name in ALLOWED_MODULES or any(one.startswith(f"{name}.") for one in ALLOWED_MODULES):
        return None
    return f"module {name!r} is not available to tools: they have modules that only compute"


def member_problem(module: str, name: str) -> str | None:
    """Return why tools may not have this name of a module; None if they may."""
    hidden = HIDDEN.get(module, {})
    if not (name in hidden or name.startswith("_") or name not in ONLY.get(module, {name})):
        return None
    instead = hidden.get(name)
    problem = f"{name!r} of module {module!r} is not available to tools"
    return f"{problem}: {instead}" if instead else problem


def _public(real: ModuleType) -> dict[str, Any]:
    """Return a module's public members: `__all__`, or names without underscore."""
    names = getattr(real, "__all__", None)
    if names is None:
        names = [name for name in dir(real) if not name.startswith("_")]
    found = {name: getattr(real, name) for name in names if hasattr(real, name)}
    return {key: one for key, one in found.items() if not isinstance(one, ModuleType)}


@functools.cache
def curated(name: str) -> ModuleType:
    """Return the tools' copy of an allowed module, or of its package, made once per process.

    Raises:
        ImportError: the running Python does not have the module.
    """
    real = importlib.import_module(name)
    found = _public(real) if name in ALLOWED_MODULES else {}
    found |= REPLACED.get(name, dict)()
    found = {key: value for key, value in found.items() if not member_problem(name, key)}
    for inner in ALLOWED_MODULES:
        if inner.startswith(f"{name}."):
            key = inner[len(name) + 1 :].partition(".")[0]
            found[key] = curated(f"{name}.{key}")

    def missing(key: str) -> Any:
        problem = member_problem(name, key) or f"module {name!r} has no attribute {key!r}"
        raise AttributeError(problem, name=key, obj=copy)

    copy = ModuleType(name)
    vars(copy).update(found, __all__=sorted(found), __getattr__=missing)
    return copy


def guarded_import(
    name: str,
    globals: Any = None,
    locals: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> ModuleType | None:
    """`__import__` for tool code: import statements call it.

    So does the library's C code, called by a tool, for its own imports (`PyImport_Import` looks the
    function up in the *caller's* built-ins; `datetime.strptime` needs `_strptime` that way). It
    passes an empty list where a statement passes a tuple or None, and takes the module from
    `sys.modules` whatever is returned: so it gets its import, and the tool gets nothing.

    Every name in `fromlist` is checked here, because on a missing attribute `from x import y` falls
    back to `sys.modules["x.y"]`, which is a library module.
    """
    if type(fromlist) is list:
        importlib.import_module(name)
        return None
    problem = "tools have no packages of their own" if level else module_problem(name)
    if problem:
        raise ModuleNotFoundError(problem, name=name)
    module = curated(name)
    for key in fromlist or ():
        if key != "*" and key not in vars(module):
            problem = member_problem(name, key) or f"cannot import name {key!r} from {name!r}"
            raise ImportError(problem, name=name)
    return module if fromlist else curated(name.partition(".")[0])
