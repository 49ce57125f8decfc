"""What `toolhop align train` checks before a trainer is imported; tests/adapters trains."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.training_data import write_data
from toolhop_agents.align.kinds import AlignError
from toolhop_agents.align.line import Chat, Pair, lines_of
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.training import (
    CHECKPOINTS,
    PLAN,
    REPORT,
    STATE,
    Method,
    Plan,
    check_lines,
    differences,
    fits,
    labels,
    newest,
    plan_in,
    resolved,
    settings_of,
    trained,
    weights_of,
)
from toolhop_agents.models.gguf import CHATML
from toolhop_env.extras import install_command

NO_TOOLS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and `model`, whose weights nobody reads here."""
    path = tmp_path_factory.mktemp("training")
    write_data(path, toolhop)
    model = path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"weights")
    (model / "chat_template.jinja").write_text(NO_TOOLS)
    return path


def train(folder: Path, method: str, data: str, *more: str) -> Any:
    return toolhop("align", "train", method, str(folder / data), "--base", str(folder / "model"),
                   "--out", str(folder / "out"), *more)  # fmt: skip


@pytest.mark.heavy
@pytest.mark.usefixtures("inline_module")
class TestCommand:
    """Nothing is written by any of these."""

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("sft", "dpo"), "no line that sft trains on"),
            (("dpo", "sft"), "no line that dpo trains on"),
            (("sft", "nowhere"), "neither sft.jsonl nor dpo.jsonl"),
            (("sft", "sft"), "shows no tools"),
            (("dpo", "dpo"), "shows no tools"),
            (("sft", "sft", "--chat-template", CHATML), install_command("train")),
            (("dpo", "dpo", "--chat-template", CHATML), install_command("train")),
            (("sft+dpo", "dpo", "--chat-template", CHATML), install_command("train")),
            (("grpo", "family.jsonl"), install_command("train")),
            (("sft", "sft", "--reward", "milestones=1"), "--reward changes nothing in sft"),
            (("dpo", "dpo", "--limit", "3"), "--limit changes nothing in dpo"),
            (("sft", "sft", "--settings", "nothing"), "give default, paper, or a TOML file"),
            (("grpo", "family.jsonl", "--max-length", "9"), "--max-length changes nothing in grpo"),
            (("ppo", "sft"), "'ppo' is not one of"),
            (("sft", "sft", "--base", "nowhere"), "nowhere holds no model of transformers"),
        ],
    )
    def test_wrong_use_is_one_clear_error(
        self, folder: Path, arguments: tuple[str, ...], said: str
    ) -> None:
        done = train(folder, *arguments)
        assert done.returncode == (3 if said == install_command("train") else 2)
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert not (folder / "out").exists()

    def test_a_folder_of_something_else_is_left_alone(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine")
        done = train(folder, "sft", "sft", "--chat-template", CHATML, "--out", str(tmp_path))
        assert done.returncode == 2
        assert "give another --out" in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]

    @pytest.mark.parametrize(
        ("edit", "said"),
        [
            ({"messages": []}, "cannot render a chat|trains nothing"),
            ({"messages": [{"content": "no role"}]}, "malformed: .*role"),
            ({"trained": [0]}, "what is no turn of the agent"),
            ({"trained": [0, 1]}, "what is no turn of the agent"),
        ],
    )
    def test_an_edited_line_is_one_clear_error(
        self, folder: Path, tmp_path: Path, edit: dict[str, Any], said: str
    ) -> None:
        data = tmp_path / "sft"
        shutil.copytree(folder / "sft", data)
        row = json.loads((data / "sft.jsonl").read_text().splitlines()[0])
        (data / "sft.jsonl").write_text(json.dumps(row | edit))
        done = train(folder, "sft", str(data), "--chat-template", CHATML)
        assert done.returncode == 2
        assert re.search(said, done.stderr)
        assert "Traceback" not in done.stderr

    def test_test_items_need_allow_test(self, folder: Path, tmp_path: Path) -> None:
        data = tmp_path / "sft"
        shutil.copytree(folder / "sft", data)
        path = data / "sft.jsonl"
        rows = [json.loads(line) | {"origin": "toolhop"} for line in path.read_text().splitlines()]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        done = train(folder, "sft", str(data), "--chat-template", CHATML)
        assert done.returncode == 2
        assert "is a benchmark's test set" in done.stderr
        done = train(folder, "sft", str(data), "--chat-template", CHATML, "--allow-test")
        assert done.returncode == 3  # the extra is missing

    def test_lines_are_chosen_and_masked(self, folder: Path) -> None:
        template = ChatTemplate.read(CHATML)
        chats = [line for line in lines_of(folder / "sft") if isinstance(line, Chat)]
        pairs = [line for line in lines_of(folder / "dpo") if isinstance(line, Pair)]
        kept = fits(pairs, Method.BOTH, folder)
        assert 0 < len(kept) < len(pairs)  # whole trajectories are left out
        assert all(len(one.chosen) == 1 for one in kept if isinstance(one, Pair))
        check_lines([*chats, *kept], template)
        untrained = 0
        for chat in chats:
            whole, spans = trained(chat, template)
            said = [whole[first:last] for first, last in spans]
            assert len(said) == len(chat.trained)
            assert all(text.endswith("<|im_end|>") for text in said)
            turns = [at for at, one in enumerate(chat.messages) if one["role"] == "assistant"]
            untrained += len(turns) - len(said)
        assert untrained
        none = chats[0].model_copy(update={"trained": ()})
        with pytest.raises(AlignError, match=f"line {none.id} trains nothing"):
            check_lines([none], template)


