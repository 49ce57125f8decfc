"""Episodes as the tokens that a model read and wrote, for trainers. Pure.

The model's own tokens are kept as they are, never decoded and encoded again. Between its turns are
the tokens of the feedback as rendered by the chat template; a mask marks them as not the model's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, product
from typing import Any, Protocol, TypeAlias

from toolhop_agents.models.wire_sending import plain_message
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    ToolMessage,
    UserMessage,
)
from toolhop_env.reading import thoughts_apart
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import ToolSchema
from toolhop_tools.replied import object_in


class Tokenizer(Protocol):
    """The part of a transformers tokenizer that is used."""

    @property
    def eos_token_id(self) -> int | None:
        """Id of the token that ends a turn."""

    def apply_chat_template(
        self,
        conversation: Any,  # noqa: ANN401 -- transformers' signature, as below
        tools: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Return the rendered text, since ``tokenize=False`` is passed."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return the tokens of a text."""

    def decode(self, token_ids: Any, *, skip_special_tokens: bool) -> Any:  # noqa: ANN401
        """Return the text of tokens."""


Wire: TypeAlias = dict[str, Any]
"""A message in the form that chat templates expect."""


class TokenizedEpisode:
    """The tokens of a prompt and of everything after it, with a mask."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        ends: Sequence[int] = (),
    ) -> None:
        """Encode the prompt, and test the chat template with a call and its result.

        Args:
            tokenizer: its chat template renders messages and tools.
            messages: the prompt.
            tools: tools passed to the template; empty in the text format.
            ends: tokens that end a turn; by default the tokenizer's own.

        Raises:
            BadChoice: the chat template cannot render the prompt, a call or its result, or omits
                tools or results.
        """
        own = () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
        self._tokenizer, self._tools = tokenizer, [one.to_openai() for one in tools] or None
        self._ends = tuple(ends) or own
        self._end: int | None = None
        """The token that ended the model's last turn; None if the turn was cut off."""
        prompt = [plain_message(one, object_in) for one in messages]
        given = self._shown(prompt, asks=True)
        if self._tools and given == self._shown(prompt, asks=True, without_tools=True):
            raise self._refused("does not show tools")
        self._try(tools[0].name if tools else "")
        self.prompt_ids = self._encoded(given)
        self._begun = _begun(given)
        self.completion_ids: list[int] = []
        self.env_mask: list[int] = []
        """1 for each of `completion_ids` that the model wrote, 0 for all others."""
        self.logprobs: list[float] | None = []
        """Log-probability of each of `completion_ids`, 0.0 for tokens not written by the model;
        None if they are unknown."""

    @property
    def ids(self) -> list[int]:
        """All tokens so far, from which the model continues."""
        return self.prompt_ids + self.completion_ids

    def wrote(self, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> Reply:
        """Add a turn of the model.

        Returns:
                The turn as a reply without calls, whose finish reason tells whether it was cut off.
                Thoughts (in ``<think>``) are separate: calls and answers in them do not count.
        """
        # Plain numbers, because += with a NumPy array would add instead of append.
        ids = [int(one) for one in ids]
        logprobs = None if logprobs is None else [float(one) for one in logprobs]
        if logprobs is not None and len(logprobs) != len(ids):
            raise ValueError(f"{len(ids)} tokens came with {len(logprobs)} log-probabilities")
        self.completion_ids += ids
        self.env_mask += [1] * len(ids)
        if logprobs is None:
            self.logprobs = None
        elif self.logprobs is not None:
            self.logprobs += logprobs
        self._end = ids[-1] if ids and ids[-1] in self._ends else None
        said = ids if self._end is None else ids[:-1]
        text = self._begun + self._text(said)
        thoughts, content = thoughts_apart(Reply(text))
        reason = "length" if self._end is None else "stop"
        return Reply(content, finish_reason=reason, thoughts=thoughts)

    def heard(self, reply: AssistantMessage, messages: Sequence[Message]) -> list[int]:
        """Return the tokens between the model's last turn, `reply`, and its next. Pass them to
        `add`.

        Raises:
            BadChoice: the chat template cannot continue from such a reply.
        """
        text = self._between(reply, messages)
        self._begun = _begun(text)
        return self._encoded(text)

    def add(self, ids: Sequence[int]) -> None:
        """Add tokens that were not written by the model."""
        self.completion_ids += ids
        self.env_mask += [0] * len(ids)
        if self.logprobs is not None:
            self.logprobs += [0.0] * len(ids)

    def _try(self, name: str) -> None:
        """Check that the template can continue after a call, or after a reply if there are no
        tools.
        """
        reply = AssistantMessage("", (RawCall("call_1", name, "{}"),) if name else ())
        given = ToolMessage("call_1", name, _RESULT) if name else UserMessage(_RESULT)
        if _RESULT not in self._between(reply, [given]):
            raise self._refused("does not show the results of calls")

    def _between(self, reply: AssistantMessage, messages: Sequence[Message]) -> str:
        """Return the text between the model's last turn and its next, using a marker for the turn.

        The template's rendering of calls is discarded, since the model's own tokens are used
        instead. So if the template only accepts objects as arguments, an empty object is passed,
        and if it only accepts one call per reply, only the first is passed.
        """
        new = [plain_message(one, object_in) for one in messages]
        mark = _mark(repr((reply, plain_message(reply, object_in), new, self._tools)))
        plain = {"role": "assistant", "content": mark}
        if not reply.calls:
            shown = self._shown([_ASKED, plain, *new], asks=True)
            if mark not in shown:
                raise self._refused("does not show replies")
            return self._past_end(_after(mark, shown))
        closing = _after(mark, self._shown([_ASKED, plain], asks=False))
        refused: BadChoice | None = None
        some = (reply.calls, reply.calls[:1])
        # Some templates begin the last reply differently; then compare the text after a mark.
        for form, calls, content in product(_FORMS, some, ("", mark)):
            said = plain_message(replace(reply, content=content, calls=calls), form)
            try:
                called = self._shown([_ASKED, said], asks=False)
                whole = self._shown([_ASKED, said, *new], asks=True)
            except BadChoice as error:
                refused = refused or error
                continue
            until, alike = _after(mark, called), (mark in called) == (mark in whole)
            if alike and (found := _after(mark, whole)).startswith(until):
                end = _after(calls[-1].name or mark, until)
                return self._closed(end, found[len(until) :], closing)
        raise refused or self._refused("shows a call otherwise once its result follows it")

    def _closed(self, called: str, given: str, closing: str) -> str:
        """Return the text after calls, from the token that ends their turn; see `_past_end`.

        Args:
            called: end of the rendered calls, which may include that token.
            given: text added for the results, which may begin with that token.
            closing: end of a reply without calls.
        """
        for end in (self._end,) if self._end is not None else self._ends:
            text = self._text([end])
            if not text:
                continue  # the tokenizer has no text for it, so no template renders it
            if text in called:
                return self._past_end(text + _after(text, called) + given)
            if given.startswith(text):
                return self._past_end(given)
        return self._past_end(closing + given)

    def _past_end(self, text: str) -> str:
        """Remove the token that ends a turn from the start of `text` if the model wrote one
        itself.
        """
        if self._end is None:
            return text
        ends = (self._text([one]) for one in (self._end, *self._ends))
        return text.removeprefix(next((one for one in ends if text.startswith(one)), ""))

    def _shown(self, messages: Sequence[Wire], *, asks: bool, without_tools: bool = False) -> str:
        try:
            found = self._tokenizer.apply_chat_template(
                list(messages), tools=None if without_tools else self._tools, tokenize=False,
                add_generation_prompt=asks,
            )  # fmt: skip
        except Exception as error:  # a template is third-party code
            roles = ", ".join(str(one["role"]) for one in messages)
            raise self._refused(
                f"cannot show a conversation of {roles} ({type(error).__name__}: {error})"
            ) from error
        return str(found)

    def _refused(self, why: str) -> BadChoice:
        other = "give the tokenizer a chat template that does"
        text = 'play in the text format (call_format="text"), or ' if self._tools else ""
        return BadChoice(f"the tokenizer's chat template {why}", fix=text + other)

    def _text(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=False))

    def _encoded(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))


_ASKED: Wire = {"role": "user", "content": "."}
_RESULT = "the-result-of-a-call"


def _mark(held: str) -> str:
    """Return a marker for the model's words that does not occur in `held`."""
    return next(mark for n in count() if (mark := f"what-the-model-wrote-{n}") not in held)


def _after(mark: str, text: str) -> str:
    """Return the text after the mark, or all of it if the template omits text next to calls."""
    return text.rpartition(mark)[2]


def _begun(given: str) -> str:
    """Return the start of the model's turn that the template itself writes: an opening thought
    tag, or nothing.
    """
    found = re.search(r"<think(?:ing)?>\s*\Z", given)
    return found.group() if found else ""


_FORMS: tuple[Callable[[str], object], ...] = (object_in, str)
"""Ways to pass arguments: as an object, empty if they are not one, or as the model's text, which
some templates insert unchanged."""


_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)


def tagged_calls(reply: Reply) -> Reply:
    """Parse calls in ``<tool_call>{"name": ..., "arguments": ...}</tool_call>``, the form of
    most open models. A block that names no tool stays in the text, and the episode reports the
    error.
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
