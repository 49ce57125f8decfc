"""Tables in terminals of several widths: as they are stored, and no line is wider.

After a change that is meant, `python -m tests.agents.tables` stores the texts anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.tables import COMMANDS, WIDTHS, stored, texts

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_are_as_they_are_stored(width: int, tmp_path: Path) -> None:
    wanted = stored(width).read_text(encoding="utf-8")
    for made in texts(tmp_path, width):
        assert made in wanted, made


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_in_a_table_is_cut(width: int) -> None:
    text = stored(width).read_text(encoding="utf-8")
    assert [line[2:] for line in text.splitlines() if line.startswith("$ ")] == [
        f"toolhop {command}" for command in COMMANDS
    ]
    for line in text.splitlines():
        # Paths and counter-examples are for copying: a line end within would spoil them.
        if not line.startswith(("$ ", " ")) and "::" not in line:
            assert len(line) <= width, line
            assert "…" not in line
