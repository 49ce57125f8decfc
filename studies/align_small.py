"""From items to a trained model and back: the study that studies/align_small.md describes.

    python -m studies.align_small --model FILE.gguf --out FOLDER

Needs the extras train and local, and the package gguf. What is there already is not made again, so
that a study that was killed goes on with the same command.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

from studies.lookups import write_lookups
from studies.running import run

KINDS = "unmatched,missing-parameter"
SETS = {"trained": (240, 41), "held": (20, 43)}
"""Items and seed."""
PER_ARM = {"trained": "9", "held": "48"}
TEMPLATE, MOST_TOKENS = "chatml-tools", "2000"
CHATS, PAIRS, ROWS_A_STEP = 250, 24, 4
TRIED, TRIES, STEPS_OF_GRPO = 12, 8, 4
"""Items tried at temperature 1, tries of each, and steps of GRPO; a step plays one item 8 times."""
SOMETIMES = "0.1-0.9"
"""Pass rates of items solved sometimes and not always."""
CURVE = (10, 20, 40, 60)
"""Steps of SFT."""
GRPO_FROM, PROFILE = 20, "tries.json"
"""Steps of SFT before GRPO; the file with the tries' pass rates."""
RATES = {"sft": "2e-4", "dpo": "2e-5", "grpo": "2e-5"}
SETTINGS = """\
gradient_accumulation_steps = 4
save_steps = 10
save_total_limit = 100
eval_strategy = "no"
lr_scheduler_type = "constant_with_warmup"
warmup_steps = 5
gradient_checkpointing = false

[grpo]
per_device_train_batch_size = 4
gradient_accumulation_steps = 2
warmup_steps = 0
num_generations = 8
max_completion_length = 300
save_steps = 1
"""


