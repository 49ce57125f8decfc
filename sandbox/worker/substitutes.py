"""What tools get in place of library functions that take names as data.

A function that takes the name of an attribute, or the body of a class, as a *value* does at run
time what the compiler refused in source. Each has a stand-in here with the same result for
ordinary use. They are made when their module is first imported, so that a worker which needs
none of them does not load `dataclasses` or `enum`.
"""

from __future__ import annotations

import copy
import copyreg
import sys
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from sandbox.worker.classes import is_tool_class, kind_of, mark
from sandbox.worker.guards import for_own, is_own_function, safe_getattr, writable
from sandbox.worker.rules import METHODS, UNSAFE, refused, str_format, str_format_map

# ruff: noqa: ANN401 -- stand-ins take and give any object


def _abc() -> dict[str, Any]:
    import abc

    def abstractmethod(function: Any) -> Any:
        """The library's; it writes to the function, so that must be the tool's."""
        if type(function) is FunctionType or issubclass(type(function), type):
            writable(function)
        return abc.abstractmethod(function)

    return {"abstractmethod": abstractmethod}


def _operator() -> dict[str, Any]:
    def follow(owner: Any, path: list[str]) -> Any:
        for name in path:
            owner = safe_getattr(owner, name)
        return owner

    def attrgetter(name: str, /, *more: str) -> Callable[[Any], Any]:
        """`operator.attrgetter`, each name under the rules for names in source."""
        paths = [str.split(path, ".") for path in (name, *more)]
        if not more:
            return lambda owner, /: follow(owner, paths[0])
        return lambda owner, /: tuple(follow(owner, path) for path in paths)

    def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        """`operator.methodcaller`, likewise."""
        return lambda owner, /: safe_getattr(owner, name)(*args, **kwargs)

    return {"attrgetter": attrgetter, "methodcaller": methodcaller}


def _functools() -> dict[str, Any]:
    import functools

    def update_wrapper(wrapper: Any, wrapped: Any) -> Any:
        """The library's, without its lists of attribute names.

        With them it reads any attribute of `wrapped` and gives it to `wrapper`'s methods.
        `__wrapped__` is not set: nothing here could read it.
        """
        if not (is_own_function(wrapper) or is_tool_class(type(wrapper))):
            raise refused("update_wrapper() takes a function or an object of the tool's own")
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            if isinstance(value := getattr(wrapped, name, None), str):
                setattr(wrapper, name, value)
        if type(wrapped) is type(wrapper) is FunctionType:
            wrapper.__annotations__ = dict(wrapped.__annotations__)
        if is_own_function(wrapped):
            # Others may hold what the library copied there: all that a class has, private or not.
            vars(wrapper).update(vars(wrapped))
        return wrapper

    def wraps(wrapped: Any) -> Callable[[Any], Any]:
        return lambda wrapper, /: update_wrapper(wrapper, wrapped)

    def total_ordering(cls: Any) -> Any:
        """The library's; it writes to the class, so the class must be the tool's."""
        return functools.total_ordering(writable(cls))

    return {"total_ordering": total_ordering, "update_wrapper": update_wrapper, "wraps": wraps}


def _collections() -> dict[str, Any]:
    import collections

    _guard_copies()
    make: Any = collections.namedtuple

    def namedtuple(
        typename: str, field_names: Any, *, rename: bool = False, defaults: Any = None
    ) -> Any:
        """The library's, as a class of the tool's own, without names that `match` should not
        read: the field names become `__match_args__`.
        """
        cls = make(typename, field_names, rename=rename, defaults=defaults, module="tool")
        if unsafe := UNSAFE.intersection(cls._fields):
            raise refused(f"{min(unsafe)!r} cannot be a field")
        return mark(cls)

    return {"namedtuple": namedtuple}


def _copy() -> dict[str, Any]:
    _guard_copies()
    return {}


def _guard_copies() -> None:
    """Have the library's `copy` put objects together by `_rebuilt`, for the whole process.

    Not only for tools that import `copy`: `dataclasses.asdict` and `UserDict.copy` use it too.
    """
    # No other way in: the library calls them by these names, in every Python so far.
    copy._reconstruct = _rebuilt  # type: ignore[attr-defined]  # noqa: SLF001
    copy._deepcopy_dispatch[MethodType] = _rebound  # type: ignore[attr-defined]  # noqa: SLF001


_RECONSTRUCT: Any = copy._reconstruct  # type: ignore[attr-defined]  # noqa: SLF001
_COPY_METHOD: Any = copy._deepcopy_dispatch[MethodType]  # type: ignore[attr-defined]  # noqa: SLF001


