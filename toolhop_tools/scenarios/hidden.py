"""Values that are gone from the question, as RelyToolBench has them (its missing parameters)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.mentions import mentions
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.readable import Asked, Ground, Leaf, ground, leaves
from toolhop_tools.certify.words import as_text, bare, name_words, runs, words
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.model import EpisodeAction, Item
from toolhop_tools.perturb.change import drawn
from toolhop_tools.perturb.nearest import schema_texts
from toolhop_tools.scenarios.label import Hidden, Label, Scenario
from toolhop_tools.scenarios.scene import (
    Draft,
    Drafts,
    Expected,
    Gives,
    Reason,
    Refused,
    Scene,
    answered,
    gold_of,
    held_back,
    plain_of,
    shown,
    tried,
)

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
    found = _required(scene)
    if not found:
        return Refused(Scenario.MISSING_PARAMETER, scene.item.id, Reason.NOTHING_TO_HIDE)
    drawn(seed, scene.item, "parameter").shuffle(found)
    drafts = [_hiding(scene, [one], Scenario.MISSING_PARAMETER, seed) for one in found]
    return _first(scene, Scenario.MISSING_PARAMETER, drafts)


def missing_parameters(scene: Scene, seed: int) -> Drafts:
    """All such values are replaced."""
    found = _required(scene)
    if len(found) < 2:
        reason = Reason.ONE_TO_HIDE if found else Reason.NOTHING_TO_HIDE
        return Refused(Scenario.MISSING_PARAMETERS, scene.item.id, reason)
    draft = _hiding(scene, found, Scenario.MISSING_PARAMETERS, seed)
    return _first(scene, Scenario.MISSING_PARAMETERS, [draft])


def _first(scene: Scene, kind: Scenario, drafts: Sequence[Draft | None]) -> Drafts:
    kept = tuple(one for one in drafts if one is not None)
    return kept or Refused(kind, scene.item.id, Reason.STILL_SAID)


def hidden_option(scene: Scene, seed: int) -> Drafts:
    """A value that an optional parameter takes is gone: without it the result is another one."""
    item, drafts = scene.item, list[Draft]()
    for at, hop in enumerate(item.hops):
        task = Task(hop, asked(item, at, scene.returned))
        arguments = dict(gold_of(hop).arguments)
        for leaf in leaves(task.schema, arguments):
            value = leaf.value
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                continue
            optional = len(leaf.path) == 1 and leaf.name not in task.required
            if not optional or value == leaf.schema.get("default"):
                continue
            if _derived(item, at, value) or not _stands(value, item.question):
                continue
            one = Said(value, kind_of(leaf), ((at, leaf),))
            draft = _hiding(scene, [one], Scenario.HIDDEN_OPTION, seed, guessable=True)
            if draft is not None:
                rest = {name: part for name, part in arguments.items() if name != leaf.name}
                without = Expected(hop.tool.name, rest, hop.answer, Gives.NO_ANSWER)
                more = (*draft.expected, without)
                drafts.append(replace(draft, expected=more, ambiguous_too=True))
    drawn(seed, item, "option").shuffle(drafts)
    return tuple(drafts) or Refused(Scenario.HIDDEN_OPTION, item.id, Reason.NO_OPTION)


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
            if value in leaf.choices and len(leaf.choices) <= FEW:
                continue
            if not _stands(value, item.question) or ground(alone, leaf) > Ground.CHANGED:
                continue
            key = bare(as_text(value))
            before = found.get(key)
            uses = (*(before.uses if before else ()), (at, leaf))
            found[key] = Said(value, before.kind if before else kind_of(leaf), uses)
    return list(found.values())


def _derived(item: Item, at: int, value: JSON) -> bool:
    """Whether an earlier hop's answer is the value, or has it in it."""
    own = name_words(as_text(value))
    return any(
        same_answer(hop.answer, as_text(value)) or runs(own, words(hop.answer))
        for hop in item.hops[:at]
    )


_EMPTY = frozenset(
    (
        *("name", "id", "value", "input", "str", "string", "text", "list", "data", "arg", "the"),
        *("target", "of", "param", "query", "first", "second", "a", "b", "x", "y", "one", "two"),
    )
)
"""Words of a parameter's name that do not say what its value is."""


def kind_of(leaf: Leaf) -> str:
    """What a value is, in a few words: by its parameter's name, else by what it looks like."""
    said = [word for word in words(leaf.name.replace("_", " ")) if not word.isdigit()]
    telling = [word for word in said if word not in _EMPTY]
    last = telling[-1:] if isinstance(leaf.path[-1], int) else []
    if last and len(last[0]) > 3 and last[0].endswith("s") and not last[0].endswith("ss"):
        telling[-1] = last[0][:-1]
    if telling:
        return " ".join(telling)
    text = as_text(leaf.value)
    if whole_date(text) is not None:
        return "date"
    if plain_number(plain_text(text)) is not None:
        return "number"
    if len(text) == 1:
        return "letter"
    return "name" if text[:1].isupper() else "word"


# -- taking them out ---------------------------------------------------------------------------


