"""OpenTelemetry spans of a run, as a collector on this machine receives them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.serving import Exchange, Server
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.runs.spans import CONVENTIONS
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import responder
from toolhop_env.extras import install_command
from toolhop_env.messages import Reply, Usage
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]


@dataclass(frozen=True)
class Span:
    name: str
    kind: int
    attributes: dict[str, Any]
    id: bytes
    parent: bytes
    start: int
    end: int
    failed: bool


class Collector(Server):
    """Receives OTLP over HTTP."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        super().__init__(self._receive)

    def _receive(self, exchange: Exchange) -> None:
        assert exchange.path == "/v1/traces"
        self.received.append(exchange.body)
        exchange.send(b"")

    def scopes(self) -> Iterator[Any]:
        service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        for body in self.received:
            for resource in service.ExportTraceServiceRequest.FromString(body).resource_spans:
                names = {one.key: one.value.string_value for one in resource.resource.attributes}
                assert names["service.name"] == "toolhop"
                yield from resource.scope_spans

    def spans(self) -> list[Span]:
        found = []
        for scope in self.scopes():
            assert scope.schema_url.endswith(CONVENTIONS)
            for one in scope.spans:
                given = {part.key: _value(part.value) for part in one.attributes}
                times = (one.start_time_unix_nano, one.end_time_unix_nano)
                state = (one.span_id, one.parent_span_id, *times, one.status.code == 2)
                found.append(Span(one.name, one.kind, given, *state))
        return found


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_value(one) for one in found.values] if kind == "array_value" else found


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")


def played(folder: Path, *flags: str) -> list[Span]:
    """The spans of an episode that a model plays, whose second call has a wrong name."""
    play = responder(load("builtin"), choose("oracle"), 0)
    turns = 0

    def say(request: Request) -> Reply:
        nonlocal turns
        turns += 1
        reply = play(request)
        calls = tuple(reply.calls)
        if turns == 2:
            calls = tuple(type(one)(one.id, "no_such_tool", one.arguments) for one in calls)
        return Reply(reply.content, calls, Usage(100, 7), model="loop-1", finish_reason="stop")

    with LoopbackServer(say) as server, Collector() as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.base_url}
        done = toolhop(
            "run", "--model", "openai/loop", "--base-url", server.base_url, "--sandbox", "process",
            "--sample-id", "geography-1", "--log-dir", str(folder), *flags, env=env,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return collector.spans()


def test_an_episode_is_a_tree_of_spans(tmp_path: Path) -> None:
    spans = played(tmp_path, "--otel", "spans")
    (agent,) = [one for one in spans if one.name == "invoke_agent openai/loop"]
    chats = [one for one in spans if one.name == "chat loop"]
    tools = [one for one in spans if one.name.startswith("execute_tool ")]
    assert len(spans) == 1 + len(chats) + len(tools)
    assert len(chats) == len(tools) + 1
    assert not agent.parent
    assert {one.parent for one in (*chats, *tools)} == {agent.id}
    assert (agent.kind, chats[0].kind, tools[0].kind) == (1, 3, 1)
    assert all(agent.start <= one.start <= one.end <= agent.end for one in (*chats, *tools))
    wanted = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "loop",
        "gen_ai.response.model": "loop-1",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.request.max_tokens": 2048,
        "server.address": "127.0.0.1",
    }
    assert {name: chats[0].attributes.get(name) for name in wanted} == wanted
    assert agent.attributes["gen_ai.usage.input_tokens"] == 100 * len(chats)
    assert agent.attributes["gen_ai.conversation.id"] == "geography-1_mandatory_e1_a1"
    assert agent.attributes["toolhop.ending"] == "answered"
    assert [one.attributes.get("error.type") for one in tools] == [None, "unknown_tool", None]
    assert [one.failed for one in tools] == [False, True, False]
    texts = [name for one in spans for name in one.attributes if "messages" in name]
    assert not texts
    assert not [one for one in tools if "gen_ai.tool.call.arguments" in one.attributes]


def test_contents_are_there_where_they_are_asked_for(tmp_path: Path) -> None:
    spans = played(tmp_path, "--otel", "content")
    chats = [one for one in spans if one.name == "chat loop"]
    heard = json.loads(chats[-1].attributes["gen_ai.input.messages"])
    assert [one["role"] for one in heard][-2:] == ["assistant", "tool"]
    assert heard[-1]["parts"][0]["type"] == "tool_call_response"
    (said,) = json.loads(chats[0].attributes["gen_ai.output.messages"])
    assert said["finish_reason"] == "stop"
    (tool, *_) = [one for one in spans if one.name.startswith("execute_tool")]
    assert json.loads(tool.attributes["gen_ai.tool.call.arguments"])
    assert tool.attributes["gen_ai.tool.call.result"]


def test_without_the_packages_nothing_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    done = toolhop("run", "--otel", "spans", "--limit", "1", "--log-dir", str(tmp_path / "logs"))
    assert done.returncode == 3
    assert install_command("otel") in done.stderr
    assert not (tmp_path / "logs").exists()
