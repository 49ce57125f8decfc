"""How an item's tools are shown: scrambled or bare documents, distractors, another order.

A presentation makes items of items: the shown names, documents and order are the new item's own,
the code behind them stays. So a call by a scrambled name reaches its tool, hops are matched by
the tool that stands in them, and nothing that plays, replays or scores has to know of it. All is
drawn from a seed and the item's id: the same seed shows the same item in the same way, in
whatever company.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from sandbox.outcome import JSON
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import DataSet, Hop, Item, Tool, ToolDocument

if TYPE_CHECKING:
    from toolhop_tools.nearest import Nearest

AS_IS = "as-is"


class Words(StrEnum):
    """What is done to a text that the model is shown."""

    AS_IS = AS_IS
    SCRAMBLED = "scrambled"
    """A name gets other letters; a description its own words in another order."""
    REMOVED = "removed"
    """A name becomes ``tool_1``, by place; a description is empty."""


Rename: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Presentation:
    """What is changed. Its text, such as ``names=scrambled+distractors=5``, is read by `parse`."""

    names: Words = Words.AS_IS
    descriptions: Words = Words.AS_IS
    """The tools' descriptions."""
    parameters: Words = Words.AS_IS
    """Every description within the parameters' schemas; their names and types stay."""
    distractors: int = 0
    """Tools of other items, put among the item's own at random places."""
    nearest: bool = True
    """Distractors are those most like the item's tools by their text; else any."""
    shuffled: bool = False
    """The item's own tools are in random order; else in hop order."""

    def __str__(self) -> str:
        texts = {"names": self.names, "descriptions": self.descriptions}
        texts["parameters"] = self.parameters
        parts = [f"{name}={words}" for name, words in texts.items() if words is not Words.AS_IS]
        if self.distractors:
            parts.append(f"distractors={self.distractors}" + ("" if self.nearest else ":random"))
        if self.shuffled:
            parts.append("order=shuffled")
        return "+".join(parts) or AS_IS

    @classmethod
    def parse(cls, text: str) -> Presentation:
        """The presentation that a text describes.

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
                    f"{text!r} is no presentation of tools: it says {key}= twice",
                    fix="say each part once",
                )
            given.add(key)
            found = _with(found, key, value, text)
        return found


def _with(found: Presentation, key: str, value: str, text: str) -> Presentation:
    if value in list(Words):
        match key:
            case "names":
                return replace(found, names=Words(value))
            case "descriptions":
                return replace(found, descriptions=Words(value))
            case "parameters":
                return replace(found, parameters=Words(value))
    count = re.fullmatch(r"([0-9]{1,4})(?::(nearest|random))?", value)
    if key == "distractors" and count:
        return replace(found, distractors=int(count[1]), nearest=count[2] != "random")
    if key == "order" and value in {AS_IS, "shuffled"}:
        return replace(found, shuffled=value == "shuffled")
    raise BadChoice(
        f"{text!r} is no presentation of tools: {key}={value} is not understood",
        fix=f"give {AS_IS}, or some of names=, descriptions=, parameters= with {', '.join(Words)}, "
        "distractors=N, distractors=N:random and order=shuffled, joined by +",
    )


def present(
    items: Sequence[Item], how: Presentation, *, pool: DataSet, seed: int
) -> tuple[Item, ...]:
    """The items as they are shown.

    Args:
        items: what will be played.
        how: what is changed.
        pool: where distractors come from; the items themselves may be in it.
        seed: of everything that is drawn.

    Raises:
        BadChoice: the pool has too few other tools for an item.
    """
    if how == Presentation():
        return tuple(items)
    finder = _finder(pool) if how.distractors else None
    return tuple(_presented(item, how, finder, seed) for item in items)


def _finder(pool: DataSet) -> Nearest:
    from toolhop_tools.nearest import Nearest  # numpy, only when used

    return Nearest(pool.items)


def _presented(item: Item, how: Presentation, finder: Nearest | None, seed: int) -> Item:
    rng = random.Random(f"{seed}/{item.id}/tools")
    others = _distractors(item, how, finder, rng) if finder else ()
    order = [*item.tools]
    if how.shuffled:
        rng.shuffle(order)
    for tool in others:
        order.insert(rng.randint(0, len(order)), tool.name)
    shown = _Shown(how, _renamed(order, how.names, f"{seed}/{item.id}"), f"{seed}/{item.id}")
    return replace(
        item,
        hops=tuple(_hop(hop, shown) for hop in item.hops),
        others=tuple(shown.tool(tool) for tool in (*item.others, *others)),
        order=tuple(shown.names[name] for name in order),
    )


def _hop(hop: Hop, shown: _Shown) -> Hop:
    return replace(hop, tool=shown.tool(hop.tool))


def _distractors(
    item: Item, how: Presentation, finder: Nearest, rng: random.Random
) -> tuple[Tool, ...]:
    found = finder.others(item)
    if len(found) < how.distractors:
        raise BadChoice(
            f"item {item.id} cannot get {how.distractors} distractors: the data set has "
            f"{len(found)} tools of other items that are not its own",
            fix="ask for fewer, or play a larger data set",
        )
    if how.nearest:
        return found[: how.distractors]
    return tuple(rng.sample(found, how.distractors))


def _renamed(order: Sequence[str], words: Words, seed: str) -> dict[str, str]:
    """The shown name of each tool, by its own name."""
    if words is Words.AS_IS:
        return {name: name for name in order}
    if words is Words.REMOVED:
        return {name: f"tool_{place}" for place, name in enumerate(order, start=1)}
    rng = random.Random(f"{seed}/names")
    renamed: dict[str, str] = {}
    for name in sorted(order):
        new = _letters(name, rng)
        while new in renamed.values() or new in order:
            # A short name may have no other of its length: it grows.
            new = _letters(f"{new}x", rng)
        renamed[name] = new
    return renamed


def _letters(name: str, rng: random.Random) -> str:
    """Other letters at the same places; what is no letter stays."""
    return "".join(rng.choice(string.ascii_lowercase) if c.isalpha() else c for c in name)


@dataclass(frozen=True, slots=True)
class _Shown:
    """Makes the documents of one item."""

    how: Presentation
    names: Rename
    seed: str

    def tool(self, tool: Tool) -> Tool:
        """A tool with its document as shown."""
        document = tool.document
        place = f"{self.seed}/{tool.name}"
        changed = ToolDocument(
            self.names[tool.name],
            self._text(document.description, self.how.descriptions, f"{place}/description"),
            self._schema(document.parameters, place),
        )
        return replace(tool, document=changed)

    def _text(self, text: str, words: Words, place: str) -> str:
        if words is Words.REMOVED:
            return ""
        if words is Words.SCRAMBLED:
            pieces = text.split()
            random.Random(place).shuffle(pieces)
            text = " ".join(pieces)
        return self._without_names(text)

    def _without_names(self, text: str) -> str:
        """Where a description speaks of a tool of the item, it does so by the shown name."""
        if self.how.names is Words.AS_IS:
            return text
        known = "|".join(re.escape(name) for name in sorted(self.names, key=len, reverse=True))
        return re.sub(rf"\b(?:{known})\b", lambda found: self.names[found[0]], text)

    def _schema(self, schema: Mapping[str, JSON], place: str) -> dict[str, JSON]:
        """A schema with the descriptions in it changed; see `Presentation.parameters`."""
        return {key: self._keyword(key, value, place) for key, value in schema.items()}

    def _keyword(self, key: str, value: JSON, place: str) -> JSON:
        where = f"{place}/{key}"
        if key == "description" and isinstance(value, str):
            return self._text(value, self.how.parameters, where)
        if key in _BY_NAME and isinstance(value, dict):
            return {name: self._part(part, f"{where}/{name}") for name, part in value.items()}
        if key in _VALUES:
            return value
        if isinstance(value, list):
            return [self._part(part, f"{where}/{n}") for n, part in enumerate(value)]
        return self._part(value, where)

    def _part(self, value: JSON, place: str) -> JSON:
        return self._schema(value, place) if isinstance(value, dict) else value


_BY_NAME = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
"""Keywords of JSON Schema whose value maps names, which may be any, to schemas."""
_VALUES = frozenset({"enum", "const", "default", "examples", "example", "required"})
"""Keywords that hold values, not schemas: an object in them is left as it is."""
