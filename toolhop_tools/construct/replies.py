"""Reply of a model at each stage: a JSON object with exactly the declared fields and types."""

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
"""Name of the check that a reply has the form required by its stage."""
MOST_CHARS = 200_000
"""Maximum length of a reply, in characters; no stage needs as much."""
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class ReplyModel(BaseModel):
    """A strictly parsed reply, the base of all replies."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls, text: str) -> Self | Problem:
        """Parse a reply, or return the `Problem` with it.

        Duplicate keys of an object, numbers that JSON cannot represent, and invisible characters
        are refused.
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
    """Return what is wrong with a JSON text apart from its shape; empty if nothing is."""
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
    """Describe the first invisible character of a text; empty if there is none."""
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
    """A call and its result."""

    arguments: dict[str, JSON]
    result: JSON


class Forgives(StrEnum):
    """A spelling difference that a tool ignores in its text arguments."""

    CASE = "case"
    ACCENTS = "accents"
    ARTICLES = "articles"
    HYPHENS = "hyphens"
    SPACES = "spaces"


class Limit(ReplyModel):
    """The range of a numeric parameter; outside it, the call returns an error."""

    parameter: Text
    least: int | float | None = None
    most: int | float | None = None


class Covers(ReplyModel):
    """The knowledge of a lookup tool."""

    records: int
    """Number of records in its table."""
    key: list[str] = Field(min_length=1)
    """Parameters that together identify a record."""


class Contract(ReplyModel):
    """The promises of a tool, as data: rendered in its document, and tested by calls."""

    examples: list[Pair] = Field(default_factory=list, max_length=12)
    forgives: list[Annotated[Forgives, Field(strict=False)]] = Field(default_factory=list)
    units: dict[str, Text] = Field(default_factory=dict)
    """Unit of each parameter, or of the ``result``."""
    result_form: dict[str, JSON]
    """JSON Schema of every result that is not an error."""
    limits: list[Limit] = Field(default_factory=list)
    errors: dict[str, Text] = Field(default_factory=dict)
    """Error for an unknown key, by key parameter; ``{given}`` and ``{known}`` in it stand for
    that key and for all known keys."""
    covers: Covers | None = None
    """Knowledge of a lookup tool; None for other tools."""


class ToolDocument(ReplyModel):
    """A tool as shown to a model, except for the sentences rendered from its contract."""

    name: Text
    description: Text
    """Subject of the tool; promises belong in the contract."""
    parameters: dict[str, JSON]


class RefinedTool(ReplyModel):
    """A refined document with its contract."""

    analysis: str
    tool: ToolDocument
    contract: Contract


class NewTool(RefinedTool):
    """A first document with its contract, and the call that answers the sub-question."""

    kind: Literal["lookup", "compute"]
    arguments: dict[str, JSON]
    """Arguments of the call; earlier answers are written as ``{1}``."""


class LookedUp(ReplyModel):
    """The call that finds a record, and the field of the record that is the answer."""

    parameters: dict[str, str]
    """Field whose value each parameter takes."""
    fixed: dict[str, JSON] = Field(default_factory=dict)
    """Other arguments of the call, such as the selected field."""
    answer: Text


class Records(ReplyModel):
    """The table of a lookup tool."""

    records: list[dict[str, str | int | float | bool]]
    lookup: LookedUp


class Pairs(ReplyModel):
    """Expected results of a computing tool, worked out without its code."""

    pairs: list[Pair]


class Code(ReplyModel):
    """The source of the function."""

    analysis: str
    code: Text


class GoldArguments(ReplyModel):
    """The gold call of a hop, and the path to the answer in its result."""

    arguments: dict[str, JSON]
    """Arguments of the call, with ``{k}`` for the answer of hop k."""
    answer_path: list[str | int] = Field(default_factory=list)

    def call(self, parameters: Mapping[str, JSON], answers: Sequence[str]) -> dict[str, JSON]:
        """Return the arguments with earlier answers filled in, typed by the parameters' schema."""
        return cast("dict[str, JSON]", resolved(self.arguments, answers, parameters))


class WrittenHop(GoldArguments):
    """A hop with ``{k}`` for earlier answers, used to build other items of its family.

    The facts of a table are in the tool's source.
    """

    question: str
    depends_on: list[int]


class FinalQuestion(ReplyModel):
    """The question of the item."""

    question: Text


def normalised(text: str) -> str:
    """Return a reply without formatting, such as JSON spacing or comments in code."""
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
    """Return a source as its syntax tree, without comments; unparsable text is unchanged."""
    try:
        return ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return " ".join(source.split())
