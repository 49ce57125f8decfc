"""Tools and tasks with limits, as in ToolBeHonest's LFT scenarios and tool limits."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.declared import described
from toolhop_tools.leaves import Leaf, leaves
from toolhop_tools.model import EpisodeAction, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.scenarios.label import Label, Scenario
from toolhop_tools.scenarios.masking import without
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
    out_of_reach,
    renamed,
    shown,
    unsolvable,
    with_lines,
    with_sentence,
    with_tool,
)
from toolhop_tools.scenarios.ways import Vain

# -- removed choices ---------------------------------------------------------------------------


def limited_steps(scene: Scene, seed: int) -> Drafts:
    """Remove a choice that some hops use from the schema, and make the code reject it."""
    item, drafts = scene.item, list[Draft]()
    for at in drawn_hops(scene, seed, "steps"):
        hop = item.hops[at]
        for leaf in leaves(hop.tool.schema.parameters, gold_of(hop).arguments):
            if leaf.value in leaf.choices and len(leaf.choices) > 1 and _may_go(leaf):
                drafts.append(_limited(scene, at, leaf, seed))
    return tuple(drafts) or Reason.NO_CHOICE


def _may_go(leaf: Leaf) -> bool:
    """Whether the choice is at a place that a wrapper can check, and is not a default."""
    top = len(leaf.path) == 1 or (len(leaf.path) == 2 and isinstance(leaf.path[1], int))
    return top and isinstance(leaf.value, str) and leaf.schema.get("default") != leaf.value


def _limited(scene: Scene, at: int, leaf: Leaf, seed: int) -> Draft:
    item, tool, name = scene.item, scene.item.hops[at].tool, str(leaf.path[0])
    why = f"{name} {leaf.value!r} is not supported"
    lines = [
        f"chosen = given.get({name!r})",
        f"if chosen == {leaf.value!r} or isinstance(chosen, list) and {leaf.value!r} in chosen:",
        f"    raise ValueError({why!r})",
        "return {tool}(**given)",
    ]
    schema = dict(tool.schema.parameters)
    known = {**described(schema)}
    known[name] = _without_choice(known.get(name), leaf.value)
    limited = replace(
        with_lines(tool, lines),
        schema=replace(tool.schema, parameters={**schema, "properties": known}),
    )
    lost = [
        n for n in scene.served[tool.name]
        if any(
            one.path[0] == name and one.value == leaf.value
            for one in leaves(schema, gold_of(item.hops[n]).arguments)
        )
    ]  # fmt: skip
    made, held = held_back(scene, item)
    made = shown(with_tool(made, tool.name, limited), made.tools, seed)
    fails = [
        Expected(tool.name, dict(gold_of(item.hops[n]).arguments), item.hops[n].answer,
                 Gives.FAILURE, why, accepted=False)
        for n in lost
    ]  # fmt: skip
    label = Label(Scenario.LIMITED_STEPS, item.id, False, EpisodeAction.CHANGE_TOOLS)
    return unsolvable(scene, made, held, lost, label, seed, expected=fails)


def _without_choice(schema: JSON, value: JSON) -> JSON:
    """Return a parameter's schema without a choice; the description then excludes it."""
    if not isinstance(schema, dict):
        return schema
    listed, inner = schema.get("enum"), schema.get("items")
    if isinstance(listed, list):
        schema = {**schema, "enum": [one for one in listed if one != value]}
    elif isinstance(inner, dict):
        return {**schema, "items": _without_choice(inner, value)}
    about = str(schema.get("description", "")).rstrip()
    return {**schema, "description": f"{about} Not supported: {value}.".strip()}


# -- clones with stated limits -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Range:
    """The values that a clone accepts."""

    text: str
    lines: tuple[str, ...]
    """Code lines that raise for any other value; ``value`` is the argument."""
    fits: bool
    """Whether it accepts the gold argument."""


