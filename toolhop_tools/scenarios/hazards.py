"""Tools in which something goes wrong. All but the broken one leave the item solvable."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.answering import Kind
from toolhop_tools.dates import whole_date
from toolhop_tools.declared import described, required
from toolhop_tools.model import EpisodeAction, Flaky, Hop, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.reading import Reading, leaf_text, read_result
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
    renamed,
    shown,
    unsolvable,
    with_lines,
    with_sentence,
    with_tool,
)

DOWN = (
    "the service is down for maintenance",
    "the database cannot be reached",
    "an internal error; the request was not handled",
)
BUSY = (
    "too many requests: try again",
    "the connection was lost: try again",
    "a lock was not free in time: try again",
)
SLOW_S = 2.5
"""Seconds that a slow tool takes at least; a run allows a call 10 by default."""
LARGE = 1000
"""Least number that is given in thousands."""


def broken_tool(scene: Scene, seed: int) -> Drafts:
    """The tool of a hop raises at each call."""
    item, drafts = scene.item, list[Draft]()
    whole, held = held_back(scene, item)
    for at in drawn_hops(scene, seed, "broken"):
        hop, why = item.hops[at], drawn(seed, item, "down").choice(DOWN)
        lines = [f"raise RuntimeError({why!r})"]
        made = with_tool(whole, hop.tool.name, with_lines(hop.tool, lines))
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


def slow_tool(scene: Scene, seed: int) -> Drafts:
    """The tool of a hop waits before it works."""
    rng = drawn(seed, scene.item, "slow")
    hop = scene.item.hops[rng.randrange(len(scene.item.hops))]
    lines = ["import time", f"time.sleep({SLOW_S})", "return {tool}(**given)"]
    draft = _hazard(scene, Scenario.SLOW_TOOL, hop, with_lines(hop.tool, lines), seed)
    return (replace(draft, expected=tuple(replace(one, slow=True) for one in draft.expected)),)


def drifted_schema(scene: Scene, seed: int) -> Drafts:
    """A parameter has another name in the schema than in the code, whose error says its own."""
    drafts = []
    for at in drawn_hops(scene, seed, "schema"):
        hop = scene.item.hops[at]
        properties = described(hop.tool.schema.parameters)
        for name in _shuffled(scene, seed, f"names {at}", _arguments(hop)):
            if name not in properties:
                continue
            other = drawn(seed, scene.item, name).choice(
                [f"input_{name}", f"{name}_given", f"query_{name}"]
            )
            if other in properties:
                continue
            tool, why = _renamed(hop.tool, name, other)
            draft = _hazard(scene, Scenario.DRIFTED_SCHEMA, hop, tool, seed)
            by_schema = {other if key == name else key: v for key, v in _arguments(hop).items()}
            fails = Expected(tool.name, by_schema, hop.answer, Gives.FAILURE, why)
            drafts.append(replace(draft, expected=(*draft.expected, fails)))
    return tuple(drafts) or Reason.NO_ARGUMENT


def _renamed(tool: Tool, name: str, other: str) -> tuple[Tool, str]:
    """The tool under a schema with another name of a parameter, and what its code says to it.

    The schema is open and does not require the name: else the simulator would refuse the call that
    the code wants.
    """
    schema = dict(tool.schema.parameters)
    kept = [one for one in required(schema) if one != name]
    properties: dict[str, JSON] = {
        other if key == name else key: part for key, part in described(schema).items()
    }
    schema |= {"properties": properties, "required": [*kept], "additionalProperties": True}
    why = f"unexpected argument {other!r}: it is called {name!r} now"
    lines = [f"if {other!r} in given:", f"    raise TypeError({why!r})", "return {tool}(**given)"]
    drifted = with_lines(tool, lines)
    return replace(drifted, schema=replace(tool.schema, parameters=schema)), why


def drifted_output(scene: Scene, seed: int) -> Drafts:
    """A result has other fields than it had, or gives a number in thousands."""
    drafts = []
    for at in drawn_hops(scene, seed, "output"):
        hop, result = scene.item.hops[at], scene.proofs[at].result or ""
        reading, value = gold_of(hop).reading, read_result(result)
        if reading is None:
            continue
        leaf, rng = _leaf(value, reading), drawn(seed, scene.item, f"output {at}")
        large = isinstance(leaf, int | float) and not isinstance(leaf, bool) and abs(leaf) >= LARGE
        if large and same_answer(hop.answer, leaf_text(leaf)) and rng.random() < 0.5:
            tool, gives = with_lines(hop.tool, _IN_THOUSANDS), Gives.THOUSANDTH
        else:
            tool, gives = with_lines(hop.tool, _other_fields(reading, result)), Gives.ANSWER
        draft = _hazard(scene, Scenario.DRIFTED_OUTPUT, hop, tool, seed)
        call = Expected(hop.tool.name, _arguments(hop), hop.answer, gives)
        hops = tuple(
            replace(one, gold=replace(gold_of(one), reading=None))
            if one.tool.name == tool.name
            else one
            for one in draft.item.hops
        )
        rest = answered(
            draft.item, [n for n in range(len(hops)) if n not in scene.served[tool.name]]
        )
        drafts.append(replace(draft, item=replace(draft.item, hops=hops), expected=(*rest, call)))
    return tuple(drafts) or Reason.NO_OTHER_ANSWER


def _other_fields(reading: Reading, result: str) -> list[str]:
    """Wrapper lines that rename the field in which the answer stands, or put it into one."""
    named = [step for step in reading.path if isinstance(step, str)]
    if not named:
        return ["return {'data': {'content': {tool}(**given)}}"]
    old = named[-1]
    forms = (f"{old}_value", f"{old}_entry", f"record_{old}")
    new = next(one for one in forms if json.dumps(one) not in result)
    return _changed("renamed", "part", key=f"({new!r} if key == {old!r} else key)")


def _changed(name: str, leaf: str, *, key: str = "key") -> list[str]:
    """Wrapper lines that change a result at every depth, by a function of a name.

    Args:
        name: of the function.
        leaf: the code of what a scalar ``part`` becomes.
        key: the code of what a ``key`` becomes.
    """
    return [
        f"def {name}(part):",
        "    if isinstance(part, dict):",
        f"        return {{{key}: {name}(inner) for key, inner in part.items()}}",
        "    if isinstance(part, (list, tuple)):",
        f"        return [{name}(inner) for inner in part]",
        f"    return {leaf}",
        f"return {name}({{tool}}(**given))",
    ]


_IN_THOUSANDS = _changed(
    "smaller",
    f"{{'number': part / 1000, 'unit': 'thousands'}} "
    f"if type(part) in (int, float) and abs(part) >= {LARGE} else part",
)
"""Wrapper lines that give large numbers in thousands, and say so."""


SOURCES = ("Meridian", "Halvard", "Corvane", "Tessaly", "Ondrin", "Belcastre")
"""Invented names of collections of records."""


def contradiction(scene: Scene, seed: int) -> Drafts:
    """A second tool says otherwise, and the question says which to believe."""
    drafts = []
    for at in drawn_hops(scene, seed, "contradiction"):
        hop, proof = scene.item.hops[at], scene.proofs[at]
        reading = gold_of(hop).reading
        leaf = _leaf(read_result(proof.result or ""), reading) if reading else None
        if reading is None or isinstance(leaf, list | dict | bool) or leaf is None:
            continue
        said = leaf_text(leaf)[slice(*reading.span)] if reading.span else leaf_text(leaf)
        other = _other(scene, said, seed, at)
        # Of a sum there are no two records.
        looked_up = hop.tool.name not in scene.computing
        if other is not None and looked_up and len(scene.served[hop.tool.name]) == 1:
            drafts.append(_contradicting(scene, at, (leaf, said, other), seed))
    return tuple(drafts) or Reason.NO_OTHER_ANSWER


def _contradicting(scene: Scene, at: int, change: tuple[JSON, str, str], seed: int) -> Draft:
    item, hop = scene.item, scene.item.hops[at]
    rng = drawn(seed, item, f"sources {at}")
    right, wrong = rng.sample(SOURCES, 2)
    own = _of_source(hop.tool, right)
    second = with_lines(_of_source(hop.tool, wrong), _saying(*change))
    sentence = (
        f"Where two tools give different answers, go by the {right} records and not by those of "
        f"{wrong}."
    )
    whole, _ = held_back(scene, item)
    whole = with_sentence(with_tool(whole, hop.tool.name, own), sentence)
    made = replace(whole, others=(*whole.others, second))
    names = [own.name if name == hop.tool.name else name for name in item.tools]
    made = shown(made, [*names, second.name], seed)
    label = Label(
        Scenario.CONTRADICTION, item.id, True, recovery={own.name: _arguments(hop)},
    )  # fmt: skip
    otherwise = Expected(second.name, _arguments(hop), change[2], Gives.ANSWER)
    silent = Expected(second.name, _arguments(hop), hop.answer, Gives.NO_ANSWER)
    return Draft(
        made, label, expected=(*answered(made), otherwise, silent),
        fault=Reason.STILL_SOLVED, siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def _of_source(tool: Tool, source: str) -> Tool:
    """The tool as one that reads the records of a source, which name and description say."""
    return renamed(tool, f"{tool.name[:50]}_{source.lower()}", f"It reads the {source} records.")


def _saying(leaf: JSON, said: str, other: str) -> list[str]:
    """Wrapper lines that put another answer wherever a result has one."""
    part = isinstance(leaf, str) and said != leaf
    if isinstance(leaf, int | float):
        new: JSON = type(leaf)(other)
        change = f"{new!r} if type(part) is {type(leaf).__name__} and part == {leaf!r} else part"
    elif part:
        change = f"part.replace({said!r}, {other!r}) if isinstance(part, str) else part"
    else:
        change = f"{other!r} if part == {leaf!r} else part"
    return _changed("otherwise", change)


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


def _shuffled(scene: Scene, seed: int, what: str, names: Mapping[str, JSON]) -> Sequence[str]:
    found = sorted(names)
    drawn(seed, scene.item, what).shuffle(found)
    return found


def _arguments(hop: Hop) -> dict[str, JSON]:
    return dict(gold_of(hop).arguments)


def _leaf(value: JSON, reading: Reading) -> JSON:
    for step in reading.path:
        try:
            value = value[step]  # type: ignore[index]
        except (TypeError, KeyError, IndexError):
            return None
    return value
