"""The environment that Gymnasium makes by its id: the checker, vectors, and the scores of a run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.played import run_scores
from tests.adapters.test_examples import played
from toolhop_agents.environment.core import NothingInPlay
from toolhop_tools.errors import BadChoice

gymnasium = pytest.importorskip("gymnasium", reason="needs gymnasium: make test-adapters")
pytestmark = pytest.mark.heavy
ID = "toolhop_agents.adapters.gymnasium_env:toolhop/Text-v0"


@pytest.fixture
def env() -> Iterator[Any]:
    made = gymnasium.make(ID, sandbox="process")
    yield made
    made.close()


def test_the_checker_passes(env: Any) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(env.unwrapped, skip_render_check=True)


def test_the_scores_of_a_run(env: Any, tmp_path: Path) -> None:
    def step(action: str) -> tuple[str, float, bool]:
        seen, worth, over, truncated, _ = env.step(action)
        assert env.observation_space.contains(seen)
        return seen, worth, over or truncated

    for item, score in run_scores(tmp_path, limit="8", call_format="text").items():
        first, _ = env.reset(options={"item": item})
        assert played(item, first, step) == score.value("strict"), item


def test_the_components_of_a_reward_are_in_the_info() -> None:
    env = gymnasium.make(ID, sandbox="process", weights={"official": 1, "failed_call": -0.5})
    env.reset(options={"item": "geography-1"})
    wrong = "Thought: go\nAction: no_such_tool\nAction Input: {}"
    _, reward, _, _, told = env.step(wrong)
    assert (reward, told["only_failed"]) == (-0.5, True)
    assert told["components"] == {"milestones": 0, "failed_call": 1}
    _, reward, _, _, told = env.step("<answer>none</answer>")
    assert (reward, told["only_failed"]) == (0, False)
    assert told["components"].items() >= {"official": 0, "strict": 0, "hops_solved": 0}.items()
    env.close()


def test_a_vector_of_them_has_one_sandbox() -> None:
    from toolhop_agents.adapters import gymnasium_env

    vector = gymnasium.make_vec(ID, num_envs=3, sandbox="process", weights={"strict": 2})
    seen, told = vector.reset(seed=1)
    assert len(seen) == 3
    assert len(gymnasium_env._POOLS) == 1
    _, rewards, over, _, told = vector.step(("<answer>none</answer>",) * 3)
    assert (list(rewards), list(over)) == ([0.0] * 3, [True] * 3)
    assert list(told["ending"]) == ["answered"] * 3
    assert list(told["components"]["strict"]) == [0.0] * 3
    vector.close()
    assert not gymnasium_env._POOLS


def test_an_environment_in_each_process() -> None:
    vector = gymnasium.make_vec(
        ID, num_envs=2, vectorization_mode="async", vector_kwargs={"shared_memory": False},
        sandbox="process",
    )  # fmt: skip
    seen, _ = vector.reset(seed=1)
    assert len(set(seen)) == 2
    vector.close()


def test_a_process_ends_though_nobody_closed_it() -> None:
    code = f"import gymnasium; gymnasium.make({ID!r}, sandbox='process').reset(); print('end')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("end\n", 0), done.stderr


def test_what_is_refused(env: Any) -> None:
    with pytest.raises(BadChoice, match="there is no setting 'dta'"):
        gymnasium.make(ID, dta="builtin")
    with pytest.raises(BadChoice, match="replies are texts here"):
        gymnasium.make(ID, call_format="native")
    env.reset()
    with pytest.raises(BadChoice, match="there is no item"):
        env.reset(options={"item": "none"})
    env.reset()
    env.step("<answer>none</answer>")
    with pytest.raises(NothingInPlay):
        env.step("<answer>none</answer>")
