"""Whether a call gives the result of a step, whatever its form: rules shared by several scorers."""

from __future__ import annotations

from toolhop_env.benchmarks.known import plain_words
from toolhop_env.chain import Step
from toolhop_env.feedback import result_value
from toolhop_env.score import holds_answer, holds_at
from toolhop_env.trace import Called
from toolhop_env.verdicts import Call
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.dates import whole_date
from toolhop_tools.model import canonical
from toolhop_tools.words import as_text, runs, scalars

LEAST_TELLING = 3
"""Characters from which an answer in a longer text, or in another tool's result, is no accident."""


MOST_TEXTS = 1000
"""Maximum number of texts of a result that are searched for an answer."""


def gives(call: Called, step: Step) -> bool:
    """Whether a call succeeded and is the proven call, or its result has the step's answer.

    The answer may be a value of the result or stand in one of its texts. In another tool's result
    it counts unless the call itself passed it, or it is short and one of several values.
    """
    if call.error is not None or not isinstance(call.outcome, Returned):
        return False
    own = call.raw.name == step.tool
    made = call.verdict.arguments if isinstance(call.verdict, Call) else {}
    if own and step.arguments and same(made, dict(step.arguments)):
        return True
    if own and holds_at(call, step.answer, step.place):
        return True
    if not own and any(says(text, step.answer) for text in texts(made)):
        return False
    found, telling = texts(result_value(call.outcome)), len(step.answer) >= LEAST_TELLING
    if holds_answer(call, step.answer) and (own or telling or len(found) == 1):
        return True
    return telling and any(says(text, step.answer) for text in found[:MOST_TEXTS])


def same(value: JSON, other: JSON) -> bool:
    """Whether two values are equal; values nested too deeply are not."""
    try:
        return canonical(value) == canonical(other)
    except RecursionError:
        return False


def says(text: str, answer: str) -> bool:
    """Whether a text has an answer's words in a row, or is the same date."""
    day = whole_date(answer)
    same_day = day is not None and day == whole_date(text)
    return same_day or bool(runs(plain_words(answer), plain_words(text)))


def texts(value: JSON) -> list[str]:
    """Return the scalars of a value as text, without nulls."""
    return [as_text(leaf) for _, leaf in scalars(value) if leaf is not None]
