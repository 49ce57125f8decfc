"""Reasons why the right call of a hop does not return the gold answer. Pure."""

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
"""Maximum length of a result quoted in a reason, in characters."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a hop is not proven, or why a call does not prove it."""

    verdict: HopVerdict
    why: str
    defect: Defect | None = None


def static_failure(task: Task) -> Failure | None:
    """Return the fault of a hop that is evident without running anything, or None."""
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
    """Interpret an outcome that is not a result; return None for a result.

    Policy refusals, exceeded limits and modules missing from the sandbox are not the item's fault.
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
    """Return the fault that made the right call return an answer other than the gold."""
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
