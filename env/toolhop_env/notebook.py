"""Synchronous episodes, for notebooks, scripts and the interactive interpreter.

    from toolhop_env.notebook import play
    with play(item) as episode:
        step = episode.call("country_capital", country="France")
        print(step.feedback)

The asynchronous code runs in a separate thread, so a notebook's running event loop does not
interfere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from anyio.from_thread import BlockingPortal, start_blocking_portal

from toolhop_env.benchmarks import score
from toolhop_env.episode import Episode, Step
from toolhop_env.messages import RawCall, Reply
from toolhop_env.score import Verdict
from toolhop_env.setting import Setting
from toolhop_env.trace import Ending, Trace
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item, Tool


class PlainEpisode:
    """A synchronous `Episode`, made by `play`."""

    def __init__(self, episode: Episode, portal: BlockingPortal) -> None:
        self._episode = episode
        self._portal = portal

    @property
    def question(self) -> str:
        """The item's question."""
        return self._episode.item.question

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools on offer."""
        return self._episode.tools

    @property
    def trace(self) -> Trace:
        """The trace so far."""
        return self._episode.trace

    @property
    def ending(self) -> Ending | None:
        """Why the episode is over; None if it is not."""
        return self._episode.ending

    def step(self, reply: Reply) -> Step:
        """See `Episode.step`."""
        return self._portal.call(self._episode.step, reply)

    def call(self, tool: str, /, **arguments: JSON) -> Step:
        """Make one call, in a turn of its own."""
        raw = RawCall(f"call_{uuid4().hex[:8]}", tool, json.dumps(arguments))
        return self.step(Reply(calls=(raw,)))

    def answer(self, text: object) -> Verdict:
        """Give the final answer and return the verdict."""
        self.step(Reply(content=f"<answer>{text}</answer>"))
        return self.score()

    def score(self) -> Verdict:
        """Return the verdict so far; errored until the episode ends."""
        return score(self.trace)


@contextmanager
def play(
    item: Item, setting: Setting | None = None, *, sandbox: Sandbox | Kind = "auto"
) -> Iterator[PlainEpisode]:
    """Play `item` by hand. The sandbox ``auto`` is Docker if an engine is running, else a process.

    Raises:
        SandboxUnavailable: nothing here can isolate calls.
    """
    with start_blocking_portal() as portal:
        opened = portal.call(open_sandbox, sandbox) if isinstance(sandbox, str) else sandbox
        with (
            portal.wrap_async_context_manager(opened),
            portal.wrap_async_context_manager(Episode(item, opened, setting)) as episode,
        ):
            yield PlainEpisode(episode, portal)
            episode.end(Ending.STOPPED)