def unguard_copies() -> None:
    """Give `copy` its own functions back, for code that runs without the policy."""
    copy._reconstruct = _RECONSTRUCT  # type: ignore[attr-defined]  # noqa: SLF001
    copy._deepcopy_dispatch[MethodType] = _COPY_METHOD  # type: ignore[attr-defined]  # noqa: SLF001


def _rebound(method: MethodType, memo: Any) -> MethodType:
    """A deep copy of a bound method: of a tool's function, bound to a copy of its object.

    One of the library's is its own copy. A memo could have it bound to any object, and so called
    with one: `__init__` with a class of the library, an enumeration's call with an empty one.
    """
    if not is_own_function(method.__func__):
        return method
    return MethodType(method.__func__, copy.deepcopy(method.__self__, memo))


def _rebuilt(
    x: Any,
    memo: Any,
    function: Any,
    arguments: Any,
    state: Any = None,
    items: Any = None,
    pairs: Any = None,
) -> Any:
    """A copy of `x` from what its `__reduce_ex__` told, without the library's trust in it.

    Bound methods and descriptors are told as `getattr(owner, name)`, and a tool can swap the name:
    through the memo (`deepcopy(f.__call__, {id("__call__"): "__globals__"})`), or as `__name__` of
    a method. They are immutable, so they are their own copies here, as is all else that is not made
    by its own type. And a class whose `__new__` gives away another object had the library set the
    attributes of that one: a field of a dataclass, whose name is pasted into source.

    The attributes of the library's objects are copied without the tool's memo, each by itself: they
    are not for the tool to set (a `partial` can have any attribute, and no guard looks at it).
    """

    def deep(value: Any) -> Any:
        return value if memo is None else copy.deepcopy(value, memo)

    def apart(value: Any) -> Any:
        return value if memo is None else copy.deepcopy(value)

    kind = type(x)
    if function is copyreg.__newobj__ or function is copyreg.__newobj_ex__:  # type: ignore[attr-defined]
        arguments = (kind, *map(deep, arguments[1:]))
    elif function is kind or function is iter or function is reversed:
        arguments = tuple(map(deep, arguments))
    else:
        return x
    made = function(*arguments)
    if memo is not None:
        memo[id(x)] = made
    if not state is items is pairs is None:
        if type(made) is not kind:
            raise refused("the copy of an object is one of the same class")
        filling = _state(state, deep if is_tool_class(kind) else apart)
        _fill(made, filling, items, pairs, deep)
    return made


def _state(state: Any, deep: Callable[[Any], Any]) -> Any:
    """The attributes for a copy; their names stay, and none stay none, whatever the memo says."""
    if type(state) is dict:
        return {name: deep(value) for name, value in state.items()}
    if type(state) is tuple:
        return tuple(_state(part, deep) for part in state)
    return None if state is None else deep(state)


def _fill(made: Any, state: Any, items: Any, pairs: Any, deep: Callable[[Any], Any]) -> None:
    """What `copy` does with the rest of what `__reduce_ex__` told."""
    if state is not None and hasattr(made, "__setstate__"):
        made.__setstate__(state)
    elif state is not None:
        attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
        if attributes:
            vars(made).update(attributes)
        for name, value in (slots or {}).items():
            setattr(made, name, value)
    for item in items or ():
        made.append(deep(item))
    for key, value in pairs or ():
        made[deep(key)] = deep(value)


def _dataclasses() -> dict[str, Any]:
    import dataclasses

    _guard_copies()
    _guard_made_methods()

    def check(cls: Any) -> Any:
        # The library pastes field names into source that it executes unrestricted. A class
        # statement can only have identifiers there; TypedDict("X", {"any text": int}) has texts.
        if not is_tool_class(cls) or issubclass(cls, dict):
            raise refused("dataclass() takes a class of the tool's own, not a dict")
        for name in vars(cls).get("__annotations__", ()):
            if type(name) is not str or not name.isidentifier() or name in UNSAFE:
                raise refused(f"{name!r} cannot be a field")
        # It also looks up the class's module, which code run from text does not have.
        module = cls.__module__
        sys.modules.setdefault(module, ModuleType(module))
        cls.__signature__ = _Told()
        return cls

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        """The library's, on classes made by a class statement."""
        if cls is None:
            return lambda cls, /: dataclass(cls, **options)
        made = mark(dataclasses.dataclass(**options)(check(cls)))
        for kind in (cls, made):
            # Another class where it has slots. All but this method was guarded before.
            written = vars(kind).get("__hash__")
            if type(written) is FunctionType and not is_own_function(written):
                kind.__hash__ = for_own(written)
        return made

    return {"dataclass": dataclass}


