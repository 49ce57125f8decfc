"""What a model replies at each stage: a JSON object, no field more, no type other."""

from __future__ import annotations

import ast
import json
import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.stages import Problem
from toolhop_tools.construct.text import resolved
from toolhop_tools.errors import faults
from toolhop_tools.replied import json_in
from toolhop_tools.words import scalars

PARSE = "parse"
"""Name of the check that a reply has the form its stage asks for."""
MOST_CHARS = 200_000
"""Length of a reply; no stage needs as much."""
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class ReplyModel(BaseModel):
    """Strict parsing, shared by all replies."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls, text: str) -> Self | Problem:
        """Parse a reply; a `Problem` says what is wrong with it.

        Refused are a key that stands twice in an object, numbers that JSON cannot keep, and
        invisible characters.
        """
        if len(text) > MOST_CHARS:
            return _unread(f"it has {len(text):,} characters, and at most {MOST_CHARS:,} are read")
        try:
            reply = cls.model_validate_json(json_in(text), strict=True)
            fault = _fault(json_in(text))
            return _unread(fault) if fault else reply
        except ValidationError as error:
            return _unread("; ".join(faults(error)[:5]))


def _unread(why: str) -> Problem:
    return Problem(PARSE, f"The reply does not parse: {why}")


def _fault(text: str) -> str:
    """What is wrong with a JSON text beyond its shape; empty if nothing is."""
    faults: list[str] = []
    names: list[str] = []

    def pairs(listed: list[tuple[str, JSON]]) -> JSON:
        keys = Counter(name for name, _ in listed)
        faults.extend(f"the key {key!r} stands twice" for key, times in keys.items() if times > 1)
        names.extend(keys)
        return dict(listed)

    def number(written: str) -> float:
        value = float(written)
        if not math.isfinite(value):
            faults.append(f"{written} is no finite number")
        return value

    value = json.loads(text, object_pairs_hook=pairs, parse_float=number, parse_constant=number)
    values = [leaf for _, leaf in scalars(value) if isinstance(leaf, str)]
    faults.extend(filter(None, map(invisible, (*names, *values))))
    return faults[0] if faults else ""


def invisible(text: str) -> str:
    """What is wrong with a text that has a character nobody sees; empty if it has none."""
    for sign in text:
        if sign not in "\n\r\t" and unicodedata.category(sign) in _INVISIBLE:
            return f"the character U+{ord(sign):04X} in {text[:60]!r} is invisible; leave it out"
    return ""


class PlannedHop(ReplyModel):
    """A sub-question; ``{1}`` in it stands for the answer of hop 1."""

    question: Text
    depends_on: list[int]


class Decomposition(ReplyModel):
    """The hops, in order."""

    hops: list[PlannedHop]


class Pair(ReplyModel):
    """A call, and what it gives."""

    arguments: dict[str, JSON]
    result: JSON


class Forgives(StrEnum):
    """A difference in spelling that a tool forgives in the texts it is given."""

    CASE = "case"
    ACCENTS = "accents"
    ARTICLES = "articles"
    HYPHENS = "hyphens"
    SPACES = "spaces"


class Limit(ReplyModel):
    """The numbers that a parameter may have; outside, the call gives an error."""

    parameter: Text
    least: int | float | None = None
    most: int | float | None = None


class Covers(ReplyModel):
    """What a lookup tool knows."""

    records: int
    """Size of its table."""
    key: list[str] = Field(min_length=1)
    """Parameters that find a record together."""


class Contract(ReplyModel):
    """What a tool promises, as data: rendered into its document's sentences, and executed."""

    examples: list[Pair] = Field(default_factory=list, max_length=12)
    forgives: list[Annotated[Forgives, Field(strict=False)]] = Field(default_factory=list)
    units: dict[str, Text] = Field(default_factory=dict)
    """By parameter, or ``result``."""
    result_form: dict[str, JSON]
    """JSON Schema of what a call gives that is no error."""
    limits: list[Limit] = Field(default_factory=list)
    errors: dict[str, Text] = Field(default_factory=dict)
    """By key parameter: the error for a key that is not known; ``{given}`` and ``{known}`` in it
    stand for the key and for all known ones."""
    covers: Covers | None = None
    """Of a lookup tool."""


class ToolDocument(ReplyModel):
    """A tool as a model is shown it, but for the sentences that its contract renders."""

    name: Text
    description: Text
    """What the tool is about; it promises nothing."""
    parameters: dict[str, JSON]


class RefinedTool(ReplyModel):
    """Document and contract."""

    analysis: str
    tool: ToolDocument
    contract: Contract


class NewTool(RefinedTool):
    """A first document with its contract, and the call that answers the sub-question."""

    kind: Literal["lookup", "compute"]
    arguments: dict[str, JSON]
    """Values that are earlier answers are written ``{1}``."""


class LookedUp(ReplyModel):
    """Which call finds a record, and which of its fields is the answer."""

    parameters: dict[str, str]
    """By parameter: the field whose value it is given."""
    fixed: dict[str, JSON] = Field(default_factory=dict)
    """Other arguments of the call, such as the choice of a field."""
    answer: Text


class Records(ReplyModel):
    """The table of a tool that looks something up."""

    records: list[dict[str, str | int | float | bool]]
    lookup: LookedUp


class Pairs(ReplyModel):
    """What a computing tool gives, worked out without its code."""

    pairs: list[Pair]


class Code(ReplyModel):
    """The function."""

    analysis: str
    code: Text


class GoldArguments(ReplyModel):
    """The hop's call, and where in its result the answer stands."""

    arguments: dict[str, JSON]
    """With ``{k}`` for the answer of hop k."""
    answer_path: list[str | int] = Field(default_factory=list)

    def call(self, parameters: Mapping[str, JSON], answers: Sequence[str]) -> dict[str, JSON]:
        """The arguments with earlier answers in place, by the schema of the tool's parameters."""
        return cast("dict[str, JSON]", resolved(self.arguments, answers, parameters))


class WrittenHop(GoldArguments):
    """How a hop depends on earlier answers, for other items of its family: question and call with
    ``{k}`` for them. The facts of a table stand in the tool's source.
    """

    question: str
    depends_on: list[int]


class FinalQuestion(ReplyModel):
    """The question of the item."""

    question: Text


def normalised(text: str) -> str:
    """One text for replies that say the same: JSON without its spacing, code as its syntax tree."""
    try:
        value = json.loads(json_in(text))
    except (ValueError, RecursionError):
        return " ".join(text.split())
    if isinstance(value, dict):
        value.pop("analysis", None)
        if isinstance(value.get("code"), str):
            value["code"] = same_code(value["code"])
    return json.dumps(value, sort_keys=True)


def same_code(source: str) -> str:
    """A source as its syntax tree, without comments and spacing; the text if it does not parse."""
    try:
        return ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return " ".join(source.split())
