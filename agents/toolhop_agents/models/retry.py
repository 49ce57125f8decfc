"""Retries: which failed requests to repeat, how long to wait, and the final error message."""

from __future__ import annotations

import email.utils
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

import anyio

from toolhop_agents.models.base import ConversationTooLong, ModelFault
from toolhop_agents.models.rate import OVERLOADED, Connections, Gate
from toolhop_tools.secrets import redacted

T = TypeVar("T")

SHOWN = 4000
"""Characters of a provider's message that a fault quotes: enough for any message, but not a web
page."""

REPEATED = frozenset({408, 409, 429})
"""Statuses below 500 that may be temporary, as every status from 500 up may."""

TOO_LARGE = frozenset({400, 413, 422})
"""Statuses with which servers refuse a conversation that does not fit the context."""

FATAL = frozenset({401, 402, 403, 404})
"""Statuses that every later episode would get too: bad key, no credit, no permission, no model."""

TOO_LONG = re.compile(
    r"context.?(length|window|size|limit)|prompt is too long|input is too long"
    r"|exceeds? the maximum number of tokens",
    re.IGNORECASE,
)
"""Wording of errors for a conversation that does not fit: OpenAI, vLLM, llama.cpp and SGLang
name the context's length or size, litellm its window; Anthropic, Bedrock and Gemini differ."""

MODELS_DOING: Mapping[str, re.Pattern[str]] = {
    "length": re.compile(r"max_tokens or model output limit was reached"),
    "malformed_call": re.compile(r"tool_use_failed|[Ff]ailed to call a function"
                                 r"|error parsing tool call|Failed to parse input at pos"
                                 r"|model produced output that does not match the expected"),
}  # fmt: skip
"""Patterns of errors that reject the model's own output, by finish reason. OpenAI and Azure reject
a reply that reached its limit; Groq, Ollama and llama.cpp a call that they cannot parse."""

ADVICE: Mapping[int | None, str] = {
    None: "check the network, the base URL and the server's log, or allow more time (--timeout) or "
    "more retries (--max-retries)",
    401: "check the API key",
    402: "top up the account",
    403: "check what the API key may do, and the account's region",
    404: "check the model's name and the base URL",
    408: "allow more time (--timeout) or more retries (--max-retries)",
    429: "lower --max-connections, wait, or raise --max-retries; check the quota",
}
REFUSED = (
    "the server refuses the request itself: change what its message names, in the server's "
    "settings or by this command's flags for requests"
)
OPTIONS: Mapping[str, str] = {
    "temperature": "--temperature none",
    "max_tokens": "--max-tokens none, or another number",
    "max_completion_tokens": "--max-tokens none, or another number",
    "seed": "another --seed",
    "stop": "no --stop",
    "stream": "--stream off",
    "tools": "--call-format text, or no --strict-tools",
    "tool_choice": "no --tool-choice, or --call-format text",
    "parallel_tool_calls": "no --parallel-tool-calls",
    "reasoning_effort": "no --reasoning-effort, or another",
    "model": "another --model: the server has none of that name",
}
"""The option to change, by the parameter that a provider's error names."""
NO_TOOLS = "--enable-auto-tool-choice"
"""Part of vLLM's error if the server was started without a tool-call parser, from
vllm/entrypoints/openai/serving_chat.py. The error names neither parameter nor code."""
LARGER = "take a model or a server with a larger context (--gguf-context), or lower --max-tokens"


class RequestFailed(Exception):
    """A request failed. Never leaves this package; see `fault`."""

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        code: str = "",
        param: str = "",
        retry_after_s: float | None = None,
        fix: str = "",
    ) -> None:
        detail, code, param = map(redacted, (detail, code, param))
        super().__init__(detail)
        self.detail = detail
        self.fix = fix
        """How to fix an error that the next request would get too; empty otherwise."""
        self.code = code
        """The provider's error code; empty if none."""
        self.param = param
        """The request parameter named by the provider's error; empty if none."""
        self.status = status
        """The HTTP status; None after a lost connection, a timeout or an unusable body."""
        self.retry_after_s = retry_after_s
        self.wait_s = 0.0
        """Seconds to wait before the next request."""
        self.requests = 1
        """Number of requests sent, this one included."""
        # OpenAI reports an empty account as a rate limit, which no waiting ends.
        self.out_of_money = status == HTTPStatus.PAYMENT_REQUIRED or code == "insufficient_quota"
        self.fatal = status in FATAL or self.out_of_money
        said = f"{code} {detail}"
        found = (reason for reason, words in MODELS_DOING.items() if words.search(said))
        self.finish_reason = next(found, "")
        """Finish reason if the model itself caused the failure; empty otherwise."""
        self.too_long = status in TOO_LARGE and bool(TOO_LONG.search(said))
        self.retryable = not (self.fatal or self.finish_reason or fix) and (
            status is None or status in REPEATED or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        )


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between requests: `first_s`, doubled each time up to `longest_s`, with jitter."""

    first_s: float = 0.5
    longest_s: float = 30.0
    asked_longest_s: float = 60.0
    """Longest wait accepted from a server's Retry-After, in seconds."""

    def wait_s(self, failures: int, asked_s: float | None, share: float) -> float:
        """Return the seconds to wait after `failures` failed requests.

        Args:
            failures: number of failed requests so far, at least 1.
            asked_s: the wait requested by the server, used as is up to `asked_longest_s`; None if
                it requested none.
            share: jitter, 0 to 1; the wait is between half and all of the step.
        """
        if asked_s is not None:
            return min(asked_s, self.asked_longest_s)
        step = min(self.first_s * 2.0 ** min(failures - 1, 30), self.longest_s)
        return step * (0.5 + 0.5 * share)


