"""The files that a page is made of."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from pathlib import Path

from toolhop_agents.report.page import CHART_LIBRARY, SCRIPTS

REPORT = Path(str(files("toolhop_agents.report")))


def test_vendored_files_are_those_that_the_list_names() -> None:
    listed = (REPORT / "vendor" / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (\S+) \|.*`([0-9a-f]{64})` \|$", listed, re.MULTILINE)
    assert {name for name, _ in lines} == set(CHART_LIBRARY)
    for name, digest in lines:
        assert hashlib.sha256((REPORT / "vendor" / name).read_bytes()).hexdigest() == digest
        assert (REPORT / "vendor" / f"{name.partition('.')[0]}.LICENSE").is_file()


def test_every_script_is_part_of_the_page_and_makes_no_markup() -> None:
    found = {path.name for path in (REPORT / "assets").glob("*.js")}
    assert found == {*SCRIPTS, "theme.js"}
    for name in found:
        source = (REPORT / "assets" / name).read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in source, (name, way)
        # A script that named its own end would be cut off there.
        assert "</script" not in source