def weights_from(gguf_file: Path, out: Path) -> None:
    """Write the weights of a GGUF file as a folder that transformers loads."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    place, name = str(gguf_file.parent), gguf_file.name
    read = AutoModelForCausalLM.from_pretrained(place, gguf_file=name, dtype=torch.float32)
    settings = {**read.config.to_dict()}
    settings.pop("quantization_config", None)  # what was read is not quantized any more
    plain = LlamaForCausalLM(LlamaConfig(**settings))
    plain.load_state_dict(read.state_dict())
    aside = out.with_suffix(".part")
    plain.save_pretrained(aside)
    AutoTokenizer.from_pretrained(place, gguf_file=name).save_pretrained(aside)
    aside.rename(out)


NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # fmt: skip
"""Tensors of a block in GGUF and in transformers."""


def served_weights(weights: Path, like: Path, out: Path) -> None:
    """Write trained weights to a GGUF file; its vocabulary comes from `like`."""
    import gguf
    import numpy as np
    from safetensors.numpy import load_file

    read, trained = gguf.GGUFReader(like), load_file(weights / "model.safetensors")
    heads = {
        part: read.fields[f"llama.attention.{field}"].contents()
        for part, field in (("attn_q", "head_count"), ("attn_k", "head_count_kv"))
    }
    aside = out.with_suffix(".part")
    written = gguf.GGUFWriter(aside, "llama")
    for name, field in read.fields.items():
        if name.startswith("GGUF.") or name in {"general.architecture", "general.file_type"}:
            continue
        of_array = field.types[-1] if len(field.types) > 1 else None
        written.add_key_value(name, field.contents(), field.types[0], of_array)
    for tensor in read.tensors:
        part = tensor.name.removesuffix(".weight").rpartition(".")[2]
        if tensor.name == "token_embd.weight":
            values = trained["model.embed_tokens.weight"]
        elif tensor.name == "output_norm.weight":
            values = trained["model.norm.weight"]
        else:
            block = tensor.name.split(".")[1]
            values = trained[f"model.layers.{block}.{NAMES[part]}.weight"]
        if part in heads:  # llama.cpp rotates pairs of neighbours, transformers halves
            rows = len(values) // heads[part] // 2
            paired = values.reshape(heads[part], 2, rows, values.shape[1])
            values = paired.swapaxes(1, 2).reshape(values.shape)
        kind = np.float32 if values.ndim == 1 else np.float16
        written.add_tensor(tensor.name, np.ascontiguousarray(values.astype(kind)))
    for write in (
        written.write_header_to_file, written.write_kv_data_to_file, written.write_tensors_to_file,
    ):  # fmt: skip
        write()
    written.close()
    aside.rename(out)


def data(out: Path) -> None:
    """Make the scenarios of the trained items, and of the held-out ones."""
    for name, (items, seed) in SETS.items():
        file, rows, proofs = (
            out / f"{name}{end}" for end in (".jsonl", "-rows.json", "-certs.jsonl")
        )
        if not file.exists():
            write_lookups(rows, name, items, seed)
            given = ("--data", str(rows), "--sandbox", "process")
            run("certify", *given, "--out", str(proofs))
            run(
                "perturb",
                *given,
                "--certificates",
                str(proofs),
                "--into",
                KINDS,
                "--out",
                str(file),
            )


def chats(out: Path) -> Path:
    """Make chats, and check them."""
    folder = out / "chats"
    checked = ("--against", str(out / "held.jsonl"), "--sandbox", "process", "--split-by", "family")
    if not folder.exists():
        run("align", "sft", str(out / "trained.jsonl"), "--out", str(folder), "--repaired", "0.1",
            "--mix", "0.6,0.2,0.2", "--chats", str(CHATS), *checked)  # fmt: skip
    done = run("align", "check", str(folder), *checked)
    print(done.stdout.strip() or done.stderr.strip().splitlines()[-1])
    return folder


def pairs(out: Path) -> Path:
    """Make pairs from runs of scripted agents that go wrong."""
    folder = out / "pairs"
    if not folder.exists():
        for agent in ("invents", "repairing:1", "asks"):
            run("run", "--data", str(out / "trained.jsonl"), "--agent", agent, "--limit", "60",
                "--sandbox", "process", "--log-dir", str(out / "pair-runs"))  # fmt: skip
        runs = map(str, sorted((out / "pair-runs").iterdir()))
        run("align", "dpo", *runs, "--out", str(folder), "--sandbox", "process", "--split-by",
            "family", "--pairs-per-item", "1", "--against", str(out / "held.jsonl"))  # fmt: skip
    return folder


def trained(
    out: Path, method: str, data_set: Path, base: Path, name: str, seed: int, steps: int
) -> Path:
    """Train an arm, or go on training it."""
    folder, started = out / name, time.monotonic()
    settings = out / "settings.toml"
    settings.write_text(SETTINGS, encoding="utf-8")
    command = [
        "align", "train", method, str(data_set), "--base", str(base), "--out", str(folder),
        "--settings", str(settings), "--max-steps", str(steps), "--learning-rate", RATES[method],
        "--chat-template", TEMPLATE, "--seed", str(seed), "--json",
    ]  # fmt: skip
    if method == "grpo":
        command += ["--profile", str(out / PROFILE), "--pass-rate", SOMETIMES]
        command += ["--sandbox", "process"]
    else:
        command += ["--max-length", MOST_TOKENS]
    report = json.loads(run(*command).stdout)
    losses = [row["loss"] for row in report["log"] if "loss" in row]
    print(f"{name}: {report['steps']} steps, loss {losses[0]:.3f} to {losses[-1]:.3f}, "
          f"{report['too_long']} lines too long, {time.monotonic() - started:.0f} s")  # fmt: skip
    return folder


def tried(out: Path, file: Path) -> int:
    """Try trained items several times, and return how many are solved sometimes and not always."""
    logs = out / "runs" / "tries"
    played(logs, str(out / "trained.jsonl"), str(TRIED), file, "1", "--epochs", str(TRIES))
    run("profile", *runs_in(logs), "--out", str(out / PROFILE), "--overwrite")
    items = json.loads((out / PROFILE).read_text(encoding="utf-8"))["items"]
    return sum(0 < (item["pass_rate"] or 0) < 1 for item in items)


def runs_in(logs: Path) -> list[str]:
    """Return the run of an arm, if it has begun."""
    return [str(manifest.parent) for manifest in logs.glob("*/manifest.json")]


def played(
    logs: Path, data_set: str, limit: str, file: Path, temperature: str = "0", *more: str
) -> None:
    """Play items, or go on playing them."""
    if begun := runs_in(logs):
        run("run", "--resume", *begun)
        return
    # Its own template shows no tools.
    run("run", "--data", data_set, "--limit", limit, "--gguf", str(file), "--gguf-threads", "2",
        "--chat-template", TEMPLATE, "--max-tokens", "100", "--turn-limit", "5", "--temperature",
        temperature, "--timeout", "1800", "--sandbox", "process", "--log-dir", str(logs),
        *more)  # fmt: skip


def main() -> None:
    """Make, train, serve, play, and print the runs' tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=60, help="steps of SFT, four rows each")
    parser.add_argument("--sft-alone", action="store_true", help="without DPO and GRPO")
    parser.add_argument(
        "--elsewhere", nargs="*", default=[], help="data of others, 8 items of each"
    )
    given = parser.parse_args()
    if given.steps < GRPO_FROM and not given.sft_alone:
        parser.error(f"--steps is {given.steps}; GRPO needs {GRPO_FROM}, or give --sft-alone")
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    data(out)
    base = out / "base"
    if not base.exists():
        weights_from(given.model, base)
    sets = {part: (str(out / f"{part}.jsonl"), limit) for part, limit in PER_ARM.items()}
    elsewhere = {Path(name).stem: (name, "8") for name in given.elsewhere}
    arms: list[str] = []
    for arm, weights in trained_arms(out, base, given.seed, given.steps, given.sft_alone):
        file = out / f"{arm}.gguf"
        if not file.exists():
            served_weights(weights, given.model, file)
        last = arm in {"as-shipped", f"sft-{given.steps * ROWS_A_STEP}"}
        for part, (name, limit) in (sets | elsewhere if last else sets).items():
            played(out / "runs" / part / arm, name, limit, file)
        arms.append(arm)
    for part in sets | elsewhere:
        runs = [begun for arm in arms for begun in runs_in(out / "runs" / part / arm)]
        print(f"## {part}", run("score", *runs, "--format", "markdown").stdout, sep="\n")


def trained_arms(
    out: Path, base: Path, seed: int, steps: int, sft_alone: bool
) -> Iterator[tuple[str, Path]]:
    """Yield each arm with its weights. An arm is trained after the earlier ones have played."""
    yield "as-shipped", base
    last = trained(out, "sft", chats(out), base, "sft", seed, steps)
    after = {step: last / "checkpoints" / f"checkpoint-{step}" for step in CURVE if step <= steps}
    for step, weights in after.items():
        yield f"sft-{step * ROWS_A_STEP}", weights
    if sft_alone:
        return
    for arm, weights in (("dpo", base), ("sft-then-dpo", last)):
        yield arm, trained(out, "dpo", pairs(out), weights, arm, seed, PAIRS // ROWS_A_STEP)
    sometimes = tried(out, out / f"sft-{GRPO_FROM * ROWS_A_STEP}.gguf")
    print(f"{sometimes} of {TRIED} items are solved sometimes and not always")
    if sometimes >= TRIED / 5:
        given = (out / "trained.jsonl", after[GRPO_FROM], arm := "sft-then-grpo", seed)
        yield arm, trained(out, "grpo", *given, STEPS_OF_GRPO)


if __name__ == "__main__":
    main()
