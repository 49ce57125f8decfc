from __future__ import annotations

from pathlib import Path

import pytest

from toolhop_agents.prompts import Mode, TemplateError, prompt, read_template
from toolhop_env.messages import SystemMessage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_tools.model import ToolSchema

DOCUMENT = ToolSchema("find_{question}", "finds {tools}", {"type": "object"})


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("call_format", list(CallFormat))
def test_every_prompt_asks_for_the_tagged_answer_and_holds_the_question(
    mode: Mode, call_format: CallFormat
) -> None:
    (message,) = prompt(mode, call_format, "Who wrote {tools}?", [DOCUMENT])
    assert "<answer>" in message.content
    assert "YYYY-MM-DD" in message.content
    assert message.content.endswith("Question: Who wrote {tools}?")
    assert "{question}\n" not in message.content
    assert "\n\n\n" not in message.content


def test_only_the_text_call_format_with_tools_describes_them_in_the_prompt() -> None:
    shown = {
        (mode, call_format): "Action Input" in prompt(mode, call_format, "Q", [DOCUMENT])[0].content
        for mode in Mode
        for call_format in CallFormat
    }
    assert [key for key, value in shown.items() if value] == [
        (Mode.MANDATORY, CallFormat.TEXT),
        (Mode.FREE, CallFormat.TEXT),
    ]


def test_what_is_filled_in_is_not_filled_again() -> None:
    content = prompt(Mode.FREE, CallFormat.TEXT, "{answer_format}", [DOCUMENT])[0].content
    assert '"find_{question}"' in content
    assert content.endswith("{answer_format}")


def test_a_study_brings_its_own_text_with_a_system_part(tmp_path: Path) -> None:
    path = tmp_path / "template.txt"
    path.write_text('[system]\nSay {"a": 1}.\n[user]\n{question}\n', encoding="utf-8")
    messages = prompt(Mode.FREE, CallFormat.NATIVE, "Q?", [], template=read_template(path))
    assert messages == (SystemMessage('Say {"a": 1}.'), UserMessage("Q?"))


def test_a_template_without_a_question_is_refused_with_the_mend(tmp_path: Path) -> None:
    path = tmp_path / "template.txt"
    path.write_text("no place", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"has no \{question\}; put it"):
        read_template(path)
    with pytest.raises(TemplateError, match="cannot be read"):
        read_template(tmp_path / "missing.txt")
