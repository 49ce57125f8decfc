"""Settings as other harnesses give them."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolhop_agents.adapters.options import OF_A_RUN, OF_THE_MODEL, named, settings_of
from toolhop_agents.adapters.shared import pool_of
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.feedback import Level
from toolhop_env.reading import CallFormat
from toolhop_tools.errors import BadChoice


def test_names_and_values_as_on_the_command_line() -> None:
    found = settings_of(
        {
            "data": "builtin", "mode": "free", "feedback": "minimal", "turn-limit": 3,
            "tools": "names=scrambled+distractors=5", "call_format": "text",
            "limit": 10, "sample_id": ["a", "b"], "tool_timeout": 2.5, "single_shot": False,
            "seed": None,
        },
        "Inspect",
    )  # fmt: skip
    assert found.model_dump(exclude_unset=True) == {
        "data": "builtin", "modes": ("free",), "feedback": Level.MINIMAL, "turn_limit": 3,
        "perturbation": "names=scrambled+distractors=5", "call_format": CallFormat.TEXT,
        "limit": "10", "sample_ids": ("a", "b"), "tool_timeout_s": 2.5, "single_shot": False,
    }  # fmt: skip


def test_a_template_is_read(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("{question} {tools}", encoding="utf-8")
    assert settings_of({"template": str(path)}, "Inspect").template == "{question} {tools}"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"modle": "x"}, "there is no setting 'modle'"),
        ({"model": "openai/x"}, "the setting model is Inspect's own"),
        ({"epochs": 3}, "the setting epochs is for `toolhop run` alone"),
        ({"feedback": "loud"}, "the setting feedback cannot be 'loud'"),
        ({"turn_limit": 0}, "the setting turn_limit cannot be '0'"),
        ({"tools": "names=loud"}, "'names=loud' is not a tool perturbation"),
        ({"mode": "free", "modes": "direct"}, "mode and modes are one setting"),
        ({"tool_timeout": -1}, "the setting tool_timeout cannot be"),
    ],
)
def test_what_is_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(BadChoice, match=says):
        settings_of(given, "Inspect")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mode": "loud"}, "mode: 'loud' is not a mode of ToolHop; give"),
        ({"limit": "a"}, "limit is 'a'; give a count"),
        ({"single_shot": True}, "single_shot: ToolHop has no actions"),
    ],
)
def test_messages_name_settings_and_no_flags(given: dict[str, object], says: str) -> None:
    with pytest.raises(BadChoice, match=f"^{says}"):
        pool_of(settings_of(given, "Inspect"))
    assert (
        named("--sample-ids, --nowhere, `--help`, a--b") == "sample_ids, --nowhere, `--help`, a--b"
    )


def test_every_setting_left_out_is_one() -> None:
    assert RunSettings.model_fields.keys() >= OF_THE_MODEL | OF_A_RUN
    assert not OF_THE_MODEL & OF_A_RUN
