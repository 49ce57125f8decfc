"""A Gymnasium environment, registered when this module is imported.

    env = gymnasium.make("toolhop_agents.adapters.gymnasium_env:toolhop/Text-v0", data="builtin")

An action is a whole reply in the text tool-call format; an observation has the new messages.
Gymnasium does not discover packages by entry points, so import the module or name it in the id.
"""

from __future__ import annotations

import os
import string
import threading
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from toolhop_agents.adapters.options import settings_of
from toolhop_agents.environment.core import Observation
from toolhop_agents.environment.plain import PlainEnvironment, PlainEnvironments
from toolhop_env.reading import CallFormat
from toolhop_tools.errors import BadChoice

ID = "toolhop/Text-v0"
MOST = 256
"""Default maximum number of open episodes; workers start on demand."""


class AnyText(gymnasium.Space[str]):
    """The space of all strings. Gymnasium's `Text` has a fixed character set and length, which
    do not suit questions and tool results.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        """See `gymnasium.Space`."""
        super().__init__(None, np.str_, seed)

    def sample(self, mask: object = None, probability: object = None) -> str:
        """Return twelve random letters and spaces."""
        return "".join(self.np_random.choice(list(string.ascii_letters + " "), size=12))

    def contains(self, x: object) -> bool:
        """Whether `x` is a string."""
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText)

    def __hash__(self) -> int:
        return hash(AnyText)

    @property
    def is_np_flattenable(self) -> bool:
        """Always false."""
        return False


class ToolHopEnv(gymnasium.Env[str, str]):
    """An environment with one episode at a time; `reset` draws the item or takes it from its
    options.
    """

    def __init__(self, *, weights: Mapping[str, float] | None = None, **settings: object) -> None:
        """Read the settings. Data and sandbox are opened by the first reset.

        Args:
            weights: weights of the reward; see `toolhop_agents.environment.reward.Reward.of`.
            settings: settings of `toolhop run` by name, such as ``data``, ``mode`` or ``feedback``.

        Raises:
            BadChoice: a setting is not available here or has an invalid value.
        """
        self._settings = settings_of({"call_format": "text"} | settings, "Gymnasium")
        if self._settings.call_format is not CallFormat.TEXT:
            raise BadChoice(
                f"replies are texts here, and the calls {self._settings.call_format} are not",
                fix="leave call_format out",
            )
        self._weights = weights
        self._seat: PlainEnvironment | None = None
        self._key = (os.getpid(), self._settings.model_dump_json(), repr(weights))
        self.observation_space = AnyText()
        self.action_space = AnyText()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: seed of this and later draws of items.
            options: ``item``, and settings of this episode only.

        Returns:
            The prompt, and the item's id under ``item``.

        Raises:
            ToolsError: the data, the item or a setting cannot be used.
            SandboxUnavailable, EpisodeLost: no worker is available.
        """
        super().reset(seed=seed)
        pool = self._pool()
        given, items = dict(options or {}), list(pool.items)
        item = given.pop("item", None) or items[self.np_random.integers(len(items))]
        if self._seat is None:
            self._seat = pool.environment()
        return _text(self._seat.reset(item, **given)), {"item": item}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a turn. The info has the `Step`'s ``components``, ``only_failed`` and, at the end,
        ``ending``. Raises the same as `toolhop_agents.environment.core.Environment.step`.
        """
        if self._seat is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        step = self._seat.step(action)
        over = step.done and not step.truncated
        info = {"components": dict(step.components), "only_failed": step.only_failed}
        ending = {"ending": step.ending.value} if step.ending is not None else {}
        return _text(step.observation), step.reward, over, step.truncated, info | ending

    def close(self) -> None:
        """Close the episode, and the sandbox with the last environment of these settings."""
        if self._seat is not None:
            self._seat.close()
            self._seat = None
            _, users = _POOLS[self._key]
            users.discard(id(self))
            if not users:
                _POOLS.pop(self._key)[0].__exit__(None, None, None)

    def _pool(self) -> PlainEnvironments:
        if self._key not in _POOLS:
            most = self._settings.max_samples or MOST
            pool = PlainEnvironments(self._settings, reward=self._weights, most=most)
            _POOLS[self._key] = pool.__enter__(), set()
        pool, users = _POOLS[self._key]
        users.add(id(self))
        return pool


_POOLS: dict[tuple[int, str, str], tuple[PlainEnvironments, set[int]]] = {}
"""Pools shared by environments with equal settings in a process, and the ids of their users."""


def _close() -> None:
    while _POOLS:
        _POOLS.popitem()[1][0].__exit__(None, None, None)


# At exit Python joins a pool's thread before running `atexit`, so an environment left open would
# block the process forever. This hook runs earlier; `concurrent.futures` uses it for its own
# threads, and Python has no public name for it.
threading._register_atexit(_close)  # type: ignore[attr-defined]  # noqa: SLF001 -- see above


def _text(seen: Observation) -> str:
    """Join the new messages into one text."""
    return "\n\n".join(message.content for message in seen.messages)


if ID not in gymnasium.registry:
    gymnasium.register(ID, "toolhop_agents.adapters.gymnasium_env:ToolHopEnv")
