"""Why ToolHop's official scorer and the strict one differ on an episode."""

from __future__ import annotations

import re
from enum import StrEnum

from toolhop_env.benchmarks.toolhop.answers import official, strict
from toolhop_env.messages import AssistantMessage
from toolhop_env.reading import tagged_answer
from toolhop_env.trace import Trace


class Gap(StrEnum):
    """What one scorer accepted and the other refused. See `answers.official`."""

    ANY_TEXT = "any_text"
    """The gold is nothing but zeros and dots, which are cut off: any text has it."""
    TOOL_MESSAGE = "tool_message"
    """The gold is in the tool's last message alone."""
    ZEROS_CUT = "zeros_cut"
    """The message has the gold only after its trailing zeros and dots are cut off."""
    TAG_LETTERS = "tag_letters"
    """The gold occurs in the letters of the answer's tag."""
    BESIDE_THE_ANSWER = "beside_the_answer"
    """The gold is in the message, outside of the answer's tag."""
    CONTAINMENT = "containment"
    """The answer has the gold as a part."""
    NO_ANSWER = "no_answer"
    """The last message has the gold, and calls as well: it was not an answer yet."""

    COMMA = "comma"
    """Commas are cut from the text and not from the gold, which has one."""
    FORM = "form"
    """The same value or text in other writing: digits, quotes, case, composed letters."""


def gap(gold: str, trace: Trace) -> Gap | None:
    """Why the scorers differ; None where they agree. Unset counts as refused."""
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
    """Why the official scorer takes a text that is not the gold, or the tool message before it."""
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
