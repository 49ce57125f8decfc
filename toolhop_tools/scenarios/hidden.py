"""Remove a value from the question, as in RelyToolBench's missing parameters.

No rule removes a value from a sentence. A person writes how the question reads without it, called a
form: for the built-in items in ``unsaid.json``; for others in the item's ``extra``, under `FORMS`,
in the same shape. Code then checks that the value can no longer be read anywhere.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_text, same_answer
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.readable import Ground, ground
from toolhop_tools.leaves import Leaf, leaves, with_value
from toolhop_tools.model import EpisodeAction, Item, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.perturb.nearest import schema_texts
from toolhop_tools.scenarios.label import Hidden, Label, Scenario, is_answer
from toolhop_tools.scenarios.masking import spans
from toolhop_tools.scenarios.scene import (
    Draft,
    Drafts,
    Expected,
    Gives,
    Reason,
    Scene,
    answered,
    gold_of,
    held_back,
    out_of_reach,
    plain_of,
    shown,
)
from toolhop_tools.words import as_text, bare, name_words, runs, words

FORMS = "unsaid"
"""Field of an item's `extra` with a list of forms."""
GUESSES = 32
"""Maximum number of other values tried in place of a hidden one."""
FEW = 5
"""Length of a list of choices up to which a value can be guessed."""


@dataclass(frozen=True)
class Form:
    """How an item's texts read without a value."""

    value: str | int | float
    noun: str
    """Noun for the value, as a person says it after *the*: ``moon``."""
    instead: Mapping[str, str]
    """Replacements for parts of the question and of sub-questions."""


_FORMS: TypeAdapter[list[Form]] = TypeAdapter(list[Form])


@cache
def built_in() -> dict[str, list[Form]]:
    """Return the forms of the built-in items, by id."""
    text = files("toolhop_tools.scenarios").joinpath("unsaid.json").read_text(encoding="utf-8")
    return {name: _FORMS.validate_python(found) for name, found in json.loads(text).items()}


def forms_of(item: Item) -> list[Form]:
    """Return the forms that come with an item, or those in the package; only forms that fit."""
    try:
        found = _FORMS.validate_python(item.extra.get(FORMS) or built_in().get(item.id, []))
    except ValidationError:
        return []
    return [one for one in found if any(said in item.question for said in one.instead)]


def missing_parameter(scene: Scene, seed: int) -> Drafts:
    """Remove one value that a call requires from the question."""
    forms = forms_of(scene.item)
    if not forms:
        return Reason.NO_FORM
    secret = [one for one in forms if not is_answer(scene.item, one.value)]
    if not secret:
        return Reason.IS_ANSWER
    drawn(seed, scene.item, "parameter").shuffle(secret)
    return tuple(filter(None, (_hiding(scene, one, seed) for one in secret))) or Reason.STILL_SAID


def _uses(scene: Scene, value: JSON) -> list[tuple[int, Leaf]]:
    """Return the hops (from 0) whose gold calls require the value, with its leaf, unless an
    earlier answer provides it.
    """
    item, own, found = scene.item, bare(as_text(value)), list[tuple[int, Leaf]]()
    for at, hop in enumerate(item.hops):
        task = Task(hop, asked(item, at, scene.returned))
        for leaf in leaves(task.schema, gold_of(hop).arguments):
            required = leaf.path[0] in task.required and not _derived(item, at, leaf.value)
            if bare(as_text(leaf.value)) == own and required:
                found.append((at, leaf))
    return found


def _derived(item: Item, at: int, value: JSON) -> bool:
    """Whether an earlier hop's answer equals or contains the value."""
    own = name_words(as_text(value))
    return any(
        same_answer(hop.answer, as_text(value)) or runs(own, words(hop.answer))
        for hop in item.hops[:at]
    )


