"""Servers of reasoning models that check what comes back, each in the form of one provider.

Each gives a thought with every reply, and refuses a request (400) in which the thought of an
earlier reply is missing, altered or at another reply, or that sends what the provider refuses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.serving import Exchange, Server
from toolhop_agents.models.loopback import Request, RequestResponder
from toolhop_agents.models.wire_reading import messages_from_wire, tools_from_wire
from toolhop_env.messages import Reply, Thoughts, Usage
from toolhop_sandbox.outcome import JSON

Body = dict[str, Any]
THOUGHT_TOKENS = 7


def thought(turn: int) -> str:
    """What is thought before reply `turn` (from 0); it tempts whoever reads it as a reply."""
    call = '<tool_call>{"name": "wrong", "arguments": {}}</tool_call>'
    return (
        f"turn {turn}: should I answer <answer>nothing</answer>, or call {call}? \u00e9\u2028\u0085"
    )


def signature(text: str) -> str:
    """The signature of a thought."""
    return hashlib.sha256(text.encode()).hexdigest()


# --- forms of OpenAI's protocol --------------------------------------------------------------


def _deepseek(turn: int, calls: int) -> Thoughts:
    return Thoughts(thought(turn), {"reasoning_content": thought(turn)})


def _vllm(turn: int, calls: int) -> Thoughts:
    return Thoughts(thought(turn), {"reasoning": thought(turn)})


def _openrouter(turn: int, calls: int) -> Thoughts:
    text = thought(turn)
    details: JSON = [
        {"type": "reasoning.text", "text": text, "signature": signature(text), "index": 0},
        {"type": "reasoning.encrypted", "data": signature(text + "encrypted"), "index": 1},
    ]
    return Thoughts(text, {"reasoning": text, "reasoning_details": details})


def _google(turn: int, calls: int) -> Thoughts:
    """Its signature stands at the first call; a reply without a call has none."""
    signed: JSON = {"google": {"thought_signature": signature(thought(turn))}}
    first = {"extra_content": signed}
    return Thoughts("", {}, (first, *({} for _ in range(calls - 1))) if calls else ())


FORMS: Mapping[str, Callable[[int, int], Thoughts]] = {
    "deepseek": _deepseek,
    "vllm": _vllm,
    "openrouter": _openrouter,
    "google": _google,
}


class Refused(Exception):
    """What is wrong with a request."""


def thinking(answer: RequestResponder, form: str) -> RequestResponder:
    """`answer`, by a model that thinks in the form of a provider."""
    made = FORMS[form]

    def think(request: Request) -> Reply:
        if "temperature" in request.body:
            raise Refused("a reasoning model takes no temperature")
        if len(request.body.keys() & {"max_tokens", "max_completion_tokens"}) > 1:
            raise Refused("two limits of tokens")
        messages: Any = request.body["messages"]
        spoken = [message for message in messages if message["role"] == "assistant"]
        for turn, message in enumerate(spoken):
            _check(message, made(turn, len(message.get("tool_calls") or ())))
        reply = answer(request)
        usage = Usage(input_tokens=10, output_tokens=20, reasoning_tokens=THOUGHT_TOKENS)
        own = made(len(spoken), len(reply.calls))
        return replace(reply, thoughts=own if own.fields or own.of_calls else None, usage=usage)

    return think


def _check(message: Body, wanted: Thoughts) -> None:
    known = {"role", "content", "tool_calls"}
    fields = {name: value for name, value in message.items() if name not in known}
    if fields != dict(wanted.fields):
        raise Refused(f"thoughts {fields} came back in place of {wanted.fields}")
    calls = message.get("tool_calls") or []
    beside = [
        {name: value for name, value in call.items() if name not in {"id", "type", "function"}}
        for call in calls
    ]
    if any(wanted.of_calls) and beside != [dict(one) for one in wanted.of_calls]:
        raise Refused(f"signatures {beside} came back in place of {wanted.of_calls}")


# --- Anthropic's own protocol ----------------------------------------------------------------


class OwnProtocol(Server):
    """A provider that speaks a protocol of its own; enter it with ``with``."""

    def __init__(self, answer: RequestResponder) -> None:
        self.answer = answer
        self.refusals: list[str] = []
        self.requests = self.streams = 0
        super().__init__(self._say)

    def _say(self, exchange: Exchange) -> None:
        if exchange.command == "GET":
            exchange.send(b"", 404)  # it lists no models
            return
        body = json.loads(exchange.body)
        self.requests += 1
        streamed = body.pop("stream", False) or ":stream" in exchange.path
        try:
            status, said = 200, self.respond(body)
        except Exception as error:  # noqa: BLE001 -- the client is told, the test reads it
            self.refusals.append(repr(error))
            status = 400
            said = {"type": "error", "error": {"type": "invalid_request_error",
                                               "message": repr(error)}}  # fmt: skip
        streamed = streamed and status == 200
        self.streams += streamed
        text = _as_events(self.events(said)) if streamed else json.dumps(said).encode()
        kind = "text/event-stream" if streamed else "application/json"
        exchange.send(self.sent(text), status, {"Content-Type": kind})

    def respond(self, body: Body) -> Body:
        """The response to a request. Raises `Refused`."""
        raise NotImplementedError

    def events(self, said: Body) -> list[Body]:
        """The response as events of a stream."""
        raise NotImplementedError

    def sent(self, text: bytes) -> bytes:
        """What is sent of a response."""
        return text

    def asked(self, messages: list[Body], tools: list[Body]) -> Reply:
        """What the scripted agent says to a conversation in OpenAI's form."""
        read = messages_from_wire(messages), tools_from_wire(tools)
        return self.answer(Request(*read, "scripted", {}))


