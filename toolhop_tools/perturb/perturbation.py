"""A combination of perturbations, written as a text: ``names=scrambled+distractors=5``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from toolhop_tools.errors import BadChoice
from toolhop_tools.model import DataSet, Item
from toolhop_tools.perturb.change import AS_IS, ItemChange, Words
from toolhop_tools.perturb.descriptions import redescribed
from toolhop_tools.perturb.names import renamed
from toolhop_tools.perturb.order import SHUFFLED, shuffled

TEXTS = ("names", "descriptions", "parameters")
"""Keys whose value is a treatment of texts."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A combination of perturbations. `parse` reads its text, ``names=scrambled+distractors=5``."""

    names: Words = Words.AS_IS
    descriptions: Words = Words.AS_IS
    """Treatment of the tools' descriptions."""
    parameters: Words = Words.AS_IS
    """Treatment of all descriptions in the parameters' schemas; their names and types stay."""
    distractors: int = 0
    """Number of tools of other items, inserted among the item's own at random places."""
    choice: str = "nearest"
    """Choice of distractors: ``nearest``, ``random``, or ``each`` for that number per tool
    (`toolhop_tools.perturb.distractors.Choice`)."""
    shuffled: bool = False
    """Whether the item's own tools are shuffled; otherwise they are in hop order."""

    def __str__(self) -> str:
        texts = {name: getattr(self, name) for name in TEXTS}
        parts = [f"{name}={words}" for name, words in texts.items() if words is not Words.AS_IS]
        if self.distractors:
            kind = "" if self.choice == "nearest" else f":{self.choice}"
            parts.append(f"distractors={self.distractors}{kind}")
        if self.shuffled:
            parts.append(SHUFFLED)
        return "+".join(parts) or AS_IS

    @classmethod
    def parse(cls, text: str) -> Perturbation:
        """Read a perturbation from its text.

        Raises:
            BadChoice: the text is invalid; the message says what is allowed.
        """
        found = cls()
        if text.strip() in {"", AS_IS}:
            return found
        given: set[str] = set()
        for part in text.split("+"):
            key, _, value = (piece.strip() for piece in part.partition("="))
            if key in given:
                raise BadChoice(
                    f"{text!r} is not a tool perturbation: it says {key}= twice",
                    fix="say each part once",
                )
            given.add(key)
            found = _with(found, key, value, text)
        return found

    def changes(self, *, pool: DataSet, seed: int) -> tuple[ItemChange, ...]:
        """Return the changes to an item, in order; none for ``as-is``.

        Args:
            pool: the source of distractors; it may contain the items themselves.
            seed: seed of all random choices.
        """
        found: list[ItemChange] = [partial(shuffled, seed=seed)] if self.shuffled else []
        if self.distractors:
            # Import numpy only if it is used.
            from toolhop_tools.perturb.distractors import Choice, distracted
            from toolhop_tools.perturb.nearest import Nearest

            found.append(
                partial(
                    distracted, pool=Nearest(pool.items), count=self.distractors,
                    choice=Choice(self.choice), seed=seed,
                )
            )  # fmt: skip
        if self.descriptions is not Words.AS_IS:
            found.append(partial(redescribed, words=self.descriptions, seed=seed))
        if self.parameters is not Words.AS_IS:
            found.append(partial(redescribed, words=self.parameters, seed=seed, of_parameters=True))
        # Last, since other draws depend on the original names, and numbering on the order.
        if self.names is not Words.AS_IS:
            found.append(partial(renamed, words=self.names, seed=seed))
        return tuple(found)


def _with(found: Perturbation, key: str, value: str, text: str) -> Perturbation:
    if value in list(Words) and key in TEXTS:
        changed: dict[str, Any] = {key: Words(value)}
        return replace(found, **changed)
    count = re.fullmatch(r"([0-9]{1,9})(?::(nearest|random|each))?", value)
    if key == "distractors" and count:
        return replace(found, distractors=int(count[1]), choice=count[2] or "nearest")
    if key == "order" and value in {AS_IS, "shuffled"}:
        return replace(found, shuffled=value == "shuffled")
    raise BadChoice(
        f"{text!r} is not a tool perturbation: {key}={value} is not understood",
        fix=f"give {AS_IS}, or some of names=, descriptions=, parameters= with {', '.join(Words)}, "
        "distractors=N, distractors=N:random, distractors=N:each and order=shuffled, joined by +",
    )


def perturbed(
    items: Sequence[Item], how: Perturbation, *, pool: DataSet, seed: int
) -> Sequence[Item]:
    """Return the items as shown; the arguments are those of `Perturbation.changes`.

    Raises:
        BadChoice: the pool has too few other tools for an item, or an item has no tools to change.
    """
    changes = how.changes(pool=pool.around(items) if how.distractors else pool, seed=seed)
    if not changes:
        return items
    bare = [item.id for item in items if not item.tools]
    if bare:
        raise BadChoice(
            f"{how} changes tools, and {bare[0]} has none: tools are in its question alone",
            fix="leave the perturbation out",
        )
    return tuple(reduce(lambda item, change: change(item), changes, item) for item in items)
