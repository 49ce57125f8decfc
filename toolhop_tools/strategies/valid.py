"""Valid arguments for a call of a tool."""

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
    """Return a strategy for valid arguments of a tool.

    Every object passes the validator of calls, has the formats that the schema names, and shrinks
    towards few and small values. Undeclared properties are generated only if the schema mentions
    `additionalProperties`.

    Args:
        schema: the tool's `parameters`, JSON Schema of draft 2020-12.
        favoured: values worth trying for each parameter, and under ``""`` for any place. They, and
            their parts at deeper places, are used where they fit, in about half of the generated
            values. The schema's own `default` and `examples` count as favoured.

    Raises:
        UnsupportedSchema: the schema uses an unsupported feature.
        UnsatisfiableSchema: no value fits. Contradictions that can only be tested (`oneOf`,
            patterns with lengths) are assumed after 200 attempts without a result.
    """
    compiler = Compiler(schema, favoured)
    made = compiler.make(compiler.call, compiler.top)
    fits = compiler.root.fits({"allOf": compiler.call})
    made = made.filter(lambda value: fits(value) and is_plain(value))
    return named("arguments", ensured(compiler, made))