def _as_events(events: list[Body]) -> bytes:
    lines = []
    for event in events:
        named = f"event: {event['type']}\n" if "type" in event else ""
        lines.append(f"{named}data: {json.dumps(event, ensure_ascii=False)}\n\n")
    return "".join(lines).encode()


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


class Anthropic(OwnProtocol):
    """The Messages API, with extended thinking."""

    def respond(self, body: Body) -> Body:
        if "temperature" in body and body["temperature"] != 1:
            raise Refused("temperature may only be set to 1 when thinking is enabled")
        if "max_tokens" not in body:
            raise Refused("max_tokens is required")
        if body.get("thinking", {}).get("type") == "enabled":
            if body["thinking"]["budget_tokens"] >= body["max_tokens"]:
                raise Refused("max_tokens must be greater than thinking.budget_tokens")
            if (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
                raise Refused("thinking may not be enabled when tool_choice forces tool use")
        reply = self.asked(self._conversation(body), self._tools(body))
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        content: list[Body] = [self._block(turn)]
        if reply.content or not reply.calls:
            content.append({"type": "text", "text": reply.content or "-"})
        content += [
            {"type": "tool_use", "id": f"toolu_{turn}_{at}", "name": call.name,
             "input": json.loads(call.arguments)}
            for at, call in enumerate(reply.calls)
        ]  # fmt: skip
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": "tool_use" if reply.calls else "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 20},
        }  # fmt: skip

    def events(self, said: Body) -> list[Body]:
        usage = {"input_tokens": said["usage"]["input_tokens"], "output_tokens": 1}
        begun = {**said, "content": [], "stop_reason": None, "usage": usage}
        found: list[Body] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
        for at, block in enumerate(said["content"]):
            kind, empty, deltas = block["type"], block, list[Body]()
            if kind == "thinking":
                empty = {**block, "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": half}
                          for half in _halves(block["thinking"])]  # fmt: skip
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            elif kind == "text":
                empty = {**block, "text": ""}
                deltas = [{"type": "text_delta", "text": half} for half in _halves(block["text"])]
            elif kind == "tool_use":
                empty = {**block, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": half}
                          for half in _halves(json.dumps(block["input"]))]  # fmt: skip
            found.append({"type": "content_block_start", "index": at, "content_block": empty})
            found += [{"type": "content_block_delta", "index": at, "delta": one} for one in deltas]
            found.append({"type": "content_block_stop", "index": at})
        end = {"stop_reason": said["stop_reason"], "stop_sequence": None}
        used = {"output_tokens": said["usage"]["output_tokens"]}
        return [*found, {"type": "message_delta", "delta": end, "usage": used},
                {"type": "message_stop"}]  # fmt: skip

    @staticmethod
    def _block(turn: int) -> Body:
        text = thought(turn)
        if turn % 3 == 2:
            return {"type": "redacted_thinking", "data": signature(text)}
        return {"type": "thinking", "thinking": text, "signature": signature(text)}

    def _conversation(self, body: Body) -> list[Body]:
        system = body.get("system") or ""
        text = system if isinstance(system, str) else "".join(part["text"] for part in system)
        messages: list[Body] = [{"role": "system", "content": text}] if text else []
        turn = 0
        for message in body["messages"]:
            blocks = message["content"]
            blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
            if message["role"] == "assistant":
                if blocks[0] != self._block(turn):
                    raise Refused(f"turn {turn} came back with {blocks[0]}")
                turn += 1
                messages.append(self._spoken(blocks[1:]))
                continue
            for block in blocks:
                if block["type"] == "tool_result":
                    given = block["content"]
                    given = given if isinstance(given, str) else given[0]["text"]
                    messages.append(
                        {"role": "tool", "tool_call_id": block["tool_use_id"], "content": given}
                    )
                else:
                    messages.append({"role": "user", "content": block["text"]})
        return messages

    @staticmethod
    def _spoken(blocks: list[Body]) -> Body:
        calls = [
            {"id": block["id"], "type": "function",
             "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
            for block in blocks
            if block["type"] == "tool_use"
        ]  # fmt: skip
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}

    @staticmethod
    def _tools(body: Body) -> list[Body]:
        return [
            {"type": "function",
             "function": {"name": tool["name"], "description": tool.get("description", ""),
                          "parameters": tool["input_schema"]}}
            for tool in body.get("tools", ())
        ]  # fmt: skip


