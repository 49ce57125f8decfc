"""The rules for names that the transformer and the guards share.

Nearly every published escape from a restricted Python spells the name of an attribute that leads
from a harmless object to its interior (`__globals__`, `gi_frame`, `tb_frame`, a template for
`str.format` that spells it). Names in source are known at compile time, so they are checked once,
at that time, and ordinary attribute access stays plain bytecode. What is left for run time: names
that arrive as text, names with an underscore, and a few names that are harmless on most objects
(`GUARDED`).
"""

from __future__ import annotations

from collections.abc import Iterable
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    TracebackType,
)
from typing import Final

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

MODULE: Final = "tool"
"""`__name__` of tool code. A class or function with this module was made by the tool: no source
can set `__module__`, and no library module has this name."""


class PolicyViolation(Exception):
    """The policy refuses the source, or a step that the running code attempted.

    At run time every refusal is this exception, except that of an import: code that can do without
    an optional module expects `ImportError`.
    """

    def __init__(self, problems: Iterable[tuple[int, str]] | str) -> None:
        # A text if `enum` re-raises an exception of a class statement, since Python 3.12.
        self.problems = ((0, problems),) if isinstance(problems, str) else tuple(problems)
        """Pairs of a source line (0 if unknown) and the problem there."""
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "; ".join(f"line {line}: {text}" if line else text for line, text in self.problems)


def _inner_names() -> frozenset[str]:
    """Return the names by which frames, code and suspended functions expose the interpreter.

    The running interpreter's types are examined too, so that what a new Python adds (3.14 added
    `f_generator`) is refused before anyone reviews it. Whole prefixes are not refused: `f_score`
    and `co_author` are honest names.
    """
    prefixes: dict[type, str] = {
        FrameType: "f_",
        CodeType: "co_",
        TracebackType: "tb_",
        GeneratorType: "gi_",
        CoroutineType: "cr_",
        AsyncGeneratorType: "ag_",
    }
    found = {
        name for kind, start in prefixes.items() for name in dir(kind) if name.startswith(start)
    }
    return frozenset(found | INSPECT_ATTRIBUTES)


INNER: Final = _inner_names() | {
    "mro",  # a class's bases up to object
    "with_traceback",  # plants a traceback; reading one is refused anyway
    # These make `isinstance`, and with it `match`, accept a foreign object for a class.
    "_abc_impl",
    "_is_runtime_protocol",
    "_create_",  # of enum's metaclass: makes a class from a dict, with any special method
}
"""Names without double underscores that nothing may read or write."""

GUARDED: Final = frozenset({"format", "format_map", "obj", "register"})
"""Attributes that are harmless on most objects and harmful on a few, so that the value decides:
`str.format` walks attributes by template (CVE-2023-41039), `AttributeError.obj` exposes the
object that a library was inspecting (CVE-2024-47532), and `ABCMeta.register` makes `isinstance`,
and with it `match`, accept a foreign object as an instance of a tool's class."""

_BINARY = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor"
_OTHERS = (
    "init new post_init init_subclass class_getitem call repr str bytes format hash "
    "eq ne lt le gt ge bool int float complex index round trunc floor ceil "
    "neg pos abs invert len length_hint getitem setitem delitem missing iter next "
    "reversed contains enter exit copy"
)
METHODS: Final = frozenset(
    f"__{name}__"
    for name in (
        *_OTHERS.split(),
        *(prefix + name for prefix in ("", "r", "i") for name in _BINARY.split()),
    )
)
"""Special methods that classes may define and code may name, as in `super().__init__()`.

Left out, with the reasons:

- `__getattr__`, `__getattribute__`, `__setattr__`, `__delattr__`: intercept the library's access
  to an object's attributes.
- `__deepcopy__`, `__reduce__`, `__reduce_ex__`, `__getstate__`, `__setstate__`, `__getnewargs__`:
  `copy` calls what they return and sets any attribute on it, or hands them its memo.
- `__instancecheck__`, `__subclasscheck__`, `__subclasshook__`, `__mro_entries__`, `__prepare__`,
  `__match_args__`, `__annotations__`: forge what `match`, class statements and `dataclass` read.
- `__del__`: runs at unpredictable times.
"""
_DESCRIPTORS = frozenset({"__get__", "__set__", "__delete__", "__set_name__"})
_MODULE_FACTS = frozenset({"__all__", "__author__", "__date__", "__license__", "__version__"})
BINDABLE: Final = METHODS | _DESCRIPTORS | _MODULE_FACTS | {"__slots__"}
"""Names with double underscores that a source may bind. Descriptors may be defined but not read:
`X.name.__set__(other, 1)` would bypass the write guard."""
TEXTS: Final = frozenset({"__name__", "__qualname__", "__doc__"})
"""Names readable on any object: on types, functions and modules they are texts."""
_FACTS: Final = frozenset({"__members__"})
"""Readable, but not settable: on an enumeration it is a read-only mapping of its members."""
_NAMEDTUPLE_API = frozenset({"_asdict", "_field_defaults", "_fields", "_make", "_replace"})


def is_dunder(name: str) -> bool:
    """Whether Python itself may give the name a meaning."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_private(name: str) -> bool:
    """Whether a name is private by convention only: `_total` and `__total`, but not `_`."""
    return (
        name.startswith("_") and name != "_" and not is_dunder(name) and name not in _NAMEDTUPLE_API
    )


def read_problem(name: str) -> str | None:
    """Return why code may not read this attribute, on any object; None if it may."""
    if name in INNER or (is_dunder(name) and name not in METHODS | TEXTS | _FACTS):
        instead = {"__dict__": ": use vars(x)", "__class__": "; use type(x)"}.get(name, "")
        return f"attribute {name!r} leads into the interpreter and cannot be read{instead}"
    return None


def write_problem(name: str) -> str | None:
    """Return why code may not set or delete this attribute, on any object; None if it may."""
    if name in INNER or (is_dunder(name) and name not in TEXTS) or not name.isidentifier():
        return f"attribute {name!r} belongs to Python and cannot be set or deleted"
    return None
