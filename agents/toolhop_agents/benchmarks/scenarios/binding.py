"""The binding of scenarios: episodes with tools to ask, to get other tools or to give up."""

from __future__ import annotations

from toolhop_agents import prompts
from toolhop_agents.benchmarks.binding import Ask, Binding, Prompt
from toolhop_agents.benchmarks.scenarios import agents
from toolhop_env.benchmarks.scenarios.scorer import BENCHMARK
from toolhop_env.reading import CallFormat

TURNS = 20
"""Replies per episode: enough for ToolHop's maximum of seven hops, with questions and retries."""


def _prompt(ask: Ask) -> Prompt:
    is_text = ask.call_format is CallFormat.TEXT
    values = {
        "question": ask.item.question,
        "tools": prompts.tool_lines(ask.schemas),
        "answer_format": prompts.shipped("answer_format"),
        "ends": "Each of the three ends the task: nobody answers.\n" if ask.single_shot else "",
        "tool_format": prompts.shipped("tool_format") + "\n" if is_text else "",
    }
    return prompts.messages(ask.template or prompts.shipped(ask.mode, BENCHMARK.name), values)


BINDING = Binding(
    BENCHMARK,
    _prompt,
    agents={
        "goes-on": agents.goes_on,
        "gives-up": agents.gives_up,
        "asks": agents.asks,
        "asks-when-missing": agents.asks_when_missing,
        "invents": agents.invents,
    },
    turn_limit=TURNS,
)
