"""Tools in which something goes wrong. All but the broken one leave the item solvable."""

from __future__ import annotations

import re
from dataclasses import replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.certify.answering import Kind
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.prove import asked
from toolhop_tools.dates import whole_date
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
    vain = Task(replace(made.hops[at], tool=second, gold=None), asked(made, at, scene.returned))
    return Draft(
        made, label, expected=(*answered(made), otherwise), in_vain=(vain,),
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
    return [
        "def otherwise(part):",
        "    if isinstance(part, dict):",
        "        return {key: otherwise(inner) for key, inner in part.items()}",
        "    if isinstance(part, (list, tuple)):",
        "        return [otherwise(inner) for inner in part]",
        f"    return {change}",
        "return otherwise({tool}(**given))",
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
