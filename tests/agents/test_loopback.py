"""The loopback server and its fault plan, without any model client."""

from __future__ import annotations

import json
import socket
import struct
import threading
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import until
from toolhop_agents.models import loopback
from toolhop_agents.models.fault_plan import FaultPlan, RequestFault
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env.messages import AssistantMessage, RawCall, Reply, Usage

HELLO = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def say(request: Request) -> Reply:
    return Reply(f"{request.model}: {request.messages[-1].content}")


def error(response: httpx.Response) -> str:
    return str(response.json()["error"]["message"])


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions"])
def test_it_answers(path: str) -> None:
    with LoopbackServer(say) as server:
        url = server.base_url.removesuffix("/v1") + path
        body = httpx.post(url, json=HELLO, trust_env=False).json()
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "m: hello"}
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def test_it_lists_its_model() -> None:
    with LoopbackServer(say) as server:
        body = httpx.get(f"{server.base_url}/models", trust_env=False).json()
    assert [model["id"] for model in body["data"]] == ["loopback"]


def test_connections_are_kept_alive() -> None:
    with LoopbackServer(say) as server, httpx.Client(trust_env=False) as client:
        url = f"{server.base_url}/chat/completions"
        ports = set()
        for _ in range(10):
            stream = client.post(url, json=HELLO).extensions["network_stream"]
            ports.add(stream.get_extra_info("client_addr"))
        assert len(ports) == 1
    # With Nagle's algorithm each reply waits for an acknowledgement, 40 ms.
    assert loopback._Handler.disable_nagle_algorithm


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"{", "not JSON", id="not JSON"),
        pytest.param(b"[]", "JSON object", id="no object"),
        pytest.param(b"", "not JSON", id="nothing"),
        pytest.param(b'{"messages": 1}', "must be a list", id="messages"),
        pytest.param(b'{"messages": [{"role": "x"}]}', "role 'x'", id="role"),
        pytest.param(b'{"messages": [], "tools": [1]}', "tool must be", id="tool"),
    ],
)
def test_a_bad_request_is_told_why(content: bytes, said: str) -> None:
    with LoopbackServer(say) as server:
        url = f"{server.base_url}/chat/completions"
        response = httpx.post(url, content=content, trust_env=False)
        assert server.requests == 0
    assert response.status_code == 400
    assert said in error(response)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"[" * 100_000, "nested too deeply", id="deep list"),
        pytest.param(b'{"messages":' * 100_000, "nested too deeply", id="deep object"),
        pytest.param(b"\xff\xfe", "not JSON", id="no text"),
        pytest.param(b'{"messages": [[]], "input": [[]]}', "", id="lists"),
        pytest.param(b'{"messages": [{}], "input": [{}]}', "", id="empty objects"),
        pytest.param(b'{"messages": NaN, "input": NaN}', "", id="no numbers"),
        pytest.param(
            b'{"messages": [], "tools": {"a": 1}, "input": [{"type": ["x"]}]}', "", id="types"
        ),
    ],
)
def test_a_hostile_body_is_refused_and_the_next_request_answered(
    content: bytes, told: str, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with LoopbackServer(say) as server, httpx.Client(trust_env=False) as client:
        url = server.base_url.removesuffix("/v1")
        response = client.post(url + path, content=content)
        assert (response.status_code, told in error(response)) == (400, True)
        assert client.post(f"{url}/v1/chat/completions", json=HELLO).status_code == 200
        assert server.errors == []
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Content-Length": "x"}, 400, id="length in letters"),
        pytest.param({"Content-Length": "-5"}, 400, id="length below 0"),
        pytest.param({"Content-Length": ""}, 400, id="no length"),
        pytest.param({"Content-Length": "²"}, 400, id="length in other digits"),
        pytest.param({"Content-Length": "9" * 5_000}, 413, id="long length"),
        pytest.param({"Content-Length": str(loopback.MOST_BYTES + 1)}, 413, id="large"),
        pytest.param({"Transfer-Encoding": "chunked"}, 411, id="chunks"),
        pytest.param({"Host": "evil.example"}, 403, id="another name"),
        pytest.param({"Host": "127.0.0.1.evil.example:80"}, 403, id="a name like it"),
        pytest.param({"Host": "[::1"}, 403, id="no name"),
        pytest.param({"Host": ""}, 403, id="empty name"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="another page"),
        pytest.param({"Origin": "null"}, 403, id="a page of a file"),
    ],
)
def test_a_head_that_is_not_for_it_is_refused_and_the_connection_ended(
    headers: dict[str, str], status: int, method: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = "/v1/models" if method == "GET" else "/v1/chat/completions"
    with LoopbackServer(say) as server:
        address = urlsplit(server.base_url)
        connection = HTTPConnection(str(address.hostname), address.port)
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value.encode("latin-1"))
        connection.endheaders()
        response = connection.getresponse()
        assert (response.status, response.getheader("Connection")) == (status, "close")
        assert "error" in json.loads(response.read())
        connection.close()
        assert server.requests == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST"])
