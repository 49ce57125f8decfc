"""How far something has come, as it is reported while it goes on."""

from __future__ import annotations

import io

from rich.console import Console

from toolhop_agents.cli.progress import Steps


def told(*, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100)
    with Steps(console, "[episodes]", 3) as shown:
        for name in "abc":
            shown.step(name)
    return out.getvalue()


def test_a_terminal_has_a_bar_with_the_count() -> None:
    assert "3/3" in told(terminal=True)
    assert "[episodes]" in told(terminal=True)


def test_a_file_has_nothing_from_what_is_done_at_once() -> None:
    assert told(terminal=False) == ""
