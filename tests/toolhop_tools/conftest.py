"""What tests of tools share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.toolhop_tools import certifying


@pytest.fixture(scope="session", autouse=True)
def shared_sandboxes() -> Iterator[None]:
    """End what certifying opened."""
    yield
    certifying.SHARED.close()
