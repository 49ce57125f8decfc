"""The policy's tests are shown to see: each guard that is off is noticed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.attacks import sabotage_policy

Results = dict[str, list[str]]


@pytest.fixture(scope="module")
def results() -> Results:
    command = [sys.executable, "-m", sabotage_policy.__name__]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    found: Results = json.loads(out.stdout)
    return found


def test_the_whole_policy_stops_all_probes(results: Results) -> None:
    assert results["nothing"] == []
    assert results.keys() - {"nothing"} == sabotage_policy.sabotages().keys()


@pytest.mark.parametrize("guard", sabotage_policy.sabotages())
def test_a_guard_that_is_off_is_noticed(results: Results, guard: str) -> None:
    assert results[guard]
