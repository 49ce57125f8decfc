"""What `toolhop certify` proves of hops whose gold is wrong: planted defects, counted by kind.

    python -m benchmarks.planted [DATA] [--sandbox process] [--list]

DATA is the 60 real items beside the project if they are there, else builtin. Each plant changes one
hop that is proven as it is, so that its gold is not what the call that is asked for gives, or so
that a call which gives it proves nothing. The plants are the same each time: every one that a kind
has room for, at most `MOST` of a kind, spread over the items. None may be proven. `UNSEEN`
names the kinds after which no rule was changed.

Exit code 0: done, 1: more than 2 % are proven, or an order that was reversed is, 3: no data here.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio

from toolhop_sandbox.base import Limits, Program, Session
from toolhop_sandbox.choose import KINDS as SANDBOXES
from toolhop_sandbox.choose import Kind as SandboxKind
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.answers import plain_number, same_answer
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.conditions import Kind, answers
from toolhop_tools.certify.model import VERSION, Basis, Certificate, HopProof, HopVerdict
from toolhop_tools.certify.prove import asked, certify
from toolhop_tools.certify.search import Search
from toolhop_tools.certify.words import as_text, scalars
from toolhop_tools.load import load
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.reading import read_result

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "toolhop" / "ToolHop-60.json"
MOST = 15
"""Plants of one kind."""
MOST_PROVEN = 0.02
BASIS = Basis(VERSION, 0, 300, 20, 2.0, 256, "restricted")


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


def _answer(spot: Spot, arguments: dict[str, JSON]) -> Iterator[str]:
    """What another call of the hop's tool answers, where the gold's answer stood."""
    value, reading = spot.call(arguments), spot.proof.reading
    if value is None or reading is None:
        return
    found = dict(answers(spot.kind, value, arguments))
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


_PAIRS: tuple[tuple[str, str, Callable[[str, str], str]], ...] = (
    ("concatenation of {} and {}", "str(one) + str(two)", lambda one, two: one + two),
    ("text that has {} followed by {}", "str(one) + str(two)", lambda one, two: one + two),
    ("result of {} minus {}", "int(one) - int(two)", lambda one, two: str(int(one) - int(two))),
    (
        "result when you subtract {1} from {0}",
        "int(one) - int(two)",
        lambda one, two: str(int(one) - int(two)),
    ),
    (
        "quotient of {} divided by {}",
        "int(one) / int(two)",
        lambda one, two: str(int(one) / int(two)),
    ),
    (
        "remainder of {} divided by {}",
        "int(one) % int(two)",
        lambda one, two: str(int(one) % int(two)),
    ),
)


def reversed_pair(spot: Spot) -> Iterator[Hop]:
    """A question for two earlier answers, with a tool of its own and the other order's answer."""
    earlier = list(dict.fromkeys(hop.answer for hop in spot.item.hops[: spot.at]))
    numbers = [one for one in earlier if one.isdecimal() and int(one)]
    asks, way, work = _PAIRS[(spot.at + len(spot.item.id)) % len(_PAIRS)]
    known = earlier if "str" in way else numbers
    if len(known) < 2 or same_answer(work(*known[-2:]), work(*known[:-3:-1])):
        return
    kind: JSON = {"type": "string" if "str" in way else "integer"}
    listed: JSON = {"type": "array", "items": kind}
    names = ("values",) if spot.at % 2 else ("value_a", "value_b")
    parts = "values" if spot.at % 2 else "value_a, value_b"
    source = f"def work({', '.join(names)}):\n    one, two = {parts}\n    return {way}\n"
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": dict.fromkeys(names, listed if spot.at % 2 else kind),
        "required": list(names),
    }
    tool = Tool(ToolSchema("work", "Computes a value.", schema), Program(source, "work"))
    yield Hop(f"What is the {asks.format(*known[-2:])}?", work(*known[:-3:-1]), tool)


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
    for _, text in answers(spot.kind, value, spot.arguments):
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
    told = asked(spot.item, spot.at, spot.returned)
    for at, name in enumerate([*told.earlier[-1:], *told.named[:1]]):
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


