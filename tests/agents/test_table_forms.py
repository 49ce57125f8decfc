"""Tables in forms that other programs read, and a run in sentences for a paper."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # its types are a package of their own
from click.testing import CliRunner
from markdown_it import MarkdownIt

from tests.agents.command import toolhop
from toolhop_agents.cli import COMMANDS, root
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table_forms import Form, written
from toolhop_tools.certify.file import read
from toolhop_tools.certify.model import VERSION, HopVerdict

ROOT = Path(__file__).parents[2]
CERTIFICATES = ROOT / "toolhop_tools" / "builtin" / "certificates.jsonl"


def table() -> StackedTable:
    made = StackedTable("agent", "scorer", title="Shares & more", keys=1)
    made.add_columns("share", right=True)
    made.add_row("a|b_1", 'says "x, y"', "50 ± 1")
    made.add_row("", "100% <1", "-")
    return made


def test_csv_is_read_back_and_a_key_stands_in_each_row() -> None:
    title, *lines = written(table(), Form.CSV).splitlines()
    assert title == "# Shares & more"
    assert list(csv.reader(lines)) == [
        ["agent", "scorer", "share"],
        ["a|b_1", 'says "x, y"', "50 ± 1"],
        ["a|b_1", "100% <1", "-"],
    ]


def test_markdown_is_read_as_a_table_of_the_same_cells() -> None:
    parsed = MarkdownIt("commonmark").enable("table").parse(written(table(), Form.MARKDOWN))
    cells = [one.content for before, one in pairwise(parsed)
             if before.type in ("th_open", "td_open")]  # fmt: skip
    assert cells[:3] == ["agent", "scorer", "share"]
    assert cells[3:] == ["a|b_1", 'says "x, y"', "50 ± 1", "a|b_1", "100% <1", "-"]


def test_latex_escapes_what_latex_reads() -> None:
    lines = written(table(), Form.LATEX).splitlines()
    assert lines[0] == "% Shares & more"
    assert lines[1] == r"\begin{tabular}{llr}"
    assert lines[5] == r'a|b\_1 & says "x, y" & 50 $\pm$ 1 \\'
    assert lines[6] == r"a|b\_1 & 100\% $<$1 & - \\"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logs = tmp_path_factory.mktemp("logs")
    done = toolhop("run", "--limit", "2", "--sandbox", "process", "--log-dir", str(logs))
    assert done.returncode == 0, done.stderr
    (folder,) = logs.iterdir()
    return folder


def test_figures_of_a_run_come_as_csv(run: Path) -> None:
    done = toolhop("score", str(run), "--format", "csv")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert ["agent", "scorer"] in [row[:2] for row in rows]
    assert ["oracle", "strict"] in [row[:2] for row in rows]
    assert ["oracle", "official"] in [row[:2] for row in rows]
    assert "─" not in done.stdout
    refused = toolhop("score", str(run), "--format", "csv", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "leave out --json or --format" in refused.stderr


def test_a_run_is_told_in_sentences_with_its_versions_and_settings(run: Path) -> None:
    told = toolhop("explain", str(run), "--methods").stdout
    facts = json.loads((run / "manifest.json").read_bytes())
    assert told.startswith("2 of the 43 items of builtin (ToolHop; SHA-256 of the data ")
    for part in (
        facts["data"]["digest"][:16],
        f"toolhop-env {facts['versions']['toolhop-env']}",
        "The scripted agent oracle, which asks no model",
        "at most 9 turns, seed 0",
        "detailed feedback",
        "Tools ran in a sandbox (process, Python",
        "2 episodes were finished; 0 ended in a fault",
    ):
        assert part in told, part
    assert "None" not in told
    assert "none" not in told


def test_certificates_are_told_in_sentences_with_the_search() -> None:
    told = toolhop("explain", str(CERTIFICATES), "--methods").stdout
    proven = sum(one.verdict is HopVerdict.PROVEN for one in read(CERTIFICATES))
    for part in (
        f"`toolhop certify` (version {VERSION} of its search, seed 0)",
        "gold answers of 43 items",
        "at most 300 calls a hop of 2 s and 256 MiB each, policy restricted",
        f"{proven} proven, ",
    ):
        assert part in told, part


def test_every_setting_that_is_not_the_default_is_told(tmp_path: Path) -> None:
    done = toolhop("run", "--limit", "1", "--sandbox", "process", "--log-dir", str(tmp_path),
                   "--call-limit", "7", "--turn-limit", "5", "--answer-malformed")  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.iterdir()
    told = toolhop("explain", str(folder), "--methods").stdout
    assert "at most 5 turns" in told
    assert "Other settings that are not the defaults: answer_malformed yes; call_limit 7." in told


def test_the_arms_of_an_ablation_share_a_paragraph_with_its_statistics(tmp_path: Path) -> None:
    done = toolhop("ablate", "--limit", "2", "--agent", "repairing:0.5", "--sandbox", "process",
                   "--log-dir", str(tmp_path))  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.iterdir()
    told = toolhop("explain", str(folder), "--methods").stdout
    assert "detailed or minimal feedback" in told
    assert "Episodes were forked where the levels begin to differ " in told
    assert "The arms are detailed, " in told
    assert "exact McNemar test" in told


def test_what_writes_tables_has_the_flag() -> None:
    """Each command that has results as JSON and prints tables of them."""
    having = {
        name for name in COMMANDS
        if "--format" in CliRunner().invoke(root, [name, "--help"]).output
    }  # fmt: skip
    assert {"run", "score", "compare", "ablate", "explain", "perturb", "certify"} <= having


def test_the_citation_file_names_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()


def test_a_full_disk_behind_the_output_is_told_in_a_line(run: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolhop_agents", "score", str(run)],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "toolhop: the output cannot be written: no space is left where it goes"
    ]


def test_a_width_of_zero_columns_is_none(run: Path) -> None:
    assert "strict" in toolhop("score", str(run), env={**os.environ, "COLUMNS": "0"}).stdout
