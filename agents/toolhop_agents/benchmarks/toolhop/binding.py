"""ToolHop's binding: three modes (paper section 4.1), each with its own template."""

from __future__ import annotations

from toolhop_agents.benchmarks.binding import USUAL, Ask, Binding, Prompt
from toolhop_agents.prompts import Mode, prompt, shipped
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK

_SYSTEM = """[system]
{task}

{tool_format}
{answer_format}
[user]
Question: {question}"""
"""Template of other phrasings, whose files have the task in a line for each mode."""


def _prompt(ask: Ask) -> Prompt:
    mode, template = Mode(ask.mode), ask.template
    if ask.phrasing != USUAL:
        lines = shipped(ask.phrasing, BENCHMARK.name).splitlines()
        template = _SYSTEM.replace("{task}", lines[[*Mode].index(mode)])
    return prompt(mode, ask.call_format, ask.item.question, ask.schemas, template=template)


def _offers_tools(mode: str) -> bool:
    return mode != Mode.DIRECT


BINDING = Binding(
    BENCHMARK, _prompt, offers_tools=_offers_tools, phrasings=("brief", "formal", "plain")
)