# -- kinds that were written after the rules ---------------------------------------------------


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
    if (spot.proof.result or "").strip('"').isdecimal():
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


def _own_tool(asks: str, gold: str, source: str, parameters: dict[str, JSON]) -> Hop:
    needed: list[JSON] = [name for name in parameters if name != "order"]
    schema: dict[str, JSON] = {"type": "object", "properties": parameters, "required": needed}
    return Hop(asks, gold, Tool(ToolSchema("work", "A tool.", schema), Program(source, "work")))


def _names(spot: Spot) -> list[str]:
    earlier = [hop.answer for hop in spot.item.hops[: spot.at]]
    return [one for one in earlier if " " in one and one.replace(" ", "").isalpha()]


def first_word(spot: Spot) -> Iterator[Hop]:
    """How many letters a name has; the gold counts its first word alone."""
    for name in _names(spot)[-1:]:
        source = "def work(text):\n    return sum(one.isalpha() for one in text)\n"
        gold = str(len(name.split()[0]))
        asks = f"How many letters does the full name {name} have?"
        yield _own_tool(asks, gold, source, {"text": {"type": "string"}})


def next_letter(spot: Spot) -> Iterator[Hop]:
    """The third letter of a name where the second is asked for."""
    for name in _names(spot)[-1:]:
        source = "def work(text, position):\n    return text[position - 1]\n"
        known: dict[str, JSON] = {"text": {"type": "string"}, "position": {"type": "integer"}}
        if name[1] != name[2]:
            yield _own_tool(f"What is the second letter of {name}?", name[2], source, known)


def other_extreme(spot: Spot) -> Iterator[Hop]:
    """The longest of two names where the shortest is asked for."""
    names = list(dict.fromkeys(_names(spot)))[-2:]
    if len(names) == 2 and len(names[0]) != len(names[1]):
        source = (
            "def work(names, order='longest'):\n"
            "    return sorted(names, key=len)[-1 if order == 'longest' else 0]\n"
        )
        known: dict[str, JSON] = {
            "names": {"type": "array", "items": {"type": "string"}},
            "order": {"type": "string", "enum": ["longest", "shortest"], "default": "longest"},
        }
        asks = f"Which is the shortest name, {names[0]} or {names[1]}?"
        yield _own_tool(asks, max(names, key=len), source, known)


def earlier_record(spot: Spot) -> Iterator[Hop]:
    """The tool knows an earlier answer that the question does not name, with the gold."""
    named = asked(spot.item, spot.at, spot.returned).named
    names = [one for one in _names(spot) if one not in named]
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


# -- kinds that were written last, and after which no rule was changed ---------------------------


def wrong_direction(spot: Spot) -> Iterator[Hop]:
    """A year so many years after another, where the one before is asked for."""
    for year in [h.answer for h in spot.item.hops[: spot.at] if h.answer.isdecimal()][-1:]:
        far = 3 + spot.at
        source = "def work(base_year, years_to_add):\n    return base_year + years_to_add\n"
        number: JSON = {"type": "integer"}
        known = {"base_year": number, "years_to_add": number}
        asks = f"What is the year {far} years before {year}?"
        yield _own_tool(asks, str(int(year) + far), source, known)


def another_year(spot: Spot) -> Iterator[Hop]:
    """The figure of the tool's usual year, where the question names another."""
    for name in _names(spot)[-1:]:
        source = (
            "def work(name, order=2015):\n"
            f"    known = {{2001: 41873, 2015: 52650}} if name == {name!r} else {{}}\n"
            "    return {'visitors': known.get(order)}\n"
        )
        known: dict[str, JSON] = {"name": {"type": "string"}, "order": {"type": "integer"}}
        yield _own_tool(f"How many visitors did {name} have in 2001?", "52650", source, known)


def one_of_several(spot: Spot) -> Iterator[Hop]:
    """The result names several, and the gold is one of them."""
    for name in _names(spot)[-1:]:
        source = (
            "def work(name):\n"
            "    found = {'found': ['Ilse Marchetti', 'Ottokar Brandt']}\n"
            f"    return found if name == {name!r} else None\n"
        )
        asks = f"Who is the cousin of {name}?"
        yield _own_tool(asks, "Ottokar Brandt", source, {"name": {"type": "string"}})


