"""Models behind `litellm`: every provider it knows, by the names it takes.

Importing this module imports `litellm` (seconds): `exchange.open_model` does it when a model is
opened.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import ssl
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast

import httpx
import openai

from toolhop_agents.models import wire_stream
from toolhop_agents.models.base import ModelFault, NoKey, NoSuchModel, NotTogether
from toolhop_agents.models.bounded import (
    FIX,
    LEAST_PARTS,
    UNLIMITED_TOKENS,
    TooLarge,
    ask_unpacked,
    bound,
    bound_lines,
    check_parts,
    reply_limit,
    too_large,
)
from toolhop_agents.models.exchange import (
    PLACEHOLDER_KEY,
    QUERY,
    Body,
    Client,
    ModelOptions,
    ModelRequest,
    ask,
    call_ids,
)
from toolhop_agents.models.prices import is_openai
from toolhop_agents.models.retry import RequestFailed, failed_with
from toolhop_agents.models.wire_reading import reply_from_wire
from toolhop_env.messages import Message, Reply
from toolhop_tools.model import ToolSchema
from toolhop_tools.secrets import checked

QUIET = {
    # Read at import: each would otherwise fetch a file from GitHub, or read .env once more.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",
    # A model that repeats itself is scored as it stands: its reply ends at its limit of tokens.
    "REPEATED_STREAMING_CHUNK_LIMIT": str(2**31),
    # Read at each fault: keeps a link to litellm's issue form out of the message.
    "LITELLM_DISABLE_BUG_REPORT_LINK": "true",
}
"""Variables set where the user has not set them."""

CALL: Mapping[str, object] = {
    "num_retries": 0,
    "max_retries": 0,
    "drop_params": False,
    # Else a request with tools imports the `mcp` package, which is not among litellm's needs.
    "_skip_mcp_handler": True,
}
"""What every call passes: the retries are ours."""


def _load() -> Any:  # noqa: ANN401 - a module whose own types are incomplete
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    import litellm
    from litellm.llms.custom_httpx import http_handler

    litellm.suppress_debug_info = True  # or it prints to stdout at each fault
    litellm.drop_params = False  # a parameter that a model refuses is the user's to know
    litellm.num_retries = 0
    # litellm makes a client for each provider, all of them over these transports, also by a proxy.
    litellm.disable_aiohttp_transport = True
    handler: Any = http_handler
    handler.AsyncHTTPTransport = _BoundedTransport
    handler.AsyncHTTPHandler.create_async_transport = staticmethod(_bounded_transport)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return litellm


@dataclass(frozen=True, slots=True)
class _Asking:
    """A request of a `LiteLLMModel` that is under way: litellm's clients serve all models."""

    max_tokens: int | None
    """Of the reply, by which its size is bounded."""
    query: Mapping[str, Any]
    """litellm would send it in the body."""
    connections: dict[_BoundedTransport, httpx.AsyncHTTPTransport]
    """The model's own, for each transport of litellm's clients."""
    is_streamed: bool
    has_lines: bool
    """Of a stream: Amazon's are binary."""
    statuses: list[int] = field(default_factory=list)
    """Of the responses so far."""


_asking: ContextVar[_Asking | None] = ContextVar("asking", default=None)
"""None for requests of others, who use litellm in the same process: they pass as they are."""


class _BoundedTransport(httpx.AsyncHTTPTransport):
    """Of a client of litellm, which outlives models and event loops: a model's requests go over
    connections of the model.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of httpx
        super().__init__(**settings)
        self._settings = settings

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asking = _asking.get()
        if asking is None:
            return await super().handle_async_request(request)
        await ask_unpacked(request)
        request.url = request.url.copy_merge_params(dict(asking.query))
        if self not in asking.connections:
            asking.connections[self] = httpx.AsyncHTTPTransport(**self._settings)
        response = await asking.connections[self].handle_async_request(request)
        bound(response, reply_limit(asking.max_tokens))
        if asking.is_streamed and asking.has_lines:
            bound_lines(response, asking.max_tokens)
        asking.statuses.append(response.status_code)
        if not asking.is_streamed:
            with suppress(ValueError, RecursionError):  # litellm says what is wrong with it
                check_parts(json.loads(await response.aread()), asking.max_tokens)
        return response


def _bounded_transport(
    ssl_context: ssl.SSLContext | None = None,
    ssl_verify: bool | None = None,
    **_: object,
) -> httpx.AsyncBaseTransport:
    return _BoundedTransport(verify=ssl_context or ssl_verify is not False)


def _ignore_warnings() -> None:
    """Hide what pydantic says about litellm's classes; set again for each model, because who
    resets the filters (pytest, before each test) loses those of the import.
    """
    # Its classes are completed at first use.
    warnings.filterwarnings("ignore", ".*`ReadOnly` qualifier", UserWarning)
    # It reads deprecated attributes of its classes while it streams.
    warnings.filterwarnings("ignore", "Accessing the 'model_", DeprecationWarning)
    # It passes a response on as it came, also where a server's types are not OpenAI's.
    warnings.filterwarnings(
        "ignore", "Pydantic serializer warnings", UserWarning, r"pydantic\.main"
    )


litellm: Any = _load()
"""Untyped: strict checking does not survive the package's lazy loading."""


