"""Replies that are small as bytes and large, or slow, once they are read."""

from __future__ import annotations

import gzip
import json
import threading

import anyio
import pytest

from tests.serving import Exchange, Server
from tests.waiting import CEILING_S
from toolhop_agents.models import wire_reading, wire_responses, wire_stream
from toolhop_agents.models.base import ModelFault
from toolhop_agents.models.bounded import (
    LEAST_PARTS,
    MARK_BYTES,
    TOKEN_PARTS,
    TooLarge,
    check_parts,
    reply_limit,
)
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import Api, ModelOptions
from toolhop_agents.models.reach import reach
from toolhop_env.messages import UserMessage

MAX_TOKENS = 256


class Steps(str):
    """A text that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Steps.compared += 1
        return str.__eq__(self, other)


def test_the_list_of_models_is_not_read() -> None:
    """A server that goes on until the client hangs up sees it hang up."""
    hung_up = threading.Event()

    def flood(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.begin(200, {"content-encoding": "gzip"})
        packed = gzip.compress(bytes(2**20))
        try:
            for _ in range(2**14):
                exchange.wfile.write(packed)
        except OSError:
            hung_up.set()

    with Server(flood) as server:
        anyio.run(reach, "openai/m", f"{server.base_url}/v1")
        assert hung_up.wait(CEILING_S)


def test_a_list_of_models_that_drips_counts_as_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolhop_agents.models.reach.LIMIT_S", 0.5)
    done = threading.Event()

    def drip(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        while not done.wait(0.05):
            exchange.wfile.write(b"a")

    async def ask(address: str) -> None:
        with anyio.fail_after(CEILING_S):
            await reach("openai/m", address)

    with Server(drip) as server:
        try:
            anyio.run(ask, f"{server.base_url}/v1")
        finally:
            done.set()


@pytest.mark.parametrize(("model", "api"), [
    ("openai/m", Api.CHAT), ("openai/m", Api.RESPONSES), ("litellm/openai/m", Api.CHAT),
])  # fmt: skip
@pytest.mark.parametrize(("part", "limit", "unit"), [
    (b"[],", reply_limit(MAX_TOKENS) // MARK_BYTES, "commas, brackets and braces"),
    (b'{"type": "function_call"},', LEAST_PARTS + TOKEN_PARTS * MAX_TOKENS, "lists and objects"),
])  # fmt: skip
def test_a_reply_of_small_parts_alone_is_too_large(
    part: bytes, limit: int, unit: str, model: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    calls = part * (reply_limit(MAX_TOKENS) // len(part) - 30) + b"{}"
    body = b'{"output": [%b]}' if api is Api.RESPONSES else (
        b'{"choices": [{"message": {"tool_calls": [%b]}}]}')  # fmt: skip
    body %= calls
    assert len(body) < reply_limit(MAX_TOKENS)

    async def ask(address: str) -> None:
        options = {"max_tokens": MAX_TOKENS, "max_retries": 0, "api": api}
        async with open_model(model, ModelOptions(base_url=address, **options)) as opened:  # type: ignore[arg-type] # each option has a type of its own
            await opened.reply([UserMessage("2 + 2?")], [])

    with Server(lambda exchange: exchange.send(body)) as server, pytest.raises(ModelFault) as fault:
        anyio.run(ask, f"{server.base_url}/v1")
    assert f"the reply has more than {limit:,} {unit}" in str(fault.value)
    assert "--max-tokens" in str(fault.value)


def test_a_reply_may_have_the_parts_that_its_tokens_can_make() -> None:
    """A call takes at least eight tokens, and a request may ask for log probabilities."""
    calls = [{"id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}}] * 512
    odds = [{"token": "a", "bytes": [97], "top_logprobs": [{}, {}]}] * 4096
    message = {"message": {"tool_calls": calls}, "logprobs": {"content": odds}}
    check_parts({"choices": [message]}, 4096)
    with pytest.raises(TooLarge):
        check_parts({"choices": [message]}, 256)


def test_a_streamed_list_of_too_many_parts_is_refused() -> None:
    Steps.compared = 0
    pieces: list[dict[str, object]] = [
        {"index": number, "type": Steps("function")} for number in range(20_000)
    ]
    with pytest.raises(wire_reading.Unreadable, match="more than 128 parts"):
        wire_stream.joined([{"choices": [{"delta": {"tool_calls": pieces}}]}])
    assert Steps.compared < 128**2


def test_a_piece_is_not_compared_with_each_part_of_its_list() -> None:
    """128 calls, the last begun first; 20,000 pieces of the first of them follow."""
    begun = [{"index": number, "type": Steps("function")} for number in range(128)]
    more = [{"index": 0, "type": Steps("function"), "function": {"arguments": "a"}}] * 20_000
    Steps.compared = 0
    whole = wire_stream.joined([
        {"choices": [{"delta": {"tool_calls": begun}}]},
        {"choices": [{"delta": {"tool_calls": more}, "finish_reason": "stop"}]},
    ])  # fmt: skip
    calls = whole["choices"][0]["message"]["tool_calls"]
    assert len(calls) == 128
    assert calls[0]["function"]["arguments"] == "a" * 20_000
    assert Steps.compared < 128**2 + 3 * len(more)


@pytest.mark.parametrize("item", [
    {"type": "message", "content": 5}, {"type": "message", "content": True},
    {"type": "reasoning", "summary": True}, {"type": "reasoning", "content": 5},
])  # fmt: skip
def test_an_item_of_another_shape_is_an_unusable_response(item: object) -> None:
    with pytest.raises(wire_reading.Unreadable, match="an item of the response has another shape"):
        wire_responses.reply({"output": [json.loads(json.dumps(item))]})
