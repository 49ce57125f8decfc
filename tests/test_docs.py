"""The documents say what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolhop_agents.benchmarks import BUILT_IN
from toolhop_agents.cli.options import SECTIONS, options_of
from toolhop_agents.runs.settings import RunSettings

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_help_page_is_what_the_parser_says() -> None:
    # In a process of its own: commands remember the options they were first shown with.
    program = "import runpy; print(runpy.run_path('docs/make_help.py')['text'](), end='')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    page = (ROOT / "docs" / "help.md").read_text(encoding="utf-8")
    assert page == done.stdout, "run `make docs`"


def test_help_names_the_agents_of_every_benchmark() -> None:
    page = (ROOT / "docs" / "help.md").read_text(encoding="utf-8")
    told = page.partition("## toolhop run")[2].partition("--model")[0].replace("-\n", "-")
    words = set(re.findall(r"[\w-]+", re.sub(r"-\s+", "-", told)))
    assert {agent for one in BUILT_IN.values() for agent in one.agents} <= words


def test_help_has_every_flag_of_a_run_under_one_heading() -> None:
    under = [name for names in SECTIONS.values() for name in names]
    assert sorted(under) == sorted({option.name for option in options_of(RunSettings)})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