def limited_clones(scene: Scene, seed: int) -> Drafts:
    """Replace a tool with clones that state limits: none fits the hop; in the sibling, one does."""
    item, drafts = scene.item, list[Draft]()
    for at in drawn_hops(scene, seed, "clones"):
        hop = item.hops[at]
        if len(scene.served[hop.tool.name]) > 1:
            continue
        for leaf in leaves(hop.tool.schema.parameters, gold_of(hop).arguments):
            if len(leaf.path) == 1 and not leaf.is_option:
                fitting, unfit = _ranges(leaf, fits=True), _ranges(leaf, fits=False)
                if fitting and unfit:
                    drafts.append(_cloned(scene, at, leaf, (unfit, fitting), seed))
    return tuple(drafts) or Reason.NO_LIMIT


def _ranges(leaf: Leaf, *, fits: bool) -> list[Range]:
    """Return three ranges; exactly one contains the value if `fits`, else none."""
    name, value = leaf.name, leaf.value
    if isinstance(value, str):
        first = _initial(value)
        return [_letters(name, *ends, first) for ends in _alphabet(first, fits)] if first else []
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 1:
        low, high = int(value / 2), int(value * 2) + 1
        cuts = [(None, low), (low + 1, high), (high + 1, None)]
        if not fits:
            cuts = [(None, low), (high, high * 10), (high * 10 + 1, None)]
        return [_numbers(name, ends, value) for ends in cuts]
    return []


def _initial(value: str) -> str:
    plain = value.lower().removeprefix("the ").strip()
    return plain[0] if plain and plain[0] in string.ascii_lowercase else ""


def _alphabet(first: str, fits: bool) -> list[tuple[str, str]]:
    """Return three ranges: the whole alphabet if one must fit, else all letters except this one."""
    letters = string.ascii_lowercase
    if fits:
        return [("a", "h"), ("i", "p"), ("q", "z")]
    at = letters.index(first)
    sides = sorted((letters[:at], letters[at + 1 :]), key=len)
    parts = [part for part in (sides[0],) if part]
    count = 3 - len(parts)
    size = len(sides[1]) // count
    cuts = [n * size for n in range(count)] + [len(sides[1])]
    parts += [sides[1][a:b] for a, b in itertools.pairwise(cuts)]
    return [(part[0], part[-1]) for part in sorted(parts)]


def _letters(name: str, low: str, high: str, first: str) -> Range:
    letters = low.upper() if low == high else f"{low.upper()} to {high.upper()}"
    text = f"It knows only what begins with {letters} as {name}."
    lines = (
        "value = str(value).lower()",
        "value = value[4:] if value.startswith('the ') else value",
        f"fits = {low!r} <= value.strip()[:1] <= {high!r}",
    )
    return Range(text, lines, low <= first <= high)


def _numbers(name: str, ends: tuple[int | None, int | None], value: float) -> Range:
    low, high = ends
    parts = ([] if low is None else [f"from {low}"]) + ([] if high is None else [f"up to {high}"])
    tests = ([] if low is None else [f"value >= {low}"]) + (
        [] if high is None else [f"value <= {high}"]
    )
    fits = (low is None or value >= low) and (high is None or value <= high)
    lines = (f"fits = isinstance(value, (int, float)) and {' and '.join(tests)}",)
    return Range(f"It takes only a {name} {' '.join(parts)}.", lines, fits)


