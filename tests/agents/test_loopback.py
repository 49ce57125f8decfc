"""The loopback server and its fault plan, without any model client."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhop_agents.models import loopback
from toolhop_agents.models.fault_plan import SHAPING, FaultPlan, RequestFault, shaped
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env.messages import RawCall, Reply, Usage

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
        row = 0 if fault is RequestFault.NONE or fault in SHAPING else row + 1
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


def test_shaping_leaves_a_reply_without_calls_alone() -> None:
    assert all(shaped(Reply("x"), fault) == Reply("x") for fault in RequestFault)
    cut = shaped(Reply(calls=(RawCall("a", "f", '{"x": 1}'),)), RequestFault.MALFORMED_ARGUMENTS)
    assert cut.calls == (RawCall("a", "f", '{"x"'),)


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
