"""Conversations with reasoning models: what goes back is what each provider's form demands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

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
    chat,
)
from tests.agents.thinking_servers import Anthropic
from tests.serving import Exchange, Server
from toolhop_agents.judge.judges import ModelJudge, Said
from toolhop_agents.models.base import ModelFault
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_agents.models.loopback import Request
from toolhop_agents.models.retry import Backoff
from toolhop_agents.models.wire_reading import reply_from_wire
from toolhop_agents.models.wire_sending import messages_to_wire
from toolhop_agents.runs.parameters import request_parameters
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.simulator import ModelWording
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    ReasoningHistory,
    Reply,
    SystemMessage,
    Thoughts,
    ToolMessage,
    UserMessage,
    clean,
    remembered,
)
from toolhop_env.questions import LlmQuestion
from toolhop_env.reading import without_thoughts
from toolhop_env.user import UserReply
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

pytestmark = [pytest.mark.heavy, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    """The clients are asyncio's."""
    return "asyncio"


KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY",
        "OPENROUTER_API_KEY", "HOSTED_VLLM_API_KEY")  # fmt: skip


class Provider(Server):
    """Says what is written, and keeps what it is sent."""

    def __init__(self, replies: Sequence[Body]) -> None:
        self.replies = replies
        self.requests: list[tuple[str, dict[str, Any]]] = []
        super().__init__(self._say)

    def _say(self, exchange: Exchange) -> None:
        said = self.replies[len(self.requests)]
        self.requests.append((exchange.path.partition("?")[0], json.loads(exchange.body)))
        exchange.send(said, 400 if said.get("error") else 200)


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
        async with open_model(
            conversation.model, ModelOptions(base_url=provider.base_url, **asked)
        ) as model:
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
        told: Any = messages_to_wire(remembered(messages, ReasoningHistory.AUTO))
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
            messages += given(reply_from_wire(answer.model_dump(warnings=False)), numbers)


@pytest.mark.usefixtures("_keys")
async def test_signatures_stand_in_no_id_of_a_call() -> None:
    """litellm puts them there too, from where they would go back whatever is asked for."""
    requests, messages = await talk(GEMINI[0], {"reasoning_history": ReasoningHistory.NONE})
    assert "sig 1" not in json.dumps(requests)
    ids = [call.id for one in messages if isinstance(one, AssistantMessage) for call in one.calls]
    assert not [identity for identity in ids if "sig" in identity]


# --- odd replies -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A <think> is odd. <answer>4</answer>", "A <think> is odd. <answer>4</answer>"),
        ("<think>a</think><answer>1</answer><think>cut", "<answer>1</answer>"),
        ("Well.\n <think>cut <answer>1</answer>", "Well.\n"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("a</thinking>b", "b"),
        ("<think>I use <think> here.</think>d", "d"),
        ("<answer>4</answer></think>", "<answer>4</answer>"),
        ("<think>a</think><answer>4</answer>\n</think>\n", "<answer>4</answer>"),
        ("<think>a</think>4</think>", "4"),
        ("<think>a</think>4</think>b", "4</think>b"),
        ("<think>a</think>", ""),
        ('Action: f\nAction Input: {"q": "<think>a</think>"}',) * 2,
        ('<think>b</think>f {"q": "<think>a</think>"}', 'f {"q": "<think>a</think>"}'),
        ('a</think>f {"q": "<think>"}', 'f {"q": "<think>"}'),
        ("A.\n<think>b</think>\nC.\n<think>d</think>E.", "A.\n\nC.\nE."),
        ("<think>a</think><think>b</think>c", "c"),
    ],
)
def test_what_is_a_thought_in_a_text(text: str, said: str) -> None:
    assert without_thoughts(text) == said


def test_thoughts_with_half_a_surrogate_pair_can_be_written() -> None:
    details: JSON = [{"text": "\udfff", "index": 0}]
    odd = Thoughts("a\ud800", {"reasoning_details": details}, ({"signature": "\ud800"},))
    written = TypeAdapter(Reply).dump_json(clean(Reply(thoughts=odd)))
    assert b"\\\\udfff" in written
    plain = Thoughts("a", {"reasoning_details": [{"text": "b", "index": 0}]})
    assert clean(Reply(thoughts=plain)).thoughts == plain


# --- streams that break off ------------------------------------------------------------------


@pytest.mark.usefixtures("_keys")
async def test_a_stream_that_breaks_off_is_asked_for_again() -> None:
    def says(request: Request) -> Reply:
        return Reply("fine")

    class BreaksOff(Anthropic):
        def events(self, said: dict[str, Any]) -> list[dict[str, Any]]:
            return super().events(said)[: -2 if self.requests == 1 else None]

    with BreaksOff(says) as server:
        options: Any = {
            "extra": {"stream": True},
            "temperature": None,
            "backoff": Backoff(first_s=0.01),
        }
        async with open_model(
            "anthropic/claude-sonnet-4-5", ModelOptions(base_url=server.base_url, **options)
        ) as model:
            reply = await model.reply([UserMessage("Where?")], [])
    # A connection that the server has closed meanwhile may cost a retry that it never hears of.
    assert reply.retries >= 1
    assert (server.requests, reply.finish_reason) == (2, "stop")


# --- models that stand in --------------------------------------------------------------------


@dataclass
class Says:
    """A model that says the same each time."""

    text: str
    name: str = "says"

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        return Reply(self.text)


async def test_thoughts_of_judges_and_stand_ins_are_not_read() -> None:
    question = LlmQuestion("q", "Is it?", {"type": "boolean"})
    said = await ModelJudge(Says("<think>false?</think>\ntrue")).answer(question)
    assert isinstance(said, Said)
    assert said.answer is True
    worded = ModelWording(Says("<think>Which?</think>Rome."))
    assert await worded.worded("Where?", UserReply("Rome")) == "Rome."


@pytest.mark.usefixtures("_keys")
@pytest.mark.parametrize("optional", [True, False])
async def test_a_temperature_that_nobody_asked_for_is_left_out(optional: bool) -> None:
    refused = {"error": {"message": "Unsupported value: 'temperature' does not support 0."}}
    with Provider([refused, chat(content="fine"), chat(content="fine")]) as provider:
        async with open_model(
            "openai/m",
            ModelOptions(base_url=provider.base_url, temperature_optional=optional, max_retries=0),
        ) as model:
            if optional:
                assert (await model.reply(opening(), ())).content == "fine"
                await model.reply(opening(), ())
            else:
                with pytest.raises(ModelFault, match="temperature"):
                    await model.reply(opening(), ())
    sent = ["temperature" in body for _, body in provider.requests]
    assert sent == ([True, False, False] if optional else [True])


# --- settings that say two things ------------------------------------------------------------

CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"reasoning_effort": "low", "request_options": ("reasoning_effort=high",)}, "use --reason"),
    ({"tool_choice": "auto", "request_options": ("tool_choice=none",)}, "use --tool-choice"),
    ({"reasoning_effort": ""}, "at least 1 character"),
    ({"tool_choice": "required", "call_format": "text"}, "no tools are sent"),
    ({"parallel_tool_calls": "on", "call_format": "text"}, "no tools are sent"),
    ({"thinking_budget": 1024, "reasoning_effort": "none"}, "leave one"),
    ({"api": "responses", "request_options": ("reasoning=high",)}, "JSON object"),
    ({"api": "responses", "request_options": ("include=x",)}, "JSON list"),
]


@pytest.mark.parametrize(("given", "why"), CONTRADICTIONS)
def test_settings_that_contradict_each_other_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        request_parameters(RunSettings(model="openai/m", **given))
