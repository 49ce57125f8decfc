"""A server that fails each request alike stops a run soon, and one that is out for a moment not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from toolhop_agents.models.fault_plan import FaultPlan, RequestFault
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.runs.ledger import EQUAL_REQUESTS
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import responder
from toolhop_env.runs.store import RunStore
from toolhop_tools.load import load

DOCS = Path(__file__).parents[2] / "docs"
BROKEN = {"500": RequestFault.SERVER_ERROR, "400": RequestFault.BAD_REQUEST}
ITEMS = 43


def server(*faults: RequestFault) -> LoopbackServer:
    """One whose first requests meet these faults."""
    plan = FaultPlan(sequence=faults)
    return LoopbackServer(responder(load("builtin"), choose("oracle"), 0), faults=plan)


def flags(asked: LoopbackServer, folder: Path, *more: str) -> tuple[str, ...]:
    return (
        "--model", "openai/x", "--base-url", asked.base_url, "--log-dir", str(folder),
        "--sandbox", "process", "--max-samples", "1", *more, "--json",
    )  # fmt: skip


def met(asked: LoopbackServer) -> int:
    return sum(count for kind, count in asked.counts.items() if kind != RequestFault.NONE)


@pytest.mark.parametrize("status", BROKEN)
def test_a_run_stops_where_each_request_fails_alike_and_resumes(
    status: str, tmp_path: Path
) -> None:
    with server(*[BROKEN[status]] * 1000) as asked:
        done = toolhop("run", *flags(asked, tmp_path, "--max-retries", "0"))
        assert met(asked) == EQUAL_REQUESTS
    assert done.returncode == 1
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["status"] == "error"
    assert f"the run failed: SameFault: {EQUAL_REQUESTS} requests in a row" in done.stderr
    assert f"HTTP {status}: " in done.stderr
    with server() as asked:
        again = ("--base-url", asked.base_url)
        refused = toolhop("run", "--resume", answer["run"], *again, "--json")
        assert refused.returncode == 2
    with server() as asked:
        moved = RunStore.open(Path(answer["run"])).manifest
        moved["settings"]["base_url"] = asked.base_url  # the same server, in order again
        (Path(answer["run"]) / "manifest.json").write_text(json.dumps(moved))
        done = toolhop("run", "--resume", answer["run"], "--json")
    assert done.returncode == 0, done.stderr
    whole = json.loads(done.stdout)
    assert (whole["status"], whole["summaries"][0]["episodes"]) == ("success", ITEMS)


def test_retries_count_as_requests_once_they_are_used_up(tmp_path: Path) -> None:
    with server(*[RequestFault.RATE_LIMITED] * 1000) as asked:
        done = toolhop("run", *flags(asked, tmp_path, "--max-retries", "9"))
        assert met(asked) == EQUAL_REQUESTS
    assert f"{EQUAL_REQUESTS} requests in a row" in done.stderr


def test_a_short_outage_is_waited_out(tmp_path: Path) -> None:
    # Half of what stops a run, then a reply, then as much again: never in a row.
    out = [RequestFault.BAD_REQUEST] * (EQUAL_REQUESTS - 1)
    with server(*out, *[RequestFault.NONE] * 12, *out) as asked:
        done = toolhop("run", *flags(asked, tmp_path))
        assert met(asked) == 2 * (EQUAL_REQUESTS - 1)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "success"


def test_a_run_of_which_nothing_has_a_score_is_no_success(tmp_path: Path) -> None:
    with server(*[RequestFault.BAD_REQUEST] * 1000) as asked:
        done = toolhop("run", *flags(asked, tmp_path, "--limit", "2", "--retry-on-error", "0"))
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["status"]) == (1, "error")
    assert "the run failed: all 2 errored: the model could not be asked" in done.stderr
    assert RunStore.open(Path(answer["run"])).manifest["status"] == "error"


def test_an_ablation_stops_as_a_run_does(tmp_path: Path) -> None:
    with server(*[RequestFault.SERVER_ERROR] * 1000) as asked:
        done = toolhop("ablate", *flags(asked, tmp_path, "--max-retries", "0"))
        assert met(asked) == EQUAL_REQUESTS
    assert (done.returncode, json.loads(done.stdout)["status"]) == (1, "error")
    assert f"{EQUAL_REQUESTS} requests in a row" in done.stderr


def test_the_docs_state_the_number() -> None:
    assert f"{EQUAL_REQUESTS} requests in a row" in (DOCS / "runs.md").read_text(encoding="utf-8")
