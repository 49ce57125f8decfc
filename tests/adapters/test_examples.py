"""The example for SkyRL's gym plays to the scores of `toolhop run`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.adapters.played import run_scores, said
from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.messages import AssistantMessage, Message, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_tools.load import load

pytestmark = pytest.mark.heavy
BUILTIN = load("builtin")
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pool() -> Iterator[PlainEnvironments]:
    with PlainEnvironments(RunSettings(data="builtin", sandbox="process"), most=3) as opened:
        yield opened


def played(item: str, first: str, step: Callable[[str], tuple[str, float, bool]]) -> float:
    """The rewards' sum of a scripted agent that sees texts and writes texts."""
    conversation: list[Message] = [UserMessage(first)]
    total, over = 0.0, False
    while not over:
        reply = said(BUILTIN.by_id[item], conversation, [], CallFormat.TEXT)
        seen, worth, over = step(reply.content)
        conversation += [AssistantMessage(reply.content), UserMessage(seen)]
        total += worth
    return total


def test_skyrl_gym(pool: PlainEnvironments, tmp_path: Path) -> None:
    skyrl_gym = pytest.importorskip("skyrl_gym", reason="needs skyrl-gym: make test-adapters")
    from skyrl_gym.envs.registration import register

    made = example("skyrl_env")
    made.POOL[:] = [pool]
    register(id="toolhop", entry_point=made.ToolHopEnv)
    rows = {row["item"]: row for row in made.rows(pool)}
    expected = run_scores(tmp_path, limit="8", call_format="text", turn_limit=20)
    for item, score in expected.items():
        env = skyrl_gym.make("toolhop", env_config=None, extras=rows[item])
        prompt, _ = env.init(rows[item]["prompt"])

        def step(action: str, env: Any = env) -> tuple[str, float, bool]:
            found = env.step(action)
            seen = "\n\n".join(one["content"] for one in found["observations"])
            return seen, found["reward"], found["done"]

        first = "\n\n".join(one["content"] for one in prompt)
        assert played(item, first, step) == score.value("strict"), item
        env.close()
