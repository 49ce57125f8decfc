"""Conversations with reasoning models, written by hand, in the form of each provider.

A conversation is what the provider replies in each turn, and what its next request has to hold. The
names beside a field say where the installed ``openai`` (2.54) or ``litellm`` (1.106) takes or
demands it. To each reply the harness says a result for each of its calls, numbered through the
conversation, or another question where it has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolhop_agents.models.exchange import Api
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

Body = Mapping[str, Any]
Items = tuple[Body, ...]

SYSTEM, QUESTION, MORE = "Be brief.", "Where is it?", "And then?"
SCHEMA: dict[str, JSON] = {
    "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"],
}  # fmt: skip
TOOL = ToolSchema(name="look", description="Look it up.", parameters=SCHEMA)
MAX_TOKENS = 4000


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply of the provider, and what the request after it holds of the conversation."""

    reply: Body
    then: Items


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns with one provider."""

    name: str
    model: str
    """As `open_model` takes it."""
    path: str
    """That requests are sent to."""
    first: Items
    """What the first request holds of the conversation."""
    turns: tuple[Turn, ...]
    rest: Body
    """The other fields of each request, the model's name left out."""
    holds: str = "messages"
    """The field of a request that holds the conversation."""
    options: Body = field(default_factory=dict)
    """Of `open_model`."""


# --- OpenAI's chat completions ---------------------------------------------------------------

CHAT_TOOL: Body = {
    "type": "function",
    "function": {"name": "look", "description": "Look it up.", "parameters": SCHEMA},
}
CHAT_REST: Body = {"max_tokens": MAX_TOKENS, "tools": [CHAT_TOOL]}
CHAT_FIRST: Items = (
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": QUESTION},
)
CHAT_MORE: Body = {"role": "user", "content": MORE}


def chat(**message: Any) -> Body:
    """A response of chat completions (openai/types/chat/chat_completion.py)."""
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "r", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [choice], "usage": usage}  # fmt: skip


def chat_call(identity: str, arguments: str, **more: Any) -> Body:
    """openai/types/chat/chat_completion_message_function_tool_call.py."""
    function = {"name": "look", "arguments": arguments}
    return {"id": identity, "type": "function", "function": function, **more}


def chat_result(identity: str, number: int) -> Body:
    return {"role": "tool", "tool_call_id": identity, "content": f"result {number}"}


def chat_said(**message: Any) -> Body:
    return {"role": "assistant", **message}


_A, _B, _C = chat_call("a", '{"q": "x"}'), chat_call("b", '{"q":"y"}'), chat_call("c", '{"q": "z"}')

_PLAIN_1: Items = (
    *CHAT_FIRST, chat_said(content="I look.", tool_calls=[_A, _B]),
    chat_result("a", 1), chat_result("b", 2),
)  # fmt: skip
_PLAIN_2: Items = (*_PLAIN_1, chat_said(content=None, tool_calls=[_C]), chat_result("c", 3))
_SPOKEN_1: Items = (*CHAT_FIRST, chat_said(content="Here."), CHAT_MORE)
_SPOKEN_2: Items = (*_SPOKEN_1, chat_said(content=None, tool_calls=[_A]), chat_result("a", 1))

PLAIN = (
    Conversation(
        "chat-calls", "openai/m", "/chat/completions", CHAT_FIRST,
        (Turn(chat(content="I look.", tool_calls=[_A, _B]), _PLAIN_1),
         # content: Optional (chat_completion_message.py, ChatCompletionMessage.content)
         Turn(chat(content=None, tool_calls=[_C]), _PLAIN_2)),
        CHAT_REST,
    ),
    Conversation(
        "chat-user", "openai/m", "/chat/completions", CHAT_FIRST,
        # Empty thoughts are none; annotations and refusal of ChatCompletionMessage neither.
        (Turn(chat(content="Here.", reasoning_content="", refusal=None, annotations=[]), _SPOKEN_1),
         Turn(chat(content=None, tool_calls=[_A], reasoning=None), _SPOKEN_2)),
        CHAT_REST,
    ),
)  # fmt: skip


