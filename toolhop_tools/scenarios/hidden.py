"""Values that are gone from the question, as RelyToolBench has them (its missing parameters)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.mentions import COUNTS, ORDINALS, mentions
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.readable import Asked, Ground, ground
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.leaves import Leaf, leaves
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
            if _derived(item, at, value) or len(_spans(item.question, value)) != 1:
                continue
            if _ASKED.search(item.question[: _spans(item.question, value)[0][0]]):
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


_ASKED = re.compile(r"\b(?:what|which|whose|how|that|same)\s+$", re.IGNORECASE)
"""Before a word that says what is asked for, and not how."""


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
            spans = _spans(item.question, value)
            if not spans or ground(alone, leaf) > Ground.CHANGED:
                continue
            if isinstance(value, str) and any(_in_name(item.question, span) for span in spans):
                continue
            key = bare(as_text(value))
            before = found.get(key)
            uses = (*(before.uses if before else ()), (at, leaf))
            found[key] = Said(value, before.kind if before else kind_of(leaf), uses)
    return list(found.values())


_ASKS = frozenset(
    (
        *("type", "kind", "mode", "operation", "operator", "format", "unit", "field", "relation"),
        *("relationship", "info", "information", "attribute", "property", "category", "order"),
        *("role", "direction", "method", "action", "want"),
    )
)
"""Words of a parameter's name that say what is asked, and not about what."""


def _says_what_is_asked(leaf: Leaf) -> bool:
    """Whether a value is a relation or a choice, which a question without it does not ask for."""
    told = not _ASKS.isdisjoint(words(leaf.name.replace("_", " ")))
    return isinstance(leaf.value, str) and (told or (leaf.is_option and leaf.value.islower()))


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
        *("full", "last", "given", "this", "my", "new"),
    )
)
"""Words of a parameter's name that do not say what its value is."""


def kind_of(leaf: Leaf) -> str:
    """What a value is, in a few words: by its parameter's name, else by what it looks like."""
    said = [word for word in words(leaf.name.replace("_", " ")) if not word.isdigit()]
    telling = [word for word in said if word not in _EMPTY]
    last = telling[-1:] if isinstance(leaf.path[-1], int) else []
    if last and len(last[0]) > 3 and last[0].endswith("s") and not last[0].endswith("ss"):
        telling[-1] = re.sub(r"ies$", "y", last[0]).removesuffix("s")
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
    return bool(_spans(text, value))


def without(text: str, value: str | int | float, instead: str) -> str | None:
    """The text with something else wherever it says a value; None where it does not say it.

    Articles before it and quotes around it go with it.
    """
    found = masked(text, value, instead, "")
    return found[0] if found else None


_LINKS = frozenset(
    (
        *("and", "or", "to", "in", "of", "on", "by", "from", "is", "was", "at", "with", "for"),
        *(
            "when",
            "as",
            "than",
            "are",
            "were",
            "have",
            "has",
            "the",
            "that",
            "which",
            "who",
            "into",
        ),
        *("does", "did", "do", "if", "where", "be", "been", "between", "what", "how", "counts"),
    )
)
"""Words that are neither what is counted nor what something is."""
_APPOSED = re.compile(
    r"(?:\b(?:of|by|in|with|from|for|at|on|to)\s+|(?=\b(?:the|an?)\s))"
    r"(?P<cut>(?:(?:the|an?)\s+)?)(?P<more>(?:[\w-]+\s+)?)(?P<noun>[a-z][\w-]*)\s+$",
    re.IGNORECASE,
)
"""A noun, with a word before it, that stands beside a name: ``the moon``, ``by writer``."""
_COUNTED = re.compile(r" ([a-z]+)")


def masked(text: str, value: str | int | float, article: str, kind: str) -> tuple[str, str] | None:
    """The text with what a value is in its place, and what stands there at the first place.

    ``the moon Triton`` becomes ``a certain moon``, ``2000 feet`` ``a certain number of feet``,
    ``the 82nd awards`` ``a certain awards``. None where the text does not say the value.
    """
    pieces, end, first = list[str](), 0, ""
    for start, stop in _spans(text, value):
        instead, cut = _instead(text[end:start], text[start:stop], text[stop:], article, kind)
        start -= cut
        before = text[:start].rstrip()
        opens = not before or before[-1] in ".?!"
        pieces += [text[end:start], instead[:1].upper() + instead[1:] if opens else instead]
        follows = _COUNTED.match(text[stop:])
        cut_short = follows and (instead == article or instead.endswith(" of"))
        whole = f"{instead} {follows[1]}" if follows and cut_short else instead
        first, end = first or whole, stop
    return ("".join([*pieces, text[end:]]), first) if pieces else None


