"""Why ToolHop's official and strict scorers differ on an episode."""

from __future__ import annotations

import re
from enum import StrEnum

from toolhop_env.benchmarks.toolhop.answers import official, strict
from toolhop_env.messages import AssistantMessage
from toolhop_env.reading import tagged_answer
from toolhop_env.trace import Trace


class Gap(StrEnum):
    """Reasons why one scorer accepts what the other rejects. See `answers.official`."""

    ANY_TEXT = "any_text"
    """The gold is only zeros and dots, which are cut off, so any text contains it."""
    TOOL_MESSAGE = "tool_message"
    """The gold occurs only in the last tool message."""
    ZEROS_CUT = "zeros_cut"
    """The message contains the gold only because its trailing zeros and dots are cut off."""
    TAG_LETTERS = "tag_letters"
    """The gold occurs in the letters of the tag `<answer>` itself."""
    BESIDE_THE_ANSWER = "beside_the_answer"
    """The gold occurs in the message, outside the answer's tag."""
    CONTAINMENT = "containment"
    """The answer contains the gold, but does not equal it."""
    NO_ANSWER = "no_answer"
    """The last message contains the gold, but also makes a call, so it is not an answer yet."""

    COMMA = "comma"
    """Commas are removed from the text but not from the gold, which has one."""
    FORM = "form"
    """The same value or text, written differently: digits, quotes, case, composed letters."""


def gap(gold: str, trace: Trace) -> Gap | None:
    """Return why the scorers differ; None if they agree. An unset answer counts as rejected."""
    messages = trace.conversation()
    accepted = official(gold, messages) is True
    right = strict(gold, trace.final_text)
    if accepted == right:
        return None
    if right:
        return Gap.COMMA if "," in gold else Gap.FORM
    last = messages[-1]
    text = last.content if isinstance(last, AssistantMessage) else ""
    return _accepted(gold, text) if trace.final_text is not None else Gap.NO_ANSWER


def _accepted(gold: str, text: str) -> Gap:
    """Return why the official scorer accepts a wrong text, or the tool message before it."""
    if not gold.rstrip(".0"):
        return Gap.ANY_TEXT
    if not _takes(gold, text):
        return Gap.TOOL_MESSAGE
    if gold.lower() not in text.replace(",", "").lower():
        return Gap.ZEROS_CUT
    tagged = tagged_answer(text)
    if tagged is None or _takes(gold, tagged):
        return Gap.CONTAINMENT
    bare = re.sub(r"</?answer>", " ", text)
    return Gap.BESIDE_THE_ANSWER if _takes(gold, bare) else Gap.TAG_LETTERS


def _takes(gold: str, text: str) -> bool:
    return official(gold, [AssistantMessage(text)]) is True