def test_a_name_of_this_machine_is_answered_to_its_own_pages(host: str) -> None:
    with LoopbackServer(say) as server:
        headers = {"Host": host, "Origin": f"http://{host}"}
        url = f"{server.base_url}/chat/completions"
        assert httpx.post(url, json=HELLO, headers=headers, trust_env=False).status_code == 200


WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "description": "Of a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    "strict": False,
}


def test_the_openai_client_has_a_conversation_by_responses() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Reply:
        asked.append(request)
        usage = Usage(3, 4, prompt_cached_tokens=1, reasoning_tokens=2)
        if len(asked) == 1:
            calls = tuple(RawCall(f"c{n}", "weather", '{"place": "Rome"}') for n in (1, 2))
            return Reply("I look.", calls, usage)
        return Reply("It rains.", finish_reason="length", usage=usage)

    with (
        LoopbackServer(answer) as server,
        openai.OpenAI(base_url=server.base_url, api_key="k") as client,
    ):
        conversation: list[Any] = [{"role": "user", "content": "Rome?"}]
        first = client.responses.create(
            model="m", input=conversation, tools=[WEATHER], instructions="Be brief.", store=False
        )
        calls = [item for item in first.output if item.type == "function_call"]
        assert (first.output_text, first.status, first.model) == ("I look.", "completed", "m")
        assert [(one.call_id, one.name, one.arguments) for one in calls] == [
            ("c1", "weather", '{"place": "Rome"}'), ("c2", "weather", '{"place": "Rome"}'),
        ]  # fmt: skip
        assert first.usage is not None
        assert (first.usage.input_tokens, first.usage.total_tokens) == (3, 7)
        assert first.usage.input_tokens_details.cached_tokens == 1
        assert first.usage.output_tokens_details.reasoning_tokens == 2
        conversation += [item.model_dump(exclude_none=True) for item in first.output]
        conversation += [
            {"type": "function_call_output", "call_id": one.call_id, "output": f"of {one.call_id}"}
            for one in calls
        ]
        last = client.responses.create(model="m", input=conversation)
        alone = client.responses.create(model="m", input="Rome?")
    assert (last.output_text, last.status) == ("It rains.", "incomplete")
    assert last.incomplete_details is not None
    assert last.incomplete_details.reason == "max_output_tokens"
    assert alone.output_text == "It rains."
    begun, went_on, plain = asked
    assert [one.role for one in begun.messages] == ["system", "user"]
    assert [tool.name for tool in begun.tools] == ["weather"]
    assert begun.tools[0].parameters == WEATHER["parameters"]
    assert [one.role for one in went_on.messages] == ["user", "assistant", "tool", "tool"]
    said = went_on.messages[1]
    assert isinstance(said, AssistantMessage)
    assert (said.content, [call.id for call in said.calls]) == ("I look.", ["c1", "c2"])
    assert [one.content for one in went_on.messages[2:]] == ["of c1", "of c2"]
    assert [one.content for one in plain.messages] == ["Rome?"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"stream": True}, "not streamed"),
        ({"previous_response_id": "resp_1"}, "whole conversation"),
        ({"input": [{"type": "image_generation_call", "id": "i"}]}, "image_generation_call"),
        ({"tools": [{"type": "web_search"}]}, "a tool must be a function"),
    ],
)
def test_what_responses_cannot_be_served_is_told(more: dict[str, Any], told: str) -> None:
    with (
        LoopbackServer(say) as server,
        openai.OpenAI(base_url=server.base_url, api_key="k") as client,
        pytest.raises(openai.BadRequestError, match=told),
    ):
        client.responses.create(**{"model": "m", "input": "hello", **more})


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_addresses_are_told_apart(method: str) -> None:
    with LoopbackServer(say) as server:
        url = f"{server.base_url}/embeddings"
        response = httpx.request(method, url, trust_env=False)
    assert response.status_code == 404
    assert "/v1/embeddings" in error(response)


def test_a_responder_that_raises_is_answered_and_remembered(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def respond(request: Request) -> Reply:
        raise LookupError(request.model)

    with LoopbackServer(respond) as server:
        url = f"{server.base_url}/chat/completions"
        response = httpx.post(url, json=HELLO, trust_env=False)
        assert [repr(error) for error in server.errors] == ["LookupError('m')"]
    assert response.status_code == 400
    assert "LookupError('m')" in error(response)
    assert capfd.readouterr() == ("", "")


def test_a_client_that_is_gone_leaves_no_socket_open() -> None:
    """Also one whose earlier request made the responder raise: that exception holds the handler."""
    gone = threading.Event()

    def fail_then_wait(request: Request) -> Reply:
        if request.model == "fails":
            raise LookupError
        gone.wait()
        return Reply("too late")

    server = LoopbackServer(fail_then_wait)
    with server:
        client = HTTPConnection(urlsplit(server.base_url).netloc)
        client.request("POST", "/v1/chat/completions", json.dumps({**HELLO, "model": "fails"}))
        client.getresponse().read()
        client.request("POST", "/v1/chat/completions", json.dumps(HELLO))
        # So that its end is a reset, as that of a killed process is.
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        (served,) = server._http._connections
        client.close()
        gone.set()
        until(lambda: served.fileno() == -1, "the connection is closed")


def test_it_stops_at_once_while_requests_hang(capfd: pytest.CaptureFixture[str]) -> None:
    plan = FaultPlan(sequence=(RequestFault.HANG,) * 3)
    with LoopbackServer(say, faults=plan) as server:
        url = f"{server.base_url}/chat/completions"
        for _ in range(3):
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(url, json=HELLO, timeout=0.05, trust_env=False)
    # A server that waited for them would never have stopped.
    assert capfd.readouterr() == ("", "")


def test_it_stops_at_once_while_its_responder_hangs() -> None:
    release, answered = threading.Event(), threading.Event()

    def respond(request: Request) -> Reply:
        release.wait(60)
        answered.set()
        return Reply(request.model)

    with LoopbackServer(respond) as server:
        url = f"{server.base_url}/chat/completions"
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url, json=HELLO, timeout=0.05, trust_env=False)
    assert not answered.is_set()
    release.set()