def _instead(before: str, said: str, after: str, article: str, kind: str) -> tuple[str, int]:
    """What stands in a value's place, and how many letters before it go with the value."""
    plain = f"{article} {kind}".strip()
    if not kind:
        return plain, 0
    follows = _COUNTED.match(after)
    # A verb of a clause without "that" ("the day Oslo fell"), or a thing that is counted.
    goes_on = follows is not None and follows[1] not in _LINKS
    last = said.split()[-1].lower()
    ordinal = last in ORDINALS or re.fullmatch(r"\d+(?:st|nd|rd|th)", last)
    if ordinal and after[1:2].isalpha() and (goes_on or follows is None):
        return article, 0
    if goes_on and (plain_number(said) is not None or last in COUNTS):
        return f"{article} number of", 0
    beside = _APPOSED.search(before)
    if beside is None or said[:1].islower():
        return plain, 0
    more, noun = beside["more"], beside["noun"]
    if not noun.islower() or noun in _TIMES or noun.endswith(("ing", "ed")):
        return plain, 0
    if not _LINKS.isdisjoint((more + noun).lower().split()):
        return plain, 0
    if goes_on and noun not in kind.split():
        return plain, 0
    return f"{article} {more}{noun}", len(before) - beside.start("cut")


_TIMES = frozenset({"day", "date", "year", "month", "time", "moment", "place", "way", "century"})
"""After which a clause follows, and no name."""


def _in_name(text: str, span: tuple[int, int]) -> bool:
    """Whether a name in a text is a part of a longer one."""
    before, said, after = text[: span[0]], text[slice(*span)], text[span[1] :]
    if said[:1].islower() or plain_number(said) is not None or said[:1] in "\"'“‘":
        return False
    last = re.search(r"(?:^|[\s(])([A-Z][\w.'-]*) $", before)
    opens = last is not None and not before[: last.start(1)].strip()
    return (last is not None and not opens) or re.match(r" [A-Z]\w", after) is not None


_BEFORE = r"(?:\b(?:the|a|an)\s+)?[\"'“‘]?"
_AFTER = r"[\"”]?(?:['’](?!s\b|\w))?"


_BY_NAME = {**COUNTS, **ORDINALS}


def _in_words(number: Decimal) -> list[str]:
    """A small number as a word: ``two``, ``second``."""
    return [word for word, digits in _BY_NAME.items() if Decimal(digits) == number]


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
        patterns += [f"{word}(?! names?\\b)" for word in _in_words(number)]
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
    if any(_left(scene, made, one, guessable=guessable) for one in values):
        return None
    hidden = tuple(
        Hidden(at + 1, ".".join(map(str, leaf.path)), one.value, phrases[n], _aliases(leaf, one))
        for n, one in enumerate(values)
        for at, leaf in one.uses
    )
    lost = sorted({at for one in values for at, _ in one.uses})
    label = Label(
        kind, item.id, False, EpisodeAction.ASK_USER, solvable_after=True,
        lost=tuple(at + 1 for at in lost), hidden=hidden,
    )  # fmt: skip
    return Draft(
        made, label, held, answered(made), tried(made, lost, scene), fault=Reason.STILL_SOLVED,
        siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def _aliases(leaf: Leaf, one: Said) -> tuple[str, ...]:
    return tuple(dict.fromkeys((leaf.name, leaf.name.replace("_", " "), one.kind)))


def _left(scene: Scene, made: Item, said: Said, *, guessable: bool) -> bool:
    """Whether a value that was taken out can still be read, in any notation, or guessed."""
    value = said.value
    if any(_stands(value, text) for text in (made.question, *(h.question for h in made.hops))):
        return True
    # Other hops name answers, of which one may share a name with the value.
    own = (made.question, *(made.hops[at].question for at, _ in said.uses))
    if isinstance(value, str) and any(_part_left(value, text) for text in own):
        return True
    if guessable:
        return False
    for at, leaf in said.uses:
        if value in leaf.choices:
            if len(leaf.choices) <= FEW:
                return True
        elif ground(asked(made, at, scene.returned), leaf) is not Ground.NOWHERE:
            return True
    return isinstance(value, str) and len(value) > 2 and any(_offered(made, value))


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
