"""Whether the tools on offer reached the model, by the tokens of its first prompt.

A server whose chat template has no place for tools drops them without a word; the model then
cannot call any, and all its scores mean nothing. The tokens that the server counted tell:
they hold the messages and are too few for the tools as well, whatever the tokenizer. A count that
cannot hold even the messages, or that stays while they grow, is wrong and tells nothing; and who
calls a tool by its name has seen it.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

MOST_CHARS = 6.0
"""Characters a token above which no tokenizer comes on average over a prompt: English prose has 4
to 5, JSON and other languages fewer. Templates add tokens of their own."""


def shown_chars(schema: ToolSchema) -> int:
    """The least that a model has to be shown of a schema, in characters.

    Names, descriptions and allowed values, without JSON's marks and the schema's own words:
    templates write a schema as JSON, as types of TypeScript or as XML.
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

    Not so where the provider states no tokens, or none that can be right. Small tools beside a
    long prompt are not missed, nor are tools in scripts of which a character is a token or more.
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
