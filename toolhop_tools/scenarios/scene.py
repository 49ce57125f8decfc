"""What scenarios are made of, and what a transformation gives: drafts, whose claims await proof.

A transformation is a pure function of scene and seed. What it claims stands in the draft as calls
to be run and searches to be made (`proof`); it runs nothing itself.
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
"""Items that are looked at for another answer, and answers from which one is taken."""
FURTHER = 3
"""Tools of other items that an item holds and does not show: what a change of tools may bring."""
BESIDE = 3
"""Tools on offer beside a chain's, at least (ToolBeHonest shows 5.4 in all)."""
SPARE = 4
"""More of them, in reserve for those that turn out to do a lost job."""


class Pool(Protocol):
    """The source of tools that the item does not have."""

    def others(self, item: Item, like: Iterable[Tool] | None = None) -> Iterator[Tool]:
        """Tools that are not the item's own, those most like `like` first."""
        ...

    def among(self, tools: Sequence[Tool]) -> list[list[float]]:
        """The likeness of tools to each other."""
        ...


@dataclass(frozen=True)
class Scene:
    """A certified item, among the items of its data set."""

    item: Item
    """Its hops have their proven gold calls."""
    proofs: tuple[HopProof, ...]
    items: Sequence[Item]
    """The whole data set."""
    at: int
    """Where in it the item stands."""
    pool: Pool
    further: int = FURTHER
    computing: frozenset[str] = frozenset()
    """Its tools that answer whatever they are given: they compute, and look nothing up."""

    @cached_property
    def returned(self) -> dict[int, str]:
        """By hop (from 0): answers that tools spell otherwise than the data set."""
        found = {at: proof.answer for at, proof in enumerate(self.proofs)}
        return {
            at: answer
            for at, answer in found.items()
            if answer is not None and answer != self.item.hops[at].answer
        }

    @cached_property
    def served(self) -> dict[str, list[int]]:
        """By tool: the hops (from 0) that it serves."""
        found: dict[str, list[int]] = {}
        for at, hop in enumerate(self.item.hops):
            found.setdefault(hop.tool.name, []).append(at)
        return found

    @cached_property
    def size(self) -> int:
        """How many tools each of the item's family shows, actions not counted."""
        return max(len(self.item.tools), len(self.served) + BESIDE)

    def donors(self, seed: int) -> Iterator[Item]:
        """The other items; of all items of a data set no two have the same first one."""
        count = len(self.items)
        if count > 1:
            step = random.Random(f"{seed}/donor").randint(1, count - 1)
            for further in (*range(step, count), *range(1, step)):
                yield self.items[(self.at + further) % count]

    def alike(self, said: str, own: set[str], rng: random.Random) -> Iterator[str]:
        """Other answers that are written like one, those of the item's domain first.

        Args:
            said: the answer.
            own: plain texts that are no other answer.
            rng: chooses with which item to begin.
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
    # What only running shows:
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
    """An item that does not allow a transformation."""

    scenario: Scenario
    item: str
    reason: Reason


class Gives(StrEnum):
    """What a call is expected to give."""

    ANSWER = "the answer"
    NO_ANSWER = "a result without the answer"
    FAILURE = "an error"


@dataclass(frozen=True, slots=True)
class Expected:
    """A call and what must come of it."""

    tool: str
    arguments: dict[str, JSON]
    answer: str
    gives: Gives
    says: str = ""
    """What the error has to say."""
    accepted: bool = True
    """Whether the schema as it is shown must take the arguments."""
    first: bool = False
    """Whether it is the first call of an episode, in which a tool may run otherwise."""


@dataclass(frozen=True)
class Draft:
    """An item with what its label claims."""

    item: Item
    """`Item.order` names the tools on offer."""
    label: Label
    """`make` puts the scenario in that is made: one transformation may go on from another."""
    removable: frozenset[str] = frozenset()
    """Tools of other items, which may be taken out."""
    expected: tuple[Expected, ...] = ()
    in_vain: tuple[Vain, ...] = ()
    """Answers that no tool on offer, or that may come, must give."""
    further: int = FURTHER
    """Tools of others that are kept and not shown; more of them step in for those taken out."""
    guesses: tuple[Expected, ...] = ()
    """Calls with other values than a hidden one: most that are answered must not give the answer
    that it gives."""
    find: tuple[tuple[int, Task], ...] = ()
    """Hops (from 0) whose gold call has to be found anew, and how it is searched for."""
    fault: Reason = Reason.OWN_TOOL
    """Why the item is refused where a search is not in vain."""
    siblings: tuple[Draft, ...] = ()
    """Others of the family that go with it: solvable where it is not."""
    apart: bool = False
    """Whether siblings show other tools: what is taken out of it stays with them."""


Drafts: TypeAlias = tuple[Draft, ...] | Reason
"""Drafts from the first choice on: the first whose claims hold is made. Or why there are none."""
Transformation: TypeAlias = Callable[[Scene, int], Drafts]


def drawn_hops(scene: Scene, seed: int, what: str) -> list[int]:
    """The hops (from 0) in random order, those whose tool looks something up first.

    What a tool computes, a model may as well do without it: it loses little.
    """
    hops = list(range(len(scene.item.hops)))
    drawn(seed, scene.item, what).shuffle(hops)
    return sorted(hops, key=lambda at: scene.item.hops[at].tool.name in scene.computing)


# -- parts of items ----------------------------------------------------------------------------


def shown(item: Item, tools: Iterable[str], seed: int) -> Item:
    """The item with these tools on offer, in an order that siblings share and hops do not tell."""
    place = {name: drawn(seed, item, f"place of {name}").random() for name in tools}
    return replace(item, order=tuple(sorted(place, key=lambda name: (place[name], name))))


def gold_of(hop: Hop) -> GoldCall:
    """A hop's proven call.

    Raises:
        ValueError: it has none; scenes are made of items whose hops all have one.
    """
    if hop.gold is None:
        raise ValueError(f"the hop {hop.question!r} has no gold call: certify the item first")
    return hop.gold


def answered(item: Item, hops: Iterable[int] | None = None) -> tuple[Expected, ...]:
    """That gold calls give their answers: of these hops (from 0), or of all."""
    chosen = range(len(item.hops)) if hops is None else hops
    return tuple(
        Expected(hop.tool.name, dict(gold_of(hop).arguments), hop.answer, Gives.ANSWER)
        for hop in (item.hops[at] for at in chosen)
    )


def out_of_reach(scene: Scene, made: Item, lost: Iterable[int]) -> Vain:
    """The answers of lost hops (from 0) and of all that hang on them, beside what is known.

    The questions of these hops are read as well, but for the answers in them: a tool may lead over
    a lost hop at once.
    """
    gone, golds, known, texts = set(lost), list[str](), list[str](), [made.question]
    for at, hop in enumerate(made.hops):
        # A hop that is an item of its own has another place there, and hangs on nothing.
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
    """The text with *that* for answers that are not to be known."""
    for answer in dict.fromkeys(answers):
        text = without(text, answer, "that") or text
    return text


def to_be_tried(item: Item) -> list[Tool]:
    """The tools that are on offer, and those that may come: all but the hops' that are not."""
    off = {hop.tool.name for hop in item.hops} - {*item.order}
    return [
        tool
        for name, tool in item.all_tools.items()
        if name not in off and isinstance(tool.body, Program)
    ]


