"""What transformed code calls while it runs: the guards, and the built-ins tools are given.

Guards judge by `type(x)`, never by `isinstance` or `x.__class__`: those can be made to lie.
None takes a parameter that tools could use against it, and none keeps state, so one set serves
every namespace.

What is *not* guarded, and why that is safe here although RestrictedPython guards it: iterating,
unpacking, calling, reading and writing items. Its guards exist so that Zope can refuse some
objects to some users. Here a tool may use every object it can reach; the policy decides what it
can reach. Items reach only what the tool itself put in, and writing an item changes a container
that the tool can name: its own, in a process that ends with the call.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, cast

from sandbox.worker.classes import Type, build_class, is_reviewed, is_tool_class, kind_of
from sandbox.worker.rules import (
    GETATTR,
    GUARDED,
    INITIAL,
    INITIALS,
    MARK,
    NAMEDTUPLE_API,
    PRIVATE,
    SIGN,
    SIGNATURE,
    TOKEN,
    TYPE,
    UPDATE,
    WRITE,
    is_private,
    read_problem,
    refused,
    str_format,
    str_format_map,
    write_problem,
)

# ruff: noqa: ANN401 -- a guard takes and gives any object


# -- reading -----------------------------------------------------------------------------------


def private(owner: Any, name: str) -> Any:
    """`owner`, if its attribute `name`, which begins with one underscore, may be used.

    Underscore names are a convention, and behind them libraries keep what they did not mean to
    give: `random._os`, `EnumMeta._create_` (a class from a dict, with any special name in it).
    So they may be used on what the tool made itself, and for `namedtuple`'s public methods.
    """
    kind = type(owner)
    if getattr(kind, MARK, None) is TOKEN or _private_elsewhere(owner, kind, name):
        return owner
    raise refused(f"attribute {name!r} is private to a library")


def _private_elsewhere(owner: Any, kind: type, name: str) -> bool:
    if issubclass(kind, type):
        # Not what the metaclass adds: that is `EnumMeta._create_`.
        own = any(name in vars(base) for base in type.__getattribute__(owner, "__mro__"))
        return own and (is_tool_class(owner) or (issubclass(owner, tuple) and _is_api(name)))
    if kind is super:
        # Looks only into the dicts of classes, never into a metaclass.
        return is_tool_class(object.__getattribute__(owner, "__thisclass__"))
    return is_own_function(owner) or (issubclass(kind, tuple) and _is_api(name))


def is_own_function(function: Any) -> bool:
    """Whether it is a function that tool code defined."""
    return type(function) is FunctionType and MARK in function.__globals__


def _is_api(name: str) -> bool:
    return name in NAMEDTUPLE_API


def initial(owner: Any, name: str) -> Any:
    """One of `INITIALS` of `owner`, if it may be named: of `super()`, or of a base by name."""
    kind = type(owner)
    if getattr(kind, MARK, None) is not TOKEN:
        if kind is super:
            allowed = is_tool_class(object.__getattribute__(owner, "__thisclass__"))
        else:
            allowed = issubclass(kind, type) and (is_tool_class(owner) or is_reviewed(owner))
        if not allowed:
            raise refused("__init__ and __new__ belong to the tool's own classes and their bases")
    value = getattr(owner, name)
    if name == "__init__" and type(value) is FunctionType and MARK not in value.__globals__:
        return for_own(value)
    return value


def for_own(method: FunctionType) -> FunctionType:
    """A method that no guard went through, for objects of the tool's own classes only.

    Called by its class with another object, it would set or read that one's attributes. They may
    have names of the tool's choice: fields of a dataclass.
    """

    @functools.wraps(method)
    def checked(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not is_tool_class(type(self)):
            raise refused(f"{method.__name__}() takes an object of the tool's own classes")
        return method(self, *args, **kwargs)

    # What was wrapped before shows the method itself: `pprint` looks there for dataclasses.
    checked.__wrapped__ = getattr(method, "__wrapped__", method)
    return cast("FunctionType", checked)


def read_guarded(owner: Any, name: str) -> Any:
    """The value of one of the names in `GUARDED`, made safe or refused.

    The value decides and not the owner, so that `super().format` and `map(str.format, ...)` end
    here as well.
    """
    value: Any = getattr(owner, name)
    if type(value) is BuiltinMethodType and value.__name__ in ("format", "format_map"):
        text: Any = value.__self__
        if issubclass(type(text), str):
            return _bound_format(text, value.__name__)
        return value
    if value is _FORMAT or value is _FORMAT_MAP:
        return str_format if value is _FORMAT else str_format_map
    if name == "obj" and not _is_own(owner):
        raise refused("attribute 'obj' of an exception may belong to a library")
    if type(value) is MethodType and value.__func__ is _REGISTER:
        raise refused("foreign classes cannot be registered as subclasses")
    return value


def _is_own(owner: Any) -> bool:
    """Whether an object is of the tool's making. Not an alias: it hands on what it stands for."""
    kind = type(owner)
    if issubclass(kind, type):
        return is_tool_class(owner)
    if is_own_function(owner):
        return True
    return is_tool_class(kind) or kind is super or issubclass(kind, tuple)


