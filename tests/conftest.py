"""What tests of several rooms share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"
"""Public benchmark data beside the project, read-only; see its README."""


@pytest.fixture(scope="session")
def toolhop_60() -> Path:
    """60 rows of ToolHop's official file."""
    path = SHARED / "toolhop" / "ToolHop-60.json"
    if not path.exists():
        pytest.skip(f"benchmark data is not there: {path}")
    return path


@pytest.fixture(scope="session")
def docker_engine() -> None:
    """A running Docker engine; without one the test is skipped, and fails under CI."""
    from sandbox.containers import connect
    from sandbox.errors import SandboxUnavailable

    try:
        connect().close()
    except SandboxUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have a Docker engine: {error}")
        pytest.skip(f"no Docker engine: {error.message}")


@pytest.fixture(scope="session")
def chromium() -> tuple[str, str]:
    """Paths of Chromium and its driver; without them the test is skipped, and fails under CI."""
    found = (shutil.which("chromium"), shutil.which("chromedriver"))
    if found[0] is None or found[1] is None:
        missing = "no Chromium: install the packages chromium and chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(f"CI must have a browser: {missing}")
        pytest.skip(missing)
    return found[0], found[1]
