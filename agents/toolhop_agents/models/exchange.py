"""Opens real models by name, and what every client of one does: build the request, send it, retry,
read the reply. Importing this imports neither `openai` nor `litellm`.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, Self

from pydantic import TypeAdapter

from toolhop_agents.models.base import Model, NoKey, NoSuchModel
from toolhop_agents.models.prices import BASE_URL, Price
from toolhop_agents.models.rate import Gate
from toolhop_agents.models.retry import Backoff, RequestFailed, fault, repeated
from toolhop_agents.models.wire_reading import Unreadable
from toolhop_agents.models.wire_sending import has_unparsed, messages_to_wire, sendable
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    ReasoningHistory,
    Reply,
    Usage,
    remembered,
)
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema
from toolhop_tools.secrets import cleaned, expanded, http_url

REPLY = TypeAdapter(Reply)
HEADERS, QUERY = "extra_headers", "extra_query"
"""Parts of a request beside its body; their values come from the environment."""
PLACEHOLDER_KEY = "no-key-needed"
"""Sent where a server of one's own is asked and no key is set; the clients insist on one."""

REFUSED_HISTORY = frozenset({400, 422, 500})
"""How servers that parse old arguments (vLLM, llama.cpp) answer arguments that are not JSON."""

FORMAT = "response_format"
REFUSED_FORMAT = frozenset({400, 422})
"""How servers answer a `FORMAT` that they do not know, or that the model does not have."""

OF_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})
"""Parameters that mean something only beside tools."""


class Client(Model, Protocol):
    """A model that holds connections, to be closed after use; ``async with`` does it."""

    async def aclose(self) -> None:
        """Close the connections."""
        ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


class Api(StrEnum):
    """OpenAI's two protocols."""

    CHAT = "chat"
    RESPONSES = "responses"


def out_of_environment(extra: Mapping[str, JSON]) -> dict[str, JSON]:
    """Further parameters of a request, with the values that `HEADERS` and `QUERY` only name.

    Raises:
        NoKey: one does not come from the environment, is not set there, or cannot be sent.
    """
    found = dict(extra)
    for name in (HEADERS, QUERY):
        if isinstance(parts := found.get(name), dict):
            try:
                found[name] = {key: expanded(str(value)) for key, value in parts.items()}
            except ValueError as error:
                raise NoKey(f"{name}: {error}") from None
    return found


Body = dict[str, JSON]
Send = Callable[[Body], Awaitable[Reply]]
"""Sends one request. Raises `RequestFailed`, and `Unreadable` for an unusable body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a model is asked. None leaves a parameter to the provider."""

    base_url: str | None = None
    """Where to ask instead of the provider's own address. Keys are then optional."""
    temperature: float | None = 0
    max_tokens: int | None = None
    """Limit of one reply. Sent as ``max_completion_tokens`` to OpenAI itself."""
    seed: int | None = None
    """Passed on where litellm says that the provider takes one; few keep its promise."""
    timeout_s: float = 120
    """Limit of each request, in seconds; retries and waits come on top."""
    max_retries: int = 5
    """How many failed requests are repeated, where repeating can help."""
    extra: Mapping[str, JSON] = field(default_factory=dict)
    """Further parameters by their name in the request, such as ``{"reasoning_effort": "low"}``;
    they win over the ones above."""
    backoff: Backoff = field(default_factory=Backoff)
    connections: Gate | None = None
    """Bounds the requests under way at a time; None leaves that to who asks."""
    price: Price | None = None
    """What tokens cost where the response does not state it; without it, litellm's bundled table,
    which knows the models of providers and none of a server of one's own."""
    temperature_optional: bool = False
    """Ask without the temperature where the server refuses it, as those of reasoning models do."""
    api: Api = Api.CHAT
    """The protocol that an ``openai/`` model is asked in."""
    reasoning_history: ReasoningHistory = ReasoningHistory.AUTO
    """Which thoughts of earlier turns are sent back."""
    strict_tools: bool = False
    """Have the provider hold calls to the tools' schemas (`models.strict_schemas`)."""
    json_object: bool = False
    """Ask for a JSON object in each reply, until the server refuses that."""

    def parameters(self, *, max_tokens_name: str = "max_tokens") -> Body:
        """The request's parameters beside model, messages and tools."""
        given: Body = {
            "temperature": self.temperature,
            max_tokens_name: self.max_tokens,
            "seed": self.seed,
            FORMAT: {"type": "json_object"} if self.json_object else None,
        }
        return {key: value for key, value in given.items() if value is not None} | dict(self.extra)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn to be asked for, and who is asked."""

    model: str
    """The model's name as the provider knows it."""
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    parameters: Body
    options: ModelOptions

    def body(self, *, objects_only: bool) -> Body:
        """The request; see `messages_to_wire` for `objects_only`."""
        messages = remembered(self.messages, self.options.reasoning_history)
        body: Body = {
            "model": self.model,
            "messages": [*messages_to_wire(messages, objects_only=objects_only)],
        }
        given = self.parameters
        if self.tools:
            body["tools"] = [self._tool(tool) for tool in self.tools]
        else:
            given = {name: value for name, value in given.items() if name not in OF_TOOLS}
        return {name: sendable(value) for name, value in (body | given).items()}

    def _tool(self, tool: ToolSchema) -> dict[str, JSON]:
        sent = tool.to_openai()
        function = sent["function"]
        if self.options.strict_tools and isinstance(function, dict):
            return {**sent, "function": {**function, "strict": True}}
        return sent