# --- OpenAI's responses ----------------------------------------------------------------------

RESPONSES_REST: Body = {
    "store": False,  # so that nothing stays at the provider
    # openai/types/responses/response_includable.py: encrypted thoughts, for use without a store
    "include": ["reasoning.encrypted_content"],
    "max_output_tokens": MAX_TOKENS,
    # openai/types/responses/function_tool_param.py: `strict` is required, and true by default
    "tools": [{"type": "function", "name": "look", "description": "Look it up.",
               "parameters": SCHEMA, "strict": False}],
}  # fmt: skip


def response(*output: Body) -> Body:
    """openai/types/responses/response.py."""
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
             "output_tokens_details": {"reasoning_tokens": 7}, "total_tokens": 30}  # fmt: skip
    return {"id": "resp", "object": "response", "created_at": 1, "model": "m", "error": None,
            "status": "completed", "incomplete_details": None, "output": list(output),
            "usage": usage}  # fmt: skip


def reasoning(number: int, *summary: str, **more: Any) -> Body:
    """response_reasoning_item.py: "Be sure to include these items in your `input`"."""
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": parts,
            "encrypted_content": f"encrypted {number}", **more}  # fmt: skip


def function_call(identity: str, arguments: str) -> Body:
    """response_function_tool_call.py: `id` and `status` are of the item, `call_id` of the call."""
    return {"type": "function_call", "id": f"fc_{identity}", "call_id": identity, "name": "look",
            "arguments": arguments, "status": "completed"}  # fmt: skip


