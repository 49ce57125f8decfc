"""One browser, and one page with one of each thing that a reader may meet, for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.agents.command import toolhop
from tests.report.browser import Page, started
from tests.report.made import SLIP, SOLVED, Script, write_run
from tests.report.texts import BIG, HEBREW, HOSTILE, LONG_WORD, TURNING
from toolhop_agents.ablate.design import Ablation
from toolhop_agents.ablate.folder import AblationFolder
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.feedback import Level
from toolhop_env.messages import Usage
from toolhop_env.trace import Ending


def scripts() -> list[Script]:
    """One of each that a reader may meet."""
    parent = Script("fork", turns=SLIP, answer="<answer>16</answer>")
    branch = replace(
        parent,
        name="fork-branch",
        parent=parent.episode,
        kept=2,
        level=Level.MINIMAL,
        epoch=2,
    )
    calls = [("capital", BIG, '{"a": [1, 2], "b": "' + "y" * 100 + '"}'), (HOSTILE, HOSTILE, "1")]
    lone = r'{"half": "\ud800"}'
    return [
        Script("alpha", turns=SOLVED, usage=Usage(100, 20, 0.002)),
        Script("beta", turns=SLIP, answer="<answer>5</answer>"),
        Script("gamma", turns=SOLVED, mode="free"),
        parent,
        replace(branch, answer="<answer>unknown</answer>"),
        Script("hostile", turns=[(HOSTILE, calls), (TURNING, [("length", lone, lone)])]),
        Script("hebrew", turns=[(HEBREW, [])], question=HEBREW, gold=HEBREW, answer=HEBREW),
        Script("wide", turns=[(LONG_WORD, [(LONG_WORD, LONG_WORD, "1")])], answer=LONG_WORD),
        Script("long", turns=[("On. " * 80, [("length", BIG, "4")])] * 40),
        Script("lost", ending=Ending.ERRORED, reason="the endpoint did not answer"),
        Script("open", turns=SOLVED[:1], ending=None),
    ]


@pytest.fixture(scope="session")
def driver(chromium: tuple[str, str]) -> Iterator[Chrome]:
    with started(chromium) as made:
        yield made


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, made by the command."""
    folder = write_run(tmp_path_factory.mktemp("runs"), scripts(), status="started")
    out = tmp_path_factory.mktemp("out") / "a report.html"
    done = toolhop("report", str(folder), "--out", str(out), "--title", f"A {HOSTILE}")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{out}  {out.stat().st_size:,} bytes, 11 episodes, 1 unfinished" in done.stdout
    return out


@pytest.fixture(scope="session")
def ablation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ablation of two levels, forked from three episodes of which one has no failed call."""
    log_dir = tmp_path_factory.mktemp("ablation")
    asked = Ablation(base=RunSettings(modes=("mandatory",), log_dir=log_dir))
    folder = AblationFolder.create(asked.checked())
    answers = {"detailed": "<answer>16</answer>", "minimal": "<answer>5</answer>"}
    for arm in asked.arms:
        level = Level(arm.level)
        failing = [
            Script(item, turns=SLIP, level=level, answer=answers[level]) for item in ("a", "b")
        ]
        if arm.prefix:
            parents = [f"{arm.prefix}/{one.episode}" for one in failing]
            name = f"{arm.prefix}-then-{arm.level}"
            write_run(
                folder.path,
                [replace(s, parent=p, kept=3) for s, p in zip(failing, parents, strict=True)],
                name=name,
            )
        else:
            whole = [*failing, Script("c", turns=SOLVED, level=level)]
            write_run(folder.path, whole, name=arm.name)
    return folder.path


@pytest.fixture
def page(driver: Chrome, file: Path) -> Page:
    return fresh(driver, file)


def fresh(driver: Chrome, file: Path) -> Page:
    """A page in the browser as it was at its start."""
    made = Page(driver, file)
    made.prefer("light")
    made.resize(1300, 900)
    return made