def _hiding(scene: Scene, form: Form, seed: int) -> Draft | None:
    """Return the item without a value; None if it can still be read or guessed."""
    item, uses = scene.item, _uses(scene, form.value)
    made = replace(
        item,
        question=_unsaid(item.question, form),
        hops=tuple(replace(hop, question=_unsaid(hop.question, form)) for hop in item.hops),
    )
    made, held = held_back(scene, made)
    made = shown(made, made.tools, seed)
    if not uses or _left(scene, made, form, uses):
        return None
    hidden = tuple(
        Hidden(at + 1, ".".join(map(str, leaf.path)), leaf.value, f"the {form.noun}", (leaf.name,))
        for at, leaf in uses
    )
    lost = sorted({at for at, _ in uses})
    label = Label(
        Scenario.MISSING_PARAMETER, item.id, False, EpisodeAction.ASK_USER, solvable_after=True,
        lost=tuple(at + 1 for at in lost), hidden=hidden,
    )  # fmt: skip
    return Draft(
        made, label, held, answered(made), (out_of_reach(scene, made, lost),),
        further=scene.further, guesses=tuple(_guesses(scene, uses, seed)),
        fault=Reason.STILL_SOLVED, siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def _guesses(scene: Scene, uses: list[tuple[int, Leaf]], seed: int) -> Iterator[Expected]:
    """Yield gold calls with other values of the same kind as the hidden one."""
    for at, leaf in uses:
        hop, rng = scene.item.hops[at], drawn(seed, scene.item, f"guesses {leaf.name}")
        others = leaf.choices or [*_otherwise(scene, leaf.value, rng)]
        for value in rng.sample(others, min(GUESSES, len(others))):
            if value != leaf.value:
                arguments = with_value(gold_of(hop).arguments, leaf.path, value)
                yield Expected(hop.tool.name, arguments, hop.answer, Gives.ANSWER)


def _otherwise(scene: Scene, value: JSON, rng: random.Random) -> Iterator[JSON]:
    """Yield numbers of similar size, texts with other digits, or answers written like a name."""
    if isinstance(value, int | float):
        for _ in range(GUESSES):
            near = rng.uniform(value / 2, value * 2)
            yield round(near) if isinstance(value, int) else near
    elif any(letter in string.digits for letter in as_text(value)):
        for _ in range(GUESSES):
            letters = (rng.choice(string.digits) if letter in string.digits else letter
                       for letter in as_text(value))  # fmt: skip
            yield "".join(letters)
    else:
        yield from scene.alike(as_text(value), {plain_text(as_text(value))}, rng)


def _unsaid(text: str, form: Form) -> str:
    """Remove the value, replacing the longest parts first; capitalize the first letter."""
    for said, unsaid in sorted(form.instead.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(said, unsaid)
    return text[:1].upper() + text[1:]


def _left(scene: Scene, made: Item, form: Form, uses: list[tuple[int, Leaf]]) -> bool:
    """Whether a removed value can still be read, in any notation, or guessed."""
    value = form.value
    if any(spans(text, value) for text in (made.question, *(h.question for h in made.hops))):
        return True
    # Other hops mention answers, which may share a name with the value.
    own = (made.question, *(made.hops[at].question for at, _ in uses))
    if isinstance(value, str) and any(_part_left(value, text) for text in own):
        return True
    for at, leaf in uses:
        if value in leaf.choices:
            if len(leaf.choices) <= FEW:
                return True
        elif ground(asked(made, at, scene.returned), leaf) is not Ground.NOWHERE:
            return True
    # Numbers are common: only the texts of the tools that take this one matter.
    if isinstance(value, str):
        return len(value) > 2 and any(_stated_by(tool, value) for tool in made.tools.values())
    return any(_stated_by(made.hops[at].tool, value) for at, _ in uses)


def _stated_by(tool: Tool, value: str | float) -> bool:
    """Whether a schema mentions the value: in a description, a default or an example."""
    schema, own = tool.schema, name_words(as_text(value))
    shown = dict(schema.parameters)
    texts = [schema.description, *schema_texts(shown), *_values(shown)]
    return any(runs(own, words(text)) or spans(text, value) for text in texts)


def _values(schema: object) -> Iterator[str]:
    """Yield defaults and examples at every depth."""
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
    """Whether a text still contains a significant part of a name: a capitalised word of it."""
    parts = [part for part in re.findall(r"\w+", value) if len(part) > 3 and part[0].isupper()]
    return any(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) for part in parts)
