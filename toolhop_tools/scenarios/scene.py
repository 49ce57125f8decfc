"""Input and output of transformations: scenes, and drafts whose claims are not yet proven.

A transformation is a pure function of scene and seed. It runs nothing: its draft lists the calls to
run and the searches to make as claims (`proof`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain, islice
from typing import Protocol, TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_text
from toolhop_tools.certify.answering import Kind
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import HopProof
from toolhop_tools.model import GoldCall, Hop, Item, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.scenarios.label import Label, Scenario
from toolhop_tools.scenarios.masking import without
from toolhop_tools.scenarios.ways import Vain

MOST_LOOKED_AT, MOST_ALIKE = 300, 20
"""Maximum number of items searched for another answer, and of answers from which one is chosen."""
FURTHER = 3
"""Number of other items' tools that an item holds back, for a change of tools."""
BESIDE = 3
"""Minimum number of tools on offer besides the chain's (ToolBeHonest shows 5.4 in all)."""
SPARE = 4
"""Additional tools held back, to replace those that turn out to do a lost job."""


class Pool(Protocol):
    """A source of tools that the item does not have."""

    def others(self, item: Item, like: Iterable[Tool] | None = None) -> Iterator[Tool]:
        """Yield tools that are not the item's own, those most similar to `like` first."""
        ...

    def among(self, tools: Sequence[Tool]) -> list[list[float]]:
        """Return the pairwise similarity of tools."""
        ...


@dataclass(frozen=True)
class Scene:
    """A certified item within its data set."""

    item: Item
    """The item; its hops have their proven gold calls."""
    proofs: tuple[HopProof, ...]
    items: Sequence[Item]
    """The whole data set."""
    at: int
    """Index of the item in the data set."""
    pool: Pool
    further: int = FURTHER
    computing: frozenset[str] = frozenset()
    """Tools of the item that answer any arguments: they compute instead of looking something up."""

    @cached_property
    def returned(self) -> dict[int, str]:
        """Answers that tools spell differently from the data set, by hop (from 0)."""
        found = {at: proof.answer for at, proof in enumerate(self.proofs)}
        return {
            at: answer
            for at, answer in found.items()
            if answer is not None and answer != self.item.hops[at].answer
        }

    @cached_property
    def served(self) -> dict[str, list[int]]:
        """Hops (from 0) that each tool serves."""
        found: dict[str, list[int]] = {}
        for at, hop in enumerate(self.item.hops):
            found.setdefault(hop.tool.name, []).append(at)
        return found

    @cached_property
    def size(self) -> int:
        """Number of tools that each item of the family shows, without actions."""
        return max(len(self.item.tools), len(self.served) + BESIDE)

    def donors(self, seed: int) -> Iterator[Item]:
        """Yield the other items; no two items of a data set have the same first donor."""
        count = len(self.items)
        if count > 1:
            step = random.Random(f"{seed}/donor").randint(1, count - 1)
            for further in (*range(step, count), *range(1, step)):
                yield self.items[(self.at + further) % count]

    def alike(self, said: str, own: set[str], rng: random.Random) -> Iterator[str]:
        """Return other answers written in the same form, those of the item's domain first.

        Args:
            said: the answer.
            own: normalized texts to exclude.
            rng: chooses the item to begin with.
        """
        start = rng.randrange(len(self.items))
        looked_at = islice(chain(self.items[start:], self.items[:start]), MOST_LOOKED_AT)
        others = list(
            islice(
                (
                    (hop.answer, item.domain)
                    for item in looked_at
                    for hop in item.hops
                    if _form(hop.answer) == _form(said)
                    and Kind.of(hop.answer) is Kind.TEXT
                    and plain_text(hop.answer) not in own
                ),
                MOST_ALIKE,
            )
        )
        near = (answer for answer, domain in others if domain == self.item.domain)
        return chain(near, (answer for answer, _ in others))


def _form(text: str) -> tuple[int, bool, bool]:
    return min(3, len(text.split())), text[:1].isupper(), text.replace(" ", "").isalpha()


class Reason(StrEnum):
    """Why an item does not allow a transformation."""

    ONE_HOP = "it has one hop"
    NO_DONOR = "the data set has no other item with tools of its own; of worlds, of another domain"
    NOTHING_TO_HIDE = "its question says no value that a call requires"
    NO_FORM = "nobody has written its question without a value"
    IS_ANSWER = "a value that would be hidden is also an answer, which the user never gives away"
    STILL_SAID = "a value stays readable or can be guessed when it is taken out"
    NOT_NEEDED = "with other values in the place of a hidden one, calls give the same answer"
    NO_CHOICE = "no gold call chooses a value that can be taken out of its schema"
    NO_LIMIT = "no gold call has a name or number that a limit could be about"
    NO_PAIR = "no tool does the job of two hops"
    NO_OTHER_ANSWER = "no answer can be replaced by another of its kind"
    # Reasons found only by running:
    OWN_TOOL = "another tool of its own does the lost job"
    HELD = "the code of a tool that stays on offer has the lost answer"
    SHORT_CUT = "fewer calls give the answer too"
    LOOKED_UP = "fewer than two of its hops look something up"
    NOT_ALONE = "no hop can be solved by its sub-question alone"
    STILL_SOLVED = "the call still gives the answer"
    UNFINISHED = "the search of its tools is too large to be finished"
    NO_LIKE = "its world has no other tool of the kind that could stand in the lost one's place"
    NOT_MADE = "it is not made any more"
    NOT_OF_WORLDS = "it is not made of items of worlds"
    NAME = "a tool of its own has the name of an action"
    NOT_SOLVED = "a gold call does not give its answer as the item is shown"


