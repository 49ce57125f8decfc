"""`import toolhop`: what a script or a notebook uses."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import toolhop
from tests.waiting import CEILING_S
from toolhop_agents.prompts import TemplateError
from toolhop_tools.errors import BadChoice


def test_every_public_name_is_there_and_imported_only_when_used() -> None:
    assert 35 <= len(toolhop.__all__) <= 50
    assert all(getattr(toolhop, name) is not None for name in toolhop.__all__)
    assert dir(toolhop) == toolhop.__all__
    heavy = "{'pydantic', 'rich', 'anyio', 'docker', 'numpy'}"
    code = f"import sys, toolhop; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'episode'; it has"):
        toolhop.episode  # noqa: B018 -- the name is what is tried


def test_a_run_gives_its_table_and_its_values(tmp_path: Path) -> None:
    results = toolhop.run(limit=2, sandbox="process", log_dir=tmp_path, modes=("mandatory", "free"))
    assert (results.status, results.fault) == ("success", "")
    assert results.folder.parent == tmp_path
    assert {attempt.mode for attempt in results.attempts} == {"mandatory", "free"}
    assert results.value("strict", "free") == 1.0
    assert "oracle" in repr(results)
    assert str(results.folder) in repr(results)
    assert results._repr_html_().startswith("<pre>")
    assert toolhop.opened(results.folder).attempts == results.attempts


def test_settings_take_a_count_as_the_command_does(tmp_path: Path) -> None:
    limit: Any = 2
    settings = toolhop.RunSettings(limit=limit, sandbox="process", log_dir=tmp_path)
    assert settings == toolhop.RunSettings(limit="2", sandbox="process", log_dir=tmp_path)
    assert len(toolhop.run(settings).attempts) == 2


@pytest.mark.parametrize(
    ("measure", "mode", "message"),
    [
        ("strict", "", "this run has the modes free, mandatory: name one of them"),
        ("strict", "direct", "this run has the modes"),
        ("right", "free", "there is no measure 'right'; there are strict, official"),
    ],
)
def test_a_value_that_is_not_there(measure: str, mode: str, message: str, tmp_path: Path) -> None:
    settings = toolhop.RunSettings(
        limit="1", sandbox="process", log_dir=tmp_path, modes=("mandatory", "free")
    )
    with pytest.raises(ValueError, match=message):
        toolhop.run(settings).value(measure, mode)


def test_wrong_options_are_refused_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'--limits'.*'--limit'"):
        toolhop.run(limits=3)
    with pytest.raises(ValueError, match="resume is for the command line alone"):
        toolhop.run(resume=tmp_path)
    with pytest.raises(ValueError, match="there is no feedback level 'zz'"):
        toolhop.run(feedback="zz")
    with pytest.raises(TemplateError, match=r"the template nosuch\.txt cannot be read"):
        toolhop.run(template="nosuch.txt")
    with pytest.raises(ValueError, match="not both: data"):
        toolhop.run(toolhop.RunSettings(), data="builtin")
    with (
        pytest.raises(toolhop.ToolsError, match="no item 'geography-0'"),
        toolhop.play("geography-0"),
    ):
        pass
    none: Any = "none"
    with pytest.raises(BadChoice, match="none of auto"), toolhop.play("geography-1", sandbox=none):
        pass
    number: Any = 3
    with pytest.raises(BadChoice, match="an item or its id"), toolhop.play(number):
        pass
    with pytest.raises(toolhop.StoreError):
        toolhop.opened(tmp_path)
    with pytest.raises(toolhop.StoreError):
        toolhop.RunStore.open(str(tmp_path))


def test_options_of_a_run_are_those_of_the_command(tmp_path: Path) -> None:
    template = tmp_path / "prompt.txt"
    template.write_text("Use the tools. {question}")
    results = toolhop.run(
        sample_id=["geography-1", "geography-2"],
        mode="mandatory,free",
        tools="names=scrambled",
        template=template,
        answer_malformed=True,
        single_shot=False,
        sandbox="process",
        log_dir=tmp_path,
    )
    settings = results.store.manifest["settings"]
    assert len(results.attempts) == 4
    assert settings["template"].startswith("Use the tools")
    assert settings["perturbation"] == "names=scrambled"
    assert settings["answer_malformed"]
    assert not settings["single_shot"]


def test_an_episode_is_played_by_hand() -> None:
    (item,) = [item for item in toolhop.load("builtin").items if item.id == "geography-1"]
    with toolhop.play(item.id, sandbox="process") as episode:
        assert episode.question == item.question
        gold = item.hops[0].gold
        assert gold is not None
        step = episode.call(item.hops[0].tool.name, **gold.arguments)
        assert step.calls[0].outcome is not None
        verdict = episode.answer(item.answer)
        assert isinstance(verdict, toolhop.Score)
        assert verdict.value("strict") == 1


def test_a_run_within_a_running_loop_as_in_a_notebook(tmp_path: Path) -> None:
    async def cell() -> toolhop.Results:
        return toolhop.run(limit=1, sandbox="process", log_dir=tmp_path)

    assert asyncio.run(cell()).value("strict") == 1.0


def test_an_interrupt_of_a_notebook_ends_the_run_and_keeps_what_is_finished(tmp_path: Path) -> None:
    code = (
        "import asyncio, toolhop\n"
        "async def cell():\n"
        f"    toolhop.run(limit=40, epochs=200, sandbox='process', log_dir={str(tmp_path)!r})\n"
        "asyncio.new_event_loop().run_until_complete(cell())\n"  # as notebooks do
    )
    played = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.rglob("*.jsonl*")) or sum(1 for _ in tmp_path.rglob("*")) < 12:
        assert played.poll() is None, played.communicate()[1]
        time.sleep(0.05)
    os.kill(played.pid, signal.SIGINT)
    _, errors = played.communicate(timeout=CEILING_S)
    assert played.returncode != 0
    assert "KeyboardInterrupt" in errors
    (folder,) = tmp_path.iterdir()
    results = toolhop.opened(folder)
    assert any(isinstance(attempt.verdict, toolhop.Score) for attempt in results.attempts)
