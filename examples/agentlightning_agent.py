"""Items as rollouts of Agent Lightning 1.0 (Python 3.12). Needs `pip install .
agentlightning`.

Its gateway stands between agent and model and captures what is said, so the agent is a plain run of
one item with the gateway as base URL. A rollout names this class and its item:

    {"input": {"item": "geography-1"},
     "config": {"local": {"agent_class": "agentlightning_agent:ToolHopAgent",
                          "env_map": {"TOOLHOP_ITEM": "input.item"}}}}

Start `agl-server` and, with this folder on PYTHONPATH, `agl-controller runner_type=local`.
"""

from __future__ import annotations

import os
from pathlib import Path

import httpx

from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.score import Errored


class ToolHopAgent:
    """Plays the rollout's item and reports what it was worth."""

    async def run(self) -> None:
        key = os.environ["AGL_KEY"] or "none"
        os.environ["OPENAI_API_KEY"] = key
        settings = RunSettings(
            data=os.environ.get("TOOLHOP_DATA", "builtin"),
            sample_ids=(os.environ["TOOLHOP_ITEM"],),
            model="openai/policy",  # the gateway asks its own model, whatever the name
            base_url=os.environ["AGL_OPENAI_BASE_URL"],
            sandbox=os.environ.get("TOOLHOP_SANDBOX", "auto"),
            log_dir=Path(os.environ.get("TOOLHOP_LOGS", "logs")),
        )
        (attempt,) = (await execute(settings)).attempts
        if isinstance(attempt.verdict, Errored):  # the rollout failed, and has no reward
            raise RuntimeError(attempt.verdict.reason)  # noqa: TRY004
        event = {
            "event_type": "reward",
            "data": {"value": attempt.verdict.value("strict"), "source": "agent"},
        }
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as client:
            (await client.post(os.environ["AGL_EVENT_URL"], json=event)).raise_for_status()