class LiteLLMModel(Client):
    """A model asked through `litellm`, in one event loop.

    Cost is what the response states, else what the price in the options makes, else litellm's
    bundled price table, else None. The table is not asked for ``openai/NAME`` at a base URL other
    than OpenAI's: a server of one's own has other prices than the model's namesake.

    Two things litellm does cannot be turned off. For providers that it asks through httpx itself
    it sends a request once more, uncounted, when the connection is lost. And it tidies replies:
    ``<think>`` parts leave the content, ids that are missing are made up at random.
    """

    def __init__(self, model: str, *, options: ModelOptions) -> None:
        """Args:
            model: the name as litellm takes it, such as ``anthropic/claude-sonnet-4-5``.
            options: how to ask. litellm reads keys from the provider's usual variables.

        Raises:
            NoSuchModel: litellm knows no such provider.
            NoKey: its key is not set, or cannot be sent.
            NotTogether: what litellm makes of the effort leaves nothing of the limit of tokens.
        """
        _ignore_warnings()
        self._name = model
        self._options = options
        self._provider = _provider(model, options)
        self._missing = tuple(litellm.validate_environment(model)["missing_keys"])
        self._check_key()
        self._parameters = self._accepted(options.parameters())
        self._in_url = cast("dict[str, Any]", self._parameters.pop(QUERY, {}))
        self._check_effort()
        self._connections: dict[_BoundedTransport, httpx.AsyncHTTPTransport] = {}

    @property
    def name(self) -> str:
        """The name as litellm takes it."""
        return self._name

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """The next turn.

        Raises:
            ModelFault: no reply, after the retries that make sense.
        """
        taken = call_ids(messages)

        async def send(body: Body) -> Reply:
            response = await self._complete(body)
            return self._priced(reply_from_wire(response, taken=taken), response)

        return await ask(
            send,
            ModelRequest(self._name, messages, tools, self._parameters, self._options),
            asked=f"{self._name} at {self._options.base_url or self._provider} (litellm)",
            hint=self._hint,
        )

    async def _complete(self, body: Body) -> dict[str, Any]:
        asking = _Asking(
            self._options.max_tokens,
            self._in_url,
            self._connections,
            is_streamed=bool(body.get("stream")),
            has_lines=not self._provider.startswith(("bedrock", "sagemaker")),
        )
        before = _asking.set(asking)
        connection: Body = {"timeout": self._options.timeout_s + 30}
        if self._options.base_url:
            connection["base_url"] = self._options.base_url
            if self._missing:
                connection["api_key"] = PLACEHOLDER_KEY
        try:
            response = await litellm.acompletion(**{**CALL, **connection, **body})
            if body.get("stream"):
                # `chunks` is without the end, tokens and cost that litellm makes up
                await _read(response, self._options.max_tokens)
                chunks = (chunk.model_dump(warnings=False) for chunk in response.chunks)
                return wire_stream.joined(chunks)
            return dict(response.model_dump(warnings=False))
        except (openai.OpenAIError, ImportError, TooLarge) as error:
            if large := too_large(error):
                raise RequestFailed(str(large), fix=FIX) from error
            message = str(getattr(error, "message", None) or error)
            if "No module named" in message:
                self._check_packages(error)
            if asking.statuses and asking.statuses[-1] < HTTPStatus.BAD_REQUEST:
                # litellm repeats a reply that it cannot read, with its thoughts.
                message = message.partition("{")[0]
            status = getattr(error, "status_code", 500)
            raise failed_with(
                status if isinstance(status, int) else 500,
                message.partition("Traceback (most recent call last)")[0],
                _headers(error),
                code=getattr(error, "code", None),
                param=getattr(error, "param", None),
            ) from error
        finally:
            _asking.reset(before)

    def _check_packages(self, error: BaseException | None) -> None:
        """Some providers need a package that litellm does not bring; it calls that a 500."""
        while error and not isinstance(error, ImportError):
            error = error.__cause__ or error.__context__
        if error:
            raise ModelFault(
                f"{self._name} needs a package that is not installed: {error}"
                f"\n  fix: pip install what litellm's page on {self._provider} names",
                fatal=True,
            ) from error

    def _priced(self, reply: Reply, response: Mapping[str, Any]) -> Reply:
        used = reply.usage
        if used.cost_usd is not None or not used.input_tokens or not self._is_listed():
            return reply
        try:
            whole = litellm.ModelResponse(**response)
            cost_usd = litellm.completion_cost(completion_response=whole, model=self._name)
        except Exception:  # noqa: BLE001 - a gap in a price table must not cost a reply
            return reply
        usage = dataclasses.replace(used, cost_usd=float(cost_usd))
        return dataclasses.replace(reply, usage=usage)

    def _is_listed(self) -> bool:
        if self._options.price is not None:
            return False  # the user's price goes before the table
        return self._provider != "openai" or is_openai(self._options.base_url)

    def _check_key(self) -> None:
        """Fail now where no key can be there; litellm would send another provider's."""
        # litellm takes more variables than it lists, all of them named after the provider.
        stem = {"huggingface": "HF"}.get(self._provider, self._provider.split("_")[0].upper())
        try:
            for name in sorted(os.environ):
                if name.startswith(stem) and name.endswith(("KEY", "TOKEN")):
                    checked(name)
        except ValueError as error:
            raise NoKey(str(error)) from None
        if self._options.base_url or "api_key" in self._options.extra:
            return
        # Only plain keys are judged: clouds have credential files, Ollama needs nothing.
        keys = [name for name in self._missing if name.endswith("_API_KEY")]
        if keys and not any(name.startswith(stem) for name in os.environ):
            raise NoKey(
                f"{self._name} needs an API key; not set: {', '.join(self._missing)}"
                f"\n  fix: export {keys[-1]}=..., or put it into .env"
            )

    def _check_effort(self) -> None:
        """Fail now where litellm makes a thinking budget of the effort that Anthropic refuses."""
        asked = {name: self._parameters.get(name) for name in ("reasoning_effort", "max_tokens")}
        effort, most = asked.values()
        if not isinstance(effort, str) or not isinstance(most, int):
            return
        model, provider, _, _ = litellm.get_llm_provider(self._name)
        try:
            sent = litellm.get_optional_params(model=model, custom_llm_provider=provider, **asked)
        except openai.OpenAIError:
            return  # a parameter that the provider does not have: its requests say so
        budget = (sent.get("thinking") or {}).get("budget_tokens", 0)
        if budget >= most:
            raise NotTogether(
                f"--reasoning-effort {effort} is a thinking budget of {budget} tokens, which "
                f"leaves nothing of --max-tokens {most}\n  fix: give more tokens or a lower effort"
            )

    def _accepted(self, given: Body) -> Body:
        """Without the seed where the provider knows none: it is in every request of a run, and
        litellm would refuse the request for it.
        """
        known = litellm.get_supported_openai_params(self._name, custom_llm_provider=self._provider)
        if known is None or "seed" in known or "seed" in self._options.extra:
            return given
        return {name: value for name, value in given.items() if name != "seed"}

    def _hint(self, status: int) -> str:
        if status == 401 and self._missing:
            return f"set {' or '.join(self._missing)}"
        return ""

    async def aclose(self) -> None:
        """Close the model's connections, in the event loop that it was asked in."""
        while self._connections:
            _, connections = self._connections.popitem()
            await connections.aclose()


async def _read(response: Any, max_tokens: int | None) -> None:  # noqa: ANN401 - of litellm, untyped
    """Have litellm keep the chunks of a stream.

    Raises:
        TooLarge: it keeps more of them, or more pieces of calls, than so many tokens need.
    """
    limit, count = LEAST_PARTS // 2 + 2 * (max_tokens or UNLIMITED_TOKENS), 0
    async for chunk in response:
        count += 1 + sum(len(choice.delta.tool_calls or ()) for choice in chunk.choices)
        if count > limit:
            raise TooLarge(limit, "events and pieces of calls")


def _provider(model: str, options: ModelOptions) -> str:
    try:
        _, provider, _, _ = litellm.get_llm_provider(model, api_base=options.base_url)
    except openai.BadRequestError as error:
        raise NoSuchModel(
            f"litellm knows no provider for the model {model!r}"
            "\n  fix: write PROVIDER/MODEL, such as anthropic/claude-sonnet-4-5; a server of "
            "your own is openai/MODEL with --base-url"
        ) from error
    return str(provider)


def _headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(error, "litellm_response_headers", None)
    if not headers:
        headers = getattr(getattr(error, "response", None), "headers", None)
    return {str(name).lower(): str(value) for name, value in (headers or {}).items()}