@dataclass(frozen=True, slots=True)
class Refused:
    """The item does not allow the transformation."""

    scenario: Scenario
    item: str
    reason: Reason


class Gives(StrEnum):
    """Expected outcome of a call."""

    ANSWER = "the answer"
    NO_ANSWER = "a result without the answer"
    FAILURE = "an error"


@dataclass(frozen=True, slots=True)
class Expected:
    """A call and its expected outcome."""

    tool: str
    arguments: dict[str, JSON]
    answer: str
    gives: Gives
    says: str = ""
    """Text that the error message must contain."""
    accepted: bool = True
    """Whether the displayed schema must accept the arguments."""
    first: bool = False
    """Whether it is the first call of an episode, on which a tool may behave differently."""


@dataclass(frozen=True)
class Draft:
    """An item with the claims of its label."""

    item: Item
    """`Item.order` names the tools on offer."""
    label: Label
    """`make` sets the scenario: a transformation may build on another one."""
    removable: frozenset[str] = frozenset()
    """Tools of other items that may be removed."""
    expected: tuple[Expected, ...] = ()
    in_vain: tuple[Vain, ...] = ()
    """Answers that must not be revealed by any tool on offer or any that may be added."""
    further: int = FURTHER
    """Number of other items' tools that are held back; surplus ones replace removed tools."""
    guesses: tuple[Expected, ...] = ()
    """Calls with other values than the hidden one: most of those that succeed must give a
    different answer."""
    find: tuple[tuple[int, Task], ...] = ()
    """Hops (from 0) that need a new gold call, with the search task."""
    fault: Reason = Reason.OWN_TOOL
    """Reason for refusing the item if a search finds an answer."""
    siblings: tuple[Draft, ...] = ()
    """Drafts of accompanying items of the family; solvable if this one is not."""
    apart: bool = False
    """Whether siblings show other tools, so that tools removed here stay in them."""


Drafts: TypeAlias = tuple[Draft, ...] | Reason
"""Alternative drafts, of which the first whose claims hold is made; or why there are none."""
Transformation: TypeAlias = Callable[[Scene, int], Drafts]


def drawn_hops(scene: Scene, seed: int, what: str) -> list[int]:
    """Return the hops (from 0) in random order, those whose tool looks something up first.

    A model may compute without the tool, so it loses little by losing one that computes.
    """
    hops = list(range(len(scene.item.hops)))
    drawn(seed, scene.item, what).shuffle(hops)
    return sorted(hops, key=lambda at: scene.item.hops[at].tool.name in scene.computing)


# -- parts of items ----------------------------------------------------------------------------


def shown(item: Item, tools: Iterable[str], seed: int) -> Item:
    """Return the item with these tools on offer, in an order that siblings share and that does
    not reveal the hops.
    """
    place = {name: drawn(seed, item, f"place of {name}").random() for name in tools}
    return replace(item, order=tuple(sorted(place, key=lambda name: (place[name], name))))


def gold_of(hop: Hop) -> GoldCall:
    """Return a hop's proven call.

    Raises:
        ValueError: the hop has none; every hop of a scene's item must have one.
    """
    if hop.gold is None:
        raise ValueError(f"the hop {hop.question!r} has no gold call: certify the item first")
    return hop.gold


def answered(item: Item, hops: Iterable[int] | None = None) -> tuple[Expected, ...]:
    """Return the claims that gold calls of these hops (from 0), or of all, give the answers."""
    chosen = range(len(item.hops)) if hops is None else hops
    return tuple(
        Expected(hop.tool.name, dict(gold_of(hop).arguments), hop.answer, Gives.ANSWER)
        for hop in (item.hops[at] for at in chosen)
    )


def out_of_reach(scene: Scene, made: Item, lost: Iterable[int]) -> Vain:
    """Return the claim that the answers of lost hops (from 0), and of all hops that depend on
    them, are out of reach.

    The questions of these hops may be read, without the answers in them, since a tool may skip a
    lost hop.
    """
    gone, golds, known, texts = set(lost), list[str](), list[str](), [made.question]
    for at, hop in enumerate(made.hops):
        # A hop turned into an item of its own has another index and depends on no other hop.
        whole = len(made.hops) == len(scene.item.hops)
        spelled = [scene.returned[at]] if whole and at in scene.returned else []
        fed = {edge.hop - 1 for edge in scene.proofs[at].edges if whole}
        if at in gone or fed & gone:
            gone.add(at)
            texts.append(_less_answers(hop.question, golds))
            golds += [hop.answer, *spelled]
        else:
            known += [hop.answer, *spelled]
    golds += [made.answer] if made.answer not in golds else []
    return Vain(" ".join(dict.fromkeys(texts)), tuple(known), tuple(golds))


