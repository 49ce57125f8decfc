"""Counts for any data set. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from toolhop_agents.card.page import NOT_KNOWN, Part, Section, Table
from toolhop_env.statistics.wilson import wilson
from toolhop_tools.benchmarks.toolbehonest.reader import NAME as TOOLBEHONEST
from toolhop_tools.benchmarks.toolbehonest.reader import SCENARIOS as SUBTASKS
from toolhop_tools.benchmarks.toolbehonest.reader import UNSOLVABLE
from toolhop_tools.certify.model import Certificate
from toolhop_tools.construct.duplicates import templates
from toolhop_tools.errors import counted
from toolhop_tools.model import DataSet, Item, canonical
from toolhop_tools.scenarios.label import BENCHMARK, family_of, label_of

MOST_ROWS = 60
"""Maximum rows of a table; the rest are summed in one row."""
READINGS = ("read", "disputed", "unread")


def share(part: int, whole: int) -> str:
    """Format a share with Wilson's 95 % interval."""
    if not whole:
        return NOT_KNOWN
    low, high = wilson(part / whole, whole)
    percent = f"{100 * part / whole:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f})"
    return f"{part:,} of {whole:,}, {percent}"


def counted_table(name: str, values: Iterable[str]) -> Table:
    """Count each value, the most frequent first."""
    counts = Counter(value or NOT_KNOWN for value in values)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    shown = [(value, f"{count:,}") for value, count in rows[:MOST_ROWS]]
    if rest := rows[MOST_ROWS:]:
        shown.append((f"{len(rest):,} others", f"{sum(count for _, count in rest):,}"))
    return Table((name, "items"), tuple(shown))


def figures(*rows: tuple[str, str]) -> Table:
    """Return a table of named figures."""
    return Table(("what", "figure"), rows)


def field(item: Item, name: str) -> str:
    """Return a text field of the item's row; empty if it has none."""
    value = item.extra.get(name)
    return value if isinstance(value, str) else ""


def sizes(data: DataSet) -> Section:
    """Count items, hops, tools, domains and kinds of answers."""
    items = data.items
    tools = {
        canonical([tool.name, tool.schema.to_openai(), tool.body_parts]): tool.name
        for item in items
        for tool in item.all_tools.values()
    }
    shared = sum(count > 1 for count in Counter(tools.values()).values())
    hops = [hop for item in items for hop in item.hops]
    parts: list[Part] = [
        figures(
            ("items", f"{len(items):,}"),
            ("benchmarks", ", ".join(sorted({item.benchmark for item in items}))),
            ("hops", f"{len(hops):,}" if hops else "none: the gold is the benchmark's own"),
            ("hops with a gold call", f"{sum(hop.gold is not None for hop in hops):,}"),
            ("different tools", f"{len(tools):,}"),
            ("names that several different tools have", f"{shared:,}"),
            ("patterns of questions, values aside", patterns(items)),
            ("digest of the items (SHA-256)", data.digest),
        )
    ]
    if hops:
        lengths = sorted(Counter(len(item.hops) for item in items).items())
        parts.append(Table(("hops", "items"), tuple((f"{n}", f"{c:,}") for n, c in lengths)))
    parts.append(counted_table("domain", (item.domain for item in items)))
    parts.append(counted_table("answer type", (item.answer_type for item in items)))
    if any(item.benchmark == BENCHMARK for item in items):
        parts.append(counted_table("scenario", map(_scenario, items)))
    parts += subtasks(items)
    return Section("Sizes", tuple(parts))


def subtasks(items: Sequence[Item]) -> Sequence[Part]:
    """Return ToolBeHonest's table 1; empty for other data.

    Lengths are in characters, whereas the paper counts tokens of a model.
    """
    rows = [item for item in items if item.benchmark == TOOLBEHONEST]
    groups = [(name, kind, [row for row in rows if row.domain == name])
              for name, kind in SUBTASKS.items()]  # fmt: skip
    if not rows:
        return ()
    head = ("subtask", "scenario", "solvable", "unsolvable", "characters of the task",
            "tools listed", "steps of the plan, Finish aside", "steps without a tool")  # fmt: skip
    lines = [(name, kind, *_subtask(of)) for name, kind, of in [*groups, ("overall", "", rows)]]
    return (Table(head, tuple(lines)),)


