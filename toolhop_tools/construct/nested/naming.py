"""What a response of a tool that runs is called, and which words mean the same. Pure.

A ToolHop-style tool has no schema of its results, and most return one value. A name is made of
what the call asks for, or of the tool's own name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

SELECTORS = frozenset(
    {"field", "want", "wanted", "property", "attribute", "output", "return_field"}
)
"""Parameters that choose what is returned."""
VERBS = frozenset(
    {"get", "find", "fetch", "look", "lookup", "up", "retrieve", "query", "search", "list", "take"}
    | {"pick", "choose", "compute", "calculate", "determine", "extract", "compose", "make", "who"}
    | {"of", "the", "a", "by", "for", "from", "in", "to", "with", "and", "finder", "calculator"}
)
PLAIN: Mapping[str, frozenset[str]] = {
    "str": frozenset({"text", "string", "word", "phrase", "value", "input"}),
    "int": frozenset({"number", "value", "integer", "n"}),
    "float": frozenset({"number", "value"}),
    "list": frozenset({"values", "items", "list", "entries", "numbers", "elements"}),
}
"""By type: names of parameters that take any value of it."""
DATES = frozenset({"date"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_NOT_PLAIN = re.compile(r"\W+")


def name_words(name: str) -> tuple[str, ...]:
    """The words of an identifier, in small letters and in the singular."""
    return tuple(_singular(word.lower()) for word in _WORD.findall(name))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def identifier(text: str) -> str:
    """A text as a name of small letters."""
    words = _NOT_PLAIN.sub(" ", text.replace("_", " ")).casefold().split()
    plain = "_".join(words)
    return plain if plain.isascii() and plain.isidentifier() else ""


def result_name(schema: ToolSchema, arguments: Mapping[str, JSON], *, options: bool = True) -> str:
    """What a single result is called: what a selecting parameter names, else the tool's own name
    without verbs and parameters; ``result`` where nothing is left.

    Args:
        schema: the tool's.
        arguments: of the call.
        options: whether selecting parameters count; not where calls of a tool differ in them.
    """
    chosen = [arguments.get(name) for name in arguments if name in SELECTORS]
    for value in chosen if options else ():
        if isinstance(value, str) and (name := identifier(value)):
            return name
    properties = schema.parameters.get("properties")
    names = [*properties] if isinstance(properties, dict) else []
    own = {word for name in names for word in name_words(name)}
    words = [word.lower() for word in _WORD.findall(schema.name)]
    words = [word for word in words if not word.isdigit() and word not in VERBS]
    kept = [word for word in words if _singular(word) not in own] or words
    return "_".join(kept) or "result"


def in_words(name: str) -> str:
    """An identifier as it is read."""
    return name.replace("_", " ")
