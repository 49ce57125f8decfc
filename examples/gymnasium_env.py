"""Items as a Gymnasium environment. Needs `pip install . gymnasium`.

An action is a whole reply in the text tool-call format; an observation is what was said since.

    python examples/gymnasium_env.py     # checks the environment, and plays an item
"""

from __future__ import annotations

import string
from typing import Any

import gymnasium
import numpy as np

from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.runs.settings import RunSettings


class AnyText(gymnasium.Space[str]):
    """Every text. Gymnasium's own `Text` has a set of characters and a length: questions and tool
    results have neither.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(None, np.str_, seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        letters = self.np_random.choice(list(string.ascii_letters + " "), size=12)
        return "".join(letters)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    @property
    def is_np_flattenable(self) -> bool:
        return False


class ToolHopEnv(gymnasium.Env[str, str]):
    """An episode at a time, of an item that `reset` draws or is given in its options."""

    def __init__(self, pool: PlainEnvironments, **changes: Any) -> None:
        """Take a seat in an entered pool; `changes` are settings of its episodes."""
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self._pool, self._changes = pool, changes
        self._seat = pool.environment()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        items = list(self._pool.items)
        item = (options or {}).get("item") or items[self.np_random.integers(len(items))]
        seen = self._seat.reset(item, call_format="text", **self._changes)
        return text_of(seen), {"item": item}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        step = self._seat.step(action)
        over = step.done and not step.truncated
        return text_of(step.observation), step.reward, over, step.truncated, {}

    def close(self) -> None:
        self._seat.close()


def text_of(seen) -> str:
    """New messages as one text."""
    return "\n\n".join(message.content for message in seen.messages)


def main() -> None:
    """Check it as Gymnasium does, and make a call."""
    from gymnasium.utils.env_checker import check_env

    with PlainEnvironments(RunSettings(data="builtin"), most=2) as pool:
        check_env(ToolHopEnv(pool), skip_render_check=True)
        env = ToolHopEnv(pool, feedback="minimal")
        print(env.reset(options={"item": "geography-1"})[0])
        call = 'Action: river_capital\nAction Input: {"river": "Mekong", "position": 2}'
        print(*env.step(call)[:3])
        print(*env.step("<answer>42</answer>")[1:3])
        env.close()


if __name__ == "__main__":
    main()
