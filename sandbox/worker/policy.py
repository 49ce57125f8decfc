"""The policy that tool code is compiled and run under: the second wall, inside the container.

    code = compile_restricted(source)
    namespace = restricted_globals()
    exec(code, namespace)

`transformer` judges the source (`syntax` helps it), `guards` and `classes` stand in the built-ins,
`modules` is the import allow-list, `substitutes` replaces library functions that take names as
data, and `rules` is what all of them share. docs/policy.md tells what is allowed and refused, and
what the policy does *not* stop: a namespace is no prison, and the container is the wall that is
meant to hold.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from types import CodeType

from sandbox.worker.copies import unguard_copies
from sandbox.worker.guards import tool_builtins
from sandbox.worker.modules import ALLOWED_MODULES, curated, guarded_import
from sandbox.worker.rules import MARK, TOKEN, PolicyViolation
from sandbox.worker.transformer import ToolTransformer

__all__ = [
    "ALLOWED_MODULES",
    "PolicyViolation",
    "compile_restricted",
    "preload",
    "restricted_globals",
    "unguard_copies",
]

_BUILTINS = tool_builtins(guarded_import)


def compile_restricted(source: str, filename: str = "<tool>") -> CodeType:
    """Compile tool source under the policy, with the line numbers of the source.

    Not through RestrictedPython's own function: that compiles with the `from __future__ import
    annotations` of its own module (9.0), which turns every annotation of the tool into text.

    Raises:
        PolicyViolation: the source does what tools may not; every such line is told.
        SyntaxError: the source is not Python, or nested too deeply to be compiled.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a tool is not for our log
            tree = ast.parse(source, filename)
            transformer = ToolTransformer()
            transformer.visit(tree)
            if transformer.problems:
                raise PolicyViolation(sorted(set(transformer.problems)))
            return compile(tree, filename, "exec", dont_inherit=True, optimize=0)
    except ValueError as error:  # a null byte, a lone surrogate
        raise SyntaxError(str(error)) from None
    except (RecursionError, MemoryError):
        raise SyntaxError("the source is nested too deeply") from None


def restricted_globals(module_name: str = "tool") -> dict[str, object]:
    """A fresh namespace to execute a compiled tool in, as `__name__` = `module_name`.

    Nothing in it that a tool can change is shared with another namespace.
    """
    return {
        "__name__": module_name,
        "__doc__": None,
        "__builtins__": _BUILTINS.copy(),
        MARK: TOKEN,
    }


def preload(modules: Iterable[str] = ALLOWED_MODULES) -> None:
    """Import allowed modules ahead of a call, so that the call need not read the library's files.

    Names that are not allowed are passed over. Also makes `datetime` load what it otherwise
    loads at its first `strptime`.
    """
    for name in modules:
        if name in ALLOWED_MODULES:
            curated(name)
        if name in ("datetime", "time"):
            import _strptime  # type: ignore[import-not-found]  # noqa: F401
