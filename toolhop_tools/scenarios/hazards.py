"""Tools in which something goes wrong. Only the broken tool makes the item unsolvable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.certify.answering import Kind
from toolhop_tools.dates import whole_date
from toolhop_tools.model import EpisodeAction, Flaky, GoldCall, Hop, Item, Tool, ToolSchema
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
"""Error messages of a permanently broken tool."""
BUSY = (
    "too many requests: try again",
    "the connection was lost: try again",
    "a lock was not free in time: try again",
)


def broken_tool(scene: Scene, seed: int) -> Drafts:
    """Make the tool of a hop raise on every call."""
    item, drafts = scene.item, list[Draft]()
    whole, held = held_back(scene, item)
    for at in drawn_hops(scene, seed, "missing"):
        made, fails = broken(scene, whole, at, seed)
        label = Label(Scenario.BROKEN_TOOL, item.id, False, EpisodeAction.GIVE_UP)
        lost = scene.served[item.hops[at].tool.name]
        drafts.append(unsolvable(scene, made, held, lost, label, seed, expected=[fails]))
    return tuple(drafts)


def broken(scene: Scene, whole: Item, at: int, seed: int) -> tuple[Item, Expected]:
    """Return the item whose tool at a hop (from 0) always raises, and the expected call."""
    hop, why = whole.hops[at], drawn(seed, scene.item, "down").choice(DOWN)
    source = f"def broken(**given):\n    raise RuntimeError({why!r})\n"
    tool = replace(hop.tool, body=Program(source, "broken"))
    fails = Expected(tool.name, _arguments(hop), hop.answer, Gives.FAILURE, why)
    return without_records(scene, with_tool(whole, tool.name, tool), tool, seed), fails


def flaky_tool(scene: Scene, seed: int) -> Drafts:
    """Make the tool of a hop fail on its first calls in an episode, and then work."""
    rng = drawn(seed, scene.item, "busy")
    hop = scene.item.hops[rng.randrange(len(scene.item.hops))]
    body = Flaky(hop.tool.program, rng.randint(1, 2), rng.choice(BUSY))
    return (_hazard(scene, Scenario.FLAKY_TOOL, hop, replace(hop.tool, body=body), seed),)


# -- wrong values without an error -------------------------------------------------------------


def wrong_once(scene: Scene, seed: int) -> Drafts:
    """Make the tool of a hop return a wrong value on its first call in an episode, and the right
    one afterwards; the record that it names has the right value.
    """
    return _wrong(scene, seed, Scenario.WRONG_ONCE)


def wrong_always(scene: Scene, seed: int) -> Drafts:
    """Make the tool of a hop return a wrong value on every call; the record that it names has
    the right value.
    """
    return _wrong(scene, seed, Scenario.WRONG_ALWAYS)


def _wrong(scene: Scene, seed: int, kind: Scenario) -> Drafts:
    drafts = [_with_record(scene, *told, kind, seed) for told in _contradicted(scene, seed)]
    return tuple(drafts) or Reason.NO_OTHER_ANSWER


def _contradicted(scene: Scene, seed: int) -> Iterator[tuple[int, tuple[JSON, str, str]]]:
    """Yield hops (from 0) whose tool can return a wrong value, each with the result's leaf that
    contains the answer, the answer as written there, and a replacement.
    """
    for at in drawn_hops(scene, seed, "wrong"):
        hop, proof = scene.item.hops[at], scene.proofs[at]
        reading = gold_of(hop).reading
        leaf = _leaf(read_result(proof.result or ""), reading) if reading else None
        if reading is None or isinstance(leaf, list | dict | bool) or leaf is None:
            continue
        said = leaf_text(leaf)[slice(*reading.span)] if reading.span else leaf_text(leaf)
        other = _other(scene, said, seed, at)
        # A computed value has no record.
        looked_up = hop.tool.name not in scene.computing
        alone = len(scene.served[hop.tool.name]) == 1
        if other is not None and looked_up and alone:
            yield at, (leaf, said, other)


def without_records(scene: Scene, item: Item, tool: Tool, seed: int) -> Item:
    """Return an unsolvable item with a tool that claims to name records, and one that reads them,
    although there are none.

    Two solvable items of the family have such tools: their absence would give the label away.
    """
    if next(_contradicted(scene, seed), None) is None:
        return shown(item, item.tools, seed)
    reader = _reader(tool, {})
    return _with_reader(scene, with_tool(item, tool.name, _naming(tool, reader)), reader, seed)


def _with_record(
    scene: Scene, at: int, change: tuple[JSON, str, str], kind: Scenario, seed: int
) -> Draft:
    """Return the item in which the tool of a hop names a record with each result, and another tool
    reads it.

    The record has the right value. It can only be read by its number, which the first tool returns
    beside its own value, so every path to the answer uses both tools.
    """
    item, hop = scene.item, scene.item.hops[at]
    gold, arguments = gold_of(hop), _arguments(hop)
    number = f"{drawn(seed, item, f'record {at}').randrange(10_000, 100_000)}"
    reader = _reader(hop.tool, {number: read_result(scene.proofs[at].result or "")})
    otherwise = _otherwise(*change)
    right, wrong = (_copying(hop.tool, otherwise, part, reader, number) for part in ("own", "copy"))
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
    made = _with_reader(scene, replace(whole, hops=tuple(hops)), reader, seed)
    expected = [
        *answered(made),
        Expected(tool.name, arguments, change[2], Gives.ANSWER, first=True),
        Expected(tool.name, arguments, hop.answer, Gives.NO_ANSWER, first=True),
    ]
    if kind is Scenario.WRONG_ONCE:
        expected.append(Expected(tool.name, arguments, hop.answer, Gives.ANSWER))
    label = Label(kind, item.id, True, recovery={reader.name: {"record": number}})
    return Draft(
        made, label, expected=tuple(expected), fault=Reason.STILL_SOLVED,
        siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def _with_reader(scene: Scene, item: Item, reader: Tool, seed: int) -> Item:
    """Add the tool that reads records, replacing one that neither serves a hop nor names records.

    If possible, the replaced tool comes from another item and is not one of the item's own
    distractors.
    """
    free = [
        name
        for name, tool in item.tools.items()
        if name not in scene.served and reader.name not in tool.schema.description
    ]
    free = [name for name in free if name not in scene.item.tools] or free
    out = drawn(seed, item, "reader").choice(free) if free else ""
    others = [tool for tool in item.others if tool.name != out]
    others += [reader] if reader.name not in item.all_tools else []
    names = [*(name for name in item.tools if name != out), reader.name]
    return shown(replace(item, others=tuple(others)), names, seed)


def _naming(tool: Tool, reader: Tool) -> Tool:
    """Return the tool with a description that says it names records, and which tool reads them."""
    about = tool.schema.description.rstrip()
    about += "" if about.endswith((".", "!", "?")) else "."
    about += " What it gives is a copy of a record that it names; "
    about += f"{reader.name} reads the record itself."
    return replace(tool, schema=replace(tool.schema, description=about))


def _copying(tool: Tool, otherwise: Sequence[str], part: str, reader: Tool, number: str) -> Tool:
    """Return the tool with a record number beside its ``own`` result, or beside a wrong ``copy``.

    Only a result that contains the value in question has the given number.
    """
    lines = [
        *otherwise,
        "own = {tool}(**given)",
        "copy = otherwise(own)",
        "letters = enumerate(repr(own), 1)",
        "number = 10000 + sum(place * ord(letter) for place, letter in letters) % 90000",
        f"number = {number!r} if copy != own else str(number)",
        f"return {{'result': {part}, 'record': number}}",
    ]
    return _naming(with_lines(tool, lines), reader)


def _reader(tool: Tool, records: dict[str, JSON]) -> Tool:
    """Return a tool that reads these records of another tool by number."""
    name = f"{tool.name[:50]}_record"
    source = (
        f"def {name}(record):\n    records = {records!r}\n    if str(record) not in records:\n"
        f"        raise LookupError('no record ' + str(record) + ' is kept here')\n"
        f"    return records[str(record)]\n"
    )
    about = {"type": "string", "description": "The number of the record."}
    parameters: dict[str, JSON] = {
        "type": "object", "properties": {"record": {**about}}, "required": ["record"],
    }  # fmt: skip
    schema = ToolSchema(name, "Reads a record. Where a copy differs, the record holds.", parameters)
    return Tool(schema, Program(source, name))


def _otherwise(leaf: JSON, said: str, other: str) -> list[str]:
    """Return wrapper lines with a function that replaces the answer wherever it is in a result."""
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
    """Return another answer of the same kind; None if no plausible one exists."""
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
        # February 29 may not exist in the new year.
        return found if whole_date(found) is not None else None
    if kind is Kind.LETTER:
        letters = [one for one in "abcdefghijklmnopqrstuvwxyz" if one != said.lower()]
        one = rng.choice(letters)
        return (one.upper() if said.isupper() else one) if len(said) == 1 else None
    own = {plain_text(hop.answer) for hop in scene.item.hops} | {plain_text(said)}
    return next(scene.alike(said, own, rng), None)


# -- parts -------------------------------------------------------------------------------------


def _hazard(scene: Scene, kind: Scenario, hop: Hop, tool: Tool, seed: int) -> Draft:
    """Return the item with another tool at a hop, which the gold call still solves."""
    item = scene.item
    whole, _ = held_back(scene, item)
    made = with_tool(whole, hop.tool.name, tool)
    made = shown(made, made.tools, seed)
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
