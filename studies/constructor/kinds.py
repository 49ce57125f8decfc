"""All kinds of faults, by name."""

from __future__ import annotations

from studies.constructor import kinds_of_tools, kinds_of_words
from studies.constructor.plants import PLANTS

__all__ = ["PLANTS", "kinds_of_tools", "kinds_of_words"]
