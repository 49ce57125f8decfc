"""Writers of trainers' formats, for the versions in `Format.version`. Pure.

TRL           ``messages`` (or ``prompt`` and ``completion``), ``tools`` as JSON text
LLaMA-Factory sharegpt turns, calls as ``function_call``, ``dataset_info.json``
axolotl       ``chat_template`` rows for chats; rendered text for pairs
verl          ``messages`` and ``tools``, as the rows of a parquet file

Arguments are objects wherever a chat template renders them: as JSON text they would be trained as a
text within a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolhop_agents.align.kinds import AlignError
from toolhop_agents.align.line import Chat, Pair, Wire
from toolhop_agents.align.rendering import OWN, ChatTemplate
from toolhop_agents.export.chat import with_objects
from toolhop_sandbox.outcome import JSON

TrainingRow: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """A chat as one training row: messages, and which of them are trained."""

    messages: tuple[Wire, ...]
    trained: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether every turn of the agent is trained, so that a mask by role is right."""
        agent = [n for n, one in enumerate(self.messages) if one["role"] == "assistant"]
        return agent == [*self.trained]


def views(chat: Chat) -> list[View]:
    """Split a chat into rows for trainers that cannot mask single turns.

    It is one row if every turn of the agent is trained, else one for each trained turn, which
    follows its prompt.
    """
    view = View(chat.messages, chat.trained)
    if view.whole:
        return [view]
    return [View(chat.messages[: at + 1], (at,)) for at in chat.trained]


class Dropped(Exception):
    """A line that a format cannot hold. The message says why."""


Rows: TypeAlias = list[tuple[str, TrainingRow]]
"""Rows of a line, each with its dataset."""


@dataclass(frozen=True, slots=True)
class Format:
    """A trainer's format."""

    version: str
    """Version whose source the format was read from."""
    chat: Callable[[Chat, ChatTemplate], Rows]
    pair: Callable[[Pair, ChatTemplate], Rows]
    notes: tuple[str, ...]
    """What the format drops, and settings without which the trainer does otherwise."""
    suffix: str = ".jsonl"


CHATS, STEPS, PAIRS = "sft", "sft-steps", "dpo"
"""Datasets: chats of which every turn is trained, single turns after a prompt, pairs."""


def _objects(messages: Iterable[Wire]) -> list[Wire]:
    return [with_objects(one) for one in messages]


def _tools(tools: Sequence[Wire]) -> str:
    return json.dumps([*tools], ensure_ascii=False)


def _trl_chat(chat: Chat, _: ChatTemplate) -> Rows:
    rows: Rows = []
    tools = _tools(chat.tools)
    for view in views(chat):
        messages = _objects(view.messages)
        if view.whole:
            rows.append((CHATS, {"messages": messages, "tools": tools}))
        else:
            step = {"prompt": messages[:-1], "completion": messages[-1:], "tools": tools}
            rows.append((STEPS, step))
    return rows


def _trl_pair(pair: Pair, _: ChatTemplate) -> Rows:
    row = {name: _objects(getattr(pair, name)) for name in ("prompt", "chosen", "rejected")}
    return [(PAIRS, {**row, "tools": _tools(pair.tools)})]


def _turn(message: Wire) -> TrainingRow:
    """Return a turn of sharegpt; the text beside calls has no place there."""
    if message.get("tool_calls"):
        calls = [call["function"] for call in with_objects(message)["tool_calls"]]
        listed = [{"name": one["name"], "arguments": one["arguments"]} for one in calls]
        return {"from": "function_call", "value": json.dumps(listed, ensure_ascii=False)}
    roles = {"user": "human", "tool": "observation", "assistant": "gpt"}
    return {"from": roles[message["role"]], "value": message["content"]}


def _turns(messages: Sequence[Wire]) -> tuple[str, list[TrainingRow]]:
    """Return system prompt and turns; raises `Dropped` if they do not alternate."""
    system = messages[0]["content"] if messages and messages[0]["role"] == "system" else ""
    turns: list[TrainingRow] = []
    for turn in map(_turn, messages[bool(system) :]):
        if turns and turn["from"] == turns[-1]["from"] == "observation":
            turns[-1]["value"] += f"\n{turn['value']}"
        else:
            turns.append(turn)
    sides = [turn["from"] in {"human", "observation"} for turn in turns]
    if sides != [n % 2 == 0 for n in range(len(turns))]:
        raise Dropped("its turns do not alternate")
    return system, turns


def _factory_chat(chat: Chat, _: ChatTemplate) -> Rows:
    rows: Rows = []
    for view in views(chat):
        system, turns = _turns(view.messages)
        row = {"conversations": turns, "system": system, "tools": _tools(chat.tools)}
        rows.append((CHATS if view.whole else STEPS, row))
    return rows


def _factory_pair(pair: Pair, _: ChatTemplate) -> Rows:
    if len(pair.chosen) != 1 or len(pair.rejected) != 1:
        raise Dropped("a whole trajectory is more than one turn")
    system, turns = _turns(pair.prompt)
    row = {
        "conversations": turns, "chosen": _turn(pair.chosen[0]),
        "rejected": _turn(pair.rejected[0]), "system": system, "tools": _tools(pair.tools),
    }  # fmt: skip
    return [(PAIRS, row)]


