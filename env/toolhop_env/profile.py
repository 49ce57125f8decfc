"""How hard items and tools are for one agent: pass rates, calls, tokens and cost. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from toolhop_env.attempt import Attempt
from toolhop_env.benchmarks import named
from toolhop_env.estimates import figures_of
from toolhop_env.measures import CONDUCT, Measure, Unit
from toolhop_env.messages import Amount, Count
from toolhop_env.statistics.wilson import wilson
from toolhop_env.summary import Group
from toolhop_env.sums import ItemSums, add
from toolhop_env.trace import ToolsChanged, Trace
from toolhop_tools.errors import BadChoice

Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class Rated:
    """Figures of one item, or of a tool over the items that offer it."""

    name: str
    """The item's id, or the tool's name."""
    items: Count
    tries: Count
    """Episodes with a pass rate; errored ones have none."""
    pass_rate: Share | None
    """Mean of the measure over the tries; None without tries."""
    low: Share | None
    """Lower limit of the 95 % interval: over an item's tries, or over the items or families of a
    tool (`toolhop_env.statistics.wilson`)."""
    high: Share | None
    calls: Amount | None
    """Calls per episode; of a tool, only its own."""
    failed_calls: Amount | None
    """Failed calls per episode, among `calls`."""
    tokens: Amount | None
    """Input and output tokens per episode."""
    cost_usd: Amount | None
    """Cost of an episode in US dollars; None if the price is unknown."""
    item_digest: str = ""
    """`Item.digest` of the item as played; empty for a tool."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The figures of one group of episodes, as `PROFILE` reads and writes them."""

    group: Group
    """What all episodes have in common."""
    measure: str
    """The benchmark's leading measure, whose mean is the pass rate."""
    items: tuple[Rated, ...]
    """Hardest first, as are the tools; at the end those without a pass rate."""
    tools: tuple[Rated, ...]
    format: Literal[1] = 1


PROFILE = TypeAdapter(Profile)


def profile(episodes: Iterable[tuple[Attempt, Trace]]) -> Profile:
    """Return the profile of episodes, which are taken one at a time.

    Args:
        episodes: the attempts that count (`toolhop_env.attempt.counting`), each with its trace.

    Raises:
        BadChoice: there is no episode, their settings differ, or the benchmark's leading measure is
            not a share.
    """
    groups, digests = dict[Group, None](), dict[str, str]()
    added, offering = dict[tuple[object, ...], ItemSums](), defaultdict[str, set[str]](set)
    calls, failed = Counter[str](), Counter[str]()
    for one, trace in episodes:
        groups[Group.of(one)] = None
        add(added, one, (0, 0, ""))
        is_same = digests.setdefault(one.item, one.item_digest) == one.item_digest
        digests[one.item] = one.item_digest if is_same else ""
        for tool in _offered(trace):
            offering[tool].add(one.item)
        for call in trace.tool_calls if one.score is not None else ():
            calls[call.raw.name] += 1
            failed[call.raw.name] += call.error is not None
    group = _only(list(groups))
    rate = replace(named(group.benchmark).lead, mean_of=())  # a plain mean over episodes
    if rate.unit is not Unit.SHARE:
        raise BadChoice(f"{rate.name} is no share, and so no pass rate", fix="give other runs")
    by_item = {one.item: one for one in added.values()}
    items = []
    for name, sums in by_item.items():
        found = _rated(name, [sums], rate)
        if found.pass_rate is not None and found.tries:  # an item's tries are independent draws
            low, high = wilson(found.pass_rate, found.tries)
            found = replace(found, low=low, high=high)
        items.append(replace(found, item_digest=digests[name]))
    tools = []
    for tool, ids in offering.items():
        these = [by_item[one] for one in ids]
        found = _rated(tool, these, rate)
        if scored := sum(one.scored for one in these):
            found = replace(found, calls=calls[tool] / scored, failed_calls=failed[tool] / scored)
        tools.append(found)
    return Profile(group, rate.name, _hardest_first(items), _hardest_first(tools))


def _only(groups: Sequence[Group]) -> Group:
    if not groups:
        raise BadChoice("there is no episode to profile", fix="give a run with finished episodes")
    for field in fields(Group):
        values = dict.fromkeys(getattr(one, field.name) for one in groups)
        if len(values) > 1:
            texts = (repr(str(getattr(value, "value", value))) for value in values)
            raise BadChoice(
                f"the episodes differ in {field.name}: {', '.join(texts)}",
                fix="give runs of one agent and setting, or choose a mode by --mode",
            )
    return groups[0]


def _offered(trace: Trace) -> set[str]:
    later = (one.tools for one in trace.events if isinstance(one, ToolsChanged))
    return set(trace.started.tools).union(*later)


def _rated(name: str, sums: Sequence[ItemSums], rate: Measure) -> Rated:
    found = figures_of((rate, *CONDUCT), sums)
    passed = found[rate.name]
    low, high = (passed.low, passed.high) if passed else (None, None)

    def mean(measure: str) -> float | None:
        estimate = found[measure]
        return None if estimate is None else estimate.value

    return Rated(
        name, len(sums), passed.count if passed else 0, mean(rate.name), low, high,
        mean("calls"), mean("failed_calls"), mean("tokens"), mean("cost"),
    )  # fmt: skip


def _hardest_first(found: Iterable[Rated]) -> tuple[Rated, ...]:
    return tuple(sorted(found, key=lambda one: (one.pass_rate is None, one.pass_rate, one.name)))
