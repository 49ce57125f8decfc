"""Flags that say how a model is asked mean nothing without one: they are refused, never ignored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.agents.command import toolhop
from tests.agents.test_flags import flags
from toolhop_agents.adapters.options import OF_THE_MODEL
from toolhop_agents.cli.options import SECTIONS
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.runs.flags import Flag, flag_name
from toolhop_agents.runs.parameters import SET_OTHERWISE, request_parameters
from toolhop_agents.runs.settings import GOES_WITH, OF_REQUESTS, RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import responder
from toolhop_tools.load import load

ABOUT_MODELS = ("base-url", "price", "temperature", "max-tokens", "max-retries", "votes")
"""Words in the names of flags of whoever is asked, also where they are no settings of a run."""
NEEDED = {
    "construct from-domain": ("D", "--model", "openai/x", "--items", "1", "--dry-run"),
    "construct nested from-domain": ("D", "--model", "openai/x", "--items", "1", "--dry-run"),
    "certify": ("--data", "builtin"),
}
"""What else a command needs to come as far."""


def options() -> Iterator[tuple[str, click.Option]]:
    """All flags of a model in the tree of commands, with their commands.

    The --timeout of `check` and `call` is a tool's. A folder that is resumed says whether there
    is a model (`tests.agents.test_why`); every folder of made items has one. `align` writes for a
    model to train, and its `sample` needs a model (`tests.agents.test_align`).
    """
    for path, flag in flags():
        named = any(word in flag.opts[0] for word in ABOUT_MODELS)
        apart = path in {"check", "call", "construct resume", "why"} or path.startswith("align ")
        if not apart and (flag.name in GOES_WITH or named):
            yield path, flag


FLAGS = [
    (path, flag) for path, flag in options()
    # Of the model that `construct` always has.
    if not (path.startswith("construct") and (path not in NEEDED or flag.name in {
        "base_url", "price", "temperature", "max_tokens", "max_retries", "timeout_s", "cache"}))
]  # fmt: skip


def value(option: click.Option) -> str:
    match option.type:
        case click.Choice(choices=choices):
            return str(choices[-1])
        case click.IntRange(min=least) | click.FloatRange(min=least):
            return str(max(int(least or 0), 2))
        case _:
            texts = {"price": "1,2", "request_options": "top_p=1", "chat_template": "chatml"}
            name = str(option.name)
            kind = "price" if "price" in name else name
            return texts.get(kind, "http://127.0.0.1:9/v1" if "url" in name else "5")


def test_the_tree_has_the_flags_that_settings_name() -> None:
    assert {one.name for name, one in FLAGS if name == "run"} == set(GOES_WITH)
    assert {"run", "ablate", "serve", "certify", *NEEDED} <= {path for path, _ in FLAGS}
    assert set(SECTIONS["Requests to the model"]) == set(OF_REQUESTS) <= OF_THE_MODEL


@pytest.mark.parametrize(("command", "option"), FLAGS, ids=lambda one: getattr(one, "name", one))
def test_a_flag_of_a_model_is_refused_without_one(
    command: str, option: click.Option, tmp_path: Path
) -> None:
    flag = option.opts[0]
    done = toolhop(*command.split(), *NEEDED.get(command, ()), flag, value(option), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert flag in done.stderr.splitlines()[0]
    assert "add it" in done.stderr or "goes with" in done.stderr or "give" in done.stderr
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("place", ["file", "variable", "agent", "dry run"])
@pytest.mark.parametrize("command", ["run", "ablate"])
def test_wherever_it_comes_from(command: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('base-url = "http://127.0.0.1:9/v1"\n')
    flags, env = [], {"TOOLHOP_RUN_LIMIT": "1"}
    match place:
        case "file":
            flags = ["--config", "run.toml"]
        case "variable":
            env[f"TOOLHOP_{command.upper()}_BASE_URL"] = "http://127.0.0.1:9/v1"
        case "agent":
            flags = ["--agent", "do-nothing", "--base-url", "http://127.0.0.1:9/v1"]
        case _:
            flags = ["--temperature", "0"] + ["--dry-run"] * (command == "run")
    done = toolhop(command, *flags, cwd=tmp_path, env=env)
    assert done.returncode == 2
    agent = "do-nothing" if place == "agent" else "oracle"
    assert f"goes with --model: add it, or leave this out (the agent {agent} is" in done.stderr


@pytest.mark.heavy
@pytest.mark.usefixtures("inline_module")
def test_the_default_agent_is_told_first(tmp_path: Path) -> None:
    common = ("--limit", "1", "--sandbox", "process")
    for command in (["run"], ["run", "--dry-run"], ["ablate", "--levels", "detailed,minimal"]):
        done = toolhop(*command, *common, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("agent: oracle, which is scripted")
        named = toolhop(*command, *common, "--agent", "oracle", cwd=tmp_path)
        assert "agent: oracle, which" not in named.stderr
    folders = (tmp_path / "logs").glob("*_oracle")
    one = next(folder for folder in folders if "ablate" not in folder.name)
    assert "agent: oracle, which" not in toolhop("run", "--resume", str(one)).stderr
    done = toolhop("run", "--resume", str(one), "--timeout", "5")
    assert (done.returncode, "--timeout goes with --model" in done.stderr) == (2, True)


@pytest.mark.heavy
@pytest.mark.usefixtures("inline_module")
def test_a_cache_goes_with_a_judge_too(tmp_path: Path) -> None:
    with LoopbackServer(responder(load("builtin"), choose("oracle"), 0)) as server:
        done = toolhop(
            "run", "--limit", "1", "--sandbox", "process", "--cache", "cache", "--judge",
            "openai/x", "--judge-base-url", server.base_url, cwd=tmp_path,
        )  # fmt: skip
    assert "goes with" not in done.stderr


# --- request options -------------------------------------------------------------------------


@pytest.mark.parametrize("name", SET_OTHERWISE)
def test_an_option_that_is_set_otherwise_is_refused(name: str) -> None:
    done = toolhop("run", "--model", "anthropic/x", "--request-option", f"{name}=1", "--dry-run")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"toolhop: --request-option {name}: {SET_OTHERWISE[name]}"


def test_every_setting_of_requests_is_among_them() -> None:
    for name in ("model", "base_url", "seed", *OF_REQUESTS):
        flag = next(
            (one.names[0] for one in RunSettings.model_fields[name].metadata
             if isinstance(one, Flag) and one.names), flag_name(name)
        )  # fmt: skip
        assert f"use {flag}" == SET_OTHERWISE[name] or name == "request_options"


def test_other_options_pass() -> None:
    given = ("top_p=0.9", 'chat_template_kwargs={"enable_thinking": false}', 'thinking={"a": 1}')
    parameters = request_parameters(RunSettings(model="openai/x", request_options=given))
    assert parameters == {
        "top_p": 0.9, "chat_template_kwargs": {"enable_thinking": False}, "thinking": {"a": 1},
    }  # fmt: skip
