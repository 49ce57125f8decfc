"""Export episodes as OpenTelemetry spans, by the semantic conventions for generative AI.

Each episode is an ``invoke_agent`` span with a ``chat`` span for each requested reply and an
``execute_tool`` span for each call. They are made from the trace's events as they happen, and sent
where the standard variables say (``OTEL_EXPORTER_OTLP_ENDPOINT`` and others).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Literal, TypeAlias, assert_never
from urllib.parse import urlsplit

from toolhop_agents.runs.settings import RunSettings
from toolhop_env.episode import Sink
from toolhop_env.extras import install_command
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    Origin,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolhop_env.reading import CallFormat
from toolhop_env.trace import EVENT, Called, Ended, Ending, Event, Replied, Started, messages_of
from toolhop_sandbox.outcome import JSON
from toolhop_tools.secrets import cleaned

CONVENTIONS = "1.41.0"
"""Version of the semantic conventions (open-telemetry/semantic-conventions). Their generative AI
part is in development and may change."""
PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Providers whose names in the conventions differ from those in ``--model``."""
SCRIPTED = "toolhop"
"""Provider name of scripted agents."""

Watch: TypeAlias = Callable[[], Sink]
"""Creates a sink for the events of one episode."""
Attributes: TypeAlias = dict[str, str | int | float | bool | Sequence[str]]
Kind: TypeAlias = Literal["client", "internal"]


class TelemetryMissing(Exception):
    """The packages that export spans are not installed. The message has the command to install
    them.
    """


