"""Conversations with reasoning models: what goes back is what each provider's form demands."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import httpx
import pytest

from tests.agents.provider_conversations import (
    BEDROCK,
    CONVERSATIONS,
    GEMINI,
    MAX_TOKENS,
    MORE,
    QUESTION,
    SYSTEM,
    TOOL,
    Body,
    Conversation,
)
from toolhop_agents.models import wire
from toolhop_agents.models.clients import open_model
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    ReasoningHistory,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
    remembered,
)

pytestmark = [pytest.mark.heavy, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    """The clients are asyncio's."""
    return "asyncio"


KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY",
        "OPENROUTER_API_KEY", "HOSTED_VLLM_API_KEY")  # fmt: skip


@dataclass
class Provider:
    """A server that says what is written, and keeps what it is sent; enter it with ``with``."""

    replies: Sequence[Body]
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = outer.replies[len(outer.requests)]
                outer.requests.append((self.path.partition("?")[0], body))
                text = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *rest: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def given(reply: Reply, numbers: Iterator[int]) -> list[Message]:
    """The reply, and what the harness says to it."""
    said = AssistantMessage(reply.content, reply.calls, reply.thoughts)
    results = (ToolMessage(call.id, call.name, f"result {next(numbers)}") for call in reply.calls)
    return [said, *results] if reply.calls else [said, UserMessage(MORE)]


def opening() -> list[Message]:
    return [SystemMessage(SYSTEM), UserMessage(QUESTION)]


@pytest.fixture
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.setenv(key, "none")


async def talk(
    conversation: Conversation, options: Mapping[str, Any] | None = None
) -> tuple[list[tuple[str, dict[str, Any]]], list[Message]]:
    """The requests that were sent, and the messages in the end."""
    replies = [turn.reply for turn in conversation.turns]
    messages, numbers = opening(), iter(range(1, 100))
    asked: dict[str, Any] = {
        "temperature": None, "max_tokens": MAX_TOKENS, "max_retries": 0, **conversation.options,
        **(options or {}),
    }  # fmt: skip
    with Provider([*replies, replies[-1]]) as provider:
        async with open_model(conversation.model, base_url=provider.base_url, **asked) as model:
            for _ in replies:
                messages += given(await model.reply(messages, [TOOL]), numbers)
            await model.reply(messages, [TOOL])
    return provider.requests, messages


@pytest.mark.usefixtures("_keys")
@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda one: one.name)
async def test_what_is_sent_is_what_is_written(conversation: Conversation) -> None:
    requests, _ = await talk(conversation)
    wanted = [conversation.first, *(turn.then for turn in conversation.turns)]
    for (path, body), history in zip(requests, wanted, strict=True):
        assert path == conversation.path
        assert body.pop(conversation.holds) == list(history)
        assert body.pop("model", "") in conversation.model
        assert body == conversation.rest


@pytest.mark.parametrize("conversation", BEDROCK, ids=lambda one: one.name)
async def test_converse_gets_what_is_written(conversation: Conversation) -> None:
    """No AWS can be reached: litellm's transformation is called on what it would be given."""
    from litellm import ModelResponse
    from litellm.llms.bedrock.chat.converse_transformation import AmazonConverseConfig

    config, messages, numbers = AmazonConverseConfig(), opening(), iter(range(1, 100))
    wanted = [conversation.first, *(turn.then for turn in conversation.turns)]
    for history, turn in zip(wanted, [*conversation.turns, None], strict=True):
        told: Any = wire.messages_to_wire(remembered(messages, ReasoningHistory.AUTO))
        options = {"tools": [TOOL.to_openai()]}
        body = config.map_openai_params(options, {}, conversation.model, drop_params=False)
        sent = config.transform_request(conversation.model, told, body, {}, {})
        assert sent["messages"] == list(history)
        assert sent["system"] == [{"text": SYSTEM}]
        if turn is not None:
            answer: Any = config._transform_response(
                conversation.model, httpx.Response(200, json=turn.reply), ModelResponse(),
                stream=False, logging_obj=None, optional_params={}, api_key=None, data={},
                messages=[], encoding=None,
            )  # fmt: skip
            messages += given(wire.reply_from_wire(answer.model_dump(warnings=False)), numbers)


@pytest.mark.usefixtures("_keys")
async def test_signatures_stand_in_no_id_of_a_call() -> None:
    """litellm puts them there too, from where they would go back whatever is asked for."""
    requests, messages = await talk(GEMINI[0], {"reasoning_history": ReasoningHistory.NONE})
    assert "sig 1" not in json.dumps(requests)
    ids = [call.id for one in messages if isinstance(one, AssistantMessage) for call in one.calls]
    assert not [identity for identity in ids if "sig" in identity]
