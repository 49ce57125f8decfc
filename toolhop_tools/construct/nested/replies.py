"""What a model replies at each stage of a nested task: code, or JSON; parsed strictly."""

from __future__ import annotations

import re
from typing import Self

from toolhop_tools.construct.nested.code import parsed
from toolhop_tools.construct.replies import PARSE, ReplyModel, Text
from toolhop_tools.construct.stages import Problem

_FENCE = re.compile(r"\A\s*```(?:python|py)?[ \t]*\n(.*)\n\s*```\s*\Z", re.DOTALL)


class ChainCode(ReplyModel):
    """Stubs, `main`, and the task as a comment: Python text, which is never run."""

    source: str

    @classmethod
    def read(cls, text: str) -> Self | Problem:
        """The source; thoughts before it and a code fence around it are passed over."""
        text = text.rpartition("</think>")[2]
        fenced = _FENCE.match(text)
        source = (fenced[1] if fenced else text).strip() + "\n"
        tree = parsed(source)
        if isinstance(tree, str):
            return Problem(PARSE, f"The reply is no Python code: {tree}")
        return cls(source=source)


class Judgement(ReplyModel):
    """Whether a response is what a parameter asks for."""

    reference: int
    meant: bool
    why: str


class Judgements(ReplyModel):
    """One for each reference."""

    references: list[Judgement]


class TaskText(ReplyModel):
    """The task in words."""

    task: Text