async def ask(
    send: Send, question: ModelRequest, *, asked: str, hint: Callable[[int], str]
) -> Reply:
    """The reply to `question`, with `retries` and `wall_s` filled.

    Where a server refuses the conversation and some call in it has arguments that are not a
    JSON object, the request is sent once more with those wrapped: a slip of the model must not
    errored the episode. Such a request counts as a retry. Where it refuses to promise a JSON
    object, or a temperature that nobody asked for, the request is sent once more without that.

    Args:
        send: sends one request.
        question: what to ask, with its limits and waits.
        asked: who is asked, for the fault's text.
        hint: what to do about a status, where the client knows more; else "".

    Raises:
        ModelFault: no usable reply after the retries that make sense.
    """
    options, started = question.options, time.perf_counter()
    objects_only = False

    async def once() -> Reply:
        nonlocal objects_only
        body = question.body(objects_only=objects_only)
        try:
            return await send(body)
        except Unreadable as bad:
            raise RequestFailed(f"an unusable response: {bad}", status=bad.status) from bad
        except RequestFailed as failed:
            if failed.finish_reason:  # what it wrote is kept by the server
                return Reply(finish_reason=failed.finish_reason)
            if FORMAT in body and options.json_object and failed.status in REFUSED_FORMAT:
                # The parameters are the client's own: later requests go without it at once.
                question.parameters.pop(FORMAT, None)
                return await once()
            if _refused_temperature(failed, body) and options.temperature_optional:
                question.parameters.pop("temperature", None)
                return await once()
            if failed.status in REFUSED_HISTORY and not objects_only:
                objects_only = has_unparsed(question.messages)
                if objects_only:
                    failed.retryable, failed.retry_after_s = True, 0.0
            raise

    try:
        reply, retries = await repeated(
            once,
            timeout_s=options.timeout_s,
            max_retries=options.max_retries,
            backoff=options.backoff,
            connections=options.connections,
        )
    except RequestFailed as failed:
        raise fault(failed, asked=asked, hint=hint(failed.status or 0)) from failed
    usage = priced(reply.usage, options.price)
    wall_s = time.perf_counter() - started
    whole = dataclasses.replace(reply, usage=usage, retries=retries, wall_s=wall_s)
    return cleaned(REPLY, whole)  # what a server echoes goes nowhere, not into a call either


def _refused_temperature(failed: RequestFailed, body: Body) -> bool:
    refused = failed.status in REFUSED_FORMAT and "temperature" in str(failed).lower()
    return refused and "temperature" in body


def priced(usage: Usage, price: Price | None) -> Usage:
    """`usage` with its cost, where that is not stated and follows from the tokens."""
    if usage.cost_usd is not None or price is None or not usage.input_tokens:
        return usage
    return dataclasses.replace(usage, cost_usd=price.cost_usd(usage))


def call_ids(messages: Sequence[Message]) -> frozenset[str]:
    """The ids of the calls made so far."""
    spoken = [message for message in messages if isinstance(message, AssistantMessage)]
    return frozenset(call.id for message in spoken for call in message.calls)


def parts_of(name: str) -> tuple[str, str]:
    """The provider and its model's name.

    Raises:
        NoSuchModel: one of them is missing.
    """
    provider, _, model = name.partition("/")
    if not (provider.strip() and model.strip()):
        raise NoSuchModel(
            f"the model {name!r} names no provider"
            "\n  fix: write PROVIDER/MODEL, such as openai/gpt-4o"
        )
    return provider, model


def open_model(name: str, options: ModelOptions) -> Client:
    """A model by its name, ready to reply. Nothing is sent yet.

    Args:
        name: ``openai/MODEL`` is asked through `openai`; ``litellm/NAME`` through `litellm`
            with all of NAME; any other ``PROVIDER/MODEL`` through `litellm` as it stands.
        options: how it is asked; values that its `extra` names come from the environment.

    Raises:
        NoSuchModel: the name names no provider that is known, or a base URL cannot be used.
        NoKey: the provider's key, or a variable of a header, is not set, or cannot be sent.
    """
    provider, model = parts_of(name)
    for address in filter(None, (options.base_url, os.environ.get(BASE_URL))):
        try:
            http_url(address)
        except ValueError as error:
            raise NoSuchModel(f"the base URL of {name}, or {BASE_URL}: {error}") from None
    options = dataclasses.replace(options, extra=out_of_environment(options.extra))
    if provider == "openai":
        from toolhop_agents.models.openai_model import OpenAIModel  # half a second, only when used

        return OpenAIModel(model, options=options)
    from toolhop_agents.models.litellm_model import LiteLLMModel  # seconds, only when used

    return LiteLLMModel(model if provider == "litellm" else name, options=options)
