"""Models behind OpenAI's two protocols: OpenAI itself and the many compatible servers.

Importing this module imports `openai`, which takes half a second, so `clients.open_model` does it
only when a model is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import openai

from toolhop_agents.models import wire_responses, wire_stream
from toolhop_agents.models.base import NoKey
from toolhop_agents.models.bounded import (
    FIX,
    BadBody,
    TooLarge,
    check_parts,
    event_hooks,
    reply_limit,
    too_large,
)
from toolhop_agents.models.exchange import (
    HEADERS,
    PLACEHOLDER_KEY,
    QUERY,
    Api,
    Body,
    Client,
    ModelOptions,
    ModelRequest,
    ask,
    call_ids,
)
from toolhop_agents.models.prices import BASE_URL, is_openai, listed
from toolhop_agents.models.reach import trusted
from toolhop_agents.models.retry import RequestFailed, failed_with
from toolhop_agents.models.wire_reading import Unreadable, reply_from_wire
from toolhop_env.messages import Message, Reply
from toolhop_tools.model import ToolSchema
from toolhop_tools.secrets import checked, redacted

KEY = "OPENAI_API_KEY"


class OpenAIModel(Client):
    """A model called through the `openai` client, in one event loop.

    The response is read from its JSON rather than through the client's classes, which drop or
    retype a server's additions. The cost is taken from the response (OpenRouter), else computed
    from the price in the options, else, for OpenAI itself, from litellm's bundled price table, else
    None.
    """

    def __init__(self, model: str, *, options: ModelOptions) -> None:
        """Args:
            model: the server's name for the model, without ``openai/``.
            options: request options. Without a base URL, `OPENAI_BASE_URL` applies.

        Raises:
            NoKey: `OPENAI_API_KEY` is not set and no base URL is given, or the key cannot be sent.
        """
        base_url = options.base_url or os.environ.get(BASE_URL) or None
        try:
            key = checked(KEY) or (PLACEHOLDER_KEY if base_url else None)
        except ValueError as error:
            raise NoKey(str(error)) from None
        if key is None:
            raise NoKey(
                f"openai/{model} needs an API key and {KEY} is not set"
                f"\n  fix: export {KEY}=..., put it into .env, or pass --base-url for a server "
                "of your own"
            )
        self._model = model
        self._options = replace(options, price=options.price or listed(self.name, base_url))
        # OpenAI's newer models refuse `max_tokens`, and its server accepts the new name for all.
        # Compatible servers often support only the old name.
        limit_name = "max_completion_tokens" if is_openai(base_url) else "max_tokens"
        self._parameters = options.parameters(max_tokens_name=limit_name)
        headers, query = (self._parameters.pop(name, None) for name in (HEADERS, QUERY))
        # `repeated` enforces the timeout; the client's own is a fallback.
        self._client = openai.AsyncOpenAI(
            api_key=key,
            base_url=base_url,
            default_headers=cast("dict[str, str] | None", headers),
            default_query=cast("dict[str, object] | None", query),
            max_retries=0,
            timeout=options.timeout_s + 30,
            http_client=openai.DefaultAsyncHttpxClient(
                verify=trusted(),
                event_hooks=event_hooks(reply_limit(self._options.max_tokens)),
            ),
        )

    @property
    def name(self) -> str:
        """``openai/`` followed by the model's name."""
        return f"openai/{self._model}"

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """Return the next turn.

        Raises:
            ModelFault: no reply after the retries that make sense.
        """
        taken = call_ids(messages)

        async def send(body: Body) -> Reply:
            if self._options.api is Api.RESPONSES:
                response = await self._post("/responses", wire_responses.request(body))
                return wire_responses.reply(response, taken=taken)
            response = await self._post("/chat/completions", body)
            return reply_from_wire(response, taken=taken)

        return await ask(
            send,
            ModelRequest(self._model, messages, tools, self._parameters, self._options),
            asked=f"{self.name} at {self._client.base_url}",
            hint=lambda status: f"check the key in {KEY}" if status == 401 else "",
        )

    async def _post(self, path: str, body: Body) -> object:
        try:
            # As text, because the response class depends on the client's version.
            text = await self._client.post(path, cast_to=str, body=body)
        except openai.APIStatusError as error:
            raise failed_with(
                error.status_code, _message(error), error.response.headers,
                code=error.code, param=error.param,
            ) from error  # fmt: skip
        except (
            openai.APIConnectionError,
            BadBody,
        ) as error:  # openai 3 does not wrap our exceptions
            if large := too_large(error):
                raise RequestFailed(str(large), fix=FIX) from error
            cause = error.__cause__
            raise RequestFailed(f"{error} {cause!r}" if cause else str(error)) from error
        try:
            said = wire_stream.assembled(text) if body.get("stream") else json.loads(text)
            check_parts(said, self._options.max_tokens)
            return cast("object", said)
        except TooLarge as error:
            raise RequestFailed(str(error), fix=FIX) from error
        except Unreadable:
            raise  # also a ValueError, but with a better message
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"not JSON: {_head(redacted(text))}") from error

    async def aclose(self) -> None:
        """Close the connections. The model cannot be used afterwards."""
        await self._client.close()


def _head(text: str) -> str:
    """Return the start of an unreadable body, or only its length if it is a truncated reply,
    which may contain thoughts.
    """
    if text.lstrip().startswith(("{", "data:", "event:", ":")):
        return f"{len(text)} characters of a reply that breaks off"
    return repr(text[:200])


def _message(error: openai.APIStatusError) -> str:
    """Return the provider's own error message from the body, else the client's."""
    if isinstance(error.body, Mapping) and isinstance(error.body.get("message"), str):
        return str(error.body["message"])
    return error.response.text or error.message