def test_it_opens_in_async_code() -> None:
    async def work() -> int:
        async with LoopbackServer(say) as server, httpx.AsyncClient(trust_env=False) as client:
            response = await client.post(f"{server.base_url}/chat/completions", json=HELLO)
            return response.status_code

    assert anyio.run(work) == 200


@given(
    seed=st.integers(0, 10**6),
    rate=st.floats(0, 1),
    consecutive_max=st.integers(0, 3),
    kinds=st.lists(st.sampled_from(RequestFault), min_size=1).map(tuple),
)
def test_no_conversation_meets_too_many_faults_in_a_row(
    seed: int, rate: float, consecutive_max: int, kinds: tuple[RequestFault, ...]
) -> None:
    plan = FaultPlan(rate=rate, kinds=kinds, seed=seed, consecutive_max=consecutive_max)
    met = [plan.decide("talk", attempt, 0) for attempt in range(12)]
    assert met == [plan.decide("talk", attempt, 99) for attempt in range(12)]
    row = 0
    for fault in met:
        row = 0 if fault is RequestFault.NONE else row + 1
        assert row <= consecutive_max


def test_the_rate_is_kept() -> None:
    plan = FaultPlan(rate=0.3, kinds=(RequestFault.CUT,), seed=1)
    met = [plan.decide(str(number), 0, 0) for number in range(2000)]
    assert 0.26 < met.count(RequestFault.CUT) / 2000 < 0.34
    assert set(met) == {RequestFault.CUT, RequestFault.NONE}


def test_another_seed_is_another_plan() -> None:
    plans = [FaultPlan(rate=0.5, seed=seed) for seed in (1, 2)]
    first, second = ([plan.decide(str(n), 0, 0) for n in range(50)] for plan in plans)
    assert first != second


def test_a_stream_says_what_the_whole_reply_says() -> None:
    """Put together by the client of the library, over one connection."""
    calls = (RawCall("a", "one", '{"city": "Zürich", "days": [1, 2, 3]}'), RawCall("b", "two", ""))
    reply = Reply("first this, and then at some length that", calls, Usage(7, 5, cost_usd=0.5))
    asked: Any = {"model": "m", "messages": HELLO["messages"]}
    with (
        LoopbackServer(lambda _: reply) as server,
        openai.OpenAI(base_url=server.base_url, api_key="none") as client,
    ):
        ask = client.chat.completions
        whole = ask.create(**asked)
        with ask.stream(**asked, stream_options={"include_usage": True}) as stream:
            pieces = [one.delta for one in stream if one.type == "content.delta"]
            streamed = stream.get_final_completion()
        unasked = list(ask.create(**asked, stream=True))
    assert len(pieces) > 2
    assert streamed.usage == whole.usage
    assert not any(one.usage for one in unasked)
    assert streamed.choices[0].finish_reason == whole.choices[0].finish_reason == "tool_calls"
    got, sent = streamed.choices[0].message, whole.choices[0].message
    assert got.content == sent.content == "".join(pieces)
    assert [
        (one.id, one.function.name, one.function.arguments) for one in got.tool_calls or ()
    ] == [(one.id, one.name, one.arguments) for one in calls]


@pytest.mark.parametrize(
    "fault", [RequestFault.CUT, RequestFault.NOT_JSON, RequestFault.NO_CHOICES]
)
def test_a_stream_meets_the_planned_faults(fault: RequestFault) -> None:
    with LoopbackServer(say, faults=FaultPlan(sequence=(fault,))) as server:
        url, body = f"{server.base_url}/chat/completions", HELLO | {"stream": True}
        if fault is RequestFault.CUT:
            with pytest.raises(httpx.RemoteProtocolError):
                httpx.post(url, json=body, trust_env=False)
        else:
            text = httpx.post(url, json=body, trust_env=False).text
            assert "delta" not in text
        assert '"m: hello"' in httpx.post(url, json=body, trust_env=False).text
