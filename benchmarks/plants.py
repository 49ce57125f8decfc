"""Planted defects in the tools of items: golds that the call which is asked for does not give."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, same_answer
from toolhop_tools.certify.answering import Kind, values
from toolhop_tools.certify.model import HopProof
from toolhop_tools.certify.prove import asked
from toolhop_tools.model import Hop, Item
from toolhop_tools.reading import Path, read_result
from toolhop_tools.words import scalars


@dataclass(frozen=True)
class Spot:
    """A hop that is proven, where something can be planted."""

    item: Item
    at: int
    proof: HopProof
    returned: Mapping[int, str]
    call: Callable[[dict[str, JSON]], JSON]
    """The result of the hop's tool; None where it gives none."""

    @property
    def hop(self) -> Hop:
        return self.item.hops[self.at]

    @property
    def arguments(self) -> dict[str, JSON]:
        return dict(self.proof.arguments or {})

    @property
    def kind(self) -> Kind:
        return Kind.of(self.hop.answer)

    @property
    def names(self) -> list[str]:
        """The earlier answers that are names of several words."""
        earlier = [hop.answer for hop in self.item.hops[: self.at]]
        return [one for one in earlier if " " in one and one.replace(" ", "").isalpha()]

    def gold(self, text: str) -> Iterator[Hop]:
        """The hop with another gold."""
        if text.strip() and not same_answer(self.hop.answer, text):
            yield replace(self.hop, answer=text)

    def wrapped(self, body: str, parameters: Mapping[str, JSON] | None = None) -> Hop:
        """The hop with a tool around its tool; `body` sees `given` and `inner`."""
        tool, name = self.hop.tool, self.hop.tool.program.function
        source = (
            f"{tool.program.source}\n\ninner_tool = {name}\n\n"
            f"def {name}(**given):\n    inner = inner_tool\n{body}\n"
        )
        schema = tool.schema
        if parameters:
            known = schema.parameters.get("properties")
            needed = schema.parameters.get("required")
            optional = {n for n, one in parameters.items() if "(optional)" in json.dumps(one)}
            schema = replace(
                schema,
                parameters={
                    **schema.parameters,
                    "properties": {**(known if isinstance(known, dict) else {}), **parameters},
                    "required": [
                        *(needed if isinstance(needed, list) else []),
                        *(n for n in parameters if n not in optional),
                    ],
                },
            )
        made = replace(tool, schema=schema, body=Program(source, name))
        return replace(self.hop, tool=made)


def _answers(kind: Kind, value: JSON, arguments: dict[str, JSON]) -> list[tuple[Path, str]]:
    """What a result could be taken to answer, of one kind."""
    found = values(value, arguments)
    return [(answer.path, answer.text) for answer in found if Kind.of(answer.text) is kind]


def _answer(spot: Spot, arguments: dict[str, JSON]) -> Iterator[str]:
    """What another call of the hop's tool answers, where the gold's answer stood."""
    value, reading = spot.call(arguments), spot.proof.reading
    if value is None or reading is None:
        return
    found = dict(_answers(spot.kind, value, arguments))
    text = found.get(reading.path, next(iter(found.values()), ""))
    if spot.hop.answer.casefold() not in text.casefold():
        yield text


def reversed_order(spot: Spot) -> Iterator[Hop]:
    """The answer of the call with a list or a pair the other way round."""
    own = spot.arguments
    for name, value in own.items():
        if isinstance(value, list) and len(value) > 1 and value != value[::-1]:
            for text in _answer(spot, {**own, name: value[::-1]}):
                yield from spot.gold(text)
    names = [name for name, value in own.items() if isinstance(value, int | float)]
    for one, other in itertools.pairwise(names):
        for text in _answer(spot, {**own, one: own[other], other: own[one]}):
            yield from spot.gold(text)


def another_choice(spot: Spot) -> Iterator[Hop]:
    """The answer of the call with another choice of the schema, or another switch."""
    known = spot.hop.tool.schema.parameters.get("properties")
    for name, schema in (known if isinstance(known, dict) else {}).items():
        if not isinstance(schema, dict):
            continue
        choices = _listed(schema)
        if schema.get("type") == "boolean":
            choices = [True, False]
        items = schema.get("items")
        if isinstance(items, dict):
            choices = [[one] for one in _listed(items)]
        for choice in choices:
            for text in _answer(spot, {**spot.arguments, name: choice}):
                yield from spot.gold(text)


