"""The run-time half of the policy: guards called by transformed code, and the tools' built-ins.

Guards check `type(x)`, never `isinstance` or `x.__class__`, which can be made to lie. None has
state, so one set serves every namespace. The names in angle brackets are not identifiers, so tool
code can neither call nor shadow them. (An argument that shadowed a guard was an escape from
RestrictedPython before 8.3.)

Iterating, unpacking, calling and items are *not* guarded. RestrictedPython's guards for these let
Zope refuse some objects to some users. Here a tool may use every object that it can reach; the
policy limits what it can reach.
"""

from __future__ import annotations

import builtins
from abc import ABCMeta
from collections.abc import Callable, Mapping
from types import BuiltinMethodType, FunctionType, GenericAlias, MethodType, ModuleType
from typing import Any, Final

from toolhop_sandbox.worker.policy.names import (
    GUARDED,
    MODULE,
    PolicyViolation,
    is_private,
    read_problem,
    write_problem,
)
from toolhop_sandbox.worker.policy.templates import bound, str_format, str_format_map

# ruff: noqa: ANN401 -- a guard takes and gives any object

READ: Final = "<read>"
PRIVATE: Final = "<private>"
WRITE: Final = "<write>"
TYPE: Final = "<type>"


def is_own(owner: Any) -> bool:
    """Whether tool code made an object: a class, its instance, a function, or its `super()`."""
    kind: Any = type(owner)
    if kind is FunctionType:
        return bool(owner.__globals__.get("__name__") == MODULE)
    if kind is super:
        kind = object.__getattribute__(owner, "__thisclass__")
    elif issubclass(kind, type):
        kind = owner
    return bool(kind.__module__ == MODULE)


# -- reading -----------------------------------------------------------------------------------


def private(owner: Any, name: str) -> Any:
    """Return `owner` if its attribute `name`, which begins with an underscore, may be used.

    Underscore names are a convention for what libraries did not mean to expose. They may be used on
    objects that the tool made itself.
    """
    if type(owner).__module__ == MODULE or is_own(owner):
        return owner
    raise PolicyViolation(f"attribute {name!r} is private to a library: use its public names")


def read_guarded(owner: Any, name: str) -> Any:
    """Return the value of an attribute in `GUARDED`, made safe, or refuse it.

    The decision depends on the value, not the owner, so that it also covers `super().format` and
    `map(str.format, ...)`.
    """
    if name == "obj" and issubclass(type(owner), AttributeError):
        raise PolicyViolation("attribute 'obj' of an error may belong to a library: use str(error)")
    value: Any = getattr(owner, name)
    if type(value) is BuiltinMethodType and value.__name__ in ("format", "format_map"):
        text: Any = value.__self__
        return bound(text, value.__name__) if issubclass(type(text), str) else value
    if value is _FORMAT or value is _FORMAT_MAP:
        return str_format if value is _FORMAT else str_format_map
    if type(value) is MethodType and value.__func__ is _REGISTER:
        raise PolicyViolation("foreign classes cannot be registered as subclasses: derive a class")
    return value


_FORMAT, _FORMAT_MAP, _REGISTER = str.format, str.format_map, ABCMeta.register


def safe_getattr(owner: Any, name: str, /, *default: Any) -> Any:
    """`getattr` under the rules for names in source."""
    if type(name) is not str:  # a subclass could show the checks another text
        raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
    if name == "__class__":
        return kind_of(owner)
    if problem := read_problem(name):
        raise PolicyViolation(problem)
    if is_private(name):
        owner = private(owner, name)
    elif name in GUARDED:
        try:
            return read_guarded(owner, name)
        except AttributeError:
            if not default:
                raise
    return getattr(owner, name, *default)


def safe_vars(owner: Any, /) -> dict[str, Any]:
    """Return a copy of the attributes of one of the tool's own objects."""
    if issubclass(type(owner), type) or not is_own(owner):
        raise PolicyViolation("vars() takes an object of the tool's own classes: use getattr")
    return dict(vars(owner))


# -- writing -----------------------------------------------------------------------------------


def writable(owner: Any) -> Any:
    """Return `owner` if its attributes may be set, unlike a library's modules or classes.

    They must not change for our code that runs later in the same process. Objects of `typing` are
    refused too, as they set attributes on the class that they stand for.
    """
    kind = type(owner)
    if kind.__module__ == MODULE:
        return owner
    shared = issubclass(kind, _SHARED) or kind.__module__ == "typing"
    if shared and not is_own(owner):
        raise PolicyViolation(
            f"attributes of a library's {kind.__name__!r} object cannot be set: set your own"
        )
    return owner


