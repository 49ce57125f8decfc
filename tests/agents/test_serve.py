"""`toolhop serve` as a provider: replies state their tokens, so that limits and prices bite."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agents.command import TOOLHOP, toolhop
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import TOKEN_BYTES, metered, responder
from toolhop_env.messages import RawCall, Reply, UserMessage
from toolhop_tools.load import load

pytestmark = pytest.mark.usefixtures("inline_module")


@contextmanager
def here(agent: str, capacity: int | None = None) -> Iterator[str]:
    """The address of what the command serves, in this process."""
    answer = metered(responder(load("builtin"), choose(agent), 0))
    with LoopbackServer(answer, capacity=capacity) as server:
        yield server.base_url


def test_the_command_serves_until_it_is_interrupted() -> None:
    # A process that is started in the background ignores interrupts until it is told otherwise.
    heeds = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [*TOOLHOP[:2], heeds + TOOLHOP[2], "serve", "--agent", "oracle"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        listed = httpx.get(f"{url}/models", trust_env=False).json()
        server.send_signal(signal.SIGINT)
        _, err = server.communicate()
    assert [one["id"] for one in listed["data"]] == ["loopback"]
    assert (server.returncode, err) == (0, "served nothing\n")


def run(url: str, log_dir: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    where = ("--model", "openai/scripted", "--base-url", url, "--log-dir", str(log_dir))
    how = ("--sandbox", "process", "--turn-limit", "20", "--json")
    done = toolhop("run", *where, *how, *flags, env={**os.environ, "OPENAI_API_KEY": "none"})
    assert "Traceback" not in done.stderr, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, answer


def test_limits_and_prices_hold_against_a_served_agent(tmp_path: Path) -> None:
    with here("repairing:0.3") as url:
        code, whole = run(url, tmp_path, "--limit", "2", "--price", "1,10")
        assert code == 0
        (figures,) = whole["summaries"]
        asked, said = figures["input_tokens"], figures["output_tokens"]
        assert min(asked, said) > 0
        assert abs(figures["cost_usd"] - (asked + 10 * said) / 1e6) < 1e-9
        code, cut = run(url, tmp_path, "--limit", "2", "--run-token-limit", "2000")
        assert (code, cut["status"], cut["stopped_by"]) == (1, "limited", "run_token_limit")
        code, cut = run(url, tmp_path, "--limit", "2", "--token-limit", "2000")
        assert code == 0
        assert cut["summaries"][0]["endings"] == {"out_of_tokens": 2}


def test_a_server_of_little_capacity_is_waited_for(tmp_path: Path) -> None:
    with here("oracle", capacity=1) as url:
        code, whole = run(url, tmp_path, "--limit", "6", "--max-samples", "6")
    assert code == 0
    assert whole["summaries"][0]["strict"]["value"] == 1


def test_tokens_are_counted_by_bytes() -> None:
    reply = Reply("four", (RawCall("1", "tool", "{}é"),))
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}], "model": "m"}
    answered = metered(lambda _: reply)(Request((UserMessage("hello"),), (), "m", body))
    asked = json.dumps({"messages": body["messages"], "tools": None})
    assert answered.usage.input_tokens == -(-len(asked) // TOKEN_BYTES)
    assert answered.usage.output_tokens == 3  # 4 + 4 + 4 bytes
    assert (answered.content, answered.calls) == (reply.content, reply.calls)
