"""`toolhop align train`: TRL's trainers on training data, or over the environment."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from toolhop_agents.adapters.command import reward_option
from toolhop_agents.adapters.trl_rollout import component_rewards, rollout_func, rows
from toolhop_agents.align.kinds import AlignError
from toolhop_agents.align.leaks import TRAIN, VALIDATION, refuse_tests
from toolhop_agents.align.line import Chat, Pair, digest, lines_of
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.training import (
    CHECKPOINTS,
    PLAN,
    REPORT,
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
from toolhop_agents.align.writers import FORMATS, rendered_pair
from toolhop_agents.cli import nearest
from toolhop_agents.cli.flags import Number, Whole
from toolhop_agents.cli.json_output import json_option, write_json
from toolhop_agents.cli.options import checked, setting_option
from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.export.files import write_text
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.terminal import say
from toolhop_env.extras import require
from toolhop_tools import regular
from toolhop_tools.errors import counted, why
from toolhop_tools.load import load

KEYWORDS = {
    "epochs": "num_train_epochs", "max_steps": "max_steps", "learning_rate": "learning_rate",
    "max_length": "max_length", "seed": "seed",
}  # fmt: skip
"""Flags, and the keywords of TRL's configuration that they set."""
PACKAGES = ("trl", "transformers", "torch", "toolhop-env")
OF_GRPO = ("limit", "profile", "pass_rate", "sandbox", "reward", "mask_failed")


@click.command()
@click.argument("method", type=click.Choice([one.value for one in Method]), metavar="METHOD")
@click.argument("source", metavar="DATA")
@click.option("--base", required=True, type=click.Path(file_okay=False, path_type=Path),
              metavar="FOLDER", help="Weights to begin with: a model of transformers, or a folder "
              "of this command, of which the newest checkpoint counts.")  # fmt: skip
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="The folder to write; one that was interrupted is resumed.")  # fmt: skip
@click.option("--settings", default="default", show_default=True, metavar="NAME|FILE",
              help="Keywords of TRL's configuration: default, paper, or a TOML file.")  # fmt: skip
@click.option("--epochs", type=Number(0), default=None, help="Passes over the data.")
@click.option("--max-steps", type=Whole(1), default=None, help="Optimizer steps at most.")
@click.option("--learning-rate", type=Number(0), default=None, help="The highest learning rate.")
@click.option("--max-length", type=Whole(1), default=None,
              help="Leave out lines of more tokens; nothing is cut.")  # fmt: skip
@click.option("--chat-template", default=None, metavar="NAME|FILE|FOLDER",
              help="Template to train with and store.  [default: the model's]")  # fmt: skip
@click.option("--allow-test", is_flag=True, help="Train on a benchmark's test set.")
@setting_option("seed")
@setting_option("limit")
@setting_option("profile")
@setting_option("pass_rate")
@setting_option("sandbox")
@reward_option
@click.option("--mask-failed", is_flag=True, help="Do not train turns whose calls all failed.")
@json_option
@click.pass_context
def train(ctx: click.Context, /, **_: object) -> None:
    """Train a model on DATA with TRL. Needs the extra train.

    METHOD is sft, dpo, sft+dpo (both losses), or grpo. DATA is a folder of `toolhop align sft` or
    `toolhop align dpo`; for grpo a data set, whose items are played. Nothing is uploaded.
    """
    flags = ctx.params
    given = {name for name in flags if ctx.get_parameter_source(name) != ParameterSource.DEFAULT}
    method, out = Method(flags["method"]), flags["out"]
    if method is not Method.GRPO and (unused := [name for name in OF_GRPO if name in given]):
        flag = f"--{unused[0].replace('_', '-')}"
        raise click.UsageError(f"{flag} chooses how grpo plays; leave it out for {method.value}")
    changes = {keyword: flags[flag] for flag, keyword in KEYWORDS.items() if flag in given}
    settings = settings_of(flags["settings"], method, changes)
    begin = resolved(flags["base"])
    weights = weights_of(begin)
    template = ChatTemplate.read(flags["chat_template"] or str(begin))
    lines, played, described = _data(method, template, flags)
    plan = Plan(
        method=method, data=described, model=str(begin.resolve()), weights=weights,
        template=template.text, settings=settings,
    )  # fmt: skip
    old = plan_in(out)
    if old is not None and (changed := [*differences(old, plan)]):
        raise AlignError(
            f"{out} trains something else: {'; '.join(changed)}",
            fix="give what it was begun with, or another --out",
        )
    require("trl", extra="train", what="`toolhop align train`")
    if (out / REPORT).is_file():
        report = json.loads(regular.content(out / REPORT))
    else:
        # The trainer's own lines are progress.
        with ExitStack() as stack, redirect_stdout(sys.stderr):
            pool = None
            if played is not None:
                most = settings["per_device_train_batch_size"]
                environments = PlainEnvironments(played, reward=flags["reward"] or None, most=most)
                pool = stack.enter_context(environments)
            trainer, too_long = _trainer(plan, lines, template, pool, out)
            last = newest(out)
            trainer.train(resume_from_checkpoint=str(last) if last else None)
            trainer.save_model(str(out))
        report = {
            "steps": trainer.state.global_step, "too_long": too_long,
            "versions": {name: version(name) for name in PACKAGES},
            "log": trainer.state.log_history,
        }  # fmt: skip
        write_text(out / REPORT, json.dumps(report, indent=2), overwrite=True)
    if flags["as_json"]:
        write_json({**report, "folder": str(out)})
        return
    left_out = f"; {counted(report['too_long'], 'line')} too long" if report["too_long"] else ""
    losses = [row["loss"] for row in report["log"] if "loss" in row]
    between = f", loss {losses[0]:.4g} to {losses[-1]:.4g}" if losses else ""
    say(f"{counted(report['steps'], 'step')}{between}{left_out}; weights: {out}")
    command = shlex.join(["accelerate", "launch", "-m", "toolhop_agents", *sys.argv[1:]])
    say(f"on several devices, with another --out: {command}")


