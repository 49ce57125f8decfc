"""Episodes of a small item over a sandbox that answers as it is reported."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from tests.agents.items import small_item
from tests.canned import CannedSandbox
from tests.env.made import raw, stepped
from toolhop_env.episode import Episode, Step
from toolhop_env.messages import Reply
from toolhop_env.setting import Setting
from toolhop_env.trace import (
    Trace,
)
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Returned

ITEM = small_item()
ASK = raw("capital", {"country": "Norway"})
ANSWER = Reply("<answer>16</answer>")


def said(*texts: str) -> CannedSandbox:
    return CannedSandbox([Returned(json.dumps(text)) for text in texts])


def echo(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    return Returned(json.dumps([program.function, dict(arguments)]))


def play(
    *replies: Reply, sandbox: CannedSandbox | None = None, setting: Setting | None = None
) -> tuple[list[Step], Trace]:
    async def go() -> tuple[list[Step], Trace]:
        return await stepped(ITEM, sandbox or CannedSandbox(echo), *replies, setting=setting)

    return anyio.run(go)


def with_episode(act: Callable[[Episode], Any], sandbox: CannedSandbox | None = None) -> Trace:
    async def go() -> Trace:
        async with Episode(ITEM, sandbox or CannedSandbox(echo)) as episode:
            await act(episode)
            assert episode.conversation == episode.trace.conversation()
        return episode.trace

    return anyio.run(go)