def _stands(value: str | int | float, text: str) -> bool:
    return without(text, value, "") is not None


def without(text: str, value: str | int | float, instead: str) -> str | None:
    """The text with something else wherever it says a value; None where it does not say it.

    Articles before it and quotes around it go with it.
    """
    spans = _spans(text, value)
    if not spans:
        return None
    pieces, end = [], 0
    for start, stop in spans:
        before = text[end:start]
        capital = not (text[:start].strip() and text[:start].rstrip()[-1] not in ".?!")
        put = instead[:1].upper() + instead[1:] if capital else instead
        pieces += [before, put]
        end = stop
    return "".join([*pieces, text[end:]])


_BEFORE = r"(?:\b(?:the|a|an)\s+)?[\"'“‘]?"
_AFTER = r"[\"”]?(?:['’](?!s\b|\w))?"


def _spans(text: str, value: str | int | float) -> list[tuple[int, int]]:
    day = whole_date(as_text(value)) if isinstance(value, str) else None
    written = [found for found, one in dates_in(text) if day is not None and one == day]
    patterns = [re.escape(found) for found in written]
    number = plain_number(plain_text(as_text(value)))
    if number is not None:
        found = (
            part[0]
            for part in re.finditer(r"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?(?![\w,.]*\d)", text)
            if plain_number(part[0].rstrip(",")) in {number, abs(number)}
        )
        patterns += [re.escape(part.rstrip(",")) + r"(?:st|nd|rd|th)?" for part in found]
    elif parts := re.findall(r"\w+", as_text(value).replace("_", " ")):
        if len(parts) > 1 and parts[0].casefold() in {"the", "a", "an"}:
            parts = parts[1:]
        patterns.append(r"[\W_]+".join(map(re.escape, parts)))
    spans: list[tuple[int, int]] = []
    for pattern in dict.fromkeys(patterns):
        whole = rf"{_BEFORE}(?<!\w)(?<!\w[-'’]){pattern}(?!\w|[-'’](?!s\b)\w){_AFTER}"
        spans += [found.span() for found in re.finditer(whole, text, re.IGNORECASE)]
    return sorted(set(spans))


def _hiding(
    scene: Scene, values: Sequence[Said], kind: Scenario, seed: int, *, guessable: bool = False
) -> Draft | None:
    """The item without some values; None where one can be read or guessed all the same."""
    item = scene.item
    kinds = [one.kind for one in values]
    texts_: dict[str, str] = {hop.question: hop.question for hop in item.hops}
    texts_[item.question] = item.question
    # Longer values first: a shorter one may be a part of them.
    for at, one in sorted(enumerate(values), key=lambda pair: -len(as_text(pair[1].value))):
        instead = ("another " if one.kind in kinds[:at] else "a certain ") + one.kind
        texts_ = {key: without(text, one.value, instead) or text for key, text in texts_.items()}
    masked = replace(
        item,
        question=texts_[item.question],
        hops=tuple(replace(hop, question=texts_[hop.question]) for hop in item.hops),
    )
    masked, held = held_back(scene, masked)
    masked = shown(masked, item.tools, seed)
    if any(_left(scene, masked, one, guessable=guessable) for one in values):
        return None
    hidden = tuple(
        Hidden(at + 1, ".".join(map(str, leaf.path)), one.value, f"a certain {one.kind}",
               _aliases(leaf, one.kind))
        for one in values
        for at, leaf in one.uses
    )  # fmt: skip
    lost = sorted({at for one in values for at, _ in one.uses})
    label = Label(
        kind, item.id, False, EpisodeAction.ASK_USER, solvable_after=True,
        lost=tuple(at + 1 for at in lost), hidden=hidden,
    )  # fmt: skip
    return Draft(
        masked, label, held, answered(masked),
        tried(masked, lost, scene), fault=Reason.STILL_SOLVED,
        siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def _aliases(leaf: Leaf, kind: str) -> tuple[str, ...]:
    spaced = leaf.name.replace("_", " ")
    return tuple(dict.fromkeys(one for one in (leaf.name, spaced, kind) if one))


def _left(scene: Scene, masked: Item, said: Said, *, guessable: bool) -> bool:
    """Whether a value that was taken out can still be read, in any notation, or guessed."""
    value = said.value
    for text in (masked.question, *(hop.question for hop in masked.hops)):
        if _stands(value, text) or (isinstance(value, str) and _part_left(value, text)):
            return True
    if guessable:
        return False
    for at, leaf in said.uses:
        if value in leaf.choices:
            if len(leaf.choices) <= FEW:
                return True
        elif ground(asked(masked, at, scene.returned), leaf) is not Ground.NOWHERE:
            return True
    return isinstance(value, str) and len(value) > 2 and any(_offered(masked, value))


def _offered(item: Item, value: str) -> Iterator[bool]:
    """Whether schemas on offer say the value: in a description, a default, an example."""
    own = name_words(value)
    for tool in item.tools.values():
        schema = tool.schema
        listed = [
            schema.description,
            *schema_texts(dict(schema.parameters)),
            *_values(schema.parameters),
        ]
        yield any(runs(own, words(text)) for text in listed)


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
