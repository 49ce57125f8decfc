"""Calls by a reviewer, in the same episode that an agent would play but without its limits."""

from __future__ import annotations

from contextlib import ExitStack

from anyio.from_thread import BlockingPortal, start_blocking_portal

from toolhop_env.benchmarks.nestools.scorer import CALLS
from toolhop_env.benchmarks.nestools.stub import Stub
from toolhop_env.episode import Episode
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import RawCall, Reply
from toolhop_env.responders import StandIns
from toolhop_env.setting import Setting
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_tools.model import Item

SETTING = Setting("reviewer", CALLS, limits=EpisodeLimits(turns=None, calls=None))


class Bench(ExitStack):
    """An episode per item, in which a reviewer makes calls. Nothing runs before the first call."""

    def __init__(self, kind: Kind = "auto") -> None:
        """Choose the sandbox for the tools."""
        super().__init__()
        self._kind = kind
        self._room: tuple[BlockingPortal, Sandbox] | None = None
        self._episodes: dict[str, Episode] = {}

    def trace(self, item: Item) -> Trace | None:
        """Return the calls made so far; None if there are none."""
        episode = self._episodes.get(item.id)
        return episode.trace if episode else None

    def forget(self, item: Item) -> None:
        """Discard an item's calls."""
        self._episodes.pop(item.id, None)

    def call(self, item: Item, tool: str, arguments: str) -> str:
        """Make a call, and return the text that an agent would read, including any problem with the
        call.

        Raises:
            SandboxUnavailable, SandboxFault: no sandbox is available, or it failed.
        """
        if self._room is None:
            portal = self.enter_context(start_blocking_portal())
            opened: Sandbox = portal.call(open_sandbox, self._kind)
            self.enter_context(portal.wrap_async_context_manager(opened))
            self._room = portal, opened
        portal, sandbox = self._room
        if item.id not in self._episodes:
            episode = Episode(item, sandbox, SETTING, stand_ins=StandIns(described=Stub()))
            self.enter_context(portal.wrap_async_context_manager(episode))
            self._episodes[item.id] = episode
        reply = Reply(calls=(RawCall("call_1", tool, arguments),))
        return "\n".join(portal.call(self._episodes[item.id].step, reply).feedback)
