"""The real `openai` and `litellm` clients against the loopback server.

All tests that import litellm are here, so that under xdist one worker pays for it.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import anyio
import pytest

from tests.serving import Exchange, Server
from tests.waiting import until
from toolhop_agents.cli import EXIT_MISSING, EXIT_USAGE
from toolhop_agents.cli.faults import exit_code
from toolhop_agents.models.base import ConversationTooLong, Model, ModelFault
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import Client, ModelOptions
from toolhop_agents.models.fault_plan import RECOVERABLE
from toolhop_agents.models.loopback import (
    FaultPlan,
    LoopbackServer,
    Request,
    RequestFault,
    RequestResponder,
)
from toolhop_agents.models.openai_model import OpenAIModel
from toolhop_agents.models.retry import (
    SHOWN,
    Backoff,
    RequestFailed,
    failed_with,
    fault,
    retry_after_s,
)
from toolhop_agents.models.wire_sending import reply_to_wire
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

ROOT = Path(__file__).parents[2]
T = TypeVar("T")

QUICK = Backoff(first_s=0.001, longest_s=0.002)
TOOL = ToolSchema("f", "does é", {"type": "object", "properties": {"x": {"type": "string"}}})
ASKED: list[Message] = [SystemMessage("be brief"), UserMessage("né \U0001f600?")]
CALLS = (RawCall("a", "f", '{ "x" :"é" }'), RawCall("b", "g", "{}"))
SAID = Reply("höre", CALLS, Usage(10, 3))

NAMES = [
    pytest.param("openai/test", id="openai"),
    # To import litellm takes two seconds.
    pytest.param("litellm/openai/test", id="litellm", marks=pytest.mark.heavy),
    # A provider that litellm asks by its own HTTP code, and whose prices it knows.
    pytest.param("deepseek/deepseek-chat", id="litellm-native", marks=pytest.mark.heavy),
]


@pytest.fixture(autouse=True)
def _no_keys_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().endswith(("_API_KEY", "_BASE_URL", "_API_BASE", "_PROXY")):
            monkeypatch.delenv(name)


def say(request: Request) -> Reply:
    assert request.messages
    return SAID


def run(work: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(work)


def played(
    name: str,
    server: LoopbackServer,
    messages: list[Message] | None = None,
    *,
    timeout_s: float = 20,
    max_retries: int = 5,
    extra: dict[str, JSON] | None = None,
    temperature: float | None = 0,
    max_tokens: int | None = None,
    seed: int | None = None,
) -> Reply:
    """The reply of a model that is opened, asked once and closed."""

    async def work() -> Reply:
        async with open_model(
            name,
            ModelOptions(
                base_url=server.base_url,
                backoff=QUICK,
                timeout_s=timeout_s,
                max_retries=max_retries,
                extra=extra or {},
                temperature=temperature,
                max_tokens=max_tokens,
                seed=seed,
            ),
        ) as model:
            return await model.reply(messages or ASKED, [TOOL])

    return run(work)


def served(responder: RequestResponder = say, *faults: RequestFault) -> LoopbackServer:
    return LoopbackServer(responder, faults=FaultPlan(sequence=faults))


# --- what is asked and what is heard -----------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_arrives_as_it_was_given(name: str) -> None:
    seen: list[Request] = []

    def respond(request: Request) -> Reply:
        seen.append(request)
        return SAID

    with served(respond) as server:
        reply = played(name, server)
    assert reply.content == SAID.content
    assert reply.calls == CALLS
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10, 3)
    assert reply.model == name.rpartition("/")[2]
    assert reply.finish_reason == "tool_calls"
    assert reply.retries == 0
    assert reply.wall_s > 0
    assert list(seen[0].messages) == ASKED
    assert seen[0].tools == (TOOL,)


@pytest.mark.parametrize("name", NAMES)
def test_a_conversation_with_calls_is_sent_whole(name: str) -> None:
    talk: list[Message] = [
        *ASKED,
        AssistantMessage("", CALLS),
        ToolMessage("a", "f", "1"),
        ToolMessage("b", "g", "2"),
        AssistantMessage("so", (RawCall("c", "f", '{"x": "y'),)),  # malformed, and yet sent
        ToolMessage("c", "f", "not JSON"),
    ]

    def respond(request: Request) -> Reply:
        assert list(request.messages) == talk
        return Reply("3")

    with served(respond) as server:
        assert played(name, server, talk).content == "3"
        assert not server.errors


@pytest.mark.parametrize("name", NAMES)
def test_lone_surrogates_do_not_stop_a_request(name: str) -> None:
    heard: list[str] = []

    def respond(request: Request) -> Reply:
        heard.extend(message.content for message in request.messages)
        return Reply("an \ud800swer", (RawCall("a", "f", '{"x": "\udfff"}'),))

    with served(respond) as server:
        reply = played(name, server, [UserMessage("a\ud800b")])
    assert heard == ["a\ufffdb"]
    assert reply.content == "an \ud800swer"
    assert reply.calls[0].arguments == '{"x": "\udfff"}'


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_sent_only_where_given(name: str) -> None:
    bodies: list[dict[str, JSON]] = []

    def respond(request: Request) -> Reply:
        bodies.append(request.body)
        return SAID

    with served(respond) as server:
        played(name, server, temperature=None)
        played(name, server, max_tokens=7, seed=3, extra={"top_p": 0.5, "my_field": {"a": 1}})
    bare, full = bodies
    assert not {"temperature", "max_tokens", "seed", "top_p"} & bare.keys()
    wanted = {"temperature": 0, "max_tokens": 7, "seed": 3, "top_p": 0.5, "my_field": {"a": 1}}
    assert {key: full.get(key) for key in wanted} == wanted


def test_a_seed_that_a_provider_does_not_take_is_left_out() -> None:
    with served() as server, pytest.raises(ModelFault) as caught:
        played("anthropic/claude-sonnet-4-5", server, seed=3)  # the server speaks OpenAI's protocol
    assert "seed" not in str(caught.value)


def test_extra_wins_over_the_named_parameters() -> None:
    options = ModelOptions(temperature=0, max_tokens=5, extra={"temperature": 1})
    assert options.parameters(max_tokens_name="max_completion_tokens") == {
        "temperature": 1,
        "max_completion_tokens": 5,
    }


# --- faults ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", RECOVERABLE)
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_of_the_infrastructure_is_retried(name: str, kind: RequestFault) -> None:
    with served(say, kind, kind) as server:
        reply = played(name, server)
        assert server.counts == {kind: 2, RequestFault.NONE: 1}
    assert reply.calls == CALLS
    # litellm's own HTTP code sends once more, uncounted, where a connection is lost.
    hidden = name.startswith("deepseek") and kind is RequestFault.CUT
    assert reply.retries == (1 if hidden else 2)


@pytest.mark.parametrize("name", NAMES)
def test_retries_end(name: str) -> None:
    with served(say, *[RequestFault.SERVER_ERROR] * 9) as server:
        with pytest.raises(ModelFault, match=r"after 3 requests.*HTTP 500.*planned") as caught:
            played(name, server, max_retries=2)
        assert server.requests == 3
    assert not caught.value.fatal


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_hangs_is_given_up(name: str) -> None:
    with served(say, RequestFault.HANG) as server:
        assert played(name, server, timeout_s=1).retries >= 1
        assert server.counts[RequestFault.HANG] == 1
    with served(say, *[RequestFault.HANG] * 9) as server:
        with pytest.raises(ModelFault, match=r"no reply within 0\.1 s"):
            played(name, server, timeout_s=0.1, max_retries=1)
        until(lambda: server.counts == {RequestFault.HANG: 2}, "two requests")


@pytest.mark.parametrize("name", NAMES)
def test_unauthorized_is_fatal_at_once(name: str) -> None:
    with served(say, *[RequestFault.UNAUTHORIZED] * 9) as server:
        with pytest.raises(ModelFault, match=r"(?s)HTTP 401.*not valid.*_API_KEY") as caught:
            played(name, server)
        assert server.requests == 1
    assert caught.value.fatal


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_request_is_not_repeated(name: str) -> None:
    with served(say, *[RequestFault.BAD_REQUEST] * 9) as server:
        with pytest.raises(ModelFault, match=r"(?s)HTTP 400.*the request is not valid") as caught:
            played(name, server)
        assert server.requests == 1
    assert not caught.value.fatal


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_address_is_fatal(name: str) -> None:
    async def work() -> Reply:
        async with open_model(
            name, ModelOptions(base_url=f"{server.base_url}/nowhere", backoff=QUICK)
        ) as model:
            return await model.reply(ASKED, [])

    with served() as server, pytest.raises(ModelFault, match="HTTP 404") as caught:
        run(work)
    assert caught.value.fatal


@pytest.mark.parametrize("name", NAMES)
def test_nobody_listens(name: str) -> None:
    with served() as server:
        pass
    with pytest.raises(ModelFault, match=r"after 2 requests.*\n  fix: check the network") as caught:
        played(name, server, max_retries=1)
    assert not caught.value.fatal


@pytest.mark.parametrize(
    "calls",
    [
        (RawCall("a", "f", '{"x": '), RawCall("b", "g", "{")),
        (RawCall("a", "f_v2", '{"x": 1}'),),
        (RawCall("a", "f", "{}"), RawCall("b", "f", "{}")),
    ],
    ids=["malformed arguments", "unknown tool", "a call twice"],
)
@pytest.mark.parametrize("name", NAMES)
def test_the_models_own_faults_are_passed_on(name: str, calls: tuple[RawCall, ...]) -> None:
    with served(lambda _: Reply(calls=calls)) as server:
        reply = played(name, server)
    assert (reply.calls, reply.retries) == (calls, 0)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_reply_is_a_reply(name: str) -> None:
    with served(lambda _: Reply()) as server:
        reply = played(name, server)
    assert (reply.content, reply.calls, reply.retries) == ("", (), 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_refuses_malformed_history_is_sent_objects(name: str) -> None:
    talk: list[Message] = [UserMessage("?"), AssistantMessage("", (RawCall("a", "f", '{"x": '),))]

    def respond(request: Request) -> Reply:
        said = request.messages[1]
        assert isinstance(said, AssistantMessage)
        if said.calls[0].arguments == '{"x": ':
            raise ValueError("arguments must be JSON")  # the server makes it a 400
        return Reply(said.calls[0].arguments)

    with served(respond) as server:
        reply = played(name, server, [*talk, ToolMessage("a", "f", "bad JSON")])
    assert reply.content == '{"unparsed": "{\\"x\\": "}'
    assert reply.retries == 1


@pytest.mark.parametrize("name", NAMES)
def test_cancelling_ends_a_wait_and_a_request(name: str) -> None:
    async def cut_short(server: LoopbackServer) -> None:
        slow = Backoff(first_s=3600, longest_s=3600)
        async with open_model(name, ModelOptions(base_url=server.base_url, backoff=slow)) as model:
            with anyio.move_on_after(0.1) as scope:
                await model.reply(ASKED, [TOOL])
            assert scope.cancelled_caught

    # Neither the wait of an hour nor the request that hangs holds the call up.
    for kind in (RequestFault.SERVER_ERROR, RequestFault.HANG):
        with served(say, *[kind] * 9) as server:
            anyio.run(cut_short, server)


@pytest.mark.parametrize("name", NAMES)
def test_twenty_requests_at_once(name: str) -> None:
    barrier = threading.Barrier(20, timeout=60)

    def respond(request: Request) -> Reply:
        barrier.wait()
        return Reply(request.messages[0].content)

    async def work(server: LoopbackServer) -> list[str]:
        said = [""] * 20

        async def one(model: Model, number: int) -> None:
            said[number] = (await model.reply([UserMessage(str(number))], [])).content

        async with (
            open_model(name, ModelOptions(base_url=server.base_url, backoff=QUICK)) as model,
            anyio.create_task_group() as group,
        ):
            for number in range(20):
                group.start_soon(one, model, number)
        return said

    with served(respond) as server:
        assert anyio.run(work, server) == [str(number) for number in range(20)]
        assert server.counts == {RequestFault.NONE: 20}


@pytest.mark.parametrize("name", NAMES)
def test_what_conversations_meet_does_not_hang_on_their_order(name: str) -> None:
    def retries(order: list[int]) -> dict[int, int]:
        met: dict[int, int] = {}

        async def work(server: LoopbackServer) -> None:
            async def one(model: Model, number: int) -> None:
                met[number] = (await model.reply([UserMessage(str(number))], [])).retries

            async with (
                open_model(name, ModelOptions(base_url=server.base_url, backoff=QUICK)) as model,
                anyio.create_task_group() as group,
            ):
                for number in order:
                    group.start_soon(one, model, number)

        plan = FaultPlan(
            rate=0.5, kinds=(RequestFault.SERVER_ERROR, RequestFault.RATE_LIMITED), seed=4
        )
        with LoopbackServer(say, faults=plan) as server:
            anyio.run(work, server)
        return met

    met = retries(list(range(12)))
    assert retries(list(reversed(range(12)))) == met
    assert set(met.values()) == {0, 1, 2}


# --- cost --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_cost_that_a_response_states_counts(name: str) -> None:
    with served(lambda _: Reply("x", usage=Usage(5, 2, 0.25))) as server:
        assert played(name, server).usage == Usage(5, 2, 0.25)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        pytest.param("openai/gpt-4o", False, id="openai has no table"),
        pytest.param("litellm/openai/gpt-4o", False, id="a namesake at another address"),
        pytest.param("litellm/openai/test", False, id="not in the table"),
        pytest.param("deepseek/deepseek-chat", True, id="in the table"),
    ],
)
def test_cost_is_known_or_none(name: str, known: bool) -> None:
    with served() as server:
        cost_usd = played(name, server).usage.cost_usd
    assert (cost_usd is not None) is known
    assert cost_usd is None or 0 < cost_usd < 0.001


# --- opening -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("openai/gpt-4o", "OPENAI_API_KEY", id="openai"),
        pytest.param("litellm/gpt-4o", "OPENAI_API_KEY", id="litellm"),
        pytest.param("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY", id="anthropic"),
        pytest.param("groq/x", "GROQ_API_KEY", id="groq"),
        pytest.param("nonsense/x", "knows no provider", id="unknown provider"),
        pytest.param("gpt-4o", "names no provider", id="no provider"),
        pytest.param("openai/", "names no provider", id="no model"),
    ],
)
def test_what_cannot_be_opened(name: str, said: str) -> None:
    with pytest.raises(ModelFault, match=rf"(?s){said}.*fix: ") as caught:
        open_model(name, ModelOptions())
    assert caught.value.fatal
    # A key can be missing on this machine; a name is bad everywhere.
    assert exit_code(caught.value) == (EXIT_MISSING if said.endswith("KEY") else EXIT_USAGE)


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_model_does_not_disturb_the_next(name: str) -> None:
    async def work(server: LoopbackServer) -> None:
        first: Client = open_model(name, ModelOptions(base_url=server.base_url))
        second = open_model(name, ModelOptions(base_url=server.base_url))
        await first.reply(ASKED, [])
        await first.aclose()
        await first.aclose()
        await second.reply(ASKED, [])
        await second.aclose()
        async with open_model(name, ModelOptions(base_url=server.base_url)) as third:
            await third.reply(ASKED, [])

    with served() as server:
        anyio.run(work, server)


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_model_leaves_no_connection_open(name: str) -> None:
    """Also while another is open, which is asked in a later event loop."""

    async def work(model: Client) -> None:
        async with model:
            await model.reply(ASKED, [])

    with served() as server:
        other = open_model(name, ModelOptions(base_url=server.base_url))
        for model in (open_model(name, ModelOptions(base_url=server.base_url)), other):
            anyio.run(work, model)
            assert connected_to(urlsplit(server.base_url).port) == []


def connected_to(port: int | None) -> list[socket.socket]:
    """Sockets of clients within this process."""
    connected = []
    for value in gc.get_objects():
        if isinstance(value, socket.socket) and value.family == socket.AF_INET:
            with suppress(OSError):  # it is closed, or listens
                if value.getpeername() == ("127.0.0.1", port):
                    connected.append(value)
    return connected


@pytest.mark.heavy
def test_a_model_behind_a_proxy_is_asked_over_its_own_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(model: Client) -> None:
        async with model:
            await model.reply(ASKED, [])

    asked = []

    def reply(exchange: Exchange) -> None:
        """By the proxy itself, over a connection that it keeps."""
        asked.append(exchange.path)
        exchange.send(reply_to_wire(SAID, model="m", id="r"))

    with Server(reply) as proxy:
        monkeypatch.setenv("QUERY", "asked")
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url)
        extra: dict[str, JSON] = {"extra_query": {"q": "${QUERY}"}}
        address = "http://somewhere.invalid/v1"
        anyio.run(
            work, open_model("litellm/openai/test", ModelOptions(base_url=address, extra=extra))
        )
        assert connected_to(proxy.server_port) == []
    assert asked == [f"{address}/chat/completions?q=asked"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("openai/test", "openai/test"),
        ("litellm/openai/test", "openai/test"),
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
    ],
)
def test_the_name_in_reports(name: str, shown: str) -> None:
    async def work() -> str:
        async with open_model(name, ModelOptions(base_url="http://127.0.0.1:1/v1")) as model:
            return model.name

    assert run(work) == shown


OFFLINE = """
import socket, sys
real = socket.socket.connect
def connect(self, address):
    if isinstance(address, tuple) and address[0] != "127.0.0.1":
        sys.exit(f"connected to {address}")
    return real(self, address)
