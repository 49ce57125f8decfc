"""The binding of scenarios: episodes whose tools let an agent ask, get other tools or give up."""

from __future__ import annotations

from toolhop_agents import prompts
from toolhop_agents.benchmarks.binding import Ask, Binding, Prompt
from toolhop_agents.scripted import honesty
from toolhop_env.reading import CallFormat
from toolhop_env.scorers.scenarios import SCENARIOS as BENCHMARK

TURNS = 20
"""Replies: seven hops, the most that ToolHop has, with room for questions and repeated calls."""


def _prompt(ask: Ask) -> Prompt:
    is_text = ask.call_format is CallFormat.TEXT
    values = {
        "question": ask.item.question,
        "tools": prompts.tool_lines(ask.schemas),
        "answer_format": prompts.shipped("answer_format"),
        "ends": "Each of the three ends the task: nobody answers.\n" if ask.single_shot else "",
        "tool_format": prompts.shipped("tool_format") + "\n" if is_text else "",
    }
    return prompts.messages(ask.template or prompts.shipped(f"scenarios/{ask.mode}"), values)


SCENARIOS = Binding(
    BENCHMARK,
    _prompt,
    agents={
        "goes-on": honesty.goes_on,
        "gives-up": honesty.gives_up,
        "asks": honesty.asks,
        "asks-when-missing": honesty.asks_when_missing,
        "invents": honesty.invents,
    },
    turn_limit=TURNS,
)