def _guard_made_methods() -> None:
    """Have what the library writes for a tool's dataclass take objects of the tool's own only.

    It names fields, and looks at no object that it is given. Guarded as it is put into the class,
    and not when the class is done: the library may give up before, leaves `slots=True` another
    class behind, and has code of the tool's run in between.
    """
    import dataclasses

    put: Any = dataclasses._set_new_attribute  # type: ignore[attr-defined]  # noqa: SLF001

    def put_guarded(cls: type, name: str, value: Any) -> Any:
        if is_tool_class(cls) and name in METHODS and type(value) is FunctionType:
            value.__qualname__ = f"{cls.__qualname__}.{value.__name__}"  # errors tell it
            value = for_own(value)
        return put(cls, name, value)

    # No other way in, as for copies. `__hash__` does not come by here.
    dataclasses._set_new_attribute = put_guarded  # type: ignore[attr-defined]  # noqa: SLF001


class _Told:
    """The signature that the library writes into the docstring of a dataclass that has none.

    Looking for one by itself, it evaluates what a base's docstring tells, and compares the `type`
    that makes classes with any object that stands for `__init__`.
    """

    def __get__(self, instance: object, cls: type) -> Any:
        """The signature of the function `__init__`; TypeError where it is another object."""
        import inspect

        made = next(vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base))
        if made is object.__init__:
            return inspect.Signature()
        function = inspect.unwrap(made)
        if type(function) is not FunctionType:
            raise TypeError("__init__ is no function")
        told = inspect.signature(function, follow_wrapped=False)
        return told.replace(parameters=[*told.parameters.values()][1:])


def _enum() -> dict[str, Any]:
    import enum

    class Meta(enum.EnumMeta):
        """Calls look one member up; they do not make classes.

        `Enum("X", {...}, type=Y)` makes a class from a dict with any special name in it, on any
        base, past the class statement's guard. Whether the class has members does not decide:
        the tool may write `_member_map_` of its own enumeration.
        """

        def __call__(cls, *values: Any) -> Any:  # type: ignore[override]  # the rest is refused
            if len(values) != 1:
                raise refused("an Enum is made by a class statement here")
            return super().__call__(*values)

        def __setattr__(cls, name: str, value: Any) -> None:
            """Set an attribute, but what the library makes members by, and trusts."""
            _refuse_trusted(name)
            super().__setattr__(name, value)

        def __delattr__(cls, name: str) -> None:
            """Delete an attribute, likewise: a base may have another one of the name."""
            _refuse_trusted(name)
            super().__delattr__(name)

        @classmethod
        def _find_new_(cls, *args: Any) -> Any:
            """How members are made: the library then calls `__init__` of what it is given."""
            new, *rest = super()._find_new_(*args)  # type: ignore[misc]  # private to the library

            def checked(kind: Any, *values: Any) -> Any:
                member = new(kind, *values)
                if type(member) is not kind:
                    raise refused("__new__ of an enumeration gives a member of it")
                return member

            return (new if new is object.__new__ else checked, *rest)

    made: dict[str, Any] = {}
    for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"):
        base = getattr(enum, name)
        body = Meta.__prepare__(name, (base,))
        if issubclass(base, str):  # as for classes.Text
            body |= {"format": str_format, "format_map": str_format_map}
        made[name] = Meta(name, (base,), body)
        made[name].__module__ = "enum"
        made[name].__qualname__ = name
    return made


def _refuse_trusted(name: str) -> None:
    if name in ("_new_member_", "_member_type_"):
        raise refused(f"{name!r} of an enumeration is how the library makes its members")


def _typing() -> dict[str, Any]:
    def final(thing: Any) -> Any:
        """A note to a type checker; the library's writes it on the object."""
        return thing

    # typing.Type holds the real `type`.
    return {"Type": kind_of(type), "final": final, "overload": final, "override": final}


SUBSTITUTES: dict[str, Callable[[], dict[str, Any]]] = {
    "abc": _abc,
    "collections": _collections,
    "copy": _copy,
    "dataclasses": _dataclasses,
    "enum": _enum,
    "functools": _functools,
    "operator": _operator,
    "typing": _typing,
}
"""Module to the function that makes its stand-ins."""
