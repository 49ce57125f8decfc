"""The tests' own sandbox without processes says what the real ones say of ordinary programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.inline import inline_sandbox
from tests.sandbox import programs
from tests.sandbox.conformance import Box, Small, opened, table
from tests.sandbox.programs import Case

OF_PROCESSES = [*programs.BEYOND_LIMITS, *(c for c in programs.COMPUTING if "zoneinfo" in c.source)]
"""What only a process with limits, that can read few files, answers as it should."""


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with opened(inline_sandbox) as box:
        yield box


class TestInline(Small):
    @table([case for case in programs.ORDINARY if case not in OF_PROCESSES])
    def test_ordinary(self, box: Box, case: Case) -> None:
        case.check(box.play_case(case))

    def test_the_policy_holds(self, box: Box) -> None:
        assert box.play("import os\ndef f():\n    return 1").kind == "refused"
