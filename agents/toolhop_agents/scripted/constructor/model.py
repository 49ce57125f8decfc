"""Scripted constructors as models: pure functions of the conversation, in process or served."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

from toolhop_agents.models.base import NoSuchModel
from toolhop_agents.models.exchange import priced
from toolhop_agents.models.loopback import RequestResponder
from toolhop_agents.models.prices import Price
from toolhop_agents.scripted.constructor import honest, nest, reader
from toolhop_agents.scripted.constructor.atlas import journey
from toolhop_agents.scripted.constructor.hostile import KINDS, LATER
from toolhop_agents.scripted.constructor.nest_plants import READ
from toolhop_agents.scripted.constructor.nest_plants import planted as nest_planted
from toolhop_agents.scripted.constructor.nest_plants_later import ALL as NEST_PLANTS
from toolhop_agents.scripted.constructor.plants import planted
from toolhop_env.messages import Message, Reply, Usage, UserMessage
from toolhop_tools.construct.stages import Stage
from toolhop_tools.model import ToolSchema

PREFIX = "scripted/"
TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as a token."""

Script: TypeAlias = Callable[[Mapping[str, Any], Sequence[str]], str]
"""The inputs of a stage, and the repair prompts since; the text of the reply."""


def _honest(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
    del repairs
    if Stage(inputs["stage"]) in nest.STAGES:
        return nest.reply(inputs)
    return json.dumps(honest.reply(inputs), ensure_ascii=False)


def _faulty(name: str, *, stubborn: bool) -> Script:
    """One kind of fault: at the first reply alone, or at every one."""
    if name in NEST_PLANTS:
        return _faulty_nest(name, stubborn=stubborn)

    def reply(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
        plan = journey(inputs["item"], inputs["domain"])
        stage, hop = Stage(inputs["stage"]), inputs.get("hop", 0)
        own, now = honest.reply(inputs), stubborn or not repairs
        return planted(KINDS[name], own, plan, stage, hop, now=now)

    return reply


def _faulty_nest(name: str, *, stubborn: bool) -> Script:
    def reply(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
        return nest_planted(NEST_PLANTS[name], inputs, now=stubborn or not repairs)

    return reply


def _by_number(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
    """Each kind in turn, by the number in the item's id: repairable ones first, then stubborn."""
    if Stage(inputs["stage"]) in nest.STAGES:
        kind, stubborn, _ = plant_of(inputs["item"], NEST_PLANTS)
        return _faulty_nest(kind, stubborn=stubborn)(inputs, repairs)
    kind, stubborn, base = plant_of(inputs["item"])
    own = {**inputs, "item": f"{inputs['domain'].lower()}-{base}"}
    return _faulty(kind, stubborn=stubborn)(own, repairs)


def plant_of(item: str, plants: Collection[str] = KINDS) -> tuple[str, bool, int]:
    """Of an item of ``faulty``: the kind, whether it is stubborn, and the number of the honest one.

    Raises:
        ValueError: the id has no number at its end.
    """
    number = int(item.rpartition("-")[2]) - 1
    kinds = [*plants]
    each, which = divmod(number, 2 * len(kinds))
    return kinds[which % len(kinds)], which >= len(kinds), each + 1


def _clumsy(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
    """A fault at the first reply wherever a kind fits, drawn by the place; honest when it is named.

    Each is such as its own stage finds.
    """
    stage, hop = Stage(inputs["stage"]), inputs.get("hop", 0)
    own = {k: one for k, one in KINDS.items() if k not in LATER}
    fitting = [k for k, one in own.items() if (one.stage, one.hop) == (stage, hop)]
    fitting += [k for k, one in NEST_PLANTS.items() if one.stage is stage and k not in READ]
    if not fitting or repairs:
        return _honest(inputs, repairs)
    kind = random.Random(f"{inputs['item']}/{stage}/{hop}").choice(fitting)
    return _faulty(kind, stubborn=False)(inputs, repairs)


CONSTRUCTORS: Mapping[str, str] = {
    "honest": "right at the first reply",
    "clumsy": "wrong at the first reply of each stage, right when the fault is named",
    "faulty": "plants each kind of fault in turn, by the number of the item",
    "faulty:KIND": "plants one kind of fault, and repairs it when it is named",
    "faulty:KIND:stubborn": "plants one kind of fault in every reply",
    "wrong": "as a checker, always makes other calls; honest else, as the next three",
    "refuses": "as a checker, always says that no tool gives it",
    "malformed": "as a checker, replies in plain words",
    "orders": "as a checker, replies with orders, names and values that nothing may follow",
}


def script(name: str) -> Script:
    """The constructor of a name, such as ``honest``.

    Raises:
        NoSuchModel: there is none.
    """
    play = _constructor(name)
    reads = reader.READERS.get(name, reader.honest)

    def reply(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
        return reads(inputs) if reader.asked(inputs) else play(inputs, repairs)

    return reply


def _constructor(name: str) -> Script:
    """What a name replies to all but the reading of an item.

    Raises:
        NoSuchModel: there is none.
    """
    kind, _, rest = name.partition(":")
    if name in reader.READERS:
        return _honest
    if name in {"honest", "clumsy", "faulty"}:
        return {"honest": _honest, "clumsy": _clumsy, "faulty": _by_number}[name]
    plant, _, form = rest.partition(":")
    if kind == "faulty" and plant in {*KINDS, *NEST_PLANTS} and form in {"", "stubborn"}:
        return _faulty(plant, stubborn=form == "stubborn")
    listed = "\n".join(f"  {PREFIX}{one:22} {what}" for one, what in CONSTRUCTORS.items())
    raise NoSuchModel(
        f"there is no scripted constructor {name!r}; there are\n{listed}\n"
        f"  KIND is one of {', '.join([*KINDS, *NEST_PLANTS])}"
    )


def answered(play: Script, messages: Sequence[Message]) -> Reply:
    """The reply to a conversation, with a token stated for each `TOKEN_BYTES`.

    Raises:
        ValueError: it is no conversation of `toolhop construct`.
    """
    said = [message.content for message in messages if isinstance(message, UserMessage)]
    if not said:
        raise ValueError("the conversation has no message with the inputs of a stage")
    text = play(json.loads(said[0]), said[1:])
    sent = sum(len(message.content.encode()) for message in messages)
    usage = Usage(ceil(sent / TOKEN_BYTES), ceil(len(text.encode()) / TOKEN_BYTES))
    return Reply(text, usage=usage, finish_reason="stop")


def constructing(name: str) -> RequestResponder:
    """A scripted constructor as the loopback server's voice.

    Raises:
        NoSuchModel: there is none of that name.
    """
    play = script(name)
    return lambda request: answered(play, request.messages)


@dataclass(frozen=True)
class ScriptedConstructor:
    """A scripted constructor as a `Model`, in process."""

    name: str
    play: Script
    price: Price | None = None

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`."""
        del tools
        reply = answered(self.play, messages)
        usage = priced(reply.usage, self.price)
        return Reply(reply.content, usage=usage, finish_reason=reply.finish_reason, model=self.name)