def dataset_info(files: Iterable[tuple[str, str]]) -> dict[str, JSON]:
    """Return LLaMA-Factory's description of datasets, given their names and files."""
    info: dict[str, JSON] = {}
    for name, file in files:
        columns: dict[str, JSON] = {
            "messages": "conversations", "system": "system", "tools": "tools",
        }  # fmt: skip
        one: dict[str, JSON] = {"file_name": file, "formatting": "sharegpt", "columns": columns}
        if name.startswith(PAIRS):
            columns |= {"chosen": "chosen", "rejected": "rejected"}
            one["ranking"] = True
        info[f"toolhop_{name.replace('-', '_')}"] = one
    return info


def _axolotl_chat(chat: Chat, _: ChatTemplate) -> Rows:
    messages = [
        {**one, "train": at in chat.trained} for at, one in enumerate(_objects(chat.messages))
    ]
    return [(CHATS, {"messages": messages, "tools": [*chat.tools]})]


def rendered_pair(pair: Pair, template: ChatTemplate) -> dict[str, str]:
    """Return prompt, chosen and rejected as text.

    Raises:
        AlignError: the template cannot render them, or the prompt otherwise once a reply follows.
    """
    row = {"prompt": template.text_of(pair.prompt, pair.tools, asks=True)}
    for name in ("chosen", "rejected"):
        whole = template.text_of((*pair.prompt, *getattr(pair, name)), pair.tools)
        if not whole.startswith(row["prompt"]):
            raise AlignError(
                f"the template {template.name} renders the prompt otherwise once a reply follows",
                fix=OWN,
            )
        row[name] = whole.removeprefix(row["prompt"])
    return row


def _axolotl_pair(pair: Pair, template: ChatTemplate) -> Rows:
    return [(PAIRS, rendered_pair(pair, template))]


def _verl_chat(chat: Chat, template: ChatTemplate) -> Rows:
    if not views(chat)[0].whole:
        raise Dropped("verl trains every turn of the agent, failed calls included")
    whole = template.text_of(chat.messages, chat.tools)
    end, messages = template.end(), list[Wire](chat.messages)
    for at, (start, stop) in template.turns(chat.messages, chat.tools):
        text = whole[start:stop].rstrip().removesuffix(end)
        messages[at] = {"role": "assistant", "content": text}
    plain = [{"role": one["role"], "content": one["content"]} for one in messages]
    if template.text_of(plain, chat.tools) != whole:
        raise Dropped(f"the template {template.name} renders calls written as text otherwise")
    return [(CHATS, {"messages": plain, "tools": _tools(chat.tools)})]


def _verl_pair(_: Pair, __: ChatTemplate) -> Rows:
    raise Dropped("verl has no trainer of pairs")


FORMATS: Mapping[str, Format] = {
    "trl": Format(
        "TRL 1.16.0", _trl_chat, _trl_pair,
        ("`sft` rows need `assistant_only_loss=True`; `sft-steps` and `dpo` rows need nothing.",
         "Set `max_length`: the default of 1,024 tokens cuts the end of a turn.",
         "Llama 3.1's template has no generation marks: pass `chat_template_path`.",
         "`datasets` must be 4.7 or later; older versions fill missing arguments with nulls."),
    ),
    "llamafactory": Format(
        "LLaMA-Factory 0.9.5", _factory_chat, _factory_pair,
        ("Drops the text beside calls, turns that do not alternate, and whole trajectories.",
         "`sft_steps` needs `mask_history: true`, so train it apart from `sft`.",
         "Results of parallel calls are joined in one observation."),
    ),
    "axolotl": Format(
        "axolotl 0.19.0", _axolotl_chat, _axolotl_pair,
        ("Chats: `type: chat_template`, `field_messages: messages`, `field_tools: tools`, "
         "`roles_to_train: []`, `message_field_training: train`, `train_on_eos: turn`.",
         "Pairs are text of one model family, by --chat-template: `type: user_defined` with "
         "`field_prompt`, `field_chosen`, `field_rejected`, and formats that add nothing."),
    ),
    "verl": Format(
        "verl 0.9.1", _verl_chat, _verl_pair,
        ("Drops pairs, and chats with an untrained turn.",
         "Calls are written as the template's text, because parquet fills the arguments of other "
         "tools with nulls; --chat-template must be the model's."),
        ".parquet",
    ),
}  # fmt: skip


def rows_for(
    name: str, lines: Iterable[Chat | Pair], template: ChatTemplate
) -> tuple[dict[str, list[TrainingRow]], dict[str, int]]:
    """Return the rows of a trainer by dataset and split, and how many lines are dropped and why.

    Raises:
        AlignError: the template cannot render a line.
    """
    rows: dict[str, list[TrainingRow]] = {}
    dropped: dict[str, int] = {}
    form = FORMATS[name]
    for line in lines:
        try:
            made = (
                form.chat(line, template) if isinstance(line, Chat) else form.pair(line, template)
            )
        except Dropped as reason:
            dropped[str(reason)] = dropped.get(str(reason), 0) + 1
            continue
        for dataset, row in made:
            rows.setdefault(f"{dataset}-{line.split}", []).append(row)
    return rows, dropped
