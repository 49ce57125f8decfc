"""Opens real models by name. Importing this imports neither `openai` nor `litellm`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Protocol, Self

from toolhop_agents.models.base import Model, NoSuchModel
from toolhop_agents.models.exchange import Api, ModelOptions, out_of_environment
from toolhop_agents.models.prices import BASE_URL, Price
from toolhop_agents.models.rate import Gate
from toolhop_agents.models.retry import Backoff
from toolhop_env.messages import ReasoningHistory
from toolhop_sandbox.outcome import JSON
from toolhop_tools.secrets import http_url


class Client(Model, Protocol):
    """A model that holds connections, to be closed after use; ``async with`` does it."""

    async def aclose(self) -> None:
        """Close the connections."""
        ...

    async def __aenter__(self) -> Self:
        """Itself."""
        ...

    async def __aexit__(self, *exc: object) -> None:
        """Close the connections."""
        ...


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


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    temperature: float | None = 0,
    max_tokens: int | None = None,
    seed: int | None = None,
    timeout_s: float = 120,
    max_retries: int = 5,
    extra: Mapping[str, JSON] | None = None,
    backoff: Backoff | None = None,
    connections: Gate | None = None,
    price: Price | None = None,
    json_object: bool = False,
    temperature_optional: bool = False,
    reasoning_history: ReasoningHistory = ReasoningHistory.AUTO,
    api: Api = Api.CHAT,
    strict_tools: bool = False,
) -> Client:
    """A model by its name, ready to reply. Nothing is sent yet.

    Args:
        name: ``openai/MODEL`` is asked through `openai`; ``litellm/NAME`` through `litellm`
            with all of NAME; any other ``PROVIDER/MODEL`` through `litellm` as it stands.
        base_url: where to ask instead of the provider's own address. Keys are then optional.
        temperature: None leaves it to the provider; some models take no other way.
        max_tokens: limit of one reply. Sent as ``max_completion_tokens`` to OpenAI itself.
        seed: passed on where litellm says that the provider takes one; few keep its promise.
        timeout_s: limit of one request, in seconds.
        max_retries: how many failed requests are repeated, where repeating can help.
        extra: further parameters by their name in the request, such as
            ``{"reasoning_effort": "low"}``; they win over the ones above.
        backoff: waits between requests.
        connections: bounds the requests under way at a time.
        price: what tokens cost where the response does not state it; without it, litellm's
            bundled table, which knows the models of providers and none of a server of one's own.
        json_object: ask for a JSON object (``response_format``), until the server refuses that.
        temperature_optional: ask without the temperature where the server refuses it.
        reasoning_history: which thoughts of earlier turns are sent back.
        api: the protocol that an ``openai/`` model is asked in.
        strict_tools: have the provider hold calls to the tools' schemas.

    Raises:
        NoSuchModel: the name names no provider that is known, or a base URL cannot be used.
        NoKey: the provider's key, or a variable of a header, is not set, or cannot be sent.
    """
    provider, model = parts_of(name)
    for address in filter(None, (base_url, os.environ.get(BASE_URL))):
        try:
            http_url(address)
        except ValueError as error:
            raise NoSuchModel(f"the base URL of {name}, or {BASE_URL}: {error}") from None
    options = ModelOptions(
        base_url=base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        timeout_s=timeout_s,
        max_retries=max_retries,
        extra=out_of_environment(extra or {}),
        backoff=backoff or Backoff(),
        connections=connections,
        price=price,
        json_object=json_object,
        temperature_optional=temperature_optional,
        reasoning_history=reasoning_history,
        api=api,
        strict_tools=strict_tools,
    )
    if provider == "openai":
        from toolhop_agents.models.openai_model import OpenAIModel  # half a second, only when used

        return OpenAIModel(model, options=options)
    from toolhop_agents.models.litellm_model import LiteLLMModel  # seconds, only when used

    return LiteLLMModel(model if provider == "litellm" else name, options=options)
