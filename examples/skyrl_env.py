"""Items as an environment of SkyRL's gym. Needs `pip install . skyrl-gym`.

A row of the training set names an item and holds its prompt; an action is a whole reply in the
text tool-call format.

    python examples/skyrl_env.py     # registers the environment, and plays an item
"""

from __future__ import annotations

from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.models.wire_sending import messages_to_wire
from toolhop_agents.runs.settings import RunSettings

POOL: list[PlainEnvironments] = []
"""The one of the process: SkyRL makes an environment for each episode."""


class ToolHopEnv(BaseTextEnv):
    """An episode of the row's item."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        """`extras` are the fields of the row."""
        super().__init__()
        self.item = (extras or {})["item"]
        self.max_turns = 20
        self._seat = POOL[0].environment()

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        seen = self._seat.reset(self.item, call_format="text", turn_limit=self.max_turns)
        return messages_to_wire(seen.messages), {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        step = self._seat.step(action)
        return BaseTextEnvStepOutput(
            observations=messages_to_wire(step.observation.messages),
            reward=step.reward,
            done=step.done,
            metadata={"ending": step.ending},
        )

    def close(self) -> None:
        self._seat.close()


def rows(pool: PlainEnvironments) -> list[dict[str, Any]]:
    """A training set: SkyRL takes it as parquet."""
    return [
        {
            "env_class": "toolhop",
            "prompt": [{"role": "user", "content": item.question}],
            "item": item.id,
        }
        for item in pool.items.values()
    ]


def main() -> None:
    """Make a call in an item's episode."""
    import skyrl_gym
    from skyrl_gym.envs.registration import register

    register(id="toolhop", entry_point=ToolHopEnv)
    with PlainEnvironments(RunSettings(data="builtin"), most=2) as pool:
        POOL[:] = [pool]
        row = next(one for one in rows(pool) if one["item"] == "geography-1")
        env = skyrl_gym.make("toolhop", env_config=None, extras=row)
        print(env.init(row["prompt"])[0][-1]["content"])
        call = 'Action: river_capital\nAction Input: {"river": "Mekong", "position": 2}'
        print(env.step(call))
        print(env.step("<answer>42</answer>"))
        env.close()


if __name__ == "__main__":
    main()
