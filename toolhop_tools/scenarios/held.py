"""Search the code of a tool for answers; the code is parsed, not run.

A tool whose code contains an answer, or all parts of it, may reveal it to a call that nobody tried:
by a slug, a pattern or a page, in two fields, in an error. While such a tool is on offer, the
answer is not proven to be out of reach.
"""

from __future__ import annotations

import ast
import datetime as dt
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from toolhop_sandbox.base import Program
from toolhop_tools.answers import plain_number
from toolhop_tools.dates import MONTHS, dates_in
from toolhop_tools.english import roman, spelled
from toolhop_tools.model import Hop, Item, Tool, canonical
from toolhop_tools.pairing import parse_source
from toolhop_tools.scenarios.ways import FEW_DIGITS, Vain, Wanted
from toolhop_tools.words import letters, runs, words
from toolhop_tools.worlds.units import UNITS

_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def holders(item: Item, vain: Vain, tools: Sequence[Tool]) -> set[str]:
    """Return the tools that may reveal an answer which must be out of reach.

    Their code contains the answer or cannot be parsed; if the words of an answer are spread over
    several tools, some of these are returned. A tool of a hop is not checked for the hop's own
    answer or for the values that it is asked about: the search has to prove that it reveals those
    only to callers who know them.
    """
    found, served = set[str](), dict[str, list[Hop]]()
    for hop in item.hops:
        served.setdefault(hop.tool.name, []).append(hop)
    codes = {
        tool.name: code_of(tool.body) if isinstance(tool.body, Program) else None for tool in tools
    }
    found |= {name for name, code in codes.items() if code is None}
    for wanted in vain.wanted:
        others = {
            name: code
            for name, code in codes.items()
            if code is not None and not any(_is_about(hop, wanted) for hop in served.get(name, ()))
        }
        found |= {name for name, code in others.items() if code.has(wanted)}
        parts = wanted.telling if wanted.number is None and wanted.day is None else ()
        left = [(name, code) for name, code in others.items() if name not in found]
        have = [{name for name, code in left if code.has_part(part)} for part in parts]
        if len(parts) > 1 and all(have):
            found |= min(have, key=lambda names: (not names.isdisjoint(served), sorted(names)))
    return found


def _is_about(hop: Hop, wanted: Wanted) -> bool:
    """Whether a hop's question, answer or arguments contain all words of an answer."""
    given = canonical(dict(hop.gold.arguments)) if hop.gold else ""
    return _set_of_words(wanted.gold) <= _set_of_words(f"{hop.question} {hop.answer} {given}")


