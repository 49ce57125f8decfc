"""What `toolhop align train` trains on and how, checked before a trainer is imported.

Settings are keyword arguments of TRL's configuration classes. Chats are rendered and masked as
`toolhop align check` renders them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from toolhop_agents.align.kinds import AlignError
from toolhop_agents.align.leaks import TRAIN
from toolhop_agents.align.line import Chat, Pair, turns_in
from toolhop_agents.align.rendering import ChatTemplate, Span
from toolhop_agents.align.writers import rendered_pair
from toolhop_agents.models.gguf import CHATML, digest
from toolhop_env.reading import CallFormat
from toolhop_env.runs.files import LOCK
from toolhop_tools import regular
from toolhop_tools.errors import why

PLAN, REPORT, CHECKPOINTS = "train.json", "report.json", "checkpoints"
"""Files of a training folder: what is trained; its losses, written last; unfinished weights."""
STATE = "trainer_state.json"
"""File that a checkpoint gets last."""
SHIPPED = files("toolhop_agents.align") / "settings"


class Method(StrEnum):
    """A way to train."""

    SFT = "sft"
    DPO = "dpo"
    BOTH = "sft+dpo"
    """DPO with the SFT loss on chosen replies, in equal parts."""
    GRPO = "grpo"

    @property
    def config(self) -> str:
        """Name of its table in a settings file: SFT and DPO losses joined are TRL's DPO."""
        return Method.DPO.value if self is Method.BOTH else self.value


OURS = frozenset({
    "output_dir", "push_to_hub", "report_to", "loss_type", "loss_weights", "reward_weights",
    "assistant_only_loss", "completion_only_loss", "dataset_kwargs", "packing",
    "resume_from_checkpoint", "chat_template_path", "eos_token", "truncation_mode",
    "save_only_model", "ignore_data_skip",
})  # fmt: skip
"""Keywords that the command sets; a settings file must not."""


class Plan(BaseModel):
    """What is trained; a folder goes on only with the same."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Method
    data: dict[str, Any]
    """Name, digest and lines; of a data set the settings that choose its items."""
    model: str
    weights: dict[str, str]
    """SHA-256 of the model's files."""
    template: str
    """The chat template's text."""
    settings: dict[str, Any]
    """Keywords of TRL's configuration."""
    format: Literal[1] = 1


