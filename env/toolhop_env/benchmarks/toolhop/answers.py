"""Whether a final message answers the question: ToolHop's official rule, and a strict one.

Every report shows both. The official rule is reproduced with its known bugs, as published figures
depend on it; `official` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolhop_env.messages import AssistantMessage, Message, ToolMessage
from toolhop_env.reading import tagged_answer, without_thoughts
from toolhop_tools.answers import same_answer


def official(gold: str, messages: Sequence[Message]) -> bool | None:
    """Apply ToolHop's rule (released evaluator; paper section 4.1); None if there is no answer.

    Trailing zeros and dots are cut from gold and text, commas are removed from the text only, and
    both are lower-cased. The answer is correct if the gold occurs anywhere in the last message, or
    in a tool message right before it. So a gold of "10" accepts any text with a 1, "0" accepts
    everything, a gold with a comma accepts nothing, and the `<answer>` tag is ignored. The answer
    is unset if the transcript does not end with an assistant message; the evaluator counts that as
    wrong.
    """
    last = messages[-1] if messages else None
    if not isinstance(last, AssistantMessage) or not last.content:
        return None
    wanted = gold.rstrip(".0").lower()
    if wanted in _official_text(last.content):
        return True
    before = messages[-2] if len(messages) > 1 else None
    return isinstance(before, ToolMessage) and wanted in _official_text(before.content)


def _official_text(text: str) -> str:
    return text.rstrip(".0").replace(",", "").lower()


def strict(gold: str, text: str | None) -> bool:
    """Whether the last `<answer>`, or the whole text if it has no tag, equals the gold.

    Plain numbers are equal by value (so "007" is 7). Other texts are equal after Unicode
    composition and case folding, without surrounding spaces, quotes and one final full stop.
    Nothing equals an empty answer.
    """
    if text is None:
        return False
    given = tagged_answer(text)
    return same_answer(gold, without_thoughts(text) if given is None else given)
