"""Arguments that a call of a tool may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis.strategies import SearchStrategy

from toolhop_sandbox.outcome import JSON
from toolhop_tools.strategies.compiler import Compiler, ensured, is_plain, named


def arguments(
    schema: Mapping[str, JSON],
    *,
    favoured: Mapping[str, Sequence[JSON]] | None = None,
) -> SearchStrategy[dict[str, JSON]]:
    """Valid arguments objects for a tool.

    Every object is accepted by the validator of calls, has the formats that the schema names, and
    shrinks towards few and small values. Names that the schema does not declare are made only
    where `additionalProperties` speaks of them.

    Args:
        schema: the tool's `parameters`, JSON Schema of draft 2020-12.
        favoured: by parameter, values worth trying there, and under ``""`` at any place. They
            are used where they fit, their parts in places further in, in about half of what is
            made. The schema's own `default` and `examples` count as favoured.

    Raises:
        UnsupportedSchema: the schema says what is not understood here.
        UnsatisfiableSchema: nothing fits it. Contradictions between what is merely tried (`oneOf`,
            patterns with lengths) are found by 200 tries without a result.
    """
    compiler = Compiler(schema, favoured)
    made = compiler.make(compiler.call, compiler.top)
    fits = compiler.root.fits({"allOf": compiler.call})
    made = made.filter(lambda value: fits(value) and is_plain(value))
    return named("arguments", ensured(compiler, made))
