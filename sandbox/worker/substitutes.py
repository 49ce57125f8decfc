"""What tools get in place of library functions that take names as data.

A function that takes the name of an attribute, or the body of a class, as a *value* does at run
time what the compiler refused in source. Each has a stand-in here with the same result for
ordinary use. They are made when their module is first imported, so that a worker which needs
none of them does not load `dataclasses` or `enum`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from sandbox.worker.classes import is_tool_class, kind_of, mark
from sandbox.worker.copies import guard_copies
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

    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
        """The library's, but for keys with types in them."""
        by_type = typed and not callable(maxsize)
        return _cache_by_type(maxsize) if by_type else functools.lru_cache(maxsize)

    def total_ordering(cls: Any) -> Any:
        """The library's; it writes to the class, so the class must be the tool's."""
        return functools.total_ordering(writable(cls))

    return {
        "lru_cache": lru_cache,
        "total_ordering": total_ordering,
        "update_wrapper": update_wrapper,
        "wraps": wraps,
    }


def _cache_by_type(maxsize: Any) -> Callable[[Any], Any]:
    """`lru_cache(typed=True)`, with the types in a place that no argument can have.

    The library's keys hold them behind the arguments. One with a keyword and one without can be of
    one length: then a type is compared with an argument, and a tool's has the real `type`.
    """
    import functools

    def decorate(function: Any) -> Any:
        def called(_: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        cached: Any = functools.lru_cache(maxsize)(called)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return cached(tuple(map(kind_of, (*args, *kwargs.values()))), *args, **kwargs)

        vars(wrapper).update(
            cache_clear=cached.cache_clear,
            cache_info=cached.cache_info,
            cache_parameters={"maxsize": maxsize, "typed": True}.copy,
        )
        return wrapper

    return decorate


def _collections() -> dict[str, Any]:
    import collections

    guard_copies()
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
    guard_copies()
    return {}


def _dataclasses() -> dict[str, Any]:
    import dataclasses

    guard_copies()
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
        for kind in {cls, made}:
            # Two classes where it has slots. All but this method was guarded before.
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
