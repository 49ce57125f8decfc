"""Tools in which something goes wrong. All but the broken one leave the item solvable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.certify.answering import Kind
from toolhop_tools.dates import whole_date
from toolhop_tools.model import EpisodeAction, Flaky, GoldCall, Hop, Tool, ToolSchema
from toolhop_tools.perturb.change import drawn
from toolhop_tools.reading import Match, Reading, leaf_text, read_result
from toolhop_tools.scenarios.label import Label, Scenario
from toolhop_tools.scenarios.scene import (
    Draft,
    Drafts,
    Expected,
    Gives,
    Reason,
    Scene,
    answered,
    drawn_hops,
    gold_of,
    held_back,
    plain_of,
    shown,
    unsolvable,
    with_lines,
    with_tool,
)

DOWN = (
    "this service was shut down for good and does not come back",
    "the records behind this tool are lost; no call of it will be answered any more",
    "this tool was withdrawn: every call of it fails",
)
"""What a tool says that is broken for good."""
BUSY = (
    "too many requests: try again",
    "the connection was lost: try again",
    "a lock was not free in time: try again",
)


def broken_tool(scene: Scene, seed: int) -> Drafts:
    """The tool of a hop raises at each call."""
    item, drafts = scene.item, list[Draft]()
    whole, held = held_back(scene, item)
    for at in drawn_hops(scene, seed, "missing"):
        hop, why = item.hops[at], drawn(seed, item, "down").choice(DOWN)
        source = f"def broken(**given):\n    raise RuntimeError({why!r})\n"
        broken = replace(hop.tool, body=Program(source, "broken"))
        made = with_tool(whole, hop.tool.name, broken)
        made, lost = shown(made, item.tools, seed), scene.served[hop.tool.name]
        label = Label(Scenario.BROKEN_TOOL, item.id, False, EpisodeAction.GIVE_UP)
        fails = Expected(hop.tool.name, _arguments(hop), hop.answer, Gives.FAILURE, why)
        drafts.append(unsolvable(scene, made, held, lost, label, seed, expected=[fails]))
    return tuple(drafts)


def flaky_tool(scene: Scene, seed: int) -> Drafts:
    """The tool of a hop fails at its first calls of an episode, and then works."""
    rng = drawn(seed, scene.item, "busy")
    hop = scene.item.hops[rng.randrange(len(scene.item.hops))]
    body = Flaky(hop.tool.program, rng.randint(1, 2), rng.choice(BUSY))
    return (_hazard(scene, Scenario.FLAKY_TOOL, hop, replace(hop.tool, body=body), seed),)


# -- a wrong value, and nothing that says so ---------------------------------------------------


def wrong_once(scene: Scene, seed: int) -> Drafts:
    """The tool of a hop gives a wrong value at its first call of an episode, and then the right
    one; the record that it names has the right one too.
    """
    return _wrong(scene, seed, Scenario.WRONG_ONCE)


def wrong_always(scene: Scene, seed: int) -> Drafts:
    """The tool of a hop gives a wrong value at each call; the record that it names has the right
    one.
    """
    return _wrong(scene, seed, Scenario.WRONG_ALWAYS)


def _wrong(scene: Scene, seed: int, kind: Scenario) -> Drafts:
    drafts = []
    for at in drawn_hops(scene, seed, "wrong"):
        hop, proof = scene.item.hops[at], scene.proofs[at]
        reading = gold_of(hop).reading
        leaf = _leaf(read_result(proof.result or ""), reading) if reading else None
        if reading is None or isinstance(leaf, list | dict | bool) or leaf is None:
            continue
        said = leaf_text(leaf)[slice(*reading.span)] if reading.span else leaf_text(leaf)
        other = _other(scene, said, seed, at)
        # Of a sum there is no record.
        looked_up = hop.tool.name not in scene.computing
        alone = len(scene.served[hop.tool.name]) == 1
        if other is not None and looked_up and alone:
            drafts.append(_with_record(scene, at, (leaf, said, other), kind, seed))
    return tuple(drafts) or Reason.NO_OTHER_ANSWER


def _with_record(
    scene: Scene, at: int, change: tuple[JSON, str, str], kind: Scenario, seed: int
) -> Draft:
    """The item in which the tool of a hop names a record with each result, and another reads it.

    The record holds the right value. No call reads it but by its number, which the first tool
    gives beside its own value: so the way to the answer leads through both.
    """
    item, hop = scene.item, scene.item.hops[at]
    gold, arguments = gold_of(hop), _arguments(hop)
    number = f"{drawn(seed, item, f'record {at}').randrange(10_000, 100_000)}"
    name = f"{hop.tool.name[:50]}_record"
    reader = _reader(name, number, read_result(scene.proofs[at].result or ""))
    otherwise = _otherwise(*change)
    right, wrong = (_copying(hop.tool, otherwise, part, name, number) for part in ("own", "copy"))
    tool = wrong
    if kind is Scenario.WRONG_ONCE:
        tool = replace(wrong, body=Flaky(right.program, 1, "", wrong.program))
    whole, _ = held_back(scene, item)
    named = GoldCall(gold.arguments, gold.source, Reading(Match.VALUE, ("record",)))
    read = GoldCall({"record": number}, gold.source, gold.reading)
    hops = [
        *item.hops[:at],
        Hop(f"Which record has what is asked: {hop.question}", number, tool, named),
        replace(hop, tool=reader, gold=read),
        *item.hops[at + 1 :],
    ]
    made = replace(whole, hops=tuple(hops))
    made = shown(made, [*item.tools, name], seed)
    expected = [
        *answered(made),
        Expected(tool.name, arguments, change[2], Gives.ANSWER, first=True),
        Expected(tool.name, arguments, hop.answer, Gives.NO_ANSWER, first=True),
    ]
    if kind is Scenario.WRONG_ONCE:
        expected.append(Expected(tool.name, arguments, hop.answer, Gives.ANSWER))
    label = Label(kind, item.id, True, recovery={name: {"record": number}})
    return Draft(
        made, label, expected=tuple(expected), fault=Reason.STILL_SOLVED,
        siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def _copying(tool: Tool, otherwise: Sequence[str], part: str, name: str, number: str) -> Tool:
    """The tool with the number of a record beside its ``own`` result, or beside a wrong ``copy``.

    Only a result that has the value in question has the number that is given.
    """
    about = tool.schema.description.rstrip()
    about += "" if about.endswith((".", "!", "?")) else "."
    about += f" What it gives is a copy of a record that it names; {name} reads the record itself."
    lines = [
        *otherwise,
        "own = {tool}(**given)",
        "copy = otherwise(own)",
        "letters = enumerate(repr(own), 1)",
        "number = 10000 + sum(place * ord(letter) for place, letter in letters) % 90000",
        f"number = {number!r} if copy != own else str(number)",
        f"return {{'result': {part}, 'record': number}}",
    ]
    return replace(with_lines(tool, lines), schema=replace(tool.schema, description=about))


def _reader(name: str, number: str, value: JSON) -> Tool:
    """The tool that reads a record by its number; it has the one."""
    source = (
        f"def {name}(record):\n    if str(record) != {number!r}:\n"
        f"        raise LookupError('no record ' + str(record) + ' is kept here')\n"
        f"    return {value!r}\n"
    )
    about = {"type": "string", "description": "The number of the record."}
    parameters: dict[str, JSON] = {
        "type": "object", "properties": {"record": {**about}}, "required": ["record"],
    }  # fmt: skip
    schema = ToolSchema(name, "Reads a record. Where a copy differs, the record holds.", parameters)
    return Tool(schema, Program(source, name))


def _otherwise(leaf: JSON, said: str, other: str) -> list[str]:
    """Wrapper lines with a function that puts another answer wherever a result has one."""
    part = isinstance(leaf, str) and said != leaf
    if isinstance(leaf, int | float):
        new: JSON = type(leaf)(other)
        change = f"{new!r} if type(part) is {type(leaf).__name__} and part == {leaf!r} else part"
    elif part:
        change = f"part.replace({said!r}, {other!r}) if isinstance(part, str) else part"
    else:
        change = f"{other!r} if part == {leaf!r} else part"
    return [
        "def otherwise(part):",
        "    if isinstance(part, dict):",
        "        return {key: otherwise(inner) for key, inner in part.items()}",
        "    if isinstance(part, (list, tuple)):",
        "        return [otherwise(inner) for inner in part]",
        f"    return {change}",
    ]


def _other(scene: Scene, said: str, seed: int, at: int) -> str | None:
    """Another answer of the kind of one; None where there is none that is as plausible."""
    rng, kind = drawn(seed, scene.item, f"other {at}"), Kind.of(said)
    if kind is Kind.NUMBER:
        number = plain_number(plain_text(said))
        if number is None or number != number.to_integral_value() or "," in said:
            return None
        return str(int(number) + rng.randint(1, max(3, int(abs(number)) // 20)))
    if kind is Kind.DATE:
        year = re.search(r"(?<!\d)[12]\d{3}(?!\d)", said)
        if year is None:
            return None
        moved = f"{int(year[0]) + rng.choice([-3, -2, -1, 1, 2, 3]):04}"
        found = said[: year.start()] + moved + said[year.end() :]
        # The 29th of February is in few years.
        return found if whole_date(found) is not None else None
    if kind is Kind.LETTER:
        letters = [one for one in "abcdefghijklmnopqrstuvwxyz" if one != said.lower()]
        one = rng.choice(letters)
        return (one.upper() if said.isupper() else one) if len(said) == 1 else None
    own = {plain_text(hop.answer) for hop in scene.item.hops} | {plain_text(said)}
    return next(scene.alike(said, own, rng), None)


# -- parts -------------------------------------------------------------------------------------


def _hazard(scene: Scene, kind: Scenario, hop: Hop, tool: Tool, seed: int) -> Draft:
    """The item with another tool at a hop, which the gold call still solves."""
    item = scene.item
    whole, _ = held_back(scene, item)
    made = shown(with_tool(whole, hop.tool.name, tool), item.tools, seed)
    label = Label(kind, item.id, True, recovery={tool.name: _arguments(hop)})
    return Draft(
        made, label, expected=answered(made), fault=Reason.STILL_SOLVED,
        siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def _arguments(hop: Hop) -> dict[str, JSON]:
    return dict(gold_of(hop).arguments)


def _leaf(value: JSON, reading: Reading) -> JSON:
    for step in reading.path:
        try:
            value = value[step]  # type: ignore[index]
        except (TypeError, KeyError, IndexError):
            return None
    return value
