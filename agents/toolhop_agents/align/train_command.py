"""`toolhop align train`: TRL's trainers on training data, or over the environment."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_type_hints

import click
from click.core import ParameterSource
from pydantic import TypeAdapter, ValidationError

from toolhop_agents.adapters.command import reward_option
from toolhop_agents.adapters.trl_rollout import component_rewards, rollout_func, rows
from toolhop_agents.align.folder import items_in
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
from toolhop_agents.cli.faults import exit_code
from toolhop_agents.cli.flags import Number, Whole
from toolhop_agents.cli.json_output import json_option, write_json
from toolhop_agents.cli.options import checked, setting_option
from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.export.files import write_text
from toolhop_agents.runs.rated import rated
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.terminal import say
from toolhop_env.extras import require
from toolhop_env.runs.files import held
from toolhop_tools import regular
from toolhop_tools.errors import counted, why
from toolhop_tools.load import load, select

KEYWORDS = {
    "epochs": "num_train_epochs", "max_steps": "max_steps", "learning_rate": "learning_rate",
    "max_length": "max_length", "seed": "seed",
}  # fmt: skip
"""Flags, and the keywords of TRL's configuration that they set."""
PACKAGES = ("trl", "transformers", "torch", "toolhop-env")
FIRST = os.environ.get("RANK", "0") == "0"
"""Whether this is the only process or the first of several: it alone writes and reports."""
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
    foreign = ("max_length",) if method is Method.GRPO else OF_GRPO
    if unused := [name for name in foreign if name in given]:
        flag = f"--{unused[0].replace('_', '-')}"
        raise click.UsageError(f"{flag} changes nothing in {method.value}; leave it out")
    changes = {keyword: flags[flag] for flag, keyword in KEYWORDS.items() if flag in given}
    settings = settings_of(flags["settings"], method, changes)
    begin = resolved(flags["base"])
    weights = weights_of(begin)
    template = ChatTemplate.read(flags["chat_template"] or str(begin))
    lines, played, described = _data(method, template, flags, settings.get("seed"))
    plan = Plan(
        method=method, data=described, model=str(begin.resolve()), weights=weights,
        template=template.text, settings=settings,
    )  # fmt: skip
    old = plan_in(out)
    begun = newest(out) or (out / REPORT).exists()
    if begun and old is not None and (changed := [*differences(old, plan)]):
        raise AlignError(
            f"{out} trains something else: {'; '.join(changed)}",
            fix="give what it was begun with, or another --out",
        )
    require("trl", extra="train", what="`toolhop align train`")
    if (out / REPORT).is_file():
        report = json.loads(regular.content(out / REPORT))
    else:
        report = _report(plan, lines, template, played, flags["reward"], out)
    if not FIRST:
        return
    if flags["as_json"]:
        write_json({**report, "folder": str(out)})
        return
    left_out = f"; {counted(report['too_long'], 'line')} too long" if report["too_long"] else ""
    losses = [row["loss"] for row in report["log"] if "loss" in row]
    between = f", loss {losses[0]:.4g} to {losses[-1]:.4g}" if losses else ""
    say(f"{counted(report['steps'], 'step')}{between}{left_out}; weights: {out}")
    command = shlex.join(["accelerate", "launch", "-m", "toolhop_agents", *sys.argv[1:]])
    say(f"on several devices, with another --out: {command}")