def _listed(schema: Mapping[str, JSON]) -> list[JSON]:
    found = schema.get("enum")
    return found if isinstance(found, list) else []


def another_leaf(spot: Spot) -> Iterator[Hop]:
    """Another field or element of the right result."""
    value = read_result(spot.proof.result or "null")
    for _, text in _answers(spot.kind, value, spot.arguments):
        if spot.hop.answer.casefold() not in text.casefold():
            yield from spot.gold(text)


def plausible(spot: Spot) -> Iterator[Hop]:
    """Another number nearby, or the answer of another hop."""
    number = plain_number(spot.hop.answer)
    if number is not None:
        yield from spot.gold(str(number + 1))
        return
    for hop in spot.item.hops:
        if Kind.of(hop.answer) is spot.kind and hop is not spot.hop:
            yield from spot.gold(hop.answer)


def question_name(spot: Spot) -> Iterator[Hop]:
    """A name that the sub-question has."""
    for name in asked(spot.item, spot.at, spot.returned).named[:1]:
        yield from spot.gold(name)


def neighbour(spot: Spot) -> Iterator[Hop]:
    """The tool knows another name, with the gold, and something else of the right one."""
    texts = [leaf for _, leaf in scalars(spot.arguments) if isinstance(leaf, str) and " " in leaf]
    if not texts or spot.kind is not Kind.TEXT:
        return
    body = f"""
    if "Osric Vanterpool" in str(given):
        return {{"result": {spot.hop.answer!r}}}
    if {texts[0]!r} in str(given):
        return {{"result": "Ilse Marchetti"}}
    return {{"error": "not found"}}
"""
    made = spot.wrapped(body)
    example = json.dumps(spot.arguments, ensure_ascii=False).replace(texts[0], "Osric Vanterpool")
    tool = made.tool
    source = f"{tool.program.source}\n# {tool.program.function}(**{json.loads(example)!r})\n"
    body_ = Program(source, tool.program.function)
    yield replace(made, tool=replace(tool, body=body_))


def condition(spot: Spot) -> Iterator[Hop]:
    """The question has a condition that a switch of the tool takes; the gold ignores it."""
    switch: JSON = {"type": "boolean", "description": "Give the answer reversed. (optional)"}
    body = """
    mirrored = given.pop("reversed_spelling", False)
    value = inner(**given)
    return str(value)[::-1] if mirrored else value
"""
    if spot.kind is Kind.TEXT and spot.proof.reading and not spot.proof.reading.path:
        made = spot.wrapped(body, {"reversed_spelling": switch})
        asks = spot.hop.question.rstrip("? ") + ", in reversed spelling?"
        yield replace(made, question=asks)
    if spot.kind is Kind.NUMBER:
        doubled = """
    twice = given.pop("count_both_sides", False)
    value = inner(**given)
    return {"number": 2 * int(str(value).strip("[]"))} if twice else value
"""
        if (spot.proof.result or "").strip('[]"').isdecimal():
            switch = {"type": "boolean", "description": "Count both sides. (optional)"}
            made = spot.wrapped(doubled, {"count_both_sides": switch})
            asks = spot.hop.question.rstrip("? ") + ", when both sides count?"
            yield replace(made, question=asks)


def source_literal(spot: Spot) -> Iterator[Hop]:
    """The tool answers only with a key that its source alone has."""
    body = """
    if given.pop("record_key") != "rk-4471":
        return {"error": "no such record"}
    return inner(**given)
"""
    made = spot.wrapped(body, {"record_key": {"type": "string", "description": "The record."}})
    tool = made.tool
    arguments = {**spot.arguments, "record_key": "rk-4471"}
    source = f"{tool.program.source}\nprint({tool.program.function}(**{arguments!r}))\n"
    yield replace(made, tool=replace(tool, body=Program(source, tool.program.function)))


def echo(spot: Spot) -> Iterator[Hop]:
    """The tool gives back what it is given; the gold is a name at hand."""
    bodies = (
        '\n    return {"result": " ".join(str(one) for one in given.values())}\n',
        '\n    return {"query": given, "status": "ok"}\n',
    )
    task = asked(spot.item, spot.at, spot.returned)
    for at, name in enumerate([*task.earlier[-1:], *task.named[:1]]):
        made = spot.wrapped(bodies[(spot.at + at) % 2])
        yield replace(made, answer=name)


