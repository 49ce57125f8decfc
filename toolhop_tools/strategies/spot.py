"""A place in the arguments, and what makes the values of the places within it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hypothesis.strategies import SearchStrategy

from toolhop_tools.strategies.document import Fits, Schema
from toolhop_tools.strategies.errors import Place
from toolhop_tools.strategies.flat import Flat


@dataclass(frozen=True, slots=True)
class Spot:
    """Where in the arguments a strategy is for."""

    place: Place
    budget: int
    parameter: str = ""
    """The top-level parameter that it belongs to."""
    name: str = ""
    """The nearest name above."""
    levels: int = 0

    def below(self, keyword: str, step: str | int, budget: int) -> Spot:
        """One level further in."""
        name = step if isinstance(step, str) and step else self.name
        place = (*self.place, keyword) if step == "" else (*self.place, keyword, step)
        parameter = self.parameter if self.levels else name
        return Spot(place, budget, parameter, name, self.levels + 1)

    @property
    def day(self) -> bool:
        """A date seems to be wanted, going by the name."""
        return any(word in self.name.lower() for word in ("date", "birthday"))


class Maker(Protocol):
    """What the strategies of arrays and objects ask for their parts: the compiler that is at work.

    They are made by the compiler and make use of it; through this neither imports the other.
    """

    uncertain: bool
    """Set where a filter may let nothing pass, so that the whole is tried out."""

    @property
    def root(self) -> Spot:
        """The arguments object as a whole."""
        ...

    def make(self, schemas: Sequence[Schema], spot: Spot) -> SearchStrategy[Any]:
        """Values that fit all the schemas.

        Raises:
            UnsatisfiableSchema: there is none.
            UnsupportedSchema: something in there is not understood.
        """
        ...

    def flat(self, schemas: Sequence[Schema], spot: Spot) -> Flat:
        """The schemas taken apart."""
        ...

    def fits(self, schema: Schema) -> Fits:
        """Whether a value is valid, formats included."""
        ...

    def hints(self, flat: Flat, spot: Spot) -> list[Any]:
        """Favoured values that fit here."""
        ...

    def words(self) -> list[str]:
        """Favoured texts that may serve as names in an object that is free to have any."""
        ...