def _report(
    plan: Plan,
    lines: Sequence[Chat | Pair],
    template: ChatTemplate,
    played: RunSettings | None,
    reward: dict[str, float],
    out: Path,
) -> dict[str, Any]:
    """Train, and return the report; it is written last."""
    # The trainer's own lines are progress.
    with ExitStack() as stack, redirect_stdout(sys.stderr):
        pool = None
        if played is not None:
            most = plan.settings["per_device_train_batch_size"]
            pool = stack.enter_context(PlainEnvironments(played, reward=reward or None, most=most))
        with _refusals():
            make, too_long = _trainer(plan, lines, template, pool, out)
        if FIRST:
            try:
                out.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise AlignError(
                    f"{out} cannot be written: {why(error)}", fix="give another --out"
                ) from error
            stack.enter_context(held(out, "trained"))
            write_text(out / PLAN, plan.model_dump_json(indent=2), overwrite=True)
        with _refusals():
            trainer = make()
        last = newest(out)
        with _refusals(lambda: bool(trainer.state.global_step)):
            trainer.train(resume_from_checkpoint=str(last) if last else None)
        if not trainer.state.global_step:
            raise AlignError("no step was trained", fix="give more data, epochs or smaller batches")
        trainer.save_model(str(out))
        for row in trainer.state.log_history:
            for name in ("num_tokens", "train_loss"):  # counted from the last resume
                row.pop(name, None)
        report = {
            "steps": trainer.state.global_step, "too_long": too_long,
            "versions": {name: version(name) for name in PACKAGES},
            "log": trainer.state.log_history,
        }  # fmt: skip
        if FIRST:
            write_text(out / REPORT, json.dumps(report, indent=2), overwrite=True)
    return report


@contextmanager
def _refusals(began: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Report what packages raise before the first step: it is about the base or the settings."""
    try:
        yield
    except Exception as error:
        if began() or exit_code(error) is not None:
            raise
        raise AlignError(
            f"TRL refuses the settings or the base: {why(error) or type(error).__name__}",
            fix="give others",
        ) from error


def _data(
    method: Method, template: ChatTemplate, flags: Mapping[str, Any], seed: object
) -> tuple[list[Chat | Pair], RunSettings | None, dict[str, Any]]:
    """Return the lines, or the settings of the episodes; and what a plan says of them."""
    source = flags["source"]
    if method is Method.GRPO:
        dataset = load(source)
        refuse_tests(dataset.name, dataset.items, flags["allow_test"])
        names = ("limit", "profile", "pass_rate", "sandbox")
        played = checked({"data": source, "seed": seed, **{name: flags[name] for name in names}})
        ids = rated(dataset, (), played.pass_rate, played.profile)
        told = digest(*(one.digest for one in select(dataset, limit=played.limit, sample_ids=ids)))
        what = played.model_dump(mode="json", include={"data", "limit", "profile", "pass_rate"})
        what |= {name: flags[name] for name in ("reward", "mask_failed")}
        return [], played, {**what, "digest": told}
    folder = Path(source)
    every = [*lines_of(folder)]
    lines, items = fits(every, method, folder), items_in(folder).values()
    for origin in {line.origin for line in every}:
        refuse_tests(origin, items, flags["allow_test"])
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
) -> tuple[Callable[[], Any], int]:
    """Return what makes TRL's trainer, and how many lines are too long. TRL is imported here."""
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_OFFLINE"):  # nothing is sent or asked
        os.environ[name] = "1"
    import torch
    import transformers
    import trl
    from datasets import Dataset

    of_config, of_trainer = {
        "sft": (trl.SFTConfig, trl.SFTTrainer),
        "dpo": (trl.DPOConfig, trl.DPOTrainer),
        "grpo": (trl.GRPOConfig, trl.GRPOTrainer),
    }[plan.method.config]
    _check_settings(plan.settings, of_config)
    tokenizer = transformers.AutoTokenizer.from_pretrained(plan.model)
    if tokenizer.vocab_size < 2:  # transformers makes one from nothing
        raise AlignError(f"{plan.model} has no tokenizer", fix="save one there")
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
    config = of_config(**{**every_epoch, **plan.settings, **own})
    return partial(
        of_trainer, plan.model, args=config, processing_class=tokenizer, **data
    ), too_long


def _check_settings(settings: Mapping[str, Any], of_config: type) -> None:
    """Check keywords and their types.

    Raises:
        AlignError: TRL's configuration has no such keyword, or of another type.
    """
    known = get_type_hints(of_config)
    for name, value in settings.items():
        if name not in known:
            said = f"{of_config.__name__} of TRL has no {name}{nearest(name, known)}"
            raise AlignError(said, fix="leave it out")
        try:
            TypeAdapter(known[name]).validate_python(value, strict=True)
        except ValidationError as error:
            said = f"{name} cannot be {value!r}: {why(error)}"
            raise AlignError(said, fix="change it") from error


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