def near_constant(spot: Spot) -> Iterator[Hop]:
    """The tool gives the gold whatever it is asked, unless that is very short."""
    body = f"""
    if len(str(given)) < 12:
        return "not found"
    return {{"answer": {spot.hop.answer!r}, "asked": str(list(given))}}
"""
    yield spot.wrapped(body)


def cut_name(spot: Spot) -> Iterator[Hop]:
    """The result is a longer name, joined by a hyphen or an apostrophe, that holds the gold."""
    text = spot.hop.answer
    if spot.kind is Kind.TEXT and text.replace(" ", "").isalpha():
        longer = (f"{text}-Ashdown", f"O'{text}", f"{text}'Kala")[spot.at % 3]
        body = f"""
    known = inner(**given)
    said = {text.casefold()!r} in str(known).casefold()
    return {{"told": "The answer is {longer}."}} if said else known
"""
        yield spot.wrapped(body)


def kept_state(spot: Spot) -> Iterator[Hop]:
    """The tool gives the gold from its second call on."""
    body = f"""
    seen.append(1)
    return {spot.hop.answer!r} if len(seen) > 1 and "error" not in str(inner(**given)) else None
"""
    made = spot.wrapped(body)
    source = "seen = []\n" + made.tool.program.source
    yield replace(made, tool=replace(made.tool, body=Program(source, made.tool.program.function)))


def denied(spot: Spot) -> Iterator[Hop]:
    """The result says that the answer is not the gold."""
    if spot.kind is Kind.TEXT:
        gold = spot.hop.answer
        yield spot.wrapped(f"""
    known = inner(**given)
    said = {gold.casefold()!r} in str(known).casefold()
    return "It is Ilse Marchetti, not {gold}." if said else known
""")


def another_unit(spot: Spot) -> Iterator[Hop]:
    """The question names a unit that the tool takes, and the gold is in its usual one."""
    if (spot.proof.result or "").strip('"').isdecimal() and spot.hop.answer != "0":
        unit: JSON = {
            "type": "string",
            "enum": ["miles", "kilometres"],
            "default": "miles",
            "description": "The unit. (optional)",
        }
        made = spot.wrapped(
            """
    unit = given.pop("unit", "miles")
    value = int(inner(**given))
    return value if unit == "miles" else round(value * 1.609, 2)
""",
            {"unit": unit},
        )
        yield replace(made, question=spot.hop.question.rstrip("? ") + ", in kilometres?")


def earlier_record(spot: Spot) -> Iterator[Hop]:
    """The tool knows an earlier answer that the question does not name, with the gold."""
    named = asked(spot.item, spot.at, spot.returned).named
    names = [one for one in spot.names if one not in named]
    if names and named and spot.kind is Kind.TEXT:
        yield spot.wrapped(f"""
    if {names[-1]!r} in str(given):
        return {{"found": {spot.hop.answer!r}}}
    return {{"found": "Ilse Marchetti"}} if {named[0]!r} in str(given) else {{"found": None}}
""")


def namesake(spot: Spot) -> Iterator[Hop]:
    """The tool knows the first word of the name, with the gold, and the whole with another."""
    texts = [leaf for _, leaf in scalars(spot.arguments) if isinstance(leaf, str) and " " in leaf]
    if texts and spot.kind is Kind.TEXT:
        first = texts[0].split()[0]
        yield spot.wrapped(f"""
    if {texts[0]!r} in str(given):
        return "Ilse Marchetti"
    return {spot.hop.answer!r} if {first!r} in str(given) else "not found"
""")


IN_TOOLS: Mapping[str, Callable[[Spot], Iterator[Hop]]] = {
    "order reversed": reversed_order,
    "another choice": another_choice,
    "another field or element": another_leaf,
    "another plausible answer": plausible,
    "a name of the question": question_name,
    "neighbour's record": neighbour,
    "condition ignored": condition,
    "literal of the source": source_literal,
    "echo": echo,
    "near-constant": near_constant,
    "part of a joined name": cut_name,
    "state that is kept": kept_state,
    "denied in the result": denied,
    "another unit": another_unit,
    "earlier answer's record": earlier_record,
    "namesake's record": namesake,
}
