"""Open a model by its name; its client is imported only then."""

from __future__ import annotations

import dataclasses
import os

from toolhop_agents.models.base import NoSuchModel
from toolhop_agents.models.exchange import (
    Client,
    ModelOptions,
    out_of_environment,
    parts_of,
)
from toolhop_agents.models.prices import BASE_URL
from toolhop_tools.secrets import http_url


def open_model(name: str, options: ModelOptions) -> Client:
    """Open a model by name. Nothing is sent yet.

    Args:
        name: ``openai/MODEL`` uses the `openai` client; ``litellm/NAME`` passes all of NAME to
            `litellm`; any other ``PROVIDER/MODEL`` goes to `litellm` unchanged.
        options: request options; environment variables in `extra` are expanded.

    Raises:
        NoSuchModel: the provider is unknown, or the base URL cannot be used.
        NoKey: the provider's key or a header's variable is not set, or cannot be sent.
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