_SHARED = (type, ModuleType, FunctionType, GenericAlias)


def _owner_to_write(owner: Any, name: str) -> Any:
    if type(name) is not str:
        raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
    if problem := write_problem(name):
        raise PolicyViolation(problem)
    return writable(private(owner, name) if is_private(name) else owner)


def safe_setattr(owner: Any, name: str, value: Any, /) -> None:
    """`setattr` under the rules for names in source."""
    setattr(_owner_to_write(owner, name), name, value)


def safe_delattr(owner: Any, name: str, /) -> None:
    """`delattr` under the rules for names in source."""
    delattr(_owner_to_write(owner, name), name)


# -- classes -----------------------------------------------------------------------------------


class _TypeMeta(type):
    """Metaclass of a substitute for `type`, which returns the type of one object."""

    def __call__(cls, *args: Any) -> Any:
        if len(args) != 1:
            raise PolicyViolation("type() takes one object here: write a class statement")
        return kind_of(args[0])

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, type)

    def __repr__(cls) -> str:
        return "<class 'type'>"


class Type(metaclass=_TypeMeta):
    """The tools' `type`. The real one, given three arguments, makes classes unchecked."""

    __slots__ = ()
    __class_getitem__: Any = classmethod(GenericAlias)


Type.__name__ = Type.__qualname__ = "type"


def kind_of(owner: Any, /) -> Any:
    """Return `type(owner)`, with every metaclass replaced by the harmless `type`.

    The types of bound methods and generic aliases are refused: when called, they wrap any object,
    which then passes for something else (`copy` looks up a method's name on the object it is bound
    to).
    """
    kind = type(owner)
    if issubclass(kind, type):
        return Type
    if kind is MethodType or kind is GenericAlias or kind.__module__ == "typing":
        raise PolicyViolation(f"type() of a {kind.__name__!r} object is not available to tools")
    return kind


def build_class(body: Callable[[], Any], name: str, /, *bases: Any, **keywords: Any) -> Any:
    """Execute the class statement, without a choice of metaclass.

    A metaclass runs code in place of `type`; with one, a tool could answer `isinstance` for foreign
    objects.
    """
    # A key of a tool's str subclass could turn into another one when Python compares it.
    if "metaclass" in keywords or any(type(key) is not str for key in keywords):
        raise PolicyViolation("a class cannot choose its metaclass: use a class decorator")
    if any(base is Type or getattr(base, "__origin__", None) is Type for base in bases):
        raise PolicyViolation("a class cannot derive from 'type': use a class decorator")
    return builtins.__build_class__(body, name, *bases, **keywords)


# -- built-ins ---------------------------------------------------------------------------------


def silent_print(*values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, **_: Any) -> None:
    """`print` to nowhere, or to a text buffer of the tool's own.

    Values printed to nowhere are not even converted to text.
    """
    if file is not None:
        builtins.print(*values, sep=sep, end=end, file=file)


GUARDS: Final[Mapping[str, object]] = {
    READ: read_guarded,
    PRIVATE: private,
    WRITE: writable,
    TYPE: kind_of,
    "getattr": safe_getattr,
    "setattr": safe_setattr,
    "delattr": safe_delattr,
    "vars": safe_vars,
    "type": Type,
    "__build_class__": build_class,
}
"""The guards by the names under which code reaches them; `modules` has the import guard."""

_PLAIN = (
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict dir divmod "
    "enumerate filter float format frozenset hasattr hash hex id int isinstance issubclass iter "
    "len list map max min next object oct ord pow property range repr reversed round set slice "
    "sorted staticmethod str sum super tuple zip Ellipsis NotImplemented True False None"
)
"""Unchanged built-ins. `hasattr` answers only yes or no about any name, which reveals nothing;
honest code asks for `__len__` and `__iter__`."""


def _exceptions() -> dict[str, Any]:
    """Return all exceptions but groups: overriding `split` crashes Python (CVE-2025-22153).

    `SystemExit` and its like may be raised: the worker catches them all, and its time limits are
    signals, which no `except` can stop.
    """
    return {
        name: kind
        for name, kind in vars(builtins).items()
        if isinstance(kind, type)
        and issubclass(kind, BaseException)
        and not issubclass(kind, BaseExceptionGroup)
    }


def tool_builtins(guards: Mapping[str, object]) -> dict[str, Any]:
    """Return a namespace's `__builtins__` with these guards."""
    plain = {name: getattr(builtins, name) for name in _PLAIN.split()}
    return {**plain, **_exceptions(), "print": silent_print, **guards}
