"""The policy under which tool code is compiled and run: the second wall, inside the container.

    code = compile_restricted(source)
    namespace = restricted_globals()
    exec(code, namespace)

`transformer` checks the source, `guards` replaces some built-ins, `modules` has the import
allow-list, `templates` handles `str.format`, and `names` has the rules for names. docs/policy.md
says what is allowed and refused, and what the policy does *not* stop: the container is the wall
that is meant to hold.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping
from types import CodeType, MappingProxyType

from toolhop_sandbox.worker.policy.guards import GUARDS, tool_builtins
from toolhop_sandbox.worker.policy.modules import ALLOWED_MODULES, curated, guarded_import
from toolhop_sandbox.worker.policy.names import MODULE, PolicyViolation
from toolhop_sandbox.worker.policy.transformer import CHECKS, Checks, ToolTransformer

__all__ = [
    "ALLOWED_MODULES",
    "ALL_GUARDS",
    "PolicyViolation",
    "compile_restricted",
    "preload",
    "restricted_globals",
]

ALL_GUARDS: Mapping[str, object] = MappingProxyType({**GUARDS, "__import__": guarded_import})
"""The guards that act while tool code runs, by the names under which the code reaches them."""
_BUILTINS = tool_builtins(ALL_GUARDS)


def compile_restricted(
    source: str, filename: str = "<tool>", *, checks: Checks = CHECKS
) -> CodeType:
    """Compile tool source under the policy, keeping its line numbers.

    RestrictedPython's own function is not used: it compiles with the `from __future__ import
    annotations` of its own module (9.0), which turns every annotation of the tool into text.

    Args:
        source: Python source.
        filename: its name in tracebacks.
        checks: the checks of names; tests replace one to verify that it matters.

    Raises:
        PolicyViolation: the source does what tools may not; every such line is reported.
        SyntaxError: the source is not Python, or nested too deeply to be compiled.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # keep warnings about "\d" in a tool out of our log
            tree = ast.parse(source, filename)
            transformer = ToolTransformer(checks)
            transformer.visit(tree)
            if transformer.problems:
                raise PolicyViolation(sorted(set(transformer.problems)))
            return compile(tree, filename, "exec", dont_inherit=True, optimize=0)
    except ValueError as error:  # a null byte, a lone surrogate
        raise SyntaxError(str(error)) from None
    except (RecursionError, MemoryError):
        raise SyntaxError("the source is nested too deeply") from None


def restricted_globals(*, guards: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return a fresh namespace in which to execute a compiled tool.

    Nothing in it that a tool can change is shared with another namespace. `guards` replaces
    `ALL_GUARDS`; tests pass one to verify that a guard matters.
    """
    builtins = _BUILTINS.copy() if guards is None else tool_builtins(guards)
    return {"__name__": MODULE, "__doc__": None, "__builtins__": builtins}


def preload(modules: Iterable[str] = ALLOWED_MODULES) -> None:
    """Import allowed modules ahead of a call, so that the call need not read the library's files.

    Names that are not allowed are skipped. Also makes `datetime` load what it would otherwise load
    at its first `strptime`.
    """
    for name in modules:
        if name in ALLOWED_MODULES:
            curated(name)
        if name in ("datetime", "time"):
            import _strptime  # type: ignore[import-not-found]  # noqa: F401 -- for its effect
