"""An episode as the tokens that a model was given and wrote, for trainers. Pure.

What a model wrote stays as it wrote it: nothing is decoded and encoded again. Between two of its
turns stand the tokens of the feedback as the chat template puts it, which are not its own: the mask
says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply, ToolMessage
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import ToolSchema


class Tokenizer(Protocol):
    """What is used of a tokenizer of transformers."""

    @property
    def eos_token_id(self) -> int | None:
        """Ends a turn."""

    def apply_chat_template(
        self,
        conversation: Any,  # noqa: ANN401 -- transformers' signature, as below
        tools: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """A text, as ``tokenize=False`` asks for."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """The tokens of a text."""

    def decode(self, token_ids: Any, *, skip_special_tokens: bool) -> Any:  # noqa: ANN401
        """The text of tokens."""


class TokenizedEpisode:
    """Prompt, and all that came after it, with a mask."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        ends: Sequence[int] = (),
    ) -> None:
        """Begin with the prompt.

        Args:
            tokenizer: its chat template shows messages and tools.
            messages: the prompt.
            tools: beside the messages; none in the text format.
            ends: tokens that end a turn; the tokenizer's own where none is given.
        """
        own = () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
        self._tokenizer, self._tools = tokenizer, [_tool(one) for one in tools] or None
        self._ends = tuple(ends) or own
        self.prompt_ids = self._encoded(self._shown([_wire(one) for one in messages], asks=True))
        self.completion_ids: list[int] = []
        self.env_mask: list[int] = []
        """For each of `completion_ids`: 1 if the model wrote it, 0 if it was given."""
        self.logprobs: list[float] | None = []
        """For each as well, 0.0 where it was given; None if the model's are not known."""
        self._ended = True

    @property
    def ids(self) -> list[int]:
        """All tokens so far: what the model goes on from."""
        return self.prompt_ids + self.completion_ids

    def wrote(self, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> Reply:
        """Add a turn of the model.

        Returns:
            Its text as a reply without calls, and whether it was cut.
        """
        if logprobs is not None and len(logprobs) != len(ids):
            raise ValueError(f"{len(ids)} tokens came with {len(logprobs)} log-probabilities")
        self.completion_ids += ids
        self.env_mask += [1] * len(ids)
        if logprobs is None:
            self.logprobs = None
        elif self.logprobs is not None:
            self.logprobs += logprobs
        self._ended = bool(ids) and ids[-1] in self._ends
        said = list(ids)[:-1] if self._ended else list(ids)
        text = str(self._tokenizer.decode(said, skip_special_tokens=False))
        return Reply(text, finish_reason="stop" if self._ended else "length")

    def heard(self, reply: AssistantMessage, messages: Sequence[Message]) -> list[int]:
        """The tokens between the model's last turn, which was `reply`, and its next; see `add`.

        Raises:
            BadChoice: the chat template cannot go on from a reply.
        """
        dummy = {"role": "user", "content": "."}
        plain = {"role": "assistant", "content": _MARK}
        rest = _after(self._shown([dummy, plain], asks=False))
        if self._ended:
            ends = (str(self._tokenizer.decode([one], skip_special_tokens=False))
                    for one in (self.completion_ids[-1], *self._ends))  # fmt: skip
            rest = rest.removeprefix(next((one for one in ends if rest.startswith(one)), ""))
        said = _wire(reply) | {"content": _MARK}
        until = _after(self._shown([dummy, said], asks=False))
        whole = _after(self._shown([dummy, said, *map(_wire, messages)], asks=True))
        if not whole.startswith(until):
            raise BadChoice(
                "the chat template shows a reply otherwise once feedback follows it",
                fix="give the tokenizer one that does not, such as its model's own for training",
            )
        return self._encoded(rest + whole[len(until) :])

    def add(self, ids: Sequence[int]) -> None:
        """Add tokens that the model is given."""
        self.completion_ids += ids
        self.env_mask += [0] * len(ids)
        if self.logprobs is not None:
            self.logprobs += [0.0] * len(ids)

    def _shown(self, messages: Sequence[Mapping[str, Any]], *, asks: bool) -> str:
        found = self._tokenizer.apply_chat_template(
            list(messages), tools=self._tools, tokenize=False, add_generation_prompt=asks
        )
        return str(found)

    def _encoded(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))


_MARK = "what-the-model-wrote"


def _after(text: str) -> str:
    """What follows the model's words; all where a template leaves them out beside calls."""
    return text.rpartition(_MARK)[2]


def _tool(schema: ToolSchema) -> dict[str, Any]:
    """In the form that chat templates take."""
    function = {
        "name": schema.name,
        "description": schema.description,
        "parameters": dict(schema.parameters),
    }
    return {"type": "function", "function": function}


def _wire(message: Message) -> dict[str, Any]:
    """In the form that chat templates take: arguments are an object where they can be."""
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if isinstance(message, AssistantMessage) and message.calls:
        found["tool_calls"] = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.name, "arguments": _object(one.arguments)},
            }
            for one in message.calls
        ]
    if isinstance(message, ToolMessage):
        found |= {"tool_call_id": message.call_id, "name": message.name}
    return found


def _object(text: str) -> object:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)


def tagged_calls(reply: Reply) -> Reply:
    """Calls out of ``<tool_call>{"name": ..., "arguments": ...}</tool_call>``, as most open models
    write them. A block that names no tool stays in the text: the episode says what is wrong.
    """
    calls: list[RawCall] = []

    def taken(found: re.Match[str]) -> str:
        text = found.group(1).strip()
        try:
            call = json.loads(text)
        except (ValueError, RecursionError):
            call = None
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            return found.group(0)
        given = call.get("arguments", {})
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        calls.append(RawCall(f"call_{len(calls) + 1}", call["name"], arguments))
        return ""

    content = _CALL.sub(taken, reply.content).strip()
    return Reply(content, tuple(calls), finish_reason=reply.finish_reason)
