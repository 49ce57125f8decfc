"""What `copy` does under the policy: plain data and the tool's own objects, without trust.

`copy` rebuilds an object by names that the object itself gives, and by what a memo holds for the
parts: both are the tool's to choose.
"""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Callable
from types import MethodType
from typing import Any

from sandbox.worker.classes import is_tool_class
from sandbox.worker.guards import is_own_function
from sandbox.worker.rules import refused

# ruff: noqa: ANN401 -- copies are of any object

_RECONSTRUCT: Any = copy._reconstruct  # type: ignore[attr-defined]  # noqa: SLF001
_COPY_METHOD: Any = copy._deepcopy_dispatch[MethodType]  # type: ignore[attr-defined]  # noqa: SLF001


def guard_copies() -> None:
    """Have the library's `copy` put objects together by `_rebuilt`, for the whole process.

    Not only for tools that import `copy`: `dataclasses.asdict` and `UserDict.copy` use it too.
    """
    # No other way in: the library calls them by these names, in every Python so far.
    copy._reconstruct = _rebuilt  # type: ignore[attr-defined]  # noqa: SLF001
    copy._deepcopy_dispatch[MethodType] = _rebound  # type: ignore[attr-defined]  # noqa: SLF001


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
