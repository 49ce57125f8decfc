"""Strict reading of the calls in a reply, in two tool-call formats.

*native*: the provider's function calling; calls come separately from the text. *text*: for models
without it; the reply's text has lines `Action: NAME` and `Action Input: {...}` (the thought,
action, action input, observation form of ReAct prompting).
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum

from toolhop_env.messages import RawCall, Reply, Thoughts


class CallFormat(StrEnum):
    """Formats in which agents write calls."""

    NATIVE = "native"
    TEXT = "text"


def read_calls(call_format: CallFormat, reply: Reply, turn: int) -> tuple[RawCall, ...]:
    """Return the calls of a reply, unchecked; empty if the reply is the final answer.

    `turn` is part of the calls' ids in the text format, which has no ids of its own.
    """
    if call_format is CallFormat.NATIVE:
        return reply.calls
    return tuple(
        RawCall(f"turn{turn}_call{index}", name, arguments)
        for index, (name, arguments) in enumerate(_actions(reply.content), start=1)
    )


_LABEL = re.compile(
    r"^[ \t]*(?:\*\*|__|#+[ \t])?"
    r"(Thought|Action Input|Action|Observation|Final Answer)"
    r"(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]*",
    re.MULTILINE,
)
"""Bold type or a heading is ignored around a label; around a name or its input it is an error."""


def _actions(text: str) -> list[tuple[str, str]]:
    """Return pairs of tool name and argument text, up to the first invented observation."""
    found: list[tuple[str, str]] = []
    pieces = _LABEL.split(without_thoughts(text))
    # split gives: before, label, body, label, body, ...
    for label, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if label == "Observation":
            break
        if label == "Action":
            found.append((body.strip(), ""))
        elif label == "Action Input" and found and not found[-1][1]:
            found[-1] = (found[-1][0], body.strip())
    return found


_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_OPENS = re.compile(
    r"(?:^[ \t]*|(?<=</answer>)|(?<=</think>)|(?<=</thinking>))<think(?:ing)?>",
    re.MULTILINE | re.IGNORECASE,
)


def without_thoughts(text: str) -> str:
    """Return the text without its ``<think>`` parts.

    A thought opens if its tag begins a line or follows the end of a thought or an answer;
    elsewhere, such as inside an argument, the tag is plain text. The thought ends at its closing
    tag, or at the end of the text. If the first tag is a closing one, the thought was opened by the
    prompt, as in some chat templates, and everything before the tag is thought. A closing tag at
    the end of a text that closes nothing is ignored.
    """
    return _apart(text)[1]


def _apart(text: str) -> tuple[str, str]:
    """Split a text into its ``<think>`` parts, tags included, and the rest."""
    text = _without_stray_end(text)
    first = _TAG.search(text)
    begins = first.end() if first and first[1] else 0
    thought, text = [text[:begins]], text[begins:]
    said, at = list[str](), 0
    while opened := _OPENS.search(text, at):
        said.append(text[at : opened.start()])
        at = _end_of_thought(text, opened.end())
        thought.append(text[opened.start() : at])
    return "".join(thought), "".join(said) + text[at:]


def _without_stray_end(text: str) -> str:
    """Return the text without tags at its end that close nothing."""
    tags = list(_TAG.finditer(text))
    surplus = sum(1 if tag[1] else -1 for tag in tags)
    end = len(text)
    for tag in reversed(tags[len(tags) - max(surplus, 0) :]):
        if not tag[1] or text[tag.end() : end].strip():
            break
        end = tag.start()
    return text[:end].rstrip() if end < len(text) else text


def _end_of_thought(text: str, start: int) -> int:
    """Return the end of a thought that began before `start`; thoughts may be nested."""
    depth, end = 1, len(text)
    for tag in _TAG.finditer(text, start):
        depth += -1 if tag[1] else 1
        end = tag.end() if tag[1] else end
        if depth == 0:
            return end
    return end


def thoughts_apart(reply: Reply) -> tuple[Thoughts | None, str]:
    """Return the model's thoughts, from their own fields or the text, and the remaining text."""
    (within, said), thoughts = _apart(reply.content), reply.thoughts or Thoughts()
    if not within or thoughts.digest:
        return reply.thoughts, said
    return replace(thoughts, text="\n".join(filter(None, (thoughts.text, within)))), said


def thoughts_forgotten(reply: Reply) -> Reply:
    """Return the reply with length and digest in place of its thoughts.

    If the text had thoughts, an empty ``<think>`` replaces them, so that the rest reads as before.
    """
    thoughts, said = thoughts_apart(reply)
    if thoughts is None:
        return reply
    content = said if said == reply.content else f"<think></think>{said}"
    return replace(reply, content=content, thoughts=thoughts.forgotten())


def cut_in_thought(reply: Reply) -> bool:
    """Whether a reply reached its token limit before the model said anything but thoughts."""
    thought = reply.thoughts or reply.usage.reasoning_tokens or reply.content
    return reply.cut and bool(thought) and not without_thoughts(reply.content).strip()


def write_calls(content: str, calls: tuple[RawCall, ...]) -> str:
    """Return a reply in the text format that makes `calls`, for agents that write this format."""
    lines = [f"Thought: {content}"] if content else []
    for call in calls:
        lines += [f"Action: {call.name}", f"Action Input: {call.arguments}"]
    return "\n".join(lines)


_ANSWER = re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.DOTALL)


def tagged_answer(text: str) -> str | None:
    """Return the content of the last `<answer>` tag, trimmed; None if there is none.

    ToolHop's prompts ask for the tag. A tag that is never closed, as in "I put it in <answer>
    tags", or is inside a thought, is ignored.
    """
    found = _ANSWER.findall(without_thoughts(text))
    return found[-1].strip() if found else None
