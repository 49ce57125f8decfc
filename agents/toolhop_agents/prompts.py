"""Prompt templates, one per mode, in files that a study can replace with its own.

The shipped texts are ours, but they ask for what ToolHop's scenarios ask for (paper section 4.1):
tools for every step, optional tools, or none; an answer in a tag, ISO dates, plain numbers.

A template is a text that contains `{question}`. It may contain `{tools}` (the tool schemas as JSON
lines), `{answer_format}` and `{tool_format}` (shipped paragraphs; the second is empty in the native
format). If the first line is `[system]`, the text up to a line `[user]` is the system message;
otherwise the whole text is the user message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

from toolhop_env.messages import SystemMessage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_tools.errors import why
from toolhop_tools.model import ToolSchema


class Mode(StrEnum):
    """ToolHop's three scenarios (paper section 4.1)."""

    MANDATORY = "mandatory"
    FREE = "free"
    DIRECT = "direct"


class TemplateError(Exception):
    """A template that cannot be used. The message says why and what a template needs."""


def shipped(name: str, benchmark: str = "") -> str:
    """Return a shipped template: a benchmark's own, or a shared one if `benchmark` is empty."""
    home = files("toolhop_agents")
    home = home / "benchmarks" / benchmark if benchmark else home
    return (home / "templates" / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def read_template(path: Path) -> str:
    """Read a study's own template.

    Raises:
        TemplateError: the file cannot be read, or has no `{question}`.
    """
    try:
        text = path.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(
            f"the template {path} cannot be read: {why(error)}; give a text file"
        ) from error
    if "{question}" not in text:
        raise TemplateError(
            f"the template {path} has no {{question}}; put it where the question shall stand"
        )
    return text


def prompt(
    mode: Mode,
    call_format: CallFormat,
    question: str,
    schemas: Sequence[ToolSchema],
    *,
    template: str | None = None,
) -> tuple[SystemMessage | UserMessage, ...]:
    """Return the messages that begin an episode. `template` replaces the shipped template of
    `mode`.
    """
    text_tools = call_format is CallFormat.TEXT and mode is not Mode.DIRECT
    values = {
        "question": question,
        "tools": tool_lines(schemas),
        "answer_format": shipped("answer_format"),
        "tool_format": shipped("tool_format") + "\n" if text_tools else "",
    }
    return messages(template if template is not None else shipped(mode.value, "toolhop"), values)


def messages(template: str, values: Mapping[str, str]) -> tuple[SystemMessage | UserMessage, ...]:
    """Fill in a template and split it into messages."""
    system, user = _sections(template)
    parts: list[SystemMessage | UserMessage] = []
    if system:
        parts.append(SystemMessage(fill(system, values)))
    parts.append(UserMessage(fill(user, values)))
    return tuple(parts)


def tool_lines(schemas: Sequence[ToolSchema]) -> str:
    """Return the tool schemas as JSON, one per line."""
    functions = (schema.to_openai()["function"] for schema in schemas)
    return "\n".join(json.dumps(function, ensure_ascii=False) for function in functions)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in a template.

    `{tool_format}` comes first because it may contain `{tools}`. Other braces stay as they are, and
    inserted values are not scanned again.
    """
    text = template.replace("{tool_format}", values.get("tool_format", ""))
    names = "|".join(name for name in values if name != "tool_format")
    text = re.sub(rf"\{{({names})\}}", lambda found: values[found[1]], text)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def _sections(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"\[system\]\n(.*?)\n\[user\]\n(.*)", text, flags=re.DOTALL)
    return (found[1], found[2]) if found else ("", text)
