"""ToolHop's binding: three modes (paper section 4.1), each with its own template."""

from __future__ import annotations

from toolhop_agents.benchmarks.binding import USUAL, Ask, Binding, Prompt
from toolhop_agents.prompts import Mode, prompt, shipped
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK


def _prompt(ask: Ask) -> Prompt:
    template = ask.template
    if ask.phrasing != USUAL:
        template = shipped(f"{ask.mode}-{ask.phrasing}", BENCHMARK.name)
    return prompt(
        Mode(ask.mode), ask.call_format, ask.item.question, ask.schemas, template=template
    )


def _offers_tools(mode: str) -> bool:
    return mode != Mode.DIRECT


BINDING = Binding(
    BENCHMARK, _prompt, offers_tools=_offers_tools, phrasings=("brief", "formal", "plain")
)