def _data(
    method: Method, template: ChatTemplate, flags: Mapping[str, Any]
) -> tuple[list[Chat | Pair], RunSettings | None, dict[str, Any]]:
    """Return the lines, or the settings of the episodes; and what a plan says of them."""
    source = flags["source"]
    if method is Method.GRPO:
        dataset = load(source)
        refuse_tests(dataset.name, dataset.items, flags["allow_test"])
        names = ("limit", "profile", "pass_rate", "sandbox", "seed")
        played = checked({"data": source, **{name: flags[name] for name in names}})
        what = played.model_dump(mode="json", include={"data", "limit", "profile", "pass_rate"})
        return [], played, {**what, "reward": flags["reward"], "mask_failed": flags["mask_failed"]}
    folder = Path(source)
    every = [*lines_of(folder)]
    lines = fits(every, method, folder)
    check_lines(lines, template)
    told = digest(*(line.model_dump(mode="json") for line in lines))
    left_out = len(every) - len(lines)
    return lines, None, {"data": source, "lines": len(lines), "left_out": left_out, "digest": told}


def _trainer(
    plan: Plan,
    lines: Sequence[Chat | Pair],
    template: ChatTemplate,
    pool: PlainEnvironments | None,
    out: Path,
) -> tuple[Any, int]:
    """Return TRL's trainer, and how many lines are too long.

    TRL is imported here. The plan is written once the settings are known to be right.
    """
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_OFFLINE"):  # nothing is sent or asked
        os.environ.setdefault(name, "1")
    import torch
    import transformers
    import trl
    from datasets import Dataset

    of_config, of_trainer = {
        "sft": (trl.SFTConfig, trl.SFTTrainer),
        "dpo": (trl.DPOConfig, trl.DPOTrainer),
        "grpo": (trl.GRPOConfig, trl.GRPOTrainer),
    }[plan.method.config]
    known = {field.name for field in dataclasses.fields(of_config)}
    if unknown := [name for name in plan.settings if name not in known]:
        raise AlignError(
            f"{of_config.__name__} of TRL has no {unknown[0]}",
            fix=f"did you mean {nearest(unknown[0], known) or 'another keyword'}?",
        )
    tokenizer = transformers.AutoTokenizer.from_pretrained(plan.model)
    tokenizer.chat_template = plan.template
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    data, too_long = dict[str, Any](), 0
    own: dict[str, Any] = {"output_dir": str(out / CHECKPOINTS), "report_to": []}
    if not torch.cuda.is_available():
        own["bf16"] = False
    if pool is not None:
        data["reward_funcs"], own["reward_weights"] = component_rewards(pool)
        data["rollout_func"] = rollout_func(pool, mask_failed=plan.data["mask_failed"])
        data["train_dataset"] = Dataset.from_list(rows(pool))
    else:
        own["max_length"] = None  # lines are left out instead of cut
        most = plan.settings.get("max_length")
        made = [(line.split, *_row(line, template, tokenizer)) for line in lines]
        short = [(split, row) for split, length, row in made if most is None or length <= most]
        too_long = len(made) - len(short)
        for split, name in ((TRAIN, "train_dataset"), (VALIDATION, "eval_dataset")):
            if chosen := [row for of, row in short if of == split]:
                # Arguments of different tools have different fields.
                data[name] = Dataset.from_list(chosen, on_mixed_types="use_json")
        if "train_dataset" not in data:
            raise AlignError(f"every line has over {most} tokens", fix="raise --max-length")
    if plan.method is Method.BOTH:
        own |= {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 1.0]}
    every_epoch = {"eval_strategy": "epoch"} if "eval_dataset" in data else {}
    try:
        config = of_config(**{**every_epoch, **plan.settings, **own})
    except (TypeError, ValueError) as error:
        raise AlignError(
            f"{of_config.__name__} of TRL refuses the settings: {why(error)}", fix="change them"
        ) from error
    write_text(out / PLAN, plan.model_dump_json(indent=2), overwrite=True)
    return of_trainer(plan.model, args=config, processing_class=tokenizer, **data), too_long


def _row(
    line: Chat | Pair, template: ChatTemplate, encode: Callable[..., Mapping[str, list[Any]]]
) -> tuple[int, dict[str, Any]]:
    """Return a line's number of tokens, and TRL's row: a chat with labels, a pair as messages.

    Args:
        line: a chat, or a pair of single turns.
        template: renders it.
        encode: the tokenizer of transformers.
    """
    if isinstance(line, Pair):
        text = rendered_pair(line, template)
        length = max(len(encode(text["prompt"] + text[name])["input_ids"])
                     for name in ("chosen", "rejected"))  # fmt: skip
        ((_, row),) = FORMATS["trl"].pair(line, template)
        return length, row
    whole, spans = trained(line, template)
    read = encode(whole, return_offsets_mapping=True, add_special_tokens=False)
    ids = read["input_ids"]
    return len(ids), {"input_ids": ids, "labels": labels(read["offset_mapping"], ids, spans)}