def _cloned(
    scene: Scene, at: int, leaf: Leaf, ranges: tuple[Sequence[Range], Sequence[Range]], seed: int
) -> Draft:
    item, hop = scene.item, scene.item.hops[at]
    arguments = dict(gold_of(hop).arguments)
    whole, held = held_back(scene, item)
    rest = [n for n in range(len(item.hops)) if n != at]
    names = [name for name in item.tools if name != hop.tool.name]
    drafts = []
    for fits, chosen in zip((False, True), ranges, strict=True):
        order = [*range(len(chosen))]
        drawn(seed, item, f"clones {at}").shuffle(order)
        clones = [_clone(hop.tool, chosen[n], leaf.name, "abc"[k]) for k, n in enumerate(order)]
        pairs = [(clone, chosen[n].fits) for clone, n in zip(clones, order, strict=True)]
        used = [clone for clone, fitting in pairs if fitting]
        hops = list(item.hops)
        if used:
            hops[at] = replace(hop, tool=used[0])
        others = (*whole.others, *(one for one in clones if one not in used))
        made = shown(
            replace(item, hops=tuple(hops), others=others),
            [*names, *(clone.name for clone in clones)], seed,
        )  # fmt: skip
        expected = [
            Expected(clone.name, arguments, hop.answer, Gives.ANSWER if fitting else Gives.FAILURE)
            for clone, fitting in pairs
        ]
        label = Label(
            Scenario.LIMITED_CLONES, item.id, fits, None if fits else EpisodeAction.CHANGE_TOOLS,
            lost=() if fits else (at + 1,),
        )  # fmt: skip
        drafts.append(
            Draft(
                made,
                label,
                held,
                (*answered(made, rest), *expected),
                () if fits else (out_of_reach(scene, made, [at]),),
                scene.further,
                fault=Reason.STILL_SOLVED,
            )
        )
    unsolvable, solvable = drafts
    return replace(unsolvable, siblings=(solvable,))


def _clone(tool: Tool, limit: Range, parameter: str, letter: str) -> Tool:
    lines = [
        f"value = given.get({parameter!r})",
        *limit.lines,
        "if not fits:",
        f"    raise ValueError({limit.text!r})",
        "return {tool}(**given)",
    ]
    clone = with_lines(tool, lines)
    return renamed(clone, f"{tool.name[:60]}_{letter}", limit.text)


# -- fewer calls than hops ---------------------------------------------------------------------


def call_limit(scene: Scene, seed: int) -> Drafts:
    """Allow fewer calls than the chain needs; the sibling allows as many as it has hops."""
    item = scene.item
    needed = sorted(_needed(scene))
    # A hop that only computes can be done without a call.
    counted = [at for at in needed if item.hops[at].tool.name not in scene.computing]
    if len(counted) < 2:
        return Reason.LOOKED_UP
    most = drawn(seed, item, "limit").randint(1, len(counted) - 1)
    whole, held = held_back(scene, item)
    made = shown(with_sentence(whole, _sentence(most)), whole.tools, seed)
    enough = shown(with_sentence(whole, _sentence(len(item.hops))), whole.tools, seed)
    kind = Scenario.CALL_LIMIT
    label = Label(
        kind, item.id, False, EpisodeAction.GIVE_UP, lost=tuple(at + 1 for at in counted[most:])
    )
    sibling = Draft(enough, Label(kind, item.id, True), expected=answered(enough))
    return (
        Draft(
            made, label, held, answered(made), _jumps(scene, needed, most),
            further=scene.further, fault=Reason.SHORT_CUT, siblings=(sibling,),
        ),
    )  # fmt: skip


def _sentence(most: int) -> str:
    return f"You may call tools {most} {'time' if most == 1 else 'times'} at most."


def _needed(scene: Scene) -> set[int]:
    """Return the last hop and the hops (from 0) on which its gold arguments depend."""
    found, left = set[int](), [len(scene.item.hops) - 1]
    while left:
        at = left.pop()
        if at not in found:
            found.add(at)
            left += [edge.hop - 1 for edge in scene.proofs[at].edges]
    return found


def _jumps(scene: Scene, needed: Iterable[int], most: int) -> tuple[Vain, ...]:
    """Return searches that skip a hop: for the answer from the question alone, and for each
    needed hop's answer without one of the answers that it uses.
    """
    item = scene.item
    found = [Vain(item.question, (), (item.answer,), most)]
    for at in needed:
        for edge in dict.fromkeys(edge.hop - 1 for edge in scene.proofs[at].edges):
            question = without(item.hops[at].question, item.hops[edge].answer, "that")
            kept = tuple(
                scene.returned.get(n, hop.answer)
                for n, hop in enumerate(item.hops[:at])
                if n != edge
            )
            text = f"{item.question} {question or ''}".strip()
            found.append(Vain(text, kept, (item.hops[at].answer,), 1))
    return tuple(found)