# --- Google's own protocol -------------------------------------------------------------------


class Gemini(OwnProtocol):
    """``generateContent``, with thought signatures at calls."""

    def respond(self, body: Body) -> Body:
        settings = body.get("generationConfig", {})
        if "temperature" in settings and settings["temperature"] != 1:
            raise Refused("reasoning models are asked at temperature 1")
        reply = self.asked(self._conversation(body), self._tools(body))
        turn = sum(content["role"] == "model" for content in body["contents"])
        parts: list[Body] = [{"text": thought(turn), "thought": True}]
        if reply.content or not reply.calls:
            parts.append({"text": reply.content or "-"})
        for at, call in enumerate(reply.calls):
            part: Body = {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}}
            if at == 0:
                part["thoughtSignature"] = self._signature(turn)
            parts.append(part)
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP",
                            "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 13,
                              "thoughtsTokenCount": THOUGHT_TOKENS, "totalTokenCount": 30},
            "modelVersion": "gemini",
        }  # fmt: skip

    def events(self, said: Body) -> list[Body]:
        (candidate,) = said["candidates"]
        found: list[Body] = []
        for part in candidate["content"]["parts"]:
            halves = _halves(part["text"]) if "text" in part else ()
            for piece in [{**part, "text": half} for half in halves] or [part]:
                content = {"role": "model", "parts": [piece]}
                found.append({"candidates": [{"content": content, "index": 0}],
                              "modelVersion": said["modelVersion"]})  # fmt: skip
        found[-1]["candidates"][0]["finishReason"] = candidate["finishReason"]
        found[-1]["usageMetadata"] = said["usageMetadata"]
        return found

    @staticmethod
    def _signature(turn: int) -> str:
        return signature(thought(turn))

    def _conversation(self, body: Body) -> list[Body]:
        own = body.get("system_instruction") or body.get("systemInstruction") or {"parts": []}
        messages: list[Body] = []
        if own["parts"]:
            text = "".join(part["text"] for part in own["parts"])
            messages.append({"role": "system", "content": text})
        turn, ids = 0, list[str]()
        for content in body["contents"]:
            parts = content["parts"]
            if content["role"] != "model":
                for part in parts:
                    if "functionResponse" in part or "function_response" in part:
                        found = part.get("functionResponse") or part["function_response"]
                        said = found["response"].get("content", json.dumps(found["response"]))
                        messages.append(
                            {"role": "tool", "tool_call_id": ids.pop(0), "content": said}
                        )
                    else:
                        messages.append({"role": "user", "content": part["text"]})
                continue
            made = [part for part in parts if "functionCall" in part or "function_call" in part]
            if made and made[0].get("thoughtSignature") != self._signature(turn):
                raise Refused(
                    f"turn {turn}: function call without its thought_signature: {made[0]}"
                )
            ids = [f"call_{turn}_{at}" for at in range(len(made))]
            calls = [
                {"id": identity, "type": "function",
                 "function": {"name": call["name"], "arguments": json.dumps(call["args"])}}
                for identity, call in zip(
                    ids, (part.get("functionCall") or part["function_call"] for part in made),
                    strict=True,
                )
            ]  # fmt: skip
            texts = [part["text"] for part in parts if "text" in part and not part.get("thought")]
            messages.append({"role": "assistant", "content": "".join(texts),
                             **({"tool_calls": calls} if calls else {})})  # fmt: skip
            turn += 1
        return messages

    @staticmethod
    def _tools(body: Body) -> list[Body]:
        declared: list[Body] = []
        for tool in body.get("tools", ()):
            declared += tool.get("function_declarations") or tool["functionDeclarations"]
        return [
            {"type": "function",
             "function": {"name": one["name"], "description": one.get("description", ""),
                          "parameters": one.get("parameters", {})}}
            for one in declared
        ]  # fmt: skip