def settings_of(given: str, method: Method, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of TRL's configuration: of all methods, of this one, and changes.

    Args:
        given: the name of settings that ship, or a TOML file; it changes the default settings.
        method: the table that is read besides the keywords of all methods.
        changes: keywords that win.

    Raises:
        AlignError: the file cannot be read, or sets a keyword of `OURS`.
    """
    shipped = {Path(one.name).stem: one for one in SHIPPED.iterdir() if one.name.endswith(".toml")}
    found = dict[str, Any]()
    for name in ("default", given):  # a file changes what ships
        try:
            text = shipped[name].read_bytes() if name in shipped else regular.content(Path(name))
            tables = tomllib.loads(text.decode())
            json.dumps(tables, allow_nan=False)  # no dates either: a plan holds them
        except (OSError, TypeError, ValueError) as error:
            raise AlignError(
                f"the settings {name} cannot be read: {why(error)}",
                fix=f"give {', '.join(sorted(shipped))}, or a TOML file",
            ) from error
        own = {table: tables.pop(table, {}) for table in {one.config for one in Method}}
        if wrong := [table for table in own if not isinstance(own[table], dict)]:
            raise AlignError(f"{wrong[0]} of {name} is no table", fix=f"write [{wrong[0]}]")
        found |= {**tables, **own[method.config]}
    found |= changes
    if refused := sorted(name for name in found if name in OURS or name.startswith("hub_")):
        raise AlignError(
            f"the settings {given} set {refused[0]}, which the command sets itself",
            fix="leave it out",
        )
    return found


def shows_tools(template: ChatTemplate, line: Chat | Pair) -> None:
    """Check that the template shows the tools of a line with native calls.

    Raises:
        AlignError: it drops them, so that a model would learn to call tools that it cannot see.
    """
    if line.conditions.call_format is not CallFormat.NATIVE or not line.tools:
        return
    prompt = line.prompt if isinstance(line, Pair) else line.messages[: turns_in(line.messages)[0]]
    if template.text_of(prompt, line.tools) == template.text_of(prompt, []):
        raise AlignError(
            f"the template {template.name} shows no tools, so that a model would not see them",
            fix=f"pass --chat-template {CHATML} for a model of ChatML, or a template of its own",
        )


def trained(chat: Chat, template: ChatTemplate) -> tuple[str, list[Span]]:
    """Return a chat as text, and the spans that are trained: turns with the token that ends them.

    Raises:
        AlignError: the template cannot render the chat.
    """
    whole, spans = template.text_of(chat.messages, chat.tools), list[Span]()
    for at, (start, stop) in template.turns(chat.messages, chat.tools):
        if at in chat.trained:
            spans.append((start, start + len(whole[start:stop].rstrip())))
    return whole, spans


def labels(offsets: Sequence[Span], ids: Sequence[int], spans: Sequence[Span]) -> list[int]:
    """Return the tokens that lie in spans, and -100 for all others."""
    return [
        token if any(first <= start and stop <= last for first, last in spans) else -100
        for token, (start, stop) in zip(ids, offsets, strict=True)
    ]


def fits(lines: Sequence[Chat | Pair], method: Method, folder: Path) -> list[Chat | Pair]:
    """Return the lines that a method trains on.

    Whole trajectories are left out of DPO: TRL would train the tools' results in them.

    Raises:
        AlignError: there are none.
    """
    wanted = Chat if method is Method.SFT else Pair
    found = [
        line for line in lines
        if isinstance(line, wanted)
        and (isinstance(line, Chat) or len(line.chosen) == len(line.rejected) == 1)
    ]  # fmt: skip
    if not any(line.split == TRAIN for line in found):
        raise AlignError(
            f"{folder} has no line that {method.value} trains on",
            fix=f"give a folder that `toolhop align {method.config}` wrote",
        )
    return found


def check_lines(lines: Sequence[Chat | Pair], template: ChatTemplate) -> None:
    """Render each line, as a trainer will.

    Raises:
        AlignError: a line cannot be rendered, or the tools would not be seen.
    """
    for line in lines:
        if isinstance(line, Pair):
            rendered_pair(line, template)
        elif not 0 < len(line.trained) == len(trained(line, template)[1]):
            raise AlignError(
                f"line {line.id} trains nothing, or what is no turn of the agent",
                fix="make the folder again",
            )
        shows_tools(template, line)


def weights_of(model: Path) -> dict[str, str]:
    """Return the digests of a model's files.

    Raises:
        AlignError: the folder holds no model of transformers.
    """
    paths = (
        [*model.glob("*.safetensors"), *model.glob("pytorch_model*.bin")] if model.is_dir() else []
    )
    paths = [path for path in paths if path.is_file()]
    if not paths or not (model / "config.json").is_file():
        raise AlignError(
            f"{model} holds no model of transformers: a folder with config.json and weights",
            fix="give a folder that `save_pretrained` or `toolhop align train` wrote",
        )
    return {path.name: digest(path) for path in sorted((model / "config.json", *paths))}


def newest(folder: Path) -> Path | None:
    """Return the newest complete checkpoint in a training folder, or None."""
    states = (folder / CHECKPOINTS).glob(f"checkpoint-*/{STATE}")
    steps = {step: path.parent for path in states if (step := _step(path)) is not None}
    return steps[max(steps)] if steps else None


def _step(state: Path) -> int | None:
    """Return the step of a checkpoint, or None if it is incomplete."""
    try:
        return int(json.loads(regular.content(state))["global_step"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def resolved(model: Path) -> Path:
    """Return the folder with the weights: `model`, or a checkpoint if it is unfinished."""
    if (model / PLAN).is_file() and not (model / REPORT).is_file():
        model = newest(model) or model / CHECKPOINTS
    return model


def plan_in(folder: Path) -> Plan | None:
    """Return what a folder trains, or None if it is new.

    Raises:
        AlignError: it has files of something else, or its plan cannot be read.
    """
    try:
        # A killed command may leave a lock, and a part of a plan in a hidden file.
        if {path.name for path in folder.glob("[!.]*")} <= {LOCK}:
            return None
        return Plan.model_validate_json(regular.content(folder / PLAN))
    except (OSError, ValidationError) as error:
        raise AlignError(
            f"{folder} has files already, and is no training that can go on: {why(error)}",
            fix="give another --out",
        ) from error


def differences(old: Plan, new: Plan) -> Iterator[str]:
    """Yield the fields in which two plans differ, with both values."""
    for name in Plan.model_fields:
        before, now = getattr(old, name), getattr(new, name)
        if before != now:
            yield f"{name}: {_short(before)}, now {_short(now)}"


def _short(value: object) -> str:
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
