"""Whether the tools on offer reached the model, judged by the token count of its first prompt.

A server whose chat template has no place for tools drops them silently; the model then cannot call
any, and its scores are meaningless. The server's token count shows this: it can hold the messages
but not the tools as well, whatever the tokenizer. A count that is too low even for the messages, or
that does not grow with them, is wrong and shows nothing; and an agent that calls a tool by its name
has seen it.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

MOST_CHARS = 6.0
"""Upper bound on the average number of characters per token in a prompt, for any tokenizer: English
prose has 4 to 5, JSON and other languages fewer. Templates add tokens of their own."""


def shown_chars(schema: ToolSchema) -> int:
    """Return the minimum length of a schema as shown to a model, in characters.

    Only names, descriptions and allowed values count, as templates may write a schema as JSON, as
    TypeScript types or as XML.
    """
    return len(schema.name) + len(schema.description) + _chars(schema.parameters)


def _chars(value: JSON | Mapping[str, JSON]) -> int:
    if not isinstance(value, Mapping):
        return 0
    found = value.get("description")
    chars = len(found) if isinstance(found, str) else 0
    options = value.get("enum")
    chars += sum(len(str(one)) for one in options) if isinstance(options, list) else 0
    properties = value.get("properties")
    if isinstance(properties, Mapping):
        chars += sum(len(name) + _chars(one) for name, one in properties.items())
    return chars + _chars(value.get("items"))


def tools_unseen(trace: Trace) -> bool:
    """Whether the first prompt has too few tokens for the messages and the tools sent with them.

    False if the provider reports no plausible token counts. Small tools next to a long prompt go
    undetected, as do tools in scripts where a character is one token or more.
    """
    started = trace.started
    if not started.tool_chars or not trace.replies:
        return False
    usages = [one.reply.usage for one in trace.replies]
    first, *later = (max(one.input_tokens, one.prompt_cached_tokens) for one in usages)
    called = any(call.raw.name in started.tools for call in trace.tool_calls)
    if called or (later and later[-1] <= first):
        return False
    chars = sum(len(message.content) for message in started.messages)
    return chars <= first * MOST_CHARS < chars + started.tool_chars
