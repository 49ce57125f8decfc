"""What a scripted agent scores in `toolhop run`, to hold an adapter's scores against, and the
containers that a play starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.model import as_offered, respond
from toolhop_env.messages import Message, Reply
from toolhop_env.reading import CallFormat
from toolhop_env.score import Score
from toolhop_sandbox.docker import containers
from toolhop_tools.model import Item, ToolSchema

AGENT = "repairing:0.5"
"""Half of its first calls fail, in all kinds of ways, and it repairs what feedback tells of."""


def run_scores(folder: Path, **settings: object) -> dict[str, Score]:
    """By item, of the built-in items unless `settings` say otherwise."""
    wanted = {"agent": AGENT, "data": "builtin", "sandbox": "process", "log_dir": folder}
    run = anyio.run(execute, RunSettings.model_validate(wanted | settings))
    found = {one.key.item: one.verdict for one in run.attempts}
    assert all(isinstance(one, Score) for one in found.values())
    return {item: one for item, one in found.items() if isinstance(one, Score)}


def containers_of(pid: int) -> set[str]:
    """The containers that a process of this machine started, and that are there still."""
    client = containers.connect()
    try:
        return {one.id for one in containers.ours(client) if one.owner.split(":")[2] == str(pid)}
    finally:
        client.close()


def said(
    item: Item,
    messages: Sequence[Message],
    tools: Sequence[ToolSchema],
    call_format: CallFormat = CallFormat.NATIVE,
    agent: str = AGENT,
) -> Reply:
    """The scripted agent's next turn, from what an adapter shows it."""
    offered = bool(tools) or call_format is CallFormat.TEXT
    seen = as_offered(item, messages, tools)
    return respond(choose(agent), seen, 0, call_format, messages, offered)
