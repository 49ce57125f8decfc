"""The documents say what is so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.cli.options import SECTIONS, options_of
from toolhop_agents.runs.settings import RunSettings
from toolhop_tools.benchmarks import OWN

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@cache
def commands() -> str:
    """The page of the commands, made by a process of its own.

    Commands remember the options that they were first shown with.
    """
    program = "import runpy; print(runpy.run_path('docs/generated.py')['commands'](), end='')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout


def test_help_names_the_agents_of_every_benchmark() -> None:
    shown = commands().partition("## toolhop run")[2].partition("--model")[0].replace("-\n", "-")
    words = set(re.findall(r"[\w-]+", re.sub(r"-\s+", "-", shown)))
    assert {agent for name in OWN for agent in binding_of(name).agents} <= words


@pytest.mark.heavy
@pytest.mark.skipif(
    not find_spec("mkdocs") and not os.environ.get("CI"), reason="needs the extra `docs`"
)
def test_the_manual_is_built_without_a_broken_link(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "docs/generated.py"], cwd=ROOT, check=True)
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(mkdocs, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    made = ("commands", "api", "columns", "attacks", "tables", "toolhop-audit")
    assert {f"reference/{name}.html" for name in made} <= pages
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r"<(?:script|img|iframe)[^>]*src=.?(https?:[^>\s]+)", text)
    loaded += re.findall(r"<link[^>]*rel=.?stylesheet[^>]*href=.?(https?:[^>\s]+)", text)
    assert loaded == []
    assert "Resume" in (tmp_path / "search" / "search_index.json").read_text(encoding="utf-8")


def test_help_has_every_flag_of_a_run_under_one_heading() -> None:
    under = [name for names in SECTIONS.values() for name in names]
    assert sorted(under) == sorted({option.name for option in options_of(RunSettings)})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


CODE = re.compile(r"```.*?```|(?<=\n)(?: {4}.*\n)+|`[^`\n]+`", re.DOTALL)
FILES = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.*") if ".venv" not in path.parts}
PACKAGES = ("sandbox/", "env/", "agents/", "")
OF_TODAY = [page for page in PAGES if "decisions" not in page.parts and page.stem != "CHANGELOG"]
"""Pages that say what is; the others say what was."""
LITELLM = Path(next(iter(find_spec("litellm").submodule_search_locations)))  # type: ignore[union-attr, arg-type]
"""Whose modules pages name too."""
EXAMPLES = {"myshop.py", "domain/name.py", "tool.py"}
OF_OTHERS = {
    "--no-deps", "--address", "--num-cpus", "--head", "--help", "--array", "--no-push", "--client",
    "--env", "--fail-on-error", "--rollouts-per-example", "--num-examples", "--epochs-reducer",
    "--no-fail-on-error", "--approval", "--extra-index-url", "--find-links", "--generate",
    "--solver", "--open",
}  # fmt: skip
"""Flags of other programs, such as pip, ray, sbatch and vf-eval."""


def code_of(page: Path) -> str:
    """What a page has as code."""
    return "\n".join(CODE.findall(page.read_text(encoding="utf-8")))


def _is_there(dotted: str) -> bool:
    """Whether a module is, or what a module of ours defines."""
    *parents, last = dotted.split(".")
    for root in PACKAGES:
        path = ROOT / root / "/".join((*parents, last))
        if path.is_dir() or path.with_suffix(".py").is_file():
            return True
        for module in (path.parent.with_suffix(".py"), path.parent / "__init__.py"):
            if module.is_file() and re.search(rf"\b{last}\b", module.read_text("utf-8")):
                return True
    return (
        bool(parents) and len(parents) > 1 and last[:1].islower() and _is_there(".".join(parents))
    )


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.name)
def test_modules_and_files_that_pages_name_are_there(page: Path) -> None:
    code = code_of(page)
    modules = set(
        re.findall(r"\b(?:toolhop_\w+|studies|benchmarks|tests)(?:\.[A-Za-z_]\w*)+", code)
    )
    ours = (one for one in sorted(modules) if not one.endswith((".py", ".md")))
    assert [one for one in ours if not _is_there(one)] == []
    files = set(re.findall(r"[\w./-]*\w\.(?:py|jinja)\b", code))
    written = set(re.findall(r"cat > (\S+)", code))
    named = (one.removeprefix("../") for one in sorted(files - EXAMPLES - written))
    named = (one for one in named if not (LITELLM / one).is_file() and not list(LITELLM.rglob(one)))
    gone = [one for one in named if not any(f"/{have}".endswith(f"/{one}") for have in FILES)]
    assert gone == []


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.name)
def test_flags_that_pages_name_are_flags(page: Path) -> None:
    sources = [path for name in ("benchmarks", "studies") for path in (ROOT / name).glob("*.py")]
    sources += [ROOT / "tests" / "conftest.py"]
    sources += [ROOT / "agents" / "toolhop_agents" / "pytest_plugin.py"]
    said = "\n".join([commands(), *(path.read_text("utf-8") for path in sources)])
    known = OF_OTHERS | set(re.findall(r"--[a-z][\w-]*", said))
    code = [
        one for one in CODE.findall(page.read_text("utf-8")) if "toolhop" in one or one[1] == "-"
    ]
    assert sorted(set(re.findall(r"(?<![\w-])--[a-z][\w-]*", "\n".join(code))) - known) == []


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.name)
def test_commands_that_pages_show_have_the_flags_that_they_are_given(page: Path) -> None:
    _, *sections = commands().split("\n## toolhop ")
    having = {
        name: set(re.findall(r"--[a-z][\w-]*", text))
        for name, _, text in (section.partition("\n") for section in sections)
    }
    code = "\n".join(CODE.findall(page.read_text("utf-8")))
    shown = re.findall(r"^[\s`]*toolhop ([^#|&;`\n]*)", code, re.MULTILINE)
    wrong = []
    for command in shown:
        names = [" ".join(command.split()[:words]) for words in (3, 2, 1)]
        known = next((having[name] for name in names if name in having), None)
        flags = re.findall(r"(?<![\w-])--[a-z][\w-]*", command)
        wrong += [f"toolhop {command}: {flag}" for flag in flags if known and flag not in known]
    assert wrong == []
