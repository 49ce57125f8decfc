"""Run folders made by playing scripted agents over a real sandbox, without the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from click.testing import CliRunner

from tests.canned import CannedSandbox
from toolhop_agents.cli import root
from toolhop_agents.cli.faults import exit_code
from toolhop_agents.prompts import Mode, prompt
from toolhop_agents.react import play
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.model import ScriptedModel
from toolhop_env.episode import Episode
from toolhop_env.feedback import Level
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import Reply
from toolhop_env.reading import CallFormat
from toolhop_env.runs.files import EPISODES
from toolhop_env.runs.store import RunStore
from toolhop_env.setting import Setting
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Limits, Sandbox
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_sandbox.pool import PooledSandbox
from toolhop_tools.model import Item

Act = Callable[[Episode], Any]


def invoked(*arguments: object) -> tuple[int, str, str]:
    """Exit code, output and messages of the command, in this process: as `main` would end it."""
    result = CliRunner().invoke(root, [str(one) for one in arguments])
    error = result.exception
    if not isinstance(error, Exception):
        return result.exit_code, result.stdout, result.stderr
    code = exit_code(error)
    assert code is not None, repr(error)
    return code, result.stdout, result.stderr + str(error)


def recorded(
    folder: Path,
    items: Sequence[Item],
    *,
    agent: str = "oracle",
    mode: Mode = Mode.MANDATORY,
    call_format: CallFormat = CallFormat.NATIVE,
    feedback: Level = Level.DETAILED,
    sandbox: str | PooledSandbox | CannedSandbox = "process",
    limits: Limits | None = None,
    name: str = "run",
    act: Act | None = None,
) -> RunStore:
    """A run in which each item was played once, by `agent` or by `act`."""

    async def go() -> RunStore:
        opened: CannedSandbox | PooledSandbox
        if isinstance(sandbox, str):
            opened = await open_sandbox(sandbox, limits=limits, max_workers=1)  # type: ignore[arg-type]
        else:
            opened = sandbox
        async with opened as box:
            store = begun(folder, items, box, agent, name)
            for item in items:
                label = f"{item.id}_{mode}_e1_a1"
                setting = _setting(item, agent, mode, call_format, feedback)
                with store.sink(label) as sink:
                    async with Episode(item, box, setting, sink=sink, name=label) as episode:
                        if act is not None:
                            await act(episode)
                        else:
                            await play(
                                episode, ScriptedModel(agent, choose(agent), item, 3, call_format)
                            )
        return store

    return anyio.run(go)


def begun(
    folder: Path, items: Sequence[Item], box: PooledSandbox | CannedSandbox, agent: str, name: str
) -> RunStore:
    """A run folder with items and manifest, and no episode."""
    settings = RunSettings(agent=agent, log_dir=folder).model_dump(mode="json")
    facts: dict[str, JSON] = {
        "format": 1,
        "status": "success",
        "started_at": "2026-01-31T12:00:00+00:00",
        "ended_at": "2026-01-31T12:01:00+00:00",
        "fault": "",
        "settings": settings,
        "data": {"name": "small", "origin": "items.json", "digest": "0", "items": len(items)},
        "sandbox": dict(box.description),
        "versions": {"python": "3", "toolhop-env": "0"},
    }
    store = RunStore.create(folder, name, facts)
    store.write_items(items)
    return store


def _setting(
    item: Item, agent: str, mode: Mode, call_format: CallFormat, feedback: Level
) -> Setting:
    offer = mode is not Mode.DIRECT
    documents = [tool.schema for tool in item.tools.values()] if offer else []
    return Setting(
        agent=agent,
        mode=mode.value,
        call_format=call_format,
        feedback=feedback,
        messages=prompt(mode, call_format, item.question, documents),
        offer_tools=offer,
        limits=EpisodeLimits(turns=20),
    )


async def continued(
    store: RunStore, sandbox: Sandbox, item: Item, trace: Trace, name: str, *replies: Reply
) -> Trace:
    """An episode that goes on from `trace` under minimal feedback."""
    start = trace.started
    setting = replace(Setting(), feedback=Level.MINIMAL, agent=start.agent, attempt=2)
    with store.sink(name) as sink:
        async with Episode(
            item, sandbox, setting, sink=sink, name=name, resume_from=trace
        ) as episode:
            for reply in replies:
                await episode.step(reply)
    return episode.trace


def edited(store: RunStore, episode: str, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the events of a trace file by hand."""
    path = store.folder / EPISODES / f"{episode}.jsonl"
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(events)
    lines = (json.dumps(event, ensure_ascii=False) + "\n" for event in events)
    path.write_text("".join(lines), encoding="utf-8")
