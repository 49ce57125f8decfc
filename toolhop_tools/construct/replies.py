"""What a model replies at each stage, parsed strictly: JSON alone, no field more, no type other."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.stages import Problem, Stage
from toolhop_tools.construct.text import odd_sign
from toolhop_tools.words import scalars

PARSE = "parse"
"""Name of the check that a reply is what its stage asks for."""
MOST_CHARS = 200_000
"""Of a reply; no stage needs as much."""
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class ReplyModel(BaseModel):
    """What all replies have in common: nothing is let pass."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls, text: str) -> Self | Problem:
        """A reply as a value, or what the parser says of it. It is JSON, unless a shape says not.

        A code fence around it all is let pass. A key that stands twice in an object, and signs that
        nobody sees or that look like others, are not.
        """
        if len(text) > MOST_CHARS:
            noted = f"it has {len(text):,} characters, and at most {MOST_CHARS:,} are read"
            return Problem(PARSE, f"The reply does not parse: {noted}")
        fenced = _FENCE.match(text)
        try:
            found = cls.model_validate_json(fenced[1] if fenced else text, strict=True)
            odd = _odd(fenced[1] if fenced else text)
            return Problem(PARSE, f"The reply does not parse: {odd}") if odd else found
        except ValidationError as error:
            listed = error.errors(include_url=False, include_context=False, include_input=False)
            noted = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'the reply'}: {one['msg']}"
                for one in listed[:5]
            )
            return Problem(PARSE, f"The reply does not parse: {noted}")


def _odd(text: str) -> str:
    """What is wrong with a text that is JSON; empty where nothing is."""
    twice: list[str] = []

    def pairs(listed: list[tuple[str, JSON]]) -> JSON:
        names = [name for name, _ in listed]
        twice.extend(name for name in names if names.count(name) > 1)
        texts.extend(names)
        return dict(listed)

    texts: list[str] = []
    odd: list[str] = []

    def number(written: str) -> float:
        value = float(written)
        if not math.isfinite(value):
            odd.append(written)
        return value

    value = json.loads(text, object_pairs_hook=pairs, parse_constant=odd.append, parse_float=number)
    if odd:
        return f"{odd[0]} is no number that JSON can keep; write one that is finite"
    if twice:
        return f"the key {twice[0]!r} stands twice in an object"
    texts += [one for _, one in scalars(value) if isinstance(one, str)]
    return next(filter(None, map(odd_sign, texts)), "")


class PlannedHop(ReplyModel):
    """A sub-question; ``{1}`` in it stands for the answer of hop 1."""

    question: Text
    depends_on: list[int]


class Decomposition(ReplyModel):
    """The hops, in order."""

    hops: list[PlannedHop]


class ToolDocument(ReplyModel):
    """A tool as a model will be shown it."""

    name: Text
    description: Text
    parameters: dict[str, JSON]


class NewTool(ReplyModel):
    """A first document, and the call that answers the sub-question."""

    analysis: str
    kind: Literal["lookup", "compute"]
    tool: ToolDocument
    arguments: dict[str, JSON]
    """Values that are earlier answers are written ``{1}``."""


class RefinedTool(ReplyModel):
    """The document with more functions."""

    analysis: str
    tool: ToolDocument


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


class Pair(ReplyModel):
    """A call, and what it gives."""

    arguments: dict[str, JSON]
    result: JSON


class Pairs(ReplyModel):
    """What a tool that computes gives, worked out without its code."""

    pairs: list[Pair]


class Code(ReplyModel):
    """The function."""

    analysis: str
    code: Text


class GoldArguments(ReplyModel):
    """The hop's call, and where in its result the answer stands."""

    arguments: dict[str, JSON]
    answer_path: list[str | int] = Field(default_factory=list)


class FinalQuestion(ReplyModel):
    """The question of the item."""

    question: Text


StageReply: TypeAlias = ReplyModel
SHAPES: Mapping[Stage, type[ReplyModel]] = {
    Stage.DECOMPOSE: Decomposition,
    Stage.TOOL: NewTool,
    Stage.REFINE: RefinedTool,
    Stage.CODE: Code,
    Stage.CALL: GoldArguments,
    Stage.QUESTION: FinalQuestion,
}
"""Facts are `Records` or `Pairs`, by the kind of the tool."""


def normalised(text: str) -> str:
    """One text for replies that say the same: JSON without its spacing, code as its syntax tree."""
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
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
