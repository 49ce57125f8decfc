"""A world that is invented anew for each item: the built-in tables' figures, under other names.

An item's plan hangs on its id alone, so that a constructor needs no memory.
"""

from __future__ import annotations

import ast
import datetime as dt
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from toolhop_tools.construct.accept import CONSTANTS
from toolhop_tools.readers.folder import builtin

RECORDS = 10
"""Records of each table."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something that a table says of each of its entities."""

    name: str
    """In words, such as ``calling code``."""
    kind: str
    """``number``, ``text`` or ``date``: what can be computed of it."""
    tool: str
    """The built-in tool whose table has the values."""
    constant: str
    column: int | None
    """Of a row; None where the row is the value, -1 where the key is."""

    @property
    def field(self) -> str:
        """As a table has it."""
        return self.name.replace(" ", "_")


@dataclass(frozen=True, slots=True)
class Theme:
    """Two tables that are looked up one after the other."""

    domain: str
    first: str
    """What the question begins with, such as ``mountain``."""
    second: str
    """What the first table leads to, such as ``country``."""
    ask: str
    """The first sub-question, ``{}`` for the name."""
    phrase: str
    """The same as a part of a question."""
    attributes: tuple[Attribute, ...]


def _of(tool: str, constant: str, *columns: tuple[str, str, int | None]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, kind, tool, constant, at) for name, kind, at in columns)


