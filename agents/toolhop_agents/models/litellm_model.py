"""Models behind `litellm`: every provider that it knows, under its own names.

Importing this module imports `litellm`, which takes seconds, so `clients.open_model` does it only
when a model is opened.
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
    # Read at import. Without them litellm fetches files from GitHub and reads .env again.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",
    # A model that repeats itself is scored like any other; the token limit ends its reply.
    "REPEATED_STREAMING_CHUNK_LIMIT": str(2**31),
    # Read at each error: keeps the link to litellm's issue form out of the message.
    "LITELLM_DISABLE_BUG_REPORT_LINK": "true",
}
"""Environment variables set unless the user has set them."""

CALL: Mapping[str, object] = {
    "num_retries": 0,
    "max_retries": 0,
    "drop_params": False,
    # Otherwise a request with tools imports `mcp`, which is not a dependency of litellm.
    "_skip_mcp_handler": True,
}
"""Arguments of every call. litellm's own retries are off because `retry` handles them."""


def _load() -> Any:  # noqa: ANN401 - a module whose own types are incomplete
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    import litellm
    from litellm.llms.custom_httpx import http_handler

    litellm.suppress_debug_info = True  # otherwise it prints to stdout at each error
    litellm.drop_params = False  # users should learn which parameters a model refuses
    litellm.num_retries = 0
    # litellm creates a client per provider, all with these transports, also through a proxy.
    litellm.disable_aiohttp_transport = True
    handler: Any = http_handler
    handler.AsyncHTTPTransport = _BoundedTransport
    handler.AsyncHTTPHandler.create_async_transport = staticmethod(_bounded_transport)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return litellm


@dataclass(frozen=True, slots=True)
class _Asking:
    """A `LiteLLMModel` request in progress. litellm's clients are shared by all models."""

    max_tokens: int | None
    """Token limit of the reply, which bounds its size."""
    query: Mapping[str, Any]
    """URL query parameters, which litellm would send in the body."""
    connections: dict[_BoundedTransport, httpx.AsyncHTTPTransport]
    """The model's own connections, by transport of litellm's clients."""
    is_streamed: bool
    has_lines: bool
    """Whether the response stream consists of lines; Amazon's streams are binary."""
    statuses: list[int] = field(default_factory=list)
    """Statuses of the responses received so far."""


_asking: ContextVar[_Asking | None] = ContextVar("asking", default=None)
"""None for requests of other litellm users in this process, which pass unchanged."""


class _BoundedTransport(httpx.AsyncHTTPTransport):
    """Transport of a litellm client that sends a model's requests over that model's own
    connections, because litellm's clients outlive models and event loops.
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
            with suppress(ValueError, RecursionError):  # litellm reports what is wrong with it
                check_parts(json.loads(await response.aread()), asking.max_tokens)
        return response


def _bounded_transport(
    ssl_context: ssl.SSLContext | None = None,
    ssl_verify: bool | None = None,
    **_: object,
) -> httpx.AsyncBaseTransport:
    return _BoundedTransport(verify=ssl_context or ssl_verify is not False)


def _ignore_warnings() -> None:
    """Hide pydantic's warnings about litellm's classes. Repeated for each model, since anything
    that resets the filters (pytest before each test) undoes it.
    """
    # Its classes are built at first use.
    warnings.filterwarnings("ignore", ".*`ReadOnly` qualifier", UserWarning)
    # It reads deprecated attributes of its own classes while streaming.
    warnings.filterwarnings("ignore", "Accessing the 'model_", DeprecationWarning)
    # It passes responses through, even if a server's types are not OpenAI's.
    warnings.filterwarnings(
        "ignore", "Pydantic serializer warnings", UserWarning, r"pydantic\.main"
    )


litellm: Any = _load()
"""Typed as Any because strict checking cannot follow the package's lazy loading."""


class LiteLLMModel(Client):
    """A model called through `litellm`, in one event loop.

    The cost is taken from the response, else computed from the price in the options, else from
    litellm's bundled price table, else None. The table is not used for ``openai/NAME`` at a base
    URL other than OpenAI's, because a self-hosted model does not cost what its namesake does.

    Two things that litellm does cannot be turned off. If the connection is lost to a provider that
    it calls through httpx itself, it sends the request again, uncounted. And it edits replies: it
    removes ``<think>`` parts from the content and invents missing ids at random.
    """

    def __init__(self, model: str, *, options: ModelOptions) -> None:
        """Args:
            model: the name in litellm's form, such as ``anthropic/claude-sonnet-4-5``.
            options: request options. litellm reads keys from the provider's usual variables.

        Raises:
            NoSuchModel: litellm does not know the provider.
            NoKey: its key is not set, or cannot be sent.
            NotTogether: the thinking budget that litellm derives from the effort uses up the token
                limit.
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
        """The name in litellm's form."""
        return self._name

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """Return the next turn.

        Raises:
            ModelFault: no reply after the retries that make sense.
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
                # `chunks` excludes the finish, tokens and cost that litellm makes up
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
                # litellm quotes a reply that it cannot parse, thoughts included.
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
        """Raise ModelFault if the provider needs a package that is not installed; litellm
        reports a 500.
        """
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
            return False  # the user's price takes precedence over the table
        return self._provider != "openai" or is_openai(self._options.base_url)

    def _check_key(self) -> None:
        """Fail early if no key is available; litellm would send another provider's."""
        # litellm accepts more variables than it lists, all named after the provider.
        stem = {"huggingface": "HF"}.get(self._provider, self._provider.split("_")[0].upper())
        try:
            for name in sorted(os.environ):
                if name.startswith(stem) and name.endswith(("KEY", "TOKEN")):
                    checked(name)
        except ValueError as error:
            raise NoKey(str(error)) from None
        if self._options.base_url or "api_key" in self._options.extra:
            return
        # Check only plain keys: clouds have credential files, and Ollama needs no key.
        keys = [name for name in self._missing if name.endswith("_API_KEY")]
        if keys and not any(name.startswith(stem) for name in os.environ):
            raise NoKey(
                f"{self._name} needs an API key; not set: {', '.join(self._missing)}"
                f"\n  fix: export {keys[-1]}=..., or put it into .env"
            )

    def _check_effort(self) -> None:
        """Fail early if litellm would derive a thinking budget that Anthropic refuses."""
        asked = {name: self._parameters.get(name) for name in ("reasoning_effort", "max_tokens")}
        effort, most = asked.values()
        if not isinstance(effort, str) or not isinstance(most, int):
            return
        model, provider, _, _ = litellm.get_llm_provider(self._name)
        try:
            sent = litellm.get_optional_params(model=model, custom_llm_provider=provider, **asked)
        except openai.OpenAIError:
            return  # an unsupported parameter, which the requests will report
        budget = (sent.get("thinking") or {}).get("budget_tokens", 0)
        if budget >= most:
            raise NotTogether(
                f"--reasoning-effort {effort} is a thinking budget of {budget} tokens, which "
                f"leaves nothing of --max-tokens {most}\n  fix: give more tokens or a lower effort"
            )

    def _accepted(self, given: Body) -> Body:
        """Return the parameters without the seed if the provider accepts none: every request of a
        run includes it, and litellm would refuse them all.
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
        """Close the model's connections, in the event loop in which it was used."""
        while self._connections:
            _, connections = self._connections.popitem()
            await connections.aclose()


async def _read(response: Any, max_tokens: int | None) -> None:  # noqa: ANN401 - of litellm, untyped
    """Read a stream to its end, so that litellm collects its chunks.

    Raises:
        TooLarge: more chunks or pieces of calls than `max_tokens` can need.
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
