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

from studies.running import run
from toolhop_agents.align.leaks import leaks, marks_of
from toolhop_tools.load import load

WORLDS = "items={items},hops=2,joins=none,tools=2,styles=values,failures=0,forms=0"
TRAINED, HELD = "museum+opera+league", "hospital+library"
"""Domains of the generator."""
KINDS = "unmatched,missing-parameter"
TEMPLATE, MOST_TOKENS = "chatml-tools", "2900"
SFT_ROWS, PAIRS = (24,), 4
RATES = {"sft": "5e-5", "dpo": "1e-5"}
FILES = {"trained": "kept.jsonl", "held": "held.jsonl"}
PER_ARM = {"trained": "4", "held": "9"}


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
    plain.save_pretrained(out)
    AutoTokenizer.from_pretrained(place, gguf_file=name).save_pretrained(out)


NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # fmt: skip
"""Tensors of a block in GGUF and in transformers."""


def served_weights(weights: Path, like: Path, out: Path) -> None:
    """Write trained weights as a GGUF file, with the vocabulary of another."""
    import gguf
    import numpy as np
    from safetensors.numpy import load_file

    read, trained = gguf.GGUFReader(like), load_file(weights / "model.safetensors")
    heads = {
        part: read.fields[f"llama.attention.{field}"].contents()
        for part, field in (("attn_q", "head_count"), ("attn_k", "head_count_kv"))
    }
    written = gguf.GGUFWriter(out, "llama")
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


def data(out: Path) -> None:
    """Make the scenarios of trained domains, and of held-out ones."""
    for name, seed, domains, items in (("trained", 41, TRAINED, 90), ("held", 43, HELD, 12)):
        file = out / f"{name}.jsonl"
        if not file.exists():
            spec = f"seed={seed},domains={domains}," + WORLDS.format(items=items)
            worlds = out / f"{name}-worlds.jsonl"
            run("worlds", "make", spec, "--out", str(worlds), "--overwrite")
            run("perturb", "--data", str(worlds), "--into", KINDS, "--sandbox", "process", "--out",
                str(file))  # fmt: skip
    given, kept = out / "trained.jsonl", out / "kept.jsonl"
    if not kept.exists():
        marks = {item.id: marks_of(item) for item in load(str(given)).items}
        held_marks = [marks_of(item) for item in load(str(out / "held.jsonl")).items]
        left_out = {identity for identity, _ in leaks(marks, held_marks)}
        lines = given.read_text(encoding="utf-8").splitlines(keepends=True)
        kept.write_text("".join(line for line in lines if json.loads(line)["id"] not in left_out))
        print(f"{len(left_out)} of {len(marks)} items share words with held-out ones: left out")


def chats(out: Path, rows: int) -> Path:
    """Make chats, and check them."""
    folder = out / f"chats-{rows}"
    if not folder.exists():
        run("align", "sft", str(out / "kept.jsonl"), "--out", str(folder), "--repaired", "0.1",
            "--chats", str(rows), "--against", str(out / "held.jsonl"), "--sandbox", "process",
            "--split-by", "family")  # fmt: skip
    done = run("align", "check", str(folder), "--against", str(out / "held.jsonl"), "--sandbox",
               "process", "--split-by", "family")  # fmt: skip
    print(done.stdout.strip() or done.stderr.strip().splitlines()[-1])
    return folder


def pairs(out: Path) -> Path:
    """Make pairs from runs of scripted agents that go wrong."""
    folder = out / "pairs"
    if not folder.exists():
        for agent in ("invents", "repairing:1", "asks"):
            run("run", "--data", str(out / "kept.jsonl"), "--agent", agent, "--limit", "40",
                "--sandbox", "process", "--log-dir", str(out / "pair-runs"))  # fmt: skip
        runs = map(str, sorted((out / "pair-runs").iterdir()))
        run("align", "dpo", *runs, "--out", str(folder), "--sandbox", "process", "--split-by",
            "family", "--pairs-per-item", "1", "--against", str(out / "held.jsonl"))  # fmt: skip
    return folder


def trained(out: Path, method: str, data_folder: Path, base: Path, name: str, steps: int) -> Path:
    """Train an arm, or go on training it."""
    folder, started = out / name, time.monotonic()
    settings = out / "settings.toml"
    settings.write_text('gradient_accumulation_steps = 4\nsave_steps = 5\neval_strategy = "no"\n')
    command = (
        "align", "train", method, str(data_folder), "--base", str(base), "--out", str(folder),
        "--settings", str(settings), "--max-steps", str(steps), "--max-length", MOST_TOKENS,
        "--learning-rate", RATES[method], "--chat-template", TEMPLATE, "--json",
    )  # fmt: skip
    report = json.loads(run(*command).stdout)
    losses = [row["loss"] for row in report["log"] if "loss" in row]
    print(f"{name}: {report['steps']} steps, loss {losses[0]:.3f} to {losses[-1]:.3f}, "
          f"{report['too_long']} lines too long, {time.monotonic() - started:.0f} s")  # fmt: skip
    return folder


def played(out: Path, arm: str, file: Path) -> None:
    """Play items that were trained and held-out ones, or go on playing."""
    for part, limit in PER_ARM.items():
        logs = out / "runs" / f"{arm}-{part}"
        if begun := next(logs.glob("*"), None):
            run("run", "--resume", str(begun))
            continue
        # Its own template shows no tools.
        run("run", "--data", str(out / FILES[part]), "--limit", limit, "--gguf", str(file),
            "--gguf-threads", "2", "--chat-template", TEMPLATE, "--max-tokens", "200",
            "--turn-limit", "5", "--temperature", "0", "--timeout", "1800", "--sandbox", "process",
            "--log-dir", str(logs))  # fmt: skip


def main() -> None:
    """Make, train, serve, play, and print the runs' tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    data(out)
    base = out / "base"
    if not (base / "model.safetensors").exists():
        weights_from(given.model, base)
    arms: list[str] = []
    for arm, weights in trained_arms(out, base):
        file = out / f"{arm}.gguf"
        if not file.exists():
            served_weights(weights, given.model, file)
        played(out, arm, file)
        arms.append(arm)
        for part in PER_ARM:
            runs = [str(next((out / "runs" / f"{arm}-{part}").iterdir())) for arm in arms]
            shown = run("score", *runs, "--format", "markdown")
            print(f"## {part}", shown.stdout, sep="\n")


def trained_arms(out: Path, base: Path) -> Iterator[tuple[str, Path]]:
    """Yield each arm with its weights. An arm is trained after the earlier ones have played."""
    yield "as-shipped", base
    for rows in SFT_ROWS:
        name = f"sft-{rows}"
        last = trained(out, "sft", chats(out, rows), base, name, rows // 4)
        yield name, last
    yield "sft-then-dpo", trained(out, "dpo", pairs(out), last, "sft-then-dpo", PAIRS // 4)


if __name__ == "__main__":
    main()
