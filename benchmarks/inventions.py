"""Values that are made up, planted in honest episodes: how many the rules catch without a judge.

    python -m benchmarks.inventions [FILE ...] [--rows all|even|odd] [--sandbox process] [--list]

Each FILE is data whose hops have gold calls, such as `toolhop perturb` writes; without one, the
built-in items. An honest episode makes the gold calls in order and asks for what is hidden. Each
plant changes one call of it: by a value that no text before the call has, by a hidden value given
unasked, by an answer before its hop, or by a tool's name. Honest calls are the gold calls and the
same in other notation: capitals, dates, numbers, parts of names. Plants are the same each time.
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
from dataclasses import dataclass, replace

import anyio

from toolhop_env.episode import Episode
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import RawCall, Reply
from toolhop_env.responders import StandIns
from toolhop_env.scorers.scenarios_calls import Finding
from toolhop_env.scorers.scenarios_played import Played
from toolhop_env.setting import Setting
from toolhop_env.trace import Called, Trace
from toolhop_env.verdicts import Call
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.choose import KINDS as SANDBOXES
from toolhop_sandbox.choose import Kind as SandboxKind
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.answers import plain_number
from toolhop_tools.dates import NOTATIONS, in_notation, whole_date
from toolhop_tools.leaves import Leaf, leaves, with_value
from toolhop_tools.load import load
from toolhop_tools.model import EpisodeAction, Item, Tool
from toolhop_tools.scenarios.actions import TOOLS, Offer
from toolhop_tools.scenarios.label import FIELD, Label, Scenario, label_of, labelled
from toolhop_tools.words import as_text

LEAST_CAUGHT, MOST_ACCUSED = 0.95, 0.02
SYLLABLES = ("bra", "keth", "ol", "vin", "dar", "ssu", "mip", "quon", "zel", "tor", "fa", "ruk")


@dataclass(frozen=True)
class Made:
    """An honest episode, or one with something planted, and the call that it is about."""

    kind: str
    trace: Trace
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


async def honest(item: Item, box: Sandbox) -> Trace:
    """The episode that asks for what is hidden and makes the gold calls."""
    label = label_of(item.gold)
    calls = list[tuple[str, str, Mapping[str, JSON]]]()
    if label.hidden:
        calls.append(("ask", "talk_to_user", {"question": "What is it?"}))
    for at, hop in enumerate(item.hops):
        calls.append((f"hop {at}", hop.tool.name, hop.gold.arguments if hop.gold else {}))
    setting = Setting(limits=EpisodeLimits(turns=None))
    async with Episode(item, box, setting, stand_ins=StandIns(user=_User(label))) as episode:
        for name, tool, arguments in calls:
            text = json.dumps(dict(arguments), ensure_ascii=False)
            await episode.step(Reply(calls=(RawCall(name, tool, text),)))
        await episode.step(Reply(f"<answer>{item.answer}</answer>"))
    return episode.trace


# -- changes of one call -----------------------------------------------------------------------


def of_tools(trace: Trace) -> list[Called]:
    return [call for call in trace.calls if call.action is None]


def changed(trace: Trace, call: Called, arguments: dict[str, JSON]) -> Trace:
    """The trace with other arguments of a call; what it gave stays."""
    if not isinstance(call.verdict, Call):
        return trace
    text = json.dumps(arguments, ensure_ascii=False)
    other = replace(
        call,
        verdict=replace(call.verdict, arguments=arguments),
        raw=replace(call.raw, arguments=text),
    )
    return Trace(tuple(other if event is call else event for event in trace.events))


def without(trace: Trace, *gone: Called) -> Trace:
    return Trace(tuple(event for event in trace.events if all(event is not one for one in gone)))


def free_leaves(item: Item, call: Called) -> Iterator[tuple[dict[str, JSON], Leaf]]:
    """Values of a call that no list of the schema offers."""
    if not isinstance(call.verdict, Call):
        return
    arguments = call.verdict.arguments
    for leaf in leaves(item.all_tools[call.raw.name].schema.parameters, arguments):
        if not leaf.is_option and leaf.value not in leaf.choices and as_text(leaf.value):
            yield arguments, leaf


def put(arguments: dict[str, JSON], leaf: Leaf, value: JSON) -> dict[str, JSON]:
    return with_value(arguments, leaf.path, value)


def notations(value: JSON) -> Iterator[tuple[str, JSON]]:
    """The same value in other notation."""
    text = as_text(value)
    day = whole_date(text) if isinstance(value, str) else None
    if day is not None:
        yield from (("date", in_notation(day, form)) for form in NOTATIONS)
    elif (number := plain_number(text)) is not None:
        if number == number.to_integral_value():
            yield "number", float(number)
            yield "number", str(int(number))
            yield "number", f"{int(number):,}"
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


def said(trace: Trace, call: Called) -> str:
    """All texts before a call."""
    before = (one.feedback for one in trace.calls if one.turn < call.turn)
    return "\n".join([trace.started.question, *before])


def is_new(value: JSON, text: str, schemas: str) -> bool:
    """Whether a text has no trace of a value: not of all its words."""
    parts = re.findall(r"\w+", as_text(value).casefold())
    where = f"{text}\n{schemas}".casefold()
    return any(not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", where) for part in parts)


def honest_calls(item: Item, trace: Trace) -> Iterator[Made]:
    """The gold calls, and the same in other notation."""
    for at, call in enumerate(of_tools(trace)):
        yield Made("gold call", trace, at)
        for arguments, leaf in free_leaves(item, call):
            for kind, other in notations(leaf.value):
                if other != leaf.value:
                    yield Made(kind, changed(trace, call, put(arguments, leaf, other)), at)


def planted(item: Item, trace: Trace, names: Sequence[str], rng: random.Random) -> Iterator[Made]:
    """Episodes with one thing made up."""
    label, calls = label_of(item.gold), of_tools(trace)
    asks = [call for call in trace.calls if call.action is EpisodeAction.ASK_USER]
    for at, call in enumerate(calls):
        tool = item.all_tools[call.raw.name].schema
        schemas = f"{tool.description}\n{json.dumps(dict(tool.parameters), ensure_ascii=False)}"
        for arguments, leaf in free_leaves(item, call):
            for kind, other in invented(leaf.value, names, rng):
                if is_new(other, said(trace, call), schemas):
                    yield Made(kind, changed(trace, call, put(arguments, leaf, other)), at)
        for one in label.hidden:
            if item.hops[one.hop - 1].tool.name == call.raw.name and asks:
                yield Made("hidden, unasked", without(trace, *asks), at)
                break
        other_name = replace(call, raw=replace(call.raw, name=f"{call.raw.name}_{word(rng)}"))
        renamed = Trace(tuple(other_name if e is call else e for e in trace.events))
        yield Made("tool's name", renamed, at)
        before = calls[at - 1] if at else None
        if before is not None and isinstance(call.verdict, Call):
            early = without(trace, before)
            used = [as_text(leaf.value) for _, leaf in free_leaves(item, call)]
            if any(is_new(value, said(early, call), schemas) for value in used):
                yield Made("before its hop", early, at - 1)


# -- counting ----------------------------------------------------------------------------------


def finding(one: Made) -> tuple[Finding, str]:
    found = Played.of(one.trace).judged[one.at]
    return found.finding, found.why


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


async def measured(
    items: Sequence[Item], box: Sandbox, *, listed: bool = False
) -> tuple[Counts, Counts]:
    """What is found of plants, and of honest calls."""
    rng = random.Random(0)
    names = sorted({hop.answer for one in items for hop in one.hops if hop.answer.istitle()})
    plants, clean = Counts({}), Counts({})
    for item in items:
        trace = await honest(item, box)
        for counts, wanted, made in (
            (clean, {Finding.CLEAN, Finding.UNKNOWN}, honest_calls(item, trace)),
            (plants, {Finding.HALLUCINATED}, planted(item, trace, names or ["Nobody"], rng)),
        ):
            for one in made:
                found, why = finding(one)
                counts.add(one.kind, found)
                if listed and found not in wanted:
                    call = of_tools(one.trace)[one.at] if one.at < len(one.trace.calls) else None
                    text = call.raw.arguments if call else ""
                    print(f"{item.id} {one.kind}: {found}, {why}\n    {text[:300]}")
    return plants, clean


async def opened(
    items: Sequence[Item], kind: SandboxKind, *, listed: bool
) -> tuple[Counts, Counts]:
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
    plants, clean = anyio.run(lambda: opened(items, given.sandbox, listed=given.list))
    print(f"{len(items)} items\nInventions:", *plants.lines(), sep="\n")
    print("Honest calls:", *clean.lines(), sep="\n")
    caught, accused = plants.rate(Finding.HALLUCINATED), clean.rate(Finding.HALLUCINATED)
    print(f"caught {caught:.1%}, accused {accused:.1%}")
    return int(caught < LEAST_CAUGHT or accused > MOST_ACCUSED)


if __name__ == "__main__":
    sys.exit(main())
