"""Values that are gone from the question, as RelyToolBench has them (its missing parameters)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.mentions import mentions
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.readable import Asked, Ground, ground
from toolhop_tools.english import CHOICES
from toolhop_tools.leaves import Leaf, leaves
from toolhop_tools.model import EpisodeAction, Item, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.perturb.nearest import schema_texts
from toolhop_tools.scenarios.kinds import kind_of
from toolhop_tools.scenarios.label import Hidden, Label, Scenario, is_answer
from toolhop_tools.scenarios.masking import in_name, masked, spans
from toolhop_tools.scenarios.scene import (
    Draft,
    Drafts,
    Reason,
    Scene,
    answered,
    gold_of,
    held_back,
    plain_of,
    shown,
    tried,
)
from toolhop_tools.words import as_text, bare, name_words, runs, words

FEW = 5
"""Values of a list among which one can be guessed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A value of the question that calls need."""

    value: str | int | float
    kind: str
    uses: tuple[tuple[int, Leaf], ...]
    """Hops (from 0) whose gold calls have it, and where."""


def missing_parameter(scene: Scene, seed: int) -> Drafts:
    """One value that a call requires is replaced in the question by what it is."""
    every = _required(scene)
    found = [one for one in every if not is_answer(scene.item, one.value)]
    if not found:
        return Reason.IS_ANSWER if every else Reason.NOTHING_TO_HIDE
    drawn(seed, scene.item, "parameter").shuffle(found)
    drafts = (_hiding(scene, [one], seed) for one in found)
    return tuple(filter(None, drafts)) or Reason.STILL_SAID


# -- which values ------------------------------------------------------------------------------


def _required(scene: Scene) -> list[Said]:
    """Values of required parameters that the question says, each with all its uses."""
    item, found = scene.item, dict[str, Said]()
    alone = Asked("", mentions(item.question), (), item.question, {})
    for at, hop in enumerate(item.hops):
        task = Task(hop, asked(item, at, scene.returned))
        for leaf in leaves(task.schema, gold_of(hop).arguments):
            value = leaf.value
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                continue
            if leaf.path[0] not in task.required or _derived(item, at, value):
                continue
            if _says_what_is_asked(leaf):
                continue
            found_at = spans(item.question, value)
            if not found_at or ground(alone, leaf) > Ground.CHANGED:
                continue
            if isinstance(value, str) and any(in_name(item.question, span) for span in found_at):
                continue
            key = bare(as_text(value))
            before = found.get(key)
            uses = (*(before.uses if before else ()), (at, leaf))
            found[key] = Said(
                value, before.kind if before else kind_of(leaf, _texts(item, at)), uses
            )
    return list(found.values())


def _texts(item: Item, at: int) -> tuple[str, ...]:
    """Texts that show which words are nouns."""
    hop = item.hops[at]
    return (hop.tool.schema.description, hop.question, item.question)


def _says_what_is_asked(leaf: Leaf) -> bool:
    """Whether a value is a relation or a choice, which a question without it does not ask for."""
    asks = not CHOICES.isdisjoint(words(leaf.name.replace("_", " ")))
    return isinstance(leaf.value, str) and (asks or (leaf.is_option and leaf.value.islower()))


def _derived(item: Item, at: int, value: JSON) -> bool:
    """Whether an earlier hop's answer is the value, or has it in it."""
    own = name_words(as_text(value))
    return any(
        same_answer(hop.answer, as_text(value)) or runs(own, words(hop.answer))
        for hop in item.hops[:at]
    )


# -- taking them out ---------------------------------------------------------------------------


def _hiding(scene: Scene, values: Sequence[Said], seed: int) -> Draft | None:
    """The item without some values; None where one can be read or guessed all the same."""
    item = scene.item
    kinds = [one.kind for one in values]
    texts = {text: text for text in (item.question, *(hop.question for hop in item.hops))}
    phrases: dict[int, str] = {}
    # Longer values first: a shorter one may be a part of them.
    for at, one in sorted(enumerate(values), key=lambda pair: -len(as_text(pair[1].value))):
        article = "another" if one.kind in kinds[:at] else "a certain"
        for key, text in texts.items():
            if found := masked(text, one.value, article, one.kind):
                texts[key] = found[0]
                phrases[at] = found[1] if key == item.question else phrases.get(at, found[1])
    made = replace(
        item,
        question=texts[item.question],
        hops=tuple(replace(hop, question=texts[hop.question]) for hop in item.hops),
    )
    made, held = held_back(scene, made)
    made = shown(made, item.tools, seed)
    if any(_left(scene, made, one) for one in values):
        return None
    hidden = tuple(
        Hidden(at + 1, ".".join(map(str, leaf.path)), one.value, phrases[n], _aliases(leaf, one))
        for n, one in enumerate(values)
        for at, leaf in one.uses
    )
    lost = sorted({at for one in values for at, _ in one.uses})
    label = Label(
        Scenario.MISSING_PARAMETER, item.id, False, EpisodeAction.ASK_USER, solvable_after=True,
        lost=tuple(at + 1 for at in lost), hidden=hidden,
    )  # fmt: skip
    return Draft(
        made, label, held, answered(made), tried(made, lost, scene), fault=Reason.STILL_SOLVED,
        in_pairs=False, siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def _aliases(leaf: Leaf, one: Said) -> tuple[str, ...]:
    return tuple(dict.fromkeys((leaf.name, leaf.name.replace("_", " "), one.kind)))


def _left(scene: Scene, made: Item, said: Said) -> bool:
    """Whether a value that was taken out can still be read, in any notation, or guessed."""
    value = said.value
    if any(spans(text, value) for text in (made.question, *(h.question for h in made.hops))):
        return True
    # Other hops name answers, of which one may share a name with the value.
    own = (made.question, *(made.hops[at].question for at, _ in said.uses))
    if isinstance(value, str) and any(_part_left(value, text) for text in own):
        return True
    for at, leaf in said.uses:
        if value in leaf.choices:
            if len(leaf.choices) <= FEW:
                return True
        elif ground(asked(made, at, scene.returned), leaf) is not Ground.NOWHERE:
            return True
    # A number stands in many texts: in those of the tools that are given it, it shows.
    if isinstance(value, str):
        return len(value) > 2 and any(_stated_by(tool, value) for tool in made.tools.values())
    return any(_stated_by(made.hops[at].tool, value) for at, _ in said.uses)


def _stated_by(tool: Tool, value: str | float) -> bool:
    """Whether a schema says the value: in a description, a default, an example."""
    schema, own = tool.schema, name_words(as_text(value))
    shown = dict(schema.parameters)
    texts = [schema.description, *schema_texts(shown), *_values(shown)]
    return any(runs(own, words(text)) or spans(text, value) for text in texts)


def _values(schema: object) -> Iterator[str]:
    """Defaults and examples, at every depth."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in {"default", "example", "examples", "const"}:
                yield str(value)
            else:
                yield from _values(value)
    elif isinstance(schema, list):
        for part in schema:
            yield from _values(part)


def _part_left(value: str, text: str) -> bool:
    """Whether a text still has a telling part of a name: a capitalised word of it."""
    parts = [part for part in re.findall(r"\w+", value) if len(part) > 3 and part[0].isupper()]
    return any(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) for part in parts)
