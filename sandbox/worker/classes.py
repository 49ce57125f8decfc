"""Classes under the policy: which are the tool's own, what they may derive from, what `type` is.

A class that tool code made carries a mark that no source can spell. It is what the guards go by:
a tool may do with its own classes and their instances what it must not do with the library's.
"""

from __future__ import annotations

import builtins
import typing
from collections.abc import Callable
from types import (
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GenericAlias,
    ModuleType,
    TracebackType,
)
from typing import Any

from sandbox.worker.rules import MARK, SIGNATURE, TOKEN, refused, str_format, str_format_map

# ruff: noqa: ANN401 -- a guard takes and gives any object


def is_tool_class(kind: Any) -> bool:
    """Whether `kind` is a class that tool code made, or derives from one.

    An instance is none, although it has what its class has.
    """
    return issubclass(type(kind), type) and getattr(kind, MARK, None) is TOKEN


def mark(kind: Any) -> Any:
    """Sign a class that a library function made for the tool.

    A class statement signs its class by itself, with a line that the transformer puts first in
    the body: an enumeration makes its members, with the tool's `__init__`, before any guard
    could sign it.
    """
    setattr(kind, MARK, SIGNATURE)
    return kind


_REVIEWED: dict[str, str] = {
    "abc": "ABC",
    "builtins": ("object int float complex str bytes bytearray tuple list dict set frozenset"),
    # Without UserString: its `format` is the library's own call of `str.format`.
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "collections.abc": (
        "Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView "
        "Mapping MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set "
        "Sized ValuesView"
    ),
    "datetime": "date datetime time timedelta tzinfo",
    "decimal": "Decimal",
    "enum": "Enum Flag IntEnum IntFlag StrEnum",
    "fractions": "Fraction",
    "json.encoder": "JSONEncoder",
    "numbers": "Number Complex Real Rational Integral",
    "typing": "Generic",
}
_BASES = {f"{module}.{name}" for module, names in _REVIEWED.items() for name in names.split()}
"""Library classes that tools may derive from. An instance of a tool's class may use private
names, so the private names of these were looked at (tests/sandbox/test_policy.py walks them)."""


_GENERIC: Any = typing.Generic
_ALIASES = (GenericAlias, type(_GENERIC[typing.AnyStr]))  # list[int]; Generic[T], Dict[str, int]


class Text(str):
    """Stands in for `str` among a class's bases.

    A dataclass with a field named `format` that also derives from `str` would have `asdict`, its
    `__eq__` and `match` fetch the real method, with no guard between.
    """

    __slots__ = ()
    format = str_format
    format_map = str_format_map  # type: ignore[assignment]


Text.__module__, Text.__name__, Text.__qualname__ = "builtins", "str", "str"


def build_class(body: Callable[[], Any], name: str, /, *bases: Any, **keywords: Any) -> Any:
    """The class statement: no metaclass, and reviewed bases only.

    A metaclass is code that runs in place of `type`; with one, a tool could answer
    `isinstance` for foreign objects. A class deriving from an exception group could answer
    `split` with what the interpreter does not expect (CVE-2025-22153).
    """
    # A key of the tool's own kind of text could be another one when Python looks.
    if "metaclass" in keywords or any(type(key) is not str for key in keywords):
        raise refused("a class cannot choose its metaclass")
    for base in bases:
        _check_base(base)
    safe = [Text if _origin(base) is str else base for base in bases]
    return builtins.__build_class__(body, name, *safe, **keywords)


def _origin(base: Any) -> Any:
    """What a parametrised base stands for: Generic[T], dict[str, int], Annotated[str, ...]."""
    return base.__origin__ if issubclass(type(base), _ALIASES) else base


def _check_base(base: Any) -> None:
    if base is typing.NamedTuple or base is typing.TypedDict:
        return
    base = _origin(base)
    if issubclass(type(base), type) and (is_tool_class(base) or is_reviewed(base)):
        return
    raise refused(f"a class cannot derive from {getattr(base, '__name__', 'this object')!r}")


def is_reviewed(base: type) -> bool:
    """Whether tools may derive from this library class, and name its `__init__`."""
    if issubclass(base, BaseException):
        return not issubclass(base, BaseExceptionGroup)
    if issubclass(base, tuple) and hasattr(base, "_fields"):  # NamedTuple("P", [("x", int)])
        return True
    return f"{base.__module__}.{base.__qualname__}" in _BASES


class _TypeMeta(type):
    """Makes a class that stands for `type`: called with one object it tells the object's type."""

    def __call__(cls, *args: Any) -> Any:
        if len(args) != 1:
            raise refused("type() takes one object here; write a class statement")
        return kind_of(args[0])

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, type)

    def __repr__(cls) -> str:
        return "<class 'type'>"


class Type(metaclass=_TypeMeta):
    """The tools' `type`. The real one called with three arguments makes classes unseen."""

    __slots__ = ()
    __class_getitem__: Any = classmethod(GenericAlias)


Type.__name__ = Type.__qualname__ = "type"


class _StandInMeta(type):
    """Makes a class that stands for one of the interpreter's own, and makes no instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"cannot create {cls.__name__!r} instances")

    def __instancecheck__(cls, instance: Any) -> bool:
        return _STAND_INS.get(type(instance)) is cls

    def __repr__(cls) -> str:
        return f"<class {cls.__name__!r}>"


_STAND_INS: dict[type, type] = {
    kind: _StandInMeta(kind.__name__, (), {"__slots__": ()})
    for kind in (CellType, CodeType, FrameType, FunctionType, ModuleType, TracebackType)
}
"""`type(f)` makes functions out of code objects, and so on. Code objects are out of reach; these
are the second lock on that door."""


def kind_of(owner: Any, /) -> Any:
    """`type(owner)`; every metaclass is shown as the harmless `type`."""
    kind = type(owner)
    if issubclass(kind, type):
        return Type
    return _STAND_INS.get(kind, kind)