def message(identity: str, text: str, **more: Any) -> Body:
    """response_output_message.py; `phase`: "preserve and resend phase on all messages"."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": identity, "role": "assistant", "status": "completed",
            "content": [part], **more}  # fmt: skip


def output(identity: str, number: int) -> Body:
    """response_input_item_param.py, FunctionCallOutput."""
    return {"type": "function_call_output", "call_id": identity, "output": f"result {number}"}


_R1 = (reasoning(1, "First.", "Second."), function_call("a", '{"q": "x"}'),
       reasoning(2, content=[{"type": "reasoning_text", "text": "Then."}], status="completed"),
       function_call("b", '{"q":"y"}'))  # fmt: skip
_R2 = (reasoning(3), message("msg_1", "I look.", phase="commentary"),
       function_call("c", '{"q": "z"}'))  # fmt: skip
_R3 = (reasoning(4), message("msg_2", "Here.", phase="final_answer"))
_RESPONSES_1: Items = (*CHAT_FIRST, *_R1, output("a", 1), output("b", 2))
_RESPONSES_2: Items = (*_RESPONSES_1, *_R2, output("c", 3))
_RESPONSES_3: Items = (*CHAT_FIRST, *_R3, CHAT_MORE)
_RESPONSES_4: Items = (*_RESPONSES_3, *_R2, output("c", 1))

RESPONSES = (
    Conversation(
        "responses-calls", "openai/m", "/responses", CHAT_FIRST,
        (Turn(response(*_R1), _RESPONSES_1), Turn(response(*_R2), _RESPONSES_2)),
        RESPONSES_REST, "input", {"api": Api.RESPONSES},
    ),
    Conversation(
        "responses-user", "openai/m", "/responses", CHAT_FIRST,
        (Turn(response(*_R3), _RESPONSES_3), Turn(response(*_R2), _RESPONSES_4)),
        # openai/types/shared_params/reasoning.py: effort and summary stand beside each other
        {**RESPONSES_REST, "reasoning": {"summary": "auto", "effort": "high"}}, "input",
        {"api": Api.RESPONSES,
         "extra": {"reasoning": {"summary": "auto"}, "reasoning_effort": "high"}},
    ),
)  # fmt: skip


# --- Anthropic's Messages, by litellm --------------------------------------------------------

ANTHROPIC_REST: Body = {
    "max_tokens": MAX_TOKENS,
    "system": [{"type": "text", "text": SYSTEM}],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "tools": [{"name": "look", "description": "Look it up.", "input_schema": SCHEMA,
               "type": "custom"}],
}  # fmt: skip
THINKING: Body = {"extra": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}


def text(words: str) -> Body:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str) -> Body:
    """litellm/types/llms/openai.py, ChatCompletionThinkingBlock. A block without a signature is not
    sent (prompt_templates/common_utils.py, is_unsignable_thinking_block); one without text is.
    """
    return {"type": "thinking", "thinking": words, "signature": signature}


def redacted(data: str) -> Body:
    """litellm/types/llms/openai.py, ChatCompletionRedactedThinkingBlock."""
    return {"type": "redacted_thinking", "data": data}


def tool_use(identity: str, q: str) -> Body:
    return {"type": "tool_use", "id": identity, "name": "look", "input": {"q": q}}


def tool_results(first: int, *identities: str) -> Body:
    return {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": identity, "content": f"result {number}"}
        for number, identity in enumerate(identities, start=first)
    ]}  # fmt: skip


def claude(*content: Body) -> Body:
    stop = "tool_use" if content[-1]["type"] == "tool_use" else "end_turn"
    return {"id": "msg", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": list(content), "stop_reason": stop, "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 20}}  # fmt: skip


def claude_said(*content: Body) -> Body:
    """Thinking goes first (prompt_templates/factory.py, anthropic_messages_pt, at "IMPORTANT: ADD
    THIS FIRST, ELSE ANTHROPIC WILL RAISE AN ERROR").
    """
    return {"role": "assistant", "content": list(content)}


_CLAUDE_FIRST: Items = ({"role": "user", "content": [text(QUESTION)]},)
_K1 = (thinking("Two of them.", "sig 1"), text("I look."), tool_use("a", "x"), tool_use("b", "y"))
_K2 = (redacted("hidden"), thinking("", "sig 2"), tool_use("c", "z"))
_K3 = (thinking("Done.", "sig 3"), text("Here."))
_CLAUDE_1: Items = (*_CLAUDE_FIRST, claude_said(*_K1), tool_results(1, "a", "b"))
_CLAUDE_2: Items = (*_CLAUDE_1, claude_said(*_K2), tool_results(3, "c"))
_CLAUDE_3: Items = (
    *_CLAUDE_FIRST, claude_said(*_K3), {"role": "user", "content": [text(MORE)]},
)  # fmt: skip
_CLAUDE_4: Items = (*_CLAUDE_3, claude_said(*_K2), tool_results(1, "c"))

ANTHROPIC = (
    Conversation(
        "anthropic-calls", "anthropic/claude-sonnet-4-5", "/v1/messages", _CLAUDE_FIRST,
        (Turn(claude(*_K1), _CLAUDE_1), Turn(claude(*_K2), _CLAUDE_2)),
        ANTHROPIC_REST, options=THINKING,
    ),
    Conversation(
        "anthropic-user", "anthropic/claude-sonnet-4-5", "/v1/messages", _CLAUDE_FIRST,
        (Turn(claude(*_K3), _CLAUDE_3), Turn(claude(*_K2), _CLAUDE_4)),
        ANTHROPIC_REST, options=THINKING,
    ),
)  # fmt: skip


# --- Google's generateContent, by litellm ----------------------------------------------------

GEMINI_REST: Body = {
    "system_instruction": {"parts": [{"text": SYSTEM}]},
    "tools": [{"function_declarations": [
        {"name": "look", "description": "Look it up.", "parameters": SCHEMA}]}],
    "generationConfig": {"max_output_tokens": MAX_TOKENS,
                         "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1024}},
}  # fmt: skip
GEMINI_3_REST: Body = {
    **GEMINI_REST,
    "generationConfig": {"max_output_tokens": MAX_TOKENS,
                         "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"},
                         "temperature": 1.0},  # litellm's own for Gemini 3
}  # fmt: skip


def gemini(*parts: Body) -> Body:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 13, "thoughtsTokenCount": 7,
             "totalTokenCount": 30}  # fmt: skip
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage, "modelVersion": "gemini"}  # fmt: skip


def thought_part(words: str) -> Body:
    """llms/vertex_ai/gemini/transformation.py, _gemini_convert_messages_with_history: `PartType(
    thought=True, text=reasoning_content)`.
    """
    return {"text": words, "thought": True}


def call_part(q: str, *, spelt: str = "functionCall", **more: Any) -> Body:
    """A call; `thoughtSignature` stands at the first of those made in parallel
    (prompt_templates/factory.py, convert_to_gemini_tool_call_invoke).
    """
    identity = {"id": more.pop("id")} if "id" in more else {}
    return {spelt: {"name": "look", "args": {"q": q}, **identity}, **more}


def response_part(number: int, **identity: str) -> Body:
    said = {"name": "look", "response": {"content": f"result {number}"}, **identity}
    return {"function_response": said}


_OWN = "function_call"
"""How litellm spells it; Google takes both."""
_GEMINI_FIRST: Items = ({"role": "user", "parts": [{"text": QUESTION}]},)
_GEMINI_1: Items = (
    *_GEMINI_FIRST,
    {"role": "model", "parts": [
        thought_part("Two of them."), {"text": "I look."},
        call_part("x", spelt=_OWN, thoughtSignature="sig 1"), call_part("y", spelt=_OWN)]},
    {"role": "user", "parts": [response_part(1), response_part(2)]},
)  # fmt: skip
_GEMINI_2: Items = (
    *_GEMINI_1,
    {"role": "model", "parts": [call_part("z", spelt=_OWN, thoughtSignature="sig 2")]},
    {"role": "user", "parts": [response_part(3)]},
)
_GEMINI_3: Items = (
    *_GEMINI_FIRST,
    # A signature at a text goes back at the text (transformation.py, "thought_signatures").
    {"role": "model", "parts": [
        thought_part("Done."), {"text": "Here.", "thoughtSignature": "sig 3"}]},
    {"role": "user", "parts": [{"text": MORE}]},
)  # fmt: skip
_GEMINI_4: Items = (
    *_GEMINI_3,
    {"role": "model", "parts": [
        {"text": "I look.", "thoughtSignature": "sig 4"},
        call_part("x", spelt=_OWN, id="fc-1", thoughtSignature="sig 5"),
        call_part("y", spelt=_OWN, id="fc-2")]},
    # From Gemini 3.5 on a call has an id, and its response the same (transformation.py and
    # vertex_and_google_ai_studio_gemini.py, _transform_parts).
    {"role": "user", "parts": [response_part(1, id="fc-1"), response_part(2, id="fc-2")]},
)  # fmt: skip

GEMINI = (
    Conversation(
        "gemini-calls", "gemini/gemini-2.5-pro", "/models/gemini-2.5-pro:generateContent",
        _GEMINI_FIRST,
        (Turn(gemini(thought_part("Two of them."), {"text": "I look."},
                     call_part("x", thoughtSignature="sig 1"), call_part("y")), _GEMINI_1),
         Turn(gemini(call_part("z", thoughtSignature="sig 2")), _GEMINI_2)),
        GEMINI_REST, "contents", THINKING,
    ),
    Conversation(
        "gemini-3-user", "gemini/gemini-3-pro-preview",
        "/models/gemini-3-pro-preview:generateContent", _GEMINI_FIRST,
        (Turn(gemini(thought_part("Done."), {"text": "Here.", "thoughtSignature": "sig 3"}),
              _GEMINI_3),
         Turn(gemini({"text": "I look.", "thoughtSignature": "sig 4"},
                     call_part("x", id="fc-1", thoughtSignature="sig 5"),
                     call_part("y", id="fc-2")), _GEMINI_4)),
        GEMINI_3_REST, "contents", {"extra": {"reasoning_effort": "low"}},
    ),
)  # fmt: skip


# --- DeepSeek: reasoning_content -------------------------------------------------------------

_D1: Body = {"content": "", "reasoning_content": "Two of them.", "tool_calls": [_A, _B]}
_D2: Body = {"content": "I look.", "reasoning_content": " Once more.\n", "tool_calls": [_C]}
_D3: Body = {"content": "Here.", "reasoning_content": "Done."}
_DEEPSEEK_1: Items = (
    *CHAT_FIRST, chat_said(**{**_D1, "content": None}), chat_result("a", 1), chat_result("b", 2),
)  # fmt: skip
_DEEPSEEK_2: Items = (*_DEEPSEEK_1, chat_said(**_D2), chat_result("c", 3))
# Plain text goes no further than the next message of a user.
_DEEPSEEK_3: Items = (*CHAT_FIRST, chat_said(content="Here."), CHAT_MORE)
_DEEPSEEK_4: Items = (*_DEEPSEEK_3, chat_said(**_D2), chat_result("c", 1))
_DEEPSEEK_CALLS = (Turn(chat(**_D1), _DEEPSEEK_1), Turn(chat(**_D2), _DEEPSEEK_2))
_DEEPSEEK_USER = (Turn(chat(**_D3), _DEEPSEEK_3), Turn(chat(**_D2), _DEEPSEEK_4))


def _no_null(items: Items) -> Items:
    """litellm leaves out fields that are null."""
    return tuple({name: value for name, value in item.items() if value is not None}
                 for item in items)  # fmt: skip


_BY_LITELLM = tuple(Turn(turn.reply, _no_null(turn.then)) for turn in _DEEPSEEK_CALLS)
_DEEPSEEK_FILLED: Items = (
    *CHAT_FIRST, chat_said(content="Here.", reasoning_content=" "), CHAT_MORE,
)  # fmt: skip
# llms/deepseek/chat/transformation.py, _fill_reasoning_content: where DeepSeek thinks, each message
# of the assistant needs the field; what did not go back becomes a space.
_FILLED = (
    Turn(chat(**_D3), _DEEPSEEK_FILLED),
    Turn(chat(**_D2), (*_DEEPSEEK_FILLED, chat_said(**_D2), chat_result("c", 1))),
)

DEEPSEEK = (
    Conversation(
        "deepseek-openai-calls", "openai/deepseek-reasoner", "/chat/completions", CHAT_FIRST,
        _DEEPSEEK_CALLS, CHAT_REST,
    ),
    Conversation(
        "deepseek-openai-user", "openai/deepseek-reasoner", "/chat/completions", CHAT_FIRST,
        _DEEPSEEK_USER, CHAT_REST,
    ),
    Conversation(
        "deepseek-litellm-calls", "deepseek/deepseek-reasoner", "/chat/completions", CHAT_FIRST,
        _BY_LITELLM, CHAT_REST,
    ),
    Conversation(
        "deepseek-litellm-user", "deepseek/deepseek-reasoner", "/chat/completions", CHAT_FIRST,
        _FILLED, {**CHAT_REST, "thinking": {"type": "enabled"}},
        options={"extra": {"reasoning_effort": "high"}},
    ),
)  # fmt: skip


# --- vLLM: reasoning -------------------------------------------------------------------------

_V1: Body = {"content": "I look.", "reasoning": "Two of them.", "tool_calls": [_A, _B]}
_V2: Body = {"content": "Once more.", "reasoning": "<think>Odd.</think>", "tool_calls": [_C]}
_V3: Body = {"content": "Here.", "reasoning": "Done."}
_VLLM_1: Items = (*CHAT_FIRST, chat_said(**_V1), chat_result("a", 1), chat_result("b", 2))
_VLLM_2: Items = (*_VLLM_1, chat_said(**_V2), chat_result("c", 3))
_VLLM_3: Items = (*CHAT_FIRST, chat_said(**_V3), CHAT_MORE)
_VLLM_4: Items = (*_VLLM_3, chat_said(**_V2), chat_result("c", 1))

VLLM = (
    Conversation(
        "vllm-openai-calls", "openai/m", "/chat/completions", CHAT_FIRST,
        (Turn(chat(**_V1), _VLLM_1), Turn(chat(**_V2), _VLLM_2)), CHAT_REST,
    ),
    Conversation(
        "vllm-openai-all", "openai/m", "/chat/completions", CHAT_FIRST,
        (Turn(chat(**_V3), _VLLM_3), Turn(chat(**_V2), _VLLM_4)), CHAT_REST,
        options={"reasoning_history": "all"},
    ),
    Conversation(
        # litellm calls it reasoning_content in a reply, and keeps the name it came by in
        # provider_specific_fields (types/utils.py, Message; convert_dict_to_response.py).
        "vllm-litellm-calls", "hosted_vllm/m", "/chat/completions", CHAT_FIRST,
        (Turn(chat(**_V1), _VLLM_1), Turn(chat(**_V2), _VLLM_2)), CHAT_REST,
    ),
)  # fmt: skip


# --- OpenRouter: reasoning_details -----------------------------------------------------------

_DETAILS_1: list[Body] = [
    {"type": "reasoning.summary", "summary": "Sum.", "format": "openai-responses-v1", "index": 0},
    {"type": "reasoning.text", "text": "Two of them.", "signature": "sig 1",
     "format": "anthropic-claude-v1", "id": None, "index": 1},
    {"type": "reasoning.encrypted", "data": "encrypted", "format": "openai-responses-v1",
     "id": "rs_1", "index": 2},
]  # fmt: skip
_DETAILS_2: list[Body] = [
    {"type": "reasoning.text", "text": "Done.", "signature": "sig 2", "index": 0},
]
_O1: Body = {"content": "I look.", "reasoning": "Two of them.", "reasoning_details": _DETAILS_1,
             "tool_calls": [_A, _B]}  # fmt: skip
_O2: Body = {"content": "Once more.", "reasoning_details": _DETAILS_2, "tool_calls": [_C]}
_O3: Body = {"content": "Here.", "reasoning": "Done.", "reasoning_details": _DETAILS_2}
_ROUTER_1: Items = (*CHAT_FIRST, chat_said(**_O1), chat_result("a", 1), chat_result("b", 2))
_ROUTER_2: Items = (*_ROUTER_1, chat_said(**_O2), chat_result("c", 3))
_ROUTER_3: Items = (*CHAT_FIRST, chat_said(**_O3), CHAT_MORE)
_ROUTER_4: Items = (*_ROUTER_3, chat_said(**_O2), chat_result("c", 1))
_ROUTER_CALLS = (Turn(chat(**_O1), _ROUTER_1), Turn(chat(**_O2), _ROUTER_2))
_ROUTER_USER = (Turn(chat(**_O3), _ROUTER_3), Turn(chat(**_O2), _ROUTER_4))
_ROUTER_LITELLM: Body = {**CHAT_REST, "usage": {"include": True}}

OPENROUTER = (
    Conversation(
        "openrouter-openai-calls", "openai/a/m", "/chat/completions", CHAT_FIRST, _ROUTER_CALLS,
        CHAT_REST,
    ),
    Conversation(
        "openrouter-openai-user", "openai/a/m", "/chat/completions", CHAT_FIRST, _ROUTER_USER,
        CHAT_REST,
    ),
    # litellm moves reasoning_details into provider_specific_fields (convert_dict_to_response.py,
    # `provider_specific_fields[f] = choice["message"][f]`), and sends messages as they are.
    Conversation(
        "openrouter-litellm-calls", "openrouter/a/m", "/chat/completions", CHAT_FIRST,
        _ROUTER_CALLS, _ROUTER_LITELLM,
    ),
    Conversation(
        "openrouter-litellm-user", "openrouter/a/m", "/chat/completions", CHAT_FIRST, _ROUTER_USER,
        _ROUTER_LITELLM,
    ),
)  # fmt: skip

CONVERSATIONS = (
    *PLAIN, *RESPONSES, *ANTHROPIC, *GEMINI, *DEEPSEEK, *VLLM, *OPENROUTER,
)  # fmt: skip


# --- Bedrock's Converse, by litellm's transformation -----------------------------------------

CONVERSE_REST: Body = {}


def converse(*content: Body) -> Body:
    """litellm/types/llms/bedrock.py, ConverseResponseBlock."""
    stop = "tool_use" if "toolUse" in content[-1] else "end_turn"
    return {"output": {"message": {"role": "assistant", "content": list(content)}},
            "stopReason": stop, "metrics": {"latencyMs": 1},
            "usage": {"inputTokens": 10, "outputTokens": 20, "totalTokens": 30}}  # fmt: skip


def reasoned(words: str, signature: str) -> Body:
    """litellm/types/llms/bedrock.py, BedrockConverseReasoningContentBlock. One without a signature
    would go back as text (prompt_templates/factory.py, add_thinking_blocks_to_assistant_content).
    """
    return {"reasoningContent": {"reasoningText": {"text": words, "signature": signature}}}


def converse_use(identity: str, q: str) -> Body:
    return {"toolUse": {"toolUseId": identity, "name": "look", "input": {"q": q}}}


def converse_results(first: int, *identities: str) -> Body:
    return {"role": "user", "content": [
        {"toolResult": {"toolUseId": identity, "content": [{"text": f"result {number}"}]}}
        for number, identity in enumerate(identities, start=first)
    ]}  # fmt: skip


def converse_said(*content: Body) -> Body:
    """Thoughts, then text, then calls (factory.py, _sort_bedrock_assistant_content_blocks)."""
    return {"role": "assistant", "content": list(content)}


_CONVERSE_FIRST: Items = ({"role": "user", "content": [{"text": QUESTION}]},)
_W1 = (reasoned("Two of them.", "sig 1"), {"text": "I look."}, converse_use("a", "x"),
       converse_use("b", "y"))  # fmt: skip
_W2 = (reasoned("", "sig 2"), reasoned("Once more.", "sig 3"), converse_use("c", "z"))
_W3 = (reasoned("Done.", "sig 4"), {"text": "Here."})
_CONVERSE_1: Items = (*_CONVERSE_FIRST, converse_said(*_W1), converse_results(1, "a", "b"))
_CONVERSE_2: Items = (*_CONVERSE_1, converse_said(*_W2), converse_results(3, "c"))
_CONVERSE_3: Items = (
    *_CONVERSE_FIRST, converse_said(*_W3), {"role": "user", "content": [{"text": MORE}]},
)  # fmt: skip
_CONVERSE_4: Items = (*_CONVERSE_3, converse_said(*_W2), converse_results(1, "c"))

BEDROCK_MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BEDROCK = (
    Conversation(
        "bedrock-calls", BEDROCK_MODEL, "", _CONVERSE_FIRST,
        (Turn(converse(*_W1), _CONVERSE_1), Turn(converse(*_W2), _CONVERSE_2)), CONVERSE_REST,
    ),
    Conversation(
        "bedrock-user", BEDROCK_MODEL, "", _CONVERSE_FIRST,
        (Turn(converse(*_W3), _CONVERSE_3), Turn(converse(*_W2), _CONVERSE_4)), CONVERSE_REST,
    ),
)  # fmt: skip