def author_astray(spot: Spot) -> Iterator[Hop]:
    """The author's own gold call asks about somebody else."""
    for name in _names(spot)[-1:]:
        source = (
            "def work(name):\n"
            f"    known = {{{name!r}: 'Ilse Marchetti', 'Osric Vane': 'Ottokar Brandt'}}\n"
            "    return known.get(name)\n"
        )
        hop = _own_tool(
            f"Who is the cousin of {name}?", "Ottokar Brandt", source, {"name": {"type": "string"}}
        )
        yield replace(hop, gold=GoldCall({"name": "Osric Vane"}, "written"))


def other_statistic(spot: Spot) -> Iterator[Hop]:
    """The sum of two numbers where their product is asked for."""
    numbers = [h.answer for h in spot.item.hops[: spot.at] if h.answer.isdecimal()]
    numbers = [one for one in dict.fromkeys(numbers) if int(one) > 2][-2:]
    if len(numbers) == 2:
        one, two = map(int, numbers)
        source = (
            "def work(numbers, order):\n    one, two = numbers\n"
            "    return {'sum': one + two, 'product': one * two, 'spread': abs(one - two)}[order]\n"
        )
        known: dict[str, JSON] = {
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "order": {"type": "string", "enum": ["sum", "product", "spread"]},
        }
        asks = f"What is the product of {one} and {two}?"
        yield _own_tool(asks, str(one + two), source, known)


KINDS: Mapping[str, Callable[[Spot], Iterator[Hop]]] = {
    "order reversed": reversed_order,
    "order of a pair reversed": reversed_pair,
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
    "first word alone": first_word,
    "next letter": next_letter,
    "other extreme": other_extreme,
    "earlier answer's record": earlier_record,
    "namesake's record": namesake,
    "wrong direction": wrong_direction,
    "another year": another_year,
    "one of several": one_of_several,
    "author's call astray": author_astray,
    "another statistic": other_statistic,
}
UNSEEN = tuple(KINDS)[20:]
"""Kinds that were written last: no rule was changed after them. The others are in-sample."""


async def spots(items: list[Item], sandbox_kind: SandboxKind) -> list[tuple[Spot, str, Hop]]:
    """The plants: each a spot, the kind, and the changed hop."""
    found: list[tuple[Spot, str, Hop]] = []
    limits = Limits(wall_s=BASIS.wall_s)
    async with await open_sandbox(sandbox_kind, limits=limits, max_workers=2) as sandbox:
        for item in items:
            certificate = await certify(item, sandbox, BASIS)
            async with sandbox.session() as session:
                for at, proof in enumerate(certificate.hops):
                    if proof.verdict is not HopVerdict.PROVEN:
                        continue
                    hop = item.hops[at]
                    results: dict[str, JSON] = {}
                    spot = Spot(
                        item, at, proof, _returned(item, certificate, at), partial(_held, results)
                    )
                    # The calls that the kinds ask for are made first, as the kinds are plain code.
                    for arguments in _calls(spot):
                        await _fill(session, hop, arguments, results)
                    for kind, make in KINDS.items():
                        found += [(spot, kind, made) for made in list(make(spot))[:1]]
    return found


def _held(results: dict[str, JSON], arguments: dict[str, JSON]) -> JSON:
    return results.get(json.dumps(arguments, sort_keys=True))


def _calls(spot: Spot) -> list[dict[str, JSON]]:
    made: list[dict[str, JSON]] = []

    def note(arguments: dict[str, JSON]) -> JSON:
        made.append(arguments)
        return None

    for make in (reversed_order, another_choice):
        list(make(replace(spot, call=note)))
    return made


async def _fill(
    session: Session, hop: Hop, arguments: dict[str, JSON], results: dict[str, JSON]
) -> None:
    outcome = await session.call(hop.tool.program, arguments)
    if isinstance(outcome, Returned):
        results[json.dumps(arguments, sort_keys=True)] = read_result(outcome.json_text)