def test_tokens_across_the_edge_of_a_span_are_not_trained() -> None:
    offsets = [(0, 2), (2, 5), (5, 6), (5, 8), (8, 9)]
    assert labels(offsets, [1, 2, 3, 4, 5], [(2, 6), (8, 9)]) == [-100, 2, 3, -100, 5]


def test_settings_come_from_all_methods_then_one_then_flags(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("a = 1\nb = 1\nc = 1\n[dpo]\nb = 2\nc = 2\n[sft]\nb = 5\n")
    path.write_text(path.read_text() + "[grpo]\nnum_generations = 2\n")

    def added(method: Method, **changes: int) -> dict[str, Any]:
        default = settings_of("default", method, {})
        found = settings_of(str(path), method, changes)
        return {name: value for name, value in found.items() if default.get(name) != value}

    for method in (Method.DPO, Method.BOTH):
        assert added(method, c=3) == {"a": 1, "b": 2, "c": 3}
    assert added(Method.GRPO) == {"a": 1, "b": 1, "c": 1, "num_generations": 2}
    assert settings_of(str(path), Method.DPO, {})["learning_rate"] == 1e-6


def test_the_papers_settings() -> None:
    for method in (Method.SFT, Method.DPO):
        found = settings_of("paper", method, {})
        batch = found["per_device_train_batch_size"] * found["gradient_accumulation_steps"]
        assert (batch, found["max_length"]) == (32, 8192)
        assert (found["learning_rate"], found["num_train_epochs"]) == (1e-5, 2)
    assert settings_of("paper", Method.GRPO, {}) == settings_of("default", Method.GRPO, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("output_dir = 'x'", "output_dir, which the command sets"),
        ("push_to_hub = true", "push_to_hub"),
        ("hub_token = 'x'", "hub_token"),
        ("[sft]\nreport_to = 'wandb'", "report_to"),
        ("sft = 1", "sft of .* is no table"),
        ("a = ", "cannot be read"),
        ("learning_rate = nan", "Out of range float"),
        ("[sft]\nlearning_rate = 1e400", "Out of range float"),
        ("learning_rate = 2026-01-01", "cannot be read: .*date"),
        ("save_only_model = true", "save_only_model"),
        ("\udcff", "cannot be read"),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(AlignError, match=said):
        settings_of(str(path), Method.SFT, {})


def checkpoint(folder: Path, step: int, *, whole: bool = True) -> Path:
    path = folder / CHECKPOINTS / f"checkpoint-{step}"
    path.mkdir(parents=True)
    if whole:
        (path / STATE).write_text(json.dumps({"global_step": step}))
    return path


def test_the_newest_checkpoint_is_the_last_that_is_whole(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    checkpoint(tmp_path, 9)
    last = checkpoint(tmp_path, 10)
    checkpoint(tmp_path, 11, whole=False)
    for name, text in (("checkpoint-12", '{"global_step": 1'), ("checkpoint-x", "{}")):
        cut = tmp_path / CHECKPOINTS / name  # a kill while the last file is written
        cut.mkdir()
        (cut / STATE).write_text(text)
    assert newest(tmp_path) == last
    assert resolved(tmp_path) == tmp_path  # no folder of a training
    (tmp_path / PLAN).write_text("{}")
    assert resolved(tmp_path) == last
    (tmp_path / REPORT).write_text("{}")
    assert resolved(tmp_path) == tmp_path


def test_half_written_weights_are_no_base(tmp_path: Path) -> None:
    (tmp_path / PLAN).write_text("{}")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"half")
    with pytest.raises(AlignError, match="holds no model"):
        weights_of(resolved(tmp_path))


def test_a_training_goes_on_only_with_the_same(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / ".train.123.json").write_text('{"meth')  # of a killed command
    assert plan_in(tmp_path) is None
    plan = Plan(method=Method.SFT, data={"digest": "a"}, model="m", weights={}, template="t",
                settings={"seed": 1})  # fmt: skip
    (tmp_path / PLAN).write_text(plan.model_dump_json())
    found = plan_in(tmp_path)
    assert found == plan
    other = plan.model_copy(update={"settings": {"seed": 2}})
    assert [*differences(plan, other)] == ['settings: {"seed": 1}, now {"seed": 2}']
    (tmp_path / PLAN).write_text("{")
    with pytest.raises(AlignError, match="no training that can go on"):
        plan_in(tmp_path)


def test_weights_are_known_by_what_they_hold(tmp_path: Path) -> None:
    with pytest.raises(AlignError, match="no model of transformers"):
        weights_of(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"1")
    (tmp_path / "training_args.bin").write_bytes(b"1")
    before = weights_of(tmp_path)
    assert sorted(before) == ["config.json", "model.safetensors"]
    (tmp_path / "model.safetensors").write_bytes(b"2")
    assert weights_of(tmp_path) != before


def test_a_pipe_is_no_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(AlignError, match="no model of transformers"):
        weights_of(tmp_path)