def _subtask(items: Sequence[Item]) -> tuple[str, ...]:
    golds: list[Any] = [item.gold for item in items]
    lost = [gold["plan"].count(UNSOLVABLE) for gold in golds if not gold["solvable"]]
    tasks = [item.question.removeprefix("<task>\n").partition("\n</task>")[0] for item in items]
    means = (map(len, tasks), (len(gold["own_tools"]) for gold in golds),
             (len(gold["plan"]) for gold in golds), lost)  # fmt: skip
    counts = (f"{len(items) - len(lost):,}", f"{len(lost):,}")
    return (*counts, *map(mean, means))


def mean(values: Iterable[float]) -> str:
    """Format a mean to one decimal place."""
    known = [*values]
    return f"{sum(known) / len(known):.1f}" if known else NOT_KNOWN


def _scenario(item: Item) -> str:
    if item.benchmark != BENCHMARK:
        return ""
    label = label_of(item.gold)
    return f"{label.scenario}, {'solvable' if label.solvable else 'unsolvable'}"


def patterns(items: Sequence[Item]) -> str:
    """Return the number of question patterns, ignoring values, and the size of the most
    frequent.
    """
    chains = [item for item in items if item.hops]
    if not chains:
        return NOT_KNOWN
    counts = Counter(templates(chains).values())
    return f"{len(counts):,}; the most frequent has {counted(max(counts.values()), 'item')}"


def families(items: Sequence[Item]) -> Section:
    """Count the families, and state the rule for splitting them."""
    known = Counter(name for item in items if (name := family_of(item)))
    if not known:
        return Section("Families", (f"Families are {NOT_KNOWN}: no item names its own.",))
    rule = (
        "Items of one `family` come of one seed: siblings and twins share their question, tools "
        "or facts. **No split may cut a family**: put all of its items on one side."
    )
    rows = (
        ("families", f"{len(known):,}"),
        ("items of the largest", f"{max(known.values()):,}"),
        ("items that name none", f"{len(items) - known.total():,}"),
    )
    return Section("Families", (rule, figures(*rows)))


def licences(items: Sequence[Item], published: str) -> Section:
    """Return the licence, counted by item if items name their own."""
    named = [field(item, "licence") for item in items]
    if not any(named):
        text = f"Published under: {published}." if published else f"The licence is {NOT_KNOWN}."
        return Section("Licence", (text,))
    parts: list[Part] = [counted_table("licence", named)]
    if "own" in named:
        parts.append(
            "`own`: made without a source. Who publishes these items chooses their licence, "
            "within the terms of the model that made them."
        )
    if any(field(item, "source") for item in items):
        parts.append(counted_table("source", (field(item, "source") for item in items)))
    return Section("Licence", tuple(parts))


def proofs(items: Sequence[Item], certificates: Sequence[Certificate] | None) -> Section:
    """Summarise the items' valid certificates and the verdicts of blind readers."""
    reading = Counter(field(item, "reading") or "unread" for item in items)
    read = Table(("by blind readers", "items"), tuple((n, f"{reading[n]:,}") for n in READINGS))
    if certificates is None:
        text = f"Whether items can be solved is {NOT_KNOWN}: no certificates were given."
        return Section("Proofs", (text, read))
    digests = {item.id: item.digest for item in items}
    known = [one for one in certificates if one.item in digests]
    held = [one for one in known if not one.stale(digests[one.item])]
    proven = [one for one in held if one.verdict.is_proof]
    chances = [hop.chance for one in proven for hop in one.hops if hop.chance]
    versions = ", ".join(sorted({str(one.basis.version) for one in held}))
    rows = figures(
        ("items proven, of all", share(len(proven), len(items))),
        ("certificates that no longer hold", f"{len(known) - len(held):,}"),
        ("version of the search", versions or NOT_KNOWN),
        ("calls with other values that give the answer too",
         share(sum(one.hits for one in chances), sum(one.runs for one in chances))),
    )  # fmt: skip
    return Section("Proofs", (rows, read))
