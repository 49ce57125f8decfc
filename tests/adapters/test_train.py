"""`toolhop align train` with TRL: real optimizer steps of a model of random weights."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs trl: make test-adapters")

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from tests.training_data import write_data
from tests.waiting import until
from toolhop_agents.align.line import Chat, Pair, lines_of
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.training import labels, newest, trained
from toolhop_agents.align.writers import rendered_pair
from toolhop_env.runs.files import held

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
ENDS = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
CHATML = (files("toolhop_agents") / "templates" / "chatml-tools.jinja").read_text("utf-8")


def toolhop(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "toolhop_agents", *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_data(folder, toolhop)
    return folder


@pytest.fixture(scope="module")
def model(data: Path) -> Path:
    """Two layers of random weights, and a tokenizer that is learnt from the chats."""
    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learnt.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
        show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    learnt.train_from_iterator([(data / "sft" / "sft.jsonl").read_text()], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=learnt, chat_template=CHATML, **ENDS)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 2, "num_key_value_heads": 2}  # fmt: skip
    out = data / "model"
    Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokenizer), **sizes)).save_pretrained(out)
    tokenizer.save_pretrained(out)
    return out


def weights(folder: Path) -> dict[str, Any]:
    return dict(AutoModelForCausalLM.from_pretrained(folder).named_parameters())


def changed(before: Path, after: Path) -> bool:
    old, new = weights(before), weights(after)
    assert old.keys() == new.keys()
    return any(not torch.equal(old[name], new[name]) for name in old)


def train(method: str, data: Path, model: Path, out: Path, *more: str) -> dict[str, Any]:
    done = toolhop("align", "train", method, str(data), "--base", str(model), "--out", str(out),
                   "--max-steps", "1", "--learning-rate", "0.01", "--json", *more)  # fmt: skip
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("method", ["sft", "dpo", "sft+dpo"])
def test_one_step_changes_the_weights(method: str, data: Path, model: Path, tmp_path: Path) -> None:
    folder = data / ("sft" if method == "sft" else "dpo")
    report = train(method, folder, model, tmp_path / "out")
    assert report["steps"] == 1
    (loss, *_) = [row["loss"] for row in report["log"] if "loss" in row]
    assert 0 < loss < 100
    assert changed(model, tmp_path / "out")
    assert AutoTokenizer.from_pretrained(tmp_path / "out").chat_template == CHATML


def test_both_losses_are_more_than_each(data: Path, model: Path, tmp_path: Path) -> None:
    found = {}
    for method in ("dpo", "sft+dpo"):
        report = train(method, data / "dpo", model, tmp_path / method)
        found[method] = next(row["loss"] for row in report["log"] if "loss" in row)
    assert found["dpo"] == pytest.approx(0.693, abs=0.01)  # nothing is learnt before the first step
    assert found["sft+dpo"] > found["dpo"] + 1


def test_a_step_of_grpo_over_the_environment(data: Path, model: Path, tmp_path: Path) -> None:
    settings = tmp_path / "few.toml"
    settings.write_text(
        "per_device_train_batch_size = 2\n"
        "[grpo]\nnum_generations = 2\nmax_completion_length = 8\nbeta = 0.5\nlogging_steps = 1\n"
    )
    report = train(
        "grpo", data / "family.jsonl", model, tmp_path / "out", "--settings", str(settings),
        "--sandbox", "process", "--reward", "milestones=1", "--reward", "failed_call=-0.1",
    )  # fmt: skip
    assert report["steps"] == 1
    assert any("rewards/milestones/mean" in row for row in report["log"])
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_only_trained_turns_have_labels(data: Path, model: Path) -> None:
    tokenizer, template = AutoTokenizer.from_pretrained(model), ChatTemplate.read(str(model))
    seen_untrained = 0
    for line in lines_of(data / "sft"):
        assert isinstance(line, Chat)
        whole, spans = trained(line, template)
        read = tokenizer(whole, return_offsets_mapping=True, add_special_tokens=False)
        kept = labels(read["offset_mapping"], read["input_ids"], spans)
        said = tokenizer.decode([token for token in kept if token != -100])
        assert said.count("<|im_end|>") == len(line.trained)
        assert "<|im_start|>" not in said
        assert "tool_response" not in said
        turns = [n for n, one in enumerate(line.messages) if one["role"] == "assistant"]
        for at in line.trained:
            assert line.messages[at]["content"] in said
        seen_untrained += len(turns) - len(line.trained)
    assert seen_untrained  # failed calls


def test_a_killed_training_goes_on(data: Path, model: Path, tmp_path: Path) -> None:
    settings, out = tmp_path / "often.toml", tmp_path / "out"
    settings.write_text("save_steps = 1\ngradient_accumulation_steps = 1\nseed = 7\n")
    command = [
        sys.executable, "-m", "toolhop_agents", "align", "train", "sft", str(data / "sft"),
        "--base", str(model), "--out", str(out), "--settings", str(settings), "--max-steps", "12",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until(lambda: newest(out), "a checkpoint")
        process.send_signal(signal.SIGKILL)
    reached = newest(out)
    assert reached is not None
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["steps"] == 12
    assert json.loads((out / "train.json").read_text())["settings"]["seed"] == 7
    steps = [row["step"] for row in report["log"] if "loss" in row]
    assert steps == [*range(1, 13)]
    of_a_part = {"num_tokens", "train_loss"}  # counted from the last resume
    assert not any(of_a_part & row.keys() for row in report["log"])
    again = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert json.loads(again.stdout) == report
    other = toolhop("align", "train", "dpo", str(data / "dpo"), "--base", str(model), "--out",
                    str(out), check=False)  # fmt: skip
    assert other.returncode == 2
    assert "trains something else" in other.stderr


def test_a_round_begins_with_the_weights_of_the_one_before(
    data: Path, model: Path, tmp_path: Path
) -> None:
    train("sft", data / "sft", model, tmp_path / "first")
    train("dpo", data / "dpo", tmp_path / "first", tmp_path / "second")
    assert changed(tmp_path / "first", tmp_path / "second")


def test_nothing_is_sent_or_asked(
    data: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for name in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
            monkeypatch.setenv(name, "0")  # TRL's own telemetry would be sent
        monkeypatch.delenv("CI", raising=False)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        train("sft", data / "sft", model, tmp_path / "out")
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("learning_rat = 1", "no learning_rat (did you mean learning_rate?)"),
        ('save_strategy = "x"', "refuses"),
        ('learning_rate = "x"', "learning_rate cannot be 'x'"),
        ("learning_rate = true", "learning_rate cannot be True"),
        ('max_length = "x"', "max_length cannot be 'x'"),
        ('accelerator_config = "nothing.json"', "refuses"),
    ],
)
def test_settings_that_trl_refuses_are_named(
    text: str, said: str, data: Path, model: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "wrong.toml"
    settings.write_text(text)
    done = toolhop("align", "train", "sft", str(data / "sft"), "--base", str(model), "--out",
                   str(tmp_path / "out"), "--settings", str(settings), check=False)  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_lines_that_are_too_long_are_left_out_and_counted(
    data: Path, model: Path, tmp_path: Path
) -> None:
    tokenizer, template = AutoTokenizer.from_pretrained(model), ChatTemplate.read(str(model))
    pairs = [line for line in lines_of(data / "dpo") if isinstance(line, Pair)]
    texts = [rendered_pair(one, template) for one in pairs if len(one.chosen) == 1]
    sizes = sorted(max(len(tokenizer(one["prompt"] + one[name])["input_ids"])
                       for name in ("chosen", "rejected")) for one in texts)  # fmt: skip
    most = sizes[len(sizes) // 2]
    report = train("dpo", data / "dpo", model, tmp_path / "out", "--max-length", str(most))
    assert report["too_long"] == sum(size > most for size in sizes) > 0
    done = toolhop("align", "train", "sft", str(data / "sft"), "--base", str(model), "--out",
                   str(tmp_path / "none"), "--max-length", "5", check=False)  # fmt: skip
    assert done.returncode == 2
    assert "over 5 tokens" in done.stderr


@pytest.mark.parametrize(
    "text", ["seed = -1", "learning_rate = -1.0", "num_train_epochs = 0", "adam_beta1 = 2.0"]
)
def test_settings_that_fail_before_the_first_step_lose_nothing(
    text: str, data: Path, model: Path, tmp_path: Path
) -> None:
    settings, out = tmp_path / "own.toml", tmp_path / "out"
    settings.write_text(text)
    command = ("align", "train", "sft", str(data / "sft"), "--base", str(model), "--out", str(out),
               "--settings", str(settings))  # fmt: skip
    done = toolhop(*command, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    settings.write_text("max_steps = 1")
    assert toolhop(*command).returncode == 0  # another plan: the first has trained nothing


@pytest.mark.parametrize(
    ("name", "text"),
    [("tokenizer.json", None), ("tokenizer.json", "{"), ("config.json", "{"),
     ("model.safetensors", "")],
)  # fmt: skip
def test_a_broken_base_is_one_clear_error(
    name: str, text: str | None, data: Path, model: Path, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    shutil.copytree(model, base)
    (base / name).unlink()
    if text is not None:
        (base / name).write_text(text)
    done = toolhop("align", "train", "sft", str(data / "sft"), "--base", str(base), "--out",
                   str(tmp_path / "out"), check=False)  # fmt: skip
    assert done.returncode == 2
    assert "has no tokenizer" in done.stderr or "refuses" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_command_at_a_time_trains_a_folder(data: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with held(out):
        done = toolhop("align", "train", "sft", str(data / "sft"), "--base", str(model), "--out",
                       str(out), check=False)  # fmt: skip
    assert done.returncode == 2
    assert "is being trained by another process" in done.stderr
    assert not (out / "train.json").exists()


def test_of_several_processes_the_first_alone_writes_and_reports(
    data: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setenv("RANK", "1")
    done = toolhop("align", "train", "sft", str(data / "sft"), "--base", str(model), "--out",
                   str(out), "--max-steps", "1")  # fmt: skip
    assert done.stdout == ""
    assert not {"train.json", "report.json"} & {path.name for path in out.iterdir()}
    monkeypatch.setenv("RANK", "0")
    assert train("sft", data / "sft", model, tmp_path / "first")["steps"] == 1
    assert (tmp_path / "first" / "report.json").is_file()


def test_other_items_are_another_training(data: Path, model: Path, tmp_path: Path) -> None:
    items, out = tmp_path / "family.jsonl", tmp_path / "out"
    rows = (data / "family.jsonl").read_text().splitlines(keepends=True)
    settings = tmp_path / "few.toml"
    settings.write_text(
        "per_device_train_batch_size = 2\n[grpo]\nnum_generations = 2\nmax_completion_length = 8\n"
    )
    more = ("--settings", str(settings), "--sandbox", "process")
    items.write_text("".join(rows))
    train("grpo", items, model, out, *more)
    items.write_text("".join(rows[1:]))
    done = toolhop("align", "train", "grpo", str(items), "--base", str(model), "--out", str(out),
                   "--max-steps", "1", "--learning-rate", "0.01", *more, check=False)  # fmt: skip
    assert done.returncode == 2
    assert "trains something else" in done.stderr
