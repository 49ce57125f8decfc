"""What is wrong with a hop whose right call does not give the gold answer. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import assert_never

from toolhop_sandbox.outcome import (
    JSON,
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
from toolhop_tools.certify.candidates import Candidate, Task, texts_of
from toolhop_tools.certify.model import Defect, HopVerdict
from toolhop_tools.certify.readable import Asked
from toolhop_tools.certify.words import bare, name_words, scalars, stands_in, words
from toolhop_tools.errors import shown
from toolhop_tools.reading import read_result

SHOWN_CHARS = 60
"""Letters of a result that a reason quotes."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A call that was made in the search."""

    candidate: Candidate
    outcome: Outcome
    alone: bool = False
    """Whether the call had a process to itself."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What it means that the right call gives no result."""

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


def asked_for(task: Task, tried: Sequence[Tried]) -> tuple[str, ...]:
    """Optional parameters that the tool's own error messages name."""
    told = [_complaint(one.outcome) for one in tried]
    optional = [name for name in task.properties if name not in task.required]
    return tuple(name for name in optional if any(_names(name, text) for text in told))


def _complaint(outcome: Outcome) -> str:
    if isinstance(outcome, Raised):
        return f"{outcome.error}: {outcome.message}"
    text = outcome.json_text if isinstance(outcome, Returned) else ""
    return text if re.search(r"(?i)error|require|missing|must|specif|provide", text[:400]) else ""


def _names(name: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)) or (
        name.replace("_", " ") in text.lower() and "_" in name
    )


def is_left_out(outcome: Outcome, documented: Container[str]) -> bool:
    """Whether a call lacks parameters that the schema has as optional: another call has them."""
    if not isinstance(outcome, Raised) or " missing " not in outcome.message:
        return False
    names = re.findall(r"'(\w+)'", outcome.message)
    return bool(names) and all(name in documented for name in names)


def other_result(asked: Asked, tried: Tried, later: Sequence[str]) -> Failure | None:
    """What it means that the right call returned another answer than the gold.

    Args:
        asked: the hop.
        tried: the right call.
        later: the sub-questions of the hops after it.
    """
    if not isinstance(tried.outcome, Returned):
        return failure(tried.outcome)
    value = read_result(tried.outcome.json_text)
    arguments = tried.candidate.arguments
    gold = html.unescape(asked.gold)
    followed = [leaf for leaf in _texts(value, arguments) if any(stands_in(leaf, q) for q in later)]
    label = ""
    if _keyed(gold, value):
        label = "the gold is the name under which the result is listed"
    elif _subject(asked, gold):
        label = "the gold repeats the question"
    elif followed and not any(stands_in(gold, question) for question in later):
        label = f"the next hop resumes {shown(followed[0])}, not the gold"
    if label:
        return Failure(HopVerdict.DEFECTIVE, label, Defect.OTHER_LABEL)
    text = tried.outcome.json_text
    short = text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
    why = f"the right call returns {short}, the gold is {shown(gold)}"
    return Failure(HopVerdict.DEFECTIVE, why, Defect.OTHER_VALUE)


def _subject(asked: Asked, gold: str) -> bool:
    """Whether the gold is, whole, the one name that the question asks about."""
    wanted = name_words(gold)
    return sum(map(str.isalpha, gold)) > 1 and [*map(name_words, asked.named)] == [wanted]


def _keyed(gold: str, value: JSON) -> bool:
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if any(same_answer(gold, key) for key in part):
                return True
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)
    return False


def _texts(value: JSON, arguments: dict[str, JSON]) -> list[str]:
    given = {bare(text) for text in texts_of(arguments)}
    found = [leaf for _, leaf in scalars(value) if isinstance(leaf, str)]
    return [text for text in found if len(words(text)) > 1 and bare(text) not in given]
