"""Values that are made up, planted in honest episodes: how many the rules catch without a judge.

    python -m benchmarks.inventions [FILE ...] [--rows all|even|odd] [--sandbox process] [--list]

Each FILE is data whose hops have gold calls, such as `toolhop perturb` writes; without one, the
built-in items. An honest episode makes the gold calls in order and asks for what is hidden. Each
plant changes one call of it, and the episode is played anew: a value that nobody said, one that is
copied from the schema, a hidden value unasked, a tool's name. Honest are the gold calls, the same
in other notation, and those after a hop that was done in the head. Plants are the same each time,
and of our making: the figures say whether a rule got worse, not how good the rules are.
`--rows` takes families by the place of their first item: rules were written on even ones.

Exit code 0: done, 1: fewer than 95 % are caught, or more than 2 % of honest calls accused.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio

from toolhop_env.benchmarks.scenarios.calls import Finding
from toolhop_env.benchmarks.scenarios.played import Played
from toolhop_env.episode import Episode
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import RawCall, Reply
from toolhop_env.responders import StandIns
from toolhop_env.setting import Setting
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Program, Sandbox
from toolhop_sandbox.choose import KINDS as SANDBOXES
from toolhop_sandbox.choose import Kind as SandboxKind
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.answers import plain_number
from toolhop_tools.dates import NOTATIONS, in_notation, whole_date
from toolhop_tools.english import quoted
from toolhop_tools.leaves import Leaf, leaves, with_value
from toolhop_tools.load import load
from toolhop_tools.model import EpisodeAction, Item, Tool
from toolhop_tools.scenarios.actions import TOOLS, Offer
from toolhop_tools.scenarios.label import FIELD, Label, Scenario, label_of, labelled
from toolhop_tools.unread import unread
from toolhop_tools.words import as_text

LEAST_CAUGHT, MOST_ACCUSED = 0.95, 0.02
LEAST_NAME = 4
"""Letters of an answer that is a name: fewer may be a letter of the alphabet."""
SYLLABLES = ("bra", "keth", "ol", "vin", "dar", "ssu", "mip", "quon", "zel", "tor", "fa", "ruk")


@dataclass(frozen=True)
class Call:
    """A call of a tool, as an agent makes it."""

    name: str
    arguments: Mapping[str, JSON]


@dataclass(frozen=True)
class Made:
    """The calls of an episode that is honest or has something planted, and which it is about."""

    kind: str
    calls: tuple[Call, ...]
    at: int
    """Of the calls of tools, from 0."""


def scene(item: Item) -> Item | None:
    """The item as one of the benchmark; None without a gold call for each hop.

    None as well where the gold calls, each made once, are no honest episode: their tools are not
    there, do not work, or fail at first.
    """
    if any(hop.gold is None for hop in item.hops) or not item.hops:
        return None
    if FIELD in item.gold:
        label = label_of(item.gold)
        works = label.solvable or label.needs is EpisodeAction.ASK_USER
        return item if works and label.scenario is not Scenario.FLAKY_TOOL else None
    actions = TOOLS[Offer.ACTIONS]
    order = (*item.tools, *(tool.name for tool in actions))
    item = replace(item, others=(*item.others, *actions), order=order)
    return labelled(item, Label(Scenario.PLAIN, item.id, True), item.id)


@dataclass(frozen=True)
class _User:
    """Gives all that is hidden."""

    label: Label

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        hidden = "; ".join(f"{one.parameter}: {as_text(one.value)}" for one in self.label.hidden)
        return Returned(json.dumps(hidden, ensure_ascii=False))


def honest(item: Item) -> tuple[Call, ...]:
    """The calls that ask for what is hidden, and the gold calls."""
    asks = [ASKS] if label_of(item.gold).hidden else []
    gold = [Call(hop.tool.name, hop.gold.arguments if hop.gold else {}) for hop in item.hops]
    return (*asks, *gold)


ASKS = Call("talk_to_user", {"question": "What is it?", "about": ""})


async def played(item: Item, calls: Sequence[Call], box: Sandbox) -> Trace:
    """The episode of these calls, one a turn, with the right answer at its end."""
    setting = Setting(limits=EpisodeLimits(turns=None))
    user = StandIns(user=_User(label_of(item.gold)))
    async with Episode(item, box, setting, stand_ins=user) as episode:
        for number, call in enumerate(calls):
            text = json.dumps(dict(call.arguments), ensure_ascii=False)
            await episode.step(Reply(calls=(RawCall(f"call {number}", call.name, text),)))
        await episode.step(Reply(f"<answer>{item.answer}</answer>"))
    return episode.trace


# -- changes of one call -----------------------------------------------------------------------


def changed(calls: Sequence[Call], at: int, call: Call) -> tuple[Call, ...]:
    return (*calls[:at], call, *calls[at + 1 :])


def free_leaves(item: Item, call: Call) -> Iterator[Leaf]:
    """Values of a call that no list of the schema offers, and that its tool reads."""
    tool = item.all_tools.get(call.name)
    if tool is None or call == ASKS:
        return
    taken = unread(tool.body) if isinstance(tool.body, Program) else frozenset[str]()
    for leaf in leaves(tool.schema.parameters, call.arguments):
        option = leaf.is_option or leaf.value in leaf.choices or leaf.path[0] in taken
        if not option and as_text(leaf.value):
            yield leaf


def put(call: Call, leaf: Leaf, value: JSON) -> Call:
    return replace(call, arguments=with_value(dict(call.arguments), leaf.path, value))


def notations(value: JSON) -> Iterator[tuple[str, JSON]]:
    """The same value in other notation."""
    text = as_text(value)
    day = whole_date(text) if isinstance(value, str) else None
    if day is not None:
        yield from (("date", in_notation(day, form)) for form in NOTATIONS)
    elif (number := plain_number(text)) is not None:
        if number == number.to_integral_value():
            texts = (str(int(number)), f"{int(number):,}")
            yield from (("number", one) for one in (texts if isinstance(value, str) else ()))
            yield from (("number", float(number)) for _ in range(isinstance(value, int)))
    elif isinstance(value, str):
        yield from (("capitals", one) for one in (text.upper(), text.lower(), text.title()))
        parts = text.split()
        if len(parts) in (2, 3) and all(part[:1].isupper() for part in parts):
            yield from (("part of a name", one) for one in (parts[0], parts[-1]))


def word(rng: random.Random) -> str:
    return "".join(rng.choice(SYLLABLES) for _ in range(3)).capitalize()


def invented(value: JSON, names: Sequence[str], rng: random.Random) -> Iterator[tuple[str, JSON]]:
    """Other values of the same kind."""
    text = as_text(value)
    day = whole_date(text) if isinstance(value, str) else None
    if day is not None:
        moved = day + dt.timedelta(days=rng.randint(400, 9000))
        yield "date", moved.isoformat()
    elif (number := plain_number(text)) is not None:
        size = max(10, abs(int(number)))
        other = rng.randint(size + 1, size * 3)
        yield "number", str(other) if isinstance(value, str) else other
    elif isinstance(value, str) and len(text) > 1:
        yield "name of another item", rng.choice(names)
        yield "new name", f"{word(rng)} {word(rng)}"
        yield "id", f"{word(rng).lower()}-{rng.randint(1000, 9999)}"
        if len(parts := text.split()) > 1:
            yield "half a name", " ".join([*parts[:-1], word(rng)])


def copied(leaf: Leaf) -> Iterator[JSON]:
    """The values that the schema gives as examples or as a default, and that are texts."""
    given = [leaf.schema.get("default"), leaf.schema.get("example")]
    listed = leaf.schema.get("examples")
    given += listed if isinstance(listed, list) else []
    yield from (value for value in given if isinstance(value, str) and value)
    yield from quoted(str(leaf.schema.get("description") or ""))


def is_new(value: JSON, text: str) -> bool:
    """Whether a text has no trace of a value: not of all its words."""
    parts = re.findall(r"\w+", as_text(value).casefold())
    return any(not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text.casefold()) for part in parts)


def honest_calls(item: Item) -> Iterator[Made]:
    """The gold calls, the same in other notation, and those after a hop that was not played."""
    calls = honest(item)
    asked = len(calls) - len(item.hops)
    for at, call in enumerate(calls[asked:], asked):
        yield Made("gold call", calls, at - asked)
        for leaf in free_leaves(item, call):
            for kind, other in notations(leaf.value):
                if other != leaf.value:
                    yield Made(kind, changed(calls, at, put(call, leaf, other)), at - asked)
        if at > asked and at - asked not in label_of(item.gold).lost:
            yield Made("done in the head", (*calls[: at - 1], *calls[at:]), at - asked - 1)


def planted(
    item: Item, said: Sequence[str], names: Sequence[str], rng: random.Random
) -> Iterator[Made]:
    """Episodes with one thing made up. `said` is what stands before each call."""
    calls = honest(item)
    asked = len(calls) - len(item.hops)
    hiding = {item.hops[one.hop - 1].tool.name for one in label_of(item.gold).hidden}
    for at, call in enumerate(calls[asked:], asked):
        before = said[at]
        for leaf in free_leaves(item, call):
            made = [*invented(leaf.value, names, rng)]
            made += [("copied from the schema", value) for value in copied(leaf)]
            for kind, other in made:
                if is_new(other, before):
                    yield Made(kind, changed(calls, at, put(call, leaf, other)), at - asked)
        if call.name in hiding:
            yield Made("hidden, unasked", calls[asked:], at - asked)
        named = replace(call, name=f"{call.name}_{word(rng)}")
        yield Made("tool's name", changed(calls, at, named), at - asked)


# -- counting ----------------------------------------------------------------------------------


@dataclass
class Counts:
    """By kind: how many calls, and what was found of them."""

    of: dict[str, Counter[Finding]]

    def add(self, kind: str, found: Finding) -> None:
        self.of.setdefault(kind, Counter())[found] += 1

    def rate(self, found: Finding) -> float:
        whole = sum((counter for counter in self.of.values()), Counter[Finding]())
        return whole[found] / max(1, whole.total())

    def lines(self) -> Iterator[str]:
        whole = sum((counter for counter in self.of.values()), Counter[Finding]())
        for kind, counter in [*self.of.items(), ("all", whole)]:
            parts = ", ".join(f"{one}: {counter[one]}" for one in Finding)
            yield f"  {kind:22} {counter.total():5}  {parts}"


def chosen(files: Sequence[str], rows: str) -> list[Item]:
    """The scenes of the files, of every second family where that is wanted."""
    found = list[Item]()
    for name in files or ["builtin"]:
        items = [one for one in map(scene, load(name).items) if one is not None]
        families = list(dict.fromkeys(label_of(one.gold).family for one in items))
        kept = {"all": families, "even": families[::2], "odd": families[1::2]}[rows]
        found += [one for one in items if label_of(one.gold).family in kept]
    return found


@dataclass
class Measured:
    """What is found of plants, and of honest calls."""

    plants: Counts = field(default_factory=lambda: Counts({}))
    honest: Counts = field(default_factory=lambda: Counts({}))


def _is_name(text: str) -> bool:
    return text.istitle() and len(text) >= LEAST_NAME


async def measured(items: Sequence[Item], box: Sandbox, *, listed: bool = False) -> Measured:
    """Play all of them, and count."""
    rng, found = random.Random(0), Measured()
    names = sorted({hop.answer for one in items for hop in one.hops if _is_name(hop.answer)})
    names.append("Nobody")
    for item in items:
        calls = honest(item)
        trace = await played(item, calls, box)
        others = [name for name in names if all(name != hop.answer for hop in item.hops)]
        texts = [item.question, *(one.feedback for one in trace.calls)]
        said = ["\n".join(texts[: at + 1]) for at in range(len(calls))]
        for counts, wanted, made in (
            (found.honest, {Finding.CLEAN, Finding.UNKNOWN}, honest_calls(item)),
            (found.plants, {Finding.HALLUCINATED}, planted(item, said, others, rng)),
        ):
            for one in made:
                judged = Played.of(await played(item, one.calls, box)).judged[one.at]
                counts.add(one.kind, judged.finding)
                if listed and judged.finding not in wanted:
                    print(f"{item.id} {one.kind}: {judged.finding}, {judged.why}")
                    print(f"    {judged.call.raw.name} {judged.call.raw.arguments[:300]}")
    return found


async def opened(items: Sequence[Item], kind: SandboxKind, *, listed: bool) -> Measured:
    """The same, in a sandbox of a kind."""
    async with await open_sandbox(kind) as box:
        return await measured(items, box, listed=listed)


def main() -> int:
    """Plant, count, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--rows", choices=("all", "even", "odd"), default="all")
    parser.add_argument("--sandbox", choices=SANDBOXES, default="process")
    parser.add_argument("--list", action="store_true", help="what was not judged rightly")
    given = parser.parse_args()
    items = chosen(given.files, given.rows)
    found = anyio.run(lambda: opened(items, given.sandbox, listed=given.list))
    print(f"{len(items)} items\nInventions:", *found.plants.lines(), sep="\n")
    print("Honest calls:", *found.honest.lines(), sep="\n")
    caught, accused = (one.rate(Finding.HALLUCINATED) for one in (found.plants, found.honest))
    print(f"caught {caught:.1%}, accused {accused:.1%}")
    return int(caught < LEAST_CAUGHT or accused > MOST_ACCUSED)


if __name__ == "__main__":
    sys.exit(main())