_COUNTRY = _of(
    "look_up_country", "COUNTRIES", ("calling code", "number", 2), ("currency", "text", 3),
    ("country code", "text", 4),
)  # fmt: skip
THEMES = (
    Theme("Geography", "mountain", "country", "In which country does {} stand?",
          "the country in which {} stands", _COUNTRY),
    Theme("Music", "opera", "composer", "Which composer wrote {}?", "the composer who wrote {}",
          _of("composer_dates", "DATES", ("birth date", "date", 0), ("death date", "date", 1))),
    Theme("Chemistry", "compound", "metal", "Which metal is smelted out of {}?",
          "the metal that is smelted out of {}",
          _of("element_profile", "ELEMENTS", ("symbol", "text", 0), ("atomic mass", "number", 2))),
    Theme("Transport", "captain", "ship", "Which ship did {} command?",
          "the ship that {} commanded",
          _of("ocean_liner_record", "SHIPS", ("launch date", "date", 0),
              ("maiden voyage", "date", 1))),
    Theme("Architecture", "engineer", "bridge", "Which bridge did {} design?",
          "the bridge designed by {}",
          _of("bridge_main_spans", "SPANS", ("main span", "number", None))
          + _of("bridge_opening_day", "OPENED", ("opening day", "date", -1))),
    Theme("History", "war", "treaty", "Which treaty ended {}?", "the treaty that ended {}",
          _of("treaty_record", "TREATIES", ("signing date", "date", 0))
          + _of("city_distance", "PLACES", ("article count", "number", None))),
    Theme("Computing", "program", "language", "In which language is {} written?",
          "the language that {} is written in",
          _of("language_origin", "LANGUAGES", ("release year", "number", 0))
          + _of("default_port", "PORTS", ("server port", "number", 0))),
    Theme("Literature", "novel", "author", "Who is the author of {}?", "the author of {}",
          _of("nobel_literature_laureate", "LAUREATES", ("prize year", "number", -1))),
    Theme("Zoology", "island", "bird", "Which bird breeds only on {}?",
          "the bird that breeds only on {}",
          _of("chromosome_number", "DIPLOID", ("chromosome count", "number", None))),
    Theme("Economics", "town", "bank", "Which bank has its seat in {}?",
          "the bank with its seat in {}",
          _of("currency_codes_of", "CODES", ("bank code", "text", None))
          + _of("turing_award_year", "LAUREATES", ("founding year", "number", -1))),
    Theme("Sport", "club", "stadium", "Which stadium is the home of {}?",
          "the stadium that is the home of {}",
          _of("games_year", "SUMMER", ("construction year", "number", 0))
          + _of("historic_event_date", "EVENTS", ("inauguration", "date", None))),
    Theme("Astronomy", "star", "constellation", "Which constellation holds {}?",
          "the constellation that holds {}",
          _of("constellation_profile", "CONSTELLATIONS", ("abbreviation", "text", 0))
          + _of("messier_object", "OBJECTS", ("catalogue number", "number", 2))),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """A computing hop: a built-in tool, and how it is asked for."""

    tool: str
    takes: str
    """Kind of the value."""
    gives: str
    argument: str
    """The parameter that takes it."""
    work: Callable[[Any, int], Any]
    """What it gives, by the value and the number that is drawn."""
    ask: str
    """The sub-question; ``{value}`` is what it is about, ``{n}`` a number that is drawn."""
    drawn: tuple[str, Sequence[int]] | None = None
    """Another required parameter, and what is drawn for it."""
    phrase: str = ""
    """The same as a part of a question."""


def digit_sum(value: Any, drawn: int) -> Any:  # noqa: ANN401 -- a number, text or date
    """What the built-in tool gives, worked out without its code; so do the others."""
    del drawn
    return sum(map(int, str(value)))


def in_base(value: Any, drawn: int) -> Any:  # noqa: ANN401 -- as above
    """A number's digits in a base up to 10."""
    rest, text = int(value), ""
    while rest:
        rest, digit = divmod(rest, drawn)
        text = str(digit) + text
    return text


def letter_places(value: Any, drawn: int) -> Any:  # noqa: ANN401 -- as above
    """The sum of the places of a text's letters, A being 1."""
    del drawn
    return sum(ord(sign) - 96 for sign in value.lower() if "a" <= sign <= "z")


def shifted(value: Any, drawn: int) -> Any:  # noqa: ANN401 -- as above
    """The day so many days later."""
    return (dt.date.fromisoformat(value) + dt.timedelta(days=drawn)).isoformat()


_BASES, _DAYS = (3, 4, 5, 6, 7, 8, 9), (12, 23, 34, 45, 56, 67, 78, 89, 95)
STEPS = (
    Step("sum_digits", "number", "number", "number", digit_sum,
         "What is the sum of the digits of {value}?", phrase="the sum of the digits of {value}"),
    Step("write_in_base", "number", "number", "number", in_base,
         "How is {value} written in base {n}?", ("base", _BASES)),
    Step("total_letter_places", "text", "number", "text", letter_places,
         "What do the places in the alphabet of the letters of {value} add up to?",
         phrase="the total of the alphabet places of the letters of {value}"),
    Step("shift_date", "date", "date", "date", shifted,
         "Which date is {n} days after {value}?", ("amount", _DAYS)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Journey:
    """The plan of one item."""

    theme: Theme
    attribute: Attribute
    steps: tuple[tuple[Step, int], ...]
    """Computing hops, each with the number that was drawn."""
    first: tuple[dict[str, Any], ...]
    second: tuple[dict[str, Any], ...]
    again: bool = False
    """An item before it has the same hops but for names: it is asked for in other words."""

    @property
    def start(self) -> str:
        """The name that the question begins with.

        Nobody hits its answer by a constant, and no computing hop gives what it is asked about.
        """
        for record in self.first:
            values = self.values(record)
            drawn = {str(number) for _, number in self.steps}
            if len({*values}) == len(values) and values[-1] not in {*CONSTANTS, *drawn}:
                return str(record[self.theme.first])
        raise LookupError(f"no record of {self.theme.domain} has an answer that can be asked for")

    def answer(self, record: Mapping[str, Any]) -> str:
        """What the chain from a record of the first table comes to."""
        return self.values(record)[-1]

    def values(self, record: Mapping[str, Any]) -> list[str]:
        """What the second table says of it, and then what each computing hop gives."""
        name = record[self.theme.second]
        [row] = [one for one in self.second if one[self.theme.second] == name]
        found = [row[self.attribute.field]]
        for step, drawn in self.steps:
            found.append(step.work(found[-1], drawn))
        return [str(one) for one in found]

    def hops(self) -> list[tuple[str, list[int]]]:
        """Sub-questions with ``{k}``, and what each depends on."""
        found: list[tuple[str, list[int]]] = [(self.theme.ask.format(self.start), [])]
        found.append((f"What is the {self.attribute.name} of {{1}}?", [1]))
        for number, (step, drawn) in enumerate(self.steps, 2):
            value = f"{{{number}}}"
            found.append((step.ask.format(value=value, n=drawn), [number]))
        return found

    def question(self, start: str = "") -> str:
        """The question of the item; `start` is another name to begin with."""
        about = self.theme.phrase.format(start or self.start)
        value, before = f"the {self.attribute.name} of {about}", ""
        if self.again:
            before = f"Take {about}, and look up its {self.attribute.name}. "
            value = f"that {self.attribute.name}"
        for step, _ in self.steps[:-1]:
            value = step.phrase.format(value=value)
        last, drawn = self.steps[-1]
        return before + last.ask.format(value=value, n=drawn)


def journey(identity: str, domain: str) -> Journey:
    """The plan of the item of an id, such as ``geography-3``."""
    number = int(found[1]) if (found := re.search(r"(\d+)$", identity)) else 1
    themes = [one for one in THEMES if one.domain == domain] or THEMES
    theme = themes[(number - 1) % len(themes)]
    ways = [
        (attribute, steps)
        for attribute in theme.attributes
        for steps in _ways(attribute.kind)
    ]  # fmt: skip
    again, way = divmod((number - 1) // len(themes), len(ways))
    attribute, steps = ways[way]
    rng = random.Random(f"{identity}/{domain}")
    firsts, seconds = _names(rng, RECORDS), _names(rng, RECORDS)
    columns = {one.field: rng.sample(values(one), RECORDS) for one in theme.attributes}
    years = rng.sample(range(1200, 1990), RECORDS)
    return Journey(
        theme,
        attribute,
        tuple((step, rng.choice(step.drawn[1]) if step.drawn else 0) for step in steps),
        tuple(
            {theme.first: one, theme.second: other, "first_record": year}
            for one, other, year in zip(firsts, seconds, years, strict=True)
        ),
        tuple(
            {theme.second: name, **{field: column[at] for field, column in columns.items()}}
            for at, name in enumerate(seconds)
        ),
        bool(again % 2),
    )


def _ways(kind: str) -> list[tuple[Step, ...]]:
    fitting = [step for step in STEPS if step.takes == kind]
    longer = [
        (one, other) for one in fitting for other in STEPS
        if one.phrase and other.takes == one.gives and other.tool != one.tool
    ]  # fmt: skip
    return [*((one,) for one in fitting), *longer]


_START = (
    "Bra",
    "Cor",
    "Dul",
    "Fen",
    "Gar",
    "Hol",
    "Jas",
    "Kel",
    "Lum",
    "Mor",
    "Nar",
    "Pel",
    "Quen",
)
_MIDDLE = ("da", "ve", "mi", "ro", "lu", "sha", "te", "vo", "ni", "ga")
_END = ("rion", "mar", "thal", "vik", "nesk", "dor", "lune", "bran", "stead", "wick", "mere", "zan")


def _names(rng: random.Random, count: int) -> list[str]:
    """Names that no two have in common."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[rng.choice(_START) + rng.choice(_MIDDLE) + rng.choice(_END)] = None
    return list(found)


@cache
def values(attribute: Attribute) -> list[Any]:
    """The values of a built-in table's column, each once, such as computing tools take."""
    table = _constants(attribute.tool)[attribute.constant]
    rows = list(table.items()) if isinstance(table, dict) else [(None, row) for row in table]
    column = attribute.column
    found = [key if column == -1 else row if column is None else row[column] for key, row in rows]
    if attribute.kind == "number":
        found = [_whole(one) for one in found]
    return [one for one in dict.fromkeys(found) if one not in {"", 0}]


def _whole(value: Any) -> int:  # noqa: ANN401 -- whatever a table has in a column
    if isinstance(value, tuple | list):
        value = value[0]
    return abs(int(float(value)))


@cache
def _constants(tool: str) -> Mapping[str, Any]:
    """The literals that a built-in tool's module assigns."""
    found: dict[str, Any] = {}
    for node in ast.parse(tool_source(tool)).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def tool_source(name: str) -> str:
    """The source of a tool: a built-in one, or `LETTER_PLACES`."""
    if name == LETTER_PLACES["name"]:
        return LETTER_CODE
    source: str = _tools()[name].program.source
    return source


@cache
def _tools() -> Mapping[str, Any]:
    return {hop.tool.name: hop.tool for item in builtin().items for hop in item.hops}


def tool_schema(name: str) -> dict[str, Any]:
    """The document of a tool, as a reply has it."""
    if name == LETTER_PLACES["name"]:
        return LETTER_PLACES
    schema = _tools()[name].schema
    return {
        "name": schema.name,
        "description": schema.description,
        "parameters": dict(schema.parameters),
    }


LETTER_PLACES: dict[str, Any] = {
    "name": "total_letter_places",
    "description": "Adds up the places in the alphabet of the letters of a text, A being 1 and Z "
    "26. Capitals and small letters count the same; every other sign counts nothing.",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {
                "type": "string",
                "description": "The text whose letters are counted.",
                "minLength": 1,
                "maxLength": 200,
            },
            "reverse": {
                "type": "boolean",
                "description": "Whether the alphabet is taken backwards, Z being 1 and A 26.",
                "default": False,
            },
        },
        "required": ["text"],
        "additionalProperties": False,
    },
}
LETTER_CODE = '''"""Places in the alphabet."""


def total_letter_places(text: str, reverse: bool = False) -> int:
    """Return the sum of the places of the letters from A to Z."""
    letters = [sign.lower() for sign in text if sign.isascii() and sign.isalpha()]
    places = [ord(letter) - 96 for letter in letters]
    return sum(27 - place if reverse else place for place in places)
'''
