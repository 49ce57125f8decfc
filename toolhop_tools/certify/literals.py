"""What a tool's source and its document show on reading: parameters, texts, examples, notations.

Read, never run. The texts are what a person who reads the tool would try.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

from toolhop_sandbox.base import Program
from toolhop_tools.pairing import parse_source, top_functions
from toolhop_tools.words import runs, words

MOST = 400
"""Texts of a source that are kept."""
LONGEST_CHARS = 80


@dataclass(frozen=True, slots=True)
class Source:
    """What reading a tool's source showed."""

    parses: bool
    defined: bool
    """Whether the named function stands at module level."""
    needed: tuple[str, ...]
    """Parameters of the function without a default."""
    texts: tuple[str, ...]
    """Short texts of the source, each once."""


@lru_cache(maxsize=64)
def read_source(program: Program) -> Source:
    """Read a source. One that does not parse has nothing."""
    tree = parse_source(program.source)
    if tree is None:
        return Source(False, False, (), ())
    function = top_functions(tree).get(program.function)
    texts = _texts(tree)
    if function is None:
        return Source(True, False, (), texts)
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    needed = names[: len(names) - len(function.args.defaults)]
    alone = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    needed += [argument.arg for argument, default in alone if default is None]
    return Source(True, True, tuple(needed), texts)


def _texts(tree: ast.Module) -> tuple[str, ...]:
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = (text for text in constants if isinstance(text, str) and text.strip())
    short = (text for text in texts if len(text) <= LONGEST_CHARS and text.isprintable())
    return tuple(dict.fromkeys(short))[:MOST]


def named_in(texts: tuple[str, ...], question: str) -> list[str]:
    """The texts that stand in the question as whole words, the longest first."""
    asked = words(question)
    found = [text for text in texts if len(text) > 2 and runs(words(text), asked)]
    return sorted(found, key=lambda text: -len(words(text)))


_EXAMPLE = re.compile(r"['\"‘“]([^'\"’”]{1,60})['\"’”]|(?:e\.g\.,?|such as|like)\s+([^.;)]{1,200})")


def described(description: str) -> list[str]:
    """Values that a parameter's description gives as examples."""
    listings = [one or other for one, other in _EXAMPLE.findall(description)]
    found = [part.strip(" '\"") for one in listings for part in re.split(r",| or | and ", one)]
    return [text for text in dict.fromkeys(found) if 0 < len(text) <= 60][:8]