def retry_after_s(headers: Mapping[str, str], *, now_s: float) -> float | None:
    """Return the wait requested by ``retry-after-ms`` or ``retry-after`` (seconds or a date), or
    None.

    Args:
        headers: response headers with lower-case names (or httpx headers).
        now_s: seconds since the epoch, for dates.
    """
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            asked_s = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        if math.isfinite(asked_s):
            return max(asked_s, 0.0)
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(date.timestamp() - now_s, 0.0)


def failed_with(
    status: int,
    message: str,
    headers: Mapping[str, str],
    *,
    code: object = None,
    param: object = None,
) -> RequestFailed:
    """Return the failure for a response. Its status is None if the response claimed success."""
    asked_s = retry_after_s(headers, now_s=time.time())
    known = status if status >= HTTPStatus.BAD_REQUEST else None
    # Some servers repeat the status as a numeric code.
    own = code if isinstance(code, str) else ""
    named = param if isinstance(param, str) else ""
    return RequestFailed(message, status=known, code=own, param=named, retry_after_s=asked_s)


async def repeated(
    once: Callable[[], Awaitable[T]],
    *,
    timeout_s: float,
    max_retries: int,
    backoff: Backoff,
    connections: Gate | None = None,
) -> tuple[T, int]:
    """Call `once` until it succeeds, at most ``max_retries + 1`` times.

    Args:
        once: sends one request; raises `RequestFailed`.
        timeout_s: seconds after which a request is cancelled.
        max_retries: maximum number of retryable failures.
        backoff: waits between requests. Cancellation ends a wait at once.
        connections: admits each request, and is notified of refusals for overload. Waiting for it
            does not count towards `timeout_s`.

    Returns:
        The result of `once`, and the number of failed requests before it.

    Raises:
        RequestFailed: the last failure, with `requests` set.
    """
    jitter = random.Random()
    gate = connections or Connections(1, adaptive=False)

    async def in_time() -> T:
        with anyio.move_on_after(timeout_s):
            return await once()
        raise RequestFailed(f"no reply within {timeout_s:g} s")

    async def let_in(sent: int) -> T:
        async with gate.slot() as began:
            try:
                result = await in_time()
            except RequestFailed as failed:
                failed.requests = sent
                failed.wait_s = backoff.wait_s(sent, failed.retry_after_s, jitter.random())
                if failed.retryable and failed.status in OVERLOADED:
                    gate.refused(began, failed.wait_s)
                raise
        gate.answered()
        return result

    sent = 0
    while True:
        sent += 1
        try:
            return await let_in(sent), sent - 1
        except RequestFailed as failed:
            if not failed.retryable or sent > max_retries:
                raise
            wait_s = failed.wait_s
        await anyio.sleep(wait_s)


def fault(failed: RequestFailed, *, asked: str, hint: str = "") -> ModelFault:
    """Return the error for a run, with the model, the last response and the fix.

    Args:
        failed: the last request's failure.
        asked: the model and its address.
        hint: the fix, if the caller knows a better one than the status suggests.
    """
    detail = " ".join(failed.detail.split())
    if len(detail) > SHOWN:
        detail = f"{detail[:SHOWN]}..."
    named = [f"{key} {value}" for key, value in (("code", failed.code), ("param", failed.param))
             if value and value not in detail]  # fmt: skip
    said = f"{detail} ({', '.join(named)})" if named else detail
    came = said if failed.status is None else f"HTTP {failed.status}: {said}"
    times = "1 request" if failed.requests == 1 else f"{failed.requests} requests"
    kind = ConversationTooLong if failed.too_long else ModelFault
    return kind(
        f"{asked}: no reply after {times}; the last one ended with {came}"
        f"\n  fix: {hint or failed.fix or _advice(failed)}",
        fatal=failed.fatal,
        cause=f"HTTP {failed.status} {failed.code}".strip() if failed.status else "no HTTP status",
        requests=failed.requests,
    )


def _advice(failed: RequestFailed) -> str:
    if failed.too_long:
        return LARGER
    if failed.out_of_money:
        return ADVICE[402]
    status = failed.status
    if status is None or status in ADVICE or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ADVICE.get(status, ADVICE[None])
    if NO_TOOLS in failed.detail:
        return (
            f"start vLLM with {NO_TOOLS} and --tool-call-parser NAME, or play with "
            "--call-format text"
        )
    # A parameter may be given as a path, such as tools[0].function.name.
    name = re.split(r"[.\[]", failed.param)[0]
    if name in OPTIONS:
        return f"try {OPTIONS[name]}"
    return f"{REFUSED}; it names the parameter {failed.param}" if name else REFUSED
