"""Open models by name, with the steps shared by all clients: build the request, send it, retry,
read the reply. Importing this module imports neither `openai` nor `litellm`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, Self

from pydantic import TypeAdapter

from toolhop_agents.models.base import Model, NoKey, NoSuchModel
from toolhop_agents.models.prices import Price
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
from toolhop_tools.secrets import cleaned, expanded

REPLY = TypeAdapter(Reply)
HEADERS, QUERY = "extra_headers", "extra_query"
"""Request parameters outside the body; their values come from environment variables."""
PLACEHOLDER_KEY = "no-key-needed"
"""API key sent to a self-hosted server if none is set, because the clients require one."""

REFUSED_HISTORY = frozenset({400, 422, 500})
"""Statuses with which servers that parse earlier calls (vLLM, llama.cpp) refuse arguments that are
not JSON."""

FORMAT = "response_format"
REFUSED_FORMAT = frozenset({400, 422})
"""Statuses of servers that do not support `FORMAT`, in general or for this model."""

OF_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})
"""Parameters that are valid only together with tools."""


class Client(Model, Protocol):
    """A model that holds connections. Close it after use, for example with ``async with``."""

    async def aclose(self) -> None:
        """Close the connections."""
        ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


class Api(StrEnum):
    """OpenAI's two API protocols."""

    CHAT = "chat"
    RESPONSES = "responses"


def out_of_environment(extra: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return `extra` with the environment variables in `HEADERS` and `QUERY` expanded.

    Raises:
        NoKey: a value does not come from a variable, the variable is not set, or it cannot be sent.
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
"""Sends one request. Raises `RequestFailed`, or `Unreadable` for an unusable body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options of the requests to a model. None omits a parameter."""

    base_url: str | None = None
    """URL of the server, instead of the provider's own. API keys are then optional."""
    temperature: float | None = 0
    max_tokens: int | None = None
    """Maximum tokens per reply. Sent to OpenAI itself as ``max_completion_tokens``."""
    seed: int | None = None
    """Sent if litellm says that the provider accepts a seed; few make replies reproducible."""
    timeout_s: float = 120
    """Timeout of each request in seconds, without retries and waits."""
    max_retries: int = 5
    """Maximum number of retries after failures that a retry may fix."""
    extra: Mapping[str, JSON] = field(default_factory=dict)
    """Additional request parameters, such as ``{"reasoning_effort": "low"}``. They override the
    ones above."""
    backoff: Backoff = field(default_factory=Backoff)
    connections: Gate | None = None
    """Limits concurrent requests. None leaves that to the caller."""
    price: Price | None = None
    """Token prices, for responses that do not state their cost. If None, litellm's bundled table
    is used, which lists providers' models but no self-hosted ones."""
    temperature_optional: bool = False
    """Omit the temperature if the server refuses it, as reasoning models do."""
    api: Api = Api.CHAT
    """API protocol for ``openai/`` models."""
    reasoning_history: ReasoningHistory = ReasoningHistory.AUTO
    """Which thoughts of earlier turns are sent back."""
    strict_tools: bool = False
    """Make the provider enforce the tools' schemas (`models.strict_schemas`)."""
    json_object: bool = False
    """Request a JSON object in each reply, until the server refuses to."""

    def parameters(self, *, max_tokens_name: str = "max_tokens") -> Body:
        """Return the request parameters other than model, messages and tools."""
        given: Body = {
            "temperature": self.temperature,
            max_tokens_name: self.max_tokens,
            "seed": self.seed,
            FORMAT: {"type": "json_object"} if self.json_object else None,
        }
        return {key: value for key, value in given.items() if value is not None} | dict(self.extra)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request for the next turn of a conversation."""

    model: str
    """The model's name at the provider."""
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    parameters: Body
    options: ModelOptions

    def body(self, *, objects_only: bool) -> Body:
        """Return the request body; see `messages_to_wire` for `objects_only`."""
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
    """Return the reply to `question`, with `retries` and `wall_s` filled in.

    If a server refuses a conversation that has a call with arguments other than a JSON object, the
    request is sent once more with those arguments wrapped, so that a slip of the model does not
    fail the episode. This counts as a retry. A request is also sent once more, without the refused
    parameter, if the server rejects the JSON format or the default temperature.

    Args:
        send: sends one request.
        question: the request, with its limits and waits.
        asked: the model and server, for error messages.
        hint: returns a fix for a status if the client knows a better one; else "".

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
            if failed.finish_reason:  # the server keeps the model's output to itself
                return Reply(finish_reason=failed.finish_reason)
            if FORMAT in body and options.json_object and failed.status in REFUSED_FORMAT:
                # The client shares these parameters, so its later requests omit it from the start.
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
    return cleaned(REPLY, whole)  # secrets echoed by a server must not reach the trace or a call


def _refused_temperature(failed: RequestFailed, body: Body) -> bool:
    refused = failed.status in REFUSED_FORMAT and "temperature" in str(failed).lower()
    return refused and "temperature" in body


def priced(usage: Usage, price: Price | None) -> Usage:
    """Return `usage` with its cost computed from the tokens, unless it is known."""
    if usage.cost_usd is not None or price is None or not usage.input_tokens:
        return usage
    return dataclasses.replace(usage, cost_usd=price.cost_usd(usage))


def call_ids(messages: Sequence[Message]) -> frozenset[str]:
    """Return the ids of all calls made so far."""
    spoken = [message for message in messages if isinstance(message, AssistantMessage)]
    return frozenset(call.id for message in spoken for call in message.calls)


def parts_of(name: str) -> tuple[str, str]:
    """Split a name into the provider and its model's name.

    Raises:
        NoSuchModel: either part is missing.
    """
    provider, _, model = name.partition("/")
    if not (provider.strip() and model.strip()):
        raise NoSuchModel(
            f"the model {name!r} names no provider"
            "\n  fix: write PROVIDER/MODEL, such as openai/gpt-4o"
        )
    return provider, model
