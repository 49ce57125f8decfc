"""Which changes of items go together, written as one text: ``names=scrambled+distractors=5``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolhop_tools.errors import BadChoice
from toolhop_tools.model import DataSet, Item
from toolhop_tools.perturb.change import AS_IS, ItemChange, Words
from toolhop_tools.perturb.descriptions import Descriptions
from toolhop_tools.perturb.names import Names
from toolhop_tools.perturb.order import ShuffledOrder


@dataclass(frozen=True, slots=True)
class Perturbation:
    """What is changed. Its text, such as ``names=scrambled+distractors=5``, is read by `parse`."""

    names: Words = Words.AS_IS
    descriptions: Words = Words.AS_IS
    """The tools' descriptions."""
    parameters: Words = Words.AS_IS
    """Every description within the parameters' schemas; their names and types stay."""
    distractors: int = 0
    """Tools of other items, put among the item's own at random places."""
    choice: str = "nearest"
    """Which tools are distractors: ``nearest``, ``random``, or so many for ``each`` tool
    (`toolhop_tools.perturb.distractors.Choice`)."""
    shuffled: bool = False
    """The item's own tools are in random order; else in hop order."""

    def __str__(self) -> str:
        texts = {"names": self.names, "descriptions": self.descriptions}
        texts["parameters"] = self.parameters
        parts = [f"{name}={words}" for name, words in texts.items() if words is not Words.AS_IS]
        if self.distractors:
            parts.append(f"distractors={self.distractors}" + self._kind)
        if self.shuffled:
            parts.append("order=shuffled")
        return "+".join(parts) or AS_IS

    @property
    def _kind(self) -> str:
        return "" if self.choice == "nearest" else f":{self.choice}"

    @classmethod
    def parse(cls, text: str) -> Perturbation:
        """The perturbation that a text describes.

        Raises:
            BadChoice: says what is allowed.
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
        """What is done to an item, in this order; nothing for ``as-is``.

        Args:
            pool: where distractors come from; the items themselves may be in it.
            seed: of everything that is drawn.
        """
        found: list[ItemChange] = [ShuffledOrder(seed)] if self.shuffled else []
        if self.distractors:
            # numpy, imported only when used
            from toolhop_tools.perturb.distractors import Choice, Distractors
            from toolhop_tools.perturb.nearest import Nearest

            near = Nearest(pool.items)
            found.append(Distractors(self.distractors, near, seed, Choice(self.choice)))
        if self.descriptions is not Words.AS_IS:
            found.append(Descriptions(self.descriptions, seed))
        if self.parameters is not Words.AS_IS:
            found.append(Descriptions(self.parameters, seed, of_parameters=True))
        # Last: what else is drawn goes by the tools' own names, and numbers follow the order.
        if self.names is not Words.AS_IS:
            found.append(Names(self.names, seed))
        return tuple(found)


def _with(found: Perturbation, key: str, value: str, text: str) -> Perturbation:
    if value in list(Words):
        match key:
            case "names":
                return replace(found, names=Words(value))
            case "descriptions":
                return replace(found, descriptions=Words(value))
            case "parameters":
                return replace(found, parameters=Words(value))
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
    """The items as they are shown; the arguments are those of `Perturbation.changes`.

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
    return tuple(_after(item, changes) for item in items)


def _after(item: Item, changes: Sequence[ItemChange]) -> Item:
    for change in changes:
        item = change(item)
    return item
