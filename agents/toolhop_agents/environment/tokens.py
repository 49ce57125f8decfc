"""An episode as the tokens that a model was given and wrote, for trainers. Pure.

What a model wrote stays as it wrote it: nothing is decoded and encoded again. Between two of its
turns stand the tokens of the feedback as the chat template puts it, which are not its own: the mask
says so.
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


Wire: TypeAlias = dict[str, Any]
"""A message in the form that chat templates take."""


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
        """Begin with the prompt, and try the chat template with a call and its result.

        Args:
            tokenizer: its chat template shows messages and tools.
            messages: the prompt.
            tools: beside the messages; none in the text format.
            ends: tokens that end a turn; the tokenizer's own where none is given.

        Raises:
            BadChoice: the chat template cannot show the prompt, a call or its result, or leaves
                tools or results out.
        """
        own = () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
        self._tokenizer, self._tools = tokenizer, [one.to_openai() for one in tools] or None
        self._ends = tuple(ends) or own
        self._end: int | None = None
        """The token that ended the model's last turn; None where the turn was cut."""
        prompt = [plain_message(one, object_in) for one in messages]
        given = self._shown(prompt, asks=True)
        if self._tools and given == self._shown(prompt, asks=True, without_tools=True):
            raise self._refused("does not show tools")
        self._try(tools[0].name if tools else "")
        self.prompt_ids = self._encoded(given)
        self._begun = _begun(given)
        self.completion_ids: list[int] = []
        self.env_mask: list[int] = []
        """For each of `completion_ids`: 1 if the model wrote it, 0 if it was given."""
        self.logprobs: list[float] | None = []
        """For each as well, 0.0 where it was given; None if the model's are not known."""

    @property
    def ids(self) -> list[int]:
        """All tokens so far: what the model goes on from."""
        return self.prompt_ids + self.completion_ids

    def wrote(self, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> Reply:
        """Add a turn of the model.

        Returns:
            What it said as a reply without calls, and whether it was cut. Thoughts (within
            ``<think>``) stand apart: what is in them is neither a call nor an answer.
        """
        # Plain numbers: an array of NumPy's would be added, and not appended.
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
        """The tokens between the model's last turn, which was `reply`, and its next; see `add`.

        Raises:
            BadChoice: the chat template cannot go on from such a reply.
        """
        text = self._between(reply, messages)
        self._begun = _begun(text)
        return self._encoded(text)

    def add(self, ids: Sequence[int]) -> None:
        """Add tokens that the model is given."""
        self.completion_ids += ids
        self.env_mask += [0] * len(ids)
        if self.logprobs is not None:
            self.logprobs += [0.0] * len(ids)

    def _try(self, name: str) -> None:
        """See that the template goes on after a call of a tool, or after a reply where none is."""
        reply = AssistantMessage("", (RawCall("call_1", name, "{}"),) if name else ())
        given = ToolMessage("call_1", name, _RESULT) if name else UserMessage(_RESULT)
        if _RESULT not in self._between(reply, [given]):
            raise self._refused("does not show the results of calls")

    def _between(self, reply: AssistantMessage, messages: Sequence[Message]) -> str:
        """What stands after the model's own words, which a mark stands for, and before its next.

        What a template shows of calls is not used, as the model's own tokens stand there. So where
        it takes no arguments that are no object it is given an empty one, and where it takes one
        call a reply the first of several.
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
        # Some templates begin the last reply otherwise: then what follows a mark is compared.
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
        """What stands after calls, from the token on that ends their turn; see `_past_end`.

        Args:
            called: the end of the calls as the template shows them, which may hold that token.
            given: what it adds for the results, which may begin with it.
            closing: how a reply without calls ends.
        """
        for end in (self._end,) if self._end is not None else self._ends:
            text = self._text([end])
            if not text:
                continue  # one that the tokenizer has no text for, so that no template shows it
            if text in called:
                return self._past_end(text + _after(text, called) + given)
            if given.startswith(text):
                return self._past_end(given)
        return self._past_end(closing + given)

    def _past_end(self, text: str) -> str:
        """Without the token that ends a turn, where the model wrote one itself."""
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
        except Exception as error:  # a template is a program of others
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
    """To stand for the model's words in a conversation that does not hold it."""
    return next(mark for n in count() if (mark := f"what-the-model-wrote-{n}") not in held)


def _after(mark: str, text: str) -> str:
    """What follows a mark; all where a template leaves words beside calls out."""
    return text.rpartition(mark)[2]


def _begun(given: str) -> str:
    """What the template writes of a turn in the model's place: an open thought, or nothing."""
    found = re.search(r"<think(?:ing)?>\s*\Z", given)
    return found.group() if found else ""


_FORMS: tuple[Callable[[str], object], ...] = (object_in, str)
"""Of arguments: an object, empty where they are none, or the text that the model wrote, which some
templates put as it is."""


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