# --- OpenAI's responses ----------------------------------------------------------------------


class Responses(OwnProtocol):
    """The responses protocol, without a store: each item has to come back in its place."""

    def respond(self, body: Body) -> Body:
        allowed = {"model", "input", "tools", "max_output_tokens", "store", "include", "reasoning"}
        if unknown := body.keys() - allowed:
            raise Refused(f"unknown parameters: {sorted(unknown)}")
        if body["store"] is not False or body["include"] != ["reasoning.encrypted_content"]:
            raise Refused("nothing is stored here: ask for encrypted thoughts")
        messages, turn = self._conversation(body["input"])
        reply = self.asked(messages, [{"type": "function", "function": tool}
                                      for tool in body.get("tools", ())])  # fmt: skip
        output: list[Body] = [self._thought(turn)]
        if reply.content or not reply.calls:
            part = {"type": "output_text", "text": reply.content, "annotations": []}
            output.append({"type": "message", "id": f"msg_{turn}", "role": "assistant",
                           "status": "completed", "content": [part]})  # fmt: skip
        output += [
            {"type": "function_call", "id": f"fc_{turn}_{at}", "call_id": f"call_{turn}_{at}",
             "status": "completed", "name": call.name, "arguments": call.arguments}
            for at, call in enumerate(reply.calls)
        ]  # fmt: skip
        details = {"reasoning_tokens": THOUGHT_TOKENS}
        return {
            "id": "resp", "object": "response", "model": body["model"], "status": "completed",
            "error": None, "incomplete_details": None, "output": output,
            "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4},
                      "output_tokens": 20, "output_tokens_details": details},
        }  # fmt: skip

    def events(self, said: Body) -> list[Body]:
        return [{"type": "response.created", "response": {**said, "output": []}},
                {"type": "response.completed", "response": said}]  # fmt: skip

    @staticmethod
    def _thought(turn: int) -> Body:
        text = thought(turn)
        return {"type": "reasoning", "id": f"rs_{turn}", "encrypted_content": signature(text),
                "summary": [{"type": "summary_text", "text": text}]}  # fmt: skip

    def _conversation(self, items: list[Body]) -> tuple[list[Body], int]:
        messages: list[Body] = []
        turn = 0
        for item in items:
            match item.get("type", "message"):
                case "reasoning":
                    if item != self._thought(turn):
                        raise Refused(f"turn {turn} came back with {item}")
                    turn += 1
                    messages.append({"role": "assistant", "content": ""})
                case "function_call":
                    if not messages or messages[-1]["role"] != "assistant":
                        raise Refused(f"a call without the reasoning before it: {item}")
                    function = {"name": item["name"], "arguments": item["arguments"]}
                    call = {"id": item["call_id"], "type": "function", "function": function}
                    messages[-1].setdefault("tool_calls", []).append(call)
                case "function_call_output":
                    messages.append({"role": "tool", "tool_call_id": item["call_id"],
                                     "content": item["output"]})  # fmt: skip
                case _ if item["role"] == "assistant":
                    messages[-1]["content"] = item["content"][0]["text"]
                case _:
                    messages.append({"role": item["role"], "content": item["content"]})
        return messages, turn