socket.socket.connect = connect
def resolve(host, *rest, **more):
    if host not in ("127.0.0.1", b"127.0.0.1"):
        sys.exit(f"looked up {host}")
    return look_up(host, *rest, **more)
look_up, socket.getaddrinfo = socket.getaddrinfo, resolve

import anyio
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_agents.models.loopback import FaultPlan, LoopbackServer, RequestFault
from toolhop_agents.models.retry import Backoff
from toolhop_env.messages import Reply, UserMessage

loaded = {"openai", "litellm", "httpx"} & set(sys.modules)
assert not loaded, f"imported with the clients: {loaded}"

async def main():
    plan = FaultPlan(sequence=(RequestFault.SERVER_ERROR, RequestFault.CUT))
    with LoopbackServer(lambda request: Reply("ok"), faults=plan) as server:
        options = ModelOptions(base_url=server.base_url, backoff=Backoff(first_s=0.001))
        model = open_model("litellm/openai/test", options)
        async with model:
            assert (await model.reply([UserMessage("?")], [])).content == "ok"

anyio.run(main)
"""


def test_libraries_are_imported_when_asked_and_litellm_is_silent_and_off_the_network() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", OFFLINE], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --- the retries' arithmetic -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "expected_s"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"retry-after": "3"}, 3.0, id="seconds"),
        pytest.param({"retry-after": "0"}, 0.0, id="zero"),
        pytest.param({"retry-after": "-3"}, 0.0, id="negative"),
        pytest.param({"retry-after-ms": "250", "retry-after": "9"}, 0.25, id="milliseconds first"),
        pytest.param({"retry-after-ms": "soon", "retry-after": "2"}, 2.0, id="junk, then seconds"),
        pytest.param({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 20.0, id="date"),
        pytest.param({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, 0.0, id="past date"),
        pytest.param({"retry-after": "soon"}, None, id="junk"),
        pytest.param({"retry-after": "inf"}, None, id="infinite"),
    ],
)
def test_retry_after(headers: dict[str, str], expected_s: float | None) -> None:
    assert retry_after_s(headers, now_s=40) == expected_s


def test_waits_grow_to_a_limit_and_obey_the_server_up_to_another() -> None:
    backoff = Backoff(first_s=1, longest_s=5, asked_longest_s=60)
    assert [backoff.wait_s(n, None, 1) for n in (1, 2, 3, 4, 2000)] == [1, 2, 4, 5, 5]
    assert backoff.wait_s(1, None, 0) == 0.5
    assert backoff.wait_s(1, 30, 1) == 30
    assert backoff.wait_s(1, 3600, 1) == 60


@pytest.mark.parametrize(
    ("status", "code", "retryable", "fatal"),
    [
        (None, "", True, False),
        *((status, "", True, False) for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        *((status, "", False, True) for status in (401, 402, 403, 404)),
        *((status, "", False, False) for status in (400, 413, 422)),
        (429, "insufficient_quota", False, True),
    ],
)
def test_what_is_worth_repeating(
    status: int | None, code: str, retryable: bool, fatal: bool
) -> None:
    failed = RequestFailed("x", status=status, code=code)
    assert (failed.retryable, failed.fatal) == (retryable, fatal)


def test_a_success_that_was_none_is_worth_repeating() -> None:
    assert failed_with(200, "x", {}).retryable


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("This model's maximum context length is 8192 tokens.", id="OpenAI, vLLM"),
        pytest.param("litellm.ContextWindowExceededError: too much", id="litellm"),
        pytest.param("the request exceeds the available context size", id="llama.cpp"),
        pytest.param("prompt is too long: 210000 tokens > 200000 maximum", id="Anthropic"),
        pytest.param("input length and `max_tokens` exceed context limit: 1 + 2", id="Anthropic 2"),
        pytest.param(
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            id="Gemini",
        ),
        pytest.param("Input is too long for requested model.", id="Bedrock"),
    ],
)
def test_a_conversation_that_does_not_fit_is_told_apart(text: str) -> None:
    told = fault(RequestFailed(text, status=400), asked="m at u")
    assert isinstance(told, ConversationTooLong)
    assert not told.fatal
    assert not isinstance(fault(RequestFailed(text, status=500), asked=""), ConversationTooLong)
    coded = RequestFailed("too much", status=400, code="context_length_exceeded")
    assert isinstance(fault(coded, asked="m at u"), ConversationTooLong)


def test_an_empty_account_is_told_to_be_filled() -> None:
    failed = RequestFailed("You exceeded your quota", status=429, code="insufficient_quota")
    assert "fix: top up" in str(fault(failed, asked="m at u"))


def test_a_body_nested_too_deeply_is_unusable() -> None:
    async def work(address: str) -> None:
        options = ModelOptions(base_url=address, max_retries=0)
        async with OpenAIModel("m", options=options) as model:
            with pytest.raises(ModelFault, match="unusable response: not JSON"):
                await model.reply(ASKED, [])

    with Server(lambda exchange: exchange.send(b"[" * 100_000)) as server:
        anyio.run(work, f"{server.base_url}/v1")


def test_a_fault_shows_only_the_head_of_a_long_message() -> None:
    text = str(fault(RequestFailed("word\n " * 2000, status=400), asked="m at u"))
    assert text.startswith("m at u: no reply after 1 request; the last one ended with HTTP 400: ")
    assert len(text) < SHOWN + 400
    assert "\n  fix: " in text
