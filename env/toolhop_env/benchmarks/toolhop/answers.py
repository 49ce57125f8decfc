"""Whether a final message answers the question: ToolHop's official rule, and a strict one.

Both are pure and stand side by side in every report. The official rule is reproduced, known bugs
included, because published figures rest on it; they are listed at `official`.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolhop_env.messages import AssistantMessage, Message, ToolMessage
from toolhop_env.reading import tagged_answer, without_thoughts
from toolhop_tools.answers import same_answer


def official(gold: str, messages: Sequence[Message]) -> bool | None:
    """ToolHop's rule (its released evaluator; paper section 4.1). None leaves the answer unset.

    Trailing characters out of ``.0`` are cut from gold and text, commas are removed from the text
    only, both are lower-cased; correct is a gold that occurs anywhere in the last message, or
    in the tool message right before it. So gold "10" accepts any text with a 1, gold "0" accepts
    everything, a gold with a comma accepts nothing, and the `<answer>` tag is not looked at. Unset
    are transcripts that do not end with an assistant's text; the evaluator counts them as wrong.
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
    """Whether the last `<answer>` (the whole text where there is no tag) equals the gold.

    Equal means: the same number by value where both are plain numbers (so "007" is 7), else the
    same text after Unicode composition, case folding, and without surrounding spaces, quotes and
    one last dot. Nothing equals an empty answer.
    """
    if text is None:
        return False
    given = tagged_answer(text)
    return same_answer(gold, without_thoughts(text) if given is None else given)