def strangers(
    scene: Scene, item: Item, count: int, *, like: Sequence[Tool], spare: int = 0
) -> tuple[tuple[Tool, ...], tuple[Tool, ...]]:
    """Tools of other items: `count` to be shown, the nearest, and as many as are held back, with
    some to spare.
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
    """The item with as many tools on offer as its family shows (`size`, where it is given), and
    with tools that a change of tools may bring; the names of all these and of its distractors.
    """
    count = max(0, (size or scene.size) - len(item.tools))
    more, held = strangers(scene, item, count, like=[*item.tools.values()], spare=spare)
    order = (*item.tools, *(tool.name for tool in more))
    whole = replace(item, others=(*item.others, *more, *held), order=order)
    return whole, frozenset(tool.name for tool in whole.others)


def with_tool(item: Item, name: str, tool: Tool) -> Item:
    """The item with another tool in the place of one, wherever it is used and shown."""
    return replace(
        item,
        hops=tuple(replace(h, tool=tool) if h.tool.name == name else h for h in item.hops),
        others=tuple(tool if one.name == name else one for one in item.others),
        order=tuple(tool.name if one == name else one for one in item.order),
    )


def wrapped(program: Program, lines: Sequence[str]) -> Program:
    """The program with another function around its own.

    Args:
        program: what is wrapped.
        lines: the function's body; ``given`` are the arguments, ``{tool}`` is the own function.
    """
    name = "called"
    while name in program.source:
        name += "_tool"
    body = "\n".join(f"    {line}".replace("{tool}", program.function) for line in lines)
    return Program(f"{program.source}\n\n\ndef {name}(**given):\n{body}\n", name)


def with_lines(tool: Tool, lines: Sequence[str]) -> Tool:
    """The tool with such a wrapper around its program."""
    return replace(tool, body=wrapped(tool.program, lines))


def renamed(tool: Tool, name: str, more: str) -> Tool:
    """The tool under another name, also where its description says it, with one more sentence."""
    about = re.sub(rf"\b{re.escape(tool.name)}\b", name, tool.schema.description).rstrip()
    about += "" if about.endswith((".", "!", "?")) else "."
    schema = replace(tool.schema, name=name, description=f"{about} {more}")
    return replace(tool, schema=schema)


def with_sentence(item: Item, sentence: str) -> Item:
    """The item with one more sentence in its question."""
    return replace(item, question=f"{item.question.rstrip()} {sentence}")


def unsolvable(
    scene: Scene, made: Item, held: frozenset[str], lost: Sequence[int], label: Label, seed: int,
    *, expected: Iterable[Expected] = (),
) -> Draft:  # fmt: skip
    """Draft an item without the tools of some hops (from 0), which no other tool may replace.

    Args:
        scene: the item as it was.
        made: the item as it is.
        held: tools of other items that may be taken out.
        lost: the hops.
        label: without them.
        seed: of the order in which the sibling shows its tools.
        expected: what else must come of calls, beside the answers of the other hops.
    """
    rest = answered(made, [at for at in range(len(made.hops)) if at not in lost])
    return Draft(
        made, replace(label, lost=tuple(at + 1 for at in lost)), held, (*rest, *expected),
        (out_of_reach(scene, made, lost),), further=scene.further,
        siblings=(plain_of(scene, seed),),
    )  # fmt: skip


def with_reserve(draft: Draft, names: Sequence[str], seed: int) -> Draft:
    """The draft whose lost tools come when they are asked for; of half of the items they do not."""
    if drawn(seed, draft.item, "reserve").random() < 0.5:
        return draft
    label = replace(draft.label, solvable_after=True, reserve=tuple(names))
    return replace(draft, label=label, expected=(*draft.expected, *answered(draft.item)))


def plain_of(scene: Scene, seed: int) -> Draft:
    """The solvable sibling of most scenarios: the item as it is."""
    item, _ = held_back(scene, scene.item)
    item = shown(item, item.tools, seed)
    label = Label(Scenario.PLAIN, scene.item.id, True)
    return Draft(item, label, expected=answered(item))
