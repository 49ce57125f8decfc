"""What is wrong with a hop whose right call does not give the gold answer. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON, NotJson, Outcome, Raised, Refused, Returned
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.candidates import Candidate, Task, texts_of
from toolhop_tools.certify.honesty import Asked
from toolhop_tools.certify.model import Defect
from toolhop_tools.certify.words import (
    as_text,
    bare,
    name_words,
    runs,
    scalars,
    stands_in,
    words,
)
from toolhop_tools.errors import shown
from toolhop_tools.failures import tells_of_error
from toolhop_tools.reading import read_result

EXACT_COST = 0.3
"""Cost up to which an enumerated value is what the question, or the schema's default, says."""

SHOWN_CHARS = 60
"""Letters of a result that a reason quotes."""

_NOTHING = re.compile(
    r"\b(?:not? (?:\w+ ){0,4}(?:found|available|known|exist|recogni[sz]ed|supported|match|data)"
    r"|unknown|unavailable|n/?a|none|null|nothing|invalid|unsupported|undefined|empty"
    r"|un(?:able|identified|specified)|can(?:not|'t)|does(?: not|n't)|is not|no \w+"
    r"|insufficient|missing|please)\b",
    re.IGNORECASE,
)


def definite(value: JSON, arguments: dict[str, JSON]) -> bool:
    """Whether a result says something: no error, no "not found", more than its own input."""
    if tells_of_error(value) or value == -1:
        # Alone, minus one says that nothing was found.
        return False
    given = {bare(text) for text in texts_of(arguments)}
    for _, leaf in scalars(value):
        if leaf is None or isinstance(leaf, bool):
            continue
        text = as_text(leaf)
        if not text.strip() or bare(text) in given or _NOTHING.search(text):
            continue
        return True
    return False


@dataclass(frozen=True, slots=True)
class Tried:
    """A call that was made in the search."""

    candidate: Candidate
    outcome: Outcome
    alone: bool = False
    """Whether the call had a process to itself."""


def exact(tried: Tried) -> bool:
    """Whether a made-up call has nothing in it but what the question or a default says."""
    sources = tried.candidate.sources
    told = {"answer", "question", "date", "enum", "default"}
    # An optional parameter is a guess; a choice that nothing speaks for costs more than this.
    return told.issuperset(sources.values()) and tried.candidate.cost <= EXACT_COST


def static_defect(task: Task) -> tuple[Defect, str] | None:
    """What reading alone shows to be wrong, with the reason."""
    source, name = task.source, task.hop.tool.program.function
    if not task.hop.answer.strip():
        return Defect.NO_ANSWER, "the data set gives no answer to this sub-question"
    if not task.schema_is_valid:
        return Defect.BAD_SCHEMA, "the tool's schema is no valid JSON Schema"
    if not source.parses:
        return Defect.NOT_PYTHON, "the source is not Python"
    if not source.defined:
        return Defect.NO_FUNCTION, f"the source defines no function {shown(name)}"
    unknown = [one for one in source.needed if one not in task.properties]
    if unknown:
        listed = ", ".join(unknown)
        return Defect.SIGNATURE, f"the function requires {listed}, which the schema does not name"
    return None


def failure(outcome: Outcome, function: str) -> tuple[Defect, str] | None:
    """The class of an outcome that is no result, with the reason; None for a result."""
    match outcome:
        case Returned():
            return None
        case Refused(reason=reason):
            missing = re.search(r"module '?[\w.]+'? is not available", reason)
            return (Defect.NO_MODULE if missing else Defect.REFUSED), reason
        case Raised(error="ImportError" | "ModuleNotFoundError", message=message):
            return Defect.NO_MODULE, message
        case Raised(error="SyntaxError" | "IndentationError" | "TabError", message=message):
            return Defect.NOT_PYTHON, message
        case Raised(error="NameError", message=message) if f"'{function}'" in message:
            return Defect.NO_FUNCTION, message
        case Raised(error="TypeError", message=message) if f"{function}()" in message:
            return Defect.SIGNATURE, message
        case Raised(error=error, message=message):
            return Defect.RAISES, f"{error}: {message}"
        case NotJson(reason=reason):
            return Defect.NO_RESULT, f"its result is no JSON: {reason}"
        case _:
            return Defect.NO_RESULT, outcome.kind.replace("_", " ")


def is_left_out(outcome: Outcome, documented: Container[str]) -> bool:
    """Whether a call lacks parameters that the schema has as optional: another call has them."""
    if not isinstance(outcome, Raised) or " missing " not in outcome.message:
        return False
    names = re.findall(r"'(\w+)'", outcome.message)
    return bool(names) and all(name in documented for name in names)


def other_result(asked: Asked, tried: Tried, later: Sequence[str]) -> tuple[Defect, str] | None:
    """What it means that the right call returned something definite that is not the gold.

    Args:
        asked: the hop.
        tried: the right call.
        later: the sub-questions of the hops after it.
    """
    if not isinstance(tried.outcome, Returned):
        return None
    value = read_result(tried.outcome.json_text)
    arguments = tried.candidate.arguments
    if not definite(value, arguments):
        return None
    gold = html.unescape(asked.gold)
    if _keyed(gold, value):
        return Defect.OTHER_LABEL, "the gold is the name under which the result is listed"
    if _subject(asked, gold):
        return Defect.OTHER_LABEL, "the gold repeats the question"
    followed = [leaf for leaf in _names(value, arguments) if any(stands_in(leaf, q) for q in later)]
    if followed and not any(stands_in(gold, question) for question in later):
        return Defect.OTHER_LABEL, f"the next hop resumes {shown(followed[0])}, not the gold"
    text = tried.outcome.json_text
    short = text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
    return Defect.OTHER_VALUE, f"the right call returns {short}, the gold is {shown(gold)}"


def _subject(asked: Asked, gold: str) -> bool:
    """Whether the gold is, whole, the one name that the question asks about.

    Not a part of it, as a first name is, and not one of several names to choose from.
    """
    named = [*(answer for _, answer in asked.mentions.answers), *asked.mentions.names]
    wanted = name_words(gold)
    if sum(map(str.isalpha, gold)) < 2:
        return False
    apart = [name for name in named if not runs(name_words(name), wanted)]
    apart = [name for name in apart if not runs(wanted, name_words(name))]
    return not apart and any(name_words(name) == wanted for name in named)


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


def _names(value: JSON, arguments: dict[str, JSON]) -> list[str]:
    given = {bare(text) for text in texts_of(arguments)}
    found = [leaf for _, leaf in scalars(value) if isinstance(leaf, str)]
    return [text for text in found if len(words(text)) > 1 and bare(text) not in given]
