"""What is wrong with a hop whose right call does not give the gold answer. Pure."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import assert_never

from toolhop_sandbox.outcome import (
    Died,
    NotJson,
    Outcome,
    OutOfMemory,
    Raised,
    Refused,
    Returned,
    TimedOut,
    TooLarge,
)
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.candidates import Task, Tried
from toolhop_tools.certify.model import Defect, HopVerdict
from toolhop_tools.certify.readable import Asked
from toolhop_tools.errors import shown
from toolhop_tools.words import name_words, scalars

SHOWN_CHARS = 60
"""Letters of a result that a reason quotes."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What keeps a hop from being proven, or a call from proving it."""

    verdict: HopVerdict
    why: str
    defect: Defect | None = None


def static_failure(task: Task) -> Failure | None:
    """What reading alone shows to be wrong."""
    source, name = task.source, task.hop.tool.program.function
    if not task.hop.answer.strip():
        why = "the data set gives no answer to this sub-question"
        return Failure(HopVerdict.DEFECTIVE, why, Defect.NO_ANSWER)
    unknown = [one for one in source.needed if one not in task.properties]
    if task.validator is None:
        why = "the tool's schema is no valid JSON Schema"
    elif not source.parses:
        why = "the source is not Python"
    elif not source.defined:
        why = f"the source defines no function {shown(name)}"
    elif unknown:
        why = f"the function requires {', '.join(unknown)}, which the schema does not name"
    else:
        return None
    return Failure(HopVerdict.DEFECTIVE, why, Defect.NOT_CALLABLE)


def failure(outcome: Outcome) -> Failure | None:
    """What an outcome that is no result means; None for a result.

    What the policy refuses, what runs out of a limit, and a module that the sandbox does not have
    are no fault of the item.
    """
    match outcome:
        case Returned():
            return None
        case Refused(reason=reason):
            return Failure(HopVerdict.REFUSED, reason)
        case TimedOut() | OutOfMemory() | TooLarge() | Died():
            return Failure(HopVerdict.REFUSED, outcome.kind.replace("_", " "))
        case Raised(error="ImportError" | "ModuleNotFoundError" as error, message=message):
            return Failure(HopVerdict.REFUSED, f"{error}: {message}")
        case Raised(error=error, message=message):
            why = f"{error}: {message}"
        case NotJson(reason=reason):
            why = f"its result is no JSON: {reason}"
        case _:
            assert_never(outcome)
    return Failure(HopVerdict.DEFECTIVE, why, Defect.NOT_CALLABLE)


def other_result(asked: Asked, tried: Tried) -> Failure | None:
    """What it means that the right call returned another answer than the gold."""
    text, gold = tried.text, html.unescape(asked.gold)
    if not text:
        return failure(tried.outcome)
    if any(same_answer(gold, str(key)) for path, _ in scalars(tried.value) for key in path):
        why, defect = "the gold is the name under which the result is listed", Defect.OTHER_LABEL
    elif sum(map(str.isalpha, gold)) > 1 and [*map(name_words, asked.named)] == [name_words(gold)]:
        why, defect = "the gold repeats the question", Defect.OTHER_LABEL
    else:
        short = text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
        why = f"the right call returns {short}, the gold is {shown(gold)}"
        defect = Defect.OTHER_VALUE
    return Failure(HopVerdict.DEFECTIVE, why, defect)