def _bound_format(template: str, name: str) -> Callable[..., str]:
    """`template.format`, checked when called; bound to this text and to nothing else."""
    if name == "format_map":
        return lambda mapping, /: str_format_map(template, mapping)
    return lambda *args, **kwargs: str_format(template, *args, **kwargs)


def safe_getattr(owner: Any, name: str, /, *default: Any) -> Any:
    """`getattr` under the rules that hold for names in source."""
    if type(name) is not str:  # a subclass could answer the checks with another text
        raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
    if name == "__class__":
        return kind_of(owner)
    if problem := read_problem(name):
        raise refused(problem)
    if is_private(name):
        owner = private(owner, name)
    elif name in GUARDED or name in INITIALS:
        try:
            return (read_guarded if name in GUARDED else initial)(owner, name)
        except AttributeError:
            if not default:
                raise
    return getattr(owner, name, *default)


def safe_vars(owner: Any, /) -> dict[str, Any]:
    """A copy of the attributes of one of the tool's own objects, to read."""
    if not is_tool_class(type(owner)):
        raise refused("vars() shows the attributes of objects of the tool's own classes only")
    return dict(vars(owner))


def safe_dir(owner: Any, /) -> list[str]:
    """`dir` of an object: names, which give nothing away. Without one it would need a frame."""
    return [name for name in dir(owner) if name != MARK]


# -- writing -----------------------------------------------------------------------------------


def writable(owner: Any) -> Any:
    """`owner`, if its attributes may be set: it is of the tool's making, or a decimal context.

    Modules, classes and functions of the library stay as they are, for whatever of ours runs
    later in the same process. `getcontext().prec = 30` is how `decimal` is meant to be used.
    """
    kind = type(owner)
    if getattr(kind, MARK, None) is TOKEN:
        return owner
    if issubclass(kind, type):
        allowed = is_tool_class(owner)
    else:
        decimal = sys.modules.get("decimal")
        allowed = is_own_function(owner) or (decimal is not None and kind is decimal.Context)
    if not allowed:
        raise refused(f"attributes of a library's {kind.__name__!r} object cannot be set")
    return owner


def updatable(owner: Any, name: str) -> Any:
    """`owner`, if `owner._name += ...` may first read and then write."""
    return writable(private(owner, name))


def _owner_to_write(owner: Any, name: str) -> Any:
    if type(name) is not str:
        raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
    if problem := write_problem(name):
        raise refused(problem)
    return writable(owner)


def safe_setattr(owner: Any, name: str, value: Any, /) -> None:
    """`setattr` under the rules that hold for names in source."""
    setattr(_owner_to_write(owner, name), name, value)


def safe_delattr(owner: Any, name: str, /) -> None:
    """`delattr`, likewise."""
    delattr(_owner_to_write(owner, name), name)


# -- built-ins ---------------------------------------------------------------------------------


def silent_print(*values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, **_: Any) -> None:
    """`print` to nowhere, or to a text buffer of the tool's own.

    The values are not even turned into text: nobody would read it.
    """
    if file is not None:
        builtins.print(*values, sep=sep, end=end, file=file)


_PLAIN = (
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod "
    "enumerate filter float format frozenset hasattr hash hex id int isinstance issubclass iter "
    "len list map max min next object oct ord pow property range repr reversed round set slice "
    "sorted staticmethod str sum super tuple zip Ellipsis NotImplemented True False None"
)
"""As Python has them. `hasattr` tells yes or no about any name, which gives nothing away;
`__len__` and `__iter__` are what honest code asks for."""


def _exceptions() -> dict[str, Any]:
    """All but the groups.

    `SystemExit` and its like may be raised: the worker catches them all, and its time limits are
    signals, which no `except` holds up.
    """
    return {
        name: kind
        for name, kind in vars(builtins).items()
        if isinstance(kind, type)
        and issubclass(kind, BaseException)
        and not issubclass(kind, BaseExceptionGroup)
    }


def tool_builtins(import_: Callable[..., Any]) -> dict[str, Any]:
    """The template of every namespace's `__builtins__`."""
    return {
        **{name: getattr(builtins, name) for name in _PLAIN.split()},
        **_exceptions(),
        "delattr": safe_delattr,
        "dir": safe_dir,
        "getattr": safe_getattr,
        "print": silent_print,
        "setattr": safe_setattr,
        "type": Type,
        "vars": safe_vars,
        "__build_class__": build_class,
        "__import__": import_,
        GETATTR: read_guarded,
        INITIAL: initial,
        PRIVATE: private,
        SIGN: SIGNATURE,
        TYPE: kind_of,
        UPDATE: updatable,
        WRITE: writable,
    }


def _register() -> Any:
    from abc import ABCMeta

    return ABCMeta.register


_FORMAT, _FORMAT_MAP, _REGISTER = str.format, str.format_map, _register()