@contextmanager
def exported(settings: RunSettings) -> Iterator[Watch | None]:
    """Export spans of a run's episodes by OTLP over HTTP. Yields None if spans are off.

    Remaining spans are sent on exit. An unresponsive collector does not stop the run.

    Raises:
        TelemetryMissing: the extra ``otel`` is not installed.
    """
    if settings.otel == "off":
        yield None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise TelemetryMissing(
            f"--otel needs packages that are not installed ({error.name})"
            f"\n  fix: {install_command('otel')}"
        ) from error
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    resource = Resource.create({} if named else {"service.name": "toolhop"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    under_way: set[EpisodeSpans] = set()
    try:
        yield lambda: EpisodeSpans(provider, settings, under_way)
    finally:
        for one in tuple(under_way):
            one.cut_off()
        provider.shutdown()


class EpisodeSpans:
    """A sink that turns the events of one episode into spans.

    Turns copied from another episode (`Started.prefix_turns`) have spans only there.
    """

    def __init__(
        self,
        provider: Any,  # noqa: ANN401 -- an optional package's type
        settings: RunSettings,
        under_way: set[EpisodeSpans],
    ) -> None:
        """Args:
        provider: a tracer provider of OpenTelemetry's SDK.
        settings: the run's settings.
        under_way: contains this object while its episode runs.
        """
        self._under_way = under_way
        schema = f"https://opentelemetry.io/schemas/{CONVENTIONS}"
        self._tracer = provider.get_tracer("toolhop", version("toolhop-env"), schema_url=schema)
        self._settings = settings
        self._content = settings.otel == "content"
        self._agent: Any = None
        self._messages: list[Message] = []
        self._format = CallFormat.NATIVE
        self._prefix_turns = 0
        self._tokens = [0, 0]

    def __call__(self, event: Event) -> None:
        """Process the next event. Spans are redacted, like files."""
        event = cleaned(EVENT, event)
        match event:
            case Started():
                self._start(event)
            case Replied() if event.turn > self._prefix_turns:
                if event.reply.origin is not Origin.RESUMED:
                    self._chat(event)
            case Called() if event.turn > self._prefix_turns:
                self._tool(event)
            case Ended():
                self._end(event.ending.value, failed=event.ending is Ending.ERRORED)
            case _:
                pass
        if self._content:
            self._messages += messages_of(event, self._format)

    def _start(self, event: Started) -> None:
        self._prefix_turns, self._format = event.prefix_turns, event.call_format
        attributes: Attributes = {
            **self._operation("invoke_agent"),
            "gen_ai.agent.name": event.agent,
            "gen_ai.conversation.id": event.episode,
            "toolhop.benchmark": event.benchmark,
            "toolhop.item": event.item,
            "toolhop.mode": event.mode,
            "toolhop.epoch": event.epoch,
            "toolhop.attempt": event.attempt,
        }
        name = f"invoke_agent {event.agent}"
        self._agent = self._open(name, "internal", time.time_ns(), attributes)
        self._under_way.add(self)

    def _operation(self, operation: str) -> Attributes:
        provider, _, model = (self._settings.model or "").partition("/")
        attributes: Attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": PROVIDERS.get(provider, provider) or SCRIPTED,
        }
        return attributes | ({"gen_ai.request.model": model} if model else {})

    def _chat(self, event: Replied) -> None:
        reply, settings, usage = event.reply, self._settings, event.reply.usage
        given = {
            "gen_ai.request.temperature": settings.temperature,
            "gen_ai.request.max_tokens": settings.max_tokens,
            "gen_ai.request.stop_sequences": settings.stop or None,
            **_server(settings.base_url),
        }
        found = {
            "gen_ai.response.model": reply.model or None,
            "gen_ai.response.finish_reasons": [reply.finish_reason]
            if reply.finish_reason
            else None,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.prompt_cached_tokens or None,
            "gen_ai.conversation.id": self._agent.attributes["gen_ai.conversation.id"],
            "toolhop.turn": event.turn,
            "toolhop.reply.origin": reply.origin.value,
        }
        if self._content:
            said = [_message(AssistantMessage(reply.content, reply.calls, reply.thoughts))]
            found["gen_ai.input.messages"] = json.dumps([_message(one) for one in self._messages])
            found["gen_ai.output.messages"] = json.dumps(
                [{**one, "finish_reason": reply.finish_reason or "stop"} for one in said]
            )
        if reply.origin is Origin.ASKED:
            self._tokens = [self._tokens[0] + usage.input_tokens,
                            self._tokens[1] + usage.output_tokens]  # fmt: skip
        more = {**(given if settings.model else {}), **found}
        attributes = self._operation("chat")
        attributes |= {name: value for name, value in more.items() if value is not None}
        name = f"chat {attributes.get('gen_ai.request.model', settings.agent_name)}"
        self._whole(name, "client" if settings.model else "internal", reply.wall_s, attributes)

    def _tool(self, event: Called) -> None:
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.raw.name,
            "gen_ai.tool.call.id": event.raw.id,
            "gen_ai.tool.type": "function",
            "toolhop.turn": event.turn,
        }
        if event.error is not None:
            attributes["error.type"] = event.error.value
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = event.raw.arguments
            attributes["gen_ai.tool.call.result"] = event.feedback
        self._whole(f"execute_tool {event.raw.name}", "internal", event.wall_s, attributes)

    def cut_off(self) -> None:
        """End the episode's span because the run stopped before the episode did."""
        self._end("cut_off", failed=True)

    def _end(self, ending: str, *, failed: bool) -> None:
        self._under_way.discard(self)
        self._agent.set_attribute("toolhop.ending", ending)
        for name, count in zip(("input", "output"), self._tokens, strict=True):
            self._agent.set_attribute(f"gen_ai.usage.{name}_tokens", count)
        if failed:
            self._fail(self._agent, ending)
        self._agent.end()

    def _whole(self, name: str, kind: Kind, wall_s: float, attributes: Attributes) -> None:
        """Record a span that has just ended after `wall_s` seconds."""
        end = time.time_ns()
        span = self._open(name, kind, end - round(wall_s * 1e9), attributes)
        if "error.type" in attributes:
            self._fail(span, str(attributes["error.type"]))
        span.end(end)

    def _open(self, name: str, kind: Kind, start: int, attributes: Attributes) -> Any:  # noqa: ANN401 -- an optional package's type
        from opentelemetry.trace import SpanKind, set_span_in_context

        kinds = {"client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
        context = None if self._agent is None else set_span_in_context(self._agent)
        return self._tracer.start_span(
            name, context=context, kind=kinds[kind], start_time=start, attributes=attributes
        )

    def _fail(self, span: Any, kind: str) -> None:  # noqa: ANN401 -- an optional package's type
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", kind)
        span.set_status(Status(StatusCode.ERROR))


def _server(base_url: str | None) -> dict[str, str | int]:
    if base_url is None:
        return {}
    parts = urlsplit(base_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {"server.address": parts.hostname or "", "server.port": port}


def _message(message: Message) -> dict[str, JSON]:
    """Return a message in the conventions' form: a role and parts."""
    match message:
        case SystemMessage() | UserMessage():
            parts: list[JSON] = [{"type": "text", "content": message.content}]
        case AssistantMessage():
            thought = message.thoughts.text if message.thoughts else ""
            parts = [{"type": "reasoning", "content": thought}] if thought else []
            parts += [{"type": "text", "content": message.content}] if message.content else []
            parts += [
                {"type": "tool_call", "id": one.id, "name": one.name, "arguments": one.arguments}
                for one in message.calls
            ]
        case ToolMessage():
            answer = {"type": "tool_call_response", "id": message.call_id}
            parts = [{**answer, "response": message.content}]
        case _:
            assert_never(message)
    return {"role": message.role, "parts": parts}
