"""Scripted constructors and readers by name, as the voice of a server on loopback."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, TypeAlias

from studies.constructor import honest, nest, reader
from studies.constructor.kinds import PLANTS
from studies.constructor.nest_plants import READ
from studies.constructor.nest_plants import planted as nest_planted
from studies.constructor.nest_plants_later import ALL as NEST_PLANTS
from studies.constructor.plants import planted
from toolhop_agents.models.loopback import Request
from toolhop_env.messages import Message, Reply, Usage, UserMessage
from toolhop_tools.construct.stages import Stage

TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as a token."""
NO_TOOLS = "I do not know."
"""What a script says to a question without tools."""

BASES = (("geography-1", "Geography"), ("music-1", "Music"), ("chemistry-1", "Chemistry"))
"""Honest items that faults are planted in: of a number, a date and a text."""
Script: TypeAlias = Callable[[Mapping[str, Any], Sequence[str]], str]
"""From the inputs of a stage, and the repair prompts since, to the text of the reply."""

NAMES: Mapping[str, str] = {
    "honest": "right at the first reply",
    "clumsy": "wrong at the first reply of each stage, right when the fault is named",
    "faulty:KIND": "plants one kind of fault, and repairs it when it is named",
    "faulty:KIND:stubborn": "plants one kind of fault in every reply",
    "planted": "plants each kind of fault in turn, by the number of the item, in every reply",
    "faulty": "the same of nested tasks, each kind first at one reply and then at every one",
    "wrong": "as a reader, begins with another name",
    "refuses": "as a reader, always says that no tool gives it",
    "malformed": "as a reader, replies in plain words",
}


def _honest(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
    del repairs
    if Stage(inputs["stage"]) in nest.STAGES:
        return nest.reply(inputs)
    return json.dumps(honest.reply(inputs), ensure_ascii=False)


def _faulty(kind: str, *, stubborn: bool) -> Script:
    """One kind of fault: at the first reply alone, or at every one."""

    def reply(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
        return planted(PLANTS[kind], inputs, now=stubborn or not repairs)

    return reply


def nest_plant_of(item: str) -> tuple[str, bool]:
    """Of a nested task of ``faulty``: the kind of fault, and whether it is in every reply.

    Raises:
        ValueError: the id has no number at its end.
    """
    kinds = [*NEST_PLANTS]
    stubborn, kind = divmod((int(item.rpartition("-")[2]) - 1) % (2 * len(kinds)), len(kinds))
    return kinds[kind], bool(stubborn)


def _nested_in_turn(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
    """Each kind of fault of nested tasks by number: first repaired, then stubborn ones."""
    kind, stubborn = nest_plant_of(inputs["item"])
    return nest_planted(NEST_PLANTS[kind], inputs, now=stubborn or not repairs)


def _clumsy(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
    """A fault at the first reply wherever a kind fits that its own stage finds, drawn by place."""
    stage, hop = Stage(inputs["stage"]), inputs.get("hop", 0)
    fitting = [
        name for name, plant in PLANTS.items() if plant.place == (stage, hop) and plant.at_once
    ]
    nested = [n for n, plant in NEST_PLANTS.items() if plant.stage is stage and n not in READ]
    if repairs or not (fitting or nested):
        return _honest(inputs, repairs)
    kind = random.Random(f"{inputs['item']}/{stage}/{hop}").choice(fitting or nested)
    if kind in NEST_PLANTS:
        return nest_planted(NEST_PLANTS[kind], inputs, now=True)
    return _faulty(kind, stubborn=False)(inputs, repairs)


def _in_turn(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
    """Each kind of fault in every reply, by the number of the item."""
    del repairs
    kind, (item, domain) = plant_of(inputs["item"])
    return planted(PLANTS[kind], {**inputs, "item": item, "domain": domain}, now=True)


def plant_of(item: str) -> tuple[str, tuple[str, str]]:
    """Of an item of ``planted``: the kind of fault, and id and domain of the honest item.

    Raises:
        ValueError: the id has no number at its end.
    """
    kinds = [*PLANTS]
    base, kind = divmod(int(item.rpartition("-")[2]) - 1, len(kinds))
    return kinds[kind], BASES[base % len(BASES)]


def script(name: str) -> Script:
    """The constructor of a name, such as ``honest``.

    Raises:
        ValueError: the name is unknown; the message lists those that are known.
    """
    kind, _, rest = name.partition(":")
    plant, _, form = rest.partition(":")
    in_turn = {"clumsy": _clumsy, "planted": _in_turn, "faulty": _nested_in_turn}
    if name in in_turn:
        return in_turn[name]
    if name == "honest" or name in reader.READERS:
        return _honest
    if kind == "faulty" and plant in PLANTS and form in {"", "stubborn"}:
        return _faulty(plant, stubborn=form == "stubborn")
    listed = "\n".join(f"  {known:22} {what}" for known, what in NAMES.items())
    raise ValueError(
        f"there is no scripted constructor {name!r}; there are\n{listed}\n"
        "  KIND is one of those that are listed by: python -m studies.serve --kinds"
    )


def answered(name: str, messages: Sequence[Message]) -> Reply:
    """The reply to a conversation, with a token stated for each `TOKEN_BYTES`.

    Raises:
        ValueError: the name is unknown, or the conversation has no user message.
    """
    user_texts = [message.content for message in messages if isinstance(message, UserMessage)]
    if not user_texts:
        raise ValueError("the conversation has no message with the inputs of a stage")
    text = _text(name, user_texts[0], user_texts[1:])
    sent = sum(len(message.content.encode()) for message in messages)
    usage = Usage(ceil(sent / TOKEN_BYTES), ceil(len(text.encode()) / TOKEN_BYTES))
    return Reply(text, usage=usage, finish_reason="stop")


def _text(name: str, first: str, repairs: Sequence[str]) -> str:
    try:
        inputs = json.loads(first)
    except ValueError:
        return NO_TOOLS
    if "stage" in inputs:
        asked = script(name)
        domain = inputs["stage"] == Stage.DOMAIN
        return json.dumps(honest.named(inputs)) if domain else asked(inputs, repairs)
    return reader.READERS.get(name, reader.honest)(inputs["question"])


def respond(request: Request) -> Reply:
    """What the loopback server says; the model that is asked for names the script.

    Several names of one script differ in what follows an ``@``, such as ``honest@2``.

    Raises:
        ValueError: there is no such script.
    """
    return answered(request.model.partition("@")[0], request.messages)