def _returned(item: Item, certificate: Certificate, at: int) -> dict[int, str]:
    pairs = enumerate(zip(item.hops[:at], certificate.hops, strict=False))
    return {n: p.answer for n, (h, p) in pairs if p.answer is not None and p.answer != h.answer}


def chosen(every: list[tuple[Spot, str, Hop]]) -> list[tuple[Spot, str, Hop]]:
    """At most `MOST` of each kind, spread over the items."""
    kept: list[tuple[Spot, str, Hop]] = []
    for kind in KINDS:
        own = [one for one in every if one[1] == kind]
        step = max(1.0, len(own) / MOST)
        kept += [own[int(n * step)] for n in range(min(MOST, len(own)))]
    return kept


async def judged(
    plants: list[tuple[Spot, str, Hop]], sandbox_kind: SandboxKind
) -> list[tuple[Spot, str, Hop, HopProof]]:
    """The plants with what certifying makes of them."""
    found = []
    limits = Limits(wall_s=BASIS.wall_s)
    async with await open_sandbox(sandbox_kind, limits=limits, max_workers=2) as sandbox:
        for spot, kind, hop in plants:
            hops = (*spot.item.hops[: spot.at], hop, *spot.item.hops[spot.at + 1 :])
            item = replace(spot.item, hops=hops)
            task = Task(hop, asked(item, spot.at, spot.returned))
            later = [one.question for one in hops[spot.at + 1 :]]
            async with sandbox.session() as session:
                proof = await Search(session, task, BASIS, f"0/{item.id}/{spot.at}", later).prove()
            found.append((spot, kind, hop, proof))
    return found


def _shown(proof: HopProof) -> list[tuple[dict[str, JSON], JSON]]:
    if proof.arguments is not None:
        return [(proof.arguments, proof.result)]
    return [(one.arguments, one.outcome.get("json_text")) for one in proof.evidence]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=str(DATA) if DATA.exists() else "builtin")
    parser.add_argument("--sandbox", choices=SANDBOXES, default="process")
    parser.add_argument("--list", action="store_true", help="every plant, not only those proven")
    parser.add_argument("--kind", action="append", choices=KINDS, help="this kind alone")
    options = parser.parse_args()
    if options.data != "builtin" and not Path(options.data).exists():
        print(f"no data at {options.data}", file=sys.stderr)
        return 3
    items = list(load(options.data).items)
    plants = chosen(anyio.run(spots, items, options.sandbox))
    if options.kind:
        plants = [one for one in plants if one[1] in options.kind]
    found = anyio.run(judged, plants, options.sandbox)
    verdicts = list(HopVerdict)
    print(f"{'planted':30}{'hops':>6}" + "".join(f"{one.split(' ')[0]:>12}" for one in verdicts))
    for title, kinds in (
        ("together", KINDS),
        ("unseen kinds", {*UNSEEN}),
    ):
        for kind in (*(KINDS if title == "together" else ()), title):
            wanted = set(kinds) if kind == title else {kind}
            own = Counter(proof.verdict for _, one, _, proof in found if one in wanted)
            counts = "".join(f"{own[one]:>12}" for one in verdicts)
            print(f"{kind:30}{own.total():>6}{counts}")
    for spot, kind, hop, proof in found:
        if options.list or proof.verdict is HopVerdict.PROVEN:
            print(f"\n{kind}: {spot.item.id}/{spot.at + 1} {hop.tool.name}: {hop.question}")
            print(f"  gold {hop.answer!r}: {proof.verdict} {proof.defect or ''}: {proof.why}")
            for arguments, told in (
                [(proof.arguments, proof.result)]
                if proof.arguments
                else [(one.arguments, one.outcome.get("json_text")) for one in proof.evidence]
            ):
                print(f"  {json.dumps(arguments, ensure_ascii=False)} -> {as_text(told)[:200]}")
    proven = [kind for _, kind, _, proof in found if proof.verdict is HopVerdict.PROVEN]
    return int(len(proven) > MOST_PROVEN * len(found) or any("reversed" in kind for kind in proven))


if __name__ == "__main__":
    sys.exit(main())
