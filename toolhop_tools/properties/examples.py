"""Examples for testing a tool, drawn once for all its properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from toolhop_sandbox.outcome import JSON
from toolhop_tools.batch import Arguments
from toolhop_tools.declared import compiled, described, fits
from toolhop_tools.examples import example_calls
from toolhop_tools.properties import draw
from toolhop_tools.properties.model import Miss, Subject

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from toolhop_tools.strategies.invalid import NearMiss


NO_FORMATS: Mapping[str, Sequence[str]] = {
    "date": ("no date", "2023-02-30"),
    "time": ("no time", "25:61:00"),
    "date-time": ("no time", "2023-02-30T12:00:00Z"),
    "email": ("no address", "nobody@"),
    "uri": ("no uri", "http://[::1"),
}
"""Texts that violate a format, for formats that the validator does not check."""


class Examples:
    """Valid and invalid arguments for one tool, determined by the seed and the number."""

    def __init__(
        self,
        subject: Subject,
        *,
        count: int,
        seed: int,
        formats: bool = False,
        before: Iterable[Arguments] = (),
    ) -> None:
        """Set the tool, the number of examples, the seed, and failed arguments of earlier runs.

        With `formats`, a text that violates its parameter's `format` is invalid input.
        """
        self._subject = subject
        self._schema = subject.tool.schema.parameters
        self._before = [dict(arguments) for arguments in before]
        self.count, self.seed, self.formats = count, seed, formats
        self._validator = compiled(self._schema)

    def fit(self, arguments: Arguments) -> bool:
        """Whether arguments fit the tool's schema; False if the schema itself is invalid."""
        return self._validator is not None and fits(self._validator, self._schema, arguments)

    @cached_property
    def _favoured(self) -> dict[str, list[JSON]]:
        from toolhop_tools.strategies.literals import favoured

        return favoured(self._subject.tool.program, self._schema)

    @cached_property
    def valid_strategy(self) -> SearchStrategy[dict[str, JSON]]:
        """Arguments that fit the schema."""
        from toolhop_tools.strategies import valid

        return valid.arguments(self._schema, favoured=self._favoured)

    @cached_property
    def miss_strategy(self) -> SearchStrategy[Miss]:
        """Arguments with exactly one fault."""
        from hypothesis import strategies as st

        from toolhop_tools.strategies import invalid

        near = invalid.near_misses(self._schema, favoured=self._favoured).map(_miss)
        formats = [
            (name, text)
            for name, kind in (_formats(self._schema) if self.formats else ())
            for text in NO_FORMATS.get(kind, ())
        ]
        if not formats:
            return near
        # The simulator does not enforce formats, so the tool itself must refuse these.
        faulty = st.builds(_misformed, self.valid_strategy, st.sampled_from(formats))
        return st.one_of(near, faulty)

    @cached_property
    def drawn_valid(self) -> Sequence[Arguments]:
        """Examples drawn by Hypothesis only."""
        return draw.drawn(self.valid_strategy, self.count, self.seed)

    @cached_property
    def valid(self) -> Sequence[Arguments]:
        """Up to `count` examples: stored ones, fitting gold and example calls, then drawn ones."""
        known: list[Arguments] = [*self._before]
        known += [gold.arguments for gold in self._subject.golds]
        known += example_calls(self._subject.tool.program)
        found: dict[str, Arguments] = {}
        for arguments in (*filter(self.fit, known), *self.drawn_valid):
            found.setdefault(draw.text_of(dict(arguments)), dict(arguments))
        # Stored examples are never dropped, whatever the number.
        return list(found.values())[: max(self.count, len(self._before))]

    @cached_property
    def misses(self) -> Sequence[Miss]:
        """Up to `count` near misses."""
        return draw.drawn(self.miss_strategy, self.count, self.seed)


def _miss(found: NearMiss) -> Miss:
    path = ".".join(str(step) for step in found.path)
    return Miss(found.arguments, path, found.fault, found.parameter)


def _formats(schema: Mapping[str, JSON]) -> Iterable[tuple[str, str]]:
    """Yield the top-level text parameters that have a format, with the format."""
    for name, inner in described(schema).items():
        if isinstance(inner, dict) and inner.get("type") == "string":
            yield name, str(inner.get("format", ""))


def _misformed(arguments: Arguments, fault: tuple[str, str]) -> Miss:
    name, text = fault
    return Miss({**arguments, name: text}, name, "format", name, arguments)