@dataclass(frozen=True)
class Code:
    """The values in a tool's code, without its documentation."""

    texts: tuple[str, ...]
    """Distinct texts, lists of numbers as texts, and keyword names."""
    numbers: frozenset[float]
    """Numbers without signs, including those in texts."""

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of the texts."""
        return frozenset(itertools.chain.from_iterable(map(_set_of_words, self.texts)))

    @cached_property
    def listed(self) -> frozenset[float]:
        """Numbers in texts and lists, without signs; numbers used for computing are excluded."""
        numbers = (plain_number(word) for word in self.words)
        return frozenset(abs(float(one)) for one in numbers if one is not None)

    @cached_property
    def _dates(self) -> frozenset[dt.date]:
        return frozenset(day for text in self.texts for _, day in dates_in(text))

    @cached_property
    def _joined(self) -> str:
        """Letters and digits of each text, one text per line."""
        return "\n".join(map(letters, self.texts))

    @cached_property
    def _read(self) -> list[tuple[str, ...]]:
        """Words of each text in order, without *and*, to match spelled-out numbers."""
        return [tuple(word for word in words(text) if word != "and") for text in self.texts]

    def has(self, wanted: Wanted) -> bool:
        """Whether the code contains an answer in some notation, or all parts of it."""
        if wanted.day is not None:
            return self._has_day(wanted.day)
        if wanted.number is not None:
            return self._has_number(abs(wanted.number), wanted)
        parts = wanted.telling
        return all(map(self.has_part, parts)) or (
            len(parts) > 1 and letters(wanted.gold) in self._joined
        )

    def has_part(self, word: str) -> bool:
        """Whether the code contains a word, or a number, of an answer."""
        number = plain_number(word)
        return word in self.words or (number is not None and abs(float(number)) in self.listed)

    def _has_day(self, day: dt.date) -> bool:
        month = MONTHS[day.month - 1]
        has_month = day.month in self.numbers or not self.words.isdisjoint({month, month[:3]})
        has_parts = has_month and self._has_whole(day.year) and self._has_whole(day.day)
        return day in self._dates or has_parts

    def _has_whole(self, number: int) -> bool:
        """Whether the code contains a whole number, in figures or in words."""
        in_words = spelled(number)
        return number in self.numbers or any(runs(in_words, text) for text in self._read)

    def _has_number(self, number: float, wanted: Wanted) -> bool:
        whole = int(number) if number.is_integer() else -1
        if wanted.is_slight:
            in_words = spelled(whole)
            return number in self.listed or any(runs(in_words, text) for text in self._read)
        lines = f"\n{self._joined}\n"
        return (
            any(
                abs(own * factor - number) <= wanted.half
                for own in self.numbers
                for factor in (_FACTORS if _digits(own) >= FEW_DIGITS else (1.0,))
            )
            or self._has_whole(whole)
            or f"\n{whole}\n" in lines
            or (len(roman(whole)) > 2 and roman(whole) in self.words)
        )


def _digits(number: float) -> int:
    """Return the number of significant digits, without trailing zeros."""
    return len(f"{number:.12g}".replace(".", "").strip("0"))


def _factors() -> tuple[float, ...]:
    """Return the conversion factors between units, and common powers of ten."""
    sizes = [
        float(one.size / other.size)
        for one, other in itertools.product(UNITS.values(), repeat=2)
        if one.measures == other.measures
    ]
    powers = [10.0**power for power in (-9, -6, -3, -2, 2, 3, 6, 9)]
    return tuple({round(one, 12): one for one in (*sizes, *powers)}.values())


_FACTORS = _factors()


@lru_cache(maxsize=256)
def code_of(program: Program) -> Code | None:
    """Return the values in a program's code; None if it cannot be parsed."""
    tree = parse_source(program.source)
    if tree is None:
        return None
    texts, numbers = list[str](), set[float]()
    for value in _values(tree):
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, int | float) and abs(value) < 10**300:
            numbers.add(abs(float(value)))
    code = Code(tuple(dict.fromkeys(texts)), frozenset(numbers))
    return Code(code.texts, code.numbers | code.listed)


def _values(tree: ast.Module) -> Iterator[object]:
    """Yield constants except docstrings, lists of numbers as texts, and keyword names."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, _DOCUMENTED)]
    docs = {id(body[0]) for body in bodies if body}
    left = list[ast.AST]([tree])
    while left:
        node = left.pop()
        match node:
            case ast.Expr(value=ast.Constant()) if id(node) in docs:
                continue
            case ast.Constant(value=bytes() as value):
                yield value.decode("latin-1")
            case ast.Constant(value=value) if not isinstance(value, bool):
                yield value
            case ast.keyword(arg=str() as name):
                yield name
            case ast.List() | ast.Tuple() | ast.Set():
                yield " ".join(_numbers(node.elts))
            case ast.Dict():
                yield from _numbers([*node.keys, *node.values])
        left.extend(ast.iter_child_nodes(node))


def _numbers(nodes: Sequence[ast.expr | None]) -> Iterator[str]:
    """Yield the numbers among nodes as texts, without signs."""
    for node in nodes:
        number = node.operand if isinstance(node, ast.UnaryOp) else node
        value = number.value if isinstance(number, ast.Constant) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{value}"


@lru_cache(maxsize=8192)
def _set_of_words(text: str) -> frozenset[str]:
    """Return the words of a text that may be too long for `words` to read at once."""
    return frozenset(word for piece in text.split() for word in words(piece))
