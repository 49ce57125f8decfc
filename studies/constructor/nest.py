"""The honest constructor of nested tasks: right at the first reply, at every stage."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from studies.constructor.nest_code import as_code
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.model import Api, Field, Nest, NestCall, placeholders
from toolhop_tools.construct.nested.pool import Structure, possible, sizes
from toolhop_tools.construct.nested.task import plain_task
from toolhop_tools.construct.stages import Stage

STAGES = (Stage.CHAIN, Stage.MEANING, Stage.TASK)
VERBS = ("look up", "book", "check", "register", "reserve", "inspect", "order", "assign")
THINGS = (
    "berth", "crate", "pass", "pilot", "tide", "locker", "crane", "lantern", "ledger", "permit",
    "buoy", "anchor", "cabin", "signal", "chart", "depot", "winch", "ferry", "hull", "mooring",
)  # fmt: skip
PLACES = ("Skarvik", "Ostermole", "Little Quay", "Port Amsel", "Nordhook", "Vellin Bay")
KINDS = ("str", "int", "float")


def reply(inputs: Mapping[str, Any]) -> str:
    """The text of the reply to a stage's inputs.

    Raises:
        KeyError, ValueError: these are no inputs of a stage.
    """
    match Stage(inputs["stage"]):
        case Stage.CHAIN:
            return as_code(invented(inputs["item"], inputs["depth"], inputs["width"]))
        case Stage.MEANING:
            rows = inputs["references"]
            entries = [
                {"reference": row["reference"], "meant": True, "why": "It is what is asked for."}
                for row in rows
            ]
            return json.dumps({"references": entries})
        case Stage.TASK:
            return json.dumps({"task": task_of(inputs)}, ensure_ascii=False)
        case other:
            raise ValueError(f"nothing is asked of a nested task at the stage {other}")


def task_of(inputs: Mapping[str, Any]) -> str:
    """The text by rule, with words before it."""
    nest = Nest.from_row({"api": inputs["tools"], "call": inputs["calls"], "task": ""})
    return f"Please see to all of this. {plain_task(nest)}"


def invented(item: str, depth: int | None, width: int | None) -> Nest:
    """Tools and calls of a wanted form about a harbour, made by the item's name alone."""
    rng = random.Random(f"nest/{item}")
    deep, wide = depth or rng.randint(2, 4), width or rng.randint(1, 3)
    kinds = [one for one in Structure if possible(one, deep, wide) and one is not Structure.ANY]
    rng.shuffle(kinds)
    levels = next(found for one in kinds if (found := sizes(one, deep, wide, rng)))
    things = rng.sample(THINGS, len(THINGS))
    apis: list[Api] = []
    calls: list[NestCall] = []
    before: list[int] = []
    for size in levels:
        groups: list[list[int]] = [[] for _ in range(size)]
        for at in range(max(size, len(before)) if before else 0):
            groups[at % size].append(before[at % len(before)])
        level = []
        for group in groups:
            level.append(len(apis))
            sources = [(apis[at], calls[at].responses[0]) for at in group]
            api, parameters = _call(rng, things[len(apis)], sources)
            apis.append(api)
            texts = placeholders(len(api.responses) for api in apis)
            calls.append(NestCall(api.name, parameters, texts[-1]))
        before = level
    nest = Nest((*apis,), (*calls,))
    return Nest(nest.apis, nest.calls, plain_task(nest))


def _call(
    rng: random.Random, thing: str, sources: Sequence[tuple[Api, str]]
) -> tuple[Api, dict[str, JSON]]:
    """A tool that takes the first response of each source, given with its placeholder, and the
    parameters of its call.
    """
    verb = rng.choice(VERBS)
    parameters: dict[str, Field] = {}
    given: dict[str, JSON] = {}
    for source, placeholder in sources:
        name, field = next(iter(source.responses.items()))
        parameters[name] = Field(field.type, field.description)
        given[name] = placeholder
    parameters["harbour"] = Field("str", "the harbour")
    given["harbour"] = rng.choice(PLACES)
    parameters["share"] = Field("float", "the share that is meant")
    given["share"] = rng.randint(101, 899) / 8
    required = (*parameters,)
    parameters["days"] = Field("int", "for how many days")
    if rng.random() < 0.6:
        given["days"] = rng.randint(12, 90)
    kind = rng.choice(KINDS)
    responses = {
        f"{thing}_code": Field(kind, f"the code of the {thing}"),
        f"{thing}_state": Field("str", f"the state that the {thing} is in"),
    }
    if rng.random() < 0.4:
        responses.popitem()
    name = f"{verb.replace(' ', '_')}_{thing}"
    about = f"{verb.capitalize()} the {thing} of a harbour"
    return Api(name, f"{about}.", parameters, required, responses), given
