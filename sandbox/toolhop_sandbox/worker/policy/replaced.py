"""Checked replacements of library functions that take names or source as data.

A function that takes an attribute's name as a *value* does at run time what the compiler refused in
source. Each replacement checks its arguments and calls the library's function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

from toolhop_sandbox.worker.policy.guards import Type, is_own, safe_getattr, writable
from toolhop_sandbox.worker.policy.names import MODULE, PolicyViolation, write_problem

# ruff: noqa: ANN401 -- they take and give any object


def _copy() -> dict[str, Any]:
    import copy

    def deepcopy(x: Any) -> Any:
        """Omit the memo, in which the library trusts any entry as a copied part, even a name."""
        return copy.deepcopy(x)

    return {"deepcopy": deepcopy}


def _operator() -> dict[str, Any]:
    def follow(owner: Any, path: str) -> Any:
        for name in str.split(path, "."):
            owner = safe_getattr(owner, name)
        return owner

    def attrgetter(path: str, /, *more: str) -> Callable[[Any], Any]:
        if not more:
            return lambda owner, /: follow(owner, path)
        return lambda owner, /: tuple(follow(owner, one) for one in (path, *more))

    def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        return lambda owner, /: safe_getattr(owner, name)(*args, **kwargs)

    return {"attrgetter": attrgetter, "methodcaller": methodcaller}


def _functools() -> dict[str, Any]:
    import functools

    def update_wrapper(wrapper: Any, wrapped: Any) -> Any:
        """Omit the lists of names, with which any attribute of `wrapped` could be copied."""
        return functools.update_wrapper(writable(wrapper), wrapped)

    def wraps(wrapped: Any) -> Callable[[Any], Any]:
        return lambda wrapper, /: update_wrapper(wrapper, wrapped)

    return {"update_wrapper": update_wrapper, "wraps": wraps}


def _dataclasses() -> dict[str, Any]:
    import dataclasses
    import typing

    # If annotations are texts, the library looks up their meaning in the class's module. No
    # tool can reach this one, where the names that `dataclass` looks for have their usual meaning.
    module = sys.modules.setdefault(MODULE, ModuleType(MODULE))
    vars(module).update(
        ClassVar=typing.ClassVar,
        InitVar=dataclasses.InitVar,
        KW_ONLY=dataclasses.KW_ONLY,
        dataclasses=dataclasses,
        typing=typing,
    )

    def check(cls: Any) -> Any:
        """Check the names of all fields, as the library pastes them into source that it runs."""
        if not (issubclass(type(cls), type) and is_own(cls)):
            raise PolicyViolation("dataclass() takes a class of the tool's own")
        names = list(vars(cls).get("__annotations__", ()))
        for base in cls.__mro__:
            names += [one.name for one in vars(base).get("__dataclass_fields__", {}).values()]
        for name in names:
            if type(name) is not str or write_problem(name):
                raise PolicyViolation(f"{name!r} cannot be a field of a dataclass")
        return cls

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        if cls is None:
            return lambda cls, /: dataclasses.dataclass(**options)(check(cls))
        return dataclasses.dataclass(check(cls), **options)

    return {"dataclass": dataclass}


def _typing() -> dict[str, Any]:
    return {"Type": Type}  # typing.Type holds the real `type`


REPLACED: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "copy": _copy,
    "dataclasses": _dataclasses,
    "functools": _functools,
    "operator": _operator,
    "typing": _typing,
}
"""Functions that build a module's replacements; a worker loads only what it needs."""
