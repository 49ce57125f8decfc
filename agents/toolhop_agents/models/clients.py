"""Opens real models by name. Importing this imports neither `openai` nor `litellm`."""

from __future__ import annotations

import os
from dataclasses import replace

from toolhop_agents.models.base import NoSuchModel
from toolhop_agents.models.exchange import Client, ModelOptions, out_of_environment
from toolhop_agents.models.prices import BASE_URL
from toolhop_tools.secrets import http_url


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
    options = replace(options, extra=out_of_environment(options.extra))
    if provider == "openai":
        from toolhop_agents.models.openai_model import OpenAIModel  # half a second, only when used

        return OpenAIModel(model, options=options)
    from toolhop_agents.models.litellm_model import LiteLLMModel  # seconds, only when used

    return LiteLLMModel(model if provider == "litellm" else name, options=options)