def _less_answers(text: str, answers: Iterable[str]) -> str:
    """Replace answers that must stay unknown with *that*."""
    for answer in dict.fromkeys(answers):
        text = without(text, answer, "that") or text
    return text


def to_be_tried(item: Item) -> list[Tool]:
    """Return the tools on offer and those that may be added: all except hop tools not on offer."""
    off = {hop.tool.name for hop in item.hops} - {*item.order}
    return [
        tool
        for name, tool in item.all_tools.items()
        if name not in off and isinstance(tool.body, Program)
    ]


def strangers(
    scene: Scene, item: Item, count: int, *, like: Sequence[Tool], spare: int = 0
) -> tuple[tuple[Tool, ...], tuple[Tool, ...]]:
    """Return the most similar tools of other items: `count` to show, and the rest, `spare` ones
    included, to hold back.
    """
    wanted, found = count + scene.further + spare, list[Tool]()
    for tool in scene.pool.others(scene.item, like):
        if len(found) == wanted:
            break
        if isinstance(tool.body, Program) and tool.name not in item.all_tools:
            found.append(tool)
    return tuple(found[:count]), tuple(found[count:])


def held_back(
    scene: Scene, item: Item, *, size: int = 0, spare: int = 0
) -> tuple[Item, frozenset[str]]:
    """Return the item with as many tools on offer as its family shows (or `size`), and more held
    back for a change of tools; and the names of all tools that belong to no hop.
    """
    count = max(0, (size or scene.size) - len(item.tools))
    more, held = strangers(scene, item, count, like=[*item.tools.values()], spare=spare)
    order = (*item.tools, *(tool.name for tool in more))
    whole = replace(item, others=(*item.others, *more, *held), order=order)
    return whole, frozenset(tool.name for tool in whole.others)


def with_tool(item: Item, name: str, tool: Tool) -> Item:
    """Replace a tool of the item wherever it is used and shown."""
    return replace(
        item,
        hops=tuple(replace(h, tool=tool) if h.tool.name == name else h for h in item.hops),
        others=tuple(tool if one.name == name else one for one in item.others),
        order=tuple(tool.name if one == name else one for one in item.order),
    )


def wrapped(program: Program, lines: Sequence[str]) -> Program:
    """Return the program with a wrapper function around its own.

    Args:
        program: the program to wrap.
        lines: the wrapper's body; ``given`` are the arguments, ``{tool}`` is the wrapped function.
    """
    name = "called"
    while name in program.source:
        name += "_tool"
    body = "\n".join(f"    {line}".replace("{tool}", program.function) for line in lines)
    return Program(f"{program.source}\n\n\ndef {name}(**given):\n{body}\n", name)


def with_lines(tool: Tool, lines: Sequence[str]) -> Tool:
    """Return the tool with its program `wrapped`."""
    return replace(tool, body=wrapped(tool.program, lines))


def renamed(tool: Tool, name: str, more: str) -> Tool:
    """Rename the tool, in its description too, and add a sentence to the description."""
    about = re.sub(rf"\b{re.escape(tool.name)}\b", name, tool.schema.description).rstrip()
    about += "" if about.endswith((".", "!", "?")) else "."
    schema = replace(tool.schema, name=name, description=f"{about} {more}")
    return replace(tool, schema=schema)


def with_sentence(item: Item, sentence: str) -> Item:
    """Add a sentence to the item's question."""
    return replace(item, question=f"{item.question.rstrip()} {sentence}")


def unsolvable(
    scene: Scene, made: Item, held: frozenset[str], lost: Sequence[int], label: Label, seed: int,
    *, expected: Iterable[Expected] = (),
) -> Draft:  # fmt: skip
    """Draft an item without the tools of some hops (from 0): no other tool may do their jobs.

    Args:
        scene: the original item.
        made: the changed item.
        held: tools of other items that may be removed.
        lost: the hops.
        label: the label, without the lost hops.
        seed: decides the order in which the sibling shows its tools.
        expected: further expected calls, besides the answers of the other hops.
    """
    rest = answered(made, [at for at in range(len(made.hops)) if at not in lost])
    return Draft(
        made, replace(label, lost=tuple(at + 1 for at in lost)), held, (*rest, *expected),
        (out_of_reach(scene, made, lost),), further=scene.further,
        siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def with_reserve(draft: Draft, names: Sequence[str], seed: int) -> Draft:
    """Make the lost tools available on request for half of the items, chosen at random."""
    if drawn(seed, draft.item, "reserve").random() < 0.5:
        return draft
    label = replace(draft.label, solvable_after=True, reserve=tuple(names))
    return replace(draft, label=label, expected=(*draft.expected, *answered(draft.item)))


def plain_of(scene: Scene, seed: int) -> Draft:
    """Return the solvable sibling of most scenarios: the unchanged item."""
    item, _ = held_back(scene, scene.item)
    item = shown(item, item.tools, seed)
    label = Label(Scenario.PLAIN, scene.item.id, True)
    return Draft(item, label, expected=answered(item))
